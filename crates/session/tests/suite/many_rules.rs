//! Scripts with tens of thousands of rules, as programs write them: the cost of a rule does not
//! grow with their number.

use crate::common::engine_of;
use model::Value;
use quipu_session::{Engine, Parameters};
use std::fmt::Write;

/// Rules of a script. If anything is quadratic, these tests take minutes.
const RULES: usize = 20_000;

fn engine() -> Engine {
    let engine = engine_of(2, 1 << 30);
    engine
        .run("?[a, b] <- [[0, 1], [1, 2], [2, 3]] :create e {a: Int, b: Int}", &Parameters::new())
        .unwrap();
    engine
}

/// Runs a script with one line per rule, and compares its number of rows.
#[track_caller]
fn check(line: impl Fn(usize) -> String, entry: &str, want: usize) {
    let mut script = String::new();
    for rule in 0..RULES {
        writeln!(script, "{}", line(rule)).unwrap();
    }
    script.push_str(entry);
    let engine = engine();
    let output = engine.run(&script, &Parameters::new()).unwrap();
    assert_eq!(output.rows, want);
    assert!((0..want).all(|row| matches!(output.value(row, 0), Value::Int(_))));
}

fn last() -> usize {
    RULES - 1
}

#[test]
fn a_chain_of_rules_that_rename() {
    check(
        |rule| match rule {
            0 => "r0[a, b] := *e[a, b]".to_owned(),
            rule => format!("r{rule}[a, b] := r{}[a, b]", rule - 1),
        },
        &format!("?[a] := r{}[a, b]", last()),
        3,
    );
}

#[test]
fn a_chain_of_rules_with_a_condition_each() {
    check(
        |rule| match rule {
            0 => "r0[a, b] := *e[a, b]".to_owned(),
            rule => format!("r{rule}[a, b] := r{}[a, b], a != {rule}, b == b", rule - 1),
        },
        &format!("?[a] := r{}[a, b]", last()),
        1,
    );
}

#[test]
fn a_chain_of_rules_that_compute() {
    check(
        |rule| match rule {
            0 => "r0[a, b] := *e[a, b]".to_owned(),
            rule => format!("r{rule}[a, c] := r{}[a, b], c = b + 1", rule - 1),
        },
        &format!("?[c] := r{}[a, c], a < 2", last()),
        2,
    );
}

#[test]
fn rules_of_one_name() {
    check(|rule| format!("r[a, b] := *e[a, c], b = c + {rule}"), "?[b] := r[a, b]", RULES + 2);
}

#[test]
fn rules_that_have_nothing_to_do_with_one_another() {
    check(
        |rule| format!("r{rule}[a] := *e[a, b], b > {rule}\n?[a] := r{rule}[a]"),
        "?[a] := *e[a, _]",
        3,
    );
}

#[test]
fn recursive_rules_each_for_itself() {
    check(
        |rule| {
            format!(
                "r{rule}[a, b] := *e[a, b]\nr{rule}[a, c] := r{rule}[a, b], *e[b, c]\n?[b] := r{rule}[{rule}, b]"
            )
        },
        "?[b] := *e[0, b]",
        3,
    );
}

#[test]
fn rules_in_a_circle() {
    check(
        |rule| match rule {
            0 => format!("r0[a, b] := *e[a, b]\nr0[a, b] := r{}[a, b]", last()),
            rule if rule < last() => format!("r{rule}[a, b] := r0[a, b]"),
            rule => format!("r{rule}[a, b] := r{}[a, b]", rule - 1),
        },
        &format!("?[a] := r{}[a, b]", last()),
        3,
    );
}
