//! Shortest distances from sources in parallel.
//!
//! Meyer and Sanders, "Δ-stepping: a parallelizable shortest path algorithm" (2003): vertices are
//! put into buckets by their distance, and those of one bucket are relaxed together until it stays
//! empty. [`crate::sssp`] is faster on one thread, and has parents and goals.
//!
//! # Why the distances have the bits of Dijkstra's
//! A distance is the least of the sums along all paths, each added up from the source on. Adding a
//! weight never makes a smaller sum less than a larger one became, so the order in which vertices
//! are relaxed has no effect on the least sum. Distances are not negative, so their bits have their
//! order, and threads lower them by an atomic minimum of integers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::csr::Csr;
use crate::dijkstra_search::refuse_negative;
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker};
use crate::workers::{Workers, map_parts, part_of, parts_of};

/// Vertices of one part.
const PART_VERTICES: usize = 512;

/// Without [`DeltaOptions::width`], a bucket is as wide as this many edges of mean weight.
const MEAN_WEIGHTS: f64 = 8.0;

/// Options of [`delta_stepping`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeltaOptions {
    /// The difference of distances in one bucket. Wider buckets have more work for threads, and
    /// relax more vertices repeatedly. `None`: by the mean weight. The result does not depend on
    /// it.
    pub width: Option<f64>,
}

/// The least sum of weights from any of `sources` to each vertex along outgoing edges, infinite if
/// a vertex is not reached. The same as those of [`crate::sssp::sssp`].
///
/// Memory: sixteen bytes per vertex, and twelve per improvement of a distance in the buckets that
/// follow.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`], [`Error::NotPositive`] for the width,
/// [`Error::Stopped`].
pub fn delta_stepping(
    graph: &Csr,
    sources: &[u32],
    options: DeltaOptions,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    refuse_unknown(sources, graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let width = match options.width {
        Some(value) if !(value > 0.0 && value.is_finite()) => {
            return Err(Error::NotPositive { value });
        }
        Some(width) => width,
        None => mean_weight(graph) * MEAN_WEIGHTS,
    };
    let infinite = || AtomicU64::new(f64::INFINITY.to_bits());
    let search = Search {
        graph,
        width,
        distances: (0..graph.vertices()).map(|_| infinite()).collect(),
        relaxed: (0..graph.vertices()).map(|_| infinite()).collect(),
    };
    let mut buckets: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for &source in sources {
        search.distances[source as usize].store(0, Relaxed);
        buckets.entry(0).or_default().push(source);
    }
    while let Some((bucket, vertices)) = buckets.pop_first() {
        ticker.ask()?;
        // Improvements within the bucket come back as the first bucket.
        search.relax_all(bucket, &vertices, &mut buckets, workers, limits)?;
    }
    let distance = |bits: AtomicU64| f64::from_bits(bits.into_inner());
    Ok(search.distances.into_iter().map(distance).collect())
}

/// The mean of the weights, or 1 if all are zero.
fn mean_weight(graph: &Csr) -> f64 {
    let Some(weights) = graph.weights() else { return 1.0 };
    // Divided first, so that the sum of very large weights stays finite.
    let mean: f64 = weights.iter().map(|weight| weight / weights.len() as f64).sum();
    if mean > 0.0 { mean.min(f64::MAX / MEAN_WEIGHTS) } else { 1.0 }
}

/// A vertex with the bucket that it belongs to.
type Improved = Vec<(u64, u32)>;

struct Search<'a> {
    graph: &'a Csr,
    width: f64,
    /// The bits of the least distances so far.
    distances: Vec<AtomicU64>,
    /// Those from which a vertex's neighbors were last improved.
    relaxed: Vec<AtomicU64>,
}

