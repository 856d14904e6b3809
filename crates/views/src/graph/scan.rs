//! Streams of all edges and of all vertices, in batches.

use super::{Edges, Graph, WeightType, Weights};
use crate::source::Source;
use base::shape::word_to_int;
use base::{Batch, Column, KeyRange, Projection, SeqNo};
use model::Type;
use relation::{GraphPart, invalid};
use std::mem::swap;
use store::{Result, Scan};

/// A stream of edges by source and then target, at the snapshot taken when it started.
pub struct EdgeScan {
    scan: Box<dyn Scan>,
    rows: Batch,
    weight: WeightType,
    /// The value column that is the weight.
    column: usize,
}

/// A stream of all vertices, ascending and distinct, at one snapshot. Needs the memory of a few
/// batches, unlike [`Graph::vertices`], and reads every edge twice.
pub struct VertexScan {
    /// Sources, targets, and the vertices with a row of properties.
    runs: Vec<Run>,
    /// The last vertex that was passed on.
    last: Option<u64>,
}

/// A stream of keys, whose first words ascend.
struct Run {
    scan: Box<dyn Scan>,
    rows: Batch,
    at: usize,
    is_at_end: bool,
}

/// Keys that a run reads in one step.
const RUN_KEYS: usize = 1 << 14;

impl Run {
    /// The next word, after the keys that begin with `done` were skipped.
    fn next_after(&mut self, done: Option<u64>) -> Result<Option<u64>> {
        while !self.is_at_end {
            let words = self.rows.key_words(0);
            let is_done = |word: &u64| done.is_some_and(|done| *word <= done);
            let skipped = words[self.at..].iter().take_while(|word| is_done(word)).count();
            self.at += skipped;
            if let Some(&word) = words.get(self.at) {
                return Ok(Some(word));
            }
            self.rows.clear();
            self.at = 0;
            self.is_at_end = !self.scan.next_batch(RUN_KEYS, &mut self.rows)?;
        }
        Ok(None)
    }
}

impl VertexScan {
    /// Appends up to `vertices_max` vertices to `out`; returns false at the end, with nothing
    /// appended.
    ///
    /// # Errors
    /// Corruption, or a failed read.
    pub fn next_vertices(&mut self, vertices_max: usize, out: &mut Vec<u64>) -> Result<bool> {
        let before = out.len();
        while out.len() - before < vertices_max {
            let mut least = None;
            for run in &mut self.runs {
                least = [least, run.next_after(self.last)?].into_iter().flatten().min();
            }
            let Some(vertex) = least else { break };
            out.push(vertex);
            self.last = least;
        }
        Ok(out.len() > before)
    }
}

impl Graph {
    /// Streams all vertices: those that are an end of an edge, and those with a row of properties.
    /// Outside of a transaction or snapshot it takes a snapshot.
    ///
    /// # Errors
    /// Failed reads.
    pub fn scan_vertices(&self) -> Result<VertexScan> {
        let parts = [GraphPart::Forward, GraphPart::Reverse, GraphPart::Nodes];
        self.read_snapshot(|read| {
            let run = |(part, keyspace)| {
                let first = Projection { keys: 1, values: 0 };
                let scan = read.scan(keyspace, KeyRange::all_words(), first)?;
                let rows = Batch::new(&self.core.def.shape(part));
                Ok(Run { scan, rows, at: 0, is_at_end: false })
            };
            let there = parts.iter().filter_map(|&part| Some((part, self.keyspace(part)?)));
            Ok(VertexScan { runs: there.map(run).collect::<Result<_>>()?, last: None })
        })
    }

    /// Streams all edges.
    pub fn scan_edges(&self) -> Result<EdgeScan> {
        self.scan_range(KeyRange::all_words())
    }

    /// Streams the edges whose source is in `from..to`; `None` is no bound.
    pub fn scan_edges_from(&self, from: u64, to: Option<u64>) -> Result<EdgeScan> {
        let lower = base::Key::words(&[from]);
        self.scan_range(KeyRange { lower, upper: to.map(|to| base::Key::words(&[to])) })
    }

    /// As [`Graph::scan_edges_from`], without reading the weights.
    pub fn scan_ends_from(&self, from: u64, to: Option<u64>) -> Result<EdgeScan> {
        let lower = base::Key::words(&[from]);
        let range = KeyRange { lower, upper: to.map(|to| base::Key::words(&[to])) };
        let ends = Projection { keys: 0b11, values: 0 };
        let scan = self.read(|read| read.scan(self.core.forward, range, ends))?;
        let rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
        Ok(EdgeScan { scan, rows, weight: WeightType::None, column: 0 })
    }

