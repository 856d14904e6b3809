//! Graphs with properties: what the check finds, and what reconciling rebuilds.
#![allow(clippy::unwrap_used)]

use base::{Batch, KeyspaceId, Kind};
use model::{Type, Value};
use quipu_views::graph::{Graph, GraphDef, GraphDoubts, GraphPart, VertexType, WeightType};
use relation::ValueColumn;
use std::sync::Arc;
use store::{Kinds, Store, TableWrites, WriteBatch};
use testkit::ModelStore;

struct Stored {
    graph: Graph,
    store: Arc<dyn Store>,
}

fn def() -> GraphDef {
    let nullable = |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
    GraphDef {
        edges: vec![nullable("since", Type::Int), nullable("note", Type::String)],
        nodes: Some(vec![nullable("kind", Type::String)]),
        ..GraphDef::new("g", VertexType::U64, WeightType::Float)
    }
}

fn new() -> Stored {
    new_of(def())
}

fn new_of(def: GraphDef) -> Stored {
    let store: Arc<dyn Store> = Arc::new(ModelStore::new());
    Stored { graph: Graph::open(Arc::clone(&store), def).unwrap(), store }
}

impl Stored {
    fn keyspace(&self, part: GraphPart) -> KeyspaceId {
        self.graph.keyspace(part).unwrap()
    }

    /// Writes a row of one part alone.
    fn write(&self, part: GraphPart, kind: Kind, row: Vec<Value>) {
        let schema = self.graph.def().part_schema(part);
        let mut rows = Batch::new(&schema.shape());
        schema.append(row, &mut rows).unwrap();
        let (keyspace, kinds) = (self.keyspace(part), Kinds::Uniform(kind));
        let table = TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() };
        self.store.write(&WriteBatch { tables: vec![table] }, None).unwrap();
    }

    fn put_edge(&self, part: GraphPart, src: i64, dst: i64, since: i64, note: Option<&str>) {
        let ends = if part == GraphPart::Forward { [src, dst] } else { [dst, src] };
        let note = note.map_or(Value::Null, |note| Value::Str(note.into()));
        let mut row = ends.map(Value::Int).to_vec();
        row.extend([Value::Float(1.0), Value::Int(since), note]);
        self.write(part, Kind::Put, row);
    }

    fn both(&self, src: i64, dst: i64, since: i64, note: Option<&str>) {
        self.put_edge(GraphPart::Forward, src, dst, since, note);
        self.put_edge(GraphPart::Reverse, src, dst, since, note);
    }

    #[track_caller]
    fn check_says(&self, want: &str) {
        let error = self.graph.check().unwrap_err().to_string();
        assert!(error.ends_with(want), "{error}");
    }

    /// Repairs with the rows of one direction in doubt.
    fn reconcile(&self, is_forward_in_doubt: bool) -> (u64, u64, u64) {
        let doubts = GraphDoubts {
            forward: &|_| is_forward_in_doubt,
            reverse: &|_| !is_forward_in_doubt,
            any: false,
        };
        let done = self.graph.reconcile(&doubts, &|_| true).unwrap();
        self.graph.check().unwrap();
        (done.rebuilt_forward, done.rebuilt_reverse, done.removed)
    }

    /// The rows of a direction.
    fn rows(&self, part: GraphPart) -> Vec<String> {
        let schema = self.graph.def().part_schema(part);
        let mut rows = Batch::new(&schema.shape());
        let range = base::KeyRange::all_words();
        let all = base::Projection::ALL;
        self.store.scan_into(self.keyspace(part), &range, all, 100, &mut rows).unwrap();
        let row = |i| Value::List(schema.row(&rows, i).unwrap()).to_string();
        (0..rows.rows).map(row).collect()
    }
}

#[test]
fn a_property_that_differs_in_reverse_is_found_and_taken_from_the_sound_direction() {
    for (is_forward_in_doubt, want) in
        [(false, "[1, 2, 1.0, 5, \"a\"]"), (true, "[1, 2, 1.0, 5, null]")]
    {
        let stored = new();
        stored.both(3, 4, 7, None);
        stored.put_edge(GraphPart::Forward, 1, 2, 5, Some("a"));
        stored.put_edge(GraphPart::Reverse, 1, 2, 5, None);
        stored.check_says("the edge from 1 to 2 has other properties in reverse");
        let rebuilt = if is_forward_in_doubt { (1, 0, 0) } else { (0, 1, 0) };
        assert_eq!(stored.reconcile(is_forward_in_doubt), rebuilt);
        assert_eq!(stored.rows(GraphPart::Forward), [want, "[3, 4, 1.0, 7, null]"]);
    }
}

