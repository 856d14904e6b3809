//! PageRank: the share of time that a random surfer spends at each vertex.
//!
//! Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking" (1999), computed by pulling along
//! incoming edges as in the GAP benchmark suite (Beamer, Asanović, Patterson, 2015). As in CozoDB,
//! ranks start at `1 / n`, and a vertex without outgoing edges passes on nothing, so the sum falls
//! below 1.
//!
//! # Why there are two kinds of rounds
//! CozoDB's rounds use new ranks immediately, in the order in which its scan met the vertices. They
//! converge faster, and after ten rounds the difference is visible. But then a round depends on
//! that order and cannot be parallelized. Rounds that use only the old ranks can.

use std::ops::Range;

use crate::csr::{Csr, NO_VERTEX};
use crate::error::Stopped;
use crate::limits::{Limits, STRIDE, Ticker};

/// Parameters. The defaults are those of CozoDB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Damping factor: the probability of following an edge and not jumping to a random vertex.
    /// From 0 to 1.
    pub theta: f64,
    /// Ends when the sum of all changes in a round is less than this.
    pub epsilon: f64,
    /// Maximum number of rounds.
    pub iterations: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { theta: 0.85, epsilon: 1e-4, iterations: 10 }
    }
}

/// The rank of each vertex. Weights are ignored; parallel edges count separately.
///
/// `incoming` must be the [`Csr::reverse`] of `graph`; for an undirected graph both are its
/// [`Csr::symmetric`]. Vertices of `incoming` that are not in `graph` pass on nothing. There is at
/// least one round.
///
/// With an `order`, which must be a permutation, ranks are computed in that order and used
/// immediately; CozoDB uses [`Csr::scan_order`] of the directed graph. Without one, every rank is
/// computed from those of the previous round.
///
/// # Errors
/// [`Stopped`].
pub fn pagerank(
    graph: &Csr,
    incoming: &Csr,
    order: Option<&[u32]>,
    options: Options,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let n = graph.vertices();
    let renumbered = order.map(|order| Ordered::new(incoming, order, ticker)).transpose()?;
    let degrees: Vec<f64> = match order {
        Some(order) => order.iter().map(|&v| graph.degree(v) as f64).collect(),
        None => (0..n).map(|v| graph.degree(v) as f64).collect(),
    };
    let (offsets, sources) = match &renumbered {
        Some(ordered) => (&ordered.offsets[..], &ordered.sources[..]),
        None => (incoming.offsets(), incoming.targets()),
    };
    let base = (1.0 - options.theta) / f64::from(n);
    let pull = Pull { offsets, sources, degrees: &degrees, base, theta: options.theta };
    let mut ranks = vec![1.0 / f64::from(n); degrees.len()];
    let mut shares: Vec<f64> = ranks.iter().zip(&degrees).map(|(r, d)| share(*r, *d)).collect();
    for _ in 0..options.iterations.max(1) {
        let change = match order {
            Some(_) => pull.in_place(&mut ranks, &mut shares, ticker)?,
            None => {
                let change = pull.range(0..degrees.len(), &shares, &mut ranks, ticker)?;
                for ((out, rank), degree) in shares.iter_mut().zip(&ranks).zip(&degrees) {
                    *out = share(*rank, *degree);
                }
                change
            }
        };
        ticker.ask()?;
        if change < options.epsilon {
            break;
        }
    }
    let Some(order) = order else { return Ok(ranks) };
    let mut found = vec![0.0; n as usize];
    for (&v, rank) in order.iter().zip(ranks) {
        if let Some(found) = found.get_mut(v as usize) {
            *found = rank;
        }
    }
    Ok(found)
}

/// The rank that a vertex passes along each outgoing edge. Not used for vertices without such
/// edges.
#[inline]
fn share(rank: f64, degree: f64) -> f64 {
    rank / degree.max(1.0)
}

