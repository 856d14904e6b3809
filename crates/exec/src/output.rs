//! What a script answers.

use crate::table::owned::OwnedCells;
use crate::value::cell::{Cell, Interner};
use model::{Type, Value};
use std::ops::Range;
use std::sync::Arc;

/// Rows with names, in columns.
#[derive(Clone, Debug)]
pub struct Output {
    /// Names of the columns.
    pub headers: Vec<String>,
    /// Rows.
    pub rows: usize,
    /// Where there are no rows that would show them, the types of the columns as far as they are
    /// known; else empty.
    pub types: Vec<Option<Type>>,
    cells: OwnedCells,
}

impl Output {
    /// So many rows, whose cells `interner` made.
    pub fn new(
        headers: Vec<String>,
        columns: Vec<Vec<Cell>>,
        rows: usize,
        interner: Arc<Interner>,
    ) -> Self {
        Self { headers, rows, types: Vec::new(), cells: OwnedCells::new(columns, interner) }
    }

    /// The same where there are no rows, with the types that the columns would have.
    #[must_use]
    pub fn with_types(self, types: impl FnOnce() -> Vec<Option<Type>>) -> Self {
        if self.rows > 0 { self } else { Self { types: types(), ..self } }
    }

    /// One column `status` with one row.
    pub fn status(text: &str) -> Self {
        Self::of_values(&["status"], vec![vec![Value::Str(text.to_owned())]])
    }

    /// Rows of values.
    pub fn of_values(headers: &[&str], rows: Vec<Vec<Value>>) -> Self {
        let interner = Arc::new(Interner::default());
        let mut columns = vec![Vec::with_capacity(rows.len()); headers.len()];
        let count = rows.len();
        for row in rows {
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(interner.take(value));
            }
        }
        let headers = headers.iter().map(|&header| header.to_owned()).collect();
        Self::new(headers, columns, count, interner)
    }

    /// The cells of a column, which [`Output::interner`] made.
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    #[inline]
    pub fn column(&self, column: usize) -> &[Cell] {
        &self.cells.columns()[column]
    }

    /// What the cells mean. They mean nothing to any other interner.
    #[must_use]
    #[inline]
    pub fn interner(&self) -> &Interner {
        self.cells.interner()
    }

    /// The cells beside their interner.
    pub fn cells(&self) -> &OwnedCells {
        &self.cells
    }

    /// Some of its rows.
    ///
    /// # Panics
    /// If there are no such rows.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let count = rows.len();
        let (headers, types) = (self.headers.clone(), self.types.clone());
        Self { headers, rows: count, types, cells: self.cells.slice(rows) }
    }

    /// The value in a row and a column.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Value {
        self.interner().value(self.column(column)[row])
    }

    /// A row's values.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<Value> {
        let columns = self.cells.columns().iter();
        columns.map(|column| self.interner().value(column[row])).collect()
    }
}
