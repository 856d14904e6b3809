//! Random walks for vertex embeddings, uniform, weighted or biased by node2vec, from a seed.
//!
//! Grover and Leskovec, "node2vec: scalable feature learning for networks" (2016). An alias table
//! per vertex draws a neighbor by weight in constant time. The bias is applied by rejection: a
//! drawn neighbor is kept with the probability of its bias divided by the largest one, so nothing
//! is stored per pair of edges. [`crate::random_walk`] has the walks of CozoDB, whose random
//! numbers and weights come from the caller.
//!
//! # Why the result does not depend on threads
//! Each walk has random numbers of its own, which follow from the seed and the number of the walk.

use crate::csr::{Csr, NO_VERTEX};
use crate::dijkstra_search::refuse_negative;
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker, refuse_large};
use crate::random::{Random, weighted};
use crate::workers::{PART_VERTICES, Workers, map_items, part_of, parts_of, split};

/// Rejected draws after which all neighbors are compared. If a walk can only go back, and the
/// return parameter is large, rejection alone would draw for very long.
const DRAWS_MAX: u32 = 64;

/// Walks of a part.
const PART_WALKS: usize = 256;

/// Options of [`node2vec_walks`]. With the defaults all neighbors are drawn by weight alone, as in
/// DeepWalk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkOptions {
    /// Vertices of a walk, its start included.
    pub vertices_max: usize,
    /// Walks from each start.
    pub walks: usize,
    /// Return parameter `p`: the larger, the less often a walk goes back. More than 0.
    pub return_parameter: f64,
    /// In-out parameter `q`: the larger, the closer a walk stays to the vertex before. More than 0.
    pub in_out_parameter: f64,
    /// The same seed gives the same walks.
    pub seed: u64,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self { vertices_max: 80, walks: 10, return_parameter: 1.0, in_out_parameter: 1.0, seed: 0 }
    }
}

/// Walks as rows of `vertices_max` vertices: walk `i` of start `s` is row `s * walks + i`. A walk
/// that ends early, at a vertex without outgoing edges of positive weight, is filled with
/// [`NO_VERTEX`].
///
/// Memory: four bytes per vertex of the walks; in a weighted graph twelve bytes per edge.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`], [`Error::NotPositive`] for a parameter,
/// [`Error::TooLarge`], [`Error::Stopped`].
pub fn node2vec_walks(
    graph: &Csr,
    starts: &[u32],
    options: &WalkOptions,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<u32>, Error> {
    refuse_unknown(starts, graph.vertices())?;
    refuse_negative(graph, &mut Ticker::new(limits)?)?;
    for value in [options.return_parameter, options.in_out_parameter] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Error::NotPositive { value });
        }
    }
    let walks = starts.len().saturating_mul(options.walks);
    let cells = walks.saturating_mul(options.vertices_max);
    refuse_large((cells as u64).saturating_mul(4), limits)?;
    if cells == 0 {
        return Ok(Vec::new());
    }
    let walker = Walker::new(graph, options, workers, limits)?;
    let mut rows = vec![NO_VERTEX; cells];
    let parts: Vec<_> = rows.chunks_mut(PART_WALKS * options.vertices_max).collect();
    let walked = map_items(workers, parts, &|part, rows| {
        let ticker = &mut Ticker::new(limits)?;
        for (i, walk) in rows.chunks_mut(options.vertices_max).enumerate() {
            let number = part * PART_WALKS + i;
            let random = &mut Random::new(options.seed, number as u64);
            walker.walk(starts[number / options.walks], walk, random, ticker)?;
        }
        Ok(())
    });
    walked.into_iter().collect::<Result<(), Stopped>>()?;
    Ok(rows)
}

struct Walker<'a> {
    graph: &'a Csr,
    /// `None` in an unweighted graph.
    aliases: Option<Vec<Alias>>,
    /// The biases of going back, of a neighbor of the vertex before, and of all others, divided by
    /// the largest of them. `None` if they are equal.
    biases: Option<[f64; 3]>,
}

/// A slot of an alias table (Walker, 1977; Vose, 1991): the edge itself is drawn with probability
/// `own`, otherwise the edge `other` of the same row.
#[derive(Clone, Copy)]
struct Alias {
    /// Less than 0 in a row without positive weights.
    own: f64,
    other: u32,
}

impl<'a> Walker<'a> {
    fn new(
        graph: &'a Csr,
        options: &WalkOptions,
        workers: &dyn Workers,
        limits: &dyn Limits,
    ) -> Result<Self, Stopped> {
        let biases = [1.0 / options.return_parameter, 1.0, 1.0 / options.in_out_parameter];
        let largest = biases.into_iter().fold(0.0, f64::max);
        let is_biased = biases != [1.0; 3];
        Ok(Self {
            graph,
            aliases: graph.weights().map(|w| aliases(graph, w, workers, limits)).transpose()?,
            biases: is_biased.then(|| biases.map(|bias| bias / largest)),
        })
    }

