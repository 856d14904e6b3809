//! Breadth-first search: levels and parents of all vertices that some sources reach.
//!
//! Beamer, Asanović and Patterson, "Direction-optimizing breadth-first search" (2012). While the
//! frontier is small, its outgoing edges are followed (top-down). When it has a large part of the
//! edges, each vertex that is not reached yet looks for a neighbor in the frontier among its
//! incoming edges and stops at the first (bottom-up), in parallel.
//!
//! [`crate::paths`] and [`crate::traverse`] have CozoDB's searches, in which the parent of a vertex
//! is the one that reached it first.
//!
//! # Why the result does not depend on directions and threads
//! The parent of a vertex is the smallest one that could be. Bottom-up finds it first, because rows
//! are sorted; top-down replaces a larger one.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker};
use crate::parents::path_to;
use crate::workers::{PART_VERTICES, Workers, fill, map_items};

/// The level of a vertex that was not reached.
pub const NO_LEVEL: u32 = u32::MAX;

/// A search turns bottom-up when the frontier has more than this fraction of the edges that are
/// left. The two fractions are those of Beamer et al.
const BOTTOM_UP_EDGES: u64 = 14;

/// A search turns top-down again when the frontier has less than this fraction of the vertices.
const TOP_DOWN_VERTICES: usize = 24;

/// Options of [`bfs`].
#[derive(Clone, Copy, Debug, Default)]
pub struct BfsOptions<'a> {
    /// The graph with all edges reversed; the graph itself if it is symmetric. Without it, the
    /// search is top-down only.
    pub reverse: Option<&'a Csr>,
    /// Vertices that are more edges away are not reached. `None`: no limit.
    pub depth_max: Option<u32>,
}

/// The result of [`bfs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BfsTree {
    /// Number of edges from the nearest source. [`NO_LEVEL`] if a vertex was not reached.
    pub levels: Vec<u32>,
    /// The smallest vertex that is one level nearer and has an edge to this one. [`NO_VERTEX`] for
    /// sources and vertices that were not reached.
    pub parents: Vec<u32>,
}

impl BfsTree {
    /// The path from a source to `goal`, including both. Empty if `goal` was not reached.
    pub fn path(&self, goal: u32) -> Vec<u32> {
        if self.levels.get(goal as usize).is_none_or(|&level| level == NO_LEVEL) {
            return Vec::new();
        }
        path_to(goal, &self.parents)
    }
}

