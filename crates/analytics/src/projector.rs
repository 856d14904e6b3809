//! Makes projections of stored graphs, and caches them.
//!
//! # Why validity is a sequence number
//! The store tells which commit was the last to change a graph. A cached projection whose snapshot
//! gives the same number is valid without reading a row (as in `exec/src/snapshot_cache.rs`).
//!
//! # Invariants
//! 1. Projections of a transaction are not cached: others do not see its writes.
//! 2. All projections together, cached or in use, hold at most the budget. Cached ones are dropped
//!    for new ones, the least recently used first.

use crate::budget::{Budget, Reservation};
use crate::combine::{formed, induced};
use crate::error::from_algo;
use crate::from_columns::{self, EdgeColumns};
use crate::from_graph;
use crate::options::{Parallel, ProjectOptions};
use crate::projection::{Projection, bytes_of};
use crate::run::Run;
use base::{KeyspaceId, SeqNo};
use env::sync::Mutex;
use std::sync::Arc;
use store::Result;
use views::graph::{Graph, GraphPart};

/// Makes projections for a database, and caches those of stored graphs.
#[derive(Debug)]
pub struct Projector {
    budget: Arc<Budget>,
    /// In the order of their last use.
    cached: Mutex<Vec<Cached>>,
}

#[derive(Debug)]
struct Cached {
    keyspace: KeyspaceId,
    options: ProjectOptions,
    changed: SeqNo,
    projection: Arc<Projection>,
}

impl Projector {
    /// Projections hold at most `bytes_max` bytes together.
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        Self { budget: Budget::new(bytes_max), cached: Mutex::default() }
    }

    /// Bytes that projections hold now.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.budget.held()
    }

    /// The projection of a graph at its newest snapshot, or in its transaction. The same object as
    /// before if the graph has not changed.
    ///
    /// # Errors
    /// [`store::ErrorKind::Limit`]: projections would hold more than their budget;
    /// [`store::ErrorKind::InvalidInput`]: a weight is not finite; [`store::ErrorKind::Cancelled`];
    /// those of reading.
    pub fn graph(
        &self,
        graph: &Graph,
        options: &ProjectOptions,
        run: &Run<'_>,
    ) -> Result<Arc<Projection>> {
        let (graph, changed) = graph.at_snapshot()?;
        let key = changed.zip(graph.keyspace(GraphPart::Forward));
        if let Some((changed, keyspace)) = key
            && let Some(found) = self.find(keyspace, options, changed)
        {
            return Ok(found);
        }
        let reserve = |bytes| self.reserve(bytes);
        let (ids, csr, memory) = from_graph::read(&graph, options, &reserve, run)?;
        let projection = self.finish(ids, csr, memory, options, run)?;
        if let Some((changed, keyspace)) = key {
            let options = *options;
            let projection = Arc::clone(&projection);
            self.put(Cached { keyspace, options, changed, projection });
        }
        Ok(projection)
    }

    /// The projection of columns of edges. It is not cached.
    ///
    /// # Errors
    /// As [`Projector::graph`]; [`store::ErrorKind::InvalidInput`] if the ends have two types.
    pub fn columns(
        &self,
        edges: EdgeColumns,
        options: &ProjectOptions,
        run: &Run<'_>,
    ) -> Result<Arc<Projection>> {
        let reserve = |bytes| self.reserve(bytes);
        let (ids, csr, memory) = from_columns::read(edges, &reserve, run)?;
        self.finish(ids, csr, memory, options, run)
    }

    /// The vertices `kept` and the edges between them. `kept` may be in any order.
    ///
    /// # Errors
    /// As [`Projector::graph`].
    pub fn induced(
        &self,
        projection: &Projection,
        kept: &[u32],
        run: &Run<'_>,
    ) -> Result<Arc<Projection>> {
        let mut kept = kept.to_vec();
        kept.sort_unstable();
        kept.dedup();
        let all = projection.graph();
        let memory = self.reserve(bytes_of(all) + 12 * all.offsets().len() as u64)?;
        let graph = induced(all, &kept, run).map_err(|error| from_algo(error, projection.ids()))?;
        let words = kept.iter().map(|&v| projection.ids().words()[v as usize]).collect();
        let ids = projection.ids().with_words(words);
        Ok(Arc::new(Projection::new(ids, graph, projection.is_directed(), memory)))
    }

    fn finish(
        &self,
        ids: crate::ids::VertexIds,
        graph: algo::Csr,
        memory: Reservation,
        options: &ProjectOptions,
        run: &Run<'_>,
    ) -> Result<Arc<Projection>> {
        let plain = options.parallel == Parallel::Keep && !options.is_undirected;
        let mut forming = Vec::new();
        if !plain {
            // Both directions twice: before and after parallel edges are combined.
            forming.push(self.reserve(4 * bytes_of(&graph) + 16 * graph.edges())?);
        }
        let graph = formed(graph, options, run).map_err(|error| from_algo(error, &ids))?;
        drop((memory, forming));
        let memory = self.reserve(bytes_of(&graph) + ids.bytes())?;
        Ok(Arc::new(Projection::new(ids, graph, !options.is_undirected, memory)))
    }

    /// Reserves memory; drops cached projections until there is enough.
    fn reserve(&self, bytes: u64) -> Result<Reservation> {
        loop {
            if let Some(memory) = self.budget.try_reserve(bytes) {
                return Ok(memory);
            }
            let oldest = {
                let mut cached = self.cached.lock();
                if cached.is_empty() {
                    return Err(self.budget.refusal(bytes));
                }
                cached.remove(0)
            };
            drop(oldest);
        }
    }

    fn find(
        &self,
        keyspace: KeyspaceId,
        options: &ProjectOptions,
        changed: SeqNo,
    ) -> Option<Arc<Projection>> {
        let mut cached = self.cached.lock();
        let is_it = |one: &Cached| {
            one.keyspace == keyspace && one.options == *options && one.changed == changed
        };
        let place = cached.iter().position(is_it)?;
        let found = cached.remove(place);
        let projection = Arc::clone(&found.projection);
        cached.push(found);
        Some(projection)
    }

    /// Caches a projection in place of older ones of the same graph.
    fn put(&self, new: Cached) {
        let mut cached = self.cached.lock();
        let is_newer = |one: &Cached| one.keyspace == new.keyspace && one.changed > new.changed;
        if cached.iter().any(is_newer) {
            return;
        }
        cached.retain(|one| {
            one.keyspace != new.keyspace || one.changed == new.changed && one.options != new.options
        });
        cached.push(new);
    }
}