#[test]
fn a_lost_row_comes_back_with_its_properties() {
    let stored = new();
    stored.both(3, 4, 7, None);
    stored.put_edge(GraphPart::Reverse, 1, 2, 5, Some("long ago"));
    stored.check_says("the edge from 1 to 2 is there in reverse only");
    assert_eq!(stored.reconcile(true), (1, 0, 0));
    let want = ["[1, 2, 1.0, 5, \"long ago\"]", "[3, 4, 1.0, 7, null]"];
    assert_eq!(stored.rows(GraphPart::Forward), want);
    stored.put_edge(GraphPart::Reverse, 8, 9, 5, None);
    assert_eq!(stored.reconcile(false), (0, 0, 1), "the sound direction does not have it");
    assert_eq!(stored.rows(GraphPart::Reverse).len(), 2);
}

#[test]
fn an_undirected_edge_with_its_larger_end_first_is_found() {
    let stored = new_of(GraphDef { is_undirected: true, ..def() });
    stored.both(2, 4, 7, None);
    stored.graph.check().unwrap();
    stored.both(4, 3, 7, None);
    let want = "the undirected graph \"g\" has an edge from 4 to 3, its larger end first";
    stored.check_says(want);
}

#[test]
fn a_parallel_edge_that_one_direction_lost_comes_back_with_its_key() {
    let stored = new_of(GraphDef { is_keyed: true, edges: Vec::new(), ..def() });
    let put = |part, src: i64, dst: i64, key: i64, weight: f64| {
        let ends = if part == GraphPart::Forward { [src, dst] } else { [dst, src] };
        let row = [ends[0], ends[1], key].map(Value::Int).to_vec();
        stored.write(part, Kind::Put, [row, vec![Value::Float(weight)]].concat());
    };
    for part in [GraphPart::Forward, GraphPart::Reverse] {
        put(part, 1, 2, -3, 0.5);
        put(part, 2, 2, 0, 1.5);
    }
    stored.graph.check().unwrap();
    put(GraphPart::Forward, 1, 2, 7, 2.5);
    stored.check_says("the edge from 1 to 2 with key 7 is not there in reverse");
    assert_eq!(stored.reconcile(false), (0, 1, 0));
    assert_eq!(stored.rows(GraphPart::Reverse).len(), 3);
    let mut keys = Vec::new();
    stored.graph.edge_keys(1, 2, &mut keys).unwrap();
    assert_eq!(keys, [-3, 7]);
    let mut edges = quipu_views::graph::Edges::default();
    stored.graph.in_edges(2, &mut edges).unwrap();
    assert_eq!((&edges.src[..], &edges.key[..]), (&[1, 1, 2][..], &[-3, 7, 0][..]));
    stored.graph.edges(2, &mut edges).unwrap();
    assert_eq!((&edges.src[..], &edges.key[..]), (&[2, 1, 1][..], &[0, -3, 7][..]));
    assert_eq!(stored.graph.remove_vertex(2).unwrap(), 3);
    assert_eq!(stored.graph.check().unwrap().edges, 0);
}

#[test]
fn a_null_is_not_a_zero_and_not_an_empty_string() {
    let stored = new();
    stored.put_edge(GraphPart::Forward, 1, 2, 5, Some(""));
    stored.put_edge(GraphPart::Reverse, 1, 2, 5, None);
    stored.check_says("the edge from 1 to 2 has other properties in reverse");
}

#[test]
fn a_vertex_is_there_with_a_row_alone_and_goes_with_its_edges() {
    let stored = new();
    let kind = || Value::Str("paper".into());
    stored.write(GraphPart::Nodes, Kind::Put, vec![Value::Int(7), kind()]);
    stored.write(GraphPart::Nodes, Kind::Put, vec![Value::Int(1), kind()]);
    stored.graph.upsert(1, 2, None).unwrap();
    stored.graph.upsert(9, 1, None).unwrap();
    let vertices = || {
        let mut all = Vec::new();
        stored.graph.vertices(&mut |some| all.extend_from_slice(some)).unwrap();
        all
    };
    assert_eq!(vertices(), [1, 2, 7, 9]);
    assert_eq!(stored.graph.check().unwrap().nodes, 2);
    assert_eq!(stored.graph.remove_vertex(1).unwrap(), 2);
    assert_eq!(vertices(), [7]);
    assert_eq!(stored.graph.remove_vertex(7).unwrap(), 0);
    assert!(!stored.graph.has_vertex(7).unwrap());
}
