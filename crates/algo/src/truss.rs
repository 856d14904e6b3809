//! Truss numbers: how many triangles hold each edge in the dense parts of an undirected graph.
//!
//! Cohen, "Trusses: cohesive subgraphs for social network analysis" (2008); edges are peeled in the
//! order of their triangles as in Wang and Cheng, "Truss decomposition in massive networks" (2012).
//! A `k`-truss is NetworkX's: each of its edges is in at least `k - 2` of its triangles.

use crate::cores::refuse_self_loops;
use crate::csr::Csr;
use crate::error::Error;
use crate::intersection::common_targets;
use crate::limits::{Limits, Ticker, refuse_large};
use crate::peel::PeelQueue;
use crate::workers::{Workers, gather};

/// Edges whose triangles are counted in one part.
const PART_EDGES: usize = 1 << 14;

/// An undirected edge with its truss number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrussEdge {
    /// The smaller end.
    pub source: u32,
    /// The larger end.
    pub target: u32,
    /// The largest `k` such that the edge is in a `k`-truss; at least 2.
    pub truss: u32,
}

/// The truss number of each edge, in ascending order of edges. The `k`-truss of the graph has the
/// edges whose numbers are at least `k`.
///
/// `both` is a symmetric graph. Parallel edges count once. Weights have no effect.
///
/// Memory: forty bytes per undirected edge.
///
/// # Errors
/// [`Error::SelfLoop`], [`Error::TooLarge`] with more than `u32::MAX` edges, [`Error::Stopped`].
pub fn truss_numbers(
    both: &Csr,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<TrussEdge>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_self_loops(both, ticker)?;
    let simple = both.simple(ticker)?;
    let bytes = simple.edges() * 20;
    refuse_large(bytes, limits)?;
    if simple.edges() / 2 >= u64::from(u32::MAX) {
        return Err(Error::TooLarge { bytes });
    }
    let edges = Edges::new(&simple, ticker)?;
    let counts = edges.triangles(workers, limits)?;
    let mut queue = PeelQueue::new(counts, ticker)?;
    let mut is_removed = vec![false; edges.ends.len()];
    let mut triangles = Vec::new();
    for i in 0..edges.ends.len() {
        let edge = queue.item(i);
        let (a, b) = edges.ends[edge as usize];
        let (a, b) = (simple.row(a), simple.row(b));
        triangles.clear();
        let found = |i: usize, j: usize| triangles.push((edges.numbers[i], edges.numbers[j]));
        common_targets(&simple, a, b, found, ticker)?;
        for &(one, other) in &triangles {
            if is_removed[one as usize] || is_removed[other as usize] {
                continue;
            }
            for side in [one, other] {
                if queue.degree(side) > queue.degree(edge) {
                    queue.lower(side);
                }
            }
        }
        is_removed[edge as usize] = true;
        ticker.tick(triangles.len() + 1)?;
    }
    let numbers = queue.into_degrees();
    let edge = |(&(source, target), triangles)| TrussEdge { source, target, truss: triangles + 2 };
    Ok(edges.ends.iter().zip(numbers).map(edge).collect())
}

/// The edges of a graph, each once, with numbers.
struct Edges<'a> {
    graph: &'a Csr,
    /// The ends of each edge, the smaller first.
    ends: Vec<(u32, u32)>,
    /// The number of the edge for each entry of the graph's rows.
    numbers: Vec<u32>,
}

impl<'a> Edges<'a> {
    fn new(graph: &'a Csr, ticker: &mut Ticker<'_>) -> Result<Self, Error> {
        let mut ends = Vec::with_capacity(graph.targets().len() / 2);
        let mut numbers = vec![0; graph.targets().len()];
        // Sources ascend, so the entries of a row for smaller neighbors are filled in order.
        let mut next: Vec<usize> = (0..graph.vertices()).map(|v| graph.row(v).start).collect();
        for v in 0..graph.vertices() {
            ticker.tick(1)?;
            for i in graph.row(v) {
                ticker.tick(1)?;
                let to = graph.targets()[i];
                if to > v {
                    numbers[i] = ends.len() as u32;
                    let place = &mut next[to as usize];
                    numbers[*place] = ends.len() as u32;
                    *place += 1;
                    ends.push((v, to));
                }
            }
        }
        Ok(Self { graph, ends, numbers })
    }

