//! Rows of a batch in the order of their keys. Memtables, batched lookups, commits and changes of
//! many rows sort by it.

use crate::column::Keys;
use std::cmp::Ordering;

/// Below this many rows, comparing alone is as fast.
const SPREAD_MIN: usize = 64;

/// Compares the keys of two rows.
#[must_use]
pub fn compare_rows(keys: &Keys, a: usize, b: usize) -> Ordering {
    match keys {
        Keys::Words(columns) => compare_words(columns, a, b),
        Keys::Bytes(column) => column.get(a).cmp(column.get(b)),
    }
}

fn compare_words(columns: &[Vec<u64>], a: usize, b: usize) -> Ordering {
    let compare = |column: &Vec<u64>| column[a].cmp(&column[b]);
    columns.iter().map(compare).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

/// Whether the keys ascend. Equal keys may follow each other.
#[must_use]
pub fn is_sorted(keys: &Keys) -> bool {
    match keys {
        Keys::Words(columns) if columns.len() == 1 => columns[0].is_sorted(),
        _ => (1..keys.len()).all(|i| compare_rows(keys, i - 1, i).is_le()),
    }
}

/// Sorts row numbers by their keys; rows of one key keep their order.
pub fn sort(keys: &Keys, rows: &mut [u32]) {
    if let (Keys::Words(columns), SPREAD_MIN..) = (keys, rows.len())
        && let Some((first, rest)) = columns.split_first()
    {
        return sort_words(first, rest, rows);
    }
    rows.sort_unstable_by(|&a, &b| compare_rows(keys, a as usize, b as usize).then(a.cmp(&b)));
}

/// Distributes the rows by their first word over buckets of about four, as if words were drawn
/// evenly between the least and the greatest, and sorts each bucket. For hashes this leaves a few
/// comparisons per row; for other words it costs one pass.
fn sort_words(first: &[u64], rest: &[Vec<u64>], rows: &mut [u32]) {
    let words = || rows.iter().map(|&row| first[row as usize]);
    let min = words().min().unwrap_or(0);
    let max = words().max().unwrap_or(0);
    let buckets = (rows.len() / 4).next_power_of_two();
    let shift = (u64::BITS - (max - min).leading_zeros()).saturating_sub(buckets.ilog2());
    // Never exceeds the last bucket: the shift is the number of bits by which the word's distance
    // is longer than a bucket's number.
    let bucket = |word: u64| ((word - min) >> shift) as usize;
    let mut ends = vec![0_u32; buckets];
    words().for_each(|word| ends[bucket(word)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    let mut pairs = vec![(0_u64, 0_u32); rows.len()];
    for &row in &*rows {
        let word = first[row as usize];
        let end = &mut ends[bucket(word)];
        pairs[*end as usize] = (word, row);
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        let pairs = &mut pairs[start..end as usize];
        start = end as usize;
        if rest.is_empty() {
            pairs.sort_unstable();
        } else {
            pairs.sort_unstable_by(|a, b| {
                let later = || compare_words(rest, a.1 as usize, b.1 as usize);
                a.0.cmp(&b.0).then_with(later).then(a.1.cmp(&b.1))
            });
        }
    }
    rows.iter_mut().zip(pairs).for_each(|(row, pair)| *row = pair.1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> impl Strategy<Value = Vec<u64>> {
        let word = prop_oneof![any::<u64>(), 0..20_u64, Just(u64::MAX), Just(1 << 63)];
        prop::collection::vec(word, 300)
    }

    proptest! {
        #[test]
        fn rows_are_sorted_by_keys_and_then_as_they_stood(
            columns in prop::collection::vec(words(), 1..4),
            rows in 0..300_u32,
        ) {
            let keys = Keys::Words(columns.clone());
            let mut sorted: Vec<u32> = (0..rows).collect();
            sort(&keys, &mut sorted);
            let mut expected: Vec<u32> = (0..rows).collect();
            expected.sort_by_key(|&row| columns.iter().map(|c| c[row as usize]).collect::<Vec<_>>());
            prop_assert_eq!(sorted, expected);
        }

        #[test]
        fn ascending_keys_are_known(mut first in words()) {
            let sorted = first.is_sorted();
            prop_assert_eq!(is_sorted(&Keys::Words(vec![first.clone()])), sorted);
            prop_assert_eq!(is_sorted(&Keys::Words(vec![first.clone(), first.clone()])), sorted);
            first.sort_unstable();
            prop_assert!(is_sorted(&Keys::Words(vec![first])));
        }
    }
}
