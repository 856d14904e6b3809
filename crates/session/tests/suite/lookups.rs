//! Compares point lookups and depth-first searches with the general executor.

use crate::common::engine_of;
use model::Value;
use quipu_session::{Engine, Parameters, QueryResult};

const RELATIONS: &[&str] = &[
    "?[k, a, b] := k in int_range(20), a = if(k % 3 == 0, null, k * 2), b = concat('t', to_string(k % 4)) :create one {k: Int => a: Int?, b: String}",
    // One key has more rows than are read at a time, one exactly as many, and one has one less.
    "?[k, j, a] := k in [1, 2, 255, 256, 257], j in int_range(k), a = j % 5 :create two {k: Int, j: Int => a: Int}",
    "?[k, j] := k in int_range(5), j in int_range(k * 7) :create pairs {k: Int, j: Int}",
    "?[k, j, a] := i in int_range(30), k = concat('x', to_string(i % 7)), j = i / 2, a = [i] :create texts {k: String, j: Float => a: Json}",
    "?[k, a] := i in int_range(10), k = i / 2, a = i :create floats {k: Float => a: Int}",
    "?[a, b, c, d] := a in int_range(3), b in int_range(4), c in int_range(5), d = a + b :create deep {a: Int, b: Int, c: Int => d: Int}",
    "::index create deep:by_c {c, a}",
    "::index create one:by_b {b}",
];

/// Each is one point lookup.
const QUERIES: &[(&str, &str)] = &[
    ("?[a, b]", "*one{k: $id, a, b}"),
    ("?[b, a, b]", "*one{k: $id, a, b}"),
    ("?[id, a]", "id = $id, *one{k: id, a}"),
    ("?[a]", "*one{k: 3, a}"),
    ("?[a]", "*one{k: 4.0, a}"),
    ("?[k]", "*one{k, b: $id}"),
    ("?[k, a]", "*one{k, a, b: $id}"),
    ("?[j, a]", "*two{k: $id, j, a}"),
    ("?[a, j]", "*two{k: $id, j, a}"),
    ("?[a]", "*two{k: $id, a}"),
    ("?[a]", "*two{k: $id, j: 0, a}"),
    ("?[j, id]", "id = $id, *pairs{k: id, j}"),
    ("?[j]", "*pairs[$id, j]"),
    ("?[j, a]", "*texts{k: $id, j, a}"),
    ("?[a]", "*texts{k: 'x1', j: $id, a}"),
    ("?[a]", "*floats{k: $id, a}"),
    ("?[b, c, d]", "*deep{a: $id, b, c, d}"),
    ("?[c, d]", "*deep{a: $id, b: 2, c, d}"),
    ("?[d]", "*deep{a: $id, b: 2, c, d}"),
    ("?[a, b]", "*deep{c: $id, a, b}"),
    ("?[a, b, d]", "*deep{c: $id, a, b, d}"),
    ("?[b]", "*deep{c: $id, a: 1, b}"),
    ("?[a, c]", "*one{k: $id, a}, c = (a ~ 0) + 1"),
    ("?[k, a, b]", "k = $id, *one{k, a: before, b}, a = mod((before ~ 0) + 1, 5)"),
    ("?[j, id, c]", "id = $id, *two{k: id, j, a}, c = [id, j, a]"),
    ("?[c]", "*two{k: $id, j, a}, c = j + a"),
    ("?[j, c, d]", "*two{k: $id, j, a}, c = a * 2, d = c + j, c != 4"),
    ("?[a, j]", "*two{k: $id, j, a}, a > 2"),
    ("?[j]", "*two{k: $id, j, a}, mod(j, 7) == a"),
    ("?[k, c]", "*one{k, a, b: $id}, c = a ~ -1, c < 8"),
    ("?[k, a]", "k = 5, *one{k, a}, a == $id"),
    ("?[x]", "*pairs[x, x], x = $id"),
    ("?[k]", "not *pairs[$id, 2], k = $id"),
];

