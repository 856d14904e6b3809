//! Scripts on threads with small stacks: nesting too deep for a thread is an error there, and does
//! not overflow.
#![allow(clippy::disallowed_methods, reason = "the threads are the test's own")]

use crate::common::engine_of;
use quipu_session::{Engine, Parameters};
use std::sync::Arc;
use std::thread::Builder;

/// Stack size of threads in musl.
const SMALL_BYTES: usize = 128 << 10;

/// More levels than the language allows.
const LEVELS: usize = 300;

/// Kinds of nesting, with this many levels each.
fn shapes(levels: usize) -> Vec<(&'static str, String)> {
    let within = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
    };
    vec![
        ("brackets", format!("?[a] := b = 1, a = {}", within("(1 + ", "b", ")"))),
        ("calls", format!("?[a] := b = 1, a = {}", within("abs(", "b", ")"))),
        ("lists", format!("?[a] := b = 1, a = {}", within("[", "b", "]"))),
        ("objects", format!("?[a] := b = 1, a = {}", within("{'k': ", "b", "}"))),
        ("signs", format!("?[a] := b = 1, a = {}", within("- ", "b", ""))),
        ("differences", format!("?[a] := b = 1, a = b{}", " - 1".repeat(levels))),
        ("comparisons", format!("?[a] := a = 1, {}", within("!(a == ", "2", ")"))),
        ("choices", format!("?[a] := b = 1, a = {}", within("if(b == 2, 1, ", "b", ")"))),
        ("negations", format!("?[a] := a = 1, {}", within("not (not (", "a = 1", "))"))),
        ("bodies", format!("?[a] := {}", within("(", "a = 1", ")"))),
        ("types", format!(":create r{levels} {{a: {}}}", within("[", "Int", "]"))),
        ("conditions", within("%if {?[a] := a = 1} %then ", "%return {?[a] := a = 1}", " %end")),
        ("loops", within("%loop ", "%return {?[a] := a = 1}", " %end")),
    ]
}

/// The result of a script on a thread with a stack of this size.
fn on(stack_bytes: usize, engine: &Arc<Engine>, script: String) -> Result<usize, String> {
    let engine = Arc::clone(engine);
    let run = move || match engine.run(&script, &Parameters::new()) {
        Ok(output) => Ok(output.rows),
        Err(error) => Err(error.to_string()),
    };
    Builder::new().stack_size(stack_bytes).spawn(run).unwrap().join().unwrap()
}

#[test]
fn what_nests_too_deep_for_a_small_stack_is_an_error() {
    let engine = Arc::new(engine_of(1, 1 << 30));
    for levels in (0..8).chain((8..LEVELS).step_by(9)) {
        for (shape, script) in shapes(levels) {
            match on(SMALL_BYTES, &engine, script) {
                Ok(_) => {}
                Err(what) => assert!(
                    what.contains("levels deep") || what.contains("nest") || levels < 8,
                    "{levels} {shape}: {what}"
                ),
            }
        }
    }
}

#[test]
fn a_script_that_a_large_stack_has_run_is_refused_on_a_small_one() {
    let engine = Arc::new(engine_of(1, 1 << 30));
    let levels = 120;
    let (_, script) = shapes(levels).swap_remove(0);
    assert_eq!(on(8 << 20, &engine, script.clone()), Ok(1));
    assert_eq!(on(8 << 20, &engine, script.clone()), Ok(1));
    let refused = on(SMALL_BYTES, &engine, script).unwrap_err();
    assert!(refused.contains("levels deep"), "{refused}");
}

#[test]
fn a_small_stack_runs_what_nests_a_little() {
    let engine = Arc::new(engine_of(1, 1 << 30));
    for (shape, script) in shapes(3) {
        if shape != "types" {
            let found = on(SMALL_BYTES, &engine, script);
            assert!(found.is_ok(), "{shape}: {found:?}");
        }
    }
}

#[test]
fn a_columns_default_is_computed_with_the_stack_of_who_writes_a_row() {
    let engine = Arc::new(engine_of(1, 1 << 30));
    let default = format!("{}1{}", "(1 + ".repeat(120), ")".repeat(120));
    let large = 8 << 20;
    let created = on(large, &engine, format!(":create deep {{a => b default {default}}}"));
    assert!(created.is_ok(), "{created:?}");
    let put = || "?[a] <- [[1]] :put deep {a}".to_owned();
    assert!(on(large, &engine, put()).is_ok());
    let refused = on(SMALL_BYTES, &engine, put()).unwrap_err();
    assert!(refused.contains("levels deep"), "{refused}");
}

#[test]
fn json_of_as_many_levels_as_can_be_stored_is_read_on_a_small_stack() {
    let engine = Arc::new(engine_of(1, 1 << 30));
    let levels = model::Json::LEVELS_MAX;
    for (open, close) in [("[", "]"), ("{\"k\": ", "}")] {
        let text = format!("{}1{}", open.repeat(levels), close.repeat(levels));
        for function in ["parse_json($text)", "json(parse_json($text))", "parse_json($text)->'k'"] {
            let (engine, text) = (Arc::clone(&engine), text.clone());
            let run = move || {
                let parameters = Parameters::from([("text".to_owned(), model::Value::Str(text))]);
                engine
                    .run(&format!("?[a] := a = {function}"), &parameters)
                    .map(|output| output.rows)
            };
            let done = Builder::new().stack_size(SMALL_BYTES).spawn(run).unwrap().join().unwrap();
            assert_eq!(done.unwrap(), 1);
        }
    }
}
