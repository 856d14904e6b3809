//! How many vertices are at which distance, from every vertex: the base of closeness, harmonic
//! centrality and eccentricity.
//!
//! Then et al., "The more the merrier: efficient multi-source graph traversal" (2014): in an
//! unweighted graph, 64 searches run side by side, one in each bit of a word, so that an edge that
//! many of them follow is read once. Weighted graphs are searched with Dijkstra's algorithm.

use crate::csr::Csr;
use crate::dijkstra_search::refuse_negative;
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};
use crate::radix_heap::RadixHeap;
use crate::sssp::search;
use crate::workers::{Workers, map_parts, part_of, parts_of};

/// Sources that are searched side by side: the bits of a word.
const BATCH_SOURCES: usize = 64;

/// Parts for each thread, so that threads end at about the same time.
const THREAD_PARTS: usize = 8;

/// Number of words that can be added to [`BitCounts`] before they are read.
const WORDS_MAX: u32 = (1 << PLANES) - 1;

const PLANES: usize = 16;

/// An aggregate of the distances from one source, which come in ascending order.
pub(crate) trait Summary: Clone + Send + Sync {
    /// `count` more vertices, the source among them, are at `distance`.
    fn add(&mut self, distance: f64, count: u64);
}

/// Number of reached vertices, the source among them, and the sum of their distances.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) reached: u64,
    pub(crate) distances: f64,
}

impl Summary for Sum {
    fn add(&mut self, distance: f64, count: u64) {
        self.reached += count;
        self.distances += distance * count as f64;
    }
}

/// For each vertex, `empty` with the distances along outgoing edges added. Distances are weights if
/// the graph has weights.
///
/// Memory: up to thirty-six bytes per vertex and thread.
pub(crate) fn distance_counts<S: Summary>(
    graph: &Csr,
    empty: &S,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<S>, Error> {
    refuse_negative(graph, &mut Ticker::new(limits)?)?;
    let n = graph.vertices() as usize;
    // The result of a source does not depend on the others, so parts may depend on threads. There
    // are few, because each clears memory for all vertices, even if its searches reach few of them.
    let threads = workers.threads();
    let parts_max = if threads > 1 { threads * THREAD_PARTS } else { 1 };
    let part_sources = n.div_ceil(parts_max).next_multiple_of(BATCH_SOURCES);
    let parts = map_parts(workers, parts_of(n, part_sources), &|i| {
        let ticker = &mut Ticker::new(limits)?;
        let sources = part_of(i, n, part_sources);
        let mut found = vec![empty.clone(); sources.len()];
        if graph.weights().is_some() {
            by_weight(graph, sources.start as u32, &mut found, ticker)?;
        } else {
            by_hops(graph, sources.start as u32, &mut found, ticker)?;
        }
        Ok(found)
    });
    let parts: Vec<Vec<S>> = parts.into_iter().collect::<Result<_, Stopped>>()?;
    Ok(parts.into_iter().flatten().collect())
}

fn by_weight<S: Summary>(
    graph: &Csr,
    first: u32,
    found: &mut [S],
    ticker: &mut Ticker<'_>,
) -> Result<(), Stopped> {
    let mut distances = vec![f64::INFINITY; graph.vertices() as usize];
    let mut reached = Vec::new();
    let heap = &mut RadixHeap::new();
    for (source, summary) in (first..).zip(found) {
        let mut settle = |v: u32, distance: f64| {
            summary.add(distance, 1);
            reached.push(v);
            f64::INFINITY
        };
        search(graph, &[source], &mut distances, None, heap, &mut settle, ticker)?;
        for v in reached.drain(..) {
            distances[v as usize] = f64::INFINITY;
        }
    }
    Ok(())
}

fn by_hops<S: Summary>(
    graph: &Csr,
    first: u32,
    found: &mut [S],
    ticker: &mut Ticker<'_>,
) -> Result<(), Stopped> {
    let mut search = Batch::new(graph);
    for (first, found) in (first..).step_by(BATCH_SOURCES).zip(found.chunks_mut(BATCH_SOURCES)) {
        search.run(first, found, ticker)?;
    }
    Ok(())
}

/// Searches side by side. Bit `i` of a word belongs to the search from vertex `first + i`.
///
/// # Invariant
/// Between batches all words are zero.
struct Batch<'a> {
    graph: &'a Csr,
    seen: Vec<u64>,
    frontier: Vec<u64>,
    next: Vec<u64>,
    /// The vertices with a word in `seen`.
    reached: Vec<u32>,
    counts: BitCounts,
}

impl<'a> Batch<'a> {
    fn new(graph: &'a Csr) -> Self {
        let words = vec![0; graph.vertices() as usize];
        let (seen, frontier, next) = (words.clone(), words.clone(), words);
        Self { graph, seen, frontier, next, reached: Vec::new(), counts: BitCounts::new() }
    }

