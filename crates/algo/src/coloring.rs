//! Greedy coloring and independent sets of an undirected graph.
//!
//! Vertices are colored one after the other, each with the smallest color that none of its
//! neighbors has. The orders are those of NetworkX's `greedy_color`, with its ties where these do
//! not depend on hashing: Welsh and Powell (1967), Matula and Beck (1983), Brélaz (1979).
//! Self-loops have no effect on colors; as in NetworkX, one counts twice in a degree.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashSet;

use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker};
use crate::random::shuffled;

/// The order in which vertices are colored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColoringOrder {
    /// By falling degree, of equal ones the smallest vertex first. NetworkX's `largest_first`.
    #[default]
    LargestFirst,
    /// In the opposite order of a removal of the vertex with the fewest neighbors left, of several
    /// the smallest. NetworkX's `smallest_last`, which removes any of them.
    SmallestLast,
    /// The vertex with the most colors around it, then the greatest degree, then the smallest
    /// (DSATUR). NetworkX's `saturation_largest_first`.
    Saturation,
    /// In an order that this seed decides.
    Random(u64),
}

/// The color of each vertex, from 0. Neighbors have different colors.
///
/// `both` is a symmetric graph, with self-loops once. Parallel edges should occur once: they count
/// in degrees.
///
/// # Errors
/// [`Stopped`].
pub fn greedy_coloring(
    both: &Csr,
    order: ColoringOrder,
    limits: &dyn Limits,
) -> Result<Vec<u32>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut colors = Colors::new(both);
    match order {
        ColoringOrder::LargestFirst => {
            let mut order: Vec<u32> = (0..both.vertices()).collect();
            order.sort_by_key(|&v| Reverse(degree(both, v)));
            colors.give_all(&order, ticker)?;
        }
        ColoringOrder::SmallestLast => colors.give_all(&smallest_last(both, ticker)?, ticker)?,
        ColoringOrder::Saturation => saturation(both, &mut colors, ticker)?,
        ColoringOrder::Random(seed) => {
            colors.give_all(&shuffled(both.vertices() as usize, seed), ticker)?;
        }
    }
    Ok(colors.of_vertices)
}

/// Number of ends of edges at a vertex.
fn degree(both: &Csr, v: u32) -> usize {
    both.degree(v) + usize::from(both.neighbors(v).binary_search(&v).is_ok())
}

struct Colors<'a> {
    both: &'a Csr,
    of_vertices: Vec<u32>,
    /// The last vertex that has a neighbor of each color.
    seen_at: Vec<u32>,
}

impl<'a> Colors<'a> {
    fn new(both: &'a Csr) -> Self {
        let n = both.vertices() as usize;
        Self { both, of_vertices: vec![NO_VERTEX; n], seen_at: Vec::new() }
    }

    fn give_all(&mut self, order: &[u32], ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        order.iter().try_for_each(|&v| self.give(v, ticker).map(|_| ()))
    }

    /// Gives a vertex the smallest free color, and returns it.
    fn give(&mut self, v: u32, ticker: &mut Ticker<'_>) -> Result<u32, Stopped> {
        for &to in self.both.neighbors(v) {
            ticker.tick(1)?;
            if let Some(seen_at) = self.seen_at.get_mut(self.of_vertices[to as usize] as usize) {
                *seen_at = v;
            }
        }
        let is_free = |&seen_at: &u32| seen_at != v;
        let color = self.seen_at.iter().position(is_free).unwrap_or(self.seen_at.len());
        ticker.tick(color + 1)?;
        if color == self.seen_at.len() {
            self.seen_at.push(NO_VERTEX);
        }
        self.of_vertices[v as usize] = color as u32;
        Ok(color as u32)
    }
}

fn smallest_last(both: &Csr, ticker: &mut Ticker<'_>) -> Result<Vec<u32>, Stopped> {
    let mut degrees: Vec<usize> = (0..both.vertices()).map(|v| degree(both, v)).collect();
    // Entries with an old degree stay in the heap and are skipped.
    let entries = (0_u32..).zip(&degrees).map(|(v, &degree)| Reverse((degree, v)));
    let mut heap: BinaryHeap<_> = entries.collect();
    let mut is_removed = vec![false; degrees.len()];
    let mut order = Vec::with_capacity(degrees.len());
    while let Some(Reverse((degree, v))) = heap.pop() {
        ticker.tick(1)?;
        if degree != degrees[v as usize] || std::mem::replace(&mut is_removed[v as usize], true) {
            continue;
        }
        order.push(v);
        for &to in both.neighbors(v) {
            ticker.tick(1)?;
            if !is_removed[to as usize] {
                degrees[to as usize] -= 1;
                heap.push(Reverse((degrees[to as usize], to)));
            }
        }
    }
    order.reverse();
    Ok(order)
}

fn saturation(both: &Csr, colors: &mut Colors<'_>, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
    let mut counts = vec![0_u32; both.vertices() as usize];
    let mut around: HashSet<(u32, u32)> = HashSet::new();
    // Entries with an old count stay in the heap and are skipped.
    let entry = |count: u32, v: u32| (count, degree(both, v), Reverse(v));
    let mut heap: BinaryHeap<_> = (0..both.vertices()).map(|v| entry(0, v)).collect();
    while let Some((count, _, Reverse(v))) = heap.pop() {
        ticker.tick(1)?;
        if count != counts[v as usize] || colors.of_vertices[v as usize] != NO_VERTEX {
            continue;
        }
        let color = colors.give(v, ticker)?;
        for &to in both.neighbors(v) {
            ticker.tick(1)?;
            if colors.of_vertices[to as usize] == NO_VERTEX && around.insert((to, color)) {
                counts[to as usize] += 1;
                heap.push(entry(counts[to as usize], to));
            }
        }
    }
    Ok(())
}

