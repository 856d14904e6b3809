//! Triangles in parallel, and the coefficients that are made of them.
//!
//! Every edge points to its end of higher degree (Schank and Wagner, "Finding, counting and listing
//! all triangles in large graphs", 2005). So no row is longer than the square root of twice the
//! number of edges, and each triangle is found once. The row of a vertex becomes a bitmap, in which
//! the rows of its neighbors are looked up; a row that is much longer is searched instead.
//!
//! [`crate::clustering`] has the columns of CozoDB's rule, from the same count.
//!
//! Counts are whole numbers, so their sums do not depend on the order in which threads add.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::csr::Csr;
use crate::error::{Error, Stopped};
use crate::limits::{Limits, STRIDE, Ticker};
use crate::workers::{Workers, map_parts, part_of, parts_of};

/// Vertices of one part. Hubs differ so much in work that parts are smaller than elsewhere.
const PART_VERTICES: usize = 1 << 12;

/// Maximum number of parts. Each clears a bitmap of all vertices.
const PARTS_MAX: usize = 1024;

/// A row that is this many times as long as another is searched for its members.
const SEARCH_RATIO: usize = 32;

/// Which edges between neighbors count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriangleMeaning {
    /// Directions have no effect: NetworkX's `clustering` of undirected graphs.
    #[default]
    Undirected,
    /// Directed triangles as in Fagiolo, "Clustering in complex directed networks" (2007):
    /// NetworkX's `clustering` of directed graphs.
    Fagiolo,
    /// Directed edges between neighbors, of all that are possible: LDBC Graphalytics' LCC of
    /// directed graphs.
    Ldbc,
}

/// Options of [`triangles`].
#[derive(Clone, Copy, Debug, Default)]
pub struct TrianglesOptions {
    /// The definition of a triangle.
    pub meaning: TriangleMeaning,
}

/// Triangles of every vertex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Triangles {
    /// Triangles of each vertex. Fagiolo's count two for each unordered pair of neighbors and each
    /// choice of edges, LDBC's the edges between neighbors.
    pub counts: Vec<u64>,
    /// The largest possible count of each vertex: the denominators of [`Triangles::coefficients`].
    pub possible: Vec<u64>,
}

impl Triangles {
    /// The clustering coefficient of each vertex, 0 where no triangle is possible.
    pub fn coefficients(&self) -> Vec<f64> {
        let ratio = |(&count, &possible): (&u64, &u64)| {
            if possible == 0 { 0.0 } else { count as f64 / possible as f64 }
        };
        self.counts.iter().zip(&self.possible).map(ratio).collect()
    }

    /// Number of triangles of the graph, if the meaning is [`TriangleMeaning::Undirected`].
    pub fn total(&self) -> u64 {
        self.counts.iter().sum::<u64>() / 3
    }

    /// The share of paths of two edges that are part of a triangle, if the meaning is
    /// [`TriangleMeaning::Undirected`]; 0 without such paths.
    pub fn transitivity(&self) -> f64 {
        let (closed, all) = (self.counts.iter().sum::<u64>(), self.possible.iter().sum::<u64>());
        if all == 0 { 0.0 } else { closed as f64 / all as f64 }
    }
}

/// Counts the triangles of each vertex of a graph.
///
/// `graph` is symmetric, or for the directed meanings a directed graph. Parallel edges count
/// once and self-loops have no effect.
///
/// # Errors
/// [`Error::Stopped`].
pub fn triangles(
    graph: &Csr,
    options: &TrianglesOptions,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Triangles, Error> {
    let simple = graph.simple(&mut Ticker::new(limits)?)?;
    let (both, ways) = match options.meaning {
        TriangleMeaning::Undirected => (simple, None),
        TriangleMeaning::Fagiolo | TriangleMeaning::Ldbc => {
            let (both, ways) = both_ways(&simple, limits)?;
            (both, Some(ways))
        }
    };
    let counts = count_triangles(&both, ways.as_deref(), options.meaning, workers, limits)?;
    let possible = (0..both.vertices()).map(|v| {
        let degree = both.degree(v) as u64;
        let pairs = degree * degree.saturating_sub(1);
        match (options.meaning, &ways) {
            (TriangleMeaning::Fagiolo, Some(ways)) => {
                let row = &ways[both.row(v)];
                let total: u64 = row.iter().map(|&ways| u64::from(ways)).sum();
                let returned = row.iter().filter(|&&ways| ways == 2).count() as u64;
                2 * (total * total.saturating_sub(1) - 2 * returned)
            }
            (TriangleMeaning::Ldbc, _) => pairs,
            _ => pairs / 2,
        }
    });
    Ok(Triangles { counts, possible: possible.collect() })
}

/// The symmetric form of a simple directed graph, and for each of its edges the number of
/// directions (1 or 2) in which the graph has it.
fn both_ways(simple: &Csr, limits: &dyn Limits) -> Result<(Csr, Vec<u8>), Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let doubled = simple.symmetric(limits)?;
    let mut ways: Vec<u8> = Vec::with_capacity(doubled.targets().len());
    for v in 0..doubled.vertices() {
        for run in doubled.neighbors(v).chunk_by(|a, b| a == b) {
            ways.push(run.len() as u8);
            ticker.tick(run.len())?;
        }
        ticker.tick(1)?;
    }
    Ok((doubled.simple(ticker)?, ways))
}

