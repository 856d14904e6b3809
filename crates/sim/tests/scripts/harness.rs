//! Runs the tasks of a crash test, crashes the machine at an operation, and checks the database.

use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use model::Value;
use quipu_sim::{Crash, FaultPlan, NameOrder, Random, Settings, Sim, SimEnv};
use relation::Catalog;
use session::{Engine, Parameters};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use store::{Durability, ErrorKind, Store};

/// Number of tasks.
pub(crate) const TASKS: usize = 2;

/// When and how the tasks are interrupted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interruption {
    pub(crate) seed: u64,
    pub(crate) durability: Durability,
    pub(crate) crash: Crash,
    /// Operations of the tasks and of the opening before them.
    pub(crate) at: u64,
}

/// Runs the step of this number of a task, and sets the cell to it once it is acknowledged. False
/// after an error of the machine.
pub(crate) type Step = fn(&Arc<dyn Store>, &Engine, usize, usize, &Cell<usize>) -> bool;

/// The scripts of the tasks, and the checks of their results.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    /// Fills the new database.
    pub(crate) make: fn(&Arc<dyn Store>, &Engine),
    /// The steps of a task.
    pub(crate) step: Step,
    /// Checks the database; returns the last step of each task.
    pub(crate) found: fn(&Arc<dyn Store>, &Engine) -> Vec<usize>,
}

/// The database that the tasks use, once the opening has ended.
#[derive(Default)]
struct Opening {
    database: Option<Rc<(Arc<dyn Store>, Engine)>>,
    is_over: bool,
}

