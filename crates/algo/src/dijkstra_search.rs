//! Dijkstra's search, which settles the nearest vertex first. Shortest paths and centralities use
//! it.
//!
//! Dijkstra, "A note on two problems in connexion with graphs" (1959). Instead of decreasing keys,
//! the heap may contain stale entries, which are skipped when they are popped. This takes fewer
//! writes, and the heap stays a plain array. In an unweighted graph a queue gives the same result
//! in linear time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, Stopped};
use crate::limits::{STRIDE, Ticker};
use crate::parents::write_path;

/// A vertex reached at a cost. Greater means nearer; among equal costs, the smaller vertex is
/// greater.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    pub(crate) cost: f64,
    pub(crate) vertex: u32,
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then(other.vertex.cmp(&self.vertex))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Reached {}

/// Buffers reused by consecutive searches.
///
/// # Invariants
/// 1. Between searches, `cost` is infinite and `parent` is [`NO_VERTEX`] except for the vertices in
///    `touched`. So the cost of a search that ends early does not depend on the size of the graph.
/// 2. Costs never decrease along `settled`, which contains no vertex twice.
/// 3. The parent of a settled vertex comes before it in `settled`. The start is its own parent.
pub(crate) struct Search {
    cost: Vec<f64>,
    parent: Vec<u32>,
    touched: Vec<u32>,
    settled: Vec<u32>,
    heap: BinaryHeap<Reached>,
}