/// Searches from all `sources` together, along outgoing edges.
///
/// Memory: sixteen bytes per vertex, eight of them the result.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::Stopped`].
pub fn bfs(
    graph: &Csr,
    sources: &[u32],
    options: &BfsOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<BfsTree, Error> {
    refuse_unknown(sources, graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    let reverse = options.reverse.filter(|reverse| reverse.vertices() == graph.vertices());
    let mut search = Search::new(graph, sources);
    let mut bottom_up = false;
    while search.count > 0 && search.level < options.depth_max.unwrap_or(NO_LEVEL - 1) {
        let was_bottom_up = bottom_up;
        bottom_up = if was_bottom_up {
            search.count >= search.visits.len() / TOP_DOWN_VERTICES
        } else {
            search.edges > search.edges_left / BOTTOM_UP_EDGES
        };
        match reverse.filter(|_| bottom_up) {
            Some(reverse) => search.bottom_up(graph, reverse, workers, limits)?,
            None => {
                bottom_up = false;
                if was_bottom_up {
                    search.collect_frontier(ticker)?;
                }
                search.top_down(graph, ticker)?;
            }
        }
    }
    let levels = search.visits.iter().map(|visit| visit.level).collect();
    let parents = search.visits.iter().map(|visit| visit.parent).collect();
    Ok(BfsTree { levels, parents })
}

/// How a vertex was reached. Both numbers are read together, so they are stored together.
#[derive(Clone, Copy)]
struct Visit {
    level: u32,
    parent: u32,
}

const UNREACHED: Visit = Visit { level: NO_LEVEL, parent: NO_VERTEX };

struct Search {
    visits: Vec<Visit>,
    /// The level of the frontier.
    level: u32,
    /// The vertices of the frontier. Not maintained by steps bottom-up.
    frontier: Vec<u32>,
    /// A bit for each vertex of the frontier. Used by steps bottom-up only.
    bits: Vec<u64>,
    /// Number of vertices in the frontier.
    count: usize,
    /// Number of outgoing edges of the frontier.
    edges: u64,
    /// Number of outgoing edges of vertices that are not reached.
    edges_left: u64,
}

impl Search {
    fn new(graph: &Csr, sources: &[u32]) -> Self {
        let mut visits = vec![UNREACHED; graph.vertices() as usize];
        let mut frontier = Vec::with_capacity(sources.len());
        for &source in sources {
            let visit = &mut visits[source as usize];
            if visit.level == NO_LEVEL {
                visit.level = 0;
                frontier.push(source);
            }
        }
        let edges = frontier.iter().map(|&v| graph.degree(v) as u64).sum();
        let edges_left = graph.edges() - edges;
        let count = frontier.len();
        Self { visits, level: 0, frontier, bits: Vec::new(), count, edges, edges_left }
    }

    fn advance(&mut self, count: usize, edges: u64) {
        self.level += 1;
        self.count = count;
        self.edges = edges;
        self.edges_left -= edges;
    }

    fn top_down(&mut self, graph: &Csr, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let level = self.level + 1;
        let mut next = Vec::new();
        let mut edges = 0;
        for &v in &self.frontier {
            ticker.tick(1)?;
            for &to in graph.neighbors(v) {
                ticker.tick(1)?;
                let visit = &mut self.visits[to as usize];
                if visit.level == NO_LEVEL {
                    *visit = Visit { level, parent: v };
                    edges += graph.degree(to) as u64;
                    next.push(to);
                } else if visit.level == level {
                    visit.parent = visit.parent.min(v);
                }
            }
        }
        self.advance(next.len(), edges);
        self.frontier = next;
        Ok(())
    }

    fn bottom_up(
        &mut self,
        graph: &Csr,
        reverse: &Csr,
        workers: &dyn Workers,
        limits: &dyn Limits,
    ) -> Result<(), Stopped> {
        let level = self.level;
        self.bits.resize(self.visits.len().div_ceil(64), 0);
        let visits = &self.visits;
        fill(workers, &mut self.bits, PART_VERTICES / 64, &|words, bits| {
            let first = words.start * 64;
            for (word, visits) in bits.iter_mut().zip(visits[first..].chunks(64)) {
                *word = visits.iter().rev().fold(0, |w, v| w << 1 | u64::from(v.level == level));
            }
        });
        let bits = &self.bits;
        let is_frontier = |v: u32| bits[v as usize / 64] >> (v % 64) & 1 == 1;
        let parts: Vec<_> = self.visits.chunks_mut(PART_VERTICES).collect();
        let found = map_items(workers, parts, &|i, visits| {
            let ticker = &mut Ticker::new(limits)?;
            let (mut count, mut edges) = (0, 0);
            for (v, visit) in ((i * PART_VERTICES) as u32..).zip(visits) {
                ticker.tick(1)?;
                if visit.level != NO_LEVEL {
                    continue;
                }
                let row = reverse.neighbors(v);
                let nearer = row.iter().position(|&from| is_frontier(from));
                ticker.tick(nearer.unwrap_or(row.len()))?;
                if let Some(nearer) = nearer {
                    *visit = Visit { level: level + 1, parent: row[nearer] };
                    count += 1;
                    edges += graph.degree(v) as u64;
                }
            }
            Ok((count, edges))
        });
        let found: Vec<(usize, u64)> = found.into_iter().collect::<Result<_, Stopped>>()?;
        self.advance(found.iter().map(|part| part.0).sum(), found.iter().map(|part| part.1).sum());
        Ok(())
    }

    fn collect_frontier(&mut self, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        self.frontier.clear();
        for (v, visit) in (0..).zip(&self.visits) {
            ticker.tick(1)?;
            if visit.level == self.level {
                self.frontier.push(v);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, edges, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    #[test]
    fn a_long_path_is_searched_to_its_end() {
        let path = long_path(200_000);
        let tree = bfs(&path, &[0], &BfsOptions::default(), &OneThread, &go).unwrap();
        assert_eq!(tree.levels[199_999], 199_999);
        assert_eq!(tree.path(199_999).len(), 200_000);
        let stopped = bfs(&path, &[0], &BfsOptions::default(), &OneThread, &stop_after(3));
        assert_eq!(stopped, Err(Error::Stopped));
    }

    #[test]
    fn a_source_outside_of_the_graph_is_refused() {
        let found = bfs(&graph(3, "0-1"), &[0, 7], &BfsOptions::default(), &OneThread, &go);
        assert_eq!(found, Err(Error::UnknownVertex { vertex: 7, vertices: 3 }));
    }

    #[test]
    fn no_sources_reach_nothing() {
        let tree = bfs(&graph(2, "0-1"), &[], &BfsOptions::default(), &OneThread, &go).unwrap();
        assert_eq!(tree.levels, [NO_LEVEL, NO_LEVEL]);
        assert_eq!(tree.path(1), []);
        let null = bfs(&Csr::default(), &[], &BfsOptions::default(), &OneThread, &go).unwrap();
        assert_eq!(null, BfsTree::default());
    }

    #[test]
    fn directions_and_threads_do_not_change_a_tree() {
        let graph = random_graph(60_000, 400_000, 3);
        let reverse = graph.reverse(&go).unwrap();
        let sources = [5, 59_999];
        let top_down = bfs(&graph, &sources, &BfsOptions::default(), &OneThread, &go).unwrap();
        assert!(top_down.levels.iter().filter(|&&level| level != NO_LEVEL).count() > 50_000);
        let options = BfsOptions { reverse: Some(&reverse), depth_max: None };
        for threads in [1, 2, 4] {
            let tree = bfs(&graph, &sources, &options, &Threads(threads), &go).unwrap();
            assert_eq!(tree, top_down);
        }
    }

    proptest! {
        #[test]
        fn levels_are_distances_and_parents_are_the_smallest(
            edges in edges(),
            depth in 0..6_u32,
            both_directions in any::<bool>(),
        ) {
            let graph = edges.unweighted();
            let reverse = graph.reverse(&go).unwrap();
            let sources = [0, edges.vertices / 2];
            let options = BfsOptions {
                reverse: both_directions.then_some(&reverse),
                depth_max: Some(depth),
            };
            let tree = bfs(&graph, &sources, &options, &OneThread, &go).unwrap();
            let all = edges.hops().distances();
            for (v, (a, b)) in all[0].iter().zip(&all[sources[1] as usize]).enumerate() {
                let hops = a.min(*b);
                let want = if hops <= f64::from(depth) { hops as u32 } else { NO_LEVEL };
                prop_assert_eq!(tree.levels[v], want);
                let nearer = edges.list.iter().filter(|e| e.1 as usize == v).map(|e| e.0);
                let nearer = nearer.filter(|&u| {
                    tree.levels[u as usize].checked_add(1) == Some(want) && want != NO_LEVEL
                });
                prop_assert_eq!(tree.parents[v], nearer.min().unwrap_or(NO_VERTEX));
                let path = tree.path(v as u32);
                prop_assert_eq!(path.len(), if want == NO_LEVEL { 0 } else { want as usize + 1 });
            }
        }
    }
}
