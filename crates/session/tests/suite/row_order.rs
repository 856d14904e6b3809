//! The first rows in an order: what an index or a key has in this order is what sorting gives.

use crate::common::engine_of;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters, QueryResult};

fn run(engine: &Engine, script: &str) -> QueryResult {
    engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{script}: {}", error.render(script)))
}

fn shown(output: &QueryResult, rows: std::ops::Range<usize>) -> Vec<String> {
    let row = |row| output.row(row).iter().map(|value| format!("{value}|")).collect();
    rows.map(row).collect()
}

/// Operators that ran for the plan in order, and for the plan that sorts.
fn operators_that_ran(engine: &Engine, script: &str) -> [Vec<String>; 2] {
    let output = run(engine, &format!("::explain analyze {{ {script} }}"));
    let column = |name| output.headers.iter().position(|header| header == name).unwrap();
    let (rule, ran) = (column("rule"), column("ran"));
    [true, false].map(|is_in_order| {
        let rows = (0..output.rows).filter(|&row| {
            output.value(row, rule).to_string().contains("(in order)") == is_in_order
        });
        let ran = rows.map(|row| output.value(row, ran).to_string().replace('"', ""));
        ran.filter(|ran| !ran.is_empty() && ran != "null").collect()
    })
}

/// Whether a query was answered by reading in order alone.
fn is_read_in_order(engine: &Engine, script: &str) -> bool {
    let [in_order, sorting] = operators_that_ran(engine, script);
    in_order.iter().any(|ran| ran.contains("ordered_scan")) && sorting.is_empty()
}

/// Posts: those of author 1 are every second one, and every tenth has the time of the one before.
fn posts(engine: &Engine, count: usize) {
    let rows = (0..count).map(|id| {
        let author = if id % 2 == 0 { 1 } else { id % 40 };
        let ts = if id % 10 == 1 { id - 1 } else { id } * 7 % count;
        format!("[{id}, {author}, {ts}, {}, 'the text of post {id}']", id % 5)
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    let columns = "{id: Int => author: Int, ts: Int, lang: Int, body: String}";
    run(engine, &format!("?[id, author, ts, lang, body] <- [{rows}] :create posts {columns}"));
    run(engine, "::index create posts:by_ts {ts}");
    run(engine, "::index create posts:by_author {author, ts}");
    run(engine, "?[src, dst] <- [[7, 1], [7, 3], [7, 5]] :create follows {src: Int, dst: Int}");
}

/// Checks the first rows of a query against its sorted rows, and that the order was read.
#[track_caller]
fn check_read_in_order(engine: &Engine, query: &str, order: &str) {
    let sorted = run(engine, &format!("{query} :order {order}"));
    for (offset, limit) in [(0, 1), (0, 10), (3, 10)] {
        let script = format!("{query} :order {order} :limit {limit} :offset {offset}");
        let found = run(engine, &script);
        let (from, to) = (offset.min(sorted.rows), (offset + limit).min(sorted.rows));
        assert_eq!(shown(&found, 0..found.rows), shown(&sorted, from..to), "{script}");
        assert!(is_read_in_order(engine, &script), "{script}");
    }
}

#[test]
fn the_newest_are_read_from_the_end_of_an_index() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    check_read_in_order(&engine, "?[id, ts] := *posts{id, ts}", "-ts");
    check_read_in_order(&engine, "?[id, ts] := *posts{id, ts}", "ts, id");
    check_read_in_order(&engine, "?[id, ts] := *posts{id, ts}", "-ts, -id");
    check_read_in_order(&engine, "?[id, ts, body] := *posts{id, ts, body}", "-ts");
}

#[test]
fn a_bound_prefix_leaves_the_order_of_the_rest() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    let of_one = "?[id, ts, body] := *posts{id, author: 1, ts, body}";
    check_read_in_order(&engine, of_one, "-ts");
    check_read_in_order(&engine, of_one, "ts");
    check_read_in_order(&engine, &format!("{of_one}, ts < 3000"), "-ts");
    check_read_in_order(&engine, "?[id, ts, author] := *posts{id, author, ts}, author = 1", "-ts");
}

