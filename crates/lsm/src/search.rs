//! Searches in rows that are sorted but are no slice.

use std::ops::Range;

/// The first of `rows` that is not before the sought key. Rows before it must come first.
#[inline]
pub(crate) fn lower_bound(rows: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The same, with a number of steps of twice the logarithm of the distance from the first of `rows`
/// (Bentley and Yao's search).
#[inline]
pub(crate) fn lower_bound_near(rows: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut step) = (rows.start, 1);
    while low < rows.end {
        let at = rows.end.min(low + step) - 1;
        if !is_before(at) {
            return lower_bound(low..at, is_before);
        }
        (low, step) = (at + 1, 2 * step);
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_find_the_first_that_is_not_before() {
        for end in 0..40_usize {
            for start in 0..=end {
                for first in start..=end {
                    let is_before = |row: usize| {
                        assert!((start..end).contains(&row));
                        row < first
                    };
                    assert_eq!(lower_bound(start..end, is_before), first);
                    assert_eq!(lower_bound_near(start..end, is_before), first);
                }
            }
        }
    }

    #[test]
    fn what_is_near_is_found_in_few_steps() {
        for far in [0, 1, 5, 100, 3000] {
            let steps = std::cell::Cell::new(0);
            let is_before = |row: usize| {
                steps.set(steps.get() + 1);
                row < 500 + far
            };
            assert_eq!(lower_bound_near(500..1 << 20, is_before), 500 + far);
            assert!(steps.get() <= 2 * (far + 1).ilog2() + 2, "{far}: {} steps", steps.get());
        }
    }
}
