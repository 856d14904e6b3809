//! Minimum spanning tree of the component of a vertex.
//!
//! Prim, "Shortest connection networks and some generalizations" (1957): the tree repeatedly takes
//! the lightest edge that leaves it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};
use crate::spanning_forest::TreeEdge;

/// The edges of the minimum spanning tree in the order in which it grows from `start`. Each edge
/// points away from the start.
///
/// `both` must be the [`Csr::symmetric`] of a graph. Without a given start, CozoDB uses the first
/// vertex with an outgoing edge, which is the first in [`Csr::scan_order`] of the directed graph.
/// Weights may be negative. Among edges of equal weight, the one with the smaller end inside the
/// tree, then the smaller end outside, is preferred.
///
/// # Errors
/// [`Stopped`].
pub fn minimum_spanning_tree(
    both: &Csr,
    start: u32,
    limits: &dyn Limits,
) -> Result<Vec<TreeEdge>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut inside = vec![false; both.vertices() as usize];
    // The lightest edge to each vertex so far. Heavier edges are not pushed to the heap, which
    // keeps it small.
    let mut lightest = vec![i64::MAX; inside.len()];
    let mut tree = Vec::new();
    let mut leaving = BinaryHeap::new();
    let mut joined = (start < both.vertices()).then_some(start);
    while let Some(v) = joined {
        inside[v as usize] = true;
        for (to, weight) in both.weighted(v) {
            ticker.tick(1)?;
            let bits = order_bits(weight);
            let known = &mut lightest[to as usize];
            if !inside[to as usize] && bits <= *known {
                *known = bits;
                leaving.push(Reverse((bits, v, to)));
            }
        }
        joined = None;
        while let Some(Reverse((weight, source, target))) = leaving.pop() {
            ticker.tick(1)?;
            if !inside[target as usize] {
                tree.push(TreeEdge { source, target, weight: from_order_bits(weight) });
                joined = Some(target);
                break;
            }
        }
    }
    Ok(tree)
}

/// Maps weights to integers with the same order. Both zeros map to the same integer.
fn order_bits(weight: f64) -> i64 {
    let bits = (weight + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

fn from_order_bits(bits: i64) -> f64 {
    f64::from_bits((bits ^ ((bits >> 63) as u64 >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spanning_forest::minimum_spanning_forest;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    fn tree(graph: &Csr, start: u32) -> Vec<(u32, u32, f64)> {
        let both = graph.symmetric(&go).unwrap();
        let edges = minimum_spanning_tree(&both, start, &go).unwrap();
        edges.into_iter().map(|e| (e.source, e.target, e.weight)).collect()
    }

    #[test]
    fn the_tree_grows_from_its_start() {
        let graph = graph(7, "0-1:1 1-2:2 0-2:2.5 5-6:-1");
        assert_eq!(tree(&graph, 0), [(0, 1, 1.0), (1, 2, 2.0)]);
        assert_eq!(tree(&graph, 2), [(2, 1, 2.0), (1, 0, 1.0)]);
        assert_eq!(tree(&graph, 6), [(6, 5, -1.0)]);
        assert_eq!(tree(&graph, 3), []);
        assert_eq!(tree(&graph, 7), []);
        assert_eq!(tree(&Csr::default(), 0), []);
    }

    #[test]
    fn growing_can_be_stopped() {
        let path = long_path(300_000);
        assert_eq!(minimum_spanning_tree(&path, 0, &stop_after(3)), Err(Stopped));
    }

    proptest! {
        #[test]
        fn weights_keep_their_order_as_integers(a in prop::num::f64::NORMAL, b in prop::num::f64::NORMAL) {
            prop_assert_eq!(order_bits(a).cmp(&order_bits(b)), a.total_cmp(&b));
            prop_assert_eq!(from_order_bits(order_bits(a)), a);
        }

        #[test]
        fn the_tree_weighs_as_much_as_its_part_of_the_forest(mut edges in edges()) {
            edges.list.iter_mut().for_each(|edge| edge.2 -= 2.0);
            let graph = edges.graph();
            let reached = edges.hops().both_ways().distances();
            let near = |v: u32| reached[0][v as usize].is_finite();
            let got = tree(&graph, 0);
            let forest = minimum_spanning_forest(&graph, &go).unwrap();
            let want: f64 = forest.iter().filter(|e| near(e.source)).map(|e| e.weight).sum();
            prop_assert_eq!(got.iter().map(|e| e.2).sum::<f64>(), want);
            // Each edge is in the graph and reaches a vertex that was not in the tree.
            let mut inside = vec![0];
            for (source, target, weight) in got {
                prop_assert!(inside.contains(&source) && !inside.contains(&target));
                let ends = [(source, target, weight), (target, source, weight)];
                prop_assert!(edges.list.iter().any(|edge| ends.contains(edge)));
                inside.push(target);
            }
            prop_assert_eq!(inside.len(), (0..edges.vertices).filter(|&v| near(v)).count());
        }
    }
}
