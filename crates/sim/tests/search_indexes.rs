//! A relation with an index of each kind, interrupted at any operation while tasks write to it and
//! make indexes anew: rows and indexes agree afterwards, and searches find what reading all rows
//! finds.
//!
//! `QUIPU_SIM_CRASHES` is the number of crashes for each durability and kind of crash,
//! `QUIPU_SIM_SEED` the first seed (`make sim-indexes`).
#![allow(clippy::unwrap_used)]

use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use model::Value;
use quipu_sim::{Crash, FaultPlan, NameOrder, Random, Settings, Sim, SimEnv};
use relation::Catalog;
use session::{Engine, Parameters};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use store::{Durability, ErrorKind, Store};

const TASKS: usize = 2;

/// Keys of each task.
const KEYS: usize = 6;

/// Crashes for each durability and kind of crash, unless the environment says otherwise.
const CRASHES: u64 = 25;

const RELATION: &str = ":create doc {k: Int => text: String?, v: <F32; 2>?, more: Json?}";

/// Name, creation and removal of each index.
const INDEXES: [(&str, &str, &str); 5] = [
    ("doc:text", "::index create doc:text {text}", "::index drop doc:text"),
    ("doc:city", "::index create doc:city {more->'city'}", "::index drop doc:city"),
    (
        "doc:words",
        "::fts create doc:words {extractor: text, tokenizer: Simple, filters: [Lowercase]}",
        "::fts drop doc:words",
    ),
    (
        "doc:like",
        "::lsh create doc:like {extractor: text, tokenizer: Simple, target_threshold: 0.5}",
        "::lsh drop doc:like",
    ),
    (
        "doc:near",
        "::hnsw create doc:near {dim: 2, fields: [v], m: 4, ef_construction: 20}",
        "::hnsw drop doc:near",
    ),
];

/// The engine that the tasks use, once the opening has ended.
#[derive(Default)]
struct Opened {
    engine: Option<Rc<Engine>>,
    is_over: bool,
}

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
        _ => format!("{{\"city\": \"c{}\"}}", dice.index(3)),
    };
    format!("[{key}, {text}, {v}, {more}]")
}

/// The change of rows in a task's step; it records that it was the last one.
fn script(task: usize, step: usize) -> String {
    let (first, end) = (task * KEYS, (task + 1) * KEYS);
    let own = format!("*doc{{k}}, k >= {first}, k < {end}");
    let put = |places: std::ops::Range<usize>| {
        let rows: Vec<String> = places.map(|place| row(task, step, place)).collect();
        let rows = rows.join(", ");
        format!("?[k, text, v, more] <- [{rows}] :put doc {{k => text, v, more}}")
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
    rows(engine, "?[k, text, v, more] := *doc{k, text, v, more}")
}

fn create(engine: &Engine) {
    rows(engine, ":create log {task: Int => step: Int}");
    rows(engine, RELATION);
}

/// Opens the database as `quipu` does.
fn open(env: &Arc<SimEnv>, durability: Durability) -> store::Result<(Arc<dyn Store>, Engine)> {
    let env: Arc<dyn Env> = Arc::<SimEnv>::clone(env);
    let options = KvOptions {
        durability,
        wal_segment_bytes: 4096,
        cache_bytes: 1 << 20,
        ..KvOptions::default()
    };
    let store: Arc<dyn Store> = Arc::new(Kv::open(Arc::clone(&env), Path::new("/db"), options)?);
    Catalog::new(Arc::clone(&store)).finish_names()?;
    let engine = Engine::new(Arc::clone(&store), env, 64 << 20);
    Ok((store, engine))
}

fn words(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Str(text) => text.split_whitespace().map(str::to_owned).collect(),
        _ => BTreeSet::new(),
    }
}

/// The keys of the rows that meet a condition.
fn keys_where(all: &[Vec<Value>], holds: impl Fn(&[Value]) -> bool) -> Vec<Vec<Value>> {
    all.iter().filter(|row| holds(row)).map(|row| vec![row[0].clone()]).collect()
}

