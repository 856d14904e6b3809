//! Streams of all edges, in batches.

use super::{Edges, Graph, WeightType};
use crate::source::Source;
use base::{Batch, KeyRange, Projection, SeqNo};
use relation::GraphPart;
use std::mem::swap;
use store::{Result, Scan};

/// A stream of edges by source and then target, at the snapshot taken when it started.
pub struct EdgeScan {
    scan: Box<dyn Scan>,
    rows: Batch,
    weight: WeightType,
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
        let scan = self.read(|read| read.scan(self.core.forward, range, Projection::KEYS))?;
        let rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
        Ok(EdgeScan { scan, rows, weight: WeightType::None })
    }

    /// The graph at one snapshot, and the number of its last change. Two snapshots with the same
    /// number have the same edges. `None` in a transaction, which has no such number.
    pub fn at_snapshot(&self) -> Result<(Self, Option<SeqNo>)> {
        let graph = self.held();
        let changed = match &graph.source {
            Source::Snapshot(snapshot) => Some(snapshot.changed_at(self.core.forward)?),
            Source::Store(_) | Source::Transaction(_) => None,
        };
        Ok((graph, changed))
    }

    fn scan_range(&self, range: KeyRange) -> Result<EdgeScan> {
        // The result has no properties, so their columns are not read.
        let projection = match self.has_properties() {
            true => Projection { keys: 0b11, values: u64::from(self.weighted()) },
            false => Projection::ALL,
        };
        let scan = self.read(|read| read.scan(self.core.forward, range, projection))?;
        let rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
        Ok(EdgeScan { scan, rows, weight: self.core.def.weight })
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
        out.weight.extend_from_words(self.rows.value_words(0));
        Ok(more)
    }
}
