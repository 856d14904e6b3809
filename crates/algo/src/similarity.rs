//! Similarity of two vertices of an undirected graph by their neighbors.
//!
//! Liben-Nowell and Kleinberg, "The link-prediction problem for social networks" (2007). The
//! meaning is that of NetworkX's link prediction: a common neighbor of two vertices is a third
//! vertex, and a vertex with a self-loop is a neighbor of itself otherwise.
//!
//! # Why a pair has the same bits as in a search
//! Both add over common neighbors in ascending order.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::csr::Csr;
use crate::error::{Error, Stopped, refuse_unknown};
use crate::intersection::common_targets;
use crate::limits::{Limits, Ticker};
use crate::workers::{Workers, gather};

/// Pairs of one part.
const PART_PAIRS: usize = 1 << 10;

/// Vertices of one part of [`most_similar`]. A part clears a table of all vertices.
const PART_VERTICES: usize = 64;

/// How similarity is measured. N(v) are the neighbors of v.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// Number of common neighbors.
    CommonNeighbors,
    /// Common neighbors divided by the neighbors of either one. NetworkX's `jaccard_coefficient`.
    Jaccard,
    /// Common neighbors divided by the smaller number of neighbors (Szymkiewicz and Simpson). Not
    /// in NetworkX.
    Overlap,
    /// Sum of 1 / ln |N(w)| over common neighbors w. NetworkX's `adamic_adar_index`.
    AdamicAdar,
    /// Sum of 1 / |N(w)| over common neighbors w. NetworkX's `resource_allocation_index`.
    ResourceAllocation,
    /// |N(a)| · |N(b)|. NetworkX's `preferential_attachment`. [`most_similar`] considers only
    /// vertices with a common neighbor.
    PreferentialAttachment,
}

/// A vertex and its similarity to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similar {
    /// The vertex.
    pub vertex: u32,
    /// Its similarity.
    pub score: f64,
}

/// The similarity of each pair of vertices.
///
/// `both` is a symmetric graph, with self-loops once ([`Csr::undirected`]). Parallel edges count
/// once, and weights have no effect. The ends of a pair should differ: a vertex has all its
/// neighbors in common with itself, those of degree 1 with an infinite Adamic-Adar score.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::Stopped`].
pub fn similarities(
    both: &Csr,
    pairs: &[(u32, u32)],
    measure: Similarity,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    let count = both.vertices();
    pairs.iter().try_for_each(|&(a, b)| refuse_unknown(&[a, b], count))?;
    let neighbors = Neighbors::new(both, measure, limits)?;
    gather(workers, pairs.len(), PART_PAIRS, &|part| {
        let ticker = &mut Ticker::new(limits)?;
        let score = |&(a, b): &(u32, u32)| Ok(neighbors.pair(a, b, ticker)?);
        pairs[part].iter().map(score).collect()
    })
}