#[test]
fn ranges_of_the_key_and_of_an_index_are_read_from_their_end() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    check_read_in_order(&engine, "?[id, ts, body] := *posts{id, ts, body}, ts > 2000", "ts");
    check_read_in_order(&engine, "?[id, body] := *posts{id, body}, id < 2000", "-id");
    check_read_in_order(&engine, "?[id, body] := *posts{id, body}, id > 2000", "id");
}

#[test]
fn filters_are_tried_while_reading() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    check_read_in_order(&engine, "?[id, ts] := *posts{id, ts, lang: 2}", "-ts");
    check_read_in_order(&engine, "?[id, ts] := *posts{id, ts, lang}, lang != 2", "-ts");
    check_read_in_order(&engine, "?[id, ts] := *posts{id, ts, lang}, ts % 3 == 1, lang > 1", "-ts");
}

#[test]
fn the_newest_posts_of_all_whom_one_follows_are_merged() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 20_000);
    let feed = "?[id, ts] := *follows{src: 7, dst: a}, *posts{id, author: a, ts}";
    check_read_in_order(&engine, feed, "-ts");
    check_read_in_order(&engine, "?[id, ts] := a in [1, 3, 5], *posts{id, author: a, ts}", "-ts");
}

#[test]
fn the_least_and_the_greatest_are_one_row() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    for (script, answer) in [
        ("?[max(ts)] := *posts{ts}", "4999|"),
        ("?[min(ts)] := *posts{ts}", "0|"),
        ("?[max(id)] := *posts{id}", "4999|"),
        ("?[min(ts)] := *posts{author: 1, ts}", "0|"),
        ("?[min(ts)] := *posts{author: 1, ts}, ts > 100", "102|"),
        ("?[min(ts), max(ts)] := *posts{ts}", "0|4999|"),
        ("r[max(ts)] := *posts{ts} ?[id] := r[ts], *posts{id, ts}", "2857|"),
    ] {
        let found = run(&engine, script);
        assert_eq!(shown(&found, 0..found.rows), [answer], "{script}");
        assert!(script.starts_with("r[") || is_read_in_order(&engine, script), "{script}");
    }
    let none = run(&engine, "?[max(ts)] := *posts{author: 1000, ts}");
    assert_eq!(shown(&none, 0..none.rows), ["null|"]);
}

#[test]
fn a_limit_counts_distinct_rows() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    check_read_in_order(&engine, "?[ts] := *posts{ts}", "-ts");
    check_read_in_order(&engine, "?[author, ts] := *posts{author, ts}", "-ts");
}

