//! The neighborhood of some vertices: everything within a number of edges, or a sample of it.
//!
//! Memory and time depend on what is found, not on the graph: vertices are numbered by a hash
//! table, and nothing depends on the order of its entries.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::csr::Csr;
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker};
use crate::random::Random;

/// Vertices in the order in which they were found, and the edges that led to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighborhood {
    /// The vertices: first the starts, then each level in turn. No vertex occurs twice.
    pub vertices: Vec<u32>,
    /// How many vertices are within each number of edges, from 0.
    pub level_ends: Vec<usize>,
    /// Indexes of the followed edges in [`Csr::targets`].
    pub edges: Vec<u64>,
    /// For each followed edge, the indexes of its source and its target in `vertices`.
    pub ends: Vec<(u32, u32)>,
}

/// All vertices that `starts` reach over at most `hops` edges, and all edges from those that are
/// nearer.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::Stopped`].
pub fn neighborhood(
    graph: &Csr,
    starts: &[u32],
    hops: u32,
    limits: &dyn Limits,
) -> Result<Neighborhood, Error> {
    let mut found = Finder::new(graph, starts, limits)?;
    for _ in 0..hops {
        if !found.advance(None)? {
            break;
        }
    }
    Ok(found.result)
}

/// A sample for training: of the outgoing edges of each vertex found in level `i`, `fan_outs[i]`
/// are followed, drawn uniformly without replacement. If it has no more than that, all are.
///
/// The sample of a vertex follows from `seed`, the vertex and the level alone.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::Stopped`].
pub fn sample_neighborhood(
    graph: &Csr,
    starts: &[u32],
    fan_outs: &[usize],
    seed: u64,
    limits: &dyn Limits,
) -> Result<Neighborhood, Error> {
    let mut found = Finder::new(graph, starts, limits)?;
    for &fan_out in fan_outs {
        if !found.advance(Some((fan_out, seed)))? {
            break;
        }
    }
    Ok(found.result)
}

struct Finder<'a> {
    graph: &'a Csr,
    places: HashMap<u32, u32>,
    result: Neighborhood,
    ticker: Ticker<'a>,
}

impl<'a> Finder<'a> {
    fn new(graph: &'a Csr, starts: &[u32], limits: &'a dyn Limits) -> Result<Self, Error> {
        refuse_unknown(starts, graph.vertices())?;
        let (places, result) = (HashMap::new(), Neighborhood::default());
        let mut found = Self { graph, places, result, ticker: Ticker::new(limits)? };
        for &start in starts {
            found.place(start);
        }
        found.result.level_ends.push(found.result.vertices.len());
        Ok(found)
    }

    /// The place of `v` among the vertices, which it joins if it is new.
    fn place(&mut self, v: u32) -> u32 {
        match self.places.entry(v) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let place = self.result.vertices.len() as u32;
                self.result.vertices.push(v);
                *entry.insert(place)
            }
        }
    }

    /// Follows the edges of the last level, or a sample by fan-out and seed. Returns whether it
    /// found new vertices.
    fn advance(&mut self, sample: Option<(usize, u64)>) -> Result<bool, Stopped> {
        let ends = &self.result.level_ends;
        let level = ends.len();
        let start = if level > 1 { ends[level - 2] } else { 0 };
        let end = ends[level - 1];
        for from in start..end {
            let v = self.result.vertices[from];
            let row = self.graph.row(v);
            self.ticker.tick(1)?;
            match sample.filter(|&(fan_out, _)| fan_out < row.len()) {
                Some((fan_out, seed)) => {
                    let random = &mut Random::new(seed ^ level as u64, u64::from(v));
                    for place in distinct(row.len(), fan_out, random) {
                        self.follow(from as u32, row.start + place)?;
                    }
                }
                None => row.into_iter().try_for_each(|edge| self.follow(from as u32, edge))?,
            }
        }
        let found = self.result.vertices.len();
        self.result.level_ends.push(found);
        Ok(found > end)
    }

    fn follow(&mut self, from: u32, edge: usize) -> Result<(), Stopped> {
        self.ticker.tick(1)?;
        let to = self.place(self.graph.targets()[edge]);
        self.result.edges.push(edge as u64);
        self.result.ends.push((from, to));
        Ok(())
    }
}

