//! Measures the cost of the graph view on top of the store: the same reads through both, on a
//! snapshot that answers from constants. Prints nanoseconds per call.
//!
//! `cargo run --release -p quipu-views --example graph_overhead`
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use base::{Batch, Column, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo};
use quipu_views::graph::{Edges, Graph, GraphDef, GraphPart, VertexType, WeightType};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use store::{Read, Result, Scan, Snapshot, Store};
use testkit::ModelStore;

/// Edges of each vertex.
const DEGREE: usize = 18;
static OTHERS: [u64; DEGREE] = [7; DEGREE];

/// A snapshot whose reads cost next to nothing.
struct Constants;

impl Read for Constants {
    fn get(&self, _: KeyspaceId, _: KeyRef<'_>, _: Projection, out: &mut Batch) -> Result<bool> {
        if let Some(Column::Words(words)) = out.values.first_mut() {
            words.words.push(1 << 63);
        }
        out.rows += 1;
        Ok(true)
    }

    fn prefix_many(
        &self,
        _: KeyspaceId,
        _: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        if let Keys::Words(columns) = &mut out.keys {
            columns[1].extend_from_slice(&OTHERS);
        }
        if let (Some(Column::Words(words)), true) = (out.values.first_mut(), projection.value(0)) {
            words.words.extend_from_slice(&OTHERS);
        }
        offsets.extend([0, DEGREE as u64]);
        out.rows += DEGREE;
        Ok(())
    }

    fn get_many(
        &self,
        _: KeyspaceId,
        _: &Keys,
        _: Projection,
        _: &mut Vec<bool>,
        _: &mut Batch,
    ) -> Result<()> {
        Ok(())
    }

    fn scan_into(
        &self,
        _: KeyspaceId,
        _: &KeyRange,
        _: Projection,
        _: usize,
        _: &mut Batch,
    ) -> Result<()> {
        Ok(())
    }

    fn scan_back_into(
        &self,
        _: KeyspaceId,
        _: &KeyRange,
        _: Projection,
        _: usize,
        _: &mut Batch,
    ) -> Result<()> {
        Ok(())
    }

    fn estimate(&self, _: KeyspaceId, _: &KeyRange) -> Result<store::Estimate> {
        Ok(store::Estimate::default())
    }

    fn sample_into(
        &self,
        _: KeyspaceId,
        _: usize,
        _: &mut dyn FnMut() -> u64,
        _: Projection,
        _: &mut Batch,
    ) -> Result<()> {
        Ok(())
    }

    fn scan(&self, _: KeyspaceId, _: KeyRange, _: Projection) -> Result<Box<dyn Scan>> {
        Err(store::Error::new(store::ErrorKind::InvalidInput, "constants have no stream"))
    }

    fn count(&self, _: KeyspaceId) -> Result<u64> {
        Ok(0)
    }

    fn first_words(&self, _: KeyspaceId, _: &mut dyn FnMut(&[u64])) -> Result<()> {
        Ok(())
    }
}

impl Snapshot for Constants {
    fn seq(&self) -> SeqNo {
        SeqNo::ZERO
    }

    fn changed_at(&self, _: KeyspaceId) -> Result<SeqNo> {
        Ok(SeqNo::ZERO)
    }

    fn changed_since(&self, _: KeyspaceId, _: SeqNo) -> Result<Option<Vec<u64>>> {
        Ok(Some(Vec::new()))
    }
}

fn measure(what: &str, mut f: impl FnMut(u64)) {
    const CALLS: u64 = 200_000;
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        (0..CALLS).for_each(&mut f);
        best = best.min(start.elapsed().as_nanos() as f64 / CALLS as f64);
    }
    println!("{what:<24} {best:7.1} ns");
}

fn main() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::new());
    let def = GraphDef::new("g", VertexType::U64, WeightType::Float);
    let constants: Arc<dyn Snapshot> = Arc::new(Constants);
    let graph = Graph::open(store, def).unwrap().at(&constants);

    let keyspace = graph.keyspace(GraphPart::Forward).unwrap();
    let mut rows = Batch::new(&graph.def().shape(GraphPart::Forward));
    let values = Projection { keys: 0, values: 1 };
    measure("constants: get", |i| {
        rows.clear();
        black_box(constants.get(keyspace, KeyRef::Words(&[i, i]), values, &mut rows).unwrap());
    });
    measure("graph edge", |i| {
        black_box(graph.edge(i, i).unwrap());
    });
    let mut offsets = Vec::new();
    let projection = Projection { keys: 0b10, values: 1 };
    measure("constants: prefix_many", |i| {
        rows.clear();
        offsets.clear();
        constants.prefix_many(keyspace, &[i], projection, &mut offsets, &mut rows).unwrap();
        black_box(&rows);
    });
    let mut edges = Edges::default();
    measure("graph out_edges", |i| {
        graph.out_edges(i, &mut edges).unwrap();
        black_box(&edges);
    });
    let mut ids = Vec::new();
    measure("graph successors", |i| graph.successors(i, &mut ids).unwrap());
    measure("graph neighbors", |i| graph.neighbors(i, &mut ids).unwrap());
    measure("graph out_degree", |i| {
        black_box(graph.out_degree(i).unwrap());
    });
}
