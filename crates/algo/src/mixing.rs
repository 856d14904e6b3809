//! Measures of a whole graph by its degrees and directions: density, degree centrality, reciprocity
//! and degree assortativity, in the meaning of NetworkX.
//!
//! Newman, "Mixing patterns in networks" (2003), for the assortativity. Sums are whole numbers, so
//! results do not depend on the order of edges. [`crate::degree`] has the degrees themselves.

use crate::csr::Csr;
use crate::error::{Error, Stopped, refuse_length};
use crate::limits::{Limits, Ticker};

/// The number of edges, divided by the number of pairs of different vertices; 0 with fewer than
/// two vertices. More than 1 is possible with self-loops and parallel edges.
///
/// `edges` are those of the graph: each edge of an undirected graph once.
pub fn density(vertices: u32, edges: u64, directed: bool) -> f64 {
    if vertices < 2 {
        return 0.0;
    }
    let n = f64::from(vertices);
    let pairs = n * (n - 1.0);
    edges as f64 / if directed { pairs } else { pairs / 2.0 }
}

/// Each degree divided by the number of other vertices; 1 if there are none.
pub fn degree_centrality(degrees: &[u64]) -> Vec<f64> {
    if degrees.len() < 2 {
        return vec![1.0; degrees.len()];
    }
    let scale = 1.0 / (degrees.len() - 1) as f64;
    degrees.iter().map(|&degree| degree as f64 * scale).collect()
}

/// How often edges are returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reciprocity {
    /// The share of edges whose reverse is in the graph too; `None` without edges.
    pub overall: Option<f64>,
    /// For each vertex, the share of its incoming and outgoing edges whose reverse exists; `None`
    /// without edges.
    pub of_vertices: Vec<Option<f64>>,
}

/// The reciprocity of a directed graph. Parallel edges count once.
///
/// As in NetworkX, a self-loop is not returned overall, and is returned for its vertex.
///
/// # Errors
/// [`Stopped`].
pub fn reciprocity(graph: &Csr, limits: &dyn Limits) -> Result<Reciprocity, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let reverse = graph.reverse(limits)?;
    let (mut edges, mut returned_edges) = (0, 0);
    let mut of_vertices = Vec::with_capacity(graph.vertices() as usize);
    for v in 0..graph.vertices() {
        let (there, back) = (graph.neighbors(v), reverse.neighbors(v));
        ticker.tick(there.len() + back.len() + 1)?;
        let distinct = |row: &[u32]| row.chunk_by(|a, b| a == b).count();
        let (leaving, entering) = (distinct(there), distinct(back));
        let returned = common(there, back);
        let has_loop = usize::from(there.binary_search(&v).is_ok());
        edges += leaving;
        returned_edges += returned - has_loop;
        let all = leaving + entering;
        of_vertices.push((all > 0).then(|| 2.0 * returned as f64 / all as f64));
    }
    let overall = (edges > 0).then(|| returned_edges as f64 / edges as f64);
    Ok(Reciprocity { overall, of_vertices })
}

/// Number of distinct values in both ascending rows.
fn common(mut a: &[u32], mut b: &[u32]) -> usize {
    let mut count = 0;
    while let (Some(&x), Some(&y)) = (a.first(), b.first()) {
        count += usize::from(x == y);
        let least = x.min(y);
        a = &a[a.iter().take_while(|&&to| to == least).count()..];
        b = &b[b.iter().take_while(|&&to| to == least).count()..];
    }
    count
}

