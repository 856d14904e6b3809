//! Shortest paths by weight: one for each pair of vertices, or all of equal cost.
//!
//! The search is in `dijkstra_search.rs`; it keeps one path to each vertex. All shortest paths
//! follow from its costs in `parents.rs`.

use crate::csr::Csr;
use crate::dijkstra_search::{Goals, Search, refuse_negative};
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};
use crate::parents::{AllPaths, all_parents};

/// A path between two vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path<'a> {
    /// First vertex.
    pub start: u32,
    /// Last vertex.
    pub goal: u32,
    /// Sum of the weights; infinite if there is no path.
    pub cost: f64,
    /// The vertices, including both ends; empty if there is no path.
    pub vertices: &'a [u32],
}

/// Receives paths as they are found. An error ends the search.
pub type Output<'a> = dyn FnMut(Path<'_>) -> Result<(), Stopped> + 'a;

/// Which of several shortest paths to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// One path per goal. The choice is arbitrary but deterministic.
    One,
    /// All of them. Their number can be exponential.
    All,
}

/// Passes the shortest paths from each of `starts` to each of `goals` to `output`; without goals,
/// to every vertex.
///
/// Starts and goals that are not in the graph are ignored. An unreachable goal results in a path
/// without vertices at infinite cost. The path from a vertex to itself has cost zero. Parallel
/// edges form one path, with the least of their weights.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn dijkstra(
    graph: &Csr,
    starts: &[u32],
    goals: Option<&[u32]>,
    ties: Ties,
    limits: &dyn Limits,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let marks = goals.map(|goals| Goals::new(graph, goals));
    let mut search = Search::new(graph);
    let mut path = Vec::new();
    for &start in starts.iter().filter(|&&start| start < graph.vertices()) {
        let mut missing = marks.as_ref().map_or(usize::MAX, Goals::count);
        if missing == 0 {
            break;
        }
        // For all ties, the search continues through vertices at the cost of the last goal, because
        // an edge of weight zero may lead from them to it.
        let mut last_cost = f64::INFINITY;
        let enough = |v: u32, cost: f64| {
            if marks.as_ref().is_some_and(|goals| goals.contains(v)) {
                missing -= 1;
                if missing == 0 {
                    last_cost = cost;
                }
            }
            missing == 0 && (ties == Ties::One || cost > last_cost)
        };
        search.run(graph, start, |_, _| true, enough, ticker)?;
        let parents = match ties {
            Ties::One => None,
            Ties::All => {
                let reached = search.touched().iter().copied();
                Some(all_parents(graph, start, reached, |v| search.cost(v), ticker)?)
            }
        };
        let mut all_paths = AllPaths::new(start, parents.as_ref().map_or(0, Csr::vertices));
        let every = 0..if goals.is_none() { graph.vertices() } else { 0 };
        let wanted = goals.unwrap_or_default().iter().copied().filter(|&v| v < graph.vertices());
        for goal in wanted.chain(every) {
            ticker.tick(1)?;
            let cost = search.cost(goal);
            let ends = Path { start, goal, cost, vertices: &[] };
            if let Some(parents) = parents.as_ref().filter(|_| cost.is_finite()) {
                output_all(parents, &mut all_paths, ends, ticker, output)?;
                continue;
            }
            search.path(goal, &mut path);
            ticker.tick(path.len())?;
            output(Path { vertices: &path, ..ends })?;
        }
    }
    Ok(())
}

