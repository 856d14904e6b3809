//! A*: shortest paths with an estimate of the remaining cost.
//!
//! Hart, Nilsson, Raphael, "A formal basis for the heuristic determination of minimum cost paths"
//! (1968). A vertex is reopened when a cheaper path to it is found. So the estimate must be
//! admissible (never too high) but need not be consistent.

use std::collections::BinaryHeap;

use crate::csr::{Csr, NO_VERTEX};
use crate::dijkstra::{Output, Path};
use crate::dijkstra_search::{Reached, refuse_negative};
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};
use crate::parents::write_path;

/// Estimates the cost of the shortest path from a vertex to a goal. An error ends the search.
pub type Estimate<'a> = dyn FnMut(u32, u32) -> Result<f64, Stopped> + 'a;

/// Passes a shortest path from each of `starts` to each of `goals` to `output`.
///
/// `estimate` is called once for each vertex that a search reaches, except the start. If it exceeds
/// the true cost, the path may not be the shortest. A goal that is unreachable or not in the graph
/// results in a path without vertices at infinite cost. The path from a vertex to itself has cost
/// zero.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::EstimateNotANumber`], [`Error::Stopped`].
pub fn a_star(
    graph: &Csr,
    starts: &[u32],
    goals: &[u32],
    estimate: &mut Estimate<'_>,
    limits: &dyn Limits,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let n = graph.vertices() as usize;
    let mut search = Search { seen: vec![UNSEEN; n], touched: Vec::new(), open: BinaryHeap::new() };
    let mut path = Vec::new();
    for &start in starts {
        for &goal in goals {
            ticker.tick(1)?;
            let cost = search.run(graph, start, goal, estimate, ticker)?;
            search.path(goal, cost, &mut path);
            ticker.tick(path.len())?;
            output(Path { start, goal, cost, vertices: &path })?;
        }
    }
    Ok(())
}

/// State of a vertex in the search.
#[derive(Clone, Copy)]
struct Seen {
    /// Cost of the cheapest path so far.
    cost: f64,
    /// Estimated remaining cost.
    rest: f64,
    parent: u32,
}

const UNSEEN: Seen = Seen { cost: f64::INFINITY, rest: 0.0, parent: NO_VERTEX };

/// Buffers reused by consecutive searches; see [`crate::dijkstra_search`].
struct Search {
    seen: Vec<Seen>,
    touched: Vec<u32>,
    open: BinaryHeap<Reached>,
}