/// The first rows of each are found depth first.
const PATHS: &[(&str, &str)] = &[
    ("?[c]", "*pairs{k: $id, j: b}, *pairs{k: b, j: c}"),
    ("?[d]", "*pairs{k: $id, j: b}, *pairs{k: b, j: c}, *pairs{k: c, j: d}"),
    ("?[b, c]", "*pairs{k: $id, j: b}, *pairs{k: b, j: c}, c > 20"),
    ("?[b, c]", "*pairs{k: $id, j: b}, *pairs{k: b, j: c}, c > 2000"),
    ("?[j, a]", "*pairs{k: $id, j}, *one{k: j, a}"),
    ("?[j, x]", "*pairs{k: $id, j}, *one{k: j, a}, x = (a ~ 0) + 1, x != 1"),
    ("?[x]", "*pairs{k: $id, j}, *one{k: j, a}, x = if(j > 3, 1 / 0, a)"),
    ("?[k, b]", "*one{k: $id, b: t}, *one{k, b: t}, b = t"),
    ("?[a, j]", "*two{k: $id, j, a}, a > 2"),
    ("?[j]", "*two{k: $id, j, a}, a > 200"),
    ("?[k, j]", "*two{k, j, a}, a == 3, *pairs{k: x, j}, x = k"),
    ("?[k]", "*one{k, a}, *floats{k, a: f}, f > 2"),
    ("?[a, c]", "*deep{a: $id, b, c, d}, *deep{a: b, b: a, c, d: e}, e >= d"),
    ("?[k, m]", "*texts{k, j}, *floats{k: j, a: m}"),
    ("?[a, j]", "*pairs{k: 4, j}, a = [j, $id]"),
    ("?[p, q]", "p = $id, q = p"),
];

const OPTIONS: &[&str] =
    &["", ":limit 3", ":limit 3 :offset 2", ":limit 300", ":offset 254", ":limit 0"];

fn engine() -> Engine {
    let engine = engine_of(2, 1 << 30);
    for script in RELATIONS {
        engine.run(script, &Parameters::new()).unwrap();
    }
    engine
}

fn ask(engine: &Engine, script: &str, id: &Value) -> QueryResult {
    let parameters = [("id".to_owned(), id.clone())].into();
    engine.run(script, &parameters).unwrap_or_else(|error| panic!("{}", error.render(script)))
}

fn rows(output: &QueryResult) -> Vec<Vec<Value>> {
    (0..output.rows).map(|row| output.row(row)).collect()
}

#[test]
fn one_look_and_the_first_paths_answer_as_the_long_way() {
    let engine = engine();
    let text = |text: &str| Value::Str(text.to_owned());
    let mut ids: Vec<Value> = [-1, 0, 1, 2, 3, 255, 256, 257].map(Value::Int).into();
    ids.extend([
        Value::Float(1.0),
        Value::Float(1.5),
        Value::Null,
        text("x1"),
        text("t2"),
        text(""),
    ]);
    for (head, body) in QUERIES.iter().chain(PATHS) {
        for id in &ids {
            // Two rules are never a point lookup.
            let all = rows(&ask(&engine, &format!("{head} := {body}\n{head} := {body}"), id));
            for options in OPTIONS {
                let script = format!("{head} := {body} {options}");
                let output = ask(&engine, &script, id);
                let long = ask(&engine, &format!("{head} := {body}\n{script}"), id);
                let found = rows(&output);
                assert_eq!(output.headers, long.headers, "{script}");
                assert_eq!(found.len(), long.rows, "{script} of {id}");
                assert!(found.is_sorted(), "{script} of {id}");
                assert!(found.iter().all(|row| all.contains(row)), "{script} of {id}");
                if !options.contains(":limit") || all.len() <= 3 {
                    assert_eq!(found, rows(&long), "{script} of {id}");
                }
            }
            let first = head[2..].split([',', ']']).next().filter(|name| !name.is_empty());
            if let Some(first) = first {
                let script = format!("{head} := {body} :order -{first} :limit 5");
                let long = ask(&engine, &format!("{head} := {body}\n{script}"), id);
                assert_eq!(rows(&ask(&engine, &script, id)), rows(&long), "{script} of {id}");
            }
        }
    }
}

