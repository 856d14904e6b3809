//! The result of a script.

use crate::table::owned::OwnedCells;
use crate::value::cell::{Cell, Interner};
use model::{Type, Value};
use std::ops::Range;
use std::sync::Arc;

/// Rows in columns, with names.
#[derive(Clone, Debug)]
pub struct Output {
    /// Names of the columns.
    pub headers: Vec<String>,
    /// Rows.
    pub rows: usize,
    /// The known types of the columns, if there are no rows; otherwise empty.
    pub types: Vec<Option<Type>>,
    cells: OwnedCells,
}

impl Output {
    /// A result with this many rows, whose cells belong to `interner`.
    pub fn new(
        headers: Vec<String>,
        columns: Vec<Vec<Cell>>,
        rows: usize,
        interner: Arc<Interner>,
    ) -> Self {
        Self { headers, rows, types: Vec::new(), cells: OwnedCells::new(columns, interner) }
    }

    /// Adds the types of the columns, if there are no rows.
    #[must_use]
    pub fn with_types(self, types: impl FnOnce() -> Vec<Option<Type>>) -> Self {
        if self.rows > 0 { self } else { Self { types: types(), ..self } }
    }

    /// A result with the single column `status` and one row.
    pub fn status(text: &str) -> Self {
        Self::of_values(&["status"], vec![vec![Value::Str(text.to_owned())]])
    }

    /// A result from rows of values.
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

    /// The cells of a column, which belong to [`Output::interner`].
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    #[inline]
    pub fn column(&self, column: usize) -> &[Cell] {
        &self.cells.columns()[column]
    }

    /// The interner of the cells. No other interner can interpret them.
    #[must_use]
    #[inline]
    pub fn interner(&self) -> &Interner {
        self.cells.interner()
    }

    /// The cells with their interner.
    pub fn cells(&self) -> &OwnedCells {
        &self.cells
    }

    /// A range of rows.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let count = rows.len();
        let (headers, types) = (self.headers.clone(), self.types.clone());
        Self { headers, rows: count, types, cells: self.cells.slice(rows) }
    }

    /// The value in a row and a column.
    ///
    /// # Panics
    /// If the row or column does not exist.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Value {
        self.interner().value(self.column(column)[row])
    }

    /// The values of a row.
    ///
    /// # Panics
    /// If the row does not exist.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<Value> {
        let columns = self.cells.columns().iter();
        columns.map(|column| self.interner().value(column[row])).collect()
    }
}