impl Search {
    pub(crate) fn new(graph: &Csr) -> Self {
        let n = graph.vertices() as usize;
        Self {
            cost: vec![f64::INFINITY; n],
            parent: vec![NO_VERTEX; n],
            touched: Vec::new(),
            settled: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Searches from `start` over edges for which `allowed` returns true. Ends when `enough`
    /// returns true for a vertex and its cost; that vertex is settled, but its edges are not
    /// followed.
    ///
    /// Weights must not be negative; see [`refuse_negative`].
    pub(crate) fn run(
        &mut self,
        graph: &Csr,
        start: u32,
        allowed: impl Fn(u32, u32) -> bool,
        mut enough: impl FnMut(u32, f64) -> bool,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        self.clear();
        if start >= graph.vertices() {
            return Ok(());
        }
        self.reach(start, start, 0.0);
        if graph.weights().is_none() {
            return self.run_by_hops(graph, allowed, enough, ticker);
        }
        self.heap.push(Reached { cost: 0.0, vertex: start });
        while let Some(Reached { cost, vertex: v }) = self.heap.pop() {
            ticker.tick(1)?;
            if cost > self.cost[v as usize] {
                continue;
            }
            self.settled.push(v);
            if enough(v, cost) {
                break;
            }
            for (to, weight) in graph.weighted(v) {
                ticker.tick(1)?;
                let there = cost + weight;
                if there < self.cost[to as usize] && allowed(v, to) {
                    self.reach(to, v, there);
                    self.heap.push(Reached { cost: there, vertex: to });
                }
            }
        }
        Ok(())
    }

    /// The search in an unweighted graph: vertices are settled in the order in which they are
    /// reached.
    fn run_by_hops(
        &mut self,
        graph: &Csr,
        allowed: impl Fn(u32, u32) -> bool,
        mut enough: impl FnMut(u32, f64) -> bool,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        while let Some(&v) = self.touched.get(self.settled.len()) {
            let cost = self.cost[v as usize];
            self.settled.push(v);
            if enough(v, cost) {
                break;
            }
            for &to in graph.neighbors(v) {
                ticker.tick(1)?;
                if self.parent[to as usize] == NO_VERTEX && allowed(v, to) {
                    self.reach(to, v, cost + 1.0);
                }
            }
            ticker.tick(1)?;
        }
        Ok(())
    }

    fn reach(&mut self, v: u32, from: u32, cost: f64) {
        if self.parent[v as usize] == NO_VERTEX {
            self.touched.push(v);
        }
        self.cost[v as usize] = cost;
        self.parent[v as usize] = from;
    }

    fn clear(&mut self) {
        self.heap.clear();
        self.settled.clear();
        for v in self.touched.drain(..) {
            self.cost[v as usize] = f64::INFINITY;
            self.parent[v as usize] = NO_VERTEX;
        }
    }

    /// The cost of `v` as far as the last search explored; infinite if it did not reach `v`.
    pub(crate) fn cost(&self, v: u32) -> f64 {
        self.cost.get(v as usize).copied().unwrap_or(f64::INFINITY)
    }

    /// The vertex before `v` on the path that the last search found; `None` for the start and for
    /// vertices that it did not reach.
    pub(crate) fn parent(&self, v: u32) -> Option<u32> {
        let parent = self.parent.get(v as usize).copied();
        parent.filter(|&parent| parent != NO_VERTEX && parent != v)
    }

    /// The vertices settled by the last search, nearest first.
    pub(crate) fn settled(&self) -> &[u32] {
        &self.settled
    }

    /// The vertices reached by the last search, settled or not.
    pub(crate) fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// Writes the path from the start to `goal`, including both, to `path`. Empty if there is none.
    pub(crate) fn path(&self, goal: u32, path: &mut Vec<u32>) {
        path.clear();
        if self.parent.get(goal as usize).is_some_and(|&parent| parent != NO_VERTEX) {
            write_path(goal, |v| self.parent[v as usize], path);
        }
    }
}

/// Fails if a weight is negative. The error names the first such edge. All weights are read once
/// for a graph without one.
pub(crate) fn refuse_negative(graph: &Csr, ticker: &mut Ticker<'_>) -> Result<(), Error> {
    let weights = graph.weights().unwrap_or_default();
    if graph.sign().is_non_negative() {
        return Ok(());
    }
    for (number, part) in weights.chunks(STRIDE).enumerate() {
        ticker.tick(part.len())?;
        if let Some(at) = part.iter().position(|&weight| weight < 0.0) {
            let edge = number * STRIDE + at;
            let source = graph.offsets().partition_point(|&from| from <= edge as u64) - 1;
            let (target, weight) = (graph.targets()[edge], weights[edge]);
            return Err(Error::NegativeWeight { source: source as u32, target, weight });
        }
    }
    graph.sign().note_non_negative();
    Ok(())
}

/// The goals of a search.
pub(crate) struct Goals {
    is_goal: Vec<bool>,
    count: usize,
}

impl Goals {
    /// Duplicate goals, and goals that are not in the graph, are ignored.
    pub(crate) fn new(graph: &Csr, goals: &[u32]) -> Self {
        let mut is_goal = vec![false; graph.vertices() as usize];
        let mut count = 0;
        for &goal in goals {
            if let Some(mark) = is_goal.get_mut(goal as usize) {
                count += usize::from(!std::mem::replace(mark, true));
            }
        }
        Self { is_goal, count }
    }

    /// Number of distinct goals in the graph.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn contains(&self, v: u32) -> bool {
        self.is_goal.get(v as usize).is_some_and(|&goal| goal)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[test]
    fn weights_are_read_once_for_a_graph_without_a_negative_one() {
        let steps = |graph: &Csr| {
            let counted = stop_after(5);
            refuse_negative(graph, &mut Ticker::new(&counted).unwrap()).is_ok()
        };
        let path = long_path(1_000_000);
        let weights = vec![1.0; path.targets().len()];
        let sources: Vec<u32> = (0..weights.len() as u32).collect();
        let make = |weights: &[f64]| {
            Csr::from_edges(1_000_000, &sources, path.targets(), Some(weights), &go).unwrap()
        };
        let graph = make(&weights);
        assert!(!steps(&graph), "the weights were not read");
        refuse_negative(&graph, &mut Ticker::new(&go).unwrap()).unwrap();
        assert!(steps(&graph), "the weights were read again");
        let negative = make(&[&weights[1..], &[-1.0]].concat());
        for _ in 0..2 {
            let refused = refuse_negative(&negative, &mut Ticker::new(&go).unwrap());
            assert!(matches!(refused, Err(Error::NegativeWeight { .. })));
        }
    }

    #[test]
    fn the_refused_edge_is_named() {
        let ticker = &mut Ticker::new(&go).unwrap();
        let graph = graph(5, "0-1 1-2 3-4:-2.5 3-4:-3");
        let refused = refuse_negative(&graph, ticker).unwrap_err();
        assert_eq!(refused, Error::NegativeWeight { source: 3, target: 4, weight: -2.5 });
        assert!(refused.to_string().contains("from 3 to 4 has weight -2.5"), "{refused}");
    }

    proptest! {
        #[test]
        fn one_search_after_the_other_finds_what_the_matrix_says(edges in edges()) {
            let ticker = &mut Ticker::new(&go).unwrap();
            for (graph, distances) in [
                (edges.graph(), edges.distances()),
                (edges.unweighted(), edges.hops().distances()),
            ] {
                let mut search = Search::new(&graph);
                let mut path = Vec::new();
                for start in 0..edges.vertices {
                    search.run(&graph, start, |_, _| true, |_, _| false, ticker).unwrap();
                    let costs: Vec<_> = (0..edges.vertices).map(|v| search.cost(v)).collect();
                    prop_assert_eq!(&costs, &distances[start as usize]);
                    let settled: Vec<_> = search.settled().iter().map(|&v| search.cost(v)).collect();
                    prop_assert!(settled.is_sorted());
                    prop_assert_eq!(settled.len(), costs.iter().filter(|c| c.is_finite()).count());
                    for goal in 0..edges.vertices {
                        search.path(goal, &mut path);
                        prop_assert_eq!(path.is_empty(), search.cost(goal).is_infinite());
                        prop_assert!(path.is_empty() || path[0] == start);
                    }
                }
            }
        }
    }
}
