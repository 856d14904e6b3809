//! The result of a script: rows in columns, with names. `session` returns it, and `quipu` converts
//! it to values and Arrow.

use crate::column_list::ColumnList;
use crate::table::owned::OwnedCells;
use crate::value::cell::{Cell, Interner};
use model::{Series, Type, Value};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Rows in columns, with names.
#[derive(Clone, Debug)]
pub struct QueryResult {
    /// Names of the columns.
    pub headers: Vec<String>,
    /// Rows.
    pub rows: usize,
    /// The types of the columns, where they were known before the query ran
    /// (`plan::Plan::result_types`). Values may be of other types. May be shorter than `headers`.
    pub types: Arc<[Option<Type>]>,
    /// Made of the list when they are first asked for.
    cells: OnceLock<OwnedCells>,
    /// The rows in typed columns, if they came so.
    list: Option<Arc<ColumnList>>,
}

impl QueryResult {
    /// A result with this many rows, whose cells belong to `interner`.
    pub fn new(
        headers: Vec<String>,
        columns: Vec<Vec<Cell>>,
        rows: usize,
        interner: Arc<Interner>,
    ) -> Self {
        let cells = OnceLock::from(OwnedCells::new(columns, interner));
        Self { headers, rows, types: Arc::default(), cells, list: None }
    }

    /// A result with the rows of a list.
    pub fn of_list(headers: Vec<String>, list: ColumnList) -> Self {
        let (rows, list) = (list.rows(), Some(Arc::new(list)));
        Self { headers, rows, types: Arc::default(), cells: OnceLock::new(), list }
    }

    /// Adds the types of the columns.
    #[must_use]
    pub fn with_types(self, types: &Arc<[Option<Type>]>) -> Self {
        Self { types: Arc::clone(types), ..self }
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

    /// The cells of a column, which belong to [`QueryResult::interner`].
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    #[inline]
    pub fn column(&self, column: usize) -> &[Cell] {
        &self.cells().columns()[column]
    }

    /// The interner of the cells. No other interner can interpret them.
    #[must_use]
    #[inline]
    pub fn interner(&self) -> &Interner {
        self.cells().interner()
    }

    /// The cells with their interner.
    pub fn cells(&self) -> &OwnedCells {
        self.cells.get_or_init(|| {
            let interner = Arc::new(Interner::default());
            let list = self.list.as_deref().cloned().unwrap_or_default();
            let mut columns = list.into_cells(&interner).columns;
            columns.resize(self.headers.len(), Vec::new());
            OwnedCells::new(columns, interner)
        })
    }

    /// The rows in typed columns, if no cells were made of them.
    pub fn list(&self) -> Option<&ColumnList> {
        self.list.as_deref().filter(|_| self.cells.get().is_none())
    }

    /// The values of a column, if they are in a typed column of one kind.
    #[must_use]
    pub fn series(&self, column: usize) -> Option<Series> {
        self.list.as_ref()?.series(column)
    }

    /// A range of rows.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let count = rows.len();
        let (headers, types) = (self.headers.clone(), Arc::clone(&self.types));
        match self.list() {
            Some(list) => Self { types, ..Self::of_list(headers, list.slice(rows)) },
            None => {
                let cells = OnceLock::from(self.cells().slice(rows));
                Self { headers, rows: count, types, cells, list: None }
            }
        }
    }

    /// The value in a row and a column.
    ///
    /// # Panics
    /// If the row or column does not exist.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Value {
        match self.list() {
            Some(list) => list.value(row, column),
            None => self.interner().value(self.column(column)[row]),
        }
    }

    /// The values of a row.
    ///
    /// # Panics
    /// If the row does not exist.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<Value> {
        (0..self.headers.len()).map(|column| self.value(row, column)).collect()
    }
}
