//! Tests of the measurements in `::explain analyze`.

use crate::common::engine_of;
use model::Value;
use quipu_session::{Engine, Parameters, QueryResult, Run};

const CHAIN: &str = "?[a, b] := a in int_range(10), b = a + 1 :create way {a: Int, b: Int}";

fn engine(scripts: &[&str]) -> Engine {
    let engine = engine_of(2, 1 << 30);
    for script in scripts {
        engine.run(script, &Parameters::new()).unwrap();
    }
    engine
}

fn analyzed(engine: &Engine, script: &str) -> QueryResult {
    engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{}", error.render(script)))
}

/// Compares the lines of some ops, or of all if none is named, without estimates, times and bytes:
/// stratum, rule, op, ref, rows, rows in, batches, rounds.
#[track_caller]
fn check(script: &str, ops: &[&str], expected: &[&str]) {
    let output = analyzed(&engine(&[CHAIN]), script);
    let shown: Vec<usize> =
        ["stratum", "rule", "op", "ref", "rows", "rows_in", "batches", "rounds"]
            .iter()
            .map(|wanted| output.headers.iter().position(|header| header == wanted).unwrap())
            .collect();
    let line = |row| {
        let cells = shown.iter().map(|&column| match output.value(row, column) {
            Value::Null => "-".to_owned(),
            Value::Str(text) => text,
            other => other.to_string(),
        });
        cells.collect::<Vec<_>>().join("|")
    };
    let is_asked =
        |line: &String| ops.is_empty() || ops.iter().any(|op| line.contains(&format!("|{op}|")));
    let lines: Vec<String> = (0..output.rows).map(line).filter(is_asked).collect();
    assert_eq!(lines, expected, "{}", lines.join("\n"));
}

#[test]
fn each_step_says_which_rows_came_and_went() {
    check(
        "::explain analyze { ?[a, c] := *way[a, b], a > 3, *way[b, c] }",
        &[],
        &[
            "0|?|scan|*way|7|1|1|1",
            "0|?|filter||6|7|1|1",
            "0|?|index_join or leapfrog_join|*way|5|6|1|1",
            "0|?|head||-|5|1|1",
            "0|?|stratum||5|-|-|-",
            "-|-|plan||-|-|-|-",
            "-|-|query||5|-|-|-",
        ],
    );
}

#[test]
fn recursion_says_its_rounds_and_aggregates_what_they_take() {
    check(
        "::explain analyze { to[b] := *way[0, b]
                             to[c] := to[b], *way[b, c]
                             ?[count(b)] := to[b] }",
        &["head", "stratum", "query"],
        &[
            "0|to|head||-|1|1|1",
            "0|to|head||-|9|10|10",
            "0|to|stratum||10|-|-|11",
            "1|?|head||-|1|1|1",
            "1|?|stratum||1|-|-|-",
            "-|-|query||1|-|-|-",
        ],
    );
}

#[test]
fn a_limit_and_a_fixed_rule_are_told_of() {
    check(
        "::explain analyze { edge[a, b] <- [[1, 2], [2, 3]]
                             ?[v, r] <~ PageRank(edge[a, b]) :limit 2 }",
        &[],
        &[
            "0|edge|constant||2|-|-|-",
            "1|?|fixed_rule|PageRank|3|-|-|-",
            "-|-|plan||-|-|-|-",
            "-|-|query||2|-|-|-",
        ],
    );
}

#[test]
fn what_is_analysed_changes_nothing() {
    let engine = engine(&[CHAIN]);
    analyzed(&engine, "::explain analyze { ?[a, b] <- [[77, 78]] :put way {a, b} }");
    analyzed(&engine, "{ ::explain analyze { ?[a, b] := *way[a, b] :rm way {a, b} } }");
    assert_eq!(analyzed(&engine, "?[count(a)] := *way[a, _]").row(0), [Value::Int(10)]);
}

