//! Clustering coefficients of weighted graphs, undirected and directed, and their average.
//!
//! Onnela et al., "Intensity and coherence of motifs in weighted complex networks" (2005), and for
//! directed graphs Fagiolo, "Clustering in complex directed networks" (2007): each triangle counts
//! with the geometric mean of its weights, which are divided by the greatest weight. The meaning is
//! that of NetworkX's `clustering` with `weight`. [`crate::triangles`] has coefficients without
//! weights.
//!
//! # Why directed graphs need no other count
//! A triangle of three vertices has one or two edges between each pair of them, and each choice of
//! edges is a directed triangle. So the sum over all choices is the product of the sums of the
//! cube roots between the pairs.

use crate::csr::{Csr, Rows};
use crate::dijkstra_search::refuse_negative;
use crate::error::{Error, Stopped};
use crate::intersection::common_targets;
use crate::limits::{Limits, Ticker};
use crate::workers::{Workers, gather};

/// Vertices of one part. Hubs differ much in work.
const PART_VERTICES: usize = 1 << 10;

/// The coefficient of each vertex.
///
/// `graph` is directed, or if `directed` is false a symmetric graph. The weights of parallel edges
/// add up; self-loops only count for the greatest weight. Without weights each edge has weight 1.
/// If the greatest weight is zero, so are the coefficients.
///
/// Memory: a copy of the graph; with `directed` two more of its symmetric form.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn weighted_clustering(
    graph: &Csr,
    directed: bool,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let roots = cube_roots(graph, ticker)?;
    let (both, degrees) = if directed {
        let doubled = roots.symmetric(limits)?;
        let both = summed(&doubled, |sum| sum, ticker)?;
        let degrees = (0..both.vertices()).map(|v| doubled.degree(v)).collect();
        (both, degrees)
    } else {
        (roots, Vec::new())
    };
    gather(workers, both.vertices() as usize, PART_VERTICES, &|part| {
        let ticker = &mut Ticker::new(limits)?;
        let coefficient = |v: u32| {
            let count = both.degree(v) as f64;
            let possible = if directed {
                // Each neighbor with edges in both directions is in the degree twice.
                let total = degrees[v as usize] as f64;
                2.0 * (total * (total - 1.0) - 2.0 * (total - count))
            } else {
                count * (count - 1.0)
            };
            let sum = triangles(&both, v, ticker)?;
            Ok(if sum == 0.0 { 0.0 } else { 2.0 * sum / possible })
        };
        (part.start as u32..part.end as u32).map(coefficient).collect()
    })
}

/// The mean of the coefficients of all vertices, or if `count_zeros` is false of those that are
/// not zero. `None` if there are none. As NetworkX's `average_clustering`.
pub fn average_clustering(coefficients: &[f64], count_zeros: bool) -> Option<f64> {
    let counted = coefficients.iter().filter(|value| count_zeros || **value != 0.0);
    let count = counted.clone().count();
    (count > 0).then(|| counted.sum::<f64>() / count as f64)
}

/// The simple graph, each edge with the cube root of its weight divided by the greatest weight.
fn cube_roots(graph: &Csr, ticker: &mut Ticker<'_>) -> Result<Csr, Stopped> {
    let mut greatest = 0.0;
    let mut sums = Vec::new();
    for v in 0..graph.vertices() {
        sum_row(graph, v, true, &mut sums, ticker)?;
        greatest = sums.iter().fold(greatest, |most, edge: &(u32, f64)| edge.1.max(most));
    }
    let scale = |sum: f64| if greatest == 0.0 { 0.0 } else { (sum / greatest).cbrt() };
    summed(graph, scale, ticker)
}

/// The graph without self-loops, with the weights of parallel edges added up and passed through
/// `map`.
fn summed(graph: &Csr, map: impl Fn(f64) -> f64, ticker: &mut Ticker<'_>) -> Result<Csr, Stopped> {
    let mut rows = Rows::new(graph.vertices() as usize, graph.targets().len());
    let mut sums = Vec::new();
    for v in 0..graph.vertices() {
        sum_row(graph, v, false, &mut sums, ticker)?;
        rows.push(sums.iter().map(|&(to, sum)| (to, map(sum))));
    }
    Ok(rows.graph())
}

/// The distinct targets of a row with the sums of their weights.
fn sum_row(
    graph: &Csr,
    v: u32,
    with_loops: bool,
    sums: &mut Vec<(u32, f64)>,
    ticker: &mut Ticker<'_>,
) -> Result<(), Stopped> {
    ticker.tick(1)?;
    sums.clear();
    for (to, weight) in graph.weighted(v) {
        ticker.tick(1)?;
        match sums.last_mut() {
            Some(last) if last.0 == to => last.1 += weight,
            _ if to != v || with_loops => sums.push((to, weight)),
            _ => {}
        }
    }
    Ok(())
}