/// Passes every path between `ends` to `output`.
fn output_all(
    parents: &Csr,
    all_paths: &mut AllPaths,
    ends: Path<'_>,
    ticker: &mut Ticker<'_>,
    output: &mut Output<'_>,
) -> Result<(), Stopped> {
    let mut path = Vec::new();
    all_paths.enter(ends.goal);
    while let Some(is_path) = all_paths.step(parents) {
        ticker.tick(1)?;
        if is_path {
            path.clear();
            path.extend(all_paths.path());
            ticker.tick(path.len())?;
            output(Path { vertices: &path, ..ends })?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, diamonds, edges, go, graph, long_path, stop_after};

    pub(crate) type Found = (u32, u32, f64, Vec<u32>);

    /// Collects emitted paths.
    pub(crate) fn keep(found: &mut Vec<Found>) -> impl FnMut(Path<'_>) -> Result<(), Stopped> {
        |path| {
            found.push((path.start, path.goal, path.cost, path.vertices.to_vec()));
            Ok(())
        }
    }

    /// The least cost of `path`; infinite if it is not a path of the graph.
    pub(crate) fn cost_along(edges: &Edges, path: &[u32]) -> f64 {
        let step = |ends: &[u32]| {
            let between = edges.list.iter().filter(|e| e.0 == ends[0] && e.1 == ends[1]);
            between.map(|e| e.2).fold(f64::INFINITY, f64::min)
        };
        path.windows(2).map(step).sum()
    }

    /// Every path without repeated vertices, with its cost.
    pub(crate) fn simple_paths(edges: &Edges, start: u32, goal: u32) -> Vec<(f64, Vec<u32>)> {
        let mut ways = vec![vec![start]];
        let mut found = Vec::new();
        while let Some(way) = ways.pop() {
            let last = way[way.len() - 1];
            if last == goal {
                found.push((cost_along(edges, &way), way));
                continue;
            }
            for next in 0..edges.vertices {
                if !way.contains(&next) && edges.list.iter().any(|e| (e.0, e.1) == (last, next)) {
                    ways.push([&way[..], &[next]].concat());
                }
            }
        }
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        found
    }

    fn all_paths(graph: &Csr, starts: &[u32], goals: Option<&[u32]>, ties: Ties) -> Vec<Found> {
        let mut found = Vec::new();
        dijkstra(graph, starts, goals, ties, &go, &mut keep(&mut found)).unwrap();
        found
    }

    #[test]
    fn what_cannot_be_reached_costs_infinitely_much() {
        let found =
            all_paths(&graph(4, "0-1:1 1-0:2 2-3:1"), &[0, 7], Some(&[0, 1, 2, 7]), Ties::One);
        assert_eq!(
            found,
            [(0, 0, 0.0, vec![0]), (0, 1, 1.0, vec![0, 1]), (0, 2, f64::INFINITY, vec![])]
        );
        assert_eq!(all_paths(&Csr::default(), &[0], None, Ties::All), []);
    }

    #[test]
    fn a_cycle_of_weight_zero_does_not_hold_up_the_ties() {
        let found =
            all_paths(&graph(4, "0-1:0 1-0:0 1-2:0 2-1:0 2-3 0-3"), &[0], Some(&[3]), Ties::All);
        assert_eq!(found, [(0, 3, 1.0, vec![0, 3]), (0, 3, 1.0, vec![0, 1, 2, 3])]);
    }

    #[test]
    fn a_negative_weight_is_refused() {
        let graph = graph(2, "0-1:-1");
        let result = dijkstra(&graph, &[0], None, Ties::One, &go, &mut |_| Ok(()));
        assert_eq!(result, Err(Error::NegativeWeight { source: 0, target: 1, weight: -1.0 }));
    }

    #[test]
    fn ties_without_end_can_be_stopped() {
        // A chain of sixty diamonds has 2^60 shortest paths.
        let graph = diamonds(60);
        let limits = stop_after(5);
        let result = dijkstra(&graph, &[0], Some(&[180]), Ties::All, &limits, &mut |_| Ok(()));
        assert_eq!(result, Err(Error::Stopped));
    }

    #[test]
    fn a_long_path_is_walked() {
        let path = long_path(100_000);
        for ties in [Ties::One, Ties::All] {
            let found = all_paths(&path, &[0], Some(&[99_999]), ties);
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].2, found[0].3.len()), (99_999.0, 100_000));
        }
    }

    proptest! {
        #[test]
        fn one_path_is_as_cheap_as_the_matrix_says(edges in edges(), goals in prop::option::of(prop::collection::vec(0..14_u32, 0..4))) {
            let all: Vec<u32> = (0..edges.vertices).collect();
            let distances = edges.distances();
            let found = all_paths(&edges.graph(), &all, goals.as_deref(), Ties::One);
            let wanted = goals.as_ref().unwrap_or(&all).iter().filter(|&&v| v < edges.vertices);
            prop_assert_eq!(found.len(), all.len() * wanted.count());
            for (start, goal, cost, path) in found {
                prop_assert_eq!(cost, distances[start as usize][goal as usize]);
                if path.is_empty() {
                    prop_assert!(cost.is_infinite());
                } else {
                    prop_assert_eq!((path[0], path[path.len() - 1]), (start, goal));
                    prop_assert_eq!(cost_along(&edges, &path), cost);
                }
            }
        }

        #[test]
        fn all_ties_are_all_cheapest_simple_paths(edges in edges(), goals in prop::collection::vec(0..12_u32, 1..4)) {
            let starts = [0, edges.vertices - 1];
            let found = all_paths(&edges.graph(), &starts, Some(&goals), Ties::All);
            for start in starts {
                for &goal in goals.iter().filter(|&&v| v < edges.vertices) {
                    let mut got: Vec<_> = found
                        .iter()
                        .filter(|f| (f.0, f.1) == (start, goal))
                        .map(|f| (f.2, f.3.clone()))
                        .collect();
                    let mut want = simple_paths(&edges, start, goal);
                    want.retain(|p| p.0 == edges.distances()[start as usize][goal as usize]);
                    if want.is_empty() {
                        want.push((f64::INFINITY, vec![]));
                    }
                    got.sort_by(|a, b| a.partial_cmp(b).unwrap());
                    // Starts and goals may contain duplicates.
                    got.dedup();
                    prop_assert_eq!(got, want);
                }
            }
        }
    }
}