#[test]
fn a_script_s_own_relations_are_analysed_too() {
    let script = "{?[a] <- [[1], [2]]} as _own { ::explain analyze { ?[a] := *_own[a], a > 1 } }";
    let output = analyzed(&engine(&[]), script);
    assert_eq!(output.headers.len(), 16);
}

#[test]
fn times_add_up_and_memory_is_told() {
    let engine = engine(&[]);
    let script = "::explain analyze { ?[a, b] := a in int_range(300), b in int_range(300) }";
    let output = analyzed(&engine, script);
    let column = |name: &str| output.headers.iter().position(|header| header == name).unwrap();
    let of = |op: &str, name: &str| {
        let row =
            (0..output.rows).rfind(|&row| output.value(row, column("op")) == Value::Str(op.into()));
        match output.value(row.unwrap(), column(name)) {
            Value::Int(int) => int as f64,
            Value::Float(float) => float,
            other => panic!("{other}"),
        }
    };
    assert_eq!(of("query", "rows"), 90_000.0);
    assert!(of("query", "bytes_max") > 90_000.0 * 16.0);
    assert!(of("stratum", "ms") <= of("query", "ms"));
    assert!(of("head", "ms") + of("unnest", "ms") <= of("stratum", "ms"));
}

#[test]
fn a_query_on_a_fast_path_is_analysed_on_it() {
    check(
        "::explain analyze { ?[b] := *way[3, b] }",
        &[],
        &["-|-|point_lookup||1|-|-|-", "-|-|plan||-|-|-|-", "-|-|query||1|-|-|-"],
    );
    check(
        "::explain analyze { ?[c] := *way[3, b], *way[b, c] :limit 1 }",
        &["depth_first", "query"],
        &["-|-|depth_first||1|-|-|-", "-|-|query||1|-|-|-"],
    );
    check(
        "::explain analyze { ?[a] <- [[1], [2]] }",
        &["values", "query"],
        &["-|-|values||2|-|-|-", "-|-|query||2|-|-|-"],
    );
}

/// The shown values of a column, line by line; empty where it is null.
fn column(output: &QueryResult, name: &str) -> Vec<String> {
    let place = output.headers.iter().position(|header| header == name).unwrap();
    let text = |row| match output.value(row, place) {
        Value::Null => String::new(),
        Value::Str(text) => text,
        other => other.to_string(),
    };
    (0..output.rows).map(text).collect()
}

#[test]
fn the_work_of_all_threads_is_counted() {
    let query = "?[a, c, x] := *step[a, b], *step[b, c], x = a + c, x > 100";
    let analyzed = |threads: usize| {
        let engine = engine_of(threads, 1 << 30);
        engine.set_parallel_rows(16);
        let steps =
            "?[a, b] := a in int_range(500), b in [a + 1, a + 2] :create step {a: Int, b: Int}";
        engine.run(steps, &Parameters::new()).unwrap();
        let before = engine.times_parallel();
        let output = analyzed(&engine, &format!("::explain analyze {{ {query} }}"));
        let helped = engine.times_parallel() > before;
        (column(&output, "rows_in"), column(&output, "ran"), helped)
    };
    let (alone, _, helped) = analyzed(1);
    assert!(!helped);
    let (together, ran, helped) = analyzed(4);
    assert!(helped, "threads take part in the analysed query");
    // The first step gets a row for each range of keys.
    assert_eq!(together[1..], alone[1..]);
    assert_eq!(ran[0], "scan");
    assert!(ran[1].contains("join"), "{ran:?}");
    assert_eq!(ran[2..4], ["project", "filter"]);
}

/// The output of `::explain analyze` for a query whose rows would be streamed.
fn analyzed_stream(engine: &Engine, query: &str) -> QueryResult {
    let parameters = Parameters::new();
    let parts = env::sync::Mutex::new(Vec::new());
    let take = |part: quipu_session::Part<'_>| {
        parts.lock().push(part.output);
        Ok(true)
    };
    let script = format!("::explain analyze {{ {query} }}");
    engine.stream(&script, &Run::new(&parameters), &take).unwrap();
    let mut parts = parts.into_inner();
    assert_eq!(parts.len(), 1);
    parts.remove(0)
}

