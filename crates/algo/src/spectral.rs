//! Centralities from eigenvectors: eigenvector centrality, Katz centrality, hubs and authorities.
//!
//! All three are power iterations in the meaning of NetworkX. Weights of parallel edges add up.

use crate::csr::Csr;
use crate::error::{Error, refuse_length};
use crate::limits::Limits;
use crate::pull::{Pull, change, distribution};
use crate::workers::Workers;

/// Options of [`eigenvector_centrality`]. The defaults are those of NetworkX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EigenvectorOptions<'a> {
    /// The values before the first round. They need not sum to 1. `None`: uniform.
    pub start: Option<&'a [f64]>,
    /// Ends when the average change of a vertex is less than this.
    pub tolerance: f64,
    /// Maximum number of rounds.
    pub rounds_max: u32,
}

impl Default for EigenvectorOptions<'_> {
    fn default() -> Self {
        Self { start: None, tolerance: 1e-6, rounds_max: 100 }
    }
}

/// The eigenvector of the largest eigenvalue over incoming edges, of Euclidean length 1.
///
/// `reverse` is the [`Csr::reverse`] of the graph. As in NetworkX each round adds the value of the
/// vertex itself, which shifts the eigenvalues by 1, so that bipartite graphs converge too.
///
/// # Errors
/// [`Error::NullGraph`], [`Error::ZeroSum`], [`Error::WrongLength`], [`Error::NoConvergence`],
/// [`Error::Stopped`].
pub fn eigenvector_centrality(
    reverse: &Csr,
    options: &EigenvectorOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    let n = reverse.vertices() as usize;
    if n == 0 {
        return Err(Error::NullGraph);
    }
    let mut values = distribution(options.start, reverse)?;
    let pull = Pull::new(reverse, workers, limits);
    let mut next = vec![0.0; n];
    for _ in 0..options.rounds_max {
        let squares = pull.round(&values, &mut next, &|first, part| {
            part.iter_mut().zip(&values[first..]).for_each(|(next, value)| *next += value);
            part.iter().map(|value| value * value).sum::<f64>()
        })?;
        divide(&mut next, squares.iter().sum::<f64>().sqrt());
        std::mem::swap(&mut values, &mut next);
        if change(&values, &next) < n as f64 * options.tolerance {
            return Ok(values);
        }
    }
    Err(Error::NoConvergence { rounds: options.rounds_max })
}

/// Options of [`katz_centrality`]. The defaults are those of NetworkX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KatzOptions<'a> {
    /// Factor of each further edge. Less than one divided by the largest eigenvalue, or the rounds
    /// do not converge.
    pub alpha: f64,
    /// The value that each vertex has by itself.
    pub beta: f64,
    /// Such a value for each vertex, in place of `beta`.
    pub betas: Option<&'a [f64]>,
    /// The values before the first round. `None`: zero.
    pub start: Option<&'a [f64]>,
    /// Whether the result has Euclidean length 1.
    pub normalized: bool,
    /// Ends when the average change of a vertex is less than this.
    pub tolerance: f64,
    /// Maximum number of rounds.
    pub rounds_max: u32,
}

impl Default for KatzOptions<'_> {
    fn default() -> Self {
        Self {
            alpha: 0.1,
            beta: 1.0,
            betas: None,
            start: None,
            normalized: true,
            tolerance: 1e-6,
            rounds_max: 1000,
        }
    }
}

/// For each vertex `beta` plus `alpha` times the sum over its incoming edges.
///
/// `reverse` is the [`Csr::reverse`] of the graph.
///
/// # Errors
/// [`Error::WrongLength`], [`Error::NoConvergence`], [`Error::Stopped`].
pub fn katz_centrality(
    reverse: &Csr,
    options: &KatzOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    let n = reverse.vertices() as usize;
    let mut values = start_of(options.start, 0.0, reverse)?;
    let betas = start_of(options.betas, options.beta, reverse)?;
    if n == 0 {
        return Ok(values);
    }
    let pull = Pull::new(reverse, workers, limits);
    let mut next = vec![0.0; n];
    for _ in 0..options.rounds_max {
        let changes = pull.round(&values, &mut next, &|first, part| {
            for (next, beta) in part.iter_mut().zip(&betas[first..]) {
                *next = options.alpha * *next + beta;
            }
            change(part, &values[first..])
        })?;
        std::mem::swap(&mut values, &mut next);
        if changes.iter().sum::<f64>() < n as f64 * options.tolerance {
            if options.normalized {
                let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
                divide(&mut values, length);
            }
            return Ok(values);
        }
    }
    Err(Error::NoConvergence { rounds: options.rounds_max })
}

/// Options of [`hits`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HitsOptions<'a> {
    /// The hubs before the first round. `None`: uniform.
    pub start: Option<&'a [f64]>,
    /// Ends when the hubs, divided by the largest, change by less than this in sum.
    pub tolerance: f64,
    /// Maximum number of rounds.
    pub rounds_max: u32,
    /// Whether both columns sum to 1. Otherwise the largest value of each is 1.
    pub normalized: bool,
}

