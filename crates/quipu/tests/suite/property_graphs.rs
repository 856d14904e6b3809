//! Graphs with properties: compared with maps, for vertices of each type, in and outside of
//! transactions.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use quipu::{
    Database, Edges, ErrorKind, Frame, Graph, GraphOptions, GraphRelations, Isolation, Options,
    Parameters, Tx, Type, Value, VertexColumn, VertexList, VertexType, Weight, WeightType,
};
use std::collections::{BTreeMap, BTreeSet};

fn memory() -> Database {
    Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap()
}

fn nullable(of: Type) -> Type {
    Type::Nullable(Box::new(of))
}

fn options(vertex: VertexType, weight: WeightType) -> GraphOptions {
    GraphOptions {
        vertex,
        weight,
        edges: vec![("since".into(), nullable(Type::Int)), ("note".into(), nullable(Type::String))],
        nodes: Some(vec![
            ("kind".into(), nullable(Type::String)),
            ("year".into(), nullable(Type::Int)),
        ]),
        is_undirected: false,
        is_keyed: false,
    }
}

/// A few vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct V(u8);

fn value_of(vertex: VertexType, V(v): V) -> Value {
    match vertex {
        VertexType::U64 => Value::Int(i64::from(v)),
        VertexType::I64 => Value::Int(i64::from(v) - 3),
        VertexType::Str => Value::Str(format!("v{v}")),
    }
}

fn word_of(graph: &Graph, V(v): V) -> u64 {
    let mut words = Vec::new();
    let text = format!("v{v}");
    let list = match graph.def().vertex {
        VertexType::U64 => VertexList::U64(&[u64::from(v)]),
        VertexType::I64 => VertexList::I64(&[i64::from(v) - 3]),
        VertexType::Str => VertexList::Str(&[&text]),
    };
    graph.to_words(list, &mut words).unwrap();
    words[0]
}

fn vertex_of(graph: &Graph, words: &[u64]) -> Vec<V> {
    match graph.to_vertices(words).unwrap() {
        VertexColumn::U64(list) => list.iter().map(|&v| V(v as u8)).collect(),
        VertexColumn::I64(list) => list.iter().map(|&v| V((v + 3) as u8)).collect(),
        VertexColumn::Str(list) => (0..list.len())
            .map(|i| V(std::str::from_utf8(list.get(i)).unwrap()[1..].parse().unwrap()))
            .collect(),
    }
}

type EdgeRow = (Option<i64>, Option<i64>, Option<String>);
type NodeRow = (Option<String>, Option<i64>);

/// Edges with weight, `since` and `note`; vertices with `kind` and `year`.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    edges: BTreeMap<(V, V), EdgeRow>,
    nodes: BTreeMap<V, NodeRow>,
}

#[derive(Clone, Debug)]
enum Op {
    /// By the calls of the graph: a weight alone.
    Upsert(Vec<(V, V)>, i64),
    /// Whole rows, or rows with `since` alone that keep the rest.
    UpsertEdges(Vec<(V, V)>, Option<i64>, Option<String>),
    MergeEdges(Vec<(V, V)>, Option<i64>),
    Remove(V, V),
    RmEdges(Vec<(V, V)>),
    UpsertNodes(Vec<V>, Option<String>, Option<i64>),
    MergeNodes(Vec<V>, Option<i64>),
    RmNodes(Vec<V>),
    RemoveVertex(V),
    Script(V, V, i64),
    Clear,
    Begin,
    Commit,
    Rollback,
}

fn op() -> impl Strategy<Value = Op> {
    let v = || (0..6_u8).prop_map(V);
    let pairs = move || prop::collection::vec((v(), v()), 1..5);
    let some = move || prop::collection::vec(v(), 1..4);
    let int = || prop::option::of(-3..3_i64);
    let text = || prop::option::of("[ab]{0,2}");
    prop_oneof![
        2 => (pairs(), -3..3_i64).prop_map(|(pairs, w)| Op::Upsert(pairs, w)),
        3 => (pairs(), int(), text()).prop_map(|(pairs, i, t)| Op::UpsertEdges(pairs, i, t)),
        3 => (pairs(), int()).prop_map(|(pairs, i)| Op::MergeEdges(pairs, i)),
        2 => (v(), v()).prop_map(|(a, b)| Op::Remove(a, b)),
        1 => pairs().prop_map(Op::RmEdges),
        3 => (some(), text(), int()).prop_map(|(vs, t, i)| Op::UpsertNodes(vs, t, i)),
        2 => (some(), int()).prop_map(|(vs, i)| Op::MergeNodes(vs, i)),
        1 => some().prop_map(Op::RmNodes),
        2 => v().prop_map(Op::RemoveVertex),
        1 => (v(), v(), 0..3_i64).prop_map(|(a, b, i)| Op::Script(a, b, i)),
        1 => Just(Op::Clear),
        1 => Just(Op::Begin),
        1 => Just(Op::Commit),
        1 => Just(Op::Rollback),
    ]
}

