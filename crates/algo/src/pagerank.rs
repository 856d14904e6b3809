//! PageRank: the share of time that a random surfer spends at each vertex.
//!
//! Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking" (1999), pulled along incoming edges
//! as in the GAP benchmark suite (Beamer, Asanović, Patterson, 2015). As CozoDB has it, ranks start at
//! `1 / n`, what a vertex without outgoing edges holds is not handed on, and so the sum falls below 1.
//!
//! # Why two ways to make a round
//! CozoDB's rounds take new ranks into account at once, in the order in which its scan met the
//! vertices: after ten rounds that shows, and it converges in fewer. But what a round gives then depends
//! on that order, so it cannot be cut among threads. Rounds from the old ranks alone can.

use std::ops::Range;

use crate::watch::{STRIDE, Ticker};
use crate::{Csr, Stopped, Watch};

/// The knobs; the defaults are CozoDB's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How often the surfer follows an edge instead of jumping anywhere. From 0 to 1.
    pub theta: f64,
    /// Ends when the ranks change by less than this in a round, all changes summed up.
    pub epsilon: f64,
    /// Rounds at most.
    pub iterations: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { theta: 0.85, epsilon: 1e-4, iterations: 10 }
    }
}

/// The rank of each vertex. Weights are not looked at; parallel edges count as often as they are there.
///
/// `incoming` is [`Csr::reverse`] of `graph`; for an undirected graph both are its [`Csr::symmetric`].
/// At least one round is made.
///
/// With an `order`, which names every vertex once, a rank is used as soon as it is made, in that order;
/// CozoDB's is the [`Csr::order_met`] of the directed graph. Without one, every rank is made from those
/// of the round before.
///
/// # Errors
/// [`Stopped`].
pub fn pagerank(
    graph: &Csr,
    incoming: &Csr,
    order: Option<&[u32]>,
    options: Options,
    watch: &dyn Watch,
) -> Result<Vec<f64>, Stopped> {
    let ticker = &mut Ticker::new(watch)?;
    let n = graph.vertices();
    let start = 1.0 / f64::from(n);
    let mut ranks = vec![start; n as usize];
    let mut shares: Vec<f64> = (0..n).map(|v| share(graph, v, start)).collect();
    let pull = Pull { incoming, base: (1.0 - options.theta) / f64::from(n), theta: options.theta };
    for _ in 0..options.iterations.max(1) {
        let mut change = 0.0;
        match order {
            Some(order) => {
                for &v in order.iter().filter(|&&v| v < n) {
                    let rank = pull.rank(v, &shares, ticker)?;
                    change += (rank - ranks[v as usize]).abs();
                    ranks[v as usize] = rank;
                    shares[v as usize] = share(graph, v, rank);
                }
            }
            None => {
                change += pull.range(0..n, &shares, &mut ranks, ticker)?;
                for (v, out) in (0..n).zip(&mut shares) {
                    *out = share(graph, v, ranks[v as usize]);
                }
                ticker.ask()?;
            }
        }
        if change < options.epsilon {
            break;
        }
    }
    Ok(ranks)
}

/// What a vertex of `rank` hands along each of its edges.
#[inline]
fn share(graph: &Csr, v: u32, rank: f64) -> f64 {
    match graph.degree(v) {
        0 => 0.0,
        edges => rank / edges as f64,
    }
}

/// One round's reading half. It writes to its own range alone, so ranges can go to threads.
struct Pull<'a> {
    incoming: &'a Csr,
    base: f64,
    theta: f64,
}

