//! Communities by label propagation: each vertex takes the label with the greatest total weight
//! among its neighbors.
//!
//! Raghavan, Albert, Kumara, "Near linear time algorithm to detect community structures in
//! large-scale networks" (2007). There, and in CozoDB, vertices are visited in random order and
//! ties are broken randomly. Here vertices are visited in ascending order. In a tie a vertex keeps
//! its label if possible, and otherwise takes the greatest label. So results are deterministic, and
//! the rounds end where random choices might continue. The greatest label is better than the
//! smallest: in the first round it belongs to a vertex that was not visited yet, while the smallest
//! has already spread and would flood the graph over every bridge.
//!
//! A vertex none of whose successors changed since its last visit would keep its label. So after
//! the first round only the others are visited, where the reverse edges are at hand.

use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::{Limits, STRIDE, Ticker};

/// The label of each vertex, which is the number of some vertex in its community.
///
/// Labels move against the edges: a vertex reads the labels of its successors. For an undirected
/// graph pass its [`Csr::symmetric`]. Ends when no label changes, or after `max_iter` rounds.
/// Weights may be negative. `reverse` has the reversed edges, of a symmetric graph the graph
/// itself; the result is the same without it, at more time.
///
/// # Errors
/// [`Stopped`].
pub fn label_propagation(
    graph: &Csr,
    reverse: Option<&Csr>,
    max_iter: u32,
    limits: &dyn Limits,
) -> Result<Vec<u32>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut labels: Vec<u32> = (0..graph.vertices()).collect();
    let mut score: Vec<Option<f64>> = vec![None; labels.len()];
    let mut met = Vec::new();
    let mut is_awake = vec![true; labels.len()];
    for _ in 0..max_iter {
        let mut changed = false;
        for v in 0..graph.vertices() {
            if reverse.is_some() && !std::mem::replace(&mut is_awake[v as usize], false) {
                continue;
            }
            for (to, weight) in graph.weighted(v) {
                ticker.tick(1)?;
                let label = labels[to as usize];
                let score = &mut score[label as usize];
                if score.is_none() {
                    met.push(label);
                }
                *score = Some(score.unwrap_or(0.0) + weight);
            }
            ticker.tick(1)?;
            let own = labels[v as usize];
            let mut best: Option<(u32, f64)> = None;
            for label in met.drain(..) {
                let Some(score) = score[label as usize].take() else { continue };
                let better = best.is_none_or(|(known, most)| {
                    score > most || score == most && known != own && (label == own || label > known)
                });
                if better {
                    best = Some((label, score));
                }
            }
            if let Some((label, _)) = best.filter(|&(label, _)| label != own) {
                labels[v as usize] = label;
                changed = true;
                let readers = reverse.map_or(&[][..], |reverse| reverse.neighbors(v));
                for part in readers.chunks(STRIDE) {
                    ticker.tick(part.len())?;
                    part.iter().for_each(|&reader| is_awake[reader as usize] = true);
                }
            }
        }
        if !changed {
            break;
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[track_caller]
    fn check(graph: &Csr, want: &[u32]) {
        assert_eq!(label_propagation(graph, None, 10, &go).unwrap(), want);
    }

    #[test]
    fn two_triangles_with_a_bridge_are_two_communities() {
        let bridge = graph(6, "0-1 1-2 0-2 3-4 4-5 3-5 2-3").symmetric(&go).unwrap();
        let labels = label_propagation(&bridge, None, 10, &go).unwrap();
        assert!(labels[..3].iter().all(|&label| label == labels[0]), "{labels:?}");
        assert!(labels[3..].iter().all(|&label| label == labels[3]), "{labels:?}");
        assert_ne!(labels[0], labels[3]);
    }

    #[test]
    fn a_vertex_that_points_nowhere_keeps_its_label() {
        check(&graph(3, "0-1"), &[1, 1, 2]);
        check(&graph(1, "0-0"), &[0]);
        check(&Csr::default(), &[]);
    }

    #[test]
    fn the_heaviest_label_wins_and_of_equals_the_greatest() {
        check(&graph(4, "0-1:1 0-2:1 0-3:3"), &[3, 1, 2, 3]);
        check(&graph(4, "0-3 0-2"), &[3, 1, 2, 3]);
        check(&graph(4, "0-3 0-2 0-0"), &[0, 1, 2, 3]);
    }

    #[test]
    fn the_rounds_can_be_stopped() {
        assert_eq!(label_propagation(&long_path(300_000), None, 10, &stop_after(3)), Err(Stopped));
    }

    proptest! {
        #[test]
        fn sleeping_vertices_would_keep_their_labels(edges in edges(), max_iter in 0..5_u32) {
            let graph = edges.graph();
            let reverse = graph.reverse(&go).unwrap();
            let all = label_propagation(&graph, None, max_iter, &go).unwrap();
            let awake = label_propagation(&graph, Some(&reverse), max_iter, &go).unwrap();
            prop_assert_eq!(awake, all);
        }

        #[test]
        fn at_rest_each_label_is_among_the_heaviest_around(edges in edges()) {
            let both = edges.graph().symmetric(&go).unwrap();
            // Enough rounds to converge: each change increases the total weight of agreeing edges.
            let labels = label_propagation(&both, Some(&both), 10_000, &go).unwrap();
            for v in 0..edges.vertices {
                let weight_of_label = |label: u32| {
                    both.weighted(v).filter(|e| labels[e.0 as usize] == label).map(|e| e.1).sum::<f64>()
                };
                let own = weight_of_label(labels[v as usize]);
                prop_assert!((0..edges.vertices).all(|label| weight_of_label(label) <= own));
            }
        }
    }
}
