//! Streams of all edges, in batches.

use super::{Edges, Graph, WeightType};
use base::{Batch, KeyRange, Projection};
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

    fn scan_range(&self, range: KeyRange) -> Result<EdgeScan> {
        let scan = self.read(|read| read.scan(self.core.forward, range, Projection::ALL))?;
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
