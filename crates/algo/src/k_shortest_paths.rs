//! The k shortest paths without repeated vertices.
//!
//! Yen, "Finding the k shortest loopless paths in a network" (1971): each found path is varied at
//! each of its vertices (leave there by another edge), and the cheapest variant is the next path.
//! With Lawler's improvement (1972): a path that is itself a variant is varied only from the vertex
//! at which it left the other path. Variants that leave earlier are candidates already.

use std::collections::BTreeSet;

use hashbrown::HashSet;

use crate::csr::Csr;
use crate::dijkstra::{Output, Path};
use crate::dijkstra_search::{Search, refuse_negative};
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};

/// Passes up to `k` paths from each of `starts` to each of `goals` to `output`, cheapest first.
///
/// Paths of equal cost are in the order of their vertices, except for the first path. A pair
/// without a path has no results. The path from a vertex to itself consists of that vertex.
/// Parallel edges form one path, with the least of their weights.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn k_shortest_paths(
    graph: &Csr,
    starts: &[u32],
    goals: &[u32],
    k: usize,
    limits: &dyn Limits,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let mut search = Search::new(graph);
    for &start in starts {
        for &goal in goals {
            Pair { graph, start, goal }.run(k, &mut search, ticker, output)?;
        }
    }
    Ok(())
}

/// A candidate for the next path.
///
/// The derived order is by cost and then by vertices: the bits of a non-negative float have the
/// order of its value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    cost_bits: u64,
    vertices: Vec<u32>,
    /// Index of the vertex at which it left the path that it was derived from.
    left_at: usize,
}

struct Pair<'a> {
    graph: &'a Csr,
    start: u32,
    goal: u32,
}