/// Values of the column `a`, which has any type.
const ANY: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "1.0",
    "-0.0",
    "0.0",
    "-5",
    "3.5",
    "-1e300",
    "'x'",
    "''",
    r#""x\u0000""#,
    r#""x\u0000y""#,
    "[1]",
    "[1, 2]",
    "[]",
    "[null]",
    "-9223372036854775808",
    "decode_base64('AAA=')",
    "to_uuid('f81d4fae-7dec-11d0-a765-00a0c91e6bf6')",
];
const FLOATS: &[&str] = &["-0.0", "0.0", "1.5", "-2.5", "1.0 / 0.0", "-1.0 / 0.0", "0.0 / 0.0"];
const TEXTS: &[&str] =
    &["''", r#""\u0000""#, "'a'", r#""a\u0000""#, r#""a\u0000b""#, "'ab'", "'b'", "'é'"];
const INTS: &[&str] = &["null", "-3", "-1", "0", "2", "9223372036854775807"];

/// A row of the relations, from a drawn number.
fn row(k: usize, drawn: u64) -> String {
    let pick = |from: &[&str], bits: u32| from[(drawn >> bits) as usize % from.len()].to_owned();
    let (a, b, s, n) = (pick(ANY, 0), pick(FLOATS, 16), pick(TEXTS, 32), pick(INTS, 48));
    format!("[{k}, {a}, {b}, {s}, {n}, 'the body of {k}']")
}

fn made(engine: &Engine, rows: &[u64]) {
    let rows = rows.iter().enumerate().map(|(k, drawn)| row(k, *drawn));
    let rows = rows.collect::<Vec<_>>().join(", ");
    for columns in [
        "t {k: Int => a: Any?, b: Float, s: String, n: Int?, body: String}",
        "u {a: Any?, k: Int => b: Float, s: String, n: Int?, body: String}",
        "v {b: Float, k: Int => a: Any?, s: String, n: Int?, body: String}",
        "w {s: String, n: Int?, k: Int => a: Any?, b: Float, body: String}",
    ] {
        run(engine, &format!("?[k, a, b, s, n, body] <- [{rows}] :create {columns}"));
    }
    for index in ["t:a {a}", "t:bs {b, s}", "t:sn {s, n}", "t:n {n}", "u:na {n, a}", "v:sb {s, b}"]
    {
        run(engine, &format!("::index create {index}"));
    }
}

const HEADS: &[&str] =
    &["k, a, b, s, n", "a, n", "s, b", "body, n, a, s, b, k", "n", "b, k", "s, n"];
const CONDITIONS: &[&str] = &[
    "",
    ", k % 3 == 1",
    ", s > 'a'",
    ", !is_null(n), n < 2, n > -3",
    ", b >= 0.0",
    ", n = -1",
    ", s = 'a', k > 10",
    ", a = 1",
    ", n in [-1, 2, 0, 77]",
    ", s in ['a', 'b', '']",
    ", starts_with(s, 'a')",
    ", str_includes(body, '7')",
    ", b < 1.5 || (b == 1.5 && k < 50)",
    ", !is_null(n), n < 0 || (n == 0 && k < 50)",
    ", m = k % 7, m < 3",
    ", *t{k: other, n}, other < 20",
    ", not *t{k, s: 'a'}",
    ", *t{k, n: 2}, 10 / (k % 50) > -1",
];
const COLUMNS: &[&str] = &["k", "a", "b", "s", "n", "body"];

/// A query, and its order.
fn query(drawn: (u8, u8, u8, u64)) -> Option<(String, String)> {
    let (relation, head, condition, order) = drawn;
    let relation = ["t", "u", "v", "w"][usize::from(relation) % 4];
    let head = HEADS[usize::from(head) % HEADS.len()];
    let condition = CONDITIONS[usize::from(condition) % CONDITIONS.len()];
    let heads: Vec<&str> = head.split(", ").collect();
    let by = (0..1 + order % 3).map(|i| {
        let column = COLUMNS[(order >> (8 * i + 8)) as usize % COLUMNS.len()];
        let sign = if order >> (40 + i) & 1 == 1 { "-" } else { "" };
        heads.contains(&column).then(|| format!("{sign}{column}"))
    });
    let by: Vec<String> = by.flatten().collect();
    let atom = format!("*{relation}{{k, a, b, s, n, body}}");
    let by = if by.is_empty() { return None } else { by.join(", ") };
    Some((format!("?[{head}] := {atom}{condition}"), by))
}

/// Checks that a limit gives the first of the sorted rows. `before` runs in the same transaction.
fn check_first(
    engine: &Engine,
    before: &str,
    (query, order): &(String, String),
    (limit, offset): (usize, usize),
) -> Result<(), TestCaseError> {
    let wrap = |query: String| match before {
        "" => query,
        before => format!("{before} {{{query}}}"),
    };
    // A condition may fail for a row that a join leaves out, or does not.
    let sorted = wrap(format!("{query} :order {order}"));
    let Ok(all) = engine.run(&sorted, &Parameters::new()) else { return Ok(()) };
    let script = wrap(format!("{query} :order {order} :limit {limit} :offset {offset}"));
    let found = run(engine, &script);
    let (from, to) = (offset.min(all.rows), (offset + limit).min(all.rows));
    prop_assert_eq!(shown(&found, 0..found.rows), shown(&all, from..to), "{}", script);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn the_first_rows_are_those_of_sorting(
        rows in prop::collection::vec(any::<u64>(), 0..700),
        queries in prop::collection::vec(any::<(u8, u8, u8, u64)>(), 60),
        counts in (1_usize..12, 0_usize..4),
        own in prop::collection::vec((0_usize..320, any::<u64>()), 0..12),
    ) {
        let engine = engine_of(2, 1 << 30);
        made(&engine, &rows);
        let own = own.iter().map(|(k, drawn)| row(*k, *drawn)).collect::<Vec<_>>().join(", ");
        let changes = format!(
            "{{?[k, a, b, s, n, body] <- [{own}] :put t {{k => a, b, s, n, body}}}} \
             {{?[k] := k in [1, 5, 60, 61, 62] :rm t {{k}}}}"
        );
        for query in queries.into_iter().filter_map(query) {
            check_first(&engine, "", &query, counts)?;
            if !own.is_empty() {
                check_first(&engine, &changes, &query, counts)?;
            }
        }
        for (relation, column) in ["t", "u", "v", "w"].iter().flat_map(|relation| {
            ["k", "a", "b", "s", "n"].map(|column| (relation, column))
        }) {
            for aggregate in ["min", "max"] {
                let script = format!("?[{aggregate}({column})] := *{relation}{{{column}}}");
                let copied = format!("?[{aggregate}(x)] := *{relation}{{{column}}}, x = [{column}]->0");
                let (found, expected) = (run(&engine, &script), run(&engine, &copied));
                prop_assert_eq!(shown(&found, 0..1), shown(&expected, 0..1), "{}", script);
            }
        }
    }
}

#[test]
fn every_type_of_key_has_the_order_of_its_values() {
    let engine = engine_of(1, 1 << 30);
    for (number, (kind, values)) in [
        ("Bool", "[true, false]"),
        ("Int", "[0, -1, 1, -9223372036854775808, 9223372036854775807, 77]"),
        ("Float", "[0.0, -0.0, 1.5, -1.5, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0]"),
        ("String", r#"["", "\u0000", "a", "a\u0000", "a\u0000b", "b", "é"]"#),
        ("Bytes", "[decode_base64(''), decode_base64('AA=='), decode_base64('AAA='), decode_base64('/w==')]"),
        ("Uuid", "[to_uuid('f81d4fae-7dec-11d0-a765-00a0c91e6bf6'), to_uuid('00000000-7dec-11d0-a765-00a0c91e6bf6')]"),
        ("Validity", "[validity(1), validity(2), validity(2, false), validity(-5)]"),
        ("Json", "[json(1), json('a'), json({}), json([1]), json({'a': 1}), json(null)]"),
        ("[Int]", "[[], [1], [1, 2], [-1, 5], [2]]"),
        ("Any?", "[null, true, 1, 1.0, 'a', [1], -0.0, 0.0]"),
    ]
    .into_iter()
    .enumerate()
    {
        let rows = format!("?[k, a] := k in int_range(400), v = {values}, a = get(v, k % length(v))");
        for (name, columns) in [
            ("key", format!("{{a: {kind}, k: Int}}")),
            ("value", format!("{{k: Int => a: {kind}}}")),
        ] {
            let name = format!("{name}_{number}");
            run(&engine, &format!("{rows} :create {name} {columns}"));
            if name.starts_with("value") {
                run(&engine, &format!("::index create {name}:by_a {{a}}"));
            }
            for order in ["a, k", "-a, -k"] {
                check_read_in_order(&engine, &format!("?[k, a] := *{name}{{k, a}}"), order);
            }
        }
    }
}

#[test]
fn a_condition_for_one_value_is_a_prefix() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    let of_one = "?[id, author, ts] := *posts{id, author, ts}, author == 1";
    check_read_in_order(&engine, of_one, "-ts");
    check_read_in_order(&engine, of_one, "author, -ts");
    let of_none = "?[id, author, ts] := *posts{id, author, ts}, author == 1.5";
    let none = run(&engine, &format!("{of_none} :order -ts :limit 3"));
    assert_eq!(none.rows, 0);
}

#[test]
fn a_page_begins_where_the_last_one_ended() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    let page = "?[id, ts] := *posts{id, ts}, ts < 2500 || (ts == 2500 && id < 1000)";
    check_read_in_order(&engine, page, "-ts, -id");
    let page = "?[id, ts] := *posts{id, ts}, (ts == 2500 && id > 1000) || ts > 2500";
    check_read_in_order(&engine, page, "ts, id");
}