/// `count` different numbers below `bound`, which is larger, in ascending order (Floyd's method).
fn distinct(bound: usize, count: usize, random: &mut Random) -> Vec<usize> {
    let mut drawn = std::collections::BTreeSet::new();
    for last in bound - count..bound {
        let number = random.below(last + 1);
        if !drawn.insert(number) {
            drawn.insert(last);
        }
    }
    drawn.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[test]
    fn a_hub_passes_on_as_many_as_asked_for() {
        let star: String = (1..100).map(|v| format!("0-{v} ")).collect();
        let star = graph(100, &star);
        let mut counts = [0; 100];
        for seed in 0..1000 {
            let found = sample_neighborhood(&star, &[0], &[10, 10], seed, &go).unwrap();
            assert_eq!(found.level_ends, [1, 11, 11]);
            found.vertices.iter().for_each(|&v| counts[v as usize] += 1);
        }
        assert!(counts[1..].iter().all(|count| (60..150).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let graph = crate::testing::random_graph(500, 20_000, 3);
        let draw = |seed| sample_neighborhood(&graph, &[1, 2, 3], &[5, 4], seed, &go).unwrap();
        assert_eq!(draw(9), draw(9));
        assert_ne!(draw(9), draw(10));
    }

    #[test]
    fn a_search_can_be_stopped_and_an_unknown_start_is_refused() {
        let path = long_path(100_000);
        let stopped = neighborhood(&path, &[0], u32::MAX, &stop_after(2));
        assert_eq!(stopped, Err(Error::Stopped));
        let unknown = neighborhood(&graph(1, ""), &[0, 4], 1, &go);
        assert_eq!(unknown, Err(Error::UnknownVertex { vertex: 4, vertices: 1 }));
        assert_eq!(neighborhood(&path, &[], 3, &go).unwrap().vertices, []);
    }

    proptest! {
        #[test]
        fn a_neighborhood_is_all_within_a_distance(edges in edges(), hops in 0..5_u32) {
            let graph = edges.unweighted();
            let distances = edges.hops().distances();
            let found = neighborhood(&graph, &[0, 0], hops, &go).unwrap();
            let mut vertices = found.vertices.clone();
            vertices.sort_unstable();
            let is_within = |v: &u32| distances[0][*v as usize] <= f64::from(hops);
            let want: Vec<u32> = (0..edges.vertices).filter(is_within).collect();
            prop_assert_eq!(vertices, want);
            for (level, &end) in found.level_ends.iter().enumerate() {
                let within = distances[0].iter().filter(|&&hops| hops <= level as f64).count();
                prop_assert_eq!(end, within);
            }
            for (&edge, &(from, to)) in found.edges.iter().zip(&found.ends) {
                let (from, to) = (found.vertices[from as usize], found.vertices[to as usize]);
                prop_assert!(graph.row(from).contains(&(edge as usize)));
                prop_assert_eq!(graph.targets()[edge as usize], to);
            }
            let inner = |e: &&(u32, u32, f64)| distances[0][e.0 as usize] < f64::from(hops);
            prop_assert_eq!(found.edges.len(), edges.list.iter().filter(inner).count());
        }

        #[test]
        fn a_sample_has_the_fan_outs(edges in edges(), fan_out in 0..4_usize, seed in any::<u64>()) {
            let graph = edges.unweighted();
            let found = sample_neighborhood(&graph, &[0], &[fan_out], seed, &go).unwrap();
            prop_assert_eq!(found.edges.len(), graph.degree(0).min(fan_out));
            let mut distinct = found.edges.clone();
            distinct.dedup();
            prop_assert_eq!(distinct, found.edges);
        }
    }
}