/// Checks that a search by each index that exists finds what reading all rows finds.
fn check_searches(engine: &Engine, all: &[Vec<Value>], names: &BTreeSet<String>) {
    let check = |index: &str, script: &str, want: Vec<Vec<Value>>| {
        if names.contains(index) {
            assert_eq!(rows(engine, script), want, "{script} of {all:?}");
        }
    };
    let text = |text: &str| Value::Str(text.to_owned());
    check("doc:text", "?[k] := *doc{k, text: 'b c'}", keys_where(all, |row| row[1] == text("b c")));
    let has_city = |row: &[Value]| match &row[3] {
        Value::Json(more) => more.as_str() == r#"{"city":"c1"}"#,
        _ => false,
    };
    check("doc:city", "?[k] := *doc{k, more}, more->'city' == 'c1'", keys_where(all, has_city));
    let has_word = |row: &[Value]| words(&row[1]).contains("b");
    check("doc:words", "?[k] := ~doc:words{k | query: 'b', k: 100}", keys_where(all, has_word));
    let abc = words(&text("a b c"));
    check(
        "doc:like",
        "?[k] := ~doc:like{k | query: 'a b c', k: 100, bind_similarity: s, filter: s == 1}",
        keys_where(all, |row| words(&row[1]) == abc),
    );
    check(
        "doc:near",
        "?[k] := ~doc:near{k | query: vec([1, 1]), k: 100, ef: 100}",
        keys_where(all, |row| row[2] != Value::Null),
    );
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
    // One may be between its removal and its creation.
    assert!(names.len() + 1 >= INDEXES.len(), "{names:?}");
    check_searches(engine, &all, &names);
    for (name, create, _) in INDEXES {
        if !names.contains(name) {
            rows(engine, create);
        }
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

/// Writes until an operation, opens the database, interrupts that once more, and checks the result.
/// Returns the number of steps that are there.
fn cut(seed: u64, durability: Durability, crash: Crash) -> usize {
    let mut random = Random::new(seed);
    // Without a log, a step takes few operations.
    let operations = if durability == Durability::None { 150 } else { 3000 };
    let at = 20 + random.index(operations) as u64;
    let settings = Settings {
        parallelism: 1 + random.index(2),
        switch_ppm: [1_000, 100_000][random.index(2)],
        faults: FaultPlan::none(),
        name_order: [NameOrder::Journal, NameOrder::Folder, NameOrder::Name][random.index(3)],
        ..Settings::default()
    };
    let sim = Sim::new(seed, settings);
    let env = sim.env();
    sim.spawn("make", move || {
        let (store, engine) = open(&env, durability).unwrap();
        create(&engine);
        for (_, create, _) in INDEXES {
            rows(&engine, create);
        }
        store.flush().unwrap();
        drop(engine);
        store.close().unwrap();
    });
    sim.run().unwrap();
    sim.crash(Crash::Kill);
    let sim = sim.restart();
    let acknowledged: Rc<Vec<Cell<usize>>> = Rc::new(vec![Cell::new(0); TASKS]);
    let env = sim.env();
    sim.crash_at_operation(sim.operations() + at, crash);
    let opened: Rc<RefCell<Opened>> = Rc::default();
    let signal = sim.env().signal();
    {
        let (opened, signal) = (Rc::clone(&opened), Arc::clone(&signal));
        sim.spawn("open", move || {
            // If the opening was interrupted, the tasks have no engine.
            let engine = open(&env, durability).ok().map(|(_, engine)| Rc::new(engine));
            *opened.borrow_mut() = Opened { engine, is_over: true };
            signal.notify();
        });
    }
    for task in 0..TASKS {
        let (opened, told) = (Rc::clone(&opened), Rc::clone(&acknowledged));
        let signal = Arc::clone(&signal);
        sim.spawn("task", move || {
            signal.wait_until(&mut || opened.borrow().is_over);
            let Some(engine) = opened.borrow().engine.clone() else { return };
            for step in 1.. {
                if !is_done(&engine, &script(task, step)) {
                    return;
                }
                told[task].set(step);
                if task == 0 && step % 3 == 0 {
                    let (_, create, drop) = INDEXES[step / 3 % INDEXES.len()];
                    if !is_done(&engine, drop) || !is_done(&engine, create) {
                        return;
                    }
                }
            }
        });
    }
    let ran = sim.run();
    assert!(sim.crashed().is_some() && ran.is_ok(), "{ran:?}");
    drop(opened.take());
    // Interrupts the opening as well.
    let sim = sim.restart();
    let env = sim.env();
    sim.crash_at_operation(sim.operations() + 1 + random.index(60) as u64, crash);
    sim.spawn("again", move || drop(open(&env, durability)));
    sim.run().unwrap();
    sim.crash(crash);
    let sim = sim.restart();
    let (env, steps) = (sim.env(), Rc::new(Cell::new(Vec::new())));
    let out = Rc::clone(&steps);
    sim.spawn("look", move || {
        let (store, engine) = open(&env, durability).unwrap();
        out.set(found(&store, &engine));
    });
    sim.run().unwrap();
    let steps = steps.take();
    assert_eq!(steps.len(), TASKS, "the check did not end");
    for (step, acknowledged) in steps.iter().zip(acknowledged.iter()) {
        let acknowledged = acknowledged.get();
        assert!(*step <= acknowledged + 1, "{step} of {acknowledged}");
        let keeps = match durability {
            Durability::Sync => true,
            Durability::Os => crash == Crash::Kill,
            Durability::None => false,
        };
        assert!(!keeps || *step >= acknowledged, "{step} of {acknowledged}");
    }
    steps.iter().sum()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn all_cuts(crash: Crash) {
    let (first, count) = (number("QUIPU_SIM_SEED", 1), number("QUIPU_SIM_CRASHES", CRASHES));
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        let mut done = 0;
        for seed in first..first + count {
            match std::panic::catch_unwind(|| cut(seed, durability, crash)) {
                Ok(steps) => done += steps,
                Err(why) => {
                    eprintln!("seed {seed}, {durability:?}, {crash:?}");
                    std::panic::resume_unwind(why);
                }
            }
        }
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
