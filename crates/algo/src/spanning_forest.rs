//! Minimum spanning forest: the cheapest edges that keep every component connected.
//!
//! CozoDB names its rule after Kruskal's algorithm, which takes edges in order of weight. If a
//! total order breaks ties, the forest is unique, so Borůvka's algorithm (1926) finds the same: in
//! each round every component takes the lightest edge that leaves it. It needs no sort, can be
//! cancelled at every step, and reads rows in order.

use crate::components::Sets;
use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};

/// An edge of the tree or forest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeEdge {
    /// Source of the edge.
    pub source: u32,
    /// Target of the edge.
    pub target: u32,
    /// Its weight.
    pub weight: f64,
}

/// The edges of the minimum spanning forest, ignoring directions.
///
/// Takes the directed graph, and returns edges in their original direction. Among edges of equal
/// weight, the one with the smaller source, then the smaller target, is preferred. Weights may be
/// negative.
///
/// # Errors
/// [`Stopped`].
pub fn minimum_spanning_forest(graph: &Csr, limits: &dyn Limits) -> Result<Vec<TreeEdge>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let n = graph.vertices();
    let mut sets = Sets::new(n);
    let mut component: Vec<u32> = (0..n).collect();
    let mut best = vec![None; n as usize];
    let mut forest = Vec::new();
    loop {
        for v in 0..n {
            let home = component[v as usize];
            for (target, weight) in graph.weighted(v) {
                ticker.tick(1)?;
                let other = component[target as usize];
                if home != other {
                    let edge = TreeEdge { source: v, target, weight };
                    offer(&mut best[home as usize], edge);
                    offer(&mut best[other as usize], edge);
                }
            }
        }
        let before = forest.len();
        for edge in best.iter_mut().filter_map(Option::take) {
            ticker.tick(1)?;
            // Two components may have chosen the same edge. A longer cycle is impossible: each of
            // its edges would precede the previous one in the total order.
            if sets.unite(edge.source, edge.target) {
                forest.push(edge);
            }
        }
        if forest.len() == before {
            return Ok(forest);
        }
        for v in 0..n {
            ticker.tick(1)?;
            component[v as usize] = sets.root(v);
        }
    }
}

/// Keeps the lighter edge. Edges are offered in the order that breaks ties, so the first of equal
/// ones is kept.
#[inline]
fn offer(best: &mut Option<TreeEdge>, edge: TreeEdge) {
    if best.is_none_or(|known| edge.weight < known.weight) {
        *best = Some(edge);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    fn forest(graph: &Csr) -> Vec<(u32, u32, f64)> {
        let edges = minimum_spanning_forest(graph, &go).unwrap();
        let mut edges: Vec<_> = edges.into_iter().map(|e| (e.source, e.target, e.weight)).collect();
        edges.sort_by(|a, b| a.partial_cmp(b).unwrap());
        edges
    }

    #[test]
    fn an_edge_comes_out_as_it_went_in() {
        let found = forest(&graph(3, "0-1:1 0-1:3 1-0:0.5 2-2:-9"));
        assert_eq!(found, [(1, 0, 0.5)]);
    }

    #[test]
    fn each_component_has_its_tree() {
        let found = forest(&graph(7, "0-1:1 1-2:2 0-2:2 5-6:-1"));
        assert_eq!(found, [(0, 1, 1.0), (0, 2, 2.0), (5, 6, -1.0)]);
        assert_eq!(forest(&Csr::default()), []);
        assert_eq!(forest(&graph(1, "0-0")), []);
    }

    #[test]
    fn the_rounds_can_be_stopped() {
        assert_eq!(minimum_spanning_forest(&long_path(300_000), &stop_after(3)), Err(Stopped));
    }

    proptest! {
        #[test]
        fn the_forest_is_the_one_that_kruskal_finds(mut edges in edges()) {
            edges.list.iter_mut().for_each(|edge| edge.2 -= 2.0);
            let mut sorted = edges.list.clone();
            sorted.sort_by(|a, b| (a.2, a.0, a.1).partial_cmp(&(b.2, b.0, b.1)).unwrap());
            let mut label: Vec<u32> = (0..edges.vertices).collect();
            let mut want = Vec::new();
            for edge in sorted {
                let (a, b) = (label[edge.0 as usize], label[edge.1 as usize]);
                if a != b {
                    label.iter_mut().filter(|label| **label == a).for_each(|label| *label = b);
                    want.push(edge);
                }
            }
            want.sort_by(|a, b| a.partial_cmp(b).unwrap());
            prop_assert_eq!(forest(&edges.graph()), want);
        }
    }
}