    fn walk(
        &self,
        start: u32,
        walk: &mut [u32],
        random: &mut Random,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let (mut before, mut v) = (NO_VERTEX, start);
        for place in walk.iter_mut() {
            *place = v;
            let Some(next) = self.step(before, v, random, ticker)? else { break };
            (before, v) = (v, next);
        }
        Ok(())
    }

    /// The vertex after `v`, which the walk reached from `before`.
    fn step(
        &self,
        before: u32,
        v: u32,
        random: &mut Random,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<u32>, Stopped> {
        for _ in 0..DRAWS_MAX {
            ticker.tick(1)?;
            let Some(next) = self.draw(v, random) else { return Ok(None) };
            let Some(biases) = self.biases.filter(|_| before != NO_VERTEX) else {
                return Ok(Some(next));
            };
            if random.unit() < self.bias(biases, before, next) {
                return Ok(Some(next));
            }
        }
        let biases = self.biases.unwrap_or([1.0; 3]);
        let mut shares = Vec::with_capacity(self.graph.degree(v));
        for (to, weight) in self.graph.weighted(v) {
            ticker.tick(1)?;
            shares.push(weight * self.bias(biases, before, to));
        }
        Ok(weighted(&shares, || random.bits()).map(|place| self.graph.neighbors(v)[place]))
    }

    fn bias(&self, biases: [f64; 3], before: u32, next: u32) -> f64 {
        if next == before {
            biases[0]
        } else if self.graph.neighbors(before).binary_search(&next).is_ok() {
            biases[1]
        } else {
            biases[2]
        }
    }

    /// A neighbor of `v` by weight.
    fn draw(&self, v: u32, random: &mut Random) -> Option<u32> {
        let row = self.graph.neighbors(v);
        if row.is_empty() {
            return None;
        }
        let place = random.below(row.len());
        let Some(aliases) = &self.aliases else { return Some(row[place]) };
        let alias = aliases[self.graph.row(v).start + place];
        if alias.own < 0.0 {
            return None;
        }
        Some(if random.unit() < alias.own { row[place] } else { row[alias.other as usize] })
    }
}

/// The alias tables of all rows.
fn aliases(
    graph: &Csr,
    weights: &[f64],
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<Alias>, Stopped> {
    let n = graph.vertices() as usize;
    let mut tables = vec![Alias { own: -1.0, other: 0 }; weights.len()];
    let rows = |i: usize| part_of(i, n, PART_VERTICES);
    let offsets = graph.offsets();
    let len = |i: usize| (offsets[rows(i).end] - offsets[rows(i).start]) as usize;
    let parts = split(&mut tables, (0..parts_of(n, PART_VERTICES)).map(len));
    let built = map_items(workers, parts, &|i, mut table| {
        let ticker = &mut Ticker::new(limits)?;
        let mut scratch = [Vec::new(), Vec::new()];
        for v in rows(i) {
            let row = graph.row(v as u32);
            ticker.tick(row.len() + 1)?;
            let (here, rest) = table.split_at_mut(row.len());
            fill_row(&weights[row], here, &mut scratch);
            table = rest;
        }
        Ok(())
    });
    built.into_iter().collect::<Result<(), Stopped>>()?;
    Ok(tables)
}

fn fill_row(weights: &[f64], table: &mut [Alias], [small, large]: &mut [Vec<u32>; 2]) {
    // Dividing by the largest first: a sum of large weights could be infinite.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return;
    }
    let sum: f64 = weights.iter().map(|weight| weight / largest).sum();
    let scale = weights.len() as f64 / sum;
    small.clear();
    large.clear();
    for (i, (weight, alias)) in (0..).zip(weights.iter().zip(table.iter_mut())) {
        *alias = Alias { own: weight / largest * scale, other: i };
        if alias.own < 1.0 { small.push(i) } else { large.push(i) }
    }
    while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
        small.pop();
        table[low as usize].other = high;
        let rest = table[high as usize].own - (1.0 - table[low as usize].own);
        table[high as usize].own = rest;
        if rest < 1.0 {
            large.pop();
            small.push(high);
        }
    }
    // The remaining probabilities differ from 1 by rounding only.
    for &i in small.iter().chain(large.iter()) {
        table[i as usize].own = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, edges, go, graph, random_graph, stop_after};
    use crate::workers::OneThread;

    fn walks(graph: &Csr, starts: &[u32], options: &WalkOptions) -> Vec<u32> {
        node2vec_walks(graph, starts, options, &OneThread, &go).unwrap()
    }

    /// How often the third vertex of walks is each vertex.
    fn third(graph: &Csr, options: WalkOptions) -> Vec<f64> {
        let options = WalkOptions { vertices_max: 3, walks: 40_000, seed: 5, ..options };
        let mut counts = vec![0.0; graph.vertices() as usize];
        for walk in walks(graph, &[0], &options).chunks(3) {
            counts[walk[2] as usize] += 1.0 / 40_000.0;
        }
        counts
    }

