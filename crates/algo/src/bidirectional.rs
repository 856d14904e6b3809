//! A shortest path of one pair, searched from both ends.
//!
//! Memory and time depend on what the two searches visit, not on the size of the graph: visited
//! vertices are in hash tables, and nothing depends on the order of their entries.

use std::collections::BinaryHeap;

use hashbrown::HashMap;

use crate::csr::{Csr, NO_VERTEX};
use crate::dijkstra_search::Reached;
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker};
use crate::parents::write_path;

/// A path with the fewest edges from `source` to `goal`, including both. `None` if there is none.
///
/// `reverse` is the [`Csr::reverse`] of `graph`. The side with the smaller frontier advances, as in
/// NetworkX, which returns the same path if its nodes have their neighbors in this order.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::Stopped`].
pub fn fewest_hops(
    graph: &Csr,
    reverse: &Csr,
    source: u32,
    goal: u32,
    limits: &dyn Limits,
) -> Result<Option<Vec<u32>>, Error> {
    refuse_unknown(&[source, goal], graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    let mut sides = [Hops::new(graph, source), Hops::new(reverse, goal)];
    if source == goal {
        return Ok(Some(vec![source]));
    }
    let [there, back] = &mut sides;
    while !there.frontier.is_empty() && !back.frontier.is_empty() {
        let met = if there.frontier.len() <= back.frontier.len() {
            there.advance(&back.parents, ticker)?
        } else {
            back.advance(&there.parents, ticker)?
        };
        if let Some(middle) = met {
            return Ok(Some(joined(middle, &there.parents, &back.parents)));
        }
    }
    Ok(None)
}

/// The search from one end of [`fewest_hops`].
struct Hops<'a> {
    graph: &'a Csr,
    frontier: Vec<u32>,
    parents: HashMap<u32, u32>,
}

impl<'a> Hops<'a> {
    fn new(graph: &'a Csr, start: u32) -> Self {
        Self { graph, frontier: vec![start], parents: HashMap::from([(start, NO_VERTEX)]) }
    }

    /// Searches one level. Returns the first vertex that the other side has visited too.
    fn advance(
        &mut self,
        other: &HashMap<u32, u32>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<u32>, Stopped> {
        for v in std::mem::take(&mut self.frontier) {
            ticker.tick(1)?;
            for &to in self.graph.neighbors(v) {
                ticker.tick(1)?;
                if let hashbrown::hash_map::Entry::Vacant(slot) = self.parents.entry(to) {
                    slot.insert(v);
                    self.frontier.push(to);
                    if other.contains_key(&to) {
                        return Ok(Some(to));
                    }
                }
            }
        }
        Ok(None)
    }
}

/// The path through `middle`, where two searches met.
fn joined(middle: u32, there: &HashMap<u32, u32>, back: &HashMap<u32, u32>) -> Vec<u32> {
    let (mut path, mut rest) = (Vec::new(), Vec::new());
    write_path(middle, |v| there[&v], &mut path);
    write_path(middle, |v| back[&v], &mut rest);
    path.extend(rest.iter().rev().skip(1));
    path
}

/// A path of least weight from `source` to `goal`, including both, with its weight. `None` if there
/// is none. Which of several is returned is arbitrary but deterministic.
///
/// `reverse` is the [`Csr::reverse`] of `graph`. Dijkstra's search from both ends ends when no path
/// through unsettled vertices can be better than the best that was found.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`] for an edge on the way, [`Error::Stopped`].
pub fn least_weight(
    graph: &Csr,
    reverse: &Csr,
    source: u32,
    goal: u32,
    limits: &dyn Limits,
) -> Result<Option<(f64, Vec<u32>)>, Error> {
    refuse_unknown(&[source, goal], graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    let [mut there, mut back] = [Costs::new(graph, source), Costs::new(reverse, goal)];
    let mut best = (f64::INFINITY, NO_VERTEX);
    if source == goal {
        return Ok(Some((0.0, vec![source])));
    }
    while let (Some(near), Some(far)) = (there.nearest(), back.nearest()) {
        if near + far >= best.0 {
            break;
        }
        let (side, other) = if near <= far { (&mut there, &back) } else { (&mut back, &there) };
        side.settle(other, &mut best, ticker).map_err(|error| match error {
            // Seen from the goal, an edge has its ends exchanged.
            Error::NegativeWeight { source, target, weight } if near > far => {
                Error::NegativeWeight { source: target, target: source, weight }
            }
            error => error,
        })?;
    }
    let (weight, middle) = best;
    Ok((middle != NO_VERTEX).then(|| (weight, joined(middle, &there.parents, &back.parents))))
}

/// The search from one end of [`least_weight`].
struct Costs<'a> {
    graph: &'a Csr,
    costs: HashMap<u32, f64>,
    parents: HashMap<u32, u32>,
    heap: BinaryHeap<Reached>,
}

impl<'a> Costs<'a> {
    fn new(graph: &'a Csr, start: u32) -> Self {
        Self {
            graph,
            costs: HashMap::from([(start, 0.0)]),
            parents: HashMap::from([(start, NO_VERTEX)]),
            heap: BinaryHeap::from([Reached { cost: 0.0, vertex: start }]),
        }
    }

