//! Maps dense integer keys to rows by an array, in place of a hash table.
//!
//! # Why
//! A search through a graph collects vertex numbers, which are mostly consecutive. An array lookup
//! takes a nanosecond, a hash table's ten to twenty.

use crate::value::cell::{Cell, small_range};

const NONE: u32 = u32::MAX;

/// Rows below which a hash table is small enough.
const ROWS_MIN: usize = 1024;

/// Most array entries per row.
const PLACES_A_ROW: usize = 32;

/// Maps integers of a range to rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Dense {
    /// Integer of the first entry.
    base: i64,
    rows: Vec<u32>,
}

impl Dense {
    /// Whether to try an array at this number of rows: only now and then.
    pub(super) fn is_time(rows: usize) -> bool {
        rows >= ROWS_MIN && rows.is_power_of_two()
    }

    /// The array of a column's rows; `None` where its cells are not all small integers that are
    /// dense enough.
    pub(super) fn of(column: &[Cell]) -> Option<Self> {
        let (least, greatest) = small_range(column)?;
        let places = places(least, greatest, column.len())?;
        let mut dense = Self { base: least, rows: vec![NONE; places] };
        for (row, cell) in column.iter().enumerate() {
            let place = cell.as_small_int().and_then(|int| usize::try_from(int - least).ok())?;
            dense.rows[place] = row as u32;
        }
        Some(dense)
    }

    /// The row of a cell.
    #[inline]
    pub(super) fn get(&self, cell: Cell) -> Option<usize> {
        let int = cell.as_small_int()?;
        let place = usize::try_from(int.wrapping_sub(self.base)).ok()?;
        self.rows.get(place).copied().filter(|&row| row != NONE).map(|row| row as usize)
    }

    /// Sets the row of a cell; returns false where the cell is too far from the others.
    pub(super) fn put(&mut self, cell: Cell, row: usize) -> bool {
        let Some(int) = cell.as_small_int() else { return false };
        let end = self.base + self.rows.len() as i64;
        if int < self.base || int >= end {
            let (least, greatest) = (int.min(self.base), int.max(end - 1));
            let Some(places) = places(least, greatest, row) else { return false };
            // Grows to twice the size, so that integers in ascending or descending order cost a
            // constant number of copies each.
            if int < self.base {
                let before = ((self.base - least) as usize).max(self.rows.len());
                self.rows.splice(..0, std::iter::repeat_n(NONE, before));
                self.base -= before as i64;
            } else {
                self.rows.resize(places, NONE);
            }
        }
        self.rows[(int - self.base) as usize] = row as u32;
        true
    }

    /// Approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        4 * self.rows.capacity()
    }
}

/// Number of entries for a range, unless that is too many for this many rows.
fn places(least: i64, greatest: i64, rows: usize) -> Option<usize> {
    let places = usize::try_from(greatest.checked_sub(least)?.checked_add(1)?).ok()?;
    (places <= rows.saturating_mul(PLACES_A_ROW)).then_some(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn numbers_are_found_until_they_lie_too_far_apart(
            first in prop::collection::vec(-50_i64..50, 1..20),
            more in prop::collection::vec((-3000_i64..3000, 0_usize..200), 0..60),
            asked in -3000_i64..3000,
        ) {
            let cell = |int: i64| Cell::small_int(int).unwrap();
            let column: Vec<Cell> = first.iter().map(|&int| cell(int)).collect();
            let Some(mut dense) = Dense::of(&column) else { return Ok(()) };
            let mut want: BTreeMap<i64, usize> = BTreeMap::new();
            first.iter().enumerate().for_each(|(row, &int)| { want.insert(int, row); });
            for (int, row) in more {
                if dense.put(cell(int), row) {
                    want.insert(int, row);
                }
            }
            prop_assert_eq!(dense.get(cell(asked)), want.get(&asked).copied());
            for (&int, &row) in &want {
                prop_assert_eq!(dense.get(cell(int)), Some(row));
            }
            prop_assert_eq!(dense.get(Cell::NULL), None);
        }
    }
}