impl Pull<'_> {
    #[inline]
    fn rank(&self, v: u32, shares: &[f64], ticker: &mut Ticker<'_>) -> Result<f64, Stopped> {
        let mut sum = 0.0;
        for part in self.incoming.neighbors(v).chunks(STRIDE) {
            // Not `iter().sum()`: that begins at -0.0 for each part, to no gain.
            for &from in part {
                sum += shares[from as usize];
            }
            ticker.tick(part.len())?;
        }
        ticker.tick(1)?;
        Ok(self.base + self.theta * sum)
    }

    /// Makes the ranks of `range` into `ranks`, which begins at its first vertex. Returns the change.
    fn range(
        &self,
        range: Range<u32>,
        shares: &[f64],
        ranks: &mut [f64],
        ticker: &mut Ticker<'_>,
    ) -> Result<f64, Stopped> {
        let mut change = 0.0;
        for (v, rank) in range.zip(ranks) {
            let new = self.rank(v, shares, ticker)?;
            change += (new - *rank).abs();
            *rank = new;
        }
        Ok(change)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, edges, go, graph, long_path, stop_after};

    fn in_place(graph: &Csr, options: Options) -> Vec<f64> {
        let order = graph.order_met(&go).unwrap();
        pagerank(graph, &graph.reverse(&go).unwrap(), Some(&order), options, &go).unwrap()
    }

    fn from_last(graph: &Csr, options: Options) -> Vec<f64> {
        pagerank(graph, &graph.reverse(&go).unwrap(), None, options, &go).unwrap()
    }

    #[track_caller]
    fn close(got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 1e-6, "{got} {want}");
        }
    }

    /// Rounds of a dense matrix.
    fn dense(edges: &Edges, theta: f64, rounds: u32) -> Vec<f64> {
        let n = edges.vertices as usize;
        let mut matrix = vec![vec![0.0; n]; n];
        for &(from, to, _) in &edges.list {
            let out_edges = edges.list.iter().filter(|e| e.0 == from).count();
            matrix[to as usize][from as usize] += 1.0 / out_edges as f64;
        }
        let mut ranks = vec![1.0 / n as f64; n];
        for _ in 0..rounds {
            ranks = matrix
                .iter()
                .map(|row| {
                    let pulled: f64 = row.iter().zip(&ranks).map(|(a, b)| a * b).sum();
                    (1.0 - theta) / n as f64 + theta * pulled
                })
                .collect();
        }
        ranks
    }

    #[test]
    fn a_round_in_place_carries_rank_along_a_path_at_once() {
        let one = Options { iterations: 1, ..Options::default() };
        let want = [0.037_499_994, 0.069_374_993, 0.096_468_739, 0.119_498_424];
        close(&in_place(&graph(4, "0-1 1-2 2-3"), one), &want);
        // Against the order of the vertices it takes three rounds. Both were measured on CozoDB.
        let against = graph(4, "3-2 2-1 1-0");
        close(&in_place(&against, one), &[0.25, 0.25, 0.25, 0.0375]);
        let three = Options { iterations: 3, ..one };
        close(&in_place(&against, three), &[want[3], want[2], want[1], want[0]]);
    }

    #[test]
    fn an_empty_graph_has_no_in_place() {
        assert_eq!(in_place(&Csr::default(), Options::default()), []);
    }

    #[test]
    fn a_round_can_be_stopped() {
        let path = long_path(300_000);
        let back = path.reverse(&go).unwrap();
        let order: Vec<u32> = (0..path.vertices()).collect();
        for order in [Some(&order[..]), None] {
            let options = Options::default();
            assert_eq!(pagerank(&path, &back, order, options, &stop_after(8)), Err(Stopped));
        }
    }

    proptest! {
        #[test]
        fn rounds_from_the_last_are_those_of_a_matrix(edges in edges(), iterations in 1..20_u32) {
            let options = Options { epsilon: 0.0, iterations, ..Options::default() };
            close(&from_last(&edges.unweighted(), options), &dense(&edges, 0.85, iterations));
        }

        #[test]
        fn both_rounds_end_at_the_same_ranks(edges in edges()) {
            let long = Options { epsilon: 0.0, iterations: 200, ..Options::default() };
            let graph = edges.unweighted();
            close(&in_place(&graph, long), &from_last(&graph, long));
        }
    }
}
