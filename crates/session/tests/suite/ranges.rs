//! Conditions on indexed columns give the same rows as without the index.

use crate::common::engine_of;
use model::Value;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters};
use std::collections::BTreeSet;

const COLUMNS: &str = "{k: Int => i: Int, f: Float, s: String, o: Int?, a: Any}";

/// Columns that conditions compare.
const COLUMN_NAMES: &[&str] = &["k", "i", "f", "s", "o", "a"];

/// A relation, and the same one with an index on each column.
fn engine(threads: usize, rows: &[(i64, u8)]) -> Engine {
    let engine = engine_of(threads, 1 << 30);
    if threads > 1 {
        engine.set_parallel_rows(16);
    }
    let row = |(k, drawn): &(i64, u8)| {
        let small = i64::from(drawn % 16) - 3;
        let text = ["", "a", "ab", "abc", "b", "ba", "a value of more than a few bytes"];
        let text = text[usize::from(drawn % 7)];
        let null = if drawn % 5 == 0 { "null".to_owned() } else { small.to_string() };
        let any = match drawn % 3 {
            0 => format!("{small}.5"),
            1 => small.to_string(),
            _ => format!("{small}.0"),
        };
        format!("[{k}, {small}, {small}.25, '{text}', {null}, {any}]")
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    let rows = rows.join(", ");
    for name in ["plain", "indexed"] {
        run(&engine, &format!("?[k, i, f, s, o, a] <- [{rows}] :create {name} {COLUMNS}")).unwrap();
    }
    for column in &COLUMN_NAMES[1..] {
        run(&engine, &format!("::index create indexed:by_{column} {{{column}}}")).unwrap();
    }
    run(&engine, "::index create indexed:by_both {o, i}").unwrap();
    engine
}

fn run(engine: &Engine, script: &str) -> Result<BTreeSet<String>, String> {
    let output = engine.run(script, &Parameters::new()).map_err(|error| error.render(script))?;
    Ok((0..output.rows).map(|row| format!("{:?}", output.row(row))).collect())
}

/// A condition on a column, made from two random numbers.
fn condition(kind: u8, column: usize, x: i64, y: i64) -> String {
    let name = COLUMN_NAMES[column];
    let (x, y) = match name {
        "s" => {
            let texts = ["''", "'a'", "'ab'", "'b'", "'a value of more than a few bytes'", "'c'"];
            let text = |of: i64| texts[of.unsigned_abs() as usize % texts.len()].to_owned();
            (text(x), text(y))
        }
        "f" | "a" if x % 2 == 0 => (format!("{x}.25"), format!("{y}.0")),
        _ => (x.to_string(), y.to_string()),
    };
    match kind % 9 {
        0 => format!("{name} == {x}"),
        1 => format!("{y} == {name}"),
        2 => format!("!is_null({name}), {name} > {x}"),
        3 => format!("!is_null({name}), {name} <= {x}"),
        4 => format!("!is_null({name}) && {x} <= {name} && {name} < {y}"),
        5 => format!("x = {x}, {name} == x"),
        6 if name == "s" => format!("starts_with(s, {x})"),
        7 => format!("{name} == {x} || {name} == {y}"),
        8 if name != "s" => format!("{name} == {x} + 1, i < {y}.5"),
        _ => format!("{name} == {x}, k > 20"),
    }
}

/// Queries on a relation with a condition.
const QUESTIONS: &[&str] = &[
    "?[k] := *REL{k, i, f, s, o, a}, COND",
    "?[k, i, f, s, o, a] := *REL{k, i, f, s, o, a}, COND",
    "?[count(k)] := *REL{k, i, f, s, o, a}, COND",
    "?[i, count(k)] := *REL{k, i, f, s, o, a}, COND",
    "r[k, i, f, s, o, a] := *REL{k, i, f, s, o, a} ?[k, s] := r[k, i, f, s, o, a], COND",
    "?[k, x0] := x0 in [1, 2, 3], *REL{k, i, f, s, o, a}, COND, i != x0",
    "?[k] := *REL{k: i, o: z}, z == 2, *REL{k, i, f, s, o, a}, COND",
    "?[k] := *REL{k, o: 2, i, f, s, a}, o = 2, COND",
    "?[k] := *REL{k, i, f, s, o, a}, COND :order -k :limit 3",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn an_index_changes_no_answer_of_a_condition(
        rows in prop::collection::btree_map(0_i64..400, any::<u8>(), 0..120),
        asked in prop::collection::vec((any::<u8>(), 0_usize..6, -5_i64..15, -5_i64..15), 1..12),
        threads in 1_usize..3,
    ) {
        let rows: Vec<(i64, u8)> = rows.into_iter().collect();
        let engine = engine(threads, &rows);
        for (kind, column, x, y) in asked {
            for question in QUESTIONS {
                let question = question.replace("COND", &condition(kind, column, x, y));
                let plain = run(&engine, &question.replace("REL", "plain"));
                // Comparing values without a common order is an error, unless they are not read at
                // all.
                let Ok(plain) = plain else { continue };
                let indexed = run(&engine, &question.replace("REL", "indexed"));
                prop_assert_eq!(Ok(plain), indexed, "{}", question);
            }
        }
    }
}

#[test]
fn a_wide_range_of_an_index_is_read_from_the_relation_and_a_narrow_one_from_the_index() {
    let rows: Vec<(i64, u8)> = (0..5_000).map(|k| (k, (k % 251) as u8)).collect();
    for threads in [1, 2] {
        let engine = engine(threads, &rows);
        for (condition, found) in [("i > -100", 5_000), ("i > 100", 0), ("o == 12", 239)] {
            let question = |name: &str| format!("?[k, s] := *{name}{{k, i, s, o}}, {condition}");
            let plain = run(&engine, &question("plain")).unwrap();
            assert_eq!(plain.len(), found, "{condition}");
            assert_eq!(plain, run(&engine, &question("indexed")).unwrap(), "{condition}");
        }
    }
}

/// Rows that the range scan of a script read.
fn rows_of_range(engine: &Engine, script: &str) -> i64 {
    let output =
        engine.run(&format!("::explain analyze {{ {script} }}"), &Parameters::new()).unwrap();
    let column = |name: &str| output.headers.iter().position(|one| one == name).unwrap();
    let (op, rows) = (column("op"), column("rows"));
    let scan = (0..output.rows).map(|row| output.row(row));
    let mut scan = scan.filter(|row| row[op] == Value::Str("scan".to_owned()));
    match scan.next().map(|row| row[rows].clone()) {
        Some(Value::Int(rows)) => rows,
        _ => panic!("no scan of a range: {script}"),
    }
}

#[test]
fn what_a_rule_s_text_begins_with_is_asked_within_the_rule() {
    let engine = engine_of(1, 1 << 30);
    let words = "?[w, n] := n in int_range(20000), w = concat('w', to_string(n)) :create word {w: String => n: Int}";
    run(&engine, words).unwrap();
    let asked = "r[w, n] := *word{w, n}, n >= 0 ?[w] := r[w, n], starts_with(w, 'w1234')";
    assert_eq!(run(&engine, asked).unwrap().len(), 11);
    assert_eq!(rows_of_range(&engine, asked), 11);
    // It is not a string everywhere: whether that is an error must not depend on where the
    // condition is evaluated.
    let mixed = "r[x] := x in [1, 'a'] ?[x] := r[x], x != 1, starts_with(x, 'a')";
    assert_eq!(run(&engine, mixed).unwrap().len(), 1);
}

/// Found by a review of how bounds are derived: with an index on `level` all of its rows were read,
/// where the key leaves ten.
#[test]
fn an_index_is_not_taken_where_the_relation_s_own_key_leaves_less() {
    let engine = engine_of(1, 1 << 30);
    run(
        &engine,
        "?[ts, level, msg] := ts in int_range(20000), level = mod(ts, 3), msg = to_string(ts)
            :create log {ts: Int => level: Int, msg: String}",
    )
    .unwrap();
    run(&engine, "::index create log:by_level {level}").unwrap();
    let rows_read = |script: &str| rows_of_range(&engine, script);
    for columns in ["ts, level, msg", "ts, level"] {
        let head = format!("?[{columns}] := *log{{{columns}}}");
        assert_eq!(rows_read(&format!("{head}, ts >= 19990, level == 1")), 10, "{columns}");
        assert_eq!(rows_read(&format!("{head}, ts >= 19990 && ts < 19995, level == 1")), 6);
    }
    assert_eq!(rows_read("?[ts, msg] := *log{ts, level, msg}, ts >= 0, level == 7"), 0);
}

#[test]
fn a_nan_is_above_all_numbers_whatever_its_sign_and_whether_there_is_an_index() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, ":create plain {k: Int => f: Float, a: Any}").unwrap();
    run(&engine, ":create indexed {k: Int => f: Float, a: Any}").unwrap();
    run(&engine, "::index create indexed:by_f {f}").unwrap();
    run(&engine, "::index create indexed:by_a {a}").unwrap();
    let nan = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
    let given = Parameters::from([("nan".to_owned(), Value::Float(nan))]);
    for name in ["plain", "indexed"] {
        for (k, f) in [(1, "2.0"), (2, "$nan"), (3, "0.0 / 0.0"), (4, "0.5")] {
            let put = format!("?[k, f, a] := k = {k}, f = {f}, a = f :put {name} {{k => f, a}}");
            engine.run(&put, &given).unwrap();
        }
        for condition in ["f > 1.0", "a > 1.0", "f >= 2.0", "a >= 2"] {
            let script = format!("?[k] := *{name}{{k, f, a}}, {condition}");
            let found = run(&engine, &script).unwrap();
            assert_eq!(found.len(), 3, "{name} {condition}");
        }
    }
}
