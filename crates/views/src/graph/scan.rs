//! Streams of all edges, in batches.

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

impl Graph {
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
        if let base::Keys::Words(columns) = &self.rows.keys
            && let Some(keys) = columns.get(2)
        {
            out.key.extend(keys.iter().map(|&word| word_to_int(word)));
        }
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
