//! Reads a stored graph as compressed sparse rows.
//!
//! # Why the vertices are read first
//! The distinct first key words of both directions are cheap: blocks store them run-length coded.
//! With all vertices known, each batch of edges becomes rows at once: the memory is exact, and no
//! column of 64-bit targets is held. Edges come sorted by source, so offsets are counted while
//! batches pass, and rows are sorted without sorting.
//!
//! # In parallel
//! Ranges of sources are read by several threads and their columns joined. Ranges have equal
//! numbers of vertices, and there are several for each thread, because vertices differ in degree.

use crate::budget::{Budget, Reservation};
use crate::error::from_algo;
use crate::ids::{Naming, VertexIds};
use crate::numbering::Numbering;
use crate::options::ProjectOptions;
use crate::projection::bytes_for;
use crate::run::Run;
use algo::workers::{part_of, parts_of};
use algo::{Csr, NO_VERTEX, Workers};
use env::sync::Mutex;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use store::{Error, ErrorKind, Result};
use views::graph::{Edges, Graph, VertexType, Weights};

/// Edges that are read in one step, between two checks of the limits.
const BATCH_EDGES: usize = 1 << 14;

/// Edges for each thread, with fewer another thread does not pay.
const THREAD_EDGES_MIN: u64 = 1 << 19;

/// Ranges of sources per thread.
const RANGES: usize = 4;

/// The ids and all edges of a graph that is at a snapshot or in a transaction, and their memory.
pub(crate) fn read(
    graph: &Graph,
    options: &ProjectOptions,
    reserve: &dyn Fn(u64) -> Result<Reservation>,
    run: &Run<'_>,
) -> Result<(VertexIds, Csr, Reservation)> {
    let (is_weighted, property) = (options.is_weighted, options.property);
    let words = vertex_words(graph)?;
    let edges = graph.number_of_edges()?;
    let count = words.len();
    if count >= NO_VERTEX as usize {
        let what = format!("a projection has fewer than 2^32 vertices, the graph has {count}");
        return Err(Error::new(ErrorKind::Limit, what));
    }
    let beside = 8 * count as u64 + Numbering::bytes_max(count);
    let memory = reserve(bytes_for(count, edges, is_weighted) + beside)?;
    let reader = Reader {
        graph,
        words: &words,
        numbering: Numbering::new(&words),
        is_weighted,
        property: property.filter(|_| is_weighted),
        edges,
        done: AtomicU64::new(0),
        run,
    };
    let rows = reader.all(memory.budget())?;
    let naming = match graph.def().vertex {
        VertexType::U64 => Naming::U64,
        VertexType::I64 => Naming::I64,
        VertexType::Str => Naming::Dictionary(graph.clone()),
    };
    let Rows { offsets, targets, weights } = rows;
    let csr = Csr::from_rows(offsets, targets, weights, run);
    let ids = VertexIds::new(words, naming);
    let csr = csr.map_err(|error| from_algo(error, &ids))?;
    Ok((ids, csr, memory))
}

/// The words of all vertices, ascending.
fn vertex_words(graph: &Graph) -> Result<Vec<u64>> {
    let mut words = Vec::new();
    graph.vertices(&mut |slice| words.extend_from_slice(slice))?;
    words.shrink_to_fit();
    Ok(words)
}

struct Reader<'r> {
    graph: &'r Graph,
    words: &'r [u64],
    numbering: Numbering<'r>,
    is_weighted: bool,
    /// The property that is the weight.
    property: Option<usize>,
    /// Number of edges of the graph.
    edges: u64,
    /// Edges that were read.
    done: AtomicU64,
    run: &'r Run<'r>,
}

/// The rows of some consecutive vertices.
#[derive(Default)]
struct Rows {
    /// The start of each row, and the end of the last.
    offsets: Vec<u64>,
    targets: Vec<u32>,
    weights: Option<Vec<f64>>,
}

