//! Clustering coefficients: the share of a vertex's neighbors that are neighbors of each other.
//!
//! Watts and Strogatz (1998). `triangles.rs` counts, and has the meanings of NetworkX and LDBC.

use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};
use crate::triangles::{TriangleMeaning, count_triangles};
use crate::workers::OneThread;

/// Clustering of one vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clustering {
    /// Number of triangles divided by the possible number; 0 with fewer than two neighbors.
    pub coefficient: f64,
    /// Number of pairs of neighbors that are neighbors of each other.
    pub triangles: u64,
    /// Number of neighbors.
    pub degree: u64,
}

/// The clustering of each vertex of `both`, which must be the [`Csr::symmetric`] of a graph.
///
/// Neighbors are distinct other vertices: parallel edges, edges in both directions and self-loops
/// have no effect. (CozoDB counts each edge, so a triangle with edges in both directions has
/// coefficients below 1.)
///
/// # Errors
/// [`Stopped`].
pub fn clustering_coefficients(
    both: &Csr,
    limits: &dyn Limits,
) -> Result<Vec<Clustering>, Stopped> {
    let simple = both.simple(&mut Ticker::new(limits)?)?;
    let triangles =
        count_triangles(&simple, None, TriangleMeaning::Undirected, &OneThread, limits)?;
    let row = |(v, triangles): (u32, u64)| {
        let degree = simple.degree(v) as u64;
        let pairs = degree as f64 * degree.saturating_sub(1) as f64 / 2.0;
        let coefficient = if degree < 2 { 0.0 } else { triangles as f64 / pairs };
        Clustering { coefficient, triangles, degree }
    };
    Ok((0..).zip(triangles).map(row).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    fn clustering(graph: &Csr) -> Vec<Clustering> {
        clustering_coefficients(&graph.symmetric(&go).unwrap(), &go).unwrap()
    }

    #[test]
    fn an_edge_counts_once_however_often_it_is_there() {
        let whole = Clustering { coefficient: 1.0, triangles: 1, degree: 2 };
        assert_eq!(clustering(&graph(3, "0-1 1-2 0-2")), [whole; 3]);
        assert_eq!(clustering(&graph(3, "0-1 1-0 0-1 1-2 0-2 0-0")), [whole; 3]);
    }

    #[test]
    fn few_neighbours_make_no_triangle() {
        let one = Clustering { degree: 1, ..Clustering::default() };
        assert_eq!(
            clustering(&graph(4, "0-1 2-2")),
            [one, one, Default::default(), Default::default()]
        );
        assert_eq!(clustering(&Csr::default()), []);
    }

    #[test]
    fn counting_can_be_stopped() {
        let both = long_path(300_000).symmetric(&go).unwrap();
        assert_eq!(clustering_coefficients(&both, &stop_after(12)), Err(Stopped));
    }

    proptest! {
        #[test]
        fn triangles_are_all_triples_that_are_closed(edges in edges()) {
            let n = edges.vertices as usize;
            let mut joined = vec![vec![false; n]; n];
            for &(a, b, _) in edges.list.iter().filter(|e| e.0 != e.1) {
                joined[a as usize][b as usize] = true;
                joined[b as usize][a as usize] = true;
            }
            for (v, got) in clustering(&edges.graph()).into_iter().enumerate() {
                let degree = joined[v].iter().filter(|&&is| is).count() as u64;
                let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
                let closed = pairs.filter(|&(a, b)| joined[v][a] && joined[v][b] && joined[a][b]);
                let triangles = closed.count() as u64;
                prop_assert_eq!((got.triangles, got.degree), (triangles, degree));
                let want = match degree {
                    0 | 1 => 0.0,
                    _ => 2.0 * triangles as f64 / (degree * (degree - 1)) as f64,
                };
                prop_assert!((got.coefficient - want).abs() < 1e-12);
            }
        }
    }
}