/// The triangles of each vertex. `both` is symmetric, without parallel edges and self-loops; `ways`
/// are the directions of its edges, if the meaning is directed.
pub(crate) fn count_triangles(
    both: &Csr,
    ways: Option<&[u8]>,
    meaning: TriangleMeaning,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<u64>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let rank = |v: u32| (both.degree(v), v);
    let upward = both.filtered(|v, to| rank(v) < rank(to), ticker)?;
    let up_ways = ways.map(|ways| {
        let edges = (0..both.vertices()).flat_map(|v| both.row(v).map(move |i| (v, i)));
        let upward = edges.filter(|&(v, i)| rank(v) < rank(both.targets()[i]));
        upward.map(|(_, i)| ways[i]).collect::<Vec<u8>>()
    });
    let count = Count {
        upward: &upward,
        ways: up_ways.as_deref(),
        meaning,
        sums: (0..both.vertices()).map(|_| AtomicU64::new(0)).collect(),
        is_serial: workers.threads() == 1,
    };
    let n = count.sums.len();
    let rows = PART_VERTICES.max(n.div_ceil(PARTS_MAX));
    let part = |i| count.part(part_of(i, n, rows), &mut Ticker::new(limits)?);
    map_parts(workers, parts_of(n, rows), &part).into_iter().collect::<Result<(), Stopped>>()?;
    Ok(count.sums.into_iter().map(AtomicU64::into_inner).collect())
}

/// The state that the parallel parts of a count share.
struct Count<'a> {
    upward: &'a Csr,
    ways: Option<&'a [u8]>,
    meaning: TriangleMeaning,
    sums: Vec<AtomicU64>,
    is_serial: bool,
}

