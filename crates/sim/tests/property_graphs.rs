//! Graphs with properties, without directions and with parallel edges, interrupted at any operation
//! while tasks write to them: each step is there completely or not at all, both directions agree,
//! and reads from either end find what reading all edges finds.
//!
//! `QUIPU_SIM_CRASHES` is the number of crashes for each durability and kind of crash,
//! `QUIPU_SIM_SEED` the first seed (`make sim-graphs`).
#![allow(clippy::unwrap_used)]

mod scripts;

use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use model::{Type, Value};
use quipu_sim::{Crash, Random};
use relation::{GraphDef, ValueColumn, VertexType, WeightType};
use scripts::{Interruption, TASKS, Work, interrupted, over_seeds};
use session::{Engine, Parameters};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use store::{Durability, ErrorKind, Store};
use views::graph::{Graph, Weight};

/// Vertices of each task; its edges begin at them.
const VERTICES: usize = 4;

/// Each task flushes after this many steps.
const FLUSHED: usize = 8;

/// Vertices at which edges of all tasks end, from this one on.
const SHARED: usize = 100;

/// A vertex whose edges come and go by calls of their own, each a commit: they may be left.
const PASSING: u64 = 900;

/// Crashes for each durability and kind of crash, unless the environment says otherwise.
const CRASHES: u64 = 25;

/// A graph of each kind. All have properties of edges; two have properties of vertices.
fn kinds() -> [GraphDef; 4] {
    let column = |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
    let edges = vec![column("since", Type::Int), column("note", Type::String)];
    let nodes = Some(vec![column("kind", Type::String), column("size", Type::Int)]);
    let plain = GraphDef { weight: WeightType::Float, edges, ..GraphDef::default() };
    let named = |name: &str| GraphDef { name: name.to_owned(), ..plain.clone() };
    [
        GraphDef { nodes: nodes.clone(), ..named("roads") },
        GraphDef { is_undirected: true, ..named("walks") },
        GraphDef { is_keyed: true, ..named("flights") },
        GraphDef { vertex: VertexType::Str, nodes, ..named("letters") },
    ]
}

/// A vertex as scripts write it.
fn vertex(of: &GraphDef, number: usize) -> String {
    match of.vertex {
        VertexType::Str => format!("'a vertex with the number {number}'"),
        _ => number.to_string(),
    }
}

/// Columns of the edges: the key columns, and the others.
fn columns(of: &GraphDef) -> (&'static str, &'static str) {
    (if of.is_keyed { "src, dst, key" } else { "src, dst" }, "weight, since, note")
}

/// A row of edge `place` of a task in a step.
fn edge(of: &GraphDef, task: usize, step: usize, place: usize) -> String {
    let mut dice = Random::new((step * 1000 + task * 100 + place) as u64);
    let (src, dst) = ends(of, task, step, place);
    let key = if of.is_keyed { format!("{}, ", dice.index(3)) } else { String::new() };
    let since = if dice.index(3) == 0 { "null".to_owned() } else { dice.index(9).to_string() };
    let note = ["null", "''", "'short'", "'a note that is too long for a cell'"][dice.index(4)];
    format!("[{src}, {dst}, {key}{}.5, {since}, {note}]", dice.index(5))
}

/// The ends of an edge, in any order where it has no direction.
fn ends(of: &GraphDef, task: usize, step: usize, place: usize) -> (String, String) {
    let mut dice = Random::new((step * 1000 + task * 100 + place + 50) as u64);
    let src = vertex(of, task * VERTICES + place % VERTICES);
    let dst = vertex(of, SHARED + dice.index(5));
    match of.is_undirected && dice.index(2) == 0 {
        true => (dst, src),
        false => (src, dst),
    }
}

