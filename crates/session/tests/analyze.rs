//! Tests of the measurements in `::explain analyze`.

mod common;

use common::engine_of;
use model::Value;
use quipu_session::{Engine, Output, Parameters};

const CHAIN: &str = "?[a, b] := a in int_range(10), b = a + 1 :create way {a: Int, b: Int}";

fn engine(scripts: &[&str]) -> Engine {
    let engine = engine_of(2, 1 << 30);
    for script in scripts {
        engine.run(script, &Parameters::new()).unwrap();
    }
    engine
}

fn analyzed(engine: &Engine, script: &str) -> Output {
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
            "0|?|range_scan|*way|7|1|1|1",
            "0|?|filter||6|7|1|1",
            "0|?|prefix_join|*way|5|6|1|1",
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
    assert_eq!(output.headers.len(), 15);
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
    assert!(of("head", "ms") + of("member", "ms") <= of("stratum", "ms"));
}