#[test]
fn of_many_equal_rows_the_first_are_at_the_other_end() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    run(&engine, "::index create posts:by_lang {lang}");
    for query in [
        "?[id, lang, body] := *posts{id, lang, body}",
        "?[id, lang, ts] := *posts{id, lang, ts}, ts % 3 == 1",
        "?[lang, id] := *posts{id, lang}, id % 2 == 0",
    ] {
        check_read_in_order(&engine, query, "-lang");
        check_read_in_order(&engine, query, "lang, -id");
        check_read_in_order(&engine, query, "lang");
    }
    let output = run(
        &engine,
        "::explain analyze { ?[id, lang] := *posts{id, lang} :order -lang :limit 10 }",
    );
    let rows = output.headers.iter().position(|header| header == "rows").unwrap();
    let Some(model::Value::Int(read)) = (0..output.rows).map(|row| output.value(row, rows)).next()
    else {
        panic!("no figure");
    };
    assert!(read < 500, "{read} of 1000 equal rows were read");
}

#[test]
fn a_few_rows_that_a_lookup_finds_are_sorted() {
    let engine = engine_of(1, 1 << 30);
    posts(&engine, 5000);
    run(&engine, "::index create posts:by_lang {lang}");
    for (query, order, rows) in [
        ("?[id, ts] := *posts{id, ts, lang: 9}", "-ts", 0),
        ("?[id, ts] := *posts{id, ts}, ts > 4990", "id", 8),
    ] {
        let script = format!("{query} :order {order} :limit 10");
        assert_eq!(run(&engine, &script).rows, rows, "{script}");
        assert!(!is_read_in_order(&engine, &script), "{script}");
    }
}

