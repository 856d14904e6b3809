//! Relations that are read as a whole: conditions are evaluated before strings are read, and
//! provably distinct rows are not compared. Compared with plain loops.

use crate::common::engine_of;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters};

/// A row: `{k: Int, s: String => a: Int, t: String?, f: Float}`. `plain` has the key `k` and `s`,
/// `one` only `k`.
type Row = (i64, String, i64, Option<String>, f64);

fn row(drawn: (i64, u8)) -> Row {
    let (k, drawn) = drawn;
    let texts = ["", "ab", "a text of some length", "another text of some length", "z"];
    let a = i64::from(drawn % 7) - 2;
    let t = (!drawn.is_multiple_of(3)).then(|| format!("the text that {} has", drawn % 5));
    (k, texts[usize::from(drawn % 5)].to_owned(), a, t, f64::from(drawn % 4) / 2.0)
}

fn engine(threads: usize, rows: &[Row]) -> Engine {
    let engine = engine_of(threads, 1 << 30);
    if threads > 1 {
        engine.set_parallel_rows(16);
    }
    let written = rows.iter().map(|(k, s, a, t, f)| {
        let t = t.as_ref().map_or("null".to_owned(), |t| format!("'{t}'"));
        format!("[{k}, '{s}', {a}, {t}, {f:.1}]")
    });
    let written = written.collect::<Vec<_>>().join(", ");
    for columns in [
        "{k: Int, s: String => a: Int, t: String?, f: Float}",
        "{k: Int => s: String, a: Int, t: String?, f: Float}",
    ] {
        let name = if columns.contains("s: String =>") { "plain" } else { "one" };
        run(&engine, &format!("?[k, s, a, t, f] <- [{written}] :create {name} {columns}"));
    }
    engine
}

/// The rows of a result, in its order.
fn run(engine: &Engine, script: &str) -> Vec<String> {
    let output = engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{}", error.render(script)));
    (0..output.rows)
        .map(|at| output.row(at).iter().map(|value| format!("{value}|")).collect())
        .collect()
}

/// Conditions, and their meaning.
type Meaning = fn(&Row) -> bool;
const CONDITIONS: &[(&str, Meaning)] = &[
    ("a > 1", |row| row.2 > 1),
    ("a > 0, f < 1.0", |row| row.2 > 0 && row.4 < 1.0),
    ("s == 'ab'", |row| row.1 == "ab"),
    ("starts_with(s, 'a'), a != 3", |row| row.1.starts_with('a') && row.2 != 3),
    ("is_null(t)", |row| row.3.is_none()),
    ("low = 1, a < low, k % 2 == 0", |row| row.2 < 1 && row.0 % 2 == 0),
    ("k > 5, a == 2", |row| row.0 > 5 && row.2 == 2),
    ("true", |_| true),
    ("a > 100", |_| false),
];

/// Heads, and the values that they show. All but the last two have provably distinct rows.
type Shown = fn(&Row) -> Vec<String>;
const HEADS: &[(&str, Shown)] = &[
    ("k, s, a, t, f", |row| {
        let t = row.3.as_ref().map_or("null".to_owned(), |t| format!("{t:?}"));
        vec![
            row.0.to_string(),
            format!("{:?}", row.1),
            row.2.to_string(),
            t,
            format!("{:?}", row.4),
        ]
    }),
    ("t, k, s", |row| {
        let t = row.3.as_ref().map_or("null".to_owned(), |t| format!("{t:?}"));
        vec![t, row.0.to_string(), format!("{:?}", row.1)]
    }),
    ("s", |row| vec![format!("{:?}", row.1)]),
    ("a, f", |row| vec![row.2.to_string(), format!("{:?}", row.4)]),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whole_relations_answer_what_loops_do(
        drawn in prop::collection::btree_map(-20_i64..40, 0_u8..=255, 0..40),
        threads in 1_usize..3,
    ) {
        let rows: Vec<Row> = drawn.into_iter().map(row).collect();
        let engine = engine(threads, &rows);
        for (condition, holds) in CONDITIONS {
            for (head, shown) in HEADS {
                let mut expected: Vec<String> = rows
                    .iter()
                    .filter(|row| holds(row))
                    .map(|row| shown(row).iter().map(|part| format!("{part}|")).collect())
                    .collect();
                expected.sort();
                expected.dedup();
                for relation in ["plain", "one"] {
                    let script = format!("?[{head}] := *{relation}{{k, s, a, t, f}}, {condition}");
                    let mut found = run(&engine, &script);
                    found.sort();
                    prop_assert_eq!(&found, &expected, "{}", script);
                    let limited = run(&engine, &format!("{script} :limit 3"));
                    prop_assert_eq!(limited.len(), expected.len().min(3), "{}", script);
                }
            }
        }
    }
}