    /// The cost of the next vertex to settle.
    fn nearest(&mut self) -> Option<f64> {
        while let Some(reached) = self.heap.peek() {
            if self.costs.get(&reached.vertex).is_none_or(|&cost| reached.cost <= cost) {
                return Some(reached.cost);
            }
            self.heap.pop();
        }
        None
    }

    /// Settles the next vertex and follows its edges. Updates `best`, the least weight of a path
    /// and a vertex where both searches meet on it.
    fn settle(
        &mut self,
        other: &Costs<'_>,
        best: &mut (f64, u32),
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Error> {
        let Some(Reached { cost, vertex: v }) = self.heap.pop() else { return Ok(()) };
        for (to, weight) in self.graph.weighted(v) {
            ticker.tick(1)?;
            if weight < 0.0 {
                return Err(Error::NegativeWeight { source: v, target: to, weight });
            }
            let there = cost + weight;
            if there >= self.costs.get(&to).copied().unwrap_or(f64::INFINITY) {
                continue;
            }
            self.costs.insert(to, there);
            self.parents.insert(to, v);
            self.heap.push(Reached { cost: there, vertex: to });
            let rest = other.costs.get(&to).copied().unwrap_or(f64::INFINITY);
            if there + rest < best.0 {
                *best = (there + rest, to);
            }
        }
        ticker.tick(1)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[test]
    fn a_vertex_outside_of_the_graph_is_refused() {
        let graph = graph(2, "0-1");
        let unknown = Error::UnknownVertex { vertex: 5, vertices: 2 };
        assert_eq!(fewest_hops(&graph, &graph, 0, 5, &go), Err(unknown));
        assert_eq!(least_weight(&graph, &graph, 5, 0, &go), Err(unknown));
    }

    #[test]
    fn a_negative_weight_is_named_as_in_the_graph() {
        let graph = graph(4, "0-1:9 1-2:9 2-3:-1");
        let reverse = graph.reverse(&go).unwrap();
        let negative = Error::NegativeWeight { source: 2, target: 3, weight: -1.0 };
        assert_eq!(least_weight(&graph, &reverse, 0, 3, &go), Err(negative));
    }

    #[test]
    fn a_search_can_be_stopped() {
        let path = long_path(300_000);
        let reverse = path.reverse(&go).unwrap();
        assert_eq!(fewest_hops(&path, &reverse, 0, 299_999, &stop_after(2)), Err(Error::Stopped));
        assert_eq!(least_weight(&path, &reverse, 0, 299_999, &stop_after(2)), Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn a_path_is_as_short_as_the_matrix_says(edges in edges()) {
            let graph = edges.graph();
            let reverse = graph.reverse(&go).unwrap();
            let (weights, hops) = (edges.distances(), edges.hops().distances());
            let step = |pair: &[u32]| {
                let row = graph.weighted(pair[0]).filter(|edge| edge.0 == pair[1]);
                row.map(|edge| edge.1).fold(f64::INFINITY, f64::min)
            };
            for a in 0..edges.vertices {
                for b in 0..edges.vertices {
                    let (weight, hops) = (weights[a as usize][b as usize], hops[a as usize][b as usize]);
                    let path = fewest_hops(&graph, &reverse, a, b, &go).unwrap();
                    prop_assert_eq!(path.is_some(), hops.is_finite());
                    if let Some(path) = path {
                        prop_assert_eq!((path[0], path[path.len() - 1]), (a, b));
                        prop_assert_eq!(path.len() as f64, hops + 1.0);
                        prop_assert!(path.windows(2).map(step).all(f64::is_finite));
                    }
                    let path = least_weight(&graph, &reverse, a, b, &go).unwrap();
                    prop_assert_eq!(path.is_some(), weight.is_finite());
                    if let Some((found, path)) = path {
                        prop_assert_eq!(found, weight);
                        prop_assert_eq!((path[0], path[path.len() - 1]), (a, b));
                        prop_assert_eq!(path.windows(2).map(step).sum::<f64>(), weight);
                    }
                }
            }
        }
    }
}
