//! Closeness and harmonic centrality in the meaning of NetworkX.
//!
//! Both take distances along incoming edges: from all vertices to this one. [`crate::closeness`]
//! has the meaning of CozoDB, which takes outgoing ones and counts the vertex itself.

use crate::csr::Csr;
use crate::distance_counts::{Sum, Summary, distance_counts};
use crate::error::Error;
use crate::limits::Limits;
use crate::workers::Workers;

/// Options of [`closeness_centrality`]. The default is that of NetworkX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosenessOptions {
    /// Whether closeness is multiplied by the share of vertices that reach a vertex (Wasserman and
    /// Faust), so that values in different components compare.
    pub wf_improved: bool,
}

impl Default for ClosenessOptions {
    fn default() -> Self {
        Self { wf_improved: true }
    }
}

/// The number of other vertices that reach a vertex divided by the sum of their distances; 0 for a
/// vertex that no other reaches.
///
/// `reverse` is the [`Csr::reverse`] of the graph. Distances are weights if it has weights.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn closeness_centrality(
    reverse: &Csr,
    options: &ClosenessOptions,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    let all = f64::from(reverse.vertices());
    let value = |sum: Sum| {
        let others = sum.reached as f64 - 1.0;
        if sum.distances <= 0.0 || all <= 1.0 {
            return 0.0;
        }
        let improved = if options.wf_improved { others / (all - 1.0) } else { 1.0 };
        others / sum.distances * improved
    };
    let sums = distance_counts(reverse, &Sum::default(), workers, limits)?;
    Ok(sums.into_iter().map(value).collect())
}

/// The sum of `1 / distance` over all other vertices that reach a vertex. Vertices at distance zero
/// do not count. Not normalized.
///
/// `reverse` is the [`Csr::reverse`] of the graph. Distances are weights if it has weights.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn harmonic_centrality(
    reverse: &Csr,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    let sums = distance_counts(reverse, &Inverse(0.0), workers, limits)?;
    Ok(sums.into_iter().map(|sum| sum.0).collect())
}

#[derive(Clone, Copy)]
struct Inverse(f64);

impl Summary for Inverse {
    fn add(&mut self, distance: f64, count: u64) {
        if distance > 0.0 {
            self.0 += count as f64 / distance;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, Threads, edges, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    #[test]
    fn distances_are_those_to_a_vertex() {
        let reverse = graph(4, "0-1 1-2").reverse(&go).unwrap();
        let of = |options: &ClosenessOptions| {
            closeness_centrality(&reverse, options, &OneThread, &go).unwrap()
        };
        let improved = of(&ClosenessOptions::default());
        assert_eq!(improved, [0.0, 1.0 / 3.0, 2.0 / 3.0 * (2.0 / 3.0), 0.0]);
        assert_eq!(of(&ClosenessOptions { wf_improved: false }), [0.0, 1.0, 2.0 / 3.0, 0.0]);
        assert_eq!(harmonic_centrality(&reverse, &OneThread, &go).unwrap(), [0.0, 1.0, 1.5, 0.0]);
    }

    /// NetworkX 3.6.1, closeness with `distance="weight", wf_improved=False`, harmonic with
    /// `distance="weight"`.
    #[test]
    fn values_are_those_of_networkx() {
        let graph = graph(6, "0-1:2 1-2:3 2-0:3 2-3:1 3-1:2 3-4:5 5-0:1");
        let reverse = graph.reverse(&go).unwrap();
        let plain = ClosenessOptions { wf_improved: false };
        let closeness = closeness_centrality(&reverse, &plain, &OneThread, &go).unwrap();
        let harmonic = harmonic_centrality(&reverse, &OneThread, &go).unwrap();
        let (a, b, c) = (0.2222222222222222, 0.4, 0.21052631578947367);
        let want = [a, b, c, 0.2222222222222222, 0.11627906976744186, 0.0];
        assert!(closeness.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12), "{closeness:?}");
        let (a, b, c) = (1.625, 1.6666666666666665, 0.9);
        let want = [a, b, c, 1.5595238095238093, 0.652020202020202, 0.0];
        assert!(harmonic.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12), "{harmonic:?}");
    }

    #[test]
    fn a_graph_without_edges_has_zeros() {
        let options = ClosenessOptions::default();
        assert_eq!(
            closeness_centrality(&graph(1, "0-0"), &options, &OneThread, &go),
            Ok(vec![0.0])
        );
        assert_eq!(closeness_centrality(&Csr::default(), &options, &OneThread, &go), Ok(vec![]));
        let stopped = harmonic_centrality(&long_path(5000), &OneThread, &stop_after(9));
        assert_eq!(stopped, Err(Error::Stopped));
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = random_graph(500, 3000, 4);
        let options = ClosenessOptions::default();
        let of = |workers: &dyn Workers| {
            let closeness = closeness_centrality(&graph, &options, workers, &go).unwrap();
            (closeness, harmonic_centrality(&graph, workers, &go).unwrap())
        };
        let want = of(&OneThread);
        assert_eq!(of(&Threads(2)), want);
        assert_eq!(of(&Threads(4)), want);
    }

    /// A graph that takes more than one batch of sources, by plain searches.
    #[test]
    fn sources_of_all_batches_are_searched() {
        let graph = random_graph(200, 300, 8);
        let reverse = graph.reverse(&go).unwrap();
        let pairs = crate::sssp::all_pairs(&graph, &OneThread, &go).unwrap();
        let found = harmonic_centrality(&reverse, &OneThread, &go).unwrap();
        for (v, found) in found.into_iter().enumerate() {
            let distances = pairs.iter().skip(v).step_by(200).filter(|&&distance| distance > 0.0);
            let want: f64 = distances.map(|distance| 1.0 / distance).sum();
            assert!((found - want).abs() < 1e-9, "{v}: {found} {want}");
        }
    }

    fn check(graph: &Csr, edges: &Edges, wf_improved: bool) -> Result<(), TestCaseError> {
        let reverse = graph.reverse(&go).unwrap();
        let options = ClosenessOptions { wf_improved };
        let closeness = closeness_centrality(&reverse, &options, &OneThread, &go).unwrap();
        let harmonic = harmonic_centrality(&reverse, &OneThread, &go).unwrap();
        let matrix = edges.distances();
        for v in 0..edges.vertices as usize {
            let column = matrix.iter().map(|row| row[v]).filter(|distance| distance.is_finite());
            let (reached, sum) = (column.clone().count() as f64, column.clone().sum::<f64>());
            let share = (reached - 1.0) / (f64::from(edges.vertices) - 1.0);
            let improved = if wf_improved { share } else { 1.0 };
            let want = if sum > 0.0 { (reached - 1.0) / sum * improved } else { 0.0 };
            prop_assert!((closeness[v] - want).abs() < 1e-9, "{} {}", closeness[v], want);
            let want: f64 = column.filter(|&d| d > 0.0).map(|d| 1.0 / d).sum();
            prop_assert!((harmonic[v] - want).abs() < 1e-9, "{} {}", harmonic[v], want);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn values_are_sums_of_the_matrix(edges in edges(), wf_improved in any::<bool>()) {
            check(&edges.graph(), &edges, wf_improved)?;
            let hops = edges.hops();
            check(&hops.unweighted(), &hops, wf_improved)?;
        }
    }
}
