//! Projections through the database: graphs, conditions, queries, memory.

use quipu::{
    Database, ErrorKind, GraphOptions, Options, Parallel, Parameters, ProjectOptions, Projection,
    RunOptions, Value, VertexColumn, VertexType, WeightType, WeightsRef,
};
use std::sync::Arc;

fn database() -> Database {
    Database::in_memory(Options::default()).unwrap()
}

fn parameters<const N: usize>(all: [(&str, Value); N]) -> Parameters {
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

fn query(db: &Database, text: &str, options: ProjectOptions) -> quipu::Result<Arc<Projection>> {
    db.project_query(text, &Parameters::new(), &options, &RunOptions::default())
}

#[test]
fn a_condition_leaves_edges_out_and_keeps_the_type_of_the_vertices() {
    let db = database();
    let options = GraphOptions { weight: WeightType::Float, ..Default::default() };
    let graph = db.graph("g", options).unwrap();
    let weights = [0.5, 1.5, 2.5];
    graph.upsert_many(&[1, 2, 3], &[2, 3, 1], Some(WeightsRef::Float(&weights))).unwrap();
    let options = ProjectOptions { is_weighted: true, ..Default::default() };
    let given = parameters([("least", Value::Float(1.0))]);
    let condition = "weight > $least # at the end of the line";
    let run = RunOptions::default();
    let found = db.project_where(&graph, condition, &given, &options, &run).unwrap();
    assert_eq!(found.ids().as_u64(), Some(&[1, 2, 3][..]));
    assert_eq!(found.graph().weights(), Some(&[1.5, 2.5][..]));
    let none = db.project_where(&graph, "weight > 9", &given, &options, &run).unwrap();
    assert_eq!((none.vertices(), none.ids().vertex_type()), (0, VertexType::U64));
    let error = db.project_where(&graph, "weight >", &given, &options, &run).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_projection_of_an_undirected_graph_leads_both_ways() {
    let db = database();
    let graph_options =
        GraphOptions { weight: WeightType::Int, is_undirected: true, ..GraphOptions::default() };
    let graph = db.graph("g", graph_options).unwrap();
    let weights = Some(WeightsRef::Int(&[5, 6, 7, 8]));
    graph.upsert_many(&[2, 1, 3, 4], &[1, 2, 2, 4], weights).unwrap();
    let options = ProjectOptions { is_weighted: true, ..Default::default() };
    let run = db.analytics_run();
    let all = db.project(&graph, &options, &run).unwrap();
    assert!(!all.is_directed());
    assert_eq!((all.vertices(), all.edges()), (4, 3));
    assert_eq!(all.graph().offsets(), [0, 1, 3, 4, 5]);
    assert_eq!(all.graph().targets(), [1, 0, 2, 1, 3]);
    assert_eq!(all.graph().weights(), Some(&[6.0, 6.0, 7.0, 7.0, 8.0][..]));
    let none = Parameters::new();
    let run = RunOptions::default();
    let some = db.project_where(&graph, "weight > 6", &none, &options, &run).unwrap();
    assert!(!some.is_directed());
    assert_eq!(some.ids().as_u64(), Some(&[2, 3, 4][..]));
    assert_eq!(some.graph().targets(), [1, 0, 2]);
}

#[test]
fn a_query_gives_integers_strings_and_ids_above_the_signed_range() {
    let db = database();
    let options = ProjectOptions::default();
    let ints = query(&db, "?[a, b] <- [[-1, 2], [2, 3]]", options).unwrap();
    assert_eq!(ints.ids().all().unwrap(), VertexColumn::I64(vec![-1, 2, 3]));
    let texts = query(&db, "?[a, b] <- [['y', 'x']]", options).unwrap();
    assert_eq!(texts.ids().value(1).unwrap(), Value::Str("y".to_owned()));
    assert_eq!(texts.graph().neighbors(1), [0]);
    let empty = query(&db, "?[a, b] := a = 1, b = 2, a > b", options).unwrap();
    assert_eq!(empty.vertices(), 0);

    let graph = db.graph("g", GraphOptions::default()).unwrap();
    graph.upsert(u64::MAX, 1, None).unwrap();
    let large = query(&db, "?[a, b] := *g{src: a, dst: b}", options).unwrap();
    assert_eq!(large.ids().as_u64(), Some(&[1, u64::MAX][..]));
}

#[test]
fn parallel_edges_of_a_query_are_kept_or_combined() {
    let db = database();
    let text = "?[a, b, w] <- [[1, 2, 2.0], [1, 2, 5.0], [2, 1, 1.0]]";
    let weights = |parallel, is_undirected| {
        let options = ProjectOptions { is_weighted: true, is_undirected, parallel, property: None };
        query(&db, text, options).unwrap().graph().weights().unwrap().to_vec()
    };
    assert_eq!(weights(Parallel::Keep, false), [2.0, 5.0, 1.0]);
    assert_eq!(weights(Parallel::Sum, false), [7.0, 1.0]);
    assert_eq!(weights(Parallel::Sum, true), [8.0, 8.0]);
    assert_eq!(weights(Parallel::Min, true), [1.0, 1.0]);
    assert_eq!(weights(Parallel::First, true), [2.0, 2.0]);
}

#[test]
fn columns_that_are_not_those_of_edges_are_refused_with_a_hint() {
    let db = database();
    let options = ProjectOptions::default();
    for (text, what) in [
        ("?[a] <- [[1]]", "edges have 2 or 3 columns, the query has 1"),
        ("?[a, b] <- [[1, 'x']]", "integers in one column and strings in the other"),
        ("?[a, b] <- [[1.5, 2]]", "column `a` holds vertices that are no integers or strings"),
        ("?[a, b] <- [[1, null]]", "column `b`"),
        ("?[a, b, c] <- [[1, 2, 'x']]", "column `c` holds weights that are no numbers"),
        ("?[a, b, c] <- [[1, 2, null]]", "column `c` holds nulls"),
    ] {
        let error = query(&db, text, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
        let message = error.to_string();
        assert!(message.contains(what) && message.contains("hint: "), "{message}");
    }
    let weighted = ProjectOptions { is_weighted: true, ..options };
    assert!(query(&db, "?[a, b] <- [[1, 2]]", weighted).is_err());
    let graph = db.graph("g", GraphOptions::default()).unwrap();
    assert!(db.project(&graph, &weighted, &db.analytics_run()).is_err());
    let changes = query(&db, "?[a, b] <- [[1, 2]] :create new {a => b}", options).unwrap_err();
    assert_eq!(changes.kind(), ErrorKind::ReadOnly);
}

#[test]
fn a_graph_on_disk_is_projected_like_one_in_memory_by_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for threads in [1, 3] {
        let options = Options { threads, memory_limit_bytes: 256 << 20, ..Default::default() };
        let db = Database::open(folder.path().join("db"), options).unwrap();
        let graph = db.graph("g", GraphOptions::default()).unwrap();
        if threads == 1 {
            // Enough edges for several ranges.
            for part in 0..30 {
                let us = (part * 100..part * 100 + 100).flat_map(|u| [u * 7; 400]);
                let vs = (0..100).flat_map(|u| (0..400).map(move |i| u * 31 + i * i));
                let (us, vs): (Vec<u64>, Vec<u64>) = (us.collect(), vs.collect());
                graph.upsert_many(&us, &vs, None).unwrap();
            }
            db.compact().unwrap();
        }
        let run = db.analytics_run();
        let projection = db.project(&graph, &ProjectOptions::default(), &run).unwrap();
        assert_eq!(projection.edges(), graph.number_of_edges().unwrap());
        assert_eq!(projection.vertices() as u64, graph.number_of_vertices().unwrap());
        found.push(projection.graph().as_ref().clone());
        db.close().unwrap();
    }
    assert!(found[0].edges() > 1_000_000);
    assert!(found[0] == found[1]);
}
