//! The quality of a given division of an undirected graph into communities.
//!
//! Graphs are symmetric: each edge is in the rows of both ends, a self-loop once. As in NetworkX, a
//! self-loop adds twice its weight to the degree of its vertex.

use crate::csr::Csr;
use crate::error::{Error, refuse_length};
use crate::limits::{Limits, Ticker};

/// Options of [`modularity`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModularityOptions {
    /// Larger values favor smaller communities. 1 is Newman's modularity.
    pub resolution: f64,
}

impl Default for ModularityOptions {
    fn default() -> Self {
        Self { resolution: 1.0 }
    }
}

/// The modularity of the communities in which `labels[v]` is the community of vertex `v`: the share
/// of weight inside of communities, less the share that is expected by the degrees. 0 without
/// edges.
///
/// Newman, "Analysis of weighted networks" (2004), as NetworkX's `modularity`.
///
/// # Errors
/// [`Error::WrongLength`], [`Error::Stopped`].
pub fn modularity(
    both: &Csr,
    labels: &[u32],
    options: &ModularityOptions,
    limits: &dyn Limits,
) -> Result<f64, Error> {
    let sums = Sums::new(both, labels, limits)?;
    let total: f64 = sums.degrees.iter().sum();
    if total == 0.0 {
        return Ok(0.0);
    }
    let quality = |(inside, degree): (&f64, &f64)| {
        inside / total - options.resolution * (degree / total) * (degree / total)
    };
    Ok(sums.inside.iter().zip(&sums.degrees).map(quality).sum())
}

/// The conductance of each community: the weight of edges that leave it, divided by the smaller of
/// the sums of degrees inside and outside. 0 where no edge leaves.
///
/// As NetworkX's `conductance`. The result has an entry for each number up to the largest label.
///
/// # Errors
/// [`Error::WrongLength`], [`Error::Stopped`].
pub fn conductance(both: &Csr, labels: &[u32], limits: &dyn Limits) -> Result<Vec<f64>, Error> {
    let sums = Sums::new(both, labels, limits)?;
    let total: f64 = sums.degrees.iter().sum();
    let ratio = |(inside, degree): (&f64, &f64)| {
        let cut = degree - inside;
        if cut <= 0.0 { 0.0 } else { cut / degree.min(total - degree) }
    };
    Ok(sums.inside.iter().zip(&sums.degrees).map(ratio).collect())
}

/// Sums of weights of each community.
struct Sums {
    /// Weights of edges inside, counted from both ends.
    inside: Vec<f64>,
    degrees: Vec<f64>,
}

impl Sums {
    fn new(both: &Csr, labels: &[u32], limits: &dyn Limits) -> Result<Self, Error> {
        refuse_length(labels.len(), both.vertices())?;
        let ticker = &mut Ticker::new(limits)?;
        let count = labels.iter().max().map_or(0, |&last| last as usize + 1);
        let mut sums = Self { inside: vec![0.0; count], degrees: vec![0.0; count] };
        for (v, &label) in (0..).zip(labels) {
            ticker.tick(1)?;
            for (to, weight) in both.weighted(v) {
                ticker.tick(1)?;
                let weight = if to == v { 2.0 * weight } else { weight };
                sums.degrees[label as usize] += weight;
                if labels[to as usize] == label {
                    sums.inside[label as usize] += weight;
                }
            }
        }
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{go, undirected};

    #[test]
    fn labels_of_another_graph_are_refused() {
        let wrong = Error::WrongLength { len: 1, vertices: 0 };
        assert_eq!(conductance(&Csr::default(), &[0], &go), Err(wrong));
    }

    proptest! {
        #[test]
        fn quality_is_what_all_pairs_say(
            edges in undirected(),
            labels in prop::collection::vec(0..3_u32, 12),
            resolution in 0.5..2.0,
        ) {
            let n = edges.vertices as usize;
            let labels = &labels[..n];
            let mut a = vec![vec![0.0; n]; n];
            edges.list.iter().for_each(|e| a[e.0 as usize][e.1 as usize] += e.2);
            (0..n).for_each(|v| a[v][v] *= 2.0);
            let degrees = a.iter().map(|row| row.iter().sum()).collect::<Vec<f64>>();
            let total: f64 = degrees.iter().sum();
            let mut want = 0.0;
            for i in 0..n {
                for j in (0..n).filter(|&j| labels[i] == labels[j] && total > 0.0) {
                    want += (a[i][j] - resolution * degrees[i] * degrees[j] / total) / total;
                }
            }
            let graph = edges.graph();
            let found = modularity(&graph, labels, &ModularityOptions { resolution }, &go);
            prop_assert!((found.unwrap() - want).abs() < 1e-9);

            for (label, found) in (0..).zip(conductance(&graph, labels, &go).unwrap()) {
                let sum = |same: bool| -> f64 {
                    (0..n).filter(|&v| (labels[v] == label) == same).map(|v| degrees[v]).sum()
                };
                let leaving = edges.list.iter().filter(|e| {
                    labels[e.0 as usize] == label && labels[e.1 as usize] != label
                });
                let cut: f64 = leaving.map(|e| e.2).sum();
                let want = if cut == 0.0 { 0.0 } else { cut / sum(true).min(sum(false)) };
                prop_assert!((found - want).abs() < 1e-9);
            }
        }
    }
}
