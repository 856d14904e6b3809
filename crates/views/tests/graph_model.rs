//! Compares the graph view with a map of edges, for every call, in and outside of transactions.

use proptest::prelude::*;
use quipu_views::SharedTransaction;
use quipu_views::graph::{
    Edges, Graph, GraphDef, VertexType, Weight, WeightType, Weights, WeightsRef,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{Isolation, Store};
use testkit::ModelStore;

type Model = BTreeMap<(u64, u64), f64>;

/// Few vertices, so that edges share ends; the ends of the range are among them.
const VERTICES: [u64; 7] = [0, 1, 2, 3, 1 << 63, u64::MAX - 1, u64::MAX];

#[derive(Clone, Debug)]
enum Op {
    Upsert(u64, u64, f64),
    UpsertMany(Vec<(u64, u64, f64)>),
    Remove(u64, u64),
    RemoveMany(Vec<(u64, u64)>),
    RemoveVertex(u64),
    Clear,
    Begin,
    Commit,
    Rollback,
}

fn vertex() -> impl Strategy<Value = u64> {
    proptest::sample::select(VERTICES.as_slice())
}

/// Whole numbers, so that sums do not depend on the order.
fn weight() -> impl Strategy<Value = f64> {
    (-50..50_i32).prop_map(f64::from)
}

fn op() -> impl Strategy<Value = Op> {
    let edge = || (vertex(), vertex(), weight());
    prop_oneof![
        4 => edge().prop_map(|(u, v, w)| Op::Upsert(u, v, w)),
        4 => proptest::collection::vec(edge(), 0..12).prop_map(Op::UpsertMany),
        2 => (vertex(), vertex()).prop_map(|(u, v)| Op::Remove(u, v)),
        2 => proptest::collection::vec((vertex(), vertex()), 0..8).prop_map(Op::RemoveMany),
        1 => vertex().prop_map(Op::RemoveVertex),
        1 => Just(Op::Clear),
        1 => Just(Op::Begin),
        1 => Just(Op::Commit),
        1 => Just(Op::Rollback),
    ]
}

fn of_type(weight: WeightType, value: f64) -> Option<Weight> {
    match weight {
        WeightType::None => None,
        WeightType::Float => Some(Weight::Float(value)),
        WeightType::Int => Some(Weight::Int(value as i64)),
    }
}

/// The key of an edge in the map: without a direction, its smaller end comes first.
fn key(graph: &Graph, u: u64, v: u64) -> (u64, u64) {
    if graph.def().is_undirected { (u.min(v), u.max(v)) } else { (u, v) }
}

/// Applies `op` to graph and map, and compares the results.
fn apply(graph: &Graph, model: &mut Model, op: &Op) {
    let weight = graph.def().weight;
    let kept = |w: f64| if weight == WeightType::None { 1.0 } else { w };
    match op {
        Op::Upsert(u, v, w) => {
            graph.upsert(*u, *v, of_type(weight, *w)).unwrap();
            model.insert(key(graph, *u, *v), kept(*w));
        }
        Op::UpsertMany(edges) => {
            let us: Vec<_> = edges.iter().map(|e| e.0).collect();
            let vs: Vec<_> = edges.iter().map(|e| e.1).collect();
            let floats: Vec<_> = edges.iter().map(|e| e.2).collect();
            let ints: Vec<_> = edges.iter().map(|e| e.2 as i64).collect();
            let weights = match weight {
                WeightType::None => None,
                WeightType::Float => Some(WeightsRef::Float(&floats)),
                WeightType::Int => Some(WeightsRef::Int(&ints)),
            };
            graph.upsert_many(&us, &vs, weights).unwrap();
            model.extend(edges.iter().map(|&(u, v, w)| (key(graph, u, v), kept(w))));
        }
        Op::Remove(u, v) => {
            let is_there = model.remove(&key(graph, *u, *v)).is_some();
            assert_eq!(graph.remove(*u, *v).unwrap(), is_there);
        }
        Op::RemoveMany(pairs) => {
            let (us, vs): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            let mut removed = vec![true; 3];
            graph.remove_many(&us, &vs, &mut removed).unwrap();
            let is_there = |&(u, v): &(u64, u64)| model.remove(&key(graph, u, v)).is_some();
            let want: Vec<_> = pairs.iter().map(is_there).collect();
            assert_eq!(removed, want);
        }
        Op::RemoveVertex(v) => {
            let before = model.len();
            model.retain(|&(src, dst), _| src != *v && dst != *v);
            assert_eq!(graph.remove_vertex(*v).unwrap(), (before - model.len()) as u64);
        }
        Op::Clear => {
            graph.clear().unwrap();
            model.clear();
        }
        Op::Begin | Op::Commit | Op::Rollback => unreachable!("not an operation of the graph"),
    }
}

fn rows(edges: &Edges) -> Vec<((u64, u64), f64)> {
    let pairs = edges.src.iter().copied().zip(edges.dst.iter().copied());
    let weight = |i| edges.weight.get(i).as_f64();
    pairs.enumerate().map(|(i, pair)| (pair, weight(i))).collect()
}

fn split<T: Clone>(offsets: &[u64], items: &[T]) -> Vec<Vec<T>> {
    assert_eq!(offsets.first(), Some(&0));
    assert_eq!(offsets.last(), Some(&(items.len() as u64)));
    offsets.windows(2).map(|w| items[w[0] as usize..w[1] as usize].to_vec()).collect()
}

/// Compares the results of all reads.
fn compare(graph: &Graph, model: &Model) {
    let all: Vec<((u64, u64), f64)> = model.iter().map(|(&pair, &w)| (pair, w)).collect();
    // Without directions, each edge leads both ways.
    let mut both_ways = model.clone();
    if graph.def().is_undirected {
        both_ways.extend(model.iter().map(|(&(u, v), &w)| ((v, u), w)));
    }
    let led: Vec<((u64, u64), f64)> = both_ways.iter().map(|(&pair, &w)| (pair, w)).collect();
    let pick = |keep: &dyn Fn(u64, u64) -> bool| -> Vec<((u64, u64), f64)> {
        led.iter().filter(|((u, v), _)| keep(*u, *v)).copied().collect()
    };
    // Repeated and unordered, as a caller may pass them.
    let vs: Vec<u64> = VERTICES.into_iter().rev().chain([2, 2, 77]).collect();
    let degree = |edges: &[((u64, u64), f64)]| -> (u64, f64) {
        (edges.len() as u64, edges.iter().map(|edge| edge.1).sum())
    };

    let mut want: [Vec<_>; 3] = Default::default();
    let mut want_ids: [Vec<_>; 3] = Default::default();
    let mut want_degrees: [Vec<_>; 3] = Default::default();
    // Outputs with old contents must not change the results.
    let mut edges =
        Edges { src: vec![9], dst: vec![9, 9], weight: Weights::Int(vec![4]), key: vec![2] };
    let mut ids = vec![5];
    for &v in &vs {
        let out = pick(&|src, _| src == v);
        let into = pick(&|_, dst| dst == v);
        let mut either = out.clone();
        if !graph.def().is_undirected {
            either.extend(pick(&|src, dst| dst == v && src != v));
        }
        let successors: Vec<_> = out.iter().map(|((_, dst), _)| *dst).collect();
        let predecessors: Vec<_> = into.iter().map(|((src, _), _)| *src).collect();
        let mut neighbors: BTreeSet<_> = successors.iter().chain(&predecessors).copied().collect();
        neighbors.remove(&v);
        let neighbors: Vec<_> = neighbors.into_iter().collect();

        graph.out_edges(v, &mut edges).unwrap();
        assert_eq!(rows(&edges), out, "out_edges({v})");
        graph.in_edges(v, &mut edges).unwrap();
        assert_eq!(rows(&edges), into, "in_edges({v})");
        graph.edges(v, &mut edges).unwrap();
        assert_eq!(rows(&edges), either, "edges({v})");
        graph.successors(v, &mut ids).unwrap();
        assert_eq!(ids, successors, "successors({v})");
        graph.predecessors(v, &mut ids).unwrap();
        assert_eq!(ids, predecessors, "predecessors({v})");
        graph.neighbors(v, &mut ids).unwrap();
        assert_eq!(ids, neighbors, "neighbors({v})");
        assert_eq!(graph.out_degree(v).unwrap(), degree(&out));
        assert_eq!(graph.in_degree(v).unwrap(), degree(&into));
        assert_eq!(graph.degree(v).unwrap(), degree(&either));
        assert_eq!(graph.has_vertex(v).unwrap(), !either.is_empty());
        want_degrees[0].push(degree(&out));
        want_degrees[1].push(degree(&into));
        want_degrees[2].push(degree(&either));
        want[0].push(out);
        want[1].push(into);
        want[2].push(either);
        want_ids[0].push(successors);
        want_ids[1].push(predecessors);
        want_ids[2].push(neighbors);
    }

    let mut offsets = vec![3];
    graph.out_edges_many(&vs, &mut offsets, &mut edges).unwrap();
    assert_eq!(split(&offsets, &rows(&edges)), want[0]);
    graph.in_edges_many(&vs, &mut offsets, &mut edges).unwrap();
    assert_eq!(split(&offsets, &rows(&edges)), want[1]);
    graph.edges_many(&vs, &mut offsets, &mut edges).unwrap();
    assert_eq!(split(&offsets, &rows(&edges)), want[2]);
    graph.successors_many(&vs, &mut offsets, &mut ids).unwrap();
    assert_eq!(split(&offsets, &ids), want_ids[0]);
    graph.predecessors_many(&vs, &mut offsets, &mut ids).unwrap();
    assert_eq!(split(&offsets, &ids), want_ids[1]);
    graph.neighbors_many(&vs, &mut offsets, &mut ids).unwrap();
    assert_eq!(split(&offsets, &ids), want_ids[2]);
    let (mut counts, mut sums) = (vec![1], vec![1.0]);
    let zip = |counts: &[u64], sums: &[f64]| -> Vec<(u64, f64)> {
        counts.iter().copied().zip(sums.iter().copied()).collect()
    };
    graph.out_degree_many(&vs, &mut counts, &mut sums).unwrap();
    assert_eq!(zip(&counts, &sums), want_degrees[0]);
    graph.in_degree_many(&vs, &mut counts, &mut sums).unwrap();
    assert_eq!(zip(&counts, &sums), want_degrees[1]);
    graph.degree_many(&vs, &mut counts, &mut sums).unwrap();
    assert_eq!(zip(&counts, &sums), want_degrees[2]);

    compare_pairs(graph, &both_ways, &vs);

    assert_eq!(graph.number_of_edges().unwrap(), model.len() as u64);
    let ends: BTreeSet<u64> = model.keys().flat_map(|&(u, v)| [u, v]).collect();
    assert_eq!(graph.number_of_vertices().unwrap(), ends.len() as u64);
    let mut found = Vec::new();
    graph.vertices(&mut |slice| found.extend_from_slice(slice)).unwrap();
    assert_eq!(found, Vec::from_iter(ends));

    let mut scan = graph.scan_edges().unwrap();
    let mut scanned = Vec::new();
    while scan.next_edges(5, &mut edges).unwrap() {
        scanned.extend(rows(&edges));
    }
    assert!(edges.is_empty());
    assert_eq!(scanned, all);
    assert_eq!(graph.check().unwrap().edges, model.len() as u64);
}

fn compare_pairs(graph: &Graph, model: &Model, ends: &[u64]) {
    let pairs: Vec<_> = ends.iter().flat_map(|&u| ends.iter().map(move |&v| (u, v))).collect();
    let (us, vs): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    let (mut present, mut weights) = (vec![true], Weights::None);
    graph.edge_many(&us, &vs, &mut present, &mut weights).unwrap();
    for (i, pair) in pairs.iter().enumerate() {
        let want = model.get(pair).copied();
        assert_eq!(present[i], want.is_some());
        assert_eq!(present[i].then(|| weights.get(i).as_f64()), want);
        match (&weights, want) {
            (Weights::Float(weights), None) => assert!(weights[i].is_nan()),
            (Weights::Int(weights), None) => assert_eq!(weights[i], 0),
            _ => {}
        }
        assert_eq!(graph.edge(pair.0, pair.1).unwrap().map(Weight::as_f64), want);
        assert_eq!(graph.has_edge(pair.0, pair.1).unwrap(), want.is_some());
    }
    let flags = present.clone();
    graph.has_edge_many(&us, &vs, &mut present).unwrap();
    assert_eq!(present, flags);
}

fn run(ops: &[Op], weight: WeightType, is_undirected: bool) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::new());
    let def = GraphDef { is_undirected, ..GraphDef::new("g", VertexType::U64, weight) };
    let graph = Graph::open(Arc::clone(&store), def).unwrap();
    let mut model = Model::new();
    let mut open: Option<(Arc<SharedTransaction>, Graph, Model)> = None;
    for op in ops {
        match (op, open.take()) {
            (Op::Begin, None) => {
                let transaction = SharedTransaction::begin(&*store, Isolation::Snapshot);
                let inside = graph.in_transaction(&transaction);
                open = Some((transaction, inside, model.clone()));
            }
            (Op::Commit, Some((transaction, inside, changed))) => {
                transaction.commit().unwrap();
                model = changed;
                assert!(inside.has_edge(0, 0).is_err());
            }
            (Op::Rollback, Some((transaction, ..))) => transaction.rollback(),
            (Op::Begin | Op::Commit | Op::Rollback, none) => open = none,
            (op, Some((transaction, inside, mut changed))) => {
                apply(&inside, &mut changed, op);
                compare(&inside, &changed);
                open = Some((transaction, inside, changed));
            }
            (op, None) => apply(&graph, &mut model, op),
        }
        compare(&graph, &model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_answers_as_a_map_of_edges_does(
        ops in proptest::collection::vec(op(), 1..20),
        weight in proptest::sample::select(
            [WeightType::None, WeightType::Float, WeightType::Int].as_slice()
        ),
        is_undirected in any::<bool>(),
    ) {
        run(&ops, weight, is_undirected);
    }
}

#[test]
fn an_empty_graph_answers_everything() {
    for weight in [WeightType::None, WeightType::Float, WeightType::Int] {
        for is_undirected in [false, true] {
            let nothing = [Op::UpsertMany(vec![]), Op::RemoveMany(vec![]), Op::Begin, Op::Clear];
            run(&nothing, weight, is_undirected);
        }
    }
}
