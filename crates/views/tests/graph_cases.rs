//! Cases that the model does not cover: other vertex types, wrong types, conflicts.

use base::{Batch, BytesColumn, Column, Keys, Kind, WordColumn};
use quipu_views::SharedTransaction;
use quipu_views::graph::{
    ABSENT, Edges, Graph, GraphDef, GraphPart, VertexColumn, VertexList, VertexType, Weight,
    WeightType, WeightsRef,
};
use std::sync::Arc;
use store::{ErrorKind, Isolation, Kinds, Store, TableWrites, WriteBatch};
use testkit::ModelStore;

fn open(vertex: VertexType, weight: WeightType) -> (Arc<dyn Store>, Graph) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::new());
    let graph = Graph::open(Arc::clone(&store), GraphDef::new("g", vertex, weight)).unwrap();
    (store, graph)
}

fn words(graph: &Graph, texts: &[&str]) -> Vec<u64> {
    let mut out = Vec::new();
    graph.to_words(VertexList::Str(texts), &mut out).unwrap();
    out
}

fn texts(graph: &Graph, words: &[u64]) -> Vec<String> {
    let VertexColumn::Str(names) = graph.to_vertices(words).unwrap() else { panic!("not text") };
    (0..names.len()).map(|i| String::from_utf8(names.get(i).to_vec()).unwrap()).collect()
}

fn upsert(graph: &Graph, us: &[&str], vs: &[&str]) {
    graph.upsert_list(VertexList::Str(us), VertexList::Str(vs), None).unwrap();
}

