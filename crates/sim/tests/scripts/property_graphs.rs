//! Graphs with properties, without directions and with parallel edges, interrupted at any operation
//! while tasks write to them: each step is there completely or not at all, both directions agree,
//! and reads from either end find what reading all edges finds.
//!
//! `QUIPU_SIM_CRASHES` is the number of crashes for each durability and kind of crash,
//! `QUIPU_SIM_SEED` the first seed (`make sim-graphs`).

use crate::harness::{
    self, CREATE_LOG, Work, assert_is_of_machine, in_memory, is_done, record, recorded_steps, rows,
};
use model::{Type, Value};
use quipu_sim::{Crash, Random};
use relation::{GraphDef, ValueColumn, VertexType, WeightType};
use session::Engine;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{Durability, Store};
use views::graph::{Graph, Weight};

/// Vertices of each task; its edges begin at them.
const VERTICES: usize = 4;

/// Each task flushes after this many steps.
const FLUSHED: usize = 8;

/// Vertices at which edges of all tasks end, from this one on.
const SHARED: usize = 100;

/// A vertex whose edges come and go by calls of their own, each a commit: they may be left.
const PASSING: u64 = 900;

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
    let changes = kinds().into_iter().flat_map(|of| change(&of, task, step));
    changes.chain([record(task, step)]).map(|script| format!("{{ {script} }} ")).collect()
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
    let (store, engine) = in_memory();
    make(&store, &engine);
    for (task, &last) in steps.iter().enumerate() {
        for step in 1..=last {
            rows(&engine, &script(task, step));
        }
    }
    all_rows(&engine)
}

fn make(store: &Arc<dyn Store>, engine: &Engine) {
    rows(engine, CREATE_LOG);
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
                assert_is_of_machine(&error, "edges that come and go");
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
    if !is_done(engine, &script(task, step)) {
        return false;
    }
    told.set(step);
    let is_flushed = !step.is_multiple_of(FLUSHED) || store.flush().is_ok();
    is_flushed && is_passing_done(store, task)
}

/// The last step of each task. Checks rows, both directions, and reads from either end.
fn found(store: &Arc<dyn Store>, engine: &Engine) -> Vec<usize> {
    let steps = recorded_steps(engine);
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

fn all_cuts(crash: Crash) {
    // Without a log, only flushes take operations.
    let operations = |durability| if durability == Durability::None { 300 } else { 2000 };
    harness::all_cuts(crash, Work { make, step, found }, operations);
}

#[test]
fn graphs_of_each_kind_are_whole_after_a_killed_process() {
    all_cuts(Crash::Kill);
}

#[test]
fn graphs_of_each_kind_are_whole_after_a_power_cut() {
    all_cuts(Crash::Power);
}
