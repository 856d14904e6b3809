//! A relation with an index of each kind, interrupted at any operation while tasks write to it and
//! make indexes anew: rows and indexes agree afterwards, and searches find what reading all rows
//! finds.
//!
//! `QUIPU_SIM_CRASHES` is the number of crashes for each durability and kind of crash,
//! `QUIPU_SIM_SEED` the first seed (`make sim-indexes`).

use crate::harness::{
    self, CREATE_LOG, Work, assert_none_unfinished, in_memory, is_done, record, recorded_steps,
    rows,
};
use model::Value;
use quipu_sim::{Crash, Random};
use session::Engine;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{Durability, Store};
use testkit::indexed_rows::{COLUMNS, INDEXES, IndexCase, IndexedRow};

/// Keys of each task.
const KEYS: usize = 6;

/// A row that a task puts, some with nulls.
fn row(task: usize, step: usize, place: usize) -> String {
    let key = task * KEYS + place;
    let mut dice = Random::new((step * 100 + key) as u64);
    let text = ["'a'", "'a b'", "'b c'", "'a b c'", "''", "null"][dice.index(6)];
    let v = match dice.index(5) {
        0 => "null".to_owned(),
        _ => format!("[{}, {}]", dice.index(4), dice.index(4)),
    };
    let more = match dice.index(4) {
        0 => "null".to_owned(),
        _ => format!("{{\"city\": {}}}", dice.index(3)),
    };
    let once = match dice.index(5) {
        0 => "null".to_owned(),
        _ => (step * 100 + key).to_string(),
    };
    format!("[{key}, {text}, {v}, {more}, {once}]")
}

/// The change of rows in a task's step; it records that it was the last one.
fn script(task: usize, step: usize) -> String {
    let (first, end) = (task * KEYS, (task + 1) * KEYS);
    let own = format!("*doc{{k}}, k >= {first}, k < {end}");
    let put = |places: std::ops::Range<usize>| {
        let rows: Vec<String> = places.map(|place| row(task, step, place)).collect();
        let rows = rows.join(", ");
        let columns = "text, v, more, once";
        format!("?[k, {columns}] <- [{rows}] :put doc {{k => {columns}}}")
    };
    let change = match step % 5 {
        1 => put(0..KEYS),
        2 => format!("?[k, text] := {own}, k % 2 == 0, text = 'b c' :update doc {{k => text}}"),
        3 => format!("?[k] <- [[{first}], [{}]] :rm doc {{k}}", first + 1),
        4 => format!("?[k, v] := {own}, v = vec([{}, 1]) :update doc {{k => v}}", step % 4),
        _ => put(0..KEYS / 2),
    };
    format!("{{ {change} }} {{ {} }}", record(task, step))
}

/// The rows after these steps, of an engine without indexes that nothing interrupts.
fn expected(steps: &[usize]) -> Vec<Vec<Value>> {
    let (_, engine) = in_memory();
    create(&engine);
    for (task, &last) in steps.iter().enumerate() {
        for step in 1..=last {
            rows(&engine, &script(task, step));
        }
    }
    all_rows(&engine)
}

fn all_rows(engine: &Engine) -> Vec<Vec<Value>> {
    rows(engine, "?[k, text, v, more, once] := *doc{k, text, v, more, once}")
}

fn create(engine: &Engine) {
    rows(engine, CREATE_LOG);
    rows(engine, &format!(":create doc {COLUMNS}"));
}

/// The columns of a row of [`all_rows`] that searches read.
fn seen(row: &[Value]) -> IndexedRow<'_> {
    let [_, text, v, more, once] = row else { panic!("{row:?}") };
    let city = match more {
        Value::Json(more) => more.to_tree()["city"].as_i64(),
        _ => None,
    };
    let text = if let Value::Str(text) = text { Some(text.as_str()) } else { None };
    let once = if let Value::Int(once) = once { Some(*once) } else { None };
    IndexedRow { text, has_vector: *v != Value::Null, city, once }
}

/// The last step of each task. Checks rows, indexes and searches.
fn found(store: &Arc<dyn Store>, engine: &Engine) -> Vec<usize> {
    let steps = recorded_steps(engine);
    let all = all_rows(engine);
    assert_eq!(all, expected(&steps), "after {steps:?}");
    let (sound, problems) = engine.check_indexes().unwrap();
    assert_eq!(problems, Vec::<String>::new(), "after {steps:?}");
    let names: BTreeSet<String> = sound.into_iter().map(|index| index.name).collect();
    let (there, missing): (Vec<IndexCase>, Vec<IndexCase>) =
        INDEXES.into_iter().partition(|index| names.contains(&format!("doc:{}", index.name)));
    // One may be between its removal and its creation.
    assert!(missing.len() <= 1, "{names:?}");
    for index in there {
        let script = index.search_on("doc");
        let want = all.iter().filter(|row| (index.finds)(&seen(row)));
        let want: Vec<Vec<Value>> = want.map(|row| vec![row[0].clone()]).collect();
        assert_eq!(rows(engine, &script), want, "{script} of {all:?}");
    }
    for index in missing {
        rows(engine, &index.create_on("doc"));
    }
    assert_eq!(engine.check_indexes().unwrap().1, Vec::<String>::new());
    assert_none_unfinished(store);
    steps
}

/// Fills the database: the relation with an index of each kind.
fn make(_: &Arc<dyn Store>, engine: &Engine) {
    create(engine);
    INDEXES.iter().for_each(|index| drop(rows(engine, &index.create_on("doc"))));
}

/// Runs the script of a step. After every third one of the first task an index is made anew.
fn step(_: &Arc<dyn Store>, engine: &Engine, task: usize, step: usize, told: &Cell<usize>) -> bool {
    if !is_done(engine, &script(task, step)) {
        return false;
    }
    told.set(step);
    let index = &INDEXES[step / 3 % INDEXES.len()];
    let is_index_kept = task > 0 || !step.is_multiple_of(3);
    is_index_kept
        || is_done(engine, &index.drop_on("doc")) && is_done(engine, &index.create_on("doc"))
}

fn all_cuts(crash: Crash) {
    // Without a log, a step takes few operations.
    let operations = |durability| if durability == Durability::None { 150 } else { 3000 };
    harness::all_cuts(crash, Work { make, step, found }, operations);
}

#[test]
fn rows_and_indexes_of_each_kind_agree_after_a_killed_process() {
    all_cuts(Crash::Kill);
}

#[test]
fn rows_and_indexes_of_each_kind_agree_after_a_power_cut() {
    all_cuts(Crash::Power);
}