impl Reader<'_> {
    fn all(&self, budget: &Arc<Budget>) -> Result<Rows> {
        let threads = (self.edges / THREAD_EDGES_MIN).min(self.run.threads() as u64) as usize;
        // The columns of the ranges, besides the columns that they become.
        let copies = bytes_for(self.words.len(), self.edges, self.is_weighted);
        let beside = if threads > 1 { budget.try_reserve(copies) } else { None };
        if beside.is_none() {
            return self.rows(0..self.words.len(), self.edges as usize);
        }
        let part = self.words.len().div_ceil(threads * RANGES).max(1);
        let ranges = parts_of(self.words.len(), part);
        let found = Mutex::new(Vec::new());
        self.run.each(ranges, &|i| {
            let rows = self.rows(part_of(i, self.words.len(), part), 0);
            found.lock().push((i, rows));
        });
        let mut found = std::mem::take(&mut *found.lock());
        found.sort_unstable_by_key(|(i, _)| *i);
        self.join(found.into_iter().map(|(_, rows)| rows))
    }

    fn join(&self, parts: impl Iterator<Item = Result<Rows>>) -> Result<Rows> {
        let mut all = self.empty(self.words.len(), self.edges as usize);
        for part in parts {
            let part = part?;
            let start = all.targets.len() as u64;
            let (_, starts) = part.offsets.split_last().unwrap_or((&0, &[]));
            all.offsets.extend(starts.iter().map(|offset| start + offset));
            all.targets.extend_from_slice(&part.targets);
            if let (Some(all), Some(part)) = (&mut all.weights, &part.weights) {
                all.extend_from_slice(part);
            }
        }
        all.offsets.push(all.targets.len() as u64);
        Ok(all)
    }

    fn empty(&self, vertices: usize, edges: usize) -> Rows {
        let offsets = Vec::with_capacity(vertices + 1);
        let weights = self.is_weighted.then(|| Vec::with_capacity(edges));
        Rows { offsets, targets: Vec::with_capacity(edges), weights }
    }

    /// The rows of these vertices. `edges` is the expected number of edges, for which memory is
    /// reserved; 0 if it is not known.
    fn rows(&self, vertices: Range<usize>, edges: usize) -> Result<Rows> {
        let mut rows = self.empty(vertices.len(), edges);
        if let Some(&from) = self.words.get(vertices.start) {
            let to = self.words.get(vertices.end).copied();
            let mut scan = match (self.is_weighted, self.property) {
                (true, Some(property)) => self.graph.scan_property_from(property, from, to)?,
                (true, None) => self.graph.scan_edges_from(from, to)?,
                (false, _) => self.graph.scan_ends_from(from, to)?,
            };
            let mut batch = Edges::default();
            while scan.next_edges(BATCH_EDGES, &mut batch)? {
                self.run.check()?;
                self.add(&batch, vertices.start, &mut rows)?;
                let done = self.done.fetch_add(batch.len() as u64, Relaxed) + batch.len() as u64;
                self.run.report(done, self.edges);
            }
        }
        rows.offsets.resize(vertices.len() + 1, rows.targets.len() as u64);
        Ok(rows)
    }

    /// Appends edges, which come by source. `first` is the first vertex of the rows.
    fn add(&self, edges: &Edges, first: usize, rows: &mut Rows) -> Result<()> {
        let mut end = rows.targets.len() as u64;
        for group in edges.src.chunk_by(|a, b| a == b) {
            let source = self.numbering.get(group[0]).ok_or_else(unknown_end)?;
            let row = source as usize - first;
            if rows.offsets.len() <= row {
                rows.offsets.resize(row + 1, end);
            }
            end += group.len() as u64;
        }
        if !self.numbering.extend(&edges.dst, &mut rows.targets) {
            return Err(unknown_end());
        }
        if let Some(weights) = &mut rows.weights {
            match &edges.weight {
                Weights::Float(floats) => weights.extend_from_slice(floats),
                Weights::Int(ints) => weights.extend(ints.iter().map(|&int| int as f64)),
                Weights::None => weights.resize(rows.targets.len(), 1.0),
            }
        }
        Ok(())
    }
}

/// The error of an edge with an end that is not among the vertices of the same snapshot.
fn unknown_end() -> Error {
    Error::new(ErrorKind::Corruption, "the two directions of the graph have different edges")
}