    fn run<S: Summary>(
        &mut self,
        first: u32,
        found: &mut [S],
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let mut active: Vec<u32> = (first..).take(found.len()).collect();
        for (i, &source) in active.iter().enumerate() {
            self.seen[source as usize] = 1 << i;
            self.frontier[source as usize] = 1 << i;
            found[i].add(0.0, 1);
        }
        self.reached.extend_from_slice(&active);
        let mut touched = Vec::new();
        let mut distance = 0.0;
        while !active.is_empty() {
            distance += 1.0;
            self.advance(&active, &mut touched, ticker)?;
            for (summary, count) in found.iter_mut().zip(self.counts.take()) {
                if count > 0 {
                    summary.add(distance, count);
                }
            }
            active.clear();
            std::mem::swap(&mut active, &mut touched);
        }
        self.reached.drain(..).for_each(|v| self.seen[v as usize] = 0);
        Ok(())
    }

    /// Searches one level from `active`. Adds the vertices of the next one to `touched`.
    fn advance(
        &mut self,
        active: &[u32],
        touched: &mut Vec<u32>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let Self { graph, seen, frontier, next, reached, counts } = self;
        let (seen, frontier, next) = (&mut seen[..], &mut frontier[..], &mut next[..]);
        for &v in active {
            let word = std::mem::take(&mut frontier[v as usize]);
            for &to in graph.neighbors(v) {
                ticker.tick(1)?;
                let new = word & !seen[to as usize];
                if new != 0 {
                    let slot = &mut next[to as usize];
                    if *slot == 0 {
                        touched.push(to);
                    }
                    *slot |= new;
                }
            }
            ticker.tick(1)?;
        }
        for &v in &*touched {
            let word = std::mem::take(&mut next[v as usize]);
            let known = &mut seen[v as usize];
            if *known == 0 {
                reached.push(v);
            }
            *known |= word;
            frontier[v as usize] = word;
            counts.add(word);
            ticker.tick(1)?;
        }
        Ok(())
    }
}

/// Counts how often each bit is set in words. Plane `p` has bit `p` of all 64 counts, so adding a
/// word takes two steps on average and not one for each bit.
struct BitCounts {
    planes: [u64; PLANES],
    words: u32,
    totals: [u64; 64],
}

impl BitCounts {
    fn new() -> Self {
        Self { planes: [0; PLANES], words: 0, totals: [0; 64] }
    }

    #[inline]
    fn add(&mut self, word: u64) {
        let mut carry = word;
        for plane in &mut self.planes {
            let sum = *plane ^ carry;
            carry &= *plane;
            *plane = sum;
            if carry == 0 {
                break;
            }
        }
        self.words += 1;
        if self.words == WORDS_MAX {
            self.empty_planes();
        }
    }

    fn empty_planes(&mut self) {
        for (p, plane) in self.planes.iter_mut().enumerate() {
            // By the bits that are set: a level of a long path adds few words.
            let mut left = std::mem::take(plane);
            while left != 0 {
                self.totals[left.trailing_zeros() as usize] += 1 << p;
                left &= left - 1;
            }
        }
        self.words = 0;
    }

    /// The count of each bit. After this, all are zero.
    fn take(&mut self) -> [u64; 64] {
        self.empty_planes();
        std::mem::replace(&mut self.totals, [0; 64])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sssp::{SsspOptions, sssp};
    use crate::testing::{Threads, go, random_graph};

    #[test]
    fn no_batch_sees_what_another_has_reached() {
        // Sparse, so that every batch leaves some vertices to the others.
        let graph = random_graph(500, 600, 3);
        let weights = vec![1.0; graph.targets().len()];
        let weighted =
            Csr::from_parts(graph.offsets().to_vec(), graph.targets().to_vec(), Some(weights));
        let sources = 0..graph.vertices();
        let want = |source: u32| {
            let found = sssp(&graph, &[source], &SsspOptions::default(), &go).unwrap().distances;
            let near = found.iter().filter(|distance| distance.is_finite());
            (near.clone().count() as u64, near.sum::<f64>())
        };
        for graph in [&graph, &weighted] {
            for threads in [1, 3] {
                let found =
                    distance_counts(graph, &Sum::default(), &Threads(threads), &go).unwrap();
                let found: Vec<_> = found.iter().map(|sum| (sum.reached, sum.distances)).collect();
                assert_eq!(found, sources.clone().map(want).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn bits_are_counted_beyond_the_planes() {
        let mut counts = BitCounts::new();
        for i in 0..100_000_u64 {
            counts.add(1 | (i % 2) << 63);
        }
        let read = counts.take();
        assert_eq!((read[0], read[1], read[63]), (100_000, 0, 50_000));
    }
}