#[test]
fn one_look_in_a_transaction_sees_what_the_script_did() {
    let engine = engine();
    let script = "{ ?[k, j] <- [[9, 1], [9, 5]] :put pairs {k, j} }
                  { ?[k, j] <- [[9, 5]] :rm pairs {k, j} }
                  { ?[j] := *pairs[$id, j] }";
    assert_eq!(rows(&ask(&engine, script, &Value::Int(9))), [[Value::Int(1)]]);
}

/// Constant rules; `$id` is a value, `$row` a list of two, `$rows` a list of such lists.
const CONSTANTS: &[&str] = &[
    "[]",
    "[[1, 'a']]",
    "[[$id, 'a']]",
    "[[$id, $id + 1]]",
    "[$row]",
    "[$row, [2, $id], [1, 2]]",
    "$rows",
    "[[2, 'b'], [1, 'a'], [2, 'b'], [1.0, null]]",
    "[[2, $id], [1, $id], [2, $id]]",
    "[[[1, $id], {'a': 1}], ['a longer text than six bytes', -0.0]]",
];

const WRONG_CONSTANTS: &[(&str, &str)] = &[
    ("[[1, 2, $id]]", "has 2 columns, row 1 has 3"),
    ("[[1, 2], [$id]]", "has 2 columns, row 2 has 1"),
    ("[[$id, 1], 3]", "row 2 of rule `?` is an Int, not a list"),
    ("$id", "a constant rule needs a list of rows"),
    ("[[$id, $id / 'x']]", "expected numbers"),
];

#[test]
fn a_constant_rule_alone_answers_as_one_that_another_reads() {
    let engine = engine_of(2, 1 << 30);
    let row = |a, b: &str| Value::List(vec![Value::Int(a), Value::Str(b.to_owned())]);
    let parameters: Parameters = [
        ("id".to_owned(), Value::Int(7)),
        ("row".to_owned(), row(1, "x")),
        ("rows".to_owned(), Value::List(vec![row(3, "c"), row(1, "x"), row(3, "c")])),
    ]
    .into();
    for options in ["", ":order -b, a :limit 1", ":order -b", ":offset 1"] {
        for data in CONSTANTS {
            let ask = |script: &str| engine.run(script, &parameters).unwrap();
            let alone = ask(&format!("?[a, b] <- {data} {options}"));
            let read = ask(&format!("r[a, b] <- {data}\n?[a, b] := r[a, b] {options}"));
            assert_eq!(rows(&alone), rows(&read), "{data} {options}");
            assert_eq!(alone.headers, read.headers);
        }
    }
    for (data, why) in WRONG_CONSTANTS {
        let error = engine.run(&format!("?[a, b] <- {data}"), &parameters).unwrap_err();
        assert!(error.to_string().contains(why), "{data}: {error}");
    }
}

/// Found by review.
#[test]
fn of_rows_beyond_a_limit_nothing_is_computed() {
    let engine = engine();
    for k in [2, 255, 256, 257] {
        let script = "?[j, c] := *two{k: $id, j, a}, c = if(j > 1, j + 'x', j) :limit 1";
        assert_eq!(rows(&ask(&engine, script, &Value::Int(k))), [[Value::Int(0), Value::Int(0)]]);
        let script = "?[c, j] := *two{k: $id, j, a}, c = -j, j >= 0 :limit 1";
        assert_eq!(ask(&engine, script, &Value::Int(k)).rows, 1);
        let script =
            "?[j] := *two{k: $id, j, a}, mod(j, 256) == 255 or mod(j, 256) == 2 :limit 256";
        let found = rows(&ask(&engine, script, &Value::Int(k)));
        let wanted = (0..k).filter(|j| j % 256 == 255 || j % 256 == 2);
        assert_eq!(found, wanted.map(|j| vec![Value::Int(j)]).collect::<Vec<_>>(), "{k}");
    }
}

/// Found by review.
#[test]
fn the_rows_of_a_constant_rule_count_as_memory() {
    let engine = engine_of(1, 1 << 20);
    let rows: Vec<String> = (0..100_000).map(|i| format!("[{i}, 1]")).collect();
    let script = format!("?[a, b] <- [{}]", rows.join(","));
    let error = engine.run(&script, &Parameters::new()).unwrap_err();
    assert!(matches!(error, quipu_session::Error::Limit(_)), "{error}");
}