/// The sum over the triangles of `v` of the products of the weights of their edges.
fn triangles(both: &Csr, v: u32, ticker: &mut Ticker<'_>) -> Result<f64, Stopped> {
    let Some(weights) = both.weights() else { return Ok(0.0) };
    let mut sum = 0.0;
    let row = both.row(v);
    for edge in row.clone() {
        ticker.tick(1)?;
        let middle = both.targets()[edge];
        // Each pair of neighbors once: the second is the larger.
        let mut far = both.row(middle);
        far.start += both.neighbors(middle).partition_point(|&to| to <= middle);
        let product = |i: usize, j: usize| sum += weights[edge] * weights[i] * weights[j];
        common_targets(both, edge + 1..row.end, far, product, ticker)?;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, edges, go, graph, random_graph, stop_after};
    use crate::triangles::{TriangleMeaning, TrianglesOptions, triangles};
    use crate::workers::OneThread;

    fn close(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(found.iter().zip(want).all(is_close), "{found:?} {want:?}");
    }

    const TEXT: &str = "0-1:2 1-2:3 2-0:1 2-3:4 3-0:0.5 0-2:2.5 3-4:1";

    /// Values of NetworkX 3.6.1.
    #[test]
    fn values_are_those_of_networkx() {
        let directed = graph(5, TEXT);
        let found = weighted_clustering(&directed, true, &OneThread, &go).unwrap();
        close(&found, &NX_DIRECTED);
        assert!((average_clustering(&found, true).unwrap() - NX_AVERAGE).abs() < 1e-12);
        let single = graph(5, "0-1:2 1-2:3 2-3:4 3-0:0.5 0-2:2.5 3-4:1");
        let both = single.undirected(&go).unwrap();
        let found = weighted_clustering(&both, false, &OneThread, &go).unwrap();
        close(&found, &NX_UNDIRECTED);
        assert!((average_clustering(&found, false).unwrap() - NX_AVERAGE_NOT_ZERO).abs() < 1e-12);
        assert_eq!(average_clustering(&[], true), None);
        assert_eq!(average_clustering(&[0.0], false), None);
    }

    const NX_DIRECTED: [f64; 5] =
        [0.1813307415933545, 0.5354165833953264, 0.1813307415933545, 0.1237457081904821, 0.0];
    const NX_AVERAGE: f64 = 0.20436475495450349;
    const NX_UNDIRECTED: [f64; 5] =
        [0.348015668417264, 0.6165530185826176, 0.348015668417264, 0.1424979955563914, 0.0];
    const NX_AVERAGE_NOT_ZERO: f64 = 0.3637705877433842;

    #[test]
    fn weights_of_zero_have_no_triangles_and_a_negative_one_is_refused() {
        let zero = graph(3, "0-1:0 1-2:0 2-0:0");
        assert_eq!(weighted_clustering(&zero, true, &OneThread, &go).unwrap(), [0.0; 3]);
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        let found = weighted_clustering(&graph(2, "0-1:-1"), true, &OneThread, &go);
        assert_eq!(found, Err(negative));
        let large = random_graph(2000, 60_000, 3);
        let found = weighted_clustering(&large, true, &OneThread, &stop_after(9));
        assert_eq!(found, Err(Error::Stopped));
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = random_graph(5000, 30_000, 3);
        let one = weighted_clustering(&graph, true, &OneThread, &go).unwrap();
        assert_eq!(weighted_clustering(&graph, true, &Threads(3), &go).unwrap(), one);
    }

    proptest! {
        #[test]
        fn equal_weights_have_the_coefficients_without_weights(edges in edges()) {
            let mut edges = edges;
            edges.list.sort_by_key(|e| (e.0, e.1));
            edges.list.dedup_by_key(|e| (e.0, e.1));
            let graph = edges.unweighted();
            let both = graph.simple_undirected(&go).unwrap();
            for (graph, meaning) in
                [(&graph, TriangleMeaning::Fagiolo), (&both, TriangleMeaning::Undirected)]
            {
                let options = TrianglesOptions { meaning };
                let want = triangles(graph, &options, &OneThread, &go).unwrap().coefficients();
                let directed = meaning == TriangleMeaning::Fagiolo;
                let found = weighted_clustering(graph, directed, &OneThread, &go).unwrap();
                close(&found, &want);
            }
        }

        #[test]
        fn coefficients_are_sums_over_all_triples(edges in edges()) {
            let n = edges.vertices as usize;
            let mut w = vec![vec![0.0; n]; n];
            edges.list.iter().for_each(|e| w[e.0 as usize][e.1 as usize] += e.2);
            let most = w.iter().flatten().copied().fold(0.0, f64::max);
            let is_edge = |a: usize, b: usize| {
                edges.list.iter().any(|e| (e.0 as usize, e.1 as usize) == (a, b) && a != b)
            };
            let root = |a: usize, b: usize| if most > 0.0 { (w[a][b] / most).cbrt() } else { 0.0 };
            let all = |a: usize, b: usize| if a == b { 0.0 } else { root(a, b) + root(b, a) };
            let mut want = Vec::new();
            for v in 0..n {
                let mut sum = 0.0;
                for a in 0..n {
                    sum += (0..n).map(|b| all(v, a) * all(a, b) * all(b, v)).sum::<f64>();
                }
                let ways = |a: usize| f64::from(u8::from(is_edge(v, a)) + u8::from(is_edge(a, v)));
                let total: f64 = (0..n).map(ways).sum();
                let returned = (0..n).filter(|&a| ways(a) == 2.0).count() as f64;
                let possible = 2.0 * (total * (total - 1.0) - 2.0 * returned);
                want.push(if sum == 0.0 { 0.0 } else { sum / possible });
            }
            close(&weighted_clustering(&edges.graph(), true, &Threads(2), &go).unwrap(), &want);
        }
    }
}
