//! Shortest distances from sources as columns by vertex, and between all pairs.
//!
//! Dijkstra's algorithm with a radix heap. Stale entries of the heap are skipped. The fixed rules
//! search with `dijkstra_search.rs`, whose heap settles equal costs in the order of the vertices.
//! This one does not, so of several parents it may return others.

use crate::csr::{Csr, NO_VERTEX};
use crate::dijkstra_search::{Goals, refuse_negative};
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker, refuse_large};
use crate::parents::path_to;
use crate::radix_heap::RadixHeap;
use crate::workers::{Workers, map_items};

/// Sources of one part in [`all_pairs`].
const PART_SOURCES: usize = 16;

/// Options of [`sssp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SsspOptions<'a> {
    /// Vertices at a greater distance are not reached.
    pub distance_max: f64,
    /// If present, vertices farther than the farthest of these are not reached.
    pub goals: Option<&'a [u32]>,
}

impl Default for SsspOptions<'_> {
    fn default() -> Self {
        Self { distance_max: f64::INFINITY, goals: None }
    }
}

/// Distances with a tree of shortest paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShortestTree {
    /// Least sum of weights from a source. Infinite if a vertex was not reached.
    pub distances: Vec<f64>,
    /// The vertex before this one on a shortest path: arbitrary among several, but deterministic.
    /// [`NO_VERTEX`] for sources and vertices that were not reached.
    pub parents: Vec<u32>,
}

impl ShortestTree {
    pub(crate) fn new(vertices: u32) -> Self {
        let n = vertices as usize;
        Self { distances: vec![f64::INFINITY; n], parents: vec![NO_VERTEX; n] }
    }

    /// The path from a source to `goal`, including both. Empty if `goal` was not reached.
    pub fn path(&self, goal: u32) -> Vec<u32> {
        if !self.distances.get(goal as usize).is_some_and(|distance| distance.is_finite()) {
            return Vec::new();
        }
        path_to(goal, &self.parents)
    }
}