#[test]
fn texts_get_ids_in_order_of_first_appearance() {
    let (_, graph) = open(VertexType::Str, WeightType::Float);
    upsert(&graph, &["b", "b", "a\0"], &["a", "b", ""]);
    upsert(&graph, &["a", "new"], &["b", "é"]);
    assert_eq!(words(&graph, &["b", "a", "a\0", "", "new", "é"]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(texts(&graph, &[5, 0, 3, 2]), ["é", "b", "", "a\0"]);
    let check = graph.check().unwrap();
    assert_eq!((check.edges, check.names), (5, 6));
}

#[test]
fn a_text_that_is_no_vertex_reads_as_nothing_and_is_not_inserted() {
    let (_, graph) = open(VertexType::Str, WeightType::None);
    upsert(&graph, &["a"], &["b"]);
    assert_eq!(words(&graph, &["x", "a"]), [ABSENT, 0]);
    assert_eq!(graph.edge(ABSENT, 0).unwrap(), None);
    assert_eq!(graph.degree(ABSENT).unwrap(), (0, 0.0));
    assert!(!graph.remove(ABSENT, ABSENT).unwrap());
    assert_eq!(graph.check().unwrap().names, 2);
    assert_eq!(graph.to_vertices(&[7]).unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn two_handles_of_one_graph_never_give_one_text_two_ids() {
    let (store, graph) = open(VertexType::Str, WeightType::None);
    let other = Graph::find(store, "g").unwrap().unwrap();
    upsert(&graph, &["a"], &["b"]);
    upsert(&other, &["c"], &["a"]);
    upsert(&graph, &["d"], &["c"]);
    assert_eq!(words(&other, &["a", "b", "c", "d"]), [0, 1, 2, 3]);
    graph.check().unwrap();
}

#[test]
fn a_transaction_and_a_writer_that_meet_one_new_text_conflict() {
    let (store, graph) = open(VertexType::Str, WeightType::None);
    let transaction = SharedTransaction::begin(&*store, Isolation::Snapshot);
    let inside = graph.in_transaction(&transaction);
    upsert(&inside, &["a"], &["b"]);
    upsert(&inside, &["b"], &["c"]);
    assert_eq!(words(&inside, &["a", "b", "c"]), [0, 1, 2]);
    assert_eq!(words(&graph, &["a"]), [ABSENT]);
    upsert(&graph, &["a"], &["z"]);
    assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Conflict);
    graph.check().unwrap();
    assert_eq!(graph.number_of_edges().unwrap(), 1);
}

#[test]
fn names_outlive_a_clear_so_that_ids_are_never_given_twice() {
    let (_, graph) = open(VertexType::Str, WeightType::None);
    upsert(&graph, &["a"], &["b"]);
    graph.clear().unwrap();
    upsert(&graph, &["c"], &["b"]);
    assert_eq!(words(&graph, &["a", "b", "c"]), [0, 1, 2]);
    assert_eq!(graph.number_of_vertices().unwrap(), 2);
    graph.check().unwrap();
}

#[test]
fn many_texts_are_numbered_without_gaps() {
    let (store, graph) = open(VertexType::Str, WeightType::None);
    let names: Vec<String> = (0..1000).map(|i| format!("v{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for chunk in names.chunks(7) {
        upsert(&graph, chunk, chunk);
    }
    // A new handle knows no id and must search for the free one.
    let fresh = Graph::find(store, "g").unwrap().unwrap();
    upsert(&fresh, &["last"], &["v0"]);
    assert_eq!(words(&graph, &["v0", "v999", "last"]), [0, 999, 1000]);
    graph.check().unwrap();
}

#[test]
fn signed_vertices_keep_their_order() {
    let (_, graph) = open(VertexType::I64, WeightType::Int);
    let vs = [3, -1, i64::MIN, 0, i64::MAX, -5];
    let weights = [1, 2, 3, 4, 5, -9];
    let us = [0; 6];
    let weights = Some(WeightsRef::Int(&weights));
    graph.upsert_list(VertexList::I64(&us), VertexList::I64(&vs), weights).unwrap();
    let (mut words, mut ids) = (Vec::new(), Vec::new());
    graph.to_words(VertexList::I64(&[0]), &mut words).unwrap();
    graph.successors(words[0], &mut ids).unwrap();
    let want = vec![i64::MIN, -5, -1, 0, 3, i64::MAX];
    assert_eq!(graph.to_vertices(&ids).unwrap(), VertexColumn::I64(want));
    assert_eq!(graph.edge(words[0], words[0]).unwrap(), Some(Weight::Int(4)));
    assert_eq!(graph.out_degree(words[0]).unwrap(), (6, 6.0));
}

#[test]
fn opening_with_other_types_names_both() {
    let (store, _) = open(VertexType::Str, WeightType::Float);
    let check = |vertex, weight, want: &str| {
        let def = GraphDef::new("g", vertex, weight);
        let error = Graph::open(Arc::clone(&store), def).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), want);
    };
    check(
        VertexType::U64,
        WeightType::Float,
        "the graph \"g\" has str vertices, u64 were asked for",
    );
    check(
        VertexType::Str,
        WeightType::None,
        "the graph \"g\" has weights of type float64, none was asked for",
    );
    let def = GraphDef::new("g:rev", VertexType::Str, WeightType::Float);
    assert_eq!(Graph::open(Arc::clone(&store), def).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(Graph::find(Arc::clone(&store), "h").unwrap().is_none());
    let def = GraphDef::new("g", VertexType::Str, WeightType::Float);
    assert_eq!(Graph::open(store, def.clone()).unwrap().def(), &def);
}

#[test]
fn arguments_that_do_not_fit_change_nothing() {
    let (_, graph) = open(VertexType::U64, WeightType::None);
    let floats = Some(WeightsRef::Float(&[1.0]));
    let mut removed = Vec::new();
    for result in [
        graph.upsert(1, 2, Some(Weight::Float(1.0))),
        graph.upsert_many(&[1], &[2], floats),
        graph.upsert_many(&[1, 2], &[2], None),
        graph.remove_many(&[1], &[], &mut removed),
        graph.upsert_list(VertexList::I64(&[1]), VertexList::I64(&[1]), None),
        graph.upsert_list(VertexList::Str(&["a"]), VertexList::Str(&["b"]), None),
    ] {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(graph.number_of_edges().unwrap(), 0);
    let (_, graph) = open(VertexType::Str, WeightType::Int);
    assert_eq!(graph.upsert(1, 2, None).unwrap_err().kind(), ErrorKind::InvalidInput);
    let (us, vs) = (VertexList::Str(&["a", "b"]), VertexList::Str(&["c", "d"]));
    for weights in [floats, Some(WeightsRef::Int(&[1]))] {
        let error = graph.upsert_list(us, vs, weights).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(words(&graph, &["a"]), [ABSENT]);
}

#[test]
fn a_vertex_with_a_hundred_thousand_edges_is_read_and_removed_whole() {
    const EDGES: u64 = 100_000;
    let (_, graph) = open(VertexType::U64, WeightType::Float);
    let hub = vec![7; EDGES as usize];
    let others: Vec<u64> = (0..EDGES).rev().collect();
    let weights = vec![0.5; EDGES as usize];
    graph.upsert_many(&hub, &others, Some(WeightsRef::Float(&weights))).unwrap();
    graph.upsert_many(&others, &hub, None).unwrap();
    assert_eq!(graph.number_of_edges().unwrap(), 2 * EDGES - 1);
    assert_eq!(graph.degree(7).unwrap(), (2 * EDGES - 1, 0.5 * (EDGES - 1) as f64 + EDGES as f64));
    let mut ids = Vec::new();
    graph.neighbors(7, &mut ids).unwrap();
    assert!(ids.iter().copied().eq((0..EDGES).filter(|&v| v != 7)));
    let mut edges = Edges::default();
    graph.edges(7, &mut edges).unwrap();
    assert_eq!(edges.len() as u64, 2 * EDGES - 1);
    assert_eq!(graph.remove_vertex(7).unwrap(), 2 * EDGES - 1);
    assert_eq!(graph.number_of_vertices().unwrap(), 0);
}

#[test]
fn parallel_edges_of_many_vertices_lead_to_each_other_end_once() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::new());
    let new = GraphDef::new("g", VertexType::U64, WeightType::None);
    let graph = Graph::open(Arc::clone(&store), GraphDef { is_keyed: true, ..new }).unwrap();
    let edges = [[1, 1, 7], [1, 2, 0], [1, 2, 1], [3, 2, 1], [3, 2, 5], [3, 4, 0]];
    let table = |part, order: [usize; 3]| {
        let column = |i| edges.iter().map(|edge| edge[i]).collect();
        let keys = Keys::Words(order.map(column).to_vec());
        TableWrites {
            keyspace: graph.keyspace(part).unwrap(),
            kinds: Kinds::Uniform(Kind::Put),
            rows: Batch { rows: edges.len(), keys, values: vec![] },
            delete_ranges: vec![],
        }
    };
    let tables = vec![table(GraphPart::Forward, [0, 1, 2]), table(GraphPart::Reverse, [1, 0, 2])];
    store.write(&WriteBatch { tables }, None).unwrap();
    let of = |offsets: &[u64], ids: &[u64]| -> Vec<Vec<u64>> {
        let group = |ends: &[u64]| ids[ends[0] as usize..ends[1] as usize].to_vec();
        offsets.windows(2).map(group).collect()
    };
    let (mut offsets, mut ids) = (vec![9], vec![9]);
    graph.successors_many(&[3, 9, 1, 2, 3], &mut offsets, &mut ids).unwrap();
    assert_eq!(of(&offsets, &ids), [vec![2, 4], vec![], vec![1, 2], vec![], vec![2, 4]]);
    assert_eq!(ids.len(), 6);
    graph.predecessors_many(&[2, 1, 4], &mut offsets, &mut ids).unwrap();
    assert_eq!(of(&offsets, &ids), [vec![1, 3], vec![1], vec![3]]);
    graph.successors(1, &mut ids).unwrap();
    assert_eq!(ids, [1, 2]);
    graph.predecessors(2, &mut ids).unwrap();
    assert_eq!(ids, [1, 3]);
    graph.successors_many(&[], &mut offsets, &mut ids).unwrap();
    assert_eq!((offsets, ids), (vec![0], vec![]));
}

#[test]
fn two_graphs_change_in_one_transaction_and_a_rollback_forgets_both() {
    let (store, first) = open(VertexType::U64, WeightType::None);
    let def = GraphDef::new("h", VertexType::U64, WeightType::Int);
    let second = Graph::open(Arc::clone(&store), def).unwrap();
    for commits in [false, true] {
        let transaction = SharedTransaction::begin(&*store, Isolation::Snapshot);
        first.in_transaction(&transaction).upsert(1, 2, None).unwrap();
        second.in_transaction(&transaction).upsert(3, 4, Some(Weight::Int(9))).unwrap();
        if commits {
            transaction.commit().unwrap();
        } else {
            transaction.rollback();
        }
        assert_eq!(first.has_edge(1, 2).unwrap(), commits);
        assert_eq!(second.has_edge(3, 4).unwrap(), commits);
        let ended = first.in_transaction(&transaction).upsert(5, 6, None).unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_snapshot_is_read_but_not_written() {
    let (store, graph) = open(VertexType::U64, WeightType::None);
    graph.upsert(1, 2, None).unwrap();
    let before = graph.at(&store.snapshot());
    graph.upsert(1, 3, None).unwrap();
    assert_eq!(before.number_of_edges().unwrap(), 1);
    assert_eq!(before.out_degree(1).unwrap(), (1, 1.0));
    assert_eq!(before.upsert(1, 4, None).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(before.remove_vertex(1).unwrap_err().kind(), ErrorKind::ReadOnly);
}

#[test]
fn a_dropped_graph_is_gone_and_its_name_is_free() {
    let (store, graph) = open(VertexType::Str, WeightType::None);
    upsert(&graph, &["a"], &["b"]);
    let stale = graph.clone();
    graph.drop_graph().unwrap();
    assert!(store.keyspaces().is_empty());
    assert_eq!(stale.has_edge(0, 1).unwrap_err().kind(), ErrorKind::InvalidInput);
    let def = GraphDef::new("g", VertexType::U64, WeightType::Float);
    assert_eq!(Graph::open(store, def).unwrap().number_of_edges().unwrap(), 0);
}

#[test]
fn check_finds_directions_and_names_that_disagree() {
    let one = |keyspace, keys, values| WriteBatch {
        tables: vec![TableWrites {
            keyspace,
            kinds: Kinds::Uniform(Kind::Put),
            rows: Batch { rows: 1, keys, values },
            delete_ranges: vec![],
        }],
    };
    let (store, graph) = open(VertexType::U64, WeightType::Float);
    graph.upsert(1, 2, None).unwrap();
    graph.check().unwrap();
    let weight = WordColumn { words: vec![5], ..WordColumn::default() };
    let keys = Keys::Words(vec![vec![2], vec![1]]);
    let reverse = graph.keyspace(GraphPart::Reverse).unwrap();
    store.write(&one(reverse, keys, vec![Column::Words(weight)]), None).unwrap();
    assert_eq!(graph.check().unwrap_err().kind(), ErrorKind::Corruption);

    let (store, graph) = open(VertexType::Str, WeightType::None);
    upsert(&graph, &["a"], &["b"]);
    let mut name = BytesColumn::default();
    name.push(Some(b"c"));
    let names = graph.keyspace(GraphPart::Names).unwrap();
    let batch = one(names, Keys::Words(vec![vec![1]]), vec![Column::Bytes(name)]);
    store.write(&batch, None).unwrap();
    assert_eq!(graph.check().unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn an_export_holds_every_edge_in_order() {
    let (_, graph) = open(VertexType::Str, WeightType::Float);
    let (us, vs) = (VertexList::Str(&["b", "a,b"]), VertexList::Str(&["a,b", "b"]));
    let weights = Some(WeightsRef::Float(&[0.5, 2.0]));
    let text = |graph: &Graph| {
        let mut out = Vec::new();
        graph.export_csv(&mut out, b',', &|_| true).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(&graph), "source,target,weight\n");
    graph.upsert_list(us, vs, weights).unwrap();
    let csv = text(&graph);
    let (header, rows) = csv.split_once('\n').unwrap();
    assert_eq!(header, "source,target,weight");
    let (first, second) = rows.trim_end().split_once('\n').unwrap();
    assert!(first.starts_with("b,\"a,b\",0.5"), "{first}");
    assert!(second.starts_with("\"a,b\",b,2"), "{second}");

    let (_, graph) = open(VertexType::I64, WeightType::None);
    let vs: Vec<i64> = (-70_000..70_000).collect();
    let us = vec![-1; vs.len()];
    graph.upsert_list(VertexList::I64(&us), VertexList::I64(&vs), None).unwrap();
    let csv = text(&graph);
    let lines = csv.lines().skip(1).map(str::to_owned);
    assert!(lines.eq(vs.iter().map(|v| format!("-1,{v}"))));
    let error = graph.export_csv(&mut Vec::new(), b',', &|_| false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);

    let mut parquet = Vec::new();
    assert_eq!(graph.export_parquet(&mut parquet, &|_| true).unwrap(), 140_000);
    let options =
        ingest::EdgeOptions { vertex: ingest::VertexType::I64, ..ingest::EdgeOptions::default() };
    let bytes = parquet.len() as u64;
    let read = move |at: u64, out: &mut [u8]| {
        out.copy_from_slice(&parquet[at as usize..at as usize + out.len()]);
        Ok(())
    };
    let reader = ingest::parquet_edges::ReadAt::new(bytes, read);
    let file = ingest::parquet_edges::ParquetEdges::open(reader, "g.parquet", &options).unwrap();
    assert_eq!(file.row_count(), 140_000);
}