    #[test]
    fn neighbors_are_drawn_by_weight() {
        let found = third(&graph(5, "0-1 1-2:1 1-3:2 1-4:5"), WalkOptions::default());
        for (found, want) in found.iter().zip([0.0, 0.0, 0.125, 0.25, 0.625]) {
            assert!((found - want).abs() < 0.01, "{found} {want}");
        }
    }

    #[test]
    fn parameters_bias_the_second_step() {
        // From 0 to 1; then back to 0, on to 2, which 0 knows, or to 3, which it does not. The
        // edge from 0 to 2 has hardly any weight, so the first step leads to 1.
        let graph = graph(4, "0-1 0-2:0.00000001 1-0 1-2 1-3");
        let options =
            WalkOptions { return_parameter: 4.0, in_out_parameter: 0.5, ..WalkOptions::default() };
        let sum = 0.25 + 1.0 + 2.0;
        for (found, want) in
            third(&graph, options).iter().zip([0.25 / sum, 0.0, 1.0 / sum, 2.0 / sum])
        {
            assert!((found - want).abs() < 0.01, "{found} {want}");
        }
    }

    #[test]
    fn a_walk_goes_back_where_it_must() {
        let options = WalkOptions { return_parameter: 1e300, ..WalkOptions::default() };
        let found = walks(&graph(2, "0-1 1-0"), &[0], &options);
        assert!(found.chunks(2).all(|pair| pair == [0, 1]));
    }

    #[test]
    fn comparing_a_row_draws_as_rejection_does() {
        // Only with the least probability is a drawn neighbor kept: nearly all steps compare.
        let graph = graph(3, "0-1 1-0:3 1-0:1 1-2:4 0-2:0.00000001 2-2");
        let options =
            WalkOptions { return_parameter: 4e-4, in_out_parameter: 1e-9, ..Default::default() };
        let found = third(&graph, options);
        let (back, near) = (4.0 / 4e-4, 4.0);
        assert!((found[0] - back / (back + near)).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn a_walk_ends_where_no_edge_leads_on() {
        let options = WalkOptions { vertices_max: 4, walks: 1, ..WalkOptions::default() };
        let none = NO_VERTEX;
        assert_eq!(
            walks(&graph(2, "0-1"), &[0, 1], &options),
            [0, 1, none, none, 1, none, none, none]
        );
        assert_eq!(walks(&graph(2, "0-1:0"), &[0], &options), [0, none, none, none]);
    }

    #[test]
    fn what_is_no_walk_is_refused() {
        let graph = graph(2, "0-1 1-0");
        let options = WalkOptions::default();
        let unknown = node2vec_walks(&graph, &[2], &options, &OneThread, &go);
        assert_eq!(unknown, Err(Error::UnknownVertex { vertex: 2, vertices: 2 }));
        let zero = WalkOptions { return_parameter: 0.0, ..options };
        let refused = node2vec_walks(&graph, &[0], &zero, &OneThread, &go);
        assert_eq!(refused, Err(Error::NotPositive { value: 0.0 }));
        let long = WalkOptions { vertices_max: 1 << 20, ..options };
        let stopped = node2vec_walks(&graph, &[0], &long, &OneThread, &stop_after(8));
        assert_eq!(stopped, Err(Error::Stopped));
        assert_eq!(walks(&graph, &[], &options), []);
    }

    #[test]
    fn threads_do_not_change_walks_but_seeds_do() {
        let graph = random_graph(1000, 8000, 1);
        let starts: Vec<u32> = (0..1000).collect();
        let options = WalkOptions { walks: 2, in_out_parameter: 0.5, ..WalkOptions::default() };
        let want = walks(&graph, &starts, &options);
        for threads in [2, 4] {
            let found = node2vec_walks(&graph, &starts, &options, &Threads(threads), &go);
            assert_eq!(found.unwrap(), want);
        }
        assert_ne!(walks(&graph, &starts, &WalkOptions { seed: 1, ..options }), want);
    }

    proptest! {
        #[test]
        fn each_step_is_an_edge_of_positive_weight(edges in edges(), seed in any::<u64>()) {
            let options = WalkOptions {
                vertices_max: 6,
                walks: 2,
                return_parameter: 0.5,
                in_out_parameter: 2.0,
                seed,
            };
            let starts: Vec<u32> = (0..edges.vertices).collect();
            let is_edge = |a, b| edges.list.iter().any(|e| (e.0, e.1) == (a, b) && e.2 > 0.0);
            let found = walks(&edges.graph(), &starts, &options);
            prop_assert_eq!(found.len(), starts.len() * 12);
            for (i, walk) in found.chunks(6).enumerate() {
                prop_assert_eq!(walk[0], starts[i / 2]);
                for pair in walk.windows(2) {
                    if pair[1] == NO_VERTEX {
                        let ends = !edges.list.iter().any(|e| e.0 == pair[0] && e.2 > 0.0);
                        prop_assert!(pair[0] == NO_VERTEX || ends);
                    } else {
                        prop_assert!(is_edge(pair[0], pair[1]));
                    }
                }
            }
        }
    }
}
