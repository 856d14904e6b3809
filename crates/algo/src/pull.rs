//! Sums over incoming edges, the round of PageRank and its relatives.
//!
//! # Why the result does not depend on threads
//! The vertices are divided into ranges by their edges alone. Each sum is computed by one thread in
//! the order of the row, and the results of the ranges come back in order.

use std::ops::Range;

use crate::csr::Csr;
use crate::error::{Error, Stopped, refuse_length};
use crate::limits::{Limits, STRIDE, Ticker};
use crate::reverse::balanced;
use crate::workers::{Workers, map_items, split};

/// Edges of a range, so that a range takes about a tenth of a millisecond.
const RANGE_EDGES: usize = 1 << 16;

/// Maximum number of ranges.
const RANGES_MAX: usize = 512;

/// A graph by incoming edges, divided for parallel rounds.
pub(crate) struct Pull<'a> {
    incoming: &'a Csr,
    ranges: Vec<Range<usize>>,
    workers: &'a dyn Workers,
    limits: &'a dyn Limits,
}

impl<'a> Pull<'a> {
    pub(crate) fn new(incoming: &'a Csr, workers: &'a dyn Workers, limits: &'a dyn Limits) -> Self {
        let parts = (incoming.targets().len() / RANGE_EDGES).clamp(1, RANGES_MAX);
        Self { incoming, ranges: balanced(incoming.offsets(), parts), workers, limits }
    }

    /// Writes to `out`, for each vertex, the sum of `values` of the sources of its incoming edges
    /// times their weights. Then `finish` gets each range: its first vertex and its part of `out`,
    /// which it may change. Returns its results in order.
    ///
    /// `values` and `out` must have one number for each vertex.
    pub(crate) fn round<R: Send>(
        &self,
        values: &[f64],
        out: &mut [f64],
        finish: &(dyn Fn(usize, &mut [f64]) -> R + Sync),
    ) -> Result<Vec<R>, Stopped> {
        let parts = split(out, self.ranges.iter().map(Range::len));
        let results = map_items(self.workers, parts, &|i, sums| {
            let first = self.ranges[i].start;
            self.sums(first, values, sums)?;
            Ok(finish(first, sums))
        });
        results.into_iter().collect()
    }

    fn sums(&self, first: usize, values: &[f64], sums: &mut [f64]) -> Result<(), Stopped> {
        let ticker = &mut Ticker::new(self.limits)?;
        for (v, sum) in (first as u32..).zip(sums) {
            *sum = 0.0;
            ticker.tick(1)?;
            let row = self.incoming.row(v);
            let targets = &self.incoming.targets()[row.clone()];
            match self.incoming.weights() {
                None => {
                    for part in targets.chunks(STRIDE) {
                        *sum += sum_of(part, values);
                        ticker.tick(part.len())?;
                    }
                }
                Some(weights) => {
                    for (&from, &weight) in targets.iter().zip(&weights[row]) {
                        *sum += values[from as usize] * weight;
                        ticker.tick(1)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The sum of the values of `vertices`. Four sums side by side do not wait for each other.
#[inline]
fn sum_of(vertices: &[u32], values: &[f64]) -> f64 {
    let (fours, rest) = vertices.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, &v) in sums.iter_mut().zip(four) {
            *sum += values[v as usize];
        }
    }
    let rest: f64 = rest.iter().map(|&v| values[v as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// A column divided by its sum. `None`: uniform.
pub(crate) fn distribution(column: Option<&[f64]>, graph: &Csr) -> Result<Vec<f64>, Error> {
    let n = graph.vertices() as usize;
    let Some(column) = column else { return Ok(vec![1.0 / n as f64; n]) };
    refuse_length(column.len(), graph.vertices())?;
    let sum: f64 = column.iter().sum();
    if sum == 0.0 && n > 0 {
        return Err(Error::ZeroSum);
    }
    Ok(column.iter().map(|value| value / sum).collect())
}

/// The sum of the differences between two columns.
pub(crate) fn change(new: &[f64], old: &[f64]) -> f64 {
    new.iter().zip(old).map(|(new, old)| (new - old).abs()).sum()
}
