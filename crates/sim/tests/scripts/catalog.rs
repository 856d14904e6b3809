//! Scripts that create, replace, rename and remove relations, interrupted at any operation: a
//! script takes effect completely or not at all.

use crate::harness::{
    CREATE_LOG, Interruption, Work, assert_none_unfinished, interrupted, machine_with, open,
    over_seeds, record, recorded_steps,
};
use quipu_sim::{Crash, FaultPlan, NameOrder, Random, Settings, Sim};
use relation::Catalog;
use session::{Engine, Parameters};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use store::{Durability, ErrorKind, Store};

/// The script of a task's step; each records in `log` that it was the last one.
fn script(task: usize, step: usize) -> String {
    let (a, b) = (format!("a{task}"), format!("b{task}"));
    let change = match step % 5 {
        1 => format!("{{ ?[i] <- [[{step}]] :create {a} {{i}} }}"),
        2 => format!("{{ ?[i, x] <- [[{step}, 'x']] :replace {a} {{i => x}} }}"),
        3 => format!(
            "{{ ::rename {a} -> {b} }} {{ ?[i, x] <- [[{step}, 'y']] :put {b} {{i => x}} }}"
        ),
        4 => format!(
            "{{ ?[i] <- [[{step}]] :create {a} {{i}} }} {{ ::rename {a} -> {b}, {b} -> {a} }}"
        ),
        _ => format!("{{ ::remove {a}, {b} }}"),
    };
    format!("{change} {{ {} }}", record(task, step))
}

/// The relations of a task after its script `step`, with their rows.
fn expected(task: usize, step: usize) -> BTreeMap<String, Vec<String>> {
    let (a, b) = (format!("a{task}"), format!("b{task}"));
    let wide = |i: usize, x: &str| format!("[{i}, \"{x}\"]");
    let first = step - step % 5;
    match step % 5 {
        1 => BTreeMap::from([(a, vec![format!("[{}]", first + 1)])]),
        2 => BTreeMap::from([(a, vec![wide(first + 2, "x")])]),
        3 => BTreeMap::from([(b, vec![wide(first + 2, "x"), wide(first + 3, "y")])]),
        4 => BTreeMap::from([
            (a, vec![wide(first + 2, "x"), wide(first + 3, "y")]),
            (b, vec![format!("[{}]", first + 4)]),
        ]),
        _ => BTreeMap::new(),
    }
}

fn rows(engine: &Engine, script: &str) -> Vec<String> {
    let output = engine.run(script, &Parameters::new()).unwrap();
    let rows = (0..output.rows).map(|row| {
        let values = output.row(row).into_iter();
        model::Value::List(values.collect()).to_string()
    });
    rows.collect()
}

/// The last script of each task. Checks that exactly its relations exist.
fn found(store: &Arc<dyn Store>, engine: &Engine) -> Vec<usize> {
    let mut relations: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in Catalog::new(Arc::clone(store)).list().unwrap() {
        let columns = entry.schema().columns();
        let name = entry.name();
        let atom = if columns == 1 {
            format!("?[i] := *{name}[i]")
        } else {
            format!("?[i, x] := *{name}[i, x]")
        };
        relations.insert(name.to_owned(), rows(engine, &atom));
    }
    relations.remove("log");
    let steps = recorded_steps(engine);
    let mut want = BTreeMap::new();
    for (task, &step) in steps.iter().enumerate() {
        want.append(&mut expected(task, step));
    }
    assert_eq!(relations, want, "after {steps:?}");
    assert_none_unfinished(store);
    steps
}

/// Runs the script of a step.
fn is_done(
    _: &Arc<dyn Store>,
    engine: &Engine,
    task: usize,
    step: usize,
    told: &Cell<usize>,
) -> bool {
    match engine.run(&script(task, step), &Parameters::new()) {
        Ok(_) => told.set(step),
        // An error of the machine, not of the script.
        Err(session::Error::Store(error)) => {
            assert!(error.kind() != ErrorKind::Conflict, "step {step}: {error}");
            return false;
        }
        Err(error) => panic!("step {step}: {error}"),
    }
    true
}

fn all_cuts(durability: Durability, crash: Crash) {
    let make = |_: &Arc<dyn Store>, engine: &Engine| {
        drop(rows(engine, CREATE_LOG));
    };
    let work = Work { make, step: is_done, found };
    let done = over_seeds(0..400, (durability, crash), |seed| {
        let at = 20 + 37 * seed % 1500;
        let of = Interruption { seed, durability, crash, at };
        interrupted(of, work, &mut Random::new(seed))
    });
    assert!(done > 200, "only {done} scripts were there");
}

#[test]
fn a_killed_process_leaves_all_of_a_script_or_nothing() {
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        all_cuts(durability, Crash::Kill);
    }
}

#[test]
fn a_power_cut_leaves_all_of_a_script_or_nothing() {
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        all_cuts(durability, Crash::Power);
    }
}

