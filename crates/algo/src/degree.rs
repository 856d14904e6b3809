//! Degree centrality: the number of edges at a vertex. As in CozoDB, counts are not normalized.

use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};

/// Numbers of edges at a vertex. A self-loop is in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degree {
    /// Number of outgoing edges.
    pub out_edges: u64,
    /// Number of incoming edges.
    pub in_edges: u64,
}

impl Degree {
    /// Sum of outgoing and incoming edges.
    pub fn total(self) -> u64 {
        self.out_edges + self.in_edges
    }
}

/// The degrees of each vertex.
///
/// # Errors
/// [`Stopped`].
pub fn degrees(graph: &Csr, limits: &dyn Limits) -> Result<Vec<Degree>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let degree = |(v, in_edges)| Degree { out_edges: graph.degree(v) as u64, in_edges };
    Ok((0..).zip(graph.in_degrees(ticker)?).map(degree).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph};

    #[test]
    fn a_self_loop_leaves_and_enters() {
        let found = degrees(&graph(3, "0-0 0-1 0-1"), &go).unwrap();
        assert_eq!(found[0], Degree { out_edges: 3, in_edges: 1 });
        assert_eq!(found[0].total(), 4);
        assert_eq!(found[1], Degree { out_edges: 0, in_edges: 2 });
        assert_eq!(found[2], Degree::default());
    }

    proptest! {
        #[test]
        fn each_edge_counts_at_both_ends(edges in edges()) {
            for (v, degree) in degrees(&edges.graph(), &go).unwrap().into_iter().enumerate() {
                let out_edges = edges.list.iter().filter(|e| e.0 as usize == v).count() as u64;
                let in_edges = edges.list.iter().filter(|e| e.1 as usize == v).count() as u64;
                prop_assert_eq!(degree, Degree { out_edges, in_edges });
            }
        }
    }
}
