//! Projections of stored graphs and of columns, compared with lists of edges.

use algo::Limits;
use proptest::prelude::*;
use quipu_analytics::{EdgeColumns, Parallel, ProjectOptions, Projection, Projector, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{ErrorKind, Isolation, Store};
use testkit::ModelStore;
use views::SharedTransaction;
use views::graph::{Graph, GraphDef, VertexColumn, VertexList, VertexType, WeightType, WeightsRef};

const MB: u64 = 1 << 20;

fn store() -> Arc<dyn Store> {
    Arc::new(ModelStore::new())
}

fn graph(store: &Arc<dyn Store>, vertex: VertexType, weight: WeightType) -> Graph {
    Graph::open(Arc::clone(store), GraphDef::new("g", vertex, weight)).unwrap()
}

fn with_run<R>(call: impl FnOnce(&Run<'_>) -> R) -> R {
    let env = env::MemoryEnv::new(2);
    call(&Run::new(&env, MB))
}

fn project(projector: &Projector, graph: &Graph, options: &ProjectOptions) -> Arc<Projection> {
    with_run(|run| projector.graph(graph, options, run).unwrap())
}

/// The edges of a projection with their ids.
fn edges(projection: &Projection) -> Vec<(u64, u64, f64)> {
    let VertexColumn::U64(ids) = projection.ids().all().unwrap() else { panic!("other ids") };
    let graph = projection.graph();
    let row = |v: u32| graph.weighted(v).map(move |(to, weight)| (v, to, weight));
    (0..graph.vertices())
        .flat_map(row)
        .map(|(v, to, weight)| (ids[v as usize], ids[to as usize], weight))
        .collect()
}

/// Combines parallel edges as the options say, from a list of edges in key order.
fn expected(all: &[(u64, u64, f64)], options: &ProjectOptions) -> Vec<(u64, u64, f64)> {
    let mut groups: BTreeMap<(u64, u64), Vec<(bool, f64)>> = BTreeMap::new();
    for &(from, to, weight) in all {
        let weight = if options.is_weighted { weight } else { 1.0 };
        groups.entry((from, to)).or_default().push((from > to, weight));
        if options.is_undirected && from != to {
            groups.entry((to, from)).or_default().push((from > to, weight));
        }
    }
    let mut rows = Vec::new();
    for ((from, to), mut group) in groups {
        let weights = group.iter().map(|edge| edge.1);
        let one = match options.parallel {
            Parallel::Keep => {
                // A row has its own direction first.
                group.sort_by_key(|edge| edge.0 != (from > to));
                rows.extend(group.iter().map(|edge| (from, to, edge.1)));
                continue;
            }
            Parallel::Sum => weights.sum(),
            Parallel::Min => weights.fold(f64::INFINITY, f64::min),
            Parallel::First => {
                group.sort_by_key(|edge| edge.0);
                group[0].1
            }
        };
        rows.push((from, to, one));
    }
    rows
}

fn options() -> impl Strategy<Value = ProjectOptions> {
    let parallel = prop_oneof![
        Just(Parallel::Keep),
        Just(Parallel::Sum),
        Just(Parallel::Min),
        Just(Parallel::First)
    ];
    (any::<bool>(), any::<bool>(), parallel).prop_map(|(is_weighted, is_undirected, parallel)| {
        ProjectOptions { is_weighted, is_undirected, parallel, property: None }
    })
}

fn vertex() -> impl Strategy<Value = u64> {
    prop_oneof![0..8_u64, Just(u64::MAX), (1_u64 << 40)..(1 << 40) + 4]
}

proptest! {
    #[test]
    fn a_projection_has_the_edges_of_its_graph(
        pairs in prop::collection::btree_map((vertex(), vertex()), -4..5_i8, 0..40),
        options in options(),
    ) {
        let store = store();
        let graph = graph(&store, VertexType::U64, WeightType::Float);
        let (us, vs): (Vec<u64>, Vec<u64>) = pairs.keys().copied().unzip();
        let weights: Vec<f64> = pairs.values().map(|&weight| weight.into()).collect();
        graph.upsert_many(&us, &vs, Some(WeightsRef::Float(&weights))).unwrap();
        let all: Vec<_> =
            us.iter().zip(&vs).zip(&weights).map(|((&u, &v), &w)| (u, v, w)).collect();

        let projection = project(&Projector::new(MB), &graph, &options);
        let ids: BTreeSet<u64> = us.iter().chain(&vs).copied().collect();
        prop_assert_eq!(projection.ids().as_u64().unwrap(), ids.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(edges(&projection), expected(&all, &options));
        prop_assert_eq!(projection.is_directed(), !options.is_undirected);

        with_run(|run| {
            let mut reverse: Vec<_> = all.iter().map(|&(u, v, w)| (v, u, w)).collect();
            reverse.sort_by_key(|edge| (edge.0, edge.1));
            if options == ProjectOptions::default() {
                let found = projection.reverse(run).unwrap();
                prop_assert_eq!(&*found, &projection.graph().reverse(&|| true).unwrap());
            }
            let kept: Vec<u32> = (0..projection.vertices() as u32).step_by(2).collect();
            let part = Projector::new(MB).induced(&projection, &kept, run).unwrap();
            let names: BTreeSet<u64> = ids.iter().copied().step_by(2).collect();
            let inside = |edge: &(u64, u64, f64)| names.contains(&edge.0) && names.contains(&edge.1);
            let want: Vec<_> = edges(&projection).into_iter().filter(inside).collect();
            prop_assert_eq!(edges(&part), want);
            Ok(())
        })?;
    }

    #[test]
    fn columns_in_any_order_give_the_graph_of_their_edges(
        all in prop::collection::vec((vertex(), vertex(), -4..5_i8), 0..40),
        options in options(),
    ) {
        let mut all: Vec<_> = all.into_iter().map(|(u, v, w)| (u, v, f64::from(w))).collect();
        let columns = EdgeColumns {
            sources: VertexColumn::U64(all.iter().map(|edge| edge.0).collect()),
            targets: VertexColumn::U64(all.iter().map(|edge| edge.1).collect()),
            weights: options.is_weighted.then(|| all.iter().map(|edge| edge.2).collect()),
        };
        let projector = Projector::new(MB);
        let projection = with_run(|run| projector.columns(columns, &options, run).unwrap());
        all.sort_by_key(|edge| (edge.0, edge.1));
        let mut want = expected(&all, &options);
        let mut found = edges(&projection);
        // The order of parallel edges in both directions is that of the rows.
        for list in [&mut want, &mut found] {
            list.sort_by(|a, b| a.partial_cmp(b).unwrap());
        }
        prop_assert_eq!(found, want);
        prop_assert_eq!(projector.held_bytes(), projection.bytes());
    }
}

#[test]
fn the_same_graph_is_projected_once_until_it_changes() {
    let store = store();
    let graph = graph(&store, VertexType::I64, WeightType::None);
    let projector = Projector::new(MB);
    let options = ProjectOptions::default();
    graph.upsert_list(VertexList::I64(&[-3]), VertexList::I64(&[5]), None).unwrap();
    let first = project(&projector, &graph, &options);
    assert!(Arc::ptr_eq(&first, &project(&projector, &graph, &options)));
    assert_eq!(first.ids().all().unwrap(), VertexColumn::I64(vec![-3, 5]));
    graph.upsert_list(VertexList::I64(&[5]), VertexList::I64(&[7]), None).unwrap();
    let second = project(&projector, &graph, &options);
    assert_eq!((first.edges(), second.edges()), (1, 2));
}

#[test]
fn a_transaction_projects_its_own_writes_and_nobody_else_sees_them() {
    let store = store();
    let graph = graph(&store, VertexType::U64, WeightType::None);
    graph.upsert(1, 2, None).unwrap();
    let projector = Projector::new(MB);
    let options = ProjectOptions::default();
    let transaction = SharedTransaction::begin(&*store, Isolation::Snapshot);
    let inside = graph.in_transaction(&transaction);
    inside.upsert(2, 3, None).unwrap();
    assert_eq!(project(&projector, &inside, &options).edges(), 2);
    assert_eq!(project(&projector, &graph, &options).edges(), 1);
}

#[test]
fn strings_are_vertices_too() {
    let store = store();
    let graph = graph(&store, VertexType::Str, WeightType::None);
    let (us, vs) = (VertexList::Str(&["b", "a"]), VertexList::Str(&["a", "c"]));
    graph.upsert_list(us, vs, None).unwrap();
    let stored = project(&Projector::new(MB), &graph, &ProjectOptions::default());
    let mut strings = [base::BytesColumn::default(), base::BytesColumn::default()];
    for (column, texts) in strings.iter_mut().zip([["b", "a"], ["a", "c"]]) {
        texts.iter().for_each(|text| column.push(Some(text.as_bytes())));
    }
    let [sources, targets] = strings.map(VertexColumn::Str);
    let columns = EdgeColumns { sources, targets, weights: None };
    let options = ProjectOptions::default();
    let asked = with_run(|run| Projector::new(MB).columns(columns, &options, run).unwrap());
    for projection in [stored, asked] {
        let number =
            |text: &str| projection.ids().vertex(&model::Value::Str(text.to_owned())).unwrap();
        let edge = |from, to| {
            let (from, to) = (number(from).unwrap(), number(to).unwrap());
            projection.graph().neighbors(from) == [to]
        };
        assert!(edge("b", "a") && edge("a", "c"));
        assert_eq!(number("d"), None);
        assert_eq!(projection.ids().vertex(&model::Value::Int(0)).unwrap(), None);
    }
}

#[test]
fn a_projection_beyond_the_budget_is_refused_and_older_ones_make_room() {
    let store = store();
    let graph = graph(&store, VertexType::U64, WeightType::None);
    let ids: Vec<u64> = (0..1000).collect();
    graph.upsert_many(&ids, &ids, None).unwrap();
    let options = ProjectOptions::default();
    let small = Projector::new(1000);
    let error = with_run(|run| small.graph(&graph, &options, run).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("hint: "), "{error}");
    assert_eq!(small.held_bytes(), 0);

    let projector = Projector::new(60_000);
    let first = project(&projector, &graph, &options);
    assert_eq!(projector.held_bytes(), first.bytes());
    drop(first);
    graph.upsert(0, 1, None).unwrap();
    let second = project(&projector, &graph, &options);
    assert_eq!(projector.held_bytes(), second.bytes());
}

#[test]
fn a_projection_can_be_stopped() {
    let store = store();
    let graph = graph(&store, VertexType::U64, WeightType::None);
    graph.upsert(1, 2, None).unwrap();
    let env = env::MemoryEnv::new(1);
    let stop = || false;
    let run = Run::new(&env, MB).with_go_on(Some(&stop));
    assert!(!run.go_on());
    let projector = Projector::new(MB);
    let error = projector.graph(&graph, &ProjectOptions::default(), &run).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(projector.held_bytes(), 0);
}

#[test]
fn weights_that_are_not_finite_are_refused_with_the_ids_of_the_edge() {
    let store = store();
    let graph = graph(&store, VertexType::U64, WeightType::Float);
    graph.upsert_many(&[70], &[90], Some(WeightsRef::Float(&[f64::NAN]))).unwrap();
    let options = ProjectOptions { is_weighted: true, ..Default::default() };
    let error = with_run(|run| Projector::new(MB).graph(&graph, &options, run).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().starts_with("the edge from 70 to 90 has weight NaN"), "{error}");
}