fn of_int(int: Option<i64>) -> Value {
    int.map_or(Value::Null, Value::Int)
}

fn of_text(text: &Option<String>) -> Value {
    text.clone().map_or(Value::Null, Value::Str)
}

fn frame(names: &[&str], rows: Vec<Vec<Value>>) -> Frame {
    Frame::of_rows(names.iter().map(|&name| name.to_owned()).collect(), rows).unwrap()
}

/// Where calls go: the database, or its open transaction.
struct World {
    db: Database,
    tx: Option<Tx>,
    kept: Model,
    now: Model,
}

impl World {
    fn graph(&self) -> Graph {
        self.tx.as_ref().map_or_else(|| self.db.require_graph("g"), |tx| tx.graph("g")).unwrap()
    }

    fn relations(&self) -> GraphRelations {
        let of_db = || self.db.graph_relations("g");
        self.tx.as_ref().map_or_else(of_db, |tx| tx.graph_relations("g")).unwrap()
    }

    fn run(&self, script: &str) {
        let none = Parameters::new();
        match &self.tx {
            Some(tx) => tx.run(script, &none).map(drop).unwrap(),
            None => self.db.run(script, &none).map(drop).unwrap(),
        }
    }

    fn apply(&mut self, op: &Op) {
        let graph = self.graph();
        let GraphOptions { vertex, weight, is_undirected, .. } = GraphOptions::of(graph.def());
        let value = |v: V| value_of(vertex, v);
        // Without a direction, an edge is the same from both ends.
        let key = |a: V, b: V| if is_undirected { (a.min(b), a.max(b)) } else { (a, b) };
        let keys = |pairs: &[(V, V)], more: &[Value]| -> Vec<Vec<Value>> {
            let row = |&(a, b): &(V, V)| [&[value(a), value(b)], more].concat();
            pairs.iter().map(row).collect()
        };
        let ones = |vs: &[V], more: &[Value]| -> Vec<Vec<Value>> {
            vs.iter().map(|&v| [&[value(v)], more].concat()).collect()
        };
        let weighted = weight == WeightType::Int;
        let one = weighted.then_some(1);
        let model = &mut self.now;
        match op {
            Op::Upsert(pairs, w) => {
                let texts: Vec<String> =
                    pairs.iter().flat_map(|(a, b)| [a, b]).map(|V(v)| format!("v{v}")).collect();
                let end = |at: usize| -> Vec<&str> {
                    texts.iter().skip(at).step_by(2).map(String::as_str).collect()
                };
                let weights = vec![*w; pairs.len()];
                let weights = weighted.then_some(quipu::WeightsRef::Int(&weights));
                match vertex {
                    VertexType::Str => graph
                        .upsert_list(VertexList::Str(&end(0)), VertexList::Str(&end(1)), weights)
                        .unwrap(),
                    _ if pairs.len() == 1 => {
                        let [u, v] = [pairs[0].0, pairs[0].1].map(|v| word_of(&graph, v));
                        graph.upsert(u, v, weighted.then_some(Weight::Int(*w))).unwrap();
                    }
                    _ => {
                        let us: Vec<_> = pairs.iter().map(|p| word_of(&graph, p.0)).collect();
                        let vs: Vec<_> = pairs.iter().map(|p| word_of(&graph, p.1)).collect();
                        graph.upsert_many(&us, &vs, weights).unwrap();
                    }
                }
                let row = (weighted.then_some(*w), None, None);
                model.edges.extend(pairs.iter().map(|&(a, b)| (key(a, b), row.clone())));
            }
            Op::UpsertEdges(pairs, since, note) => {
                let rows = keys(pairs, &[of_text(note), of_int(*since)]);
                let rows = frame(&["src", "dst", "note", "since"], rows);
                self.relations().upsert_edges(&rows).unwrap();
                let row = (one, *since, note.clone());
                self.now.edges.extend(pairs.iter().map(|&(a, b)| (key(a, b), row.clone())));
            }
            Op::MergeEdges(pairs, since) => {
                let rows = frame(&["src", "dst", "since"], keys(pairs, &[of_int(*since)]));
                self.relations().merge_edges(&rows).unwrap();
                for &(a, b) in pairs {
                    self.now.edges.entry(key(a, b)).or_insert((one, None, None)).1 = *since;
                }
            }
            Op::Remove(a, b) => {
                let (u, v) = (word_of(&graph, *a), word_of(&graph, *b));
                assert_eq!(graph.remove(u, v).unwrap(), model.edges.remove(&key(*a, *b)).is_some());
            }
            Op::RmEdges(pairs) => {
                let rows = frame(&["src", "dst"], keys(pairs, &[]));
                self.relations().edges().unwrap().rm(&rows).unwrap();
                pairs.iter().for_each(|&(a, b)| drop(self.now.edges.remove(&key(a, b))));
            }
            Op::UpsertNodes(vs, kind, year) => {
                let rows = frame(&["kind", "vertex", "year"], {
                    let rows = ones(vs, &[of_text(kind), of_int(*year)]);
                    rows.into_iter()
                        .map(|row| vec![row[1].clone(), row[0].clone(), row[2].clone()])
                        .collect()
                });
                self.relations().upsert_nodes(&rows).unwrap();
                let row = (kind.clone(), *year);
                self.now.nodes.extend(vs.iter().map(|&v| (v, row.clone())));
            }
            Op::MergeNodes(vs, year) => {
                let rows = frame(&["vertex", "year"], ones(vs, &[of_int(*year)]));
                self.relations().merge_nodes(&rows).unwrap();
                for &v in vs {
                    self.now.nodes.entry(v).or_default().1 = *year;
                }
            }
            Op::RmNodes(vs) => {
                let rows = frame(&["vertex"], ones(vs, &[]));
                self.relations().nodes().unwrap().rm(&rows).unwrap();
                vs.iter().for_each(|v| drop(self.now.nodes.remove(v)));
            }
            Op::RemoveVertex(v) => {
                let before = model.edges.len();
                model.edges.retain(|(a, b), _| a != v && b != v);
                model.nodes.remove(v);
                let removed = graph.remove_vertex(word_of(&graph, *v)).unwrap();
                assert_eq!(removed, (before - model.edges.len()) as u64);
            }
            Op::Script(a, b, since) => {
                let (u, v) = (value(*a), value(*b));
                let weights = if weighted { "weight," } else { "" };
                self.run(&format!(
                    "{{ ?[src, dst, {weights} since, note] <- [[{u}, {v}, {} {since}, 's']] \
                     :put g {{src, dst => {weights} since, note}} }} \
                     {{ ?[vertex, kind, year] <- [[{u}, 's', null]] \
                     :put g:nodes {{vertex => kind, year}} }}",
                    if weighted { "7," } else { "" },
                ));
                let row = (weighted.then_some(7), Some(*since), Some("s".to_owned()));
                self.now.edges.insert(key(*a, *b), row);
                self.now.nodes.insert(*a, (Some("s".to_owned()), None));
            }
            Op::Clear => {
                graph.clear().unwrap();
                *model = Model::default();
            }
            Op::Begin if self.tx.is_none() => {
                self.tx = Some(self.db.transaction(Isolation::Snapshot));
            }
            Op::Commit => {
                if let Some(tx) = self.tx.take() {
                    tx.commit().unwrap();
                }
            }
            Op::Rollback => {
                if let Some(tx) = self.tx.take() {
                    tx.rollback();
                    self.now = self.kept.clone();
                }
            }
            Op::Begin => {}
        }
        if self.tx.is_none() {
            self.kept = self.now.clone();
        }
    }