impl Pair<'_> {
    fn run(
        &self,
        k: usize,
        search: &mut Search,
        ticker: &mut Ticker<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), Stopped> {
        let mut found: Vec<Vec<u32>> = Vec::new();
        let mut candidates = BTreeSet::new();
        let mut spur = Vec::new();
        let goal = self.goal;
        search.run(self.graph, self.start, |_, _| true, |v, _| v == goal, ticker)?;
        search.path(goal, &mut spur);
        if !spur.is_empty() {
            candidates.insert(self.candidate(spur.clone(), 0));
        }
        while found.len() < k {
            let Some(Candidate { cost_bits, vertices, left_at }) = candidates.pop_first() else {
                break;
            };
            let cost = f64::from_bits(cost_bits);
            output(Path { start: self.start, goal, cost, vertices: &vertices })?;
            found.push(vertices);
            if found.len() == k {
                break;
            }
            let path = &found[found.len() - 1];
            let mut root: HashSet<u32> = path[..left_at].iter().copied().collect();
            for at in left_at..path.len() - 1 {
                let from = path[at];
                ticker.tick(1)?;
                let taken = self.ways_taken(&found, &path[..=at], ticker)?;
                let allowed =
                    |v: u32, to: u32| !(root.contains(&to) || v == from && taken.contains(&to));
                search.run(self.graph, from, allowed, |v, _| v == goal, ticker)?;
                search.path(goal, &mut spur);
                if !spur.is_empty() {
                    let whole = [&path[..at], &spur[..]].concat();
                    ticker.tick(whole.len())?;
                    candidates.insert(self.candidate(whole, at));
                    // More candidates than paths that are still wanted can never be used.
                    if candidates.len() > k - found.len() {
                        candidates.pop_last();
                    }
                }
                root.insert(from);
            }
        }
        Ok(())
    }

    /// The next vertices of found paths that start with `root`.
    fn ways_taken(
        &self,
        found: &[Vec<u32>],
        root: &[u32],
        ticker: &mut Ticker<'_>,
    ) -> Result<Vec<u32>, Stopped> {
        let mut taken = Vec::new();
        for path in found {
            ticker.tick(1)?;
            if let Some(rest) = path.strip_prefix(root) {
                taken.extend(rest.first());
            }
        }
        Ok(taken)
    }

    fn candidate(&self, vertices: Vec<u32>, left_at: usize) -> Candidate {
        let step = |ends: &[u32]| {
            let row = self.graph.row(ends[0]);
            let targets = self.graph.neighbors(ends[0]);
            let from = row.start + targets.partition_point(|&to| to < ends[1]);
            let to = row.start + targets.partition_point(|&to| to <= ends[1]);
            let weights = self.graph.weights().and_then(|all| all.get(from..to));
            weights.map_or(1.0, |all| all.iter().copied().fold(f64::INFINITY, f64::min))
        };
        // Summed in the order of the search, so that paths of equal cost have equal bits. Adding
        // zero turns -0.0 into 0.0, whose bits are the smallest.
        let cost = vertices.windows(2).map(step).fold(0.0, |sum, weight| sum + weight);
        Candidate { cost_bits: (cost + 0.0).to_bits(), vertices, left_at }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dijkstra::tests::{Found, keep, simple_paths};
    use crate::testing::{edges, go, graph, long_path, stop_after};

    fn paths(graph: &Csr, starts: &[u32], goals: &[u32], k: usize) -> Vec<Found> {
        let mut found = Vec::new();
        k_shortest_paths(graph, starts, goals, k, &go, &mut keep(&mut found)).unwrap();
        found
    }

    #[test]
    fn paths_come_cheapest_first_and_take_no_vertex_twice() {
        // Yen's example of this kind: C-E-F-H, C-E-G-H, C-D-F-H.
        let graph = graph(6, "0-1:3 0-2:2 1-3:4 2-1:1 2-3:2 2-4:3 3-4:2 3-5:1 4-5:2");
        assert_eq!(
            paths(&graph, &[0], &[5], 3),
            [
                (0, 5, 5.0, vec![0, 2, 3, 5]),
                (0, 5, 7.0, vec![0, 2, 4, 5]),
                (0, 5, 8.0, vec![0, 1, 3, 5])
            ]
        );
    }

    #[test]
    fn no_way_gives_no_path() {
        let graph = graph(3, "0-1");
        assert_eq!(paths(&graph, &[0], &[2, 9, 0], 3), [(0, 0, 0.0, vec![0])]);
        assert_eq!(paths(&graph, &[9], &[0], 3), []);
        assert_eq!(paths(&graph, &[0], &[1], 0), []);
        assert_eq!(paths(&Csr::default(), &[0], &[0], 3), []);
    }

    #[test]
    fn a_negative_weight_is_refused_and_a_search_can_be_stopped() {
        let result = k_shortest_paths(&graph(2, "0-1:-1"), &[0], &[1], 2, &go, &mut |_| Ok(()));
        assert_eq!(result, Err(Error::NegativeWeight { source: 0, target: 1, weight: -1.0 }));
        let path = long_path(100_000);
        let result = k_shortest_paths(&path, &[0], &[99_999], 2, &stop_after(4), &mut |_| Ok(()));
        assert_eq!(result, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn paths_are_the_first_of_all_simple_paths(edges in edges(), k in 1..20_usize) {
            let (start, goal) = (0, edges.vertices - 1);
            for (graph, edges) in [(edges.graph(), edges.clone()), (edges.unweighted(), edges.hops())] {
                let got = paths(&graph, &[start], &[goal], k);
                let mut all = simple_paths(&edges, start, goal);
                prop_assert_eq!(got.len(), all.len().min(k));
                let costs: Vec<f64> = got.iter().map(|p| p.2).collect();
                prop_assert_eq!(costs, all.iter().take(k).map(|p| p.0).collect::<Vec<_>>());
                for (_, _, cost, path) in got {
                    let place = all.iter().position(|p| p.0 == cost && p.1 == path);
                    prop_assert!(place.is_some(), "{:?} is wrong, or came twice", path);
                    all.remove(place.unwrap());
                }
            }
        }
    }
}