#[test]
fn rows_are_in_the_order_of_their_columns() {
    let rows: Vec<Row> = (0..200).map(|k| row((k, (k * 37 % 251) as u8))).collect();
    let engine = engine(1, &rows);
    let answer = |script: &str| run(&engine, script);
    let by_text = answer("?[t, k] := *one{k, t}, k > 20");
    let mut sorted = answer("?[k, t] := *one{k, t}, k > 20");
    assert_eq!(by_text.len(), 179);
    sorted.sort_by_key(|line| line.split('|').next().and_then(|k| k.parse::<i64>().ok()));
    assert_eq!(answer("?[k, t] := *one{k, t}, k > 20"), sorted);
    assert!(by_text.windows(2).all(|pair| {
        let text = |line: &str| line.split('|').next().map(str::to_owned);
        let (a, b) = (text(&pair[0]), text(&pair[1]));
        // Null sorts before all strings.
        a == b || a.as_deref() == Some("null") || (b.as_deref() != Some("null") && a < b)
    }));
}

#[test]
fn the_first_rows_in_an_order_are_those_of_all_rows_sorted() {
    for threads in [1, 2] {
        let engine = engine_of(threads, 1 << 30);
        if threads > 1 {
            engine.set_parallel_rows(1000);
        }
        run(
            &engine,
            "?[k, a, f, s, t] := k in int_range(30000), a = k * 7919 % 1000, f = k * 31 % 977 / 2,
                s = concat('a text that ', to_string(k * 13 % 5000), ' has'), t = if(k % 11 == 0, null, concat('kind ', to_string(k % 17)))
             :create r {k: Int => a: Int, f: Float, s: String, t: String?}",
        );
        for order in ["-a", "a, s", "t, -k", "-t, f", "-s", "f, -a", "k", "-k"] {
            let head = "?[k, a, f, s, t] := *r{k, a, f, s, t}";
            let all = run(&engine, &format!("{head} :order {order}"));
            assert_eq!(all.len(), 30_000);
            for (limit, offset) in [(1, 0), (10, 5), (9000, 0), (40_000, 29_990)] {
                let some = format!("{head} :order {order} :limit {limit} :offset {offset}");
                let expected = &all[offset..(offset + limit).min(all.len())];
                assert!(run(&engine, &some) == expected, "{some}");
            }
        }
        // Strings that are never compared keep their values, few or many.
        let texts = run(&engine, "?[k, s, t] := *r{k, s, t}");
        for (k, line) in texts.iter().enumerate() {
            let t = if k % 11 == 0 { "null".to_owned() } else { format!("\"kind {}\"", k % 17) };
            assert_eq!(*line, format!("{k}|\"a text that {} has\"|{t}|", k * 13 % 5000));
        }
    }
}

#[test]
fn where_a_few_rows_are_enough_conditions_are_asked_of_a_few() {
    let engine = engine_of(1, 1 << 30);
    run(
        &engine,
        "?[a, t, s] := a in int_range(40000), t = concat('the text ', to_string(a)), s = t :create r {a: Int => t: String, s: String}",
    );
    // A number has no length.
    for script in [
        "?[a, s] := *r{a, t, s}, a < 400 || length(a) > 1 :limit 300",
        "d[k] <- [[1]] ?[k, s] := d[k], *r{a, t, s}, a < 400 || length(a) > 1 :limit 3",
    ] {
        assert!(!run(&engine, script).is_empty(), "{script}");
    }
    let error = engine.run("?[a, s] := *r{a, t, s}, a < 400 || length(a) > 1", &Parameters::new());
    assert!(error.is_err());
}

#[test]
fn texts_that_nothing_compares_and_come_again_are_kept_once() {
    let engine = engine_of(1, 1 << 30);
    run(
        &engine,
        "middle[m, t] := m in [0, 1], t = concat('the same beginning of the two, ', if(m == 0, 'x', 'y'), 'and the same end of the two')
         ?[i, s] := i in int_range(30000), m = mod(i, 2), middle[m, s] :create r {i: Int => s: String}",
    );
    let output = engine.run("?[i, s] := *r{i, s}", &Parameters::new()).unwrap();
    let mut cells: Vec<u64> = output.column(1).iter().map(|cell| cell.word()).collect();
    cells.sort_unstable();
    cells.dedup();
    // At most two cells per batch.
    assert!(cells.len() <= 2 * 30_000 / 1024, "{} cells of two texts", cells.len());
}