impl Default for HitsOptions<'_> {
    fn default() -> Self {
        Self { start: None, tolerance: 1e-8, rounds_max: 100, normalized: true }
    }
}

/// Hubs and authorities of each vertex: the result of [`hits`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hits {
    /// Sums of the authorities that a vertex has edges to.
    pub hubs: Vec<f64>,
    /// Sums of the hubs that have edges to a vertex.
    pub authorities: Vec<f64>,
}

/// Kleinberg's hubs and authorities. `reverse` is the [`Csr::reverse`] of `graph`.
///
/// NetworkX computes the same vectors as singular vectors, if the largest singular value is unique.
/// If it nearly is not, the rounds converge slowly. A graph without edges has zeros.
///
/// # Errors
/// [`Error::WrongLength`], [`Error::NoConvergence`], [`Error::Stopped`].
pub fn hits(
    graph: &Csr,
    reverse: &Csr,
    options: &HitsOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Hits, Error> {
    refuse_length(reverse.vertices() as usize, graph.vertices())?;
    let n = graph.vertices() as usize;
    let mut hubs = start_of(options.start, 1.0 / n as f64, graph)?;
    let mut authorities = vec![0.0; n];
    let mut next = vec![0.0; n];
    let incoming = Pull::new(reverse, workers, limits);
    let outgoing = Pull::new(graph, workers, limits);
    let largest = |parts: &[f64]| parts.iter().copied().fold(0.0, f64::max);
    let of_part = |_: usize, part: &mut [f64]| largest(part);
    for _ in 0..options.rounds_max {
        let authority_max = largest(&incoming.round(&hubs, &mut authorities, &of_part)?);
        let hub_max = largest(&outgoing.round(&authorities, &mut next, &of_part)?);
        divide(&mut authorities, authority_max);
        divide(&mut next, hub_max);
        std::mem::swap(&mut hubs, &mut next);
        if change(&hubs, &next) < options.tolerance || n == 0 {
            if options.normalized {
                let sums = [hubs.iter().sum(), authorities.iter().sum()];
                divide(&mut hubs, sums[0]);
                divide(&mut authorities, sums[1]);
            }
            return Ok(Hits { hubs, authorities });
        }
    }
    Err(Error::NoConvergence { rounds: options.rounds_max })
}

/// A given column, or one that has `value` everywhere.
fn start_of(column: Option<&[f64]>, value: f64, graph: &Csr) -> Result<Vec<f64>, Error> {
    match column {
        Some(column) => refuse_length(column.len(), graph.vertices()).map(|()| column.to_vec()),
        None => Ok(vec![value; graph.vertices() as usize]),
    }
}

/// Divides by `by`, unless it is zero.
fn divide(values: &mut [f64], by: f64) {
    if by != 0.0 {
        values.iter_mut().for_each(|value| *value /= by);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, Threads, edges, go, graph, random_graph};
    use crate::workers::OneThread;

    /// For each vertex the sum of `values` over incoming edges.
    fn pulled(edges: &Edges, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; values.len()];
        edges.list.iter().for_each(|e| sums[e.1 as usize] += values[e.0 as usize] * e.2);
        sums
    }

    fn close(found: &[f64], want: [f64; 6]) {
        assert_eq!(found.len(), 6);
        assert!(found.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-8), "{found:?} {want:?}");
    }

    /// NetworkX 3.6.1 with `weight="weight"`.
    #[test]
    fn values_are_those_of_networkx() {
        let graph = graph(6, "0-1:2 1-2:1 2-0:3 2-3:1 3-1:2 3-4:5 1-2:2 5-0:1");
        let reverse = graph.reverse(&go).unwrap();
        let options = EigenvectorOptions { rounds_max: 1000, ..Default::default() };
        let found = eigenvector_centrality(&reverse, &options, &OneThread, &go).unwrap();
        let (a, b, c) = (0.5569216864511234, 0.5148655878709703, 0.5354809057930902);
        close(&found, [a, b, c, 0.18564056215037403, 0.32179099241933684, 0.0]);

        let betas = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let options = KatzOptions { alpha: 0.05, betas: Some(&betas), ..Default::default() };
        let found = katz_centrality(&reverse, &options, &OneThread, &go).unwrap();
        let (a, b, c) = (0.17133919632144196, 0.24612444985263351, 0.3211496402852658);
        close(&found, [a, b, c, 0.3950321245749656, 0.572476335144019, 0.5684619686374514]);

        let found = hits(&graph, &reverse, &Default::default(), &OneThread, &go).unwrap();
        close(&found.hubs, [0.13502381006373257, 0.0, 0.0, 0.8649761899362675, 0.0, 0.0]);
        close(&found.authorities, [0.0, 0.316211485387842, 0.0, 0.0, 0.683788514612158, 0.0]);
    }

    #[test]
    fn a_graph_without_vertices_has_no_eigenvector() {
        let null = Csr::default();
        let found = eigenvector_centrality(&null, &Default::default(), &OneThread, &go);
        assert_eq!(found, Err(Error::NullGraph));
        assert_eq!(katz_centrality(&null, &Default::default(), &OneThread, &go), Ok(vec![]));
        let found = hits(&null, &null, &Default::default(), &OneThread, &go);
        assert_eq!(found, Ok(Hits::default()));
    }

    #[test]
    fn a_factor_that_is_too_large_does_not_converge() {
        let triangle = graph(3, "0-1 1-0 1-2 2-1 0-2 2-0");
        let options = KatzOptions { alpha: 0.5, rounds_max: 50, ..Default::default() };
        let found = katz_centrality(&triangle, &options, &OneThread, &go);
        assert_eq!(found, Err(Error::NoConvergence { rounds: 50 }));
    }

    #[test]
    fn a_star_has_one_hub() {
        let star = graph(4, "0-1 0-2 0-3");
        let reverse = star.reverse(&go).unwrap();
        let found = hits(&star, &reverse, &Default::default(), &OneThread, &go).unwrap();
        assert_eq!(found.hubs, [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(found.authorities, [0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = random_graph(30_000, 300_000, 2);
        let reverse = graph.reverse(&go).unwrap();
        let long = EigenvectorOptions { rounds_max: 1000, ..Default::default() };
        let katz = KatzOptions { alpha: 0.001, ..Default::default() };
        let of = |workers: &dyn Workers| {
            (
                eigenvector_centrality(&reverse, &long, workers, &go).unwrap(),
                katz_centrality(&reverse, &katz, workers, &go).unwrap(),
                hits(&graph, &reverse, &Default::default(), workers, &go).unwrap(),
            )
        };
        let want = of(&OneThread);
        assert_eq!(of(&Threads(2)), want);
        assert_eq!(of(&Threads(4)), want);
    }

    proptest! {
        #[test]
        fn an_eigenvector_keeps_its_direction(edges in edges()) {
            // With both directions the matrix is symmetric. The tolerance bounds the residual.
            let edges = edges.both_ways();
            let options = EigenvectorOptions { rounds_max: 100_000, tolerance: 1e-9, ..Default::default() };
            let found = eigenvector_centrality(&edges.graph(), &options, &OneThread, &go).unwrap();
            let length: f64 = found.iter().map(|value| value * value).sum();
            prop_assert!((length - 1.0).abs() < 1e-9);
            let next = pulled(&edges, &found);
            let eigenvalue: f64 = next.iter().zip(&found).map(|(a, b)| a * b).sum();
            for (next, value) in next.iter().zip(&found) {
                prop_assert!((next - eigenvalue * value).abs() < 1e-5);
            }
        }

        #[test]
        fn katz_values_solve_their_equation(edges in edges(), betas in prop::collection::vec(0..4_u32, 12)) {
            let n = edges.vertices as usize;
            let betas: Vec<f64> = betas[..n].iter().copied().map(f64::from).collect();
            // At most 30 edges of weight at most 4: no eigenvalue exceeds 120.
            let options = KatzOptions {
                alpha: 1.0 / 240.0,
                betas: Some(&betas),
                tolerance: 1e-12,
                normalized: false,
                ..Default::default()
            };
            let reverse = edges.graph().reverse(&go).unwrap();
            let found = katz_centrality(&reverse, &options, &OneThread, &go).unwrap();
            for ((sum, beta), value) in pulled(&edges, &found).iter().zip(&betas).zip(&found) {
                prop_assert!((sum / 240.0 + beta - value).abs() < 1e-9);
            }
        }

        #[test]
        fn hubs_and_authorities_are_plain_rounds(edges in edges()) {
            let graph = edges.graph();
            let reverse = graph.reverse(&go).unwrap();
            let options = HitsOptions { rounds_max: 5000, normalized: false, ..Default::default() };
            let found = hits(&graph, &reverse, &options, &OneThread, &go);
            // A tie of singular values is decided by the start; only slow convergence is excluded.
            if let Ok(found) = found {
                let scaled = |mut column: Vec<f64>| {
                    let max = column.iter().copied().fold(0.0, f64::max);
                    divide(&mut column, max);
                    column
                };
                let back = Edges {
                    vertices: edges.vertices,
                    list: edges.list.iter().map(|e| (e.1, e.0, e.2)).collect(),
                };
                let hubs = scaled(pulled(&back, &pulled(&edges, &found.hubs)));
                prop_assert!(change(&hubs, &found.hubs) < 1e-7);
                let authorities = scaled(pulled(&edges, &found.hubs));
                prop_assert!(change(&authorities, &found.authorities) < 1e-7);
            }
        }
    }
}