/// The change of a graph in a task's step.
fn change(of: &GraphDef, task: usize, step: usize) -> Vec<String> {
    let (name, (keys, values)) = (&of.name, columns(of));
    let own: Vec<String> =
        (0..VERTICES).map(|number| vertex(of, task * VERTICES + number)).collect();
    let own = own.join(", ");
    let from_own = match of.is_undirected {
        // Each edge has one end of the task.
        true => format!("*{name}{{{keys}}}, is_in(src, [{own}]) || is_in(dst, [{own}])"),
        false => format!("src in [{own}], *{name}{{{keys}}}"),
    };
    let mut scripts = vec![match step % 6 {
        2 => format!(
            "?[{keys}, since] := {from_own}, since = {step} :update {name} {{{keys} => since}}"
        ),
        3 => {
            let first = vertex(of, task * VERTICES);
            let chosen = match of.is_undirected {
                true => format!("*{name}{{{keys}}}, src == {first} || dst == {first}"),
                false => format!("src = {first}, *{name}{{{keys}}}"),
            };
            format!("?[{keys}] := {chosen} :rm {name} {{{keys}}}")
        }
        5 => format!("?[{keys}] := {from_own} :rm {name} {{{keys}}}"),
        _ => {
            let rows: Vec<String> = (0..6).map(|place| edge(of, task, step, place)).collect();
            let rows = rows.join(", ");
            format!("?[{keys}, {values}] <- [{rows}] :put {name} {{{keys} => {values}}}")
        }
    }];
    if of.nodes.is_some() {
        let of_task = vertex(of, task * VERTICES + step % VERTICES);
        scripts.push(match step % 4 {
            0 => format!("?[vertex] <- [[{of_task}]] :rm {name}:nodes {{vertex}}"),
            1 => format!(
                "?[vertex, kind] := vertex = {of_task}, *{name}:nodes{{vertex}}, kind = 'k{step}' \
                 :update {name}:nodes {{vertex => kind}}"
            ),
            _ => format!(
                "?[vertex, kind, size] <- [[{of_task}, null, {step}]] \
                 :put {name}:nodes {{vertex => kind, size}}"
            ),
        });
    }
    scripts
}

/// The script of a task's step; it records that it was the last one.
fn script(task: usize, step: usize) -> String {
    let log = format!("?[task, step] <- [[{task}, {step}]] :put log {{task => step}}");
    let changes = kinds().into_iter().flat_map(|of| change(&of, task, step));
    changes.chain([log]).map(|script| format!("{{ {script} }} ")).collect()
}

fn rows(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine.run(script, &Parameters::new());
    let output = output.unwrap_or_else(|error| panic!("{script}: {}", error.render(script)));
    (0..output.rows).map(|row| output.row(row)).collect()
}

/// The rows of each graph, and of its vertices. Those of strings are in the order of their names:
/// ids depend on which task is first.
fn all_rows(engine: &Engine) -> Vec<BTreeSet<String>> {
    let mut found = Vec::new();
    let mut add = |script: String| {
        let lasting = |row: &&Vec<Value>| !row.contains(&Value::Int(PASSING as i64));
        let lines = rows(engine, &script);
        found.push(lines.iter().filter(lasting).map(|row| format!("{row:?}")).collect());
    };
    for of in kinds() {
        let (name, (keys, values)) = (&of.name, columns(&of));
        add(format!("?[{keys}, {values}] := *{name}{{{keys}, {values}}}"));
        if of.nodes.is_some() {
            add(format!("?[vertex, kind, size] := *{name}:nodes{{vertex, kind, size}}"));
        }
    }
    found
}

/// The rows after these steps, of a store that nothing interrupts.
fn expected(steps: &[usize]) -> Vec<BTreeSet<String>> {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let engine = Engine::new(Arc::clone(&store), env, 64 << 20);
    make(&store, &engine);
    for (task, &last) in steps.iter().enumerate() {
        for step in 1..=last {
            rows(&engine, &script(task, step));
        }
    }
    all_rows(&engine)
}