impl Search {
    /// Runs a search and returns the cost of the path.
    fn run(
        &mut self,
        graph: &Csr,
        start: u32,
        goal: u32,
        estimate: &mut Estimate<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<f64, Error> {
        self.open.clear();
        for v in self.touched.drain(..) {
            self.seen[v as usize] = UNSEEN;
        }
        if start.max(goal) >= graph.vertices() {
            return Ok(f64::INFINITY);
        }
        self.touched.push(start);
        self.seen[start as usize] = Seen { cost: 0.0, rest: 0.0, parent: start };
        self.open.push(Reached { cost: 0.0, vertex: start });
        while let Some(Reached { cost: through, vertex: v }) = self.open.pop() {
            ticker.tick(1)?;
            let Seen { cost, rest, .. } = self.seen[v as usize];
            if v == goal {
                return Ok(cost);
            }
            if through > cost + rest {
                continue;
            }
            for (to, weight) in graph.weighted(v) {
                ticker.tick(1)?;
                let there = cost + weight;
                let Seen { cost: known, mut rest, parent } = self.seen[to as usize];
                if there >= known {
                    continue;
                }
                if parent == NO_VERTEX {
                    rest = estimate(to, goal)?;
                    if rest.is_nan() {
                        return Err(Error::EstimateNotANumber { vertex: to });
                    }
                    self.touched.push(to);
                }
                self.seen[to as usize] = Seen { cost: there, rest, parent: v };
                self.open.push(Reached { cost: there + rest, vertex: to });
            }
        }
        Ok(f64::INFINITY)
    }

    fn path(&self, goal: u32, cost: f64, path: &mut Vec<u32>) {
        path.clear();
        if cost.is_finite() {
            write_path(goal, |v| self.seen[v as usize].parent, path);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dijkstra::tests::{Found, cost_along, keep};
    use crate::testing::{edges, go, graph, long_path, stop_after};

    fn paths(
        graph: &Csr,
        starts: &[u32],
        goals: &[u32],
        estimate: impl Fn(u32, u32) -> f64,
    ) -> Result<Vec<Found>, Error> {
        let mut found = Vec::new();
        a_star(
            graph,
            starts,
            goals,
            &mut |v, goal| Ok(estimate(v, goal)),
            &go,
            &mut keep(&mut found),
        )?;
        Ok(found)
    }

    #[test]
    fn the_cost_is_that_of_the_way_and_holds_no_estimate() {
        let found = paths(&graph(3, "0-1:2 1-2:3"), &[0], &[2], |_, _| 1.0).unwrap();
        assert_eq!(found, [(0, 2, 5.0, vec![0, 1, 2])]);
    }

    #[test]
    fn an_estimate_leads_past_what_is_far_away() {
        // A line of 1000 vertices; the estimate is the distance. No vertex behind the start is
        // visited.
        let line: String = (0..999).map(|v| format!("{v}-{} {}-{v} ", v + 1, v + 1)).collect();
        let asked = std::cell::RefCell::new(Vec::new());
        let found = paths(&graph(1000, &line), &[500], &[510], |v, goal| {
            asked.borrow_mut().push(v);
            f64::from(v.abs_diff(goal))
        });
        assert_eq!(found.unwrap()[0].2, 10.0);
        assert!(asked.into_inner().into_iter().all(|v| (499..=510).contains(&v)));
    }

    #[test]
    fn what_is_not_there_costs_infinitely_much() {
        let found = paths(&graph(3, "0-1"), &[0, 7], &[0, 2, 7], |_, _| 0.0).unwrap();
        let none = |start, goal| (start, goal, f64::INFINITY, vec![]);
        let want =
            [(0, 0, 0.0, vec![0]), none(0, 2), none(0, 7), none(7, 0), none(7, 2), none(7, 7)];
        assert_eq!(found, want);
    }

    #[test]
    fn what_breaks_the_search_is_refused() {
        let nan = paths(&graph(2, "0-1"), &[0], &[1], |_, _| f64::NAN);
        assert_eq!(nan, Err(Error::EstimateNotANumber { vertex: 1 }));
        let negative = paths(&graph(2, "0-1:-1"), &[0], &[1], |_, _| 0.0);
        assert_eq!(negative, Err(Error::NegativeWeight { source: 0, target: 1, weight: -1.0 }));
        let path = long_path(300_000);
        let result =
            a_star(&path, &[0], &[299_999], &mut |_, _| Ok(0.0), &stop_after(3), &mut |_| Ok(()));
        assert_eq!(result, Err(Error::Stopped));
        let refuse = &mut |_: u32, _: u32| Err(Stopped);
        let result = a_star(&path, &[0], &[1], refuse, &go, &mut |_| Ok(()));
        assert_eq!(result, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn any_estimate_that_is_not_too_high_finds_the_shortest(
            edges in edges(),
            part in prop::collection::vec(0.0..=1.0, 12),
        ) {
            let distances = edges.distances();
            let all: Vec<u32> = (0..edges.vertices).collect();
            let found = paths(&edges.graph(), &all, &all, |v, goal| {
                // An admissible estimate: the true distance times a factor that differs by vertex.
                // If the goal is unreachable, it is infinite.
                let truth = distances[v as usize][goal as usize];
                if truth.is_infinite() { truth } else { truth * part[v as usize] }
            });
            for (start, goal, cost, path) in found.unwrap() {
                prop_assert_eq!(cost, distances[start as usize][goal as usize]);
                if cost.is_finite() {
                    prop_assert_eq!((path[0], path[path.len() - 1]), (start, goal));
                    prop_assert_eq!(cost_along(&edges, &path), cost);
                }
            }
        }
    }
}