/// Searches from all `sources` together, along outgoing edges. Of parallel edges, the lightest
/// counts, as in NetworkX.
///
/// Memory: twelve bytes per vertex, and sixteen per entry of the heap, at most one per edge.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn sssp(
    graph: &Csr,
    sources: &[u32],
    options: &SsspOptions<'_>,
    limits: &dyn Limits,
) -> Result<ShortestTree, Error> {
    let goals = options.goals.unwrap_or_default();
    refuse_unknown(sources, graph.vertices())?;
    refuse_unknown(goals, graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let mut tree = ShortestTree::new(graph.vertices());
    let mut distance_max = options.distance_max;
    let wanted = options.goals.map(|goals| Goals::new(graph, goals));
    let mut goals_left = wanted.as_ref().map_or(usize::MAX, Goals::count);
    if goals_left == 0 {
        return Ok(tree);
    }
    let mut settle = |v: u32, distance: f64| {
        if wanted.as_ref().is_some_and(|goals| goals.contains(v)) {
            goals_left -= 1;
        }
        // Vertices as far as the last goal are reached too, so that the order of equal distances
        // does not show.
        if goals_left == 0 {
            distance_max = distance_max.min(distance);
        }
        distance_max
    };
    let parents = Some(&mut tree.parents[..]);
    let heap = &mut RadixHeap::new();
    search(graph, sources, &mut tree.distances, parents, heap, &mut settle, ticker)?;
    for (distance, parent) in tree.distances.iter_mut().zip(&mut tree.parents) {
        if *distance > distance_max {
            (*distance, *parent) = (f64::INFINITY, NO_VERTEX);
        }
    }
    Ok(tree)
}

/// Fills `distances`, which are infinite before. `settle` is called once for each vertex in order
/// of the distances, and returns the greatest distance that is wanted from then on.
#[inline]
pub(crate) fn search(
    graph: &Csr,
    sources: &[u32],
    distances: &mut [f64],
    mut parents: Option<&mut [u32]>,
    heap: &mut RadixHeap,
    settle: &mut impl FnMut(u32, f64) -> f64,
    ticker: &mut Ticker<'_>,
) -> Result<(), Stopped> {
    heap.clear();
    for &source in sources {
        if distances[source as usize] > 0.0 {
            distances[source as usize] = 0.0;
            heap.push(0.0, source);
        }
    }
    while let Some((distance, v)) = heap.pop() {
        ticker.tick(1)?;
        if distance > distances[v as usize] {
            continue;
        }
        let distance_max = settle(v, distance);
        if distance > distance_max {
            break;
        }
        for (to, weight) in graph.weighted(v) {
            ticker.tick(1)?;
            let there = distance + weight;
            if there < distances[to as usize] && there <= distance_max {
                distances[to as usize] = there;
                if let Some(parents) = &mut parents {
                    parents[to as usize] = v;
                }
                heap.push(there, to);
            }
        }
    }
    Ok(())
}

/// The distances between all pairs: row `v` has those from `v`, so the distance from `a` to `b` is
/// at `a * vertices + b`. Infinite where there is no path. Sources are searched in parallel.
///
/// Memory: eight bytes per pair.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn all_pairs(
    graph: &Csr,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    let n = graph.vertices() as usize;
    refuse_large((n as u64).saturating_mul(n as u64).saturating_mul(8), limits)?;
    refuse_negative(graph, &mut Ticker::new(limits)?)?;
    let mut pairs = vec![f64::INFINITY; n * n];
    let parts: Vec<_> = pairs.chunks_mut((n * PART_SOURCES).max(1)).collect();
    let searched = map_items(workers, parts, &|i, rows| {
        let ticker = &mut Ticker::new(limits)?;
        let heap = &mut RadixHeap::new();
        for (source, row) in ((i * PART_SOURCES) as u32..).zip(rows.chunks_mut(n)) {
            search(graph, &[source], row, None, heap, &mut |_, _| f64::INFINITY, ticker)?;
        }
        Ok(())
    });
    searched.into_iter().collect::<Result<(), Stopped>>()?;
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, edges, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    #[test]
    fn a_search_with_goals_ends_at_the_farthest() {
        let path = long_path(1000);
        let options = SsspOptions { goals: Some(&[3, 7]), ..SsspOptions::default() };
        let tree = sssp(&path, &[0], &options, &go).unwrap();
        assert_eq!(tree.distances.iter().filter(|distance| distance.is_finite()).count(), 8);
        assert_eq!(tree.path(7), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(tree.path(8), []);
    }

    #[test]
    fn what_is_no_search_is_refused() {
        let all = SsspOptions::default();
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        assert_eq!(sssp(&graph(2, "0-1:-1"), &[0], &all, &go), Err(negative));
        let unknown = Error::UnknownVertex { vertex: 2, vertices: 2 };
        assert_eq!(sssp(&graph(2, "0-1"), &[2], &all, &go), Err(unknown));
        let goals = SsspOptions { goals: Some(&[2]), ..all };
        assert_eq!(sssp(&graph(2, "0-1"), &[0], &goals, &go), Err(unknown));
        let stopped = sssp(&long_path(200_000), &[0], &all, &stop_after(4));
        assert_eq!(stopped, Err(Error::Stopped));
    }

    #[test]
    fn all_pairs_need_memory() {
        struct Small;
        impl Limits for Small {
            fn go_on(&self) -> bool {
                true
            }
            fn may_hold(&self, bytes: u64) -> bool {
                bytes < 100
            }
        }
        let found = all_pairs(&long_path(10), &OneThread, &Small);
        assert_eq!(found, Err(Error::TooLarge { bytes: 800 }));
        assert_eq!(all_pairs(&Csr::default(), &OneThread, &go), Ok(vec![]));
    }

    #[test]
    fn threads_do_not_change_all_pairs() {
        let graph = random_graph(300, 2000, 5);
        let want = all_pairs(&graph, &OneThread, &go).unwrap();
        for threads in [2, 4] {
            assert_eq!(all_pairs(&graph, &Threads(threads), &go).unwrap(), want);
        }
    }

    proptest! {
        #[test]
        fn distances_are_those_of_all_pairs(
            edges in edges(),
            distance_max in prop::sample::select(vec![0.0, 2.0, 4.5, f64::INFINITY]),
        ) {
            let graph = edges.graph();
            let all = edges.distances();
            let pairs = all_pairs(&graph, &OneThread, &go).unwrap();
            prop_assert_eq!(&pairs, &all.concat());
            let options = SsspOptions { distance_max, goals: None };
            for source in 0..edges.vertices {
                let tree = sssp(&graph, &[source], &options, &go).unwrap();
                let row = &all[source as usize];
                for (v, &distance) in row.iter().enumerate() {
                    let want = if distance <= distance_max { distance } else { f64::INFINITY };
                    prop_assert_eq!(tree.distances[v], want);
                    let path = tree.path(v as u32);
                    prop_assert_eq!(path.is_empty(), want.is_infinite());
                    let step = |pair: &[u32]| {
                        let row = graph.weighted(pair[0]).filter(|edge| edge.0 == pair[1]);
                        row.map(|edge| edge.1).fold(f64::INFINITY, f64::min)
                    };
                    let sum: f64 = path.windows(2).map(step).sum();
                    prop_assert!(path.is_empty() || path[0] == source && sum == want);
                }
                let goal = edges.vertices - 1;
                let goals = SsspOptions { goals: Some(&[goal]), ..options };
                let tree = sssp(&graph, &[source], &goals, &go).unwrap();
                let end = row[goal as usize].min(distance_max);
                let within: Vec<f64> =
                    row.iter().map(|&d| if d <= end { d } else { f64::INFINITY }).collect();
                prop_assert_eq!(tree.distances, within);
            }
        }
    }
}