/// Creates relations by one script each, writes to them by the next ones, and checks what an
/// interruption leaves.
fn cut_creations(seed: u64, durability: Durability, crash: Crash, at: u64) -> (usize, usize) {
    let mut random = Random::new(seed);
    let settings = Settings {
        parallelism: 1,
        faults: FaultPlan::none(),
        name_order: [NameOrder::Journal, NameOrder::Folder, NameOrder::Name][random.index(3)],
        ..Settings::default()
    };
    let sim = Sim::new(seed, settings);
    let (env, told) = (sim.env(), Rc::new(Cell::new(0_usize)));
    let out = Rc::clone(&told);
    sim.crash_at_operation(at, crash);
    sim.spawn("make", move || {
        let Ok((_, engine)) = open(&env, durability) else { return };
        for step in 0.. {
            let create = engine.run(&format!(":create e{step} {{k: Int}}"), &Parameters::new());
            let put = create.and_then(|_| {
                engine.run(&format!("?[k] <- [[{step}]] :put e{step} {{k}}"), &Parameters::new())
            });
            match put {
                Ok(_) => out.set(step + 1),
                Err(session::Error::Store(_)) => break,
                Err(error) => panic!("step {step}: {error}"),
            }
        }
    });
    let ran = sim.run();
    assert!(sim.crashed().is_some() && ran.is_ok(), "{ran:?}");
    let sim = sim.restart();
    let (env, left) = (sim.env(), Rc::new(Cell::new(0)));
    let out = Rc::clone(&left);
    sim.spawn("look", move || {
        let (store, engine) = open(&env, durability).unwrap();
        let infos = store.keyspaces();
        assert!(!infos.iter().any(|info| info.name.starts_with(":new:")), "{infos:?}");
        let mut written = Vec::new();
        for entry in Catalog::new(Arc::clone(&store)).list().unwrap() {
            let name = entry.name();
            match rows(&engine, &format!("?[k] := *{name}[k]")).as_slice() {
                [] => {}
                [row] => {
                    assert_eq!(format!("[{}]", &name[1..]), *row);
                    written.push(name[1..].parse::<usize>().unwrap());
                }
                rows => panic!("{name} has {rows:?}"),
            }
        }
        written.sort_unstable();
        // A prefix of the commits, so a prefix of the relations that they wrote to.
        assert!(written.iter().copied().eq(0..written.len()), "{written:?}");
        // The database accepts new relations and rows.
        rows(&engine, ":create later {k: Int}");
        rows(&engine, "?[k] <- [[1]] :put later {k}");
        assert_eq!(rows(&engine, "?[k] := *later[k]"), ["[1]"]);
        out.set(written.len());
    });
    sim.run().unwrap();
    (told.get(), left.get())
}

#[test]
fn a_relation_that_a_power_cut_takes_goes_with_all_that_was_written_to_it_since() {
    let (mut lost, mut kept) = (0, 0);
    for durability in [Durability::Sync, Durability::Os] {
        for crash in [Crash::Kill, Crash::Power] {
            for seed in 0..150 {
                let at = 40 + 13 * seed % 600;
                let (told, left) = cut_creations(seed, durability, crash, at);
                let must = durability == Durability::Sync || crash == Crash::Kill;
                assert!(
                    !must || left >= told,
                    "seed {seed}, {durability:?}, {crash:?}: {left} of {told}"
                );
                lost += usize::from(left < told);
                kept += left;
            }
        }
    }
    assert!(lost > 10 && kept > 500, "{lost} {kept}");
}

/// Removes a relation that has settings and creates another with its name, until an operation;
/// returns whether the other one is there.
fn cut_between_removal_and_creation(durability: Durability, crash: Crash, at: u64) -> bool {
    let settings = Settings { faults: FaultPlan::none(), ..Settings::default() };
    let sim = machine_with(at, settings, durability, |_, engine| {
        rows(engine, ":create r {k: Int}");
        rows(engine, "::describe r 'the first'");
    });
    let env = sim.env();
    sim.crash_at_operation(sim.operations() + at, crash);
    sim.spawn("change", move || {
        let Ok((store, _)) = open(&env, durability) else { return };
        let catalog = Catalog::new(store);
        let schema = |entry: relation::Entry| entry.schema().clone();
        let Ok(Some(mut other)) = catalog.find("r").map(|found| found.map(schema)) else { return };
        other.keys.push(relation::KeyColumn::new("l", model::Type::Int));
        let _ = catalog.drop_entry("r").and_then(|_| catalog.create(&other));
    });
    sim.run().unwrap();
    sim.crash(crash);
    let sim = sim.restart();
    let (env, is_other) = (sim.env(), Rc::new(Cell::new(false)));
    let out = Rc::clone(&is_other);
    sim.spawn("look", move || {
        let (store, _) = open(&env, durability).unwrap();
        let catalog = Catalog::new(Arc::clone(&store));
        let Some(found) = catalog.find("r").unwrap() else { return };
        out.set(found.schema().columns() == 2);
        let description = catalog.settings(&*store, "r").unwrap().description;
        assert_eq!(description.is_empty(), out.get(), "{description:?}, cut at {at}");
    });
    sim.run().unwrap();
    is_other.get()
}

#[test]
fn a_relation_does_not_get_the_settings_of_a_removed_one() {
    let mut others = 0;
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        for crash in [Crash::Kill, Crash::Power] {
            let cut = |at| cut_between_removal_and_creation(durability, crash, at);
            others += (1..200).filter(|&at| cut(at)).count();
        }
    }
    assert!(others > 100, "only {others}");
}
