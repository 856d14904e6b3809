//! State after a call that panics, in the database or in a function of the program.
#![allow(clippy::unwrap_used)]

use quipu::{Database, ErrorKind, FixedRule, Isolation, Options, Parameters, RuleCall, Value};

/// A fixed rule that panics, as a bug of the engine would.
struct Panics;

impl FixedRule for Panics {
    fn columns(&self) -> usize {
        1
    }

    fn run(&self, _: &RuleCall<'_>) -> Result<Vec<Vec<Value>>, quipu::Failure> {
        panic!("on purpose")
    }
}

fn database() -> Database {
    let db = Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap();
    db.register_fixed_rule("Panics", Panics).unwrap();
    run(&db, ":create kept {k: Int => v: Int}");
    db
}

fn run(db: &Database, script: &str) -> String {
    let answer = db.run(script, &Parameters::new()).unwrap();
    let rows: Vec<String> = answer.rows().map(|row| Value::List(row).to_string()).collect();
    rows.join(" ")
}

const PANICS: &str = "{ ?[k, v] <- [[1, 1]] :put kept {k => v} } { ?[a] <~ Panics() }";

#[test]
fn a_query_that_panics_is_an_error_that_asks_for_a_report() {
    let db = database();
    let error = db.run("?[a] <~ Panics()", &Parameters::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    let message = error.to_string();
    assert!(message.starts_with("internal error: on purpose\nhint: "), "{message}");
    assert_eq!(run(&db, "?[a] <- [[7]]"), "[7]");
    assert_eq!(run(&db, "?[n] := n = 1, not *kept{}"), "[1]");
}

#[test]
fn a_script_that_panics_behind_a_write_has_written_nothing() {
    let db = database();
    let error = db.run(PANICS, &Parameters::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    let made = "{ :create made {a} } { ?[a] <~ Panics() }";
    assert_eq!(db.run(made, &Parameters::new()).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(run(&db, "?[k, v] := *kept[k, v]"), "");
    // Neither its locks nor its names remain.
    run(&db, ":create made {b}");
    run(&db, "::index create kept:by_v {v}");
    run(&db, "?[k, v] <- [[2, 2]] :put kept {k => v}");
    assert_eq!(run(&db, "?[k, v] := *kept[k, v]"), "[2, 2]");
}

#[test]
fn a_transaction_in_which_a_script_panicked_cannot_be_committed() {
    let db = database();
    let tx = db.transaction(Isolation::Snapshot);
    tx.run("?[k, v] <- [[5, 5]] :put kept {k => v}", &Parameters::new()).unwrap();
    assert_eq!(tx.run(PANICS, &Parameters::new()).unwrap_err().kind(), ErrorKind::Internal);
    let error = tx.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(!tx.is_open());
    assert_eq!(run(&db, "?[k, v] := *kept[k, v]"), "");
}

#[test]
fn a_change_whose_callback_panics_is_committed_and_says_so() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let db = database();
    let told = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&told);
    db.register_callback("kept", |_| panic!("on purpose")).unwrap();
    db.register_callback("kept", move |changed| {
        counted.fetch_add(changed.new.len(), Ordering::Relaxed);
    })
    .unwrap();
    run(&db, "?[k, v] <- [[3, 3]] :put kept {k => v}");
    assert_eq!(run(&db, "?[k, v] := *kept[k, v]"), "[3, 3]");
    assert_eq!(told.load(Ordering::Relaxed), 1, "the other one is told");
}
