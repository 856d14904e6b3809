//! Threads of algorithms.
//!
//! An algorithm divides its work into parts that do not depend on the number of threads, for
//! example blocks of [`PART_VERTICES`] vertices, and combines the results of the parts in their
//! order. So a result is the same, bit for bit, for any number of threads.

#![expect(
    clippy::disallowed_types,
    reason = "each lock is taken by one part only, so no task ever waits under it"
)]

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Vertices of one part, where an algorithm divides its work by vertices.
pub const PART_VERTICES: usize = 1 << 14;

/// Runs parts of an algorithm on one or more threads.
///
/// The caller of an algorithm implements it, with threads that it already has.
pub trait Workers: Sync {
    /// Number of threads that may run parts at the same time, at least 1.
    fn threads(&self) -> usize;

    /// Calls `part(i)` once for each `i` in `0..parts`, in any order and perhaps at the same time,
    /// and returns after all have ended.
    fn each(&self, parts: usize, part: &(dyn Fn(usize) + Sync));
}

/// Runs all parts on the caller's thread, one after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneThread;

impl Workers for OneThread {
    fn threads(&self) -> usize {
        1
    }

    fn each(&self, parts: usize, part: &(dyn Fn(usize) + Sync)) {
        (0..parts).for_each(part);
    }
}

/// Number of parts of `rows` rows with at most `part_rows` rows each.
pub fn parts_of(rows: usize, part_rows: usize) -> usize {
    rows.div_ceil(part_rows.max(1))
}

/// Rows of part `i` if `rows` rows are divided into parts of `part_rows` rows.
pub fn part_of(i: usize, rows: usize, part_rows: usize) -> Range<usize> {
    let start = i.saturating_mul(part_rows).min(rows);
    start..start.saturating_add(part_rows).min(rows)
}

/// Calls `fill(rows, part)` for each part of `out`, where `rows` are the places of `part` in `out`.
pub fn fill<T: Send>(
    workers: &dyn Workers,
    out: &mut [T],
    part_rows: usize,
    fill: &(dyn Fn(Range<usize>, &mut [T]) + Sync),
) {
    let (rows, part_rows) = (out.len(), part_rows.max(1));
    let parts: Vec<_> = out.chunks_mut(part_rows).collect();
    map_items(workers, parts, &|i, part| fill(part_of(i, rows, part_rows), part));
}

/// The results of all parts, in their order.
pub fn map_parts<R: Send>(
    workers: &dyn Workers,
    parts: usize,
    map: &(dyn Fn(usize) -> R + Sync),
) -> Vec<R> {
    map_items(workers, vec![(); parts], &|i, ()| map(i))
}

/// The results of `map` for all items, in their order. Each call gets one item, for example a part
/// of a column to write to.
pub fn map_items<T: Send, R: Send>(
    workers: &dyn Workers,
    items: Vec<T>,
    map: &(dyn Fn(usize, T) -> R + Sync),
) -> Vec<R> {
    let slots: Vec<_> = items.into_iter().map(|item| Mutex::new((Some(item), None))).collect();
    workers.each(slots.len(), &|i| {
        let mut slot = slots[i].lock().unwrap_or_else(PoisonError::into_inner);
        slot.1 = slot.0.take().map(|item| map(i, item));
    });
    let result =
        |slot: Mutex<(_, Option<R>)>| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1;
    slots.into_iter().filter_map(result).collect()
}

/// The rows of all parts of `rows` rows, in their order, or the error of the first part that has
/// one.
pub(crate) fn gather<T: Send, E: Send>(
    workers: &dyn Workers,
    rows: usize,
    part_rows: usize,
    part: &(dyn Fn(Range<usize>) -> Result<Vec<T>, E> + Sync),
) -> Result<Vec<T>, E> {
    let mut all = Vec::with_capacity(rows);
    let parts = parts_of(rows, part_rows);
    for part in map_parts(workers, parts, &|i| part(part_of(i, rows, part_rows))) {
        all.extend(part?);
    }
    Ok(all)
}

/// Divides `column` into consecutive parts of the lengths `lens`. Rows after the last part are left
/// out.
pub(crate) fn split<T>(mut column: &mut [T], lens: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut parts = Vec::new();
    for len in lens {
        let (part, rest) = column.split_at_mut(len.min(column.len()));
        parts.push(part);
        column = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_rows_once() {
        for rows in [0, 1, 9, 10, 11, 100] {
            let all: Vec<usize> = (0..rows).collect();
            let parts = map_parts(&OneThread, parts_of(rows, 10), &|i| part_of(i, rows, 10));
            assert_eq!(parts.into_iter().flatten().collect::<Vec<_>>(), all);
            let gathered = gather(&OneThread, rows, 10, &|rows| Ok::<_, ()>(rows.collect()));
            assert_eq!(gathered, Ok(all.clone()));

            let mut filled = vec![0; rows];
            fill(&OneThread, &mut filled, 10, &|rows, part| {
                part.iter_mut().zip(rows).for_each(|(slot, row)| *slot = row);
            });
            assert_eq!(filled, all);

            let halves = split(&mut filled, [rows / 2, rows].into_iter());
            let lens = map_items(&OneThread, halves, &|i, half| (i, half.len()));
            assert_eq!(lens, [(0, rows / 2), (1, rows - rows / 2)]);
        }
    }
}
