//! Columns of cells: those read from a stored relation, and those of a result.

use crate::value::cell::Cell;

/// Columns of cells with equal lengths.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Number of rows, also where there are no columns.
    pub rows: usize,
    /// In the order requested.
    pub columns: Vec<Vec<Cell>>,
}

impl Columns {
    /// Columns without rows.
    pub(crate) fn of(count: usize) -> Self {
        Self { rows: 0, columns: vec![Vec::new(); count] }
    }

    /// Appends the rows of another one with as many columns.
    pub(crate) fn append(&mut self, other: Self) {
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            if column.is_empty() { *column = more } else { column.extend(more) }
        }
        self.rows += other.rows;
    }

    /// Removes rows that equal the one before.
    pub(crate) fn dedup(&mut self) {
        let columns = &self.columns;
        let starts: Vec<bool> = (0..self.rows)
            .map(|row| row == 0 || columns.iter().any(|column| column[row] != column[row - 1]))
            .collect();
        let rows = starts.iter().filter(|&&starts| starts).count();
        if rows == self.rows {
            return;
        }
        for column in &mut self.columns {
            let mut row = 0;
            column.retain(|_| {
                row += 1;
                starts[row - 1]
            });
        }
        self.rows = rows;
    }

    /// Calls `visit` with each cell.
    pub(crate) fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.columns.iter().flatten().for_each(|&cell| visit(cell));
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.columns.iter().map(|column| (column.capacity() * size_of::<Cell>()) as u64).sum()
    }
}

/// The values of some rows.
pub(crate) fn gather<T: Copy>(all: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|&row| all[row as usize]).collect()
}
