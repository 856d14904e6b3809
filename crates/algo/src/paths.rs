//! Shortest paths by number of edges, with breadth-first search.
//!
//! Moore, "The shortest path through a maze" (1959). Neighbors are visited in ascending order, and
//! a vertex keeps its first parent. The paths are the same as those of CozoDB's `ShortestPathBFS`.

use crate::csr::{Csr, NO_VERTEX};
use crate::dijkstra_search::Goals;
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};
use crate::parents::write_path;

/// The number of edges to an unreachable vertex.
pub const UNREACHED: u32 = u32::MAX;

/// Receives the results: start, goal, and the vertices of the path including both; `None` if there
/// is no path. An error ends the search.
pub type Output<'a> = dyn FnMut(u32, u32, Option<&[u32]>) -> Result<(), Stopped> + 'a;

/// Calls `output` for each pair of a start and a goal, in order, with a shortest path if there is
/// one.
///
/// As in CozoDB there is no path from a vertex to itself, not even along a cycle. Vertices that are
/// not in the graph have no paths.
///
/// # Errors
/// [`Stopped`].
pub fn shortest_paths(
    graph: &Csr,
    starts: &[u32],
    goals: &[u32],
    limits: &dyn Limits,
    output: &mut Output<'_>,
) -> Result<(), Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut search = Search::new(graph, goals);
    let mut path = Vec::new();
    for &start in starts {
        search.run(graph, start, ticker)?;
        for &goal in goals {
            let found = start != goal && search.path(goal, &mut path);
            ticker.tick(path.len() + 1)?;
            output(start, goal, found.then_some(&path))?;
        }
    }
    Ok(())
}

/// The number of edges from `start` to each vertex; [`UNREACHED`] if there is no path.
///
/// # Errors
/// [`Stopped`].
pub fn hops(graph: &Csr, start: u32, limits: &dyn Limits) -> Result<Vec<u32>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut hops = vec![UNREACHED; graph.vertices() as usize];
    let Some(first) = hops.get_mut(start as usize) else { return Ok(hops) };
    *first = 0;
    let mut level = vec![start];
    let mut next = Vec::new();
    let mut depth = 0;
    while !level.is_empty() {
        depth += 1;
        for &v in &level {
            for &to in graph.neighbors(v) {
                ticker.tick(1)?;
                if hops[to as usize] == UNREACHED {
                    hops[to as usize] = depth;
                    next.push(to);
                }
            }
        }
        std::mem::swap(&mut level, &mut next);
        next.clear();
    }
    Ok(hops)
}

/// Buffers reused by consecutive searches.
///
/// # Invariant
/// Between searches, `parent` is [`NO_VERTEX`] except for the vertices in `reached`. So the cost of
/// a search that ends early does not depend on the size of the graph.
struct Search {
    parent: Vec<u32>,
    reached: Vec<u32>,
    goals: Goals,
}

impl Search {
    fn new(graph: &Csr, goals: &[u32]) -> Self {
        let parent = vec![NO_VERTEX; graph.vertices() as usize];
        Self { parent, reached: Vec::new(), goals: Goals::new(graph, goals) }
    }

    fn run(&mut self, graph: &Csr, start: u32, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        for v in self.reached.drain(..) {
            self.parent[v as usize] = NO_VERTEX;
        }
        let Some(parent) = self.parent.get_mut(start as usize) else { return Ok(()) };
        *parent = start;
        let mut missing = self.goals.count() - usize::from(self.goals.contains(start));
        self.reached.push(start);
        let mut taken = 0;
        while missing > 0 && taken < self.reached.len() {
            let v = self.reached[taken];
            taken += 1;
            for &to in graph.neighbors(v) {
                ticker.tick(1)?;
                if self.parent[to as usize] != NO_VERTEX {
                    continue;
                }
                self.parent[to as usize] = v;
                self.reached.push(to);
                if self.goals.contains(to) {
                    missing -= 1;
                    if missing == 0 {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the path from the start to `goal` to `path`. Returns false and leaves it empty if
    /// there is none.
    fn path(&self, goal: u32, path: &mut Vec<u32>) -> bool {
        path.clear();
        if self.parent.get(goal as usize).is_none_or(|&parent| parent == NO_VERTEX) {
            return false;
        }
        write_path(goal, |v| self.parent[v as usize], path);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    type Found = (u32, u32, Option<Vec<u32>>);

    fn all_paths(graph: &Csr, starts: &[u32], goals: &[u32]) -> Vec<Found> {
        let mut found = Vec::new();
        shortest_paths(graph, starts, goals, &go, &mut |start, goal, path| {
            found.push((start, goal, path.map(<[u32]>::to_vec)));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn the_parent_that_comes_first_is_kept() {
        let diamond = graph(4, "0-2 0-1 1-3 2-3");
        assert_eq!(all_paths(&diamond, &[0], &[3]), [(0, 3, Some(vec![0, 1, 3]))]);
    }

    #[test]
    fn there_is_no_path_to_oneself_and_none_to_what_is_not_there() {
        let path = graph(3, "0-1 1-2");
        assert_eq!(
            all_paths(&path, &[1, 9], &[1, 0, 9]),
            [(1, 1, None), (1, 0, None), (1, 9, None), (9, 1, None), (9, 0, None), (9, 9, None)]
        );
        assert_eq!(all_paths(&Csr::default(), &[0], &[0]), [(0, 0, None)]);
        assert_eq!(all_paths(&path, &[], &[0]), []);
        assert_eq!(all_paths(&path, &[0], &[]), []);
    }

    #[test]
    fn a_search_can_be_stopped_by_the_watch_and_by_the_taker() {
        let path = long_path(300_000);
        let last = path.vertices() - 1;
        let ignore = &mut |_: u32, _: u32, _: Option<&[u32]>| Ok(());
        assert_eq!(shortest_paths(&path, &[0], &[last], &stop_after(2), ignore), Err(Stopped));
        assert_eq!(hops(&path, 0, &stop_after(2)), Err(Stopped));
        let refuse = &mut |_: u32, _: u32, _: Option<&[u32]>| Err(Stopped);
        assert_eq!(shortest_paths(&path, &[0], &[1], &go, refuse), Err(Stopped));
    }

    proptest! {
        #[test]
        fn paths_are_as_short_as_the_matrix_says(edges in edges()) {
            let graph = edges.unweighted();
            let distances = edges.hops().distances();
            let all: Vec<u32> = (0..edges.vertices).collect();
            for (start, goal, path) in all_paths(&graph, &all, &all) {
                let want = match distances[start as usize][goal as usize] {
                    0.0 => f64::INFINITY,
                    hops => hops,
                };
                let Some(path) = path else {
                    prop_assert!(want.is_infinite());
                    continue;
                };
                prop_assert_eq!((path.len() - 1) as f64, want);
                prop_assert_eq!((path[0], path[path.len() - 1]), (start, goal));
                prop_assert!(path.windows(2).all(|e| graph.neighbors(e[0]).contains(&e[1])));
            }
            for start in 0..edges.vertices {
                for (goal, hops) in hops(&graph, start, &go).unwrap().into_iter().enumerate() {
                    let want = distances[start as usize][goal];
                    prop_assert_eq!(hops == UNREACHED, want.is_infinite());
                    prop_assert!(hops == UNREACHED || f64::from(hops) == want);
                }
            }
        }
    }
}