impl Search<'_> {
    fn bucket(&self, distance: f64) -> u64 {
        (distance / self.width) as u64
    }

    /// Improves the neighbors of all vertices of a bucket.
    fn relax_all(
        &self,
        bucket: u64,
        vertices: &[u32],
        buckets: &mut BTreeMap<u64, Vec<u32>>,
        workers: &dyn Workers,
        limits: &dyn Limits,
    ) -> Result<(), Stopped> {
        let parts = parts_of(vertices.len(), PART_VERTICES);
        let relax = |i| {
            let ticker = &mut Ticker::new(limits)?;
            let mut improved = Vec::new();
            for &v in &vertices[part_of(i, vertices.len(), PART_VERTICES)] {
                self.relax(v, bucket, &mut improved, ticker)?;
            }
            Ok(improved)
        };
        // Few vertices are not worth waking threads.
        let found: Vec<Result<Improved, Stopped>> = if parts < 2 {
            (0..parts).map(relax).collect()
        } else {
            map_parts(workers, parts, &relax)
        };
        for improved in found {
            for run in improved?.chunk_by(|a, b| a.0 == b.0) {
                buckets.entry(run[0].0).or_default().extend(run.iter().map(|&(_, v)| v));
            }
        }
        Ok(())
    }

    fn relax(
        &self,
        v: u32,
        bucket: u64,
        improved: &mut Improved,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        ticker.tick(1)?;
        let bits = self.distances[v as usize].load(Relaxed);
        let distance = f64::from_bits(bits);
        // A vertex is in a bucket once for each improvement, and is relaxed in the first.
        if self.bucket(distance) < bucket || self.relaxed[v as usize].swap(bits, Relaxed) == bits {
            return Ok(());
        }
        for (to, weight) in self.graph.weighted(v) {
            ticker.tick(1)?;
            let there = distance + weight;
            let known = &self.distances[to as usize];
            // Reading first spares most of the locked instructions.
            if there < f64::from_bits(known.load(Relaxed)) {
                let before = f64::from_bits(known.fetch_min(there.to_bits(), Relaxed));
                if there < before {
                    improved.push((self.bucket(there), to));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sssp::{SsspOptions, sssp};
    use crate::testing::{Threads, edges, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    fn dijkstra(graph: &Csr, sources: &[u32]) -> Vec<f64> {
        sssp(graph, sources, &SsspOptions::default(), &go).unwrap().distances
    }

    #[test]
    fn threads_and_widths_do_not_change_a_bit() {
        let graph = random_graph(5000, 40_000, 3);
        let weights: Vec<f64> = (0..40_000).map(|i| f64::from(i * 7919 % 10_007) / 7.0).collect();
        let weighted =
            Csr::from_parts(graph.offsets().to_vec(), graph.targets().to_vec(), Some(weights));
        for graph in [graph, weighted] {
            let want = dijkstra(&graph, &[0, 17]);
            for width in [None, Some(0.5), Some(100.0), Some(1e9)] {
                for threads in [1, 2, 5] {
                    let options = DeltaOptions { width };
                    let found = delta_stepping(&graph, &[0, 17], options, &Threads(threads), &go);
                    assert_eq!(found.unwrap(), want);
                }
            }
        }
    }

    #[test]
    fn what_is_no_search_is_refused() {
        let run = |graph: &Csr, sources: &[u32], width| {
            delta_stepping(graph, sources, DeltaOptions { width }, &OneThread, &go)
        };
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        assert_eq!(run(&graph(2, "0-1:-1"), &[0], None), Err(negative));
        let unknown = Error::UnknownVertex { vertex: 2, vertices: 2 };
        assert_eq!(run(&graph(2, "0-1"), &[2], None), Err(unknown));
        assert_eq!(run(&graph(2, "0-1"), &[0], Some(0.0)), Err(Error::NotPositive { value: 0.0 }));
        assert_eq!(run(&graph(3, "0-1:0 1-2:0"), &[0, 0], None), Ok(vec![0.0; 3]));
        assert_eq!(run(&graph(2, "0-1"), &[], None), Ok(vec![f64::INFINITY; 2]));
        let path = long_path(200_000);
        let stopped =
            delta_stepping(&path, &[0], DeltaOptions::default(), &OneThread, &stop_after(4));
        assert_eq!(stopped, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn distances_are_those_of_dijkstra(edges in edges(), width in 0.1..20.0) {
            let graph = edges.graph();
            let options = DeltaOptions { width: Some(width) };
            for source in 0..edges.vertices {
                let found = delta_stepping(&graph, &[source], options, &Threads(2), &go).unwrap();
                prop_assert_eq!(found, dijkstra(&graph, &[source]));
            }
        }
    }
}
