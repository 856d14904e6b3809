//! Reversing all edges in parallel.
//!
//! # Why each part reads all edges
//! A part owns a range of the rows of the result and skips the edges that end elsewhere. Reading
//! the targets in order is fast; the random writes are what takes time, and each part does its own.
//! So parts share nothing, and the stable order of the rows needs no merging.

use std::ops::Range;

use crate::csr::{Csr, sum_up};
use crate::error::Stopped;
use crate::limits::{Limits, STRIDE, Ticker};
use crate::workers::{Workers, map_items, part_of, split};

/// Edges per part. With fewer, another thread does not pay.
const PART_EDGES_MIN: usize = 1 << 18;

impl Csr {
    /// As [`Csr::reverse`], in parallel. The result is the same.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn reversed(&self, workers: &dyn Workers, limits: &dyn Limits) -> Result<Self, Stopped> {
        let parts = workers.threads().min(self.targets().len() / PART_EDGES_MIN);
        if parts < 2 {
            return self.reverse(limits);
        }
        let offsets = self.offsets_of_reverse(parts, workers, limits)?;
        let mut targets = vec![0; self.targets().len()];
        let mut weights = self.weights().map(|all| vec![0.0; all.len()]);
        let rows = balanced(&offsets, parts);
        let edges = || rows.iter().map(|r| (offsets[r.end] - offsets[r.start]) as usize);
        let mut weight_parts = match &mut weights {
            Some(weights) => split(weights, edges()).into_iter().map(Some).collect(),
            None => Vec::new(),
        };
        weight_parts.resize_with(rows.len(), || None);
        let items: Vec<_> = split(&mut targets, edges()).into_iter().zip(weight_parts).collect();
        let scattered = map_items(workers, items, &|i, (targets, weights)| {
            self.scatter_rows(rows[i].clone(), &offsets, targets, weights, limits)
        });
        scattered.into_iter().collect::<Result<(), Stopped>>()?;
        Ok(Self::from_parts(offsets, targets, weights))
    }

    fn offsets_of_reverse(
        &self,
        parts: usize,
        workers: &dyn Workers,
        limits: &dyn Limits,
    ) -> Result<Vec<u64>, Stopped> {
        let n = self.vertices() as usize;
        let mut offsets = vec![0; n + 1];
        let part_rows = n.div_ceil(parts);
        let counts = offsets[1..].chunks_mut(part_rows).collect();
        let counted = map_items(workers, counts, &|i, counts| {
            let ticker = &mut Ticker::new(limits)?;
            let rows = part_of(i, n, part_rows);
            for part in self.targets().chunks(STRIDE) {
                for &to in part.iter().filter(|&&to| rows.contains(&(to as usize))) {
                    counts[to as usize - rows.start] += 1;
                }
                ticker.tick(part.len())?;
            }
            Ok(())
        });
        counted.into_iter().collect::<Result<(), Stopped>>()?;
        sum_up(&mut offsets);
        Ok(offsets)
    }

    /// Writes the rows `rows` of the reverse to the columns, which begin with the first of them.
    fn scatter_rows(
        &self,
        rows: Range<usize>,
        offsets: &[u64],
        targets: &mut [u32],
        mut weights: Option<&mut [f64]>,
        limits: &dyn Limits,
    ) -> Result<(), Stopped> {
        let ticker = &mut Ticker::new(limits)?;
        let first = offsets[rows.start];
        let mut next: Vec<u64> = offsets[rows.clone()].iter().map(|at| at - first).collect();
        for v in 0..self.vertices() {
            ticker.tick(1)?;
            for i in self.row(v) {
                ticker.tick(1)?;
                let to = self.targets()[i] as usize;
                if !rows.contains(&to) {
                    continue;
                }
                let slot = &mut next[to - rows.start];
                targets[*slot as usize] = v;
                if let (Some(out), Some(all)) = (&mut weights, self.weights()) {
                    out[*slot as usize] = all[i];
                }
                *slot += 1;
            }
        }
        Ok(())
    }
}

/// Divides the rows of a graph into at most `parts` consecutive ranges with about as many edges
/// each.
pub(crate) fn balanced(offsets: &[u64], parts: usize) -> Vec<Range<usize>> {
    let n = offsets.len() - 1;
    // A vertex counts as one more edge: rows without edges take time too.
    let total = offsets[n] + n as u64;
    let mut ranges = Vec::with_capacity(parts);
    let mut start = 0;
    for part in 1..=parts as u64 {
        let goal = total.div_ceil(parts as u64).saturating_mul(part);
        let mut end = (start, n);
        while end.0 < end.1 {
            let middle = end.0.midpoint(end.1);
            if offsets[middle + 1] + (middle as u64) < goal {
                end.0 = middle + 1
            } else {
                end.1 = middle
            }
        }
        let end = if part == parts as u64 { n } else { end.0 };
        if start < end {
            ranges.push(start..end);
        }
        start = end;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, edges, go, random_graph};

    #[test]
    fn a_reverse_is_the_same_for_any_number_of_threads() {
        let graph = random_graph(5000, 1_200_000, 7);
        let weights: Vec<f64> = (0..graph.edges()).map(|i| i as f64).collect();
        let weighted =
            Csr::from_parts(graph.offsets().to_vec(), graph.targets().to_vec(), Some(weights));
        for graph in [graph, weighted] {
            let want = graph.reverse(&go).unwrap();
            for threads in [1, 2, 3, 4] {
                assert_eq!(graph.reversed(&Threads(threads), &go).unwrap(), want);
            }
        }
    }

    #[test]
    fn a_reverse_can_be_stopped() {
        let graph = random_graph(5000, 1_200_000, 7);
        assert_eq!(graph.reversed(&Threads(2), &|| false), Err(Stopped));
    }

    proptest! {
        #[test]
        fn balanced_ranges_cover_all_rows_once(edges in edges(), parts in 1..20_usize) {
            let graph = edges.graph();
            let ranges = balanced(graph.offsets(), parts);
            prop_assert!(ranges.len() <= parts);
            let rows: Vec<usize> = ranges.into_iter().flatten().collect();
            prop_assert_eq!(rows, (0..graph.vertices() as usize).collect::<Vec<_>>());
        }
    }
}