    /// Number of triangles of each edge.
    fn triangles(&self, workers: &dyn Workers, limits: &dyn Limits) -> Result<Vec<u32>, Error> {
        gather(workers, self.ends.len(), PART_EDGES, &|part| {
            let ticker = &mut Ticker::new(limits)?;
            let count = |&(a, b): &(u32, u32)| {
                let mut count = 0;
                let (a, b) = (self.graph.row(a), self.graph.row(b));
                common_targets(self.graph, a, b, |_, _| count += 1, ticker)?;
                ticker.tick(1)?;
                Ok(count)
            };
            self.ends[part].iter().map(count).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, edges, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    fn run(both: &Csr) -> Vec<TrussEdge> {
        truss_numbers(both, &OneThread, &go).unwrap()
    }

    #[test]
    fn a_clique_of_four_with_a_triangle_and_a_tail() {
        let text = "0-1 0-2 0-3 1-2 1-3 2-3 3-4 4-2 4-5";
        let found = run(&graph(6, text).symmetric(&go).unwrap());
        let numbers: Vec<u32> = found.iter().map(|edge| edge.truss).collect();
        assert_eq!(numbers, [4, 4, 4, 4, 4, 4, 3, 3, 2]);
        assert_eq!(found[8], TrussEdge { source: 4, target: 5, truss: 2 });
        assert_eq!(run(&Csr::default()), []);
    }

    #[test]
    fn a_self_loop_is_refused_and_peeling_can_be_stopped() {
        let both = graph(2, "0-1 1-1").symmetric(&go).unwrap();
        assert_eq!(truss_numbers(&both, &OneThread, &go), Err(Error::SelfLoop { vertex: 1 }));
        let both = long_path(300_000).symmetric(&go).unwrap();
        assert_eq!(truss_numbers(&both, &OneThread, &stop_after(9)), Err(Error::Stopped));
    }

    #[test]
    fn threads_do_not_change_a_number() {
        let both = random_graph(2000, 40_000, 3).simple_undirected(&go).unwrap();
        assert_eq!(truss_numbers(&both, &Threads(3), &go).unwrap(), run(&both));
    }

    proptest! {
        #[test]
        fn trusses_are_what_repeated_removal_leaves(mut edges in edges()) {
            edges.list.retain(|e| e.0 != e.1);
            let both = edges.unweighted().symmetric(&go).unwrap();
            let found = run(&both);
            let n = edges.vertices as usize;
            for k in 2..8 {
                let mut joined = vec![vec![false; n]; n];
                for &(a, b, _) in &edges.list {
                    joined[a as usize][b as usize] = true;
                    joined[b as usize][a as usize] = true;
                }
                loop {
                    let triangles =
                        |a: usize, b: usize| (0..n).filter(|&c| joined[a][c] && joined[b][c]).count();
                    let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
                    let weak = |&(a, b): &(usize, usize)| joined[a][b] && triangles(a, b) + 2 < k;
                    let weak: Vec<_> = pairs.filter(weak).collect();
                    if weak.is_empty() {
                        break;
                    }
                    for (a, b) in weak {
                        joined[a][b] = false;
                        joined[b][a] = false;
                    }
                }
                let pairs = (0..n).flat_map(|a| (a..n).map(move |b| (a, b)));
                let want: Vec<_> = pairs.filter(|&(a, b)| joined[a][b]).collect();
                let kept = found.iter().filter(|edge| edge.truss as usize >= k);
                let kept: Vec<_> =
                    kept.map(|edge| (edge.source as usize, edge.target as usize)).collect();
                prop_assert_eq!(kept, want);
            }
        }
    }
}
