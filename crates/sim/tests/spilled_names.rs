//! Imports of string vertices that spill their names, with a fault or a crash at any operation: all
//! edges are there under their names, or none.
#![allow(clippy::unwrap_used)]

use env::Env;
use kv::{Kv, KvOptions};
use quipu_sim::{Crash, Fault, Settings, Sim, SimEnv};
use relation::{GraphDef, VertexType, WeightType};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use store::{ErrorKind, Result, Store};
use views::graph::{Graph, VertexColumn};
use views::import::{ImportOptions, remove_stale_runs};

const SPILL: &str = "/spill";

/// Edges of the import. Most of their names, a few thousand, occur again later.
const EDGES: u64 = 4_000;

/// Memory of the import in bytes: it spills each piece of the input.
const LIMIT_BYTES: u64 = 256;

type Edges = BTreeSet<(String, String)>;

fn name(number: u64) -> String {
    format!("vertex {}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52)
}

fn edges() -> Vec<(String, String)> {
    (0..EDGES).map(|i| (name(i), name(i * i + 7))).collect()
}

/// The edges before the import, some of them with names that it has, too.
fn before() -> Vec<(String, String)> {
    (0..20).map(|i| (name(3 * i), format!("other {i}"))).collect()
}

fn text(edges: &[(String, String)]) -> String {
    edges.iter().map(|(a, b)| format!("{a},{b}\n")).collect()
}

fn open(env: &Arc<SimEnv>) -> Result<(Arc<dyn Env>, Graph)> {
    let env: Arc<dyn Env> = Arc::<SimEnv>::clone(env);
    let options = KvOptions { cache_bytes: 1 << 20, ..KvOptions::default() };
    let store: Arc<dyn Store> = Arc::new(Kv::open(Arc::clone(&env), Path::new("/db"), options)?);
    remove_stale_runs(&*env, Path::new(SPILL))?;
    let graph = Graph::open(store, GraphDef::new("g", VertexType::Str, WeightType::None))?;
    Ok((env, graph))
}

fn import(env: &Arc<dyn Env>, graph: &Graph, edges: &[(String, String)], limit: u64) -> Result<()> {
    let options = ImportOptions {
        memory_limit_bytes: limit,
        spill_folder: Some(SPILL.into()),
        ..ImportOptions::default()
    };
    let text = Box::new(Cursor::new(text(edges).into_bytes()));
    graph.import_reader(env, text, "edges", &options, &|_| true).map(drop)
}

/// The edges of the graph by name, after its check.
fn read(env: &Arc<dyn Env>, graph: &Graph) -> Result<Edges> {
    let check = graph.check_with(Some(env), &|_| true)?;
    assert_eq!(check.ids_free, 0);
    let mut ids = Vec::new();
    graph.vertices(&mut |more| ids.extend_from_slice(more))?;
    let mut found = Edges::new();
    for id in ids {
        let mut edges = views::graph::Edges::default();
        graph.out_edges(id, &mut edges)?;
        let names = |words: &[u64]| -> Result<Vec<String>> {
            let VertexColumn::Str(names) = graph.to_vertices(words)? else {
                panic!("names are text")
            };
            let text = |i| String::from_utf8(names.get(i).to_vec()).unwrap();
            Ok((0..words.len()).map(text).collect())
        };
        found.extend(names(&edges.src)?.into_iter().zip(names(&edges.dst)?));
    }
    Ok(found)
}

fn run<T: 'static>(machine: &Sim, work: impl FnOnce(&Arc<SimEnv>) -> T + 'static) -> T {
    let (done, env) = (Rc::new(RefCell::new(None)), machine.env());
    let slot = Rc::clone(&done);
    machine.spawn("work", move || *slot.borrow_mut() = Some(work(&env)));
    machine.run().unwrap();
    done.take().unwrap()
}

/// A machine with the edges before the import.
fn machine(seed: u64) -> Sim {
    let machine = Sim::new(seed, Settings::default());
    run(&machine, |env| {
        let (env, graph) = open(env).unwrap();
        import(&env, &graph, &before(), 1 << 20).unwrap();
    });
    machine
}

/// The operations of an import without faults, from one number to another.
fn operations() -> (u64, u64) {
    let machine = machine(1);
    let from = machine.operations();
    let all: Edges = before().into_iter().chain(edges()).collect();
    let to = run(&machine, move |sim| {
        let (env, graph) = open(sim).unwrap();
        import(&env, &graph, &edges(), LIMIT_BYTES).unwrap();
        let operations = sim.operations();
        assert_eq!(read(&env, &graph).unwrap(), all);
        operations
    });
    (from, to)
}

fn check(found: &Edges, is_done: Option<bool>, what: &str) {
    let old: Edges = before().into_iter().collect();
    let all: Edges = before().into_iter().chain(edges()).collect();
    match is_done {
        Some(true) => assert!(*found == all, "{what}"),
        Some(false) => assert!(*found == old, "{what}"),
        None => assert!(*found == all || *found == old, "{what}"),
    }
}

#[test]
fn a_fault_while_names_are_spilled_leaves_all_edges_or_none() {
    let (from, to) = operations();
    let mut failed = 0;
    for (at, fault) in (from..to).step_by(7).zip(Fault::ALL.into_iter().cycle()) {
        let what = format!("{fault:?} at operation {at}");
        let machine = machine(1);
        machine.fault_at_operation(at, fault);
        let told = what.clone();
        failed += run(&machine, move |env| {
            let Ok((env, graph)) = open(env) else { return 1 };
            let done = import(&env, &graph, &edges(), LIMIT_BYTES);
            if let Err(error) = &done {
                let kinds =
                    [ErrorKind::Io, ErrorKind::Corruption, ErrorKind::Limit, ErrorKind::Poisoned];
                assert!(kinds.contains(&error.kind()), "{told}: {error}");
            }
            match read(&env, &graph) {
                Ok(found) => check(&found, done.is_ok().then_some(true), &told),
                // A fault in a table is found when it is read.
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::Io | ErrorKind::Corruption),
                    "{told}: {error}"
                ),
            }
            u32::from(done.is_err())
        });
    }
    assert!(failed > 20, "{failed} imports failed");
}

#[test]
fn a_crash_while_names_are_spilled_leaves_all_edges_or_none() {
    let (from, to) = operations();
    for (at, crash) in (from..to).step_by(11).zip([Crash::Power, Crash::Kill].into_iter().cycle()) {
        let what = format!("{crash:?} at operation {at}");
        let crashed = machine(1);
        crashed.crash_at_operation(at, crash);
        let is_done = run(&crashed, |env| {
            let Ok((env, graph)) = open(env) else { return false };
            import(&env, &graph, &edges(), LIMIT_BYTES).is_ok()
        });
        run(&crashed.restart(), move |env| {
            let (env, graph) = open(env).unwrap();
            assert_eq!(env.list(Path::new(SPILL)).unwrap_or_default(), Vec::<String>::new());
            check(&read(&env, &graph).unwrap(), is_done.then_some(true), &what);
        });
    }
}
