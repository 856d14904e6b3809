//! Betweenness centrality: the number of shortest paths through a vertex, as in CozoDB.
//!
//! One search from each vertex; `path_counts.rs` accumulates over the paths that it found.

use crate::csr::Csr;
use crate::dijkstra_search::{Search, refuse_negative};
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};
use crate::path_counts::{Count, Paths, ShortestPaths};

/// For each vertex, the sum over all ordered pairs of other vertices of the fraction of their
/// shortest paths that go through it. Not normalized.
///
/// Parallel edges of equal weight form separate paths. In the [`Csr::symmetric`] of an undirected
/// graph each pair counts in both directions, as in CozoDB.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn betweenness(graph: &Csr, limits: &dyn Limits) -> Result<Vec<f64>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let mut search = Search::new(graph);
    let mut sums = Sums::new(graph.vertices());
    let mut found = vec![0.0; graph.vertices() as usize];
    for start in 0..graph.vertices() {
        search.run(graph, start, |_, _| true, |_, _| false, ticker)?;
        sums.add(graph, &search, &mut found, ticker)?;
    }
    Ok(found)
}

/// Sums over the shortest paths from one start. Between starts every place is `u32::MAX`.
struct Sums {
    /// Position in which each vertex was settled.
    place: Vec<u32>,
    /// Number of shortest paths from the start.
    paths: Vec<Paths>,
    /// Dependency of the start on each vertex.
    through: Vec<f64>,
}

impl Sums {
    fn new(vertices: u32) -> Self {
        let n = vertices as usize;
        Self { place: vec![u32::MAX; n], paths: vec![Paths::NONE; n], through: vec![0.0; n] }
    }

    fn add(
        &mut self,
        graph: &Csr,
        search: &Search,
        found: &mut [f64],
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let order = search.settled();
        for (place, &v) in (0..).zip(order) {
            self.place[v as usize] = place;
        }
        let leads = |v: u32, to: u32, weight: f64| {
            self.place[v as usize] < self.place[to as usize]
                && search.cost(v) + weight == search.cost(to)
        };
        let shortest = ShortestPaths { graph, order, leads };
        shortest.count(&mut self.paths, ticker)?;
        shortest.depend(&self.paths, &mut self.through, |_, _| {}, ticker)?;
        for &v in order {
            self.place[v as usize] = u32::MAX;
        }
        for &v in order.iter().skip(1) {
            found[v as usize] += self.through[v as usize];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, diamonds, edges, go, graph, long_path, stop_after};

    #[test]
    fn ties_share_what_leads_through_them() {
        let found = betweenness(&graph(4, "0-1 0-1:1.5 1-2 0-3 3-2"), &go).unwrap();
        assert_eq!(found, [0.0, 0.5, 0.0, 0.5]);
        let found = betweenness(&graph(4, "0-1 0-1 1-2 0-3 3-2"), &go).unwrap();
        assert_eq!(found, [0.0, 2.0 / 3.0, 0.0, 1.0 / 3.0]);
    }

    #[test]
    fn in_the_middle_of_a_star_every_pair_meets() {
        let both = graph(5, "0-1 0-2 0-3 0-4").symmetric(&go).unwrap();
        assert_eq!(betweenness(&both, &go).unwrap(), [12.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(betweenness(&Csr::default(), &go).unwrap(), []);
        assert_eq!(betweenness(&graph(1, "0-0"), &go).unwrap(), [0.0]);
    }

    #[test]
    fn more_paths_than_a_float_can_tell_are_still_shared() {
        // 2^1100 paths from end to end.
        let graph = diamonds(1100);
        let mut search = Search::new(&graph);
        let ticker = &mut Ticker::new(&go).unwrap();
        search.run(&graph, 0, |_, _| true, |_, _| false, ticker).unwrap();
        let n = graph.vertices() as usize;
        let mut found = vec![0.0; n];
        let mut sums = Sums::new(graph.vertices());
        sums.add(&graph, &search, &mut found, ticker).unwrap();
        // Of the first diamond: it is on half of the paths to every later vertex.
        assert_eq!(found[1], (n - 3) as f64 / 2.0);
        assert!(found.iter().all(|value| value.is_finite()));
    }

    #[test]
    fn a_negative_weight_is_refused_and_the_searches_can_be_stopped() {
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        assert_eq!(betweenness(&graph(2, "0-1:-1"), &go), Err(negative));
        assert_eq!(betweenness(&long_path(10_000), &stop_after(9)), Err(Error::Stopped));
    }

    /// Number of shortest paths from `from` to `to`, by recursion over the last edge.
    fn count(edges: &Edges, distances: &[Vec<f64>], from: usize, to: usize) -> f64 {
        if from == to {
            return 1.0;
        }
        let last = edges.list.iter().filter(|&&(v, end, weight)| {
            end as usize == to
                && distances[from][to].is_finite()
                && distances[from][v as usize] + weight == distances[from][to]
        });
        last.map(|e| count(edges, distances, from, e.0 as usize)).sum()
    }

    proptest! {
        #[test]
        fn betweenness_is_the_part_of_paths_through_a_vertex(mut edges in edges()) {
            edges.list.truncate(18);
            edges.list.iter_mut().for_each(|edge| edge.2 += 1.0);
            for (graph, edges) in [(edges.graph(), edges.clone()), (edges.unweighted(), edges.hops())] {
                let distances = edges.distances();
                let n = distances.len();
                let counts: Vec<Vec<f64>> =
                    (0..n).map(|a| (0..n).map(|b| count(&edges, &distances, a, b)).collect()).collect();
                for (v, got) in betweenness(&graph, &go).unwrap().into_iter().enumerate() {
                    let mut want = 0.0;
                    for a in (0..n).filter(|&a| a != v) {
                        for b in (0..n).filter(|&b| b != v && b != a) {
                            if distances[a][v] + distances[v][b] == distances[a][b] && counts[a][b] > 0.0 {
                                want += counts[a][v] * counts[v][b] / counts[a][b];
                            }
                        }
                    }
                    prop_assert!((got - want).abs() < 1e-9, "vertex {}: {} {}", v, got, want);
                }
            }
        }
    }
}
