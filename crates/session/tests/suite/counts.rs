//! Rules with merged rows and multiplicities, joins answered by tries, and atoms that bind a
//! variable together: compared with nested loops.

use crate::common::engine_of;
use model::Value;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters};
use std::collections::{BTreeMap, BTreeSet};

fn engine() -> Engine {
    engine_with(1 << 30)
}

fn engine_with(memory_bytes_max: u64) -> Engine {
    engine_of(2, memory_bytes_max)
}

fn rows(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{}", error.render(script)));
    (0..output.rows)
        .map(|row| (0..output.headers.len()).map(|column| output.value(row, column)).collect())
        .collect()
}

fn count(engine: &Engine, body: &str) -> usize {
    let found = rows(engine, &format!("?[count(a)] := {body}"));
    assert_eq!(found, rows(engine, &format!("?[count(a)] := {body}")), "asked again: {body}");
    match found[0][0] {
        Value::Int(count) => count as usize,
        ref other => panic!("{other:?} is no count"),
    }
}

/// Edges between few vertices, some of them negative, so that the order of words differs from that
/// of values.
fn edges() -> impl Strategy<Value = BTreeSet<(i64, i64)>> {
    prop::collection::btree_set((-3_i64..9, -3_i64..9), 0..60)
}

fn load(engine: &Engine, name: &str, edges: &BTreeSet<(i64, i64)>) {
    let rows: Vec<String> = edges.iter().map(|(a, b)| format!("[{a}, {b}]")).collect();
    let rows = rows.join(", ");
    let script = format!("?[a, b] <- [{rows}] :create {name} {{a: Int, b: Int}}");
    engine.run(&script, &Parameters::new()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn counts_and_sets_are_those_of_nested_loops(
        e in edges(),
        f in edges(),
        has_index in any::<bool>(),
    ) {
        let engine = engine();
        load(&engine, "e", &e);
        load(&engine, "f", &f);
        if has_index {
            engine.run("::index create e:rev {b}", &Parameters::new()).unwrap();
        }
        let out = |of: &BTreeSet<(i64, i64)>, a: i64| -> Vec<i64> {
            of.iter().filter(|edge| edge.0 == a).map(|edge| edge.1).collect()
        };
        let paths: Vec<(i64, i64, i64)> =
            e.iter().flat_map(|&(a, b)| out(&e, b).into_iter().map(move |c| (a, b, c))).collect();
        let longer: Vec<(i64, i64, i64, i64)> = paths
            .iter()
            .flat_map(|&(a, b, c)| out(&f, c).into_iter().map(move |d| (a, b, c, d)))
            .collect();

        prop_assert_eq!(count(&engine, "*e[a, b], *e[b, c]"), paths.len());
        prop_assert_eq!(count(&engine, "*e[a, b], *e[b, c], *f[c, d]"), longer.len());
        prop_assert_eq!(count(&engine, "*f[c, d], *e[a, b], *e[b, c], a != c"), {
            longer.iter().filter(|row| row.0 != row.2).count()
        });
        prop_assert_eq!(count(&engine, "*e[a, b], *e[b, c], not *f[a, c]"), {
            paths.iter().filter(|&&(a, _, c)| !f.contains(&(a, c))).count()
        });
        // Cycles of three and four, also with conditions.
        let triangles: Vec<_> = paths.iter().filter(|&&(a, _, c)| e.contains(&(c, a))).collect();
        prop_assert_eq!(count(&engine, "*e[a, b], *e[b, c], *e[c, a]"), triangles.len());
        prop_assert_eq!(count(&engine, "*e[a, b], *e[b, c], *e[c, a], a < b, b < c"), {
            triangles.iter().filter(|&&&(a, b, c)| a < b && b < c).count()
        });
        let squares: Vec<_> = longer.iter().filter(|row| e.contains(&(row.3, row.0))).collect();
        prop_assert_eq!(count(&engine, "*e[a, b], *e[b, c], *f[c, d], *e[d, a]"), squares.len());
        // A star: of its rays only the number is needed.
        let star: usize = e
            .iter()
            .map(|edge| out(&f, edge.0).len() * out(&e, edge.0).len())
            .sum();
        prop_assert_eq!(count(&engine, "*e[a, x], *f[a, y], *e[a, z]"), star);
        // Without a shared variable.
        prop_assert_eq!(
            count(&engine, "*e[a, _], *f[_, x]"),
            e.len() * f.len()
        );

        // Groups, with sums that respect multiplicities.
        let mut groups: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for &(a, b, _, _) in &longer {
            let group = groups.entry(a).or_default();
            *group = (group.0 + 1, group.1 + b);
        }
        let found = rows(&engine, "?[a, count(b), sum(b), max(b), mean(b)] := *e[a, b], *e[b, c], *f[c, d]");
        let found: Vec<(Value, Value, Value)> =
            found.into_iter().map(|row| (row[0].clone(), row[1].clone(), row[2].clone())).collect();
        let wanted: Vec<(Value, Value, Value)> = groups
            .iter()
            .map(|(&a, &(n, sum))| (Value::Int(a), Value::Int(n), Value::Float(sum as f64)))
            .collect();
        prop_assert_eq!(found, wanted);

        // Sets, and aggregates that ignore multiplicities.
        let ends: BTreeSet<(i64, i64)> = longer.iter().map(|row| (row.0, row.3)).collect();
        let found = rows(&engine, "?[a, d] := *e[a, b], *e[b, c], *f[c, d]");
        let wanted: Vec<Vec<Value>> =
            ends.iter().map(|&(a, d)| vec![Value::Int(a), Value::Int(d)]).collect();
        prop_assert_eq!(found, wanted);
        let corners: BTreeSet<i64> = triangles.iter().map(|row| row.0).collect();
        let found = rows(&engine, "?[a] := *e[a, b], *e[b, c], *e[c, a]");
        let wanted: Vec<Vec<Value>> = corners.iter().map(|&a| vec![Value::Int(a)]).collect();
        prop_assert_eq!(found, wanted);
        let found = rows(&engine, "?[count_unique(d), count(d)] := *e[a, b], *e[b, c], *f[c, d]");
        let unique: BTreeSet<i64> = longer.iter().map(|row| row.3).collect();
        let wanted = vec![Value::Int(unique.len() as i64), Value::Int(longer.len() as i64)];
        prop_assert_eq!(found, vec![wanted]);
        // An aggregate that needs each row.
        let found = rows(&engine, "?[collect(a)] := *e[a, b], *e[b, c], *e[c, a]");
        let Value::List(all) = &found[0][0] else { panic!("no list") };
        prop_assert_eq!(all.len(), triangles.len());
    }
}

#[test]
fn what_was_kept_in_memory_is_not_seen_after_a_change() {
    let engine = engine();
    let chain = "?[a, b] := a in int_range(2000), b = a + 1 :create way {a: Int, b: Int}";
    engine.run(chain, &Parameters::new()).unwrap();
    let paths = "*way[a, b], *way[b, c], *way[c, d]";
    assert_eq!([count(&engine, paths), count(&engine, paths)], [1998, 1998]);
    engine.run("?[a, b] <- [[2000, 2001], [2001, 2002]] :put way", &Parameters::new()).unwrap();
    assert_eq!(count(&engine, paths), 2000);
    engine.run("?[a, b] <- [[0, 1]] :rm way", &Parameters::new()).unwrap();
    assert_eq!(count(&engine, paths), 1999);
}

#[test]
fn a_transaction_sees_its_own_changes_and_no_trie_of_others() {
    let engine = engine();
    let chain = "?[a, b] := a in int_range(2000), b = a + 1 :create way {a: Int, b: Int}";
    engine.run(chain, &Parameters::new()).unwrap();
    let paths = "*way[a, b], *way[b, c], *way[c, d]";
    assert_eq!(count(&engine, paths), 1998);
    let script = format!("{{ ?[a, b] <- [[2000, 2001]] :put way }} {{ ?[count(a)] := {paths} }}");
    assert_eq!(rows(&engine, &script), [[Value::Int(1999)]]);
    assert_eq!(count(&engine, paths), 1999);
}

#[test]
fn more_rows_than_can_be_counted_are_an_error() {
    let engine = engine();
    let all = "?[a, b] := a in int_range(100), b in int_range(100) :create full {a: Int, b: Int}";
    engine.run(all, &Parameters::new()).unwrap();
    let steps: Vec<String> = (0..8).map(|i| format!("*full[x{i}, x{}]", i + 1)).collect();
    let body = steps.join(", ");
    let counted = rows(&engine, &format!("?[count(x0)] := {body}"));
    assert_eq!(counted, [[Value::Int(100_i64.pow(9))]]);
    let body = format!("{body}, *full[x8, x9]");
    let script = format!("?[count(x0)] := {body}");
    let error = engine.run(&script, &Parameters::new()).unwrap_err().to_string();
    assert!(error.contains("count: more rows than the largest Int says"), "{error}");
}

/// They are different values for joins, in whatever order these run. A constant in the script is
/// looked up with the column's type.
#[test]
fn an_integer_and_a_float_of_one_size_are_joined_by_no_order_of_joins() {
    let engine = engine();
    for script in [
        "?[a, b] := a in int_range(50), b = a :create ints {a: Int, b: Int}",
        "?[a, b] := x in int_range(500), a = to_float(x), b = x :create floats {a: Float, b: Int}",
        "?[a, b, s] := x in int_range(500), a = to_float(x), b = x, s = '' :create mixed {a: Float, s: String => b: Int}",
    ] {
        engine.run(script, &Parameters::new()).unwrap();
    }
    for body in [
        "*ints[x, _], *floats[x, _]",
        "*floats[x, _], *ints[x, _]",
        "*ints[x, _], *mixed{a: x}",
        "*ints[x, y], *floats[z, y], x = z",
    ] {
        let found = rows(&engine, &format!("?[x] := {body}"));
        assert_eq!(found, Vec::<Vec<Value>>::new(), "{body}");
    }
    for body in [
        "*floats[7, b]",
        "*ints[7.0, b]",
        "*mixed{a: 7, b}",
        "x = 7, *floats[x, b]",
        "x in [7], *floats[x, b]",
    ] {
        assert_eq!(rows(&engine, &format!("?[b] := {body}")), Vec::<Vec<Value>>::new(), "{body}");
    }
    for body in ["*floats[7.0, b]", "*ints[7, b]", "*mixed{a: 7.0, b}", "*floats[a, b], a == 7"] {
        assert_eq!(rows(&engine, &format!("?[b] := {body}")), [[Value::Int(7)]], "{body}");
    }
}

/// Found by the fuzzer: one row with bound columns that are no prefix of a stored order.
#[test]
fn a_row_is_refused_by_what_stands_in_columns_that_are_no_prefix() {
    let engine = engine();
    let script = "?[a, b, c] := a in int_range(100), b = a + 1, c = 'x' :create wide {a: Int => b: Int, c: String}";
    engine.run(script, &Parameters::new()).unwrap();
    assert_eq!(rows(&engine, "?[x] := x = 7, not *wide{b: x}"), Vec::<Vec<Value>>::new());
    assert_eq!(rows(&engine, "?[x] := x = 0, not *wide{b: x}"), [[Value::Int(0)]]);
    assert_eq!(rows(&engine, "?[x] := x = 7, not *wide{b: x, c: 'y'}"), [[Value::Int(7)]]);
    assert_eq!(rows(&engine, "?[a] := x = 7, *wide{a, b: x}"), [[Value::Int(6)]]);
    assert_eq!(rows(&engine, "?[count(x)] := x = 7, *wide{b: x}"), [[Value::Int(1)]]);
    assert_eq!(rows(&engine, "?[count(x)] := x = 7, *wide{c: 'x'}"), [[Value::Int(100)]]);
}

#[test]
fn a_look_up_of_many_texts_reads_no_others() {
    // All strings take 16 MiB, the requested ones 4.
    let engine = engine_with(8 << 20);
    for from in (0..4000).step_by(500) {
        let script = format!(
            "?[k, v] := k in int_range({from}, {}), v = slice_string(concat('{}', to_string(k)), 0, 4096) {}",
            from + 500,
            "x".repeat(4092),
            if from == 0 { ":create texts {k: Int => v: String}" } else { ":put texts {k => v}" },
        );
        engine.run(&script, &Parameters::new()).unwrap();
    }
    let asked = "?[count(k), count_unique(n)] := k in int_range(1000), *texts{k, v}, n = length(v)";
    for _ in 0..3 {
        assert_eq!(rows(&engine, asked), [[Value::Int(1000), Value::Int(3)]]);
    }
}

#[test]
fn texts_are_joined_from_memory_or_from_the_store_whether_short_or_long() {
    for long in ["id == -1", "id == 4500", "id > 2000"] {
        let engine = engine_with(64 << 20);
        let text = "concat('c', to_string(id % 50))";
        let script = format!(
            "?[id, code, n] := id in int_range(5000), n = id % 3,
                code = if({long}, concat({text}, ' is longer'), if(id % 7 == 0, null, {text})) :create people {{id: Int => code: String?, n: Int}}"
        );
        engine.run(&script, &Parameters::new()).unwrap();
        let all = rows(&engine, "?[id, code, n] := *people{id, code, n}");
        assert_eq!(all.len(), 5000);
        let same_code = rows(&engine, "?[code, count(id)] := *people{id, code}");
        for _ in 0..3 {
            let by_key = "?[id, code, n] := id in int_range(5000), *people{id, code, n}";
            assert_eq!(rows(&engine, by_key), all, "{long}");
            let by_code = "codes[code] := *people{code}\n?[code, count(id)] := codes[code], *people{code, id}";
            assert_eq!(rows(&engine, by_code), same_code, "{long}");
        }
    }
}