    fn compare(&self) {
        let (graph, model) = (self.graph(), &self.now);
        let GraphOptions { vertex, weight, is_undirected, .. } = GraphOptions::of(graph.def());
        let weighted = weight == WeightType::Int;
        let text = |row: Vec<Value>| Value::List(row).to_string();
        // The stored order of string ends is that of their ids.
        let text_of_edge = |mut row: Vec<Value>| {
            if is_undirected && row[1] < row[0] {
                row.swap(0, 1);
            }
            text(row)
        };
        let row = |(&(a, b), (w, since, note)): (&(V, V), &EdgeRow)| {
            let mut row = vec![value_of(vertex, a), value_of(vertex, b)];
            row.extend(weighted.then(|| of_int(*w)));
            row.extend([of_int(*since), of_text(note)]);
            text_of_edge(row)
        };
        let sorted = |frame: Frame, text: &dyn Fn(Vec<Value>) -> String| {
            let mut rows: Vec<String> = frame.rows().map(text).collect();
            rows.sort();
            rows
        };
        let mut want: Vec<String> = model.edges.iter().map(row).collect();
        want.sort();
        let relations = self.relations();
        let found = relations.edges().unwrap().to_frame().unwrap();
        assert_eq!(sorted(found, &text_of_edge), want);
        let node = |(&v, (kind, year)): (&V, &NodeRow)| {
            text(vec![value_of(vertex, v), of_text(kind), of_int(*year)])
        };
        let mut want: Vec<String> = model.nodes.iter().map(node).collect();
        want.sort();
        assert_eq!(sorted(relations.nodes().unwrap().to_frame().unwrap(), &text), want);
        self.compare_vertices(&graph);
        self.compare_rows(&relations, vertex);
    }

