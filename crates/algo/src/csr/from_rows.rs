//! Graphs from rows that the caller has already sorted.

use super::{Csr, NO_VERTEX};
use crate::error::Error;
use crate::limits::{Limits, STRIDE, Ticker};

impl Csr {
    /// Creates a graph from its columns: row `v` of `targets` is `offsets[v]..offsets[v + 1]` and
    /// sorted. Moves the columns, so it takes no further memory.
    ///
    /// # Errors
    /// [`Error::InvalidRows`] if the columns are not those of a graph, [`Error::TooManyVertices`],
    /// [`Error::UnequalColumns`], [`Error::VertexOutOfRange`], [`Error::WeightNotFinite`],
    /// [`Error::Stopped`].
    pub fn from_rows(
        offsets: Vec<u64>,
        targets: Vec<u32>,
        weights: Option<Vec<f64>>,
        limits: &dyn Limits,
    ) -> Result<Self, Error> {
        let ticker = &mut Ticker::new(limits)?;
        let vertices = offsets.len().saturating_sub(1);
        if vertices >= NO_VERTEX as usize {
            return Err(Error::TooManyVertices { vertices });
        }
        let edges = targets.len();
        if let Some(weights) = weights.as_ref().filter(|weights| weights.len() != edges) {
            let weights = Some(weights.len());
            return Err(Error::UnequalColumns { sources: edges, targets: edges, weights });
        }
        if offsets.first() != Some(&0) || offsets.last() != Some(&(edges as u64)) {
            return Err(Error::InvalidRows { row: 0 });
        }
        for (row, pair) in offsets.windows(2).enumerate() {
            let (from, to) = (pair[0] as usize, pair[1] as usize);
            let Some(found) = targets.get(from..to) else { return Err(Error::InvalidRows { row }) };
            if !found.is_sorted() {
                return Err(Error::InvalidRows { row });
            }
            if let Some(&vertex) = found.last().filter(|&&to| to as usize >= vertices) {
                return Err(Error::VertexOutOfRange { row: to - 1, vertex, vertices });
            }
            ticker.tick(found.len().min(STRIDE) + 1)?;
        }
        for (i, part) in weights.iter().flat_map(|weights| weights.chunks(STRIDE)).enumerate() {
            if let Some(place) = part.iter().position(|weight| !weight.is_finite()) {
                let edge = i * STRIDE + place;
                let source = offsets.partition_point(|&start| start <= edge as u64) - 1;
                let (target, weight) = (targets[edge], part[place]);
                return Err(Error::WeightNotFinite { source: source as u32, target, weight });
            }
            ticker.tick(part.len())?;
        }
        Ok(Self::from_parts(offsets, targets, weights))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go};

    #[test]
    fn columns_that_are_not_those_of_a_graph_are_refused() {
        let rows = |offsets: &[u64], targets: &[u32], weights: Option<&[f64]>| {
            let weights = weights.map(<[f64]>::to_vec);
            Csr::from_rows(offsets.to_vec(), targets.to_vec(), weights, &go).unwrap_err()
        };
        assert_eq!(rows(&[], &[], None), Error::InvalidRows { row: 0 });
        assert_eq!(rows(&[0, 1], &[], None), Error::InvalidRows { row: 0 });
        assert_eq!(rows(&[0, 2, 1], &[0], None), Error::InvalidRows { row: 0 });
        assert_eq!(rows(&[0, 0, 2], &[1, 0], None), Error::InvalidRows { row: 1 });
        let error = Error::VertexOutOfRange { row: 0, vertex: 2, vertices: 2 };
        assert_eq!(rows(&[0, 1, 1], &[2], None), error);
        let error = Error::UnequalColumns { sources: 1, targets: 1, weights: Some(0) };
        assert_eq!(rows(&[0, 1, 1], &[1], Some(&[])), error);
        let error = Error::WeightNotFinite { source: 1, target: 0, weight: f64::INFINITY };
        assert_eq!(rows(&[0, 1, 2], &[0, 0], Some(&[1.0, f64::INFINITY])), error);
    }

    proptest! {
        #[test]
        fn the_columns_of_a_graph_make_the_same_graph(edges in edges()) {
            let graph = edges.graph();
            let weights = graph.weights().map(<[f64]>::to_vec);
            let (offsets, targets) = (graph.offsets().to_vec(), graph.targets().to_vec());
            prop_assert_eq!(Csr::from_rows(offsets, targets, weights, &go).unwrap(), graph);
        }
    }
}