/// Opens the database as `quipu` does.
pub(crate) fn open(
    env: &Arc<SimEnv>,
    durability: Durability,
) -> store::Result<(Arc<dyn Store>, Engine)> {
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

/// A machine on which a new database was filled, flushed and closed, after a reboot.
pub(crate) fn machine_with(
    seed: u64,
    settings: Settings,
    durability: Durability,
    make: impl FnOnce(&Arc<dyn Store>, &Engine) + 'static,
) -> Sim {
    let sim = Sim::new(seed, settings);
    let env = sim.env();
    sim.spawn("make", move || {
        let (store, engine) = open(&env, durability).unwrap();
        make(&store, &engine);
        store.flush().unwrap();
        drop(engine);
        store.close().unwrap();
    });
    sim.run().unwrap();
    sim.crash(Crash::Kill);
    sim.restart()
}

/// Runs the tasks until an operation, opens the database, interrupts that once more, and checks the
/// result. Returns the number of steps that are there.
pub(crate) fn interrupted(of: Interruption, work: Work, random: &mut Random) -> usize {
    let Interruption { seed, durability, crash, at } = of;
    let settings = Settings {
        parallelism: 1 + random.index(2),
        switch_ppm: [1_000, 100_000][random.index(2)],
        faults: FaultPlan::none(),
        name_order: [NameOrder::Journal, NameOrder::Folder, NameOrder::Name][random.index(3)],
        ..Settings::default()
    };
    let sim = machine_with(seed, settings, durability, work.make);
    let acknowledged: Rc<Vec<Cell<usize>>> = Rc::new(vec![Cell::new(0); TASKS]);
    let env = sim.env();
    sim.crash_at_operation(sim.operations() + at, crash);
    let opened: Rc<RefCell<Opening>> = Rc::default();
    let signal = sim.env().signal();
    {
        let (opened, signal) = (Rc::clone(&opened), Arc::clone(&signal));
        sim.spawn("open", move || {
            // If the opening was interrupted, the tasks have no database.
            let database = open(&env, durability).ok().map(Rc::new);
            *opened.borrow_mut() = Opening { database, is_over: true };
            signal.notify();
        });
    }
    for task in 0..TASKS {
        let (opened, told) = (Rc::clone(&opened), Rc::clone(&acknowledged));
        let signal = Arc::clone(&signal);
        sim.spawn("task", move || {
            signal.wait_until(&mut || opened.borrow().is_over);
            let Some(database) = opened.borrow().database.clone() else { return };
            let (store, engine) = &*database;
            let goes_on = |step: &usize| (work.step)(store, engine, task, *step, &told[task]);
            (1..).take_while(goes_on).for_each(drop);
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
        out.set((work.found)(&store, &engine));
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

/// Sums what a run returns over many seeds; a panic names its seed.
pub(crate) fn over_seeds(
    seeds: std::ops::Range<u64>,
    (durability, crash): (Durability, Crash),
    run: impl Fn(u64) -> usize + std::panic::RefUnwindSafe,
) -> usize {
    let one = |seed| match std::panic::catch_unwind(|| run(seed)) {
        Ok(steps) => steps,
        Err(why) => {
            eprintln!("seed {seed}, {durability:?}, {crash:?}");
            std::panic::resume_unwind(why);
        }
    };
    seeds.map(one).sum()
}

/// Crashes for each durability and kind of crash, unless the environment says otherwise.
const CRASHES: u64 = 25;

/// Interrupts the work once for each seed with each durability. `QUIPU_SIM_CRASHES` is the number
/// of seeds, `QUIPU_SIM_SEED` the first. `operations` are those within which the crash comes.
pub(crate) fn all_cuts(crash: Crash, work: Work, operations: fn(Durability) -> usize) {
    let number = |variable: &str, default: u64| {
        std::env::var(variable).map_or(default, |text| text.parse().unwrap())
    };
    let (first, count) = (number("QUIPU_SIM_SEED", 1), number("QUIPU_SIM_CRASHES", CRASHES));
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        let done = over_seeds(first..first + count, (durability, crash), |seed| {
            let mut random = Random::new(seed);
            let at = 20 + random.index(operations(durability)) as u64;
            interrupted(Interruption { seed, durability, crash, at }, work, &mut random)
        });
        println!("{durability:?}, {crash:?}: {count} crashes, {done} steps were there");
        let keeps = durability == Durability::Sync;
        assert!(!keeps || done as u64 > count, "only {done} steps were there");
    }
}

/// A store in memory that nothing interrupts, and its engine.
pub(crate) fn in_memory() -> (Arc<dyn Store>, Engine) {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    (Arc::clone(&store), Engine::new(store, env, 64 << 20))
}

/// The rows of a script that succeeds.
pub(crate) fn rows(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine.run(script, &Parameters::new());
    let output = output.unwrap_or_else(|error| panic!("{script}: {}", error.render(script)));
    (0..output.rows).map(|row| output.row(row)).collect()
}

/// Runs a script until it does not conflict with the other task; false after an error of the
/// machine.
pub(crate) fn is_done(engine: &Engine, script: &str) -> bool {
    loop {
        match engine.run(script, &Parameters::new()) {
            Ok(_) => return true,
            Err(session::Error::Store(error)) if error.kind() == ErrorKind::Conflict => {}
            Err(session::Error::Store(error)) => {
                assert_is_of_machine(&error, script);
                return false;
            }
            Err(error) => panic!("{}", error.render(script)),
        }
    }
}

/// Panics for errors that only a wrong call or a bug causes.
pub(crate) fn assert_is_of_machine(error: &store::Error, doing: &str) {
    let is_own = matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Internal);
    assert!(!is_own, "{doing}: {error}");
}

/// The script that creates the relation in which each step of a task records itself.
pub(crate) const CREATE_LOG: &str = ":create log {task: Int => step: Int}";

/// The script that records a step.
pub(crate) fn record(task: usize, step: usize) -> String {
    format!("?[task, step] <- [[{task}, {step}]] :put log {{task => step}}")
}

/// The last recorded step of each task.
pub(crate) fn recorded_steps(engine: &Engine) -> Vec<usize> {
    let mut steps = vec![0; TASKS];
    for row in rows(engine, "?[task, step] := *log[task, step]") {
        match row[..] {
            [Value::Int(task), Value::Int(step)] => {
                steps[usize::try_from(task).unwrap()] = usize::try_from(step).unwrap();
            }
            _ => panic!("{row:?}"),
        }
    }
    steps
}

/// Checks that no relation is left that was only being created.
pub(crate) fn assert_none_unfinished(store: &Arc<dyn Store>) {
    let left = store.keyspaces();
    assert!(!left.iter().any(|info| info.name.starts_with(":new:")), "{left:?}");
}
