//! Degree centrality: how many edges touch a vertex. After CozoDB's rule of that name: counts, not
//! fractions of the vertices.

use crate::watch::{STRIDE, Ticker};
use crate::{Csr, Stopped, Watch};

/// Edges at a vertex. A self loop is in both counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degree {
    /// Edges that leave it.
    pub out_edges: u64,
    /// Edges that enter it.
    pub in_edges: u64,
}

impl Degree {
    /// Edges that leave it and edges that enter it.
    pub fn total(self) -> u64 {
        self.out_edges + self.in_edges
    }
}

/// The degree of each vertex.
///
/// # Errors
/// [`Stopped`].
pub fn degrees(graph: &Csr, watch: &dyn Watch) -> Result<Vec<Degree>, Stopped> {
    let ticker = &mut Ticker::new(watch)?;
    let mut degrees: Vec<_> = (0..graph.vertices())
        .map(|v| Degree { out_edges: graph.degree(v) as u64, in_edges: 0 })
        .collect();
    for part in graph.targets().chunks(STRIDE) {
        part.iter().for_each(|&to| degrees[to as usize].in_edges += 1);
        ticker.tick(part.len())?;
    }
    Ok(degrees)
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
