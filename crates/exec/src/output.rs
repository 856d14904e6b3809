//! What a script answers.

use crate::cell::{Cell, Interner};
use model::Value;
use std::sync::Arc;

/// Rows with names, in columns.
#[derive(Clone, Debug)]
pub struct Output {
    /// Names of the columns.
    pub headers: Vec<String>,
    /// The columns.
    pub columns: Vec<Vec<Cell>>,
    /// Rows.
    pub rows: usize,
    /// What the cells mean.
    pub interner: Arc<Interner>,
}

impl Output {
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
        Self { headers, columns, rows: count, interner }
    }

    /// The value in a row and a column.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Value {
        self.interner.value(self.columns[column][row])
    }

    /// A row's values.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<Value> {
        (0..self.columns.len()).map(|column| self.value(row, column)).collect()
    }
}