impl Count<'_> {
    fn part(&self, vertices: Range<usize>, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        // For each vertex, one more than its place in the row of `v`. Without ways, only a bit.
        let n = self.sums.len();
        let mut bits = vec![0_u64; n.div_ceil(64)];
        let mut places = vec![0_u32; if self.ways.is_some() { n } else { 0 }];
        for v in vertices.start as u32..vertices.end as u32 {
            let row = self.upward.neighbors(v);
            ticker.tick(1 + row.len())?;
            if row.len() < 2 {
                continue;
            }
            for (place, &to) in (1..).zip(row) {
                bits[to as usize / 64] |= 1 << (to % 64);
                if let Some(slot) = places.get_mut(to as usize) {
                    *slot = place;
                }
            }
            match self.ways {
                None => self.plain(v, &bits, ticker)?,
                Some(ways) => self.directed(v, ways, &places, ticker)?,
            }
            for &to in row {
                bits[to as usize / 64] = 0;
                if let Some(slot) = places.get_mut(to as usize) {
                    *slot = 0;
                }
            }
        }
        Ok(())
    }

    fn plain(&self, v: u32, bits: &[u64], ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let row = self.upward.neighbors(v);
        let mut all = 0;
        for &middle in row {
            let far = self.upward.neighbors(middle);
            let mut found = 0;
            if far.len() / SEARCH_RATIO > row.len() {
                for &last in row.iter().filter(|&last| far.binary_search(last).is_ok()) {
                    self.add(last, 1);
                    found += 1;
                }
                ticker.tick(row.len() * 8)?;
            } else {
                for part in far.chunks(STRIDE) {
                    for &last in part {
                        if bits[last as usize / 64] >> (last % 64) & 1 == 1 {
                            self.add(last, 1);
                            found += 1;
                        }
                    }
                    ticker.tick(part.len())?;
                }
            }
            self.add(middle, found);
            all += found;
        }
        self.add(v, all);
        Ok(())
    }

    fn directed(
        &self,
        v: u32,
        ways: &[u8],
        places: &[u32],
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let row = self.upward.row(v);
        for edge in row.clone() {
            let middle = self.upward.targets()[edge];
            for far in self.upward.row(middle) {
                ticker.tick(1)?;
                let last = self.upward.targets()[far];
                let place = places[last as usize] as usize;
                if place == 0 {
                    continue;
                }
                let near = u64::from(ways[edge]);
                let across = u64::from(ways[far]);
                let long = u64::from(ways[row.start + place - 1]);
                if self.meaning == TriangleMeaning::Fagiolo {
                    let choices = 2 * near * across * long;
                    [v, middle, last].iter().for_each(|&corner| self.add(corner, choices));
                } else {
                    self.add(v, across);
                    self.add(middle, long);
                    self.add(last, near);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn add(&self, v: u32, count: u64) {
        let sum = &self.sums[v as usize];
        if self.is_serial {
            // One thread needs no locked instruction, which would cost more than the search.
            sum.store(sum.load(Relaxed) + count, Relaxed);
        } else if count > 0 {
            sum.fetch_add(count, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clustering::clustering_coefficients;
    use crate::testing::{Threads, edges, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    const MEANINGS: [TriangleMeaning; 3] =
        [TriangleMeaning::Undirected, TriangleMeaning::Fagiolo, TriangleMeaning::Ldbc];

    #[test]
    fn a_square_with_a_diagonal_has_two_triangles() {
        let both = graph(4, "0-1 1-2 2-3 3-0 0-2").symmetric(&go).unwrap();
        let found = triangles(&both, &TrianglesOptions::default(), &OneThread, &go).unwrap();
        assert_eq!(found.counts, [2, 1, 2, 1]);
        assert_eq!((found.total(), found.transitivity()), (2, 0.75));
        assert_eq!(found.coefficients(), [2.0 / 3.0, 1.0, 2.0 / 3.0, 1.0]);
    }

    #[test]
    fn the_result_does_not_depend_on_threads() {
        let directed = random_graph(20_000, 100_000, 3);
        let both = directed.symmetric(&go).unwrap();
        for meaning in MEANINGS {
            let options = TrianglesOptions { meaning };
            let graph = if meaning == TriangleMeaning::Undirected { &both } else { &directed };
            let one = triangles(graph, &options, &OneThread, &go).unwrap();
            assert_eq!(triangles(graph, &options, &Threads(3), &go).unwrap(), one);
        }
        let known = clustering_coefficients(&both, &go).unwrap();
        let found = triangles(&both, &TrianglesOptions::default(), &Threads(2), &go).unwrap();
        assert!(known.iter().map(|row| row.triangles).eq(found.counts));
    }

    #[test]
    fn counting_can_be_stopped() {
        let both = long_path(300_000).symmetric(&go).unwrap();
        let options = TrianglesOptions::default();
        let found = triangles(&both, &options, &OneThread, &stop_after(12));
        assert_eq!(found, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn triangles_are_what_the_adjacency_matrix_says(edges in edges()) {
            let n = edges.vertices as usize;
            let mut a = vec![vec![0_u64; n]; n];
            for &(from, to, _) in edges.list.iter().filter(|e| e.0 != e.1) {
                a[from as usize][to as usize] = 1;
            }
            let graph = edges.unweighted();
            let both = graph.symmetric(&go).unwrap();
            let run = |graph, meaning| {
                triangles(graph, &TrianglesOptions { meaning }, &Threads(2), &go).unwrap()
            };
            let plain = run(&both, TriangleMeaning::Undirected);
            let fagiolo = run(&graph, TriangleMeaning::Fagiolo);
            let ldbc = run(&graph, TriangleMeaning::Ldbc);
            for v in 0..n {
                let w = |i: usize, j: usize| a[i][j] + a[j][i];
                let near = (0..n).filter(|&j| w(v, j) > 0).collect::<Vec<_>>();
                let (mut closed, mut cube, mut across) = (0, 0, 0);
                for &j in &near {
                    for &k in &near {
                        closed += w(j, k).min(1);
                        cube += w(v, j) * w(j, k) * w(k, v);
                        across += a[j][k];
                    }
                }
                prop_assert_eq!(plain.counts[v], closed / 2);
                prop_assert_eq!(fagiolo.counts[v], cube);
                prop_assert_eq!(ldbc.counts[v], across);
                let total: u64 = near.iter().map(|&j| w(v, j)).sum();
                let returned = near.iter().map(|&j| a[v][j] * a[j][v]).sum::<u64>();
                let d = near.len() as u64;
                prop_assert_eq!(plain.possible[v], d * d.saturating_sub(1) / 2);
                prop_assert_eq!(ldbc.possible[v], d * d.saturating_sub(1));
                let possible = 2 * (total * total.saturating_sub(1) - 2 * returned);
                prop_assert_eq!(fagiolo.possible[v], possible);
            }
        }
    }
}
