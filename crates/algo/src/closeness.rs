//! Closeness centrality: how near a vertex is to those that it reaches.
//!
//! The formula is that of Wasserman and Faust (1994) for disconnected graphs, as in CozoDB.
//! [`crate::distance_centrality`] has the meaning of NetworkX.

use crate::csr::Csr;
use crate::distance_counts::{Sum, distance_counts};
use crate::error::Error;
use crate::limits::Limits;
use crate::workers::OneThread;

/// The closeness of each vertex: `c² / (s · (n − 1))`. Here `c` is the number of vertices that it
/// reaches, including itself, `s` the sum of the costs, and `n` the number of vertices.
///
/// If a vertex reaches no other, or only at cost zero, its closeness is infinite. Costs are along
/// outgoing edges.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn closeness(graph: &Csr, limits: &dyn Limits) -> Result<Vec<f64>, Error> {
    let others = f64::from(graph.vertices()) - 1.0;
    let value = |sum: Sum| {
        let reached = sum.reached as f64;
        reached * reached / sum.distances / others
    };
    let sums = distance_counts(graph, &Sum::default(), &OneThread, limits)?;
    Ok(sums.into_iter().map(value).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[test]
    fn closeness_is_what_cozodb_gives() {
        let found = closeness(&graph(3, "0-1 1-2 0-2"), &go).unwrap();
        assert_eq!(found, [2.25, 2.0, f64::INFINITY]);
        let weighted = closeness(&graph(3, "0-1:0.5 1-2:0.25 0-2:2 2-0:1"), &go).unwrap();
        assert_eq!(weighted, [3.6, 3.0, 1.8]);
    }

    #[test]
    fn a_vertex_alone_is_infinitely_close() {
        assert_eq!(closeness(&graph(1, "0-0"), &go).unwrap(), [f64::INFINITY]);
        assert_eq!(closeness(&Csr::default(), &go).unwrap(), []);
    }

    #[test]
    fn a_negative_weight_is_refused_and_the_searches_can_be_stopped() {
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        assert_eq!(closeness(&graph(2, "0-1:-1"), &go), Err(negative));
        assert_eq!(closeness(&long_path(10_000), &stop_after(9)), Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn closeness_is_the_formula_over_the_matrix(edges in edges()) {
            let found = closeness(&edges.graph(), &go).unwrap();
            for (row, got) in edges.distances().into_iter().zip(found) {
                let reached: Vec<f64> = row.into_iter().filter(|cost| cost.is_finite()).collect();
                let count = reached.len() as f64;
                let sum: f64 = reached.iter().sum();
                let want = count * count / (sum * f64::from(edges.vertices - 1));
                prop_assert!(got == want || (got - want).abs() < 1e-9 * want, "{} {}", got, want);
            }
        }
    }
}