    /// Rows of edges by their keys, with the ends in each order.
    fn compare_rows(&self, relations: &GraphRelations, vertex: VertexType) {
        let is_undirected = self.graph().def().is_undirected;
        let pairs: Vec<(V, V)> = (0..5).flat_map(|a| (0..5).map(move |b| (V(a), V(b)))).collect();
        let row = |&(a, b): &(V, V)| vec![value_of(vertex, a), value_of(vertex, b)];
        let keys = frame(&["src", "dst"], pairs.iter().map(row).collect());
        let (present, _) = relations.edges().unwrap().get_many(&keys).unwrap();
        let edges = &self.now.edges;
        let is_there = |&(a, b): &(V, V)| {
            edges.contains_key(&(a, b)) || is_undirected && edges.contains_key(&(b, a))
        };
        assert_eq!(present, pairs.iter().map(is_there).collect::<Vec<_>>());
    }

    fn compare_vertices(&self, graph: &Graph) {
        let Model { edges, nodes } = &self.now;
        let ends = edges.keys().flat_map(|&(a, b)| [a, b]);
        let all: BTreeSet<V> = ends.chain(nodes.keys().copied()).collect();
        let mut words = Vec::new();
        graph.vertices(&mut |some| words.extend_from_slice(some)).unwrap();
        assert!(words.is_sorted_by(|a, b| a < b));
        assert_eq!(vertex_of(graph, &words).into_iter().collect::<BTreeSet<V>>(), all);
        assert_eq!(graph.number_of_vertices().unwrap(), all.len() as u64);
        assert_eq!(graph.number_of_edges().unwrap(), edges.len() as u64);
        let mut found = Edges::default();
        for v in (0..7).map(V) {
            let word = word_of(graph, v);
            assert_eq!(graph.has_vertex(word).unwrap(), all.contains(&v), "{v:?}");
            graph.out_edges(word, &mut found).unwrap();
            let weights = |i: usize| match found.weight.get(i) {
                Weight::Int(w) => Some(w),
                _ => None,
            };
            let got: BTreeMap<V, Option<i64>> = vertex_of(graph, &found.dst)
                .into_iter()
                .enumerate()
                .map(|(i, dst)| (dst, weights(i)))
                .collect();
            // Without directions, the other ends of all edges.
            let is_undirected = graph.def().is_undirected;
            let out = edges.iter().filter_map(|(&(src, dst), row)| match v {
                _ if src == v => Some((dst, row.0)),
                _ if is_undirected && dst == v => Some((src, row.0)),
                _ => None,
            });
            assert_eq!(got, out.collect());
            let (mut sources, mut near) = (Vec::new(), Vec::new());
            graph.predecessors(word, &mut sources).unwrap();
            let want = edges.keys().filter_map(|&(src, dst)| match v {
                _ if dst == v => Some(src),
                _ if is_undirected && src == v => Some(dst),
                _ => None,
            });
            assert_eq!(
                vertex_of(graph, &sources).into_iter().collect::<BTreeSet<V>>(),
                want.collect()
            );
            graph.neighbors(word, &mut near).unwrap();
            let touching = edges.keys().filter(|(a, b)| *a == v || *b == v);
            assert_eq!(graph.degree(word).unwrap().0, touching.count() as u64);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_graph_with_properties_is_two_maps(
        ops in prop::collection::vec(op(), 1..40),
        vertex in prop::sample::select(vec![VertexType::U64, VertexType::I64, VertexType::Str]),
        weighted in any::<bool>(),
        is_undirected in any::<bool>(),
    ) {
        let db = memory();
        let weight = if weighted { WeightType::Int } else { WeightType::None };
        db.graph("g", GraphOptions { is_undirected, ..options(vertex, weight) }).unwrap();
        let (kept, now) = (Model::default(), Model::default());
        let mut world = World { db, tx: None, kept, now };
        for op in &ops {
            world.apply(op);
            world.compare();
        }
        world.tx = None;
        let check = world.db.check(&|_, _| true).unwrap();
        let counts = (check.graphs[0].1.edges, check.graphs[0].1.nodes);
        let (edges, nodes) = (world.kept.edges.len() as u64, world.kept.nodes.len() as u64);
        prop_assert_eq!(counts, (edges, nodes));
    }
}

fn told(result: quipu::Result<Graph>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    error.to_string()
}

#[test]
fn a_graph_opens_with_the_properties_it_was_created_with_and_no_others() {
    let db = memory();
    let options = options(VertexType::U64, WeightType::Float);
    db.graph("g", options.clone()).unwrap();
    let graph = db.graph("g", options.clone()).unwrap();
    assert_eq!(GraphOptions::of(graph.def()), options);
    let fewer = GraphOptions { edges: vec![], ..options.clone() };
    assert_eq!(
        told(db.graph("g", fewer)),
        "the edges of graph \"g\" have the properties {since: Int?, note: String?}, no properties \
         were asked for"
    );
    let others = GraphOptions { nodes: Some(vec![("kind".into(), Type::Int)]), ..options.clone() };
    assert_eq!(
        told(db.graph("g", others)),
        "the vertices of graph \"g\" have the properties {kind: String?, year: Int?}, the \
         properties {kind: Int} were asked for"
    );
    let none = GraphOptions { nodes: None, ..options };
    let want = "no rows of their own were asked for";
    assert!(told(db.graph("g", none)).ends_with(want));
    assert!(
        told(db.graph(
            "h",
            GraphOptions { edges: vec![("src".into(), Type::Int)], ..GraphOptions::default() }
        ))
        .starts_with("graph \"h\": a property of an edge cannot be named \"src\"")
    );
    assert!(db.existing_graph("h").unwrap().is_none());
}

#[test]
fn edges_need_values_for_properties_that_cannot_be_null() {
    let db = memory();
    let edges = vec![("kind".into(), Type::String)];
    let graph = db.graph("g", GraphOptions { edges, ..GraphOptions::default() }).unwrap();
    let error = graph.upsert(1, 2, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "edges of graph \"g\" need a value for their property \"kind\" of type String\n\
         hint: write whole rows into its relation, or let the property be null"
    );
    let relations = db.graph_relations("g").unwrap();
    let rows = |names: &[&str], row: &[Value]| frame(names, vec![row.to_vec()]);
    let keys = [Value::Int(1), Value::Int(2)];
    let missing = relations.merge_edges(&rows(&["src", "dst"], &keys)).unwrap_err();
    assert!(missing.to_string().contains("have no column `kind`"), "{missing}");
    let all = [&keys[..], &[Value::Str("road".into())]].concat();
    relations.merge_edges(&rows(&["src", "dst", "kind"], &all)).unwrap();
    assert!(graph.has_edge(1, 2).unwrap());
    relations.merge_edges(&rows(&["src", "dst"], &keys)).unwrap();
    let no_nodes = relations.nodes().unwrap_err().to_string();
    assert!(no_nodes.starts_with("the vertices of graph \"g\" have no rows of their own"));
}

#[test]
fn a_plain_graph_has_the_keyspaces_and_the_rows_that_it_had() {
    let db = memory();
    let graph = db.graph("g", GraphOptions { weight: WeightType::Float, ..Default::default() });
    graph.unwrap().upsert(1, 2, None).unwrap();
    let names: Vec<String> = db.store().keyspaces().into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["g", "g:rev"]);
    for info in db.store().keyspaces() {
        assert_eq!(info.definition.len(), 4);
        assert_eq!(info.shape.values.len(), 1);
    }
}

#[test]
fn an_import_leaves_properties_null_and_counts_what_was_there() {
    let db = memory();
    let graph = db.graph("g", options(VertexType::U64, WeightType::None)).unwrap();
    let relations = db.graph_relations("g").unwrap();
    let row = vec![Value::Int(1), Value::Int(2), Value::Int(9)];
    relations.merge_edges(&frame(&["src", "dst", "since"], vec![row])).unwrap();
    let text = b"1,2\n2,3\n3,1\n2,3\n";
    let input = quipu::ImportInput::Stream(Box::new(&text[..]), "edges.csv".into());
    let options = db.import_options();
    let report = graph.import_inputs(db.env(), vec![input], &options, &|_| true).unwrap();
    assert_eq!((report.edges, report.duplicates), (3, 2));
    let rows: Vec<String> = relations
        .edges()
        .unwrap()
        .to_frame()
        .unwrap()
        .rows()
        .map(|row| Value::List(row).to_string())
        .collect();
    assert_eq!(rows, ["[1, 2, null, null]", "[2, 3, null, null]", "[3, 1, null, null]"]);
    db.check(&|_, _| true).unwrap();
}
