//! The distinct values of each group, for `count_unique`.

use crate::table::Table;
use crate::value::cell::{Cell, Interner};
use crate::vector::column::{TypedColumn, Values};
use crate::vector::text_cells::TextCells;

/// A set of values, or of pairs of a group and a value.
pub(super) struct UniqueValues {
    /// Number of groups.
    pub groups: usize,
    seen: Table,
    /// Cells of strings, where columns are typed.
    texts: TextCells,
}

impl UniqueValues {
    /// No values yet. Without several groups, only values are stored.
    pub(super) fn new(has_groups: bool) -> Self {
        let columns = if has_groups { 2 } else { 1 };
        Self { groups: 0, seen: Table::set(columns), texts: TextCells::default() }
    }

    /// Adds the value of each row to its group.
    pub(super) fn add(&mut self, cells: &[Cell], groups: &[u32]) {
        match self.seen.arity() {
            1 => self.seen.insert_rows(&[cells], groups.len()),
            _ => {
                let numbers = group_cells(groups.iter().copied());
                self.seen.insert_rows(&[&numbers, cells], groups.len());
            }
        }
    }

    /// The cells of a typed column; `None` for kinds whose cells need no cache.
    pub(super) fn cells_of(
        &mut self,
        column: &TypedColumn<'_>,
        interner: &Interner,
    ) -> Option<Vec<Cell>> {
        let Values::Texts(texts) = &column.values else { return None };
        Some(self.texts.cells(texts, column.nulls.as_deref(), interner))
    }

    /// Adds the values of a worker's copy. `groups[i]` is the number here of its group `i`.
    pub(super) fn join(&mut self, other: &Self, groups: Vec<u32>) {
        let columns = other.seen.columns();
        match columns.as_slice() {
            [values] => self.seen.insert_rows(&[values], other.seen.rows()),
            [numbers, values] => {
                let number = |cell: &Cell| cell.as_small_int().map_or(0, |number| number as usize);
                let groups = group_cells(numbers.iter().map(|cell| groups[number(cell)]));
                self.seen.insert_rows(&[&groups, values], groups.len());
            }
            _ => {}
        }
    }

    /// The number of values of each group.
    pub(super) fn counts(&self) -> Vec<i64> {
        let mut counts = vec![0; self.groups];
        match self.seen.columns().as_slice() {
            [numbers, _] => {
                for cell in *numbers {
                    counts[cell.as_small_int().map_or(0, |number| number as usize)] += 1;
                }
            }
            _ => counts.iter_mut().for_each(|count| *count = self.seen.rows() as i64),
        }
        counts
    }

    /// Approximate size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.seen.bytes() + self.texts.bytes() as u64
    }

    /// Calls `visit` with each cell held.
    pub(super) fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        crate::sink::each_cell_of(&self.seen.columns(), visit);
    }
}

fn group_cells(groups: impl Iterator<Item = u32>) -> Vec<Cell> {
    // A number of 32 bits fits a cell.
    groups.map(|group| Cell::small_int(i64::from(group)).unwrap_or(Cell::NULL)).collect()
}
