//! Distances from starts, each with the vertex before it on a shortest path.
//!
//! Paths are not spelled: the parents form a tree of shortest paths, from which the caller reads
//! those that it needs. So a result has one row per reached vertex, however long the paths are.

use crate::csr::Csr;
use crate::dijkstra_search::{Search, refuse_negative};
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};

/// A vertex that was reached from a start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The start.
    pub start: u32,
    /// The vertex.
    pub vertex: u32,
    /// Least sum of weights from the start; the number of edges in an unweighted graph.
    pub distance: f64,
    /// The vertex before it on a path of this distance; `None` for the start.
    pub parent: Option<u32>,
}

/// Passes the vertices within `distance_max` of each of `starts` to `output`, nearest first.
///
/// Starts that are not in the graph are ignored. Which of several parents is returned is arbitrary
/// but deterministic. Weighted graphs are searched with Dijkstra's algorithm, unweighted ones
/// breadth first.
///
/// Memory: twelve bytes per vertex, and sixteen per entry of the heap, at most one per edge.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn distances(
    graph: &Csr,
    starts: &[u32],
    distance_max: f64,
    limits: &dyn Limits,
    output: &mut dyn FnMut(Distance) -> Result<(), Stopped>,
) -> Result<(), Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let mut search = Search::new(graph);
    for &start in starts {
        search.run(graph, start, |_, _| true, |_, distance| distance > distance_max, ticker)?;
        for &vertex in search.settled() {
            ticker.tick(1)?;
            let distance = search.cost(vertex);
            // The vertex that ended the search is too far.
            if distance <= distance_max {
                let parent = search.parent(vertex);
                output(Distance { start, vertex, distance, parent })?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Edges, edges, go, graph, long_path, stop_after};
    use proptest::prelude::*;

    fn found(graph: &Csr, starts: &[u32], distance_max: f64) -> Vec<Distance> {
        let mut found = Vec::new();
        distances(graph, starts, distance_max, &go, &mut |row| {
            found.push(row);
            Ok(())
        })
        .unwrap();
        found
    }

    /// Checks the rows of all starts against the distances of all pairs.
    fn check(edges: &Edges, graph: &Csr, distance_max: f64) -> Result<(), TestCaseError> {
        let all: Vec<u32> = (0..edges.vertices).collect();
        let want = edges.distances();
        let rows = found(graph, &all, distance_max);
        let is_within = |cost: f64| cost.is_finite() && cost <= distance_max;
        let within = |row: &Vec<f64>| row.iter().filter(|&&cost| is_within(cost)).count();
        prop_assert_eq!(rows.len(), want.iter().map(within).sum::<usize>());
        for row in &rows {
            let from = &want[row.start as usize];
            prop_assert_eq!(row.distance, from[row.vertex as usize]);
            let Some(parent) = row.parent else {
                prop_assert_eq!(row.vertex, row.start);
                continue;
            };
            prop_assert!(row.vertex != row.start);
            let last = |edge: &&(u32, u32, f64)| (edge.0, edge.1) == (parent, row.vertex);
            let last = edges.list.iter().filter(last).map(|edge| edge.2);
            let last = last.fold(f64::INFINITY, f64::min);
            prop_assert_eq!(from[parent as usize] + last, row.distance);
        }
        let is_sorted =
            rows.windows(2).all(|w| w[0].start != w[1].start || w[0].distance <= w[1].distance);
        prop_assert!(is_sorted);
        Ok(())
    }

    #[test]
    fn a_start_outside_of_the_graph_reaches_nothing() {
        assert_eq!(found(&graph(3, "0-1"), &[7], f64::INFINITY), []);
    }

    #[test]
    fn a_long_path_is_one_row_per_vertex() {
        let rows = found(&long_path(100_000), &[0], f64::INFINITY);
        assert_eq!(rows.len(), 100_000);
        assert_eq!(rows.last().unwrap().parent, Some(99_998));
    }

    #[test]
    fn limits_stop_a_search() {
        let stopped =
            distances(&long_path(1 << 18), &[0], f64::INFINITY, &stop_after(2), &mut |_| Ok(()));
        assert_eq!(stopped, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn distances_and_parents_agree_with_all_pairs(edges in edges(), distance_max in prop::sample::select(vec![0.0, 1.0, 2.5, f64::INFINITY])) {
            check(&edges, &edges.graph(), distance_max)?;
            let hops = edges.hops();
            check(&hops, &hops.unweighted(), distance_max)?;
        }
    }
}
