//! Betweenness centrality: the number of shortest paths through a vertex.
//!
//! Brandes, "A faster algorithm for betweenness centrality" (2001): one search from each vertex,
//! then dependencies are accumulated from the farthest vertices to the nearest, over the edges of
//! shortest paths.
//!
//! # Edges of weight zero
//! They connect vertices at equal cost and may form cycles. Then the edges of shortest paths alone
//! give no order in which to accumulate. So an edge counts only if the search settled its source
//! before its target. Shortest paths over other edges of weight zero are not counted.

use crate::csr::Csr;
use crate::dijkstra_search::{Search, refuse_negative};
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};

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
    let n = graph.vertices() as usize;
    let mut search = Search::new(graph);
    let mut sums =
        Sums { place: vec![u32::MAX; n], paths: vec![Paths::NONE; n], through: vec![0.0; n] };
    let mut found = vec![0.0; n];
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
    fn add(
        &mut self,
        graph: &Csr,
        search: &Search,
        found: &mut [f64],
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        for (place, &v) in (0..).zip(search.settled()) {
            self.place[v as usize] = place;
            self.paths[v as usize] = Paths::NONE;
            self.through[v as usize] = 0.0;
        }
        let Some(&start) = search.settled().first() else { return Ok(()) };
        self.paths[start as usize] = Paths::ONE;
        for &v in search.settled() {
            let paths = self.paths[v as usize];
            for (to, weight) in graph.weighted(v) {
                ticker.tick(1)?;
                if self.leads(search, v, to, weight) {
                    self.paths[to as usize].add(paths);
                }
            }
        }
        for &v in search.settled().iter().rev() {
            let mut through = 0.0;
            for (to, weight) in graph.weighted(v) {
                ticker.tick(1)?;
                if self.leads(search, v, to, weight) {
                    let part = self.paths[v as usize].part_of(self.paths[to as usize]);
                    through += part * (1.0 + self.through[to as usize]);
                }
            }
            self.through[v as usize] = through;
            if v != start {
                found[v as usize] += through;
            }
        }
        for &v in search.settled() {
            self.place[v as usize] = u32::MAX;
        }
        Ok(())
    }

    /// Whether the edge from `v` to `to` is on a shortest path that counts.
    #[inline]
    fn leads(&self, search: &Search, v: u32, to: u32, weight: f64) -> bool {
        self.place[v as usize] < self.place[to as usize]
            && search.cost(v) + weight == search.cost(to)
    }
}

/// A number of paths that may exceed the range of `f64`: a chain of a thousand diamonds has 2^1000
/// paths, and infinity divided by infinity would be NaN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paths {
    /// Less than [`Paths::STEP`] after each addition.
    count: f64,
    /// Number of times that the count was divided by [`Paths::STEP`].
    steps: u32,
}

impl Paths {
    pub(crate) const NONE: Self = Self { count: 0.0, steps: 0 };
    pub(crate) const ONE: Self = Self { count: 1.0, steps: 0 };
    /// A power of two, so that dividing by it is exact.
    const STEP: f64 = (1_u128 << 100) as f64;

    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        let (big, small) = if self.steps >= other.steps { (*self, other) } else { (other, *self) };
        *self = Self { count: big.count + small.scaled(big.steps - small.steps), ..big };
        if self.count >= Self::STEP {
            self.count /= Self::STEP;
            self.steps += 1;
        }
    }

    /// The fraction of `all` that these are.
    #[inline]
    pub(crate) fn part_of(self, all: Self) -> f64 {
        self.scaled(all.steps.saturating_sub(self.steps)) / all.count
    }

    /// The count divided by `STEP` a number of times more.
    #[inline]
    fn scaled(self, steps: u32) -> f64 {
        match steps {
            0 => self.count,
            1 => self.count / Self::STEP,
            _ => 0.0,
        }
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
        let mut sums =
            Sums { place: vec![u32::MAX; n], paths: vec![Paths::NONE; n], through: vec![0.0; n] };
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
