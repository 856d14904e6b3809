//! A bitmap for a set of dense integers. A table of one column keeps one next to its rows.
//!
//! # Why
//! A set of vertices that a search has reached only answers whether a vertex is in it. A bitmap
//! takes a thousandth of a hash table's space, and fits the processor's nearest cache for graphs of
//! some hundred thousand vertices.

use crate::value::cell::{Cell, small_range};

/// Rows below which a hash table is small enough.
const ROWS_MIN: usize = 64;

/// Most bits per row. A kilobit is what ten rows with their entries in a hash table take.
const BITS_A_ROW: usize = 1024;

/// Words that are scanned for non-empty ones at a time.
const PASSED_WORDS: usize = 256;

/// A bitmap over a range of integers.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    /// Integer of the first bit, a multiple of 64.
    base: i64,
    words: Vec<u64>,
}

impl Bits {
    /// Whether to try a bitmap at this number of rows: only now and then.
    pub(super) fn is_time(rows: usize) -> bool {
        Self::is_worth(rows) && rows.is_power_of_two()
    }

    /// Whether a set with this many rows is worth a bitmap.
    pub(super) fn is_worth(rows: usize) -> bool {
        rows >= ROWS_MIN
    }

    /// The bitmap of a column; `None` where its cells are not all small integers that are dense
    /// enough.
    pub(super) fn of(column: &[Cell]) -> Option<Self> {
        let mut bits = Self::around(column)?;
        for &cell in column {
            bits.put(cell, column.len());
        }
        Some(bits)
    }

    /// An empty bitmap with room for a column's cells; `None` where they are not all small integers
    /// that are dense enough.
    pub(super) fn around(column: &[Cell]) -> Option<Self> {
        let (least, greatest) = small_range(column)?;
        let base = least & !63;
        Some(Self { base, words: vec![0; words(base, greatest, column.len())?] })
    }

    /// Whether a cell is in the set.
    #[inline]
    pub(super) fn has(&self, cell: Cell) -> bool {
        let Some(int) = cell.as_small_int() else { return false };
        let Ok(place) = usize::try_from(int.wrapping_sub(self.base)) else { return false };
        self.words.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// Adds a cell; returns whether it is new, or `None` where it is too far from the others. The
    /// set has `rows` rows.
    #[inline]
    pub(super) fn put(&mut self, cell: Cell, rows: usize) -> Option<bool> {
        let int = cell.as_small_int()?;
        let mut place = int.wrapping_sub(self.base);
        if place < 0 || place >= self.words.len() as i64 * 64 {
            self.grow(int, rows)?;
            place = int - self.base;
        }
        let (word, bit) = (&mut self.words[place as usize / 64], 1 << (place % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        Some(is_new)
    }

    /// Appends all integers, ascending.
    pub(super) fn append_to(&self, out: &mut Vec<Cell>) {
        let mut filled = [0_u32; PASSED_WORDS];
        for (words, start) in self.words.chunks(PASSED_WORDS).zip((0..).step_by(PASSED_WORDS)) {
            // Without a branch per word, which would be mispredicted where few rows are in many
            // words.
            let mut len = 0;
            for (number, &word) in words.iter().enumerate() {
                filled[len % PASSED_WORDS] = number as u32;
                len += usize::from(word != 0);
            }
            for &number in &filled[..len] {
                let mut rest = words[number as usize];
                let base = self.base + 64 * (start + i64::from(number));
                while rest != 0 {
                    out.extend(Cell::small_int(base + i64::from(rest.trailing_zeros())));
                    rest &= rest - 1;
                }
            }
        }
    }

    fn grow(&mut self, int: i64, rows: usize) -> Option<()> {
        let last = self.base + self.words.len() as i64 * 64 - 1;
        let wanted = words(int.min(self.base) & !63, int.max(last), rows)?;
        // Grows to twice the size, so that integers in ascending or descending order cost a
        // constant number of copies each.
        if int < self.base {
            let more = (wanted - self.words.len()).max(self.words.len());
            self.words.splice(..0, std::iter::repeat_n(0, more));
            self.base -= more as i64 * 64;
        } else {
            self.words.resize(wanted, 0);
        }
        Some(())
    }

    /// Approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        8 * self.words.capacity()
    }
}

/// Number of words for a range, unless that is too many for this many rows.
fn words(base: i64, greatest: i64, rows: usize) -> Option<usize> {
    let bits = usize::try_from(greatest.checked_sub(base)?.checked_add(1)?).ok()?;
    (bits <= rows.saturating_mul(BITS_A_ROW)).then_some(bits.div_ceil(64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn numbers_are_a_set_until_they_lie_too_far_apart(
            first in prop::collection::vec(-50_i64..50, 1..20),
            more in prop::collection::vec(-9000_i64..9000, 0..60),
            asked in -9000_i64..9000,
        ) {
            let cell = |int: i64| Cell::small_int(int).unwrap();
            let column: Vec<Cell> = first.iter().map(|&int| cell(int)).collect();
            let mut bits = Bits::of(&column).unwrap();
            let mut want: BTreeSet<i64> = first.iter().copied().collect();
            for int in more {
                if let Some(is_new) = bits.put(cell(int), column.len()) {
                    prop_assert_eq!(is_new, want.insert(int));
                }
            }
            prop_assert_eq!(bits.has(cell(asked)), want.contains(&asked));
            prop_assert!(want.iter().all(|&int| bits.has(cell(int))));
            let mut all = Vec::new();
            bits.append_to(&mut all);
            prop_assert!(all.into_iter().eq(want.iter().map(|&int| cell(int))));
            prop_assert!(!bits.has(Cell::NULL));
            prop_assert_eq!(bits.put(Cell::NULL, 9), None);
        }
    }
}