    /// As [`Graph::scan_edges_from`], with a property in place of the weight: the one at `property`
    /// in [`GraphDef::edges`](super::GraphDef::edges). Null is a weight of 1.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: there is no such property, or it is neither an integer
    /// nor a float.
    pub fn scan_property_from(
        &self,
        property: usize,
        from: u64,
        to: Option<u64>,
    ) -> Result<EdgeScan> {
        let weight = self.weight_of_property(property)?;
        let column = usize::from(self.weighted()) + property;
        let mut projection = Projection { keys: 0b11, values: 0 };
        projection.want_value(column);
        let lower = base::Key::words(&[from]);
        let range = KeyRange { lower, upper: to.map(|to| base::Key::words(&[to])) };
        let scan = self.read(|read| read.scan(self.core.forward, range, projection))?;
        let rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
        Ok(EdgeScan { scan, rows, weight, column })
    }

    /// The type of weights that a property of edges is.
    ///
    /// # Errors
    /// As [`Graph::scan_property_from`].
    pub fn weight_of_property(&self, property: usize) -> Result<WeightType> {
        let name = self.name();
        let Some(column) = self.core.def.edges.get(property) else {
            return Err(invalid(format!("edges of graph {name:?} have no property {property}")));
        };
        match column.column_type {
            Type::Float => Ok(WeightType::Float),
            Type::Int => Ok(WeightType::Int),
            ref other => Err(invalid(format!(
                "the property {:?} of graph {name:?} is of type {other}, a weight is an Int or a \
                 Float",
                column.name
            ))),
        }
    }

    /// The graph at one snapshot, and the number of its last change. Two snapshots with the same
    /// number have the same edges and vertices. `None` in a transaction, which has no such number.
    pub fn at_snapshot(&self) -> Result<(Self, Option<SeqNo>)> {
        let graph = self.held();
        let changed = match &graph.source {
            Source::Snapshot(snapshot) => {
                let edges = snapshot.changed_at(self.core.forward)?;
                let nodes = self.core.nodes.map(|nodes| snapshot.changed_at(nodes)).transpose()?;
                Some(nodes.map_or(edges, |nodes| nodes.max(edges)))
            }
            Source::Store(_) | Source::Transaction(_) => None,
        };
        Ok((graph, changed))
    }

    fn scan_range(&self, range: KeyRange) -> Result<EdgeScan> {
        // The result has no properties, so their columns are not read.
        let projection = match self.has_properties() {
            true => Projection { values: u64::from(self.weighted()), ..Projection::KEYS },
            false => Projection::ALL,
        };
        let scan = self.read(|read| read.scan(self.core.forward, range, projection))?;
        let rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
        Ok(EdgeScan { scan, rows, weight: self.core.def.weight, column: 0 })
    }
}

impl EdgeScan {
    /// Replaces `out` by about `edges_max` edges; returns false at the end.
    pub fn next_edges(&mut self, edges_max: usize, out: &mut Edges) -> Result<bool> {
        out.reset(self.weight);
        self.rows.clear();
        let more = self.scan.next_batch(edges_max, &mut self.rows)?;
        swap(super::scratch::key_vec(&mut self.rows, 0), &mut out.src);
        swap(super::scratch::key_vec(&mut self.rows, 1), &mut out.dst);
        out.key.extend(self.rows.key_words(2).iter().map(|&word| word_to_int(word)));
        out.weight.extend_from_words(self.rows.value_words(self.column));
        if self.column > 0 || self.weight != WeightType::None {
            self.fill_missing(&mut out.weight);
        }
        Ok(more)
    }

    /// Sets the weights that are null, which only a property can be, to 1.
    fn fill_missing(&self, weights: &mut Weights) {
        let column = self.rows.values.get(self.column).and_then(Column::as_words);
        let Some(column) = column.filter(|column| column.validity.0.is_some()) else { return };
        let missing = (0..column.words.len()).filter(|&row| !column.validity.is_valid(row));
        match weights {
            Weights::None => {}
            Weights::Float(all) => missing.for_each(|row| all[row] = 1.0),
            Weights::Int(all) => missing.for_each(|row| all[row] = 1),
        }
    }
}
