//! The edges of one vertex on one side, as slices of a batch of reads, and unions of both sides.
//!
//! # Invariant
//! The other ends on a side ascend, and strictly so without parallel edges.

use super::WeightType;
use super::edges::sum_words;
use base::shape::word_to_int;
use base::{Batch, Projection};

/// The edges of one vertex in one direction.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// Number of edges.
    pub(super) len: usize,
    /// The other ends, ascending, and strictly so without parallel edges; empty if they are not in
    /// the projection.
    pub(super) others: &'a [u64],
    /// Weights as words; empty if they are not in the projection.
    pub(super) weights: &'a [u64],
    /// Keys as words; empty if they are not in the projection.
    pub(super) keys: &'a [u64],
}

impl<'a> Side<'a> {
    /// The side of vertex `i` of a batch.
    pub(super) fn new(rows: &'a Batch, offsets: &[u64], i: usize, projection: Projection) -> Self {
        let range = offsets[i] as usize..offsets[i + 1] as usize;
        let others = if projection.key(1) { &rows.key_words(1)[range.clone()] } else { &[] };
        let weights = if projection.value(0) { &rows.value_words(0)[range.clone()] } else { &[] };
        let keys = if projection.key(2) { &rows.key_words(2)[range.clone()] } else { &[] };
        Self { len: range.len(), others, weights, keys }
    }

    /// The edges before and after the edges to `v` itself.
    pub(super) fn without(self, v: u64) -> [Self; 2] {
        let Ok(at) = self.others.binary_search(&v) else {
            return [self, Self { len: 0, others: &[], weights: &[], keys: &[] }];
        };
        // Parallel edges to `v` are next to each other.
        let before = self.others[..at].iter().rev().take_while(|other| **other == v).count();
        let after = self.others[at..].iter().take_while(|other| **other == v).count();
        [self.slice(0, at - before), self.slice(at + after, self.others.len())]
    }

    pub(super) fn add_keys(self, out: &mut Vec<i64>) {
        out.extend(self.keys.iter().map(|&word| word_to_int(word)));
    }

    fn slice(self, from: usize, to: usize) -> Self {
        let weights = if self.weights.is_empty() { &[] } else { &self.weights[from..to] };
        let keys = if self.keys.is_empty() { &[] } else { &self.keys[from..to] };
        Self { len: to - from, others: &self.others[from..to], weights, keys }
    }

    pub(super) fn sum(self, weight: WeightType) -> f64 {
        match weight {
            WeightType::None => self.len as f64,
            WeightType::Float | WeightType::Int => sum_words(weight, self.weights),
        }
    }
}

/// The edges of a vertex of an undirected graph by their other ends, ascending: the smaller ones
/// are sources, in the reverse direction, and the larger ones targets. A self-loop is on both
/// sides.
pub(super) fn both_ascending(v: u64, [leaving, arriving]: [Side<'_>; 2]) -> [Side<'_>; 2] {
    let [below, _] = arriving.without(v);
    [below, leaving]
}

/// Appends the union of two ascending lists, without `v`.
pub(super) fn unite(mut a: &[u64], mut b: &[u64], v: u64, out: &mut Vec<u64>) {
    out.reserve(a.len() + b.len());
    while let (Some(&x), Some(&y)) = (a.first(), b.first()) {
        let least = x.min(y);
        if least != v {
            out.push(least);
        }
        a = &a[usize::from(x == least)..];
        b = &b[usize::from(y == least)..];
    }
    let rest = if a.is_empty() { b } else { a };
    match rest.binary_search(&v) {
        Err(_) => out.extend_from_slice(rest),
        Ok(at) => {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(&rest[at + 1..]);
        }
    }
}

/// Removes what repeats the item before it, from `start` on.
pub(super) fn dedup_from(ids: &mut Vec<u64>, start: usize) {
    let mut offsets = [start as u64, ids.len() as u64];
    dedup_groups(ids, &mut offsets);
}

/// Removes what repeats the item before it in its group. Group `i` is `offsets[i]..offsets[i + 1]`;
/// the last one ends with `ids`.
pub(super) fn dedup_groups(ids: &mut Vec<u64>, offsets: &mut [u64]) {
    let Some((&mut first, ends)) = offsets.split_first_mut() else { return };
    let (mut at, mut kept) = (first as usize, first as usize);
    for end in ends {
        let start = kept;
        for from in at..*end as usize {
            if kept == start || ids[from] != ids[kept - 1] {
                ids[kept] = ids[from];
                kept += 1;
            }
        }
        at = *end as usize;
        *end = kept as u64;
    }
    ids.truncate(kept);
}