#[test]
fn rows_that_an_existing_trie_finds_are_not_looked_for_in_order() {
    let engine = engine_of(1, 1 << 30);
    let rows = "?[a, b] := a in int_range(20000), b = a % 5000";
    run(&engine, &format!("{rows} :create e {{a: Int, b: Int}}"));
    for (script, answer) in [
        ("?[min(a), max(a)] := b = -1, *e[a, b]", "null|null|"),
        ("?[min(a), max(a)] := b = 4999, *e[a, b]", "4999|19999|"),
        ("?[max(c)] := b = -1, *e[a, b], *e[c, b]", "null|"),
        ("?[max(c)] := a = 5, b = 7, *e[a, b], *e[c, b]", "null|"),
    ] {
        let found = run(&engine, script);
        assert_eq!(shown(&found, 0..found.rows), [answer], "{script}");
        // After a few scans in vain, a trie is built.
        (0..8).for_each(|_| drop(run(&engine, script)));
        let [in_order, sorting] = operators_that_ran(&engine, script);
        assert!(in_order.iter().all(|ran| !ran.contains("scan")), "{script}: {in_order:?}");
        assert!(sorting.iter().any(|ran| ran.contains("join")), "{script}: {sorting:?}");
        let found = run(&engine, script);
        assert_eq!(shown(&found, 0..found.rows), [answer], "{script}");
        run(&engine, "?[a, b] <- [[20000, 0]] :put e {a, b}");
        run(&engine, "?[a, b] <- [[20000, 0]] :rm e {a, b}");
    }
}