/// Rows of the whole query.
fn rows_of_query(output: &QueryResult) -> String {
    let (ops, rows) = (column(output, "op"), column(output, "rows"));
    rows[ops.iter().position(|op| op == "query").unwrap()].clone()
}

#[test]
fn a_streamed_query_is_analysed_as_a_stream() {
    let output = analyzed_stream(&engine(&[CHAIN]), "?[a, c] := *way[a, b], a > 3, *way[b, c]");
    assert_eq!(rows_of_query(&output), "5");
}

#[test]
fn rows_that_several_threads_stream_are_counted() {
    let engine = engine(&[]);
    engine.set_parallel_rows(16);
    engine.set_range_rows(8);
    let numbers = "?[n, m] := n in int_range(500), m = n * 2 :create number {n: Int => m: Int}";
    engine.run(numbers, &Parameters::new()).unwrap();
    let before = engine.times_parallel();
    let output = analyzed_stream(&engine, "?[n, m] := *number[n, m]");
    assert!(engine.times_parallel() > before, "threads take part");
    assert_eq!(rows_of_query(&output), "500");
}

#[test]
fn a_head_says_whether_its_rows_came_in_columns() {
    let create = "?[a, b, c] := a in int_range(50), b = to_string(a % 3), c = [a] \
                  :create mixed {a: Int => b: String, c: Any}";
    let engine = engine(&[create, CHAIN]);
    let ran = |query: &str| {
        let output = analyzed(&engine, &format!("::explain analyze {{ {query} }}"));
        let (ops, ran) = (column(&output, "op"), column(&output, "ran"));
        ran[ops.iter().position(|op| op == "head").unwrap()].clone()
    };
    assert_eq!(ran("?[b, count(a), sum(a)] := *mixed{a, b}"), "columns");
    assert_eq!(
        ran("?[day, count_unique(b)] := *mixed{a, b}, day = floor(a / 7), a > 3"),
        "columns"
    );
    for by_cells in ["?[c, sum(a)] := *mixed{a, c}", "?[a, count(c)] := *way[a, b], *way[b, c]"] {
        assert_ne!(ran(by_cells), "columns", "{by_cells}");
    }
}

#[test]
fn a_recursion_of_one_row_a_round_does_not_scan_a_relation_of_long_values_each_round() {
    let key = |of: &str, i: &str| match of {
        "[Int]" => format!("[{i}, {i}]"),
        _ => format!("concat('vertex ', to_string({i}))"),
    };
    for of in ["String", "Any", "[Int]"] {
        let (a, b, start) = (key(of, "i"), key(of, "i + 1"), key(of, "900"));
        let create = format!(
            "?[a, b] := i in int_range(1000), a = {a}, b = {b} :create way {{a: {of}, b: {of}}}"
        );
        let engine = engine(&[&create]);
        let script = format!(
            "::explain analyze {{ to[y] := x = {start}, *way[y, x]
             to[y] := to[x], *way[y, x]
             ?[count(y)] := to[y] }}"
        );
        let output = analyzed(&engine, &script);
        let column = |name: &str| output.headers.iter().position(|one| one == name).unwrap();
        let ran: Vec<String> = (0..output.rows)
            .filter(|&row| output.value(row, column("ref")) == Value::Str("*way".to_owned()))
            .map(|row| output.value(row, column("ran")).to_string())
            .collect();
        let scans = |ran: &String| {
            let scans = ran.trim_matches('"').split(", ").find_map(|one| one.strip_prefix("scan "));
            scans.map_or(0, |count| count.parse::<u32>().unwrap())
        };
        assert_eq!(ran.len(), 2, "{of}: {ran:?}");
        assert!(ran.iter().all(|ran| scans(ran) <= 4), "{of}: {ran:?}");
        let rows =
            analyzed(&engine, &script.replace("::explain analyze {", "").replace("[y] }", "[y]"));
        assert_eq!(rows.value(0, 0), Value::Int(900), "{of}");
    }
}