/// The incoming edges with vertices renumbered by an order, so that a round in this order reads
/// memory sequentially. Rows are not sorted, because a sum does not need it.
struct Ordered {
    offsets: Vec<u64>,
    sources: Vec<u32>,
}

impl Ordered {
    fn new(incoming: &Csr, order: &[u32], ticker: &mut Ticker<'_>) -> Result<Self, Stopped> {
        let mut number = vec![NO_VERTEX; incoming.vertices() as usize];
        for (new, &old) in (0..).zip(order) {
            if let Some(number) = number.get_mut(old as usize) {
                *number = new;
            }
        }
        let mut offsets = Vec::with_capacity(order.len() + 1);
        let mut sources = Vec::with_capacity(incoming.targets().len());
        offsets.push(0);
        for &v in order {
            for part in incoming.neighbors(v).chunks(STRIDE) {
                sources.extend(part.iter().map(|&from| number[from as usize]));
                ticker.tick(part.len())?;
            }
            ticker.tick(1)?;
            offsets.push(sources.len() as u64);
        }
        Ok(Self { offsets, sources })
    }
}

/// The input of a round.
struct Pull<'a> {
    offsets: &'a [u64],
    sources: &'a [u32],
    degrees: &'a [f64],
    base: f64,
    theta: f64,
}

impl Pull<'_> {
    #[inline]
    fn rank(&self, v: usize, shares: &[f64], ticker: &mut Ticker<'_>) -> Result<f64, Stopped> {
        let row = match (self.offsets.get(v), self.offsets.get(v + 1)) {
            (Some(&from), Some(&to)) => &self.sources[from as usize..to as usize],
            _ => &[],
        };
        let mut sum = 0.0;
        for part in row.chunks(STRIDE) {
            for &from in part {
                sum += shares.get(from as usize).copied().unwrap_or(0.0);
            }
            ticker.tick(part.len())?;
        }
        ticker.tick(1)?;
        Ok(self.base + self.theta * sum)
    }

    /// Computes the ranks of `range` into `ranks`, whose first item belongs to the first vertex of
    /// the range. Returns the total change. Writes nothing else, so ranges can run on different
    /// threads.
    fn range(
        &self,
        range: Range<usize>,
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

    /// Computes all ranks, using new ranks immediately. Returns the total change.
    fn in_place(
        &self,
        ranks: &mut [f64],
        shares: &mut [f64],
        ticker: &mut Ticker<'_>,
    ) -> Result<f64, Stopped> {
        let mut change = 0.0;
        for (v, (rank, degree)) in ranks.iter_mut().zip(self.degrees).enumerate() {
            let new = self.rank(v, shares, ticker)?;
            change += (new - *rank).abs();
            *rank = new;
            shares[v] = share(new, *degree);
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
        let order = graph.scan_order(&go).unwrap();
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

    /// The same rounds with a dense matrix.
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
        // Against the order of the vertices it takes three rounds. Both results were measured with
        // CozoDB.
        let against = graph(4, "3-2 2-1 1-0");
        close(&in_place(&against, one), &[0.25, 0.25, 0.25, 0.0375]);
        let three = Options { iterations: 3, ..one };
        close(&in_place(&against, three), &[want[3], want[2], want[1], want[0]]);
    }

    #[test]
    fn an_empty_graph_has_no_ranks() {
        assert_eq!(in_place(&Csr::default(), Options::default()), []);
        assert_eq!(from_last(&Csr::default(), Options::default()), []);
    }

    #[test]
    fn an_order_and_edges_of_another_graph_do_no_harm() {
        let (small, large) = (graph(2, "0-1"), graph(4, "0-1 3-1 2-3"));
        for order in [None, Some(&[7, 1, 1][..]), Some(&[])] {
            for (graph, incoming) in [(&small, &large), (&large, &small)] {
                let found = pagerank(graph, incoming, order, Options::default(), &go).unwrap();
                assert_eq!(found.len(), graph.vertices() as usize);
            }
        }
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