/// The correlation of the degrees at both ends of the edges (Pearson's): of `source_degrees` at the
/// sources and `target_degrees` at the targets. NaN if either does not vary.
///
/// For NetworkX's `degree_assortativity_coefficient` of a directed graph, pass numbers of outgoing
/// edges for sources and of incoming ones for targets. For an undirected graph, pass its
/// [`Csr::undirected`] and its degrees twice; a self-loop counts two in its degree.
///
/// The columns have a degree for each vertex.
///
/// # Errors
/// [`Error::WrongLength`], [`Error::Stopped`].
pub fn degree_assortativity(
    graph: &Csr,
    source_degrees: &[u64],
    target_degrees: &[u64],
    limits: &dyn Limits,
) -> Result<f64, Error> {
    refuse_length(source_degrees.len(), graph.vertices())?;
    refuse_length(target_degrees.len(), graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    let (mut x_sum, mut y_sum, mut xx_sum, mut yy_sum, mut xy_sum) = (0_i128, 0, 0, 0, 0);
    for v in 0..graph.vertices() {
        ticker.tick(1)?;
        let x = i128::from(source_degrees[v as usize]);
        for &to in graph.neighbors(v) {
            ticker.tick(1)?;
            let y = i128::from(target_degrees[to as usize]);
            x_sum += x;
            y_sum += y;
            xx_sum += x * x;
            yy_sum += y * y;
            xy_sum += x * y;
        }
    }
    let m = i128::from(graph.edges());
    let covariance = (m * xy_sum - x_sum * y_sum) as f64;
    let variances = (m * xx_sum - x_sum * x_sum) as f64 * (m * yy_sum - y_sum * y_sum) as f64;
    Ok(covariance / variances.sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::degree::degrees;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12 || a.is_nan() && b.is_nan()
    }

    fn assortativity(graph: &Csr) -> f64 {
        let all = degrees(graph, &go).unwrap();
        let (leaving, entering): (Vec<u64>, Vec<u64>) =
            all.iter().map(|degree| (degree.out_edges, degree.in_edges)).unzip();
        degree_assortativity(graph, &leaving, &entering, &go).unwrap()
    }

    /// Values of NetworkX 3.6.1.
    #[test]
    fn values_are_those_of_networkx() {
        let directed = graph(6, "0-1 1-0 1-2 2-3 3-1 3-3 0-3 4-3");
        assert!(close(assortativity(&directed), NX_DIRECTED));
        let both = directed.simple_undirected(&go).unwrap();
        let all: Vec<u64> = (0..6).map(|v| both.degree(v) as u64).collect();
        let found = degree_assortativity(&both, &all, &all, &go).unwrap();
        assert!(close(found, NX_UNDIRECTED));
        let found = reciprocity(&directed, &go).unwrap();
        assert_eq!(found.overall, Some(0.25));
        let want = [Some(2.0 / 3.0), Some(0.5), Some(0.0), Some(1.0 / 3.0), Some(0.0), None];
        assert_eq!(found.of_vertices, want);
        assert!(close(density(6, 8, true), 8.0 / 30.0));
        assert!(close(density(6, 7, false), 7.0 / 15.0));
        assert_eq!(density(1, 1, true), 0.0);
        assert_eq!(degree_centrality(&[2, 1, 1]), [1.0, 0.5, 0.5]);
        assert_eq!(degree_centrality(&[2]), [1.0]);
    }

    const NX_DIRECTED: f64 = -0.5555555555555556;
    const NX_UNDIRECTED: f64 = -0.7142857142857137;

    #[test]
    fn equal_degrees_have_no_correlation_and_the_count_can_be_stopped() {
        assert!(assortativity(&graph(3, "0-1 1-2 2-0")).is_nan());
        assert_eq!(reciprocity(&Csr::default(), &go).unwrap().overall, None);
        let path = long_path(300_000);
        assert_eq!(reciprocity(&path, &stop_after(9)), Err(Stopped));
        let ones = vec![1; 300_000];
        let stopped = degree_assortativity(&path, &ones, &ones, &stop_after(2));
        assert_eq!(stopped, Err(Error::Stopped));
        let wrong = Error::WrongLength { len: 0, vertices: 300_000 };
        assert_eq!(degree_assortativity(&path, &[], &ones, &go), Err(wrong));
    }

    proptest! {
        #[test]
        fn shares_and_correlations_are_those_of_their_definitions(edges in edges()) {
            let graph = edges.unweighted();
            let has = |a: u32, b: u32| edges.list.iter().any(|e| (e.0, e.1) == (a, b));
            let n = edges.vertices;
            let pairs: Vec<_> = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).collect();
            let found = reciprocity(&graph, &go).unwrap();
            let all = pairs.iter().filter(|e| has(e.0, e.1)).count();
            let returned = pairs.iter().filter(|e| e.0 != e.1 && has(e.0, e.1) && has(e.1, e.0));
            let returned = returned.count();
            prop_assert_eq!(found.overall, (all > 0).then(|| returned as f64 / all as f64));
            for v in 0..n {
                let ends = (0..n).map(|to| usize::from(has(v, to)) + usize::from(has(to, v)));
                let ends: usize = ends.sum();
                let returned = (0..n).filter(|&to| has(v, to) && has(to, v)).count();
                let want = (ends > 0).then(|| 2.0 * returned as f64 / ends as f64);
                prop_assert_eq!(found.of_vertices[v as usize], want);
            }

            let all = degrees(&graph, &go).unwrap();
            let ends = edges.list.iter().map(|e| {
                (all[e.0 as usize].out_edges as f64, all[e.1 as usize].in_edges as f64)
            });
            let ends: Vec<(f64, f64)> = ends.collect();
            let m = ends.len() as f64;
            let x_mean = ends.iter().map(|e| e.0).sum::<f64>() / m;
            let y_mean = ends.iter().map(|e| e.1).sum::<f64>() / m;
            let covariance: f64 = ends.iter().map(|e| (e.0 - x_mean) * (e.1 - y_mean)).sum();
            let spread = |values: &mut dyn Iterator<Item = f64>| values.map(|d| d * d).sum::<f64>();
            let x = spread(&mut ends.iter().map(|e| e.0 - x_mean));
            let y = spread(&mut ends.iter().map(|e| e.1 - y_mean));
            let found = assortativity(&graph);
            if x > 1e-9 && y > 1e-9 {
                prop_assert!((found - covariance / (x * y).sqrt()).abs() < 1e-9);
            } else {
                prop_assert!(found.is_nan());
            }
        }
    }
}
