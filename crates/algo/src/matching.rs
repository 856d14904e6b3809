//! Matchings of any undirected graph: edges without common ends.
//!
//! [`crate::bipartite`] has maximum matchings of bipartite graphs.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};

/// The vertex that each vertex is matched with, or [`NO_VERTEX`]. No edge can be added to the
/// matching.
///
/// Edges are taken in ascending order where both ends are free. This is NetworkX's
/// `maximal_matching` if its vertices and neighbors were added in ascending order. A self-loop is
/// never taken.
///
/// # Errors
/// [`Stopped`].
pub fn maximal_matching(both: &Csr, limits: &dyn Limits) -> Result<Vec<u32>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut mates = vec![NO_VERTEX; both.vertices() as usize];
    for v in 0..both.vertices() {
        ticker.tick(1)?;
        if mates[v as usize] != NO_VERTEX {
            continue;
        }
        for &to in both.neighbors(v) {
            ticker.tick(1)?;
            if to != v && mates[to as usize] == NO_VERTEX {
                mates[to as usize] = v;
                mates[v as usize] = to;
                break;
            }
        }
    }
    Ok(mates)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{go, graph, long_path, stop_after, undirected};

    /// Pairs of NetworkX 3.6.1.
    #[test]
    fn the_first_edges_are_taken() {
        let both = graph(9, "0-1 0-2 1-2 1-3 2-3 3-4 4-5 5-0 5-6 6-7 7-4 7-1 8-8");
        let both = both.symmetric(&go).unwrap();
        let found = maximal_matching(&both, &go).unwrap();
        assert_eq!(found, [1, 0, 3, 2, 5, 4, 7, 6, NO_VERTEX]);
        let path = long_path(300_000).symmetric(&go).unwrap();
        assert_eq!(maximal_matching(&path, &stop_after(2)), Err(Stopped));
    }

    proptest! {
        #[test]
        fn no_edge_has_two_free_ends(edges in undirected()) {
            let both = edges.unweighted();
            let mates = maximal_matching(&both, &go).unwrap();
            let is_free = |v: u32| mates[v as usize] == NO_VERTEX;
            for &(a, b, _) in edges.list.iter().filter(|e| e.0 != e.1) {
                prop_assert!(!(is_free(a) && is_free(b)));
            }
            for (v, &mate) in (0..).zip(&mates).filter(|pair| *pair.1 != NO_VERTEX) {
                prop_assert!(both.neighbors(v).contains(&mate) && mates[mate as usize] == v);
            }
        }
    }
}