/// For each of `vertices` the `k` most similar others, the most similar first and of equals the
/// smallest first. Vertices without a common neighbor are left out.
///
/// `both` is as for [`similarities`].
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::Stopped`].
pub fn most_similar(
    both: &Csr,
    vertices: &[u32],
    k: usize,
    measure: Similarity,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<Vec<Similar>>, Error> {
    refuse_unknown(vertices, both.vertices())?;
    let neighbors = Neighbors::new(both, measure, limits)?;
    gather(workers, vertices.len(), PART_VERTICES, &|part| {
        let ticker = &mut Ticker::new(limits)?;
        let table = &mut Table { sums: vec![0.0; both.vertices() as usize], met: Vec::new() };
        let best = |&v: &u32| Ok(neighbors.best(v, k, table, ticker)?);
        vertices[part].iter().map(best).collect()
    })
}

/// Sums by vertex, cleared by the list of their vertices.
struct Table {
    sums: Vec<f64>,
    met: Vec<u32>,
}

/// The distinct neighbors of each vertex.
struct Neighbors<'a> {
    graph: Cow<'a, Csr>,
    /// The contribution of each vertex as a common neighbor.
    shares: Vec<f64>,
    measure: Similarity,
}

impl<'a> Neighbors<'a> {
    fn new(both: &'a Csr, measure: Similarity, limits: &dyn Limits) -> Result<Self, Stopped> {
        let ticker = &mut Ticker::new(limits)?;
        let mut is_distinct = true;
        for v in 0..both.vertices() {
            let row = both.neighbors(v);
            is_distinct &= row.is_sorted_by(|a, b| a < b);
            ticker.tick(row.len() + 1)?;
        }
        let graph = if is_distinct {
            Cow::Borrowed(both)
        } else {
            let mut last = None;
            let keep = |v, to| last.replace((v, to)) != Some((v, to));
            Cow::Owned(both.filtered(keep, ticker)?)
        };
        let share = |v| {
            // A self-loop has two ends at its vertex.
            let is_own = graph.neighbors(v).binary_search(&v).is_ok();
            let degree = (graph.degree(v) + usize::from(is_own)) as f64;
            match measure {
                Similarity::AdamicAdar => 1.0 / degree.ln(),
                Similarity::ResourceAllocation => 1.0 / degree,
                Similarity::PreferentialAttachment => degree,
                _ => 1.0,
            }
        };
        let shares = (0..both.vertices()).map(share).collect();
        Ok(Self { graph, shares, measure })
    }

    fn pair(&self, a: u32, b: u32, ticker: &mut Ticker<'_>) -> Result<f64, Stopped> {
        let (mut sum, mut shared) = (0.0, 0);
        let found = |i: usize, _| {
            let middle = self.graph.targets()[i];
            shared += 1;
            if middle != a && middle != b {
                sum += self.shares[middle as usize];
            }
        };
        common_targets(&self.graph, self.graph.row(a), self.graph.row(b), found, ticker)?;
        ticker.tick(1)?;
        Ok(self.score(a, b, sum, shared))
    }

    /// The score of two vertices. `sum` is the sum over their common neighbors, and `shared` the
    /// size of the intersection of their rows.
    fn score(&self, a: u32, b: u32, sum: f64, shared: usize) -> f64 {
        let (one, other) = (self.graph.degree(a), self.graph.degree(b));
        let divided = |by: usize| if by == 0 { 0.0 } else { sum / by as f64 };
        match self.measure {
            Similarity::Jaccard => divided(one + other - shared),
            Similarity::Overlap => divided(one.min(other)),
            Similarity::PreferentialAttachment => self.shares[a as usize] * self.shares[b as usize],
            _ => sum,
        }
    }

    fn best(
        &self,
        v: u32,
        k: usize,
        table: &mut Table,
        ticker: &mut Ticker<'_>,
    ) -> Result<Vec<Similar>, Stopped> {
        for &middle in self.graph.neighbors(v) {
            ticker.tick(1)?;
            for &to in self.graph.neighbors(middle) {
                ticker.tick(1)?;
                // A self-loop of either end makes the end no common neighbor.
                if middle == v || middle == to || to == v {
                    continue;
                }
                let sum = &mut table.sums[to as usize];
                if *sum == 0.0 {
                    table.met.push(to);
                }
                *sum += self.shares[middle as usize];
            }
        }
        let mut best = BinaryHeap::new();
        let has_loop = |v: u32| self.graph.neighbors(v).binary_search(&v).is_ok();
        let loop_here = has_loop(v);
        for to in table.met.drain(..) {
            ticker.tick(1)?;
            let sum = std::mem::take(&mut table.sums[to as usize]);
            let mut shared = 0;
            if self.measure == Similarity::Jaccard {
                let is_adjacent = self.graph.neighbors(v).binary_search(&to).is_ok();
                let loops = usize::from(loop_here) + usize::from(has_loop(to));
                shared = sum as usize + if is_adjacent { loops } else { 0 };
            }
            // Scores are not negative, so their bits have their order.
            best.push(Reverse((self.score(v, to, sum, shared).to_bits(), Reverse(to))));
            if best.len() > k {
                best.pop();
            }
        }
        let found = best.into_sorted_vec().into_iter();
        let similar =
            |Reverse((bits, Reverse(vertex)))| Similar { vertex, score: f64::from_bits(bits) };
        Ok(found.map(similar).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, go, graph, random_graph, stop_after, undirected};
    use crate::workers::OneThread;

    const ALL: [Similarity; 6] = [
        Similarity::CommonNeighbors,
        Similarity::Jaccard,
        Similarity::Overlap,
        Similarity::AdamicAdar,
        Similarity::ResourceAllocation,
        Similarity::PreferentialAttachment,
    ];

    /// Values of NetworkX 3.6.1, except for the overlap.
    #[test]
    fn values_are_those_of_networkx() {
        let both = graph(6, "0-1 0-2 1-2 1-3 2-3 3-4 4-0 5-5 5-0").undirected(&go).unwrap();
        let run = |measure| {
            similarities(&both, &[(0, 3), (1, 2), (5, 1)], measure, &OneThread, &go).unwrap()
        };
        assert_eq!(run(Similarity::CommonNeighbors), [3.0, 2.0, 1.0]);
        assert_eq!(run(Similarity::Jaccard), [0.75, 0.5, 0.25]);
        assert_eq!(run(Similarity::Overlap), [1.0, 2.0 / 3.0, 0.5]);
        assert_eq!(
            run(Similarity::AdamicAdar),
            [3.263173494142638, 1.631586747071319, 0.7213475204444817]
        );
        assert_eq!(
            run(Similarity::ResourceAllocation),
            [1.1666666666666665, 0.5833333333333333, 0.25]
        );
        assert_eq!(run(Similarity::PreferentialAttachment), [12.0, 9.0, 9.0]);
    }

    #[test]
    fn the_most_similar_come_first_and_of_equals_the_smallest() {
        let both = graph(6, "0-1 0-2 3-1 3-2 4-1 5-2").symmetric(&go).unwrap();
        let best = |k| {
            let found = most_similar(&both, &[0], k, Similarity::CommonNeighbors, &OneThread, &go);
            found.unwrap()[0].iter().map(|one| (one.vertex, one.score)).collect::<Vec<_>>()
        };
        assert_eq!(best(9), [(3, 2.0), (4, 1.0), (5, 1.0)]);
        assert_eq!(best(2), [(3, 2.0), (4, 1.0)]);
        assert_eq!(best(0), []);
    }

    #[test]
    fn what_is_not_there_is_refused_and_the_search_can_be_stopped() {
        let both = random_graph(3000, 30_000, 1).symmetric(&go).unwrap();
        let unknown = Error::UnknownVertex { vertex: 3000, vertices: 3000 };
        let found = similarities(&both, &[(0, 3000)], Similarity::Jaccard, &OneThread, &go);
        assert_eq!(found, Err(unknown));
        let found = most_similar(&both, &[3000], 2, Similarity::Jaccard, &OneThread, &go);
        assert_eq!(found, Err(unknown));
        let all: Vec<u32> = (0..3000).collect();
        let found = most_similar(&both, &all, 2, Similarity::Jaccard, &OneThread, &stop_after(9));
        assert_eq!(found, Err(Error::Stopped));
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let both = random_graph(500, 5000, 1).undirected(&go).unwrap();
        let all: Vec<u32> = (0..500).collect();
        let run =
            |workers: &dyn Workers| most_similar(&both, &all, 5, ALL[3], workers, &go).unwrap();
        assert_eq!(run(&Threads(3)), run(&OneThread));
    }

    proptest! {
        #[test]
        fn pairs_and_searches_are_what_the_sets_say(edges in undirected()) {
            let both = edges.unweighted();
            let n = edges.vertices;
            let near = |v: u32| {
                let row = edges.list.iter().filter(|e| e.0 == v).map(|e| e.1);
                row.collect::<std::collections::BTreeSet<u32>>()
            };
            let degree = |v: u32| (near(v).len() + usize::from(near(v).contains(&v))) as f64;
            let pairs: Vec<_> = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).collect();
            let pairs: Vec<_> = pairs.into_iter().filter(|pair| pair.0 != pair.1).collect();
            for measure in ALL {
                let found = similarities(&both, &pairs, measure, &Threads(2), &go).unwrap();
                let all: Vec<u32> = (0..n).collect();
                let best =
                    most_similar(&both, &all, n as usize, measure, &Threads(2), &go).unwrap();
                for (&(a, b), score) in pairs.iter().zip(found) {
                    let (one, other) = (near(a), near(b));
                    let third = one.intersection(&other).filter(|&&w| w != a && w != b);
                    let third: Vec<u32> = third.copied().collect();
                    let count = third.len() as f64;
                    let divided = |by: usize| if by == 0 { 0.0 } else { count / by as f64 };
                    let want = match measure {
                        Similarity::CommonNeighbors => count,
                        Similarity::Jaccard => divided(one.union(&other).count()),
                        Similarity::Overlap => divided(one.len().min(other.len())),
                        Similarity::AdamicAdar => third.iter().map(|&w| 1.0 / degree(w).ln()).sum(),
                        Similarity::ResourceAllocation => {
                            third.iter().map(|&w| 1.0 / degree(w)).sum()
                        }
                        Similarity::PreferentialAttachment => degree(a) * degree(b),
                    };
                    prop_assert_eq!(score, want);
                    let listed = best[a as usize].iter().find(|similar| similar.vertex == b);
                    prop_assert_eq!(listed.map(|similar| similar.score),
                        (!third.is_empty()).then_some(want));
                }
                let is_before = |x: &Similar, y: &Similar| {
                    x.score > y.score || x.score == y.score && x.vertex < y.vertex
                };
                prop_assert!(best.iter().all(|row| row.is_sorted_by(is_before)));
            }
        }
    }
}
