//! A frozen graph in memory: vertices with ids, and edges as compressed sparse rows.
//!
//! # Invariants
//! 1. The graph of an undirected projection has each edge in the rows of both ends, a self-loop
//!    once.
//! 2. Whatever a projection holds is reserved in the budget of the database.

use crate::budget::Reservation;
use crate::error::from_algo;
use crate::ids::VertexIds;
use crate::run::Run;
use algo::Csr;
use env::sync::Mutex;
use std::sync::Arc;
use store::Result;

/// A frozen graph in memory, at the snapshot at which it was read. Threads may share it.
///
/// Vertices are numbered from zero in the order of their ids (strings of a stored graph: in the
/// order in which the graph met them). Algorithms take and return these numbers.
#[derive(Debug)]
pub struct Projection {
    ids: VertexIds,
    graph: Arc<Csr>,
    is_directed: bool,
    memory: Reservation,
    reverse: Derived,
    both: Derived,
    doubled: Derived,
}

/// A graph that is made of another at its first use, with its memory.
#[derive(Debug, Default)]
struct Derived(Mutex<Option<(Arc<Csr>, Reservation)>>);

impl Derived {
    fn get(
        &self,
        memory: &Reservation,
        bytes: u64,
        make: impl FnOnce() -> Result<Csr>,
    ) -> Result<Arc<Csr>> {
        if let Some((graph, _)) = &*self.0.lock() {
            return Ok(Arc::clone(graph));
        }
        // Made without the lock: a second thread makes it too rather than wait uncancellably.
        let mut memory = memory.another(bytes)?;
        let graph = Arc::new(make()?);
        memory.shrink(bytes_of(&graph));
        let mut made = self.0.lock();
        let (graph, _) = made.get_or_insert((graph, memory));
        Ok(Arc::clone(graph))
    }
}

impl Projection {
    /// `memory` must be reserved for the graph and the ids.
    pub(crate) fn new(
        ids: VertexIds,
        graph: Csr,
        is_directed: bool,
        mut memory: Reservation,
    ) -> Self {
        memory.shrink(bytes_of(&graph) + ids.bytes());
        let graph = Arc::new(graph);
        let [reverse, both, doubled] = <[Derived; 3]>::default();
        Self { ids, graph, is_directed, memory, reverse, both, doubled }
    }

    /// The ids of the vertices.
    #[must_use]
    pub fn ids(&self) -> &VertexIds {
        &self.ids
    }

    /// The outgoing edges of each vertex; in an undirected projection all its edges.
    #[must_use]
    pub fn graph(&self) -> &Arc<Csr> {
        &self.graph
    }

    /// Whether edges have a direction.
    #[must_use]
    pub fn is_directed(&self) -> bool {
        self.is_directed
    }

    /// Number of vertices.
    #[must_use]
    pub fn vertices(&self) -> usize {
        self.ids.len()
    }

    /// Number of edges. Parallel edges count separately; an undirected edge counts once.
    #[must_use]
    pub fn edges(&self) -> u64 {
        if self.is_directed {
            return self.graph.edges();
        }
        let loops: usize = (0..self.graph.vertices()).map(|v| self.loops(v)).sum();
        (self.graph.edges() - loops as u64) / 2 + loops as u64
    }

    /// Number of self-loops of a vertex.
    pub(crate) fn loops(&self, v: u32) -> usize {
        let row = self.graph.neighbors(v);
        row.partition_point(|&to| to <= v) - row.partition_point(|&to| to < v)
    }

    /// Bytes of the ids and the graph, without derived structures such as the reversed edges.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// All edges reversed, made at the first call. The graph itself if it is undirected.
    ///
    /// # Errors
    /// [`store::ErrorKind::Limit`], [`store::ErrorKind::Cancelled`].
    pub fn reverse(&self, run: &Run<'_>) -> Result<Arc<Csr>> {
        if !self.is_directed {
            return Ok(Arc::clone(&self.graph));
        }
        // Besides the result, the next free slot of each row.
        let bytes = bytes_of(&self.graph) + 8 * self.vertices() as u64;
        self.reverse.get(&self.memory, bytes, || {
            self.graph.reversed(run, run).map_err(|stopped| from_algo(stopped.into(), &self.ids))
        })
    }

    /// Each edge in the rows of both ends, a self-loop once, made at the first call. The graph
    /// itself if it is undirected.
    ///
    /// # Errors
    /// As [`Projection::reverse`].
    pub fn undirected(&self, run: &Run<'_>) -> Result<Arc<Csr>> {
        if !self.is_directed {
            return Ok(Arc::clone(&self.graph));
        }
        let bytes = 3 * bytes_of(&self.graph);
        self.both.get(&self.memory, bytes, || {
            self.graph.undirected(run).map_err(|stopped| from_algo(stopped.into(), &self.ids))
        })
    }

    /// As [`Projection::undirected`], but a self-loop of a directed graph is in its row twice, as
    /// it counts twice for the degree.
    ///
    /// # Errors
    /// As [`Projection::reverse`].
    pub fn symmetric(&self, run: &Run<'_>) -> Result<Arc<Csr>> {
        if !self.is_directed {
            return Ok(Arc::clone(&self.graph));
        }
        let bytes = 3 * bytes_of(&self.graph);
        self.doubled.get(&self.memory, bytes, || {
            self.graph.symmetric(run).map_err(|stopped| from_algo(stopped.into(), &self.ids))
        })
    }
}

/// Bytes of a graph.
pub(crate) fn bytes_of(graph: &Csr) -> u64 {
    bytes_for(graph.vertices() as usize, graph.edges(), graph.weights().is_some())
}

/// Bytes of a graph with these numbers of vertices and edges.
pub(crate) fn bytes_for(vertices: usize, edges: u64, is_weighted: bool) -> u64 {
    let edge = if is_weighted { 12 } else { 4 };
    8 * (vertices as u64 + 1) + edge * edges
}