/// A set of vertices without edges between them, to which no vertex can be added, ascending. It
/// contains `required`; the others are taken in an order that `seed` decides.
///
/// `both` is a symmetric graph. Self-loops have no effect. NetworkX's `maximal_independent_set`
/// draws other vertices for the same seed.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NotIndependent`] if two of `required` are neighbors,
/// [`Error::Stopped`].
pub fn maximal_independent_set(
    both: &Csr,
    required: &[u32],
    seed: u64,
    limits: &dyn Limits,
) -> Result<Vec<u32>, Error> {
    refuse_unknown(required, both.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    let n = both.vertices() as usize;
    let (mut is_taken, mut is_excluded) = (vec![false; n], vec![false; n]);
    for &v in required {
        is_taken[v as usize] = true;
    }
    let order = shuffled(n, seed);
    for &v in required.iter().chain(&order) {
        ticker.tick(1)?;
        let is_required = is_taken[v as usize];
        if is_excluded[v as usize] && !is_required {
            continue;
        }
        is_taken[v as usize] = true;
        for &to in both.neighbors(v).iter().filter(|&&to| to != v) {
            ticker.tick(1)?;
            if is_taken[to as usize] {
                return Err(Error::NotIndependent { source: v.min(to), target: v.max(to) });
            }
            is_excluded[to as usize] = true;
        }
    }
    Ok((0..both.vertices()).filter(|&v| is_taken[v as usize]).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{go, graph, random_graph, stop_after, undirected};

    const ORDERS: [ColoringOrder; 4] = [
        ColoringOrder::LargestFirst,
        ColoringOrder::SmallestLast,
        ColoringOrder::Saturation,
        ColoringOrder::Random(7),
    ];

    /// Colors of NetworkX 3.6.1.
    #[test]
    fn colors_are_those_of_networkx() {
        let text = "0-1 0-2 1-2 1-3 2-3 3-4 4-5 5-0 5-6 6-7 7-4 7-1";
        let both = graph(9, text).symmetric(&go).unwrap();
        let run = |order| greedy_coloring(&both, order, &go).unwrap();
        assert_eq!(run(ColoringOrder::LargestFirst), NX_LARGEST_FIRST);
        // NetworkX's ties are those of a hash set.
        assert_eq!(run(ColoringOrder::SmallestLast), [0, 1, 2, 0, 1, 2, 1, 0, 0]);
        assert_eq!(run(ColoringOrder::Saturation), NX_SATURATION);
    }

    const NX_LARGEST_FIRST: [u32; 9] = [1, 0, 2, 1, 0, 2, 0, 1, 0];
    const NX_SATURATION: [u32; 9] = [1, 0, 2, 1, 0, 2, 0, 1, 0];

    #[test]
    fn an_independent_set_contains_what_is_required() {
        let both = graph(5, "0-1 1-2 2-3 3-4 2-2").symmetric(&go).unwrap();
        let run = |required: &[u32], seed| maximal_independent_set(&both, required, seed, &go);
        for seed in 0..9 {
            assert_eq!(run(&[1, 3, 3], seed), Ok(vec![1, 3]));
            assert_eq!(run(&[2], seed), Ok(vec![0, 2, 4]));
        }
        assert!((0..9).any(|seed| run(&[], seed) != run(&[], 0)));
        assert_eq!(run(&[2, 1], 0), Err(Error::NotIndependent { source: 1, target: 2 }));
        assert_eq!(run(&[5], 0), Err(Error::UnknownVertex { vertex: 5, vertices: 5 }));
    }

    #[test]
    fn coloring_can_be_stopped() {
        let both = random_graph(20_000, 200_000, 3).simple_undirected(&go).unwrap();
        for order in ORDERS {
            assert_eq!(greedy_coloring(&both, order, &stop_after(3)), Err(Stopped));
        }
        let found = maximal_independent_set(&both, &[], 0, &stop_after(1));
        assert_eq!(found, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn neighbors_have_different_colors_and_sets_are_maximal(
            edges in undirected(),
            seed: u64,
        ) {
            let both = edges.unweighted();
            let simple = both.simple_undirected(&go).unwrap();
            for order in ORDERS {
                for graph in [&both, &simple] {
                    let colors = greedy_coloring(graph, order, &go).unwrap();
                    for v in 0..edges.vertices {
                        let near = || simple.neighbors(v).iter().map(|&to| colors[to as usize]);
                        // The smallest free color was taken.
                        prop_assert!(near().all(|color| color != colors[v as usize]));
                        prop_assert!((0..colors[v as usize]).all(|c| near().any(|color| color == c)));
                    }
                }
            }
            let set = maximal_independent_set(&both, &[0], seed, &go).unwrap();
            for v in 0..edges.vertices {
                let has_neighbor = simple.neighbors(v).iter().any(|to| set.contains(to));
                prop_assert_eq!(set.contains(&v), !has_neighbor);
            }
        }
    }
}