fn make(store: &Arc<dyn Store>, engine: &Engine) {
    rows(engine, ":create log {task: Int => step: Int}");
    for of in kinds() {
        Graph::open_or_create(Arc::clone(store), of).unwrap();
    }
}

/// Adds and removes edges of a task by calls of the graph; false after an error of the machine.
fn is_passing_done(store: &Arc<dyn Store>, task: usize) -> bool {
    let own = (task * VERTICES) as u64;
    kinds().into_iter().filter(|of| of.vertex == VertexType::U64 && !of.is_keyed).all(|of| {
        let done = Graph::open(Arc::clone(store), of).and_then(|graph| {
            graph.upsert(own, PASSING, Some(Weight::Float(2.0)))?;
            graph.upsert(PASSING, own + 1, Some(Weight::Float(3.0)))?;
            graph.remove(own, PASSING)?;
            graph.remove(PASSING, own + 1)
        });
        match done {
            Ok(was_there) => {
                assert!(was_there);
                true
            }
            Err(error) => {
                let is_own = matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Internal);
                assert!(!is_own, "{error}");
                false
            }
        }
    })
}

fn step(
    store: &Arc<dyn Store>,
    engine: &Engine,
    task: usize,
    step: usize,
    told: &Cell<usize>,
) -> bool {
    let script = script(task, step);
    loop {
        match engine.run(&script, &Parameters::new()) {
            Ok(_) => {
                told.set(step);
                let is_flushed = !step.is_multiple_of(FLUSHED) || store.flush().is_ok();
                return is_flushed && is_passing_done(store, task);
            }
            Err(session::Error::Store(error)) if error.kind() == ErrorKind::Conflict => {}
            Err(session::Error::Store(error)) => {
                let is_own = matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Internal);
                assert!(!is_own, "{script}: {error}");
                return false;
            }
            Err(error) => panic!("{}", error.render(&script)),
        }
    }
}

/// The last step of each task. Checks rows, both directions, and reads from either end.
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
    assert_eq!(all_rows(engine), expected(&steps), "after {steps:?}");
    for of in kinds() {
        let (name, keys) = (of.name.clone(), columns(&of).0);
        let graph = Graph::open(Arc::clone(store), of.clone()).unwrap();
        let check = graph.check().unwrap();
        let all = rows(engine, &format!("?[{keys}] := *{name}{{{keys}}}"));
        assert_eq!(check.edges, all.len() as u64, "{name} after {steps:?}");
        assert_eq!(graph.number_of_edges().unwrap(), check.edges, "{name}");
        for shared in 0..5 {
            let end = vertex(&of, SHARED + shared);
            let by_end = format!("dst = {end}, *{name}{{{keys}}}");
            let by_scan = format!("*{name}{{{keys}}}, to_string(dst) == to_string({end})");
            let [by_end, by_scan] = [by_end, by_scan].map(|body| {
                let body = format!("?[{keys}] := {body}");
                rows(engine, &body).iter().map(|row| format!("{row:?}")).collect::<BTreeSet<_>>()
            });
            assert_eq!(by_end, by_scan, "{name} after {steps:?}");
        }
    }
    assert_eq!(engine.check_indexes().unwrap().1, Vec::<String>::new());
    steps
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn all_cuts(crash: Crash) {
    let (first, count) = (number("QUIPU_SIM_SEED", 1), number("QUIPU_SIM_CRASHES", CRASHES));
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        let done = over_seeds(first..first + count, (durability, crash), |seed| {
            let mut random = Random::new(seed);
            // Without a log, only flushes take operations.
            let operations = if durability == Durability::None { 300 } else { 2000 };
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
fn graphs_of_each_kind_are_whole_after_a_killed_process() {
    all_cuts(Crash::Kill);
}

#[test]
fn graphs_of_each_kind_are_whole_after_a_power_cut() {
    all_cuts(Crash::Power);
}
