//! Topological order: every edge points from an earlier vertex to a later one.
//!
//! Kahn, "Topological sorting of large networks" (1962). Among the vertices that may come next, the
//! one that became available last is taken, as in CozoDB.

use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};

/// The vertices in topological order.
///
/// Vertices on a cycle, or reachable from one, are left out. So the order is complete only if its
/// length is the number of vertices.
///
/// # Errors
/// [`Stopped`].
pub fn topological_order(graph: &Csr, limits: &dyn Limits) -> Result<Vec<u32>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let met = graph.scan_order(limits)?;
    let graph = graph.renumbered(&met, ticker)?;
    let mut before = graph.in_degrees(ticker)?;
    let mut free: Vec<u32> = (0..graph.vertices()).filter(|&v| before[v as usize] == 0).collect();
    let mut order = Vec::with_capacity(met.len());
    while let Some(v) = free.pop() {
        order.push(met[v as usize]);
        ticker.tick(1)?;
        for &to in graph.neighbors(v) {
            ticker.tick(1)?;
            before[to as usize] -= 1;
            if before[to as usize] == 0 {
                free.push(to);
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[track_caller]
    fn check(vertices: u32, edges: &str, want: &[u32]) {
        assert_eq!(topological_order(&graph(vertices, edges), &go).unwrap(), want);
    }

    #[test]
    fn what_became_free_last_comes_first() {
        check(4, "0-1 0-2 1-3 2-3", &[0, 2, 1, 3]);
        check(4, "1-0 2-3", &[2, 3, 1, 0]);
    }

    #[test]
    fn a_cycle_and_what_follows_it_have_no_place() {
        check(4, "0-1 1-2 2-1 2-3", &[0]);
        check(2, "0-0 0-1", &[]);
        check(0, "", &[]);
    }

    #[test]
    fn sorting_can_be_stopped() {
        assert_eq!(topological_order(&long_path(300_000), &stop_after(12)), Err(Stopped));
    }

    proptest! {
        #[test]
        fn no_edge_points_back(mut edges in edges()) {
            // Without edges to smaller vertices there is no cycle.
            edges.list.retain(|e| e.0 < e.1);
            let order = topological_order(&edges.graph(), &go).unwrap();
            prop_assert_eq!(order.len(), edges.vertices as usize);
            let place = |v| order.iter().position(|&u| u == v);
            prop_assert!(edges.list.iter().all(|e| place(e.0) < place(e.1)));
        }

        #[test]
        fn a_vertex_has_a_place_unless_a_cycle_reaches_it(edges in edges()) {
            let order = topological_order(&edges.graph(), &go).unwrap();
            let distances = edges.distances();
            let reaches = |a: u32, b: u32| distances[a as usize][b as usize].is_finite();
            let on_cycle = |v: u32| edges.list.iter().any(|e| e.0 == v && reaches(e.1, v));
            for v in 0..edges.vertices {
                let behind = (0..edges.vertices).any(|u| on_cycle(u) && reaches(u, v));
                prop_assert_eq!(order.contains(&v), !behind);
            }
        }
    }
}
