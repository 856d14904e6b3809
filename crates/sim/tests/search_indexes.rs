//! A relation with an index of each kind, interrupted at any operation while tasks write to it and
//! make indexes anew: rows and indexes agree afterwards, and searches find what reading all rows
//! finds.
//!
//! `QUIPU_SIM_CRASHES` is the number of crashes for each durability and kind of crash,
//! `QUIPU_SIM_SEED` the first seed (`make sim-indexes`).
#![allow(clippy::unwrap_used)]

mod scripts;

use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use model::Value;
use quipu_sim::{Crash, Random};
use scripts::{Interruption, TASKS, Work, interrupted, over_seeds};
use session::{Engine, Parameters};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use store::{Durability, ErrorKind, Store};
use testkit::indexed_rows::{COLUMNS, INDEXES, IndexCase, IndexedRow};

/// Keys of each task.
const KEYS: usize = 6;

/// Crashes for each durability and kind of crash, unless the environment says otherwise.
const CRASHES: u64 = 25;

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
    format!("{{ {change} }} {{ ?[task, step] <- [[{task}, {step}]] :put log {{task => step}} }}")
}

fn rows(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine.run(script, &Parameters::new());
    let output = output.unwrap_or_else(|error| panic!("{}", error.render(script)));
    (0..output.rows).map(|row| output.row(row)).collect()
}

/// The rows after these steps, of an engine without indexes that nothing interrupts.
fn expected(steps: &[usize]) -> Vec<Vec<Value>> {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let engine = Engine::new(Arc::new(store), env, 64 << 20);
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
    rows(engine, ":create log {task: Int => step: Int}");
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
    let mut steps = vec![0; TASKS];
    for row in rows(engine, "?[task, step] := *log[task, step]") {
        match row[..] {
            [Value::Int(task), Value::Int(step)] => {
                steps[usize::try_from(task).unwrap()] = usize::try_from(step).unwrap();
            }
            _ => panic!("{row:?}"),
        }
    }
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
    let left = store.keyspaces();
    assert!(!left.iter().any(|info| info.name.starts_with(":new:")), "{left:?}");
    steps
}

/// Runs a script until it does not conflict with the other task; false after an error of the
/// machine.
fn is_done(engine: &Engine, script: &str) -> bool {
    loop {
        match engine.run(script, &Parameters::new()) {
            Ok(_) => return true,
            Err(session::Error::Store(error)) if error.kind() == ErrorKind::Conflict => {}
            Err(session::Error::Store(error)) => {
                let is_own = matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Internal);
                assert!(!is_own, "{script}: {error}");
                return false;
            }
            Err(error) => panic!("{}", error.render(script)),
        }
    }
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

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn all_cuts(crash: Crash) {
    let (first, count) = (number("QUIPU_SIM_SEED", 1), number("QUIPU_SIM_CRASHES", CRASHES));
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        let done = over_seeds(first..first + count, (durability, crash), |seed| {
            let mut random = Random::new(seed);
            // Without a log, a step takes few operations.
            let operations = if durability == Durability::None { 150 } else { 3000 };
            let at = 20 + random.index(operations) as u64;
            let of = Interruption { seed, durability, crash, at };
            interrupted(of, Work { make, step, found }, &mut random)
        });
        println!("{durability:?}, {crash:?}: {count} crashes, {done} steps were there");
        let keeps = durability == Durability::Sync;
        assert!(!keeps || done as u64 > count, "only {done} steps were there");
    }
}

#[test]
fn rows_and_indexes_of_each_kind_agree_after_a_killed_process() {
    all_cuts(Crash::Kill);
}

#[test]
fn rows_and_indexes_of_each_kind_agree_after_a_power_cut() {
    all_cuts(Crash::Power);
}
