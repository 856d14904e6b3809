//! A batch of bindings: what the variables of a body are, row by row.

use crate::value::cell::Cell;
use crate::value::columns::Columns;
use std::ops::Range;

/// Bindings of variables: a column each, empty where the variable is not bound or not needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    /// Rows.
    pub rows: usize,
    /// By variable.
    pub columns: Vec<Vec<Cell>>,
    /// How often each row stands there, where rows are counted; empty while each stands there once.
    pub weights: Vec<u64>,
}

impl Rows for Bindings {
    #[inline]
    fn cell(&self, var: usize, row: usize) -> Cell {
        self.columns[var][row]
    }
}

impl Bindings {
    /// One row that binds nothing.
    pub(crate) fn unit(variables: usize) -> Self {
        Self { rows: 1, columns: vec![Vec::new(); variables], weights: Vec::new() }
    }

    /// The live columns of these rows, in this order.
    pub(crate) fn gather(&self, rows: &[u32], live: &[usize]) -> Self {
        let mut columns = vec![Vec::new(); self.columns.len()];
        for &var in live {
            let column = &self.columns[var];
            if !column.is_empty() {
                columns[var] = rows.iter().map(|&row| column[row as usize]).collect();
            }
        }
        let weights = match self.weights.is_empty() {
            true => Vec::new(),
            false => rows.iter().map(|&row| self.weights[row as usize]).collect(),
        };
        Self { rows: rows.len(), columns, weights }
    }

    /// The live columns of rows that found something, of which only the number of times counts.
    pub(crate) fn gather_weighted(&self, rows: &[u32], weights: Vec<u64>, live: &[usize]) -> Self {
        Self { weights, ..self.gather(rows, live) }
    }

    /// The one row that came in, once for each row that was found: with the live ones of these
    /// variables, whose columns were found.
    pub(crate) fn with_found(
        &self,
        vars: impl Iterator<Item = usize>,
        found: Columns,
        live: &[usize],
    ) -> Self {
        self.gather(&vec![0; found.rows], live).binding(vars, found, live)
    }

    /// These rows with the live ones of these variables, whose columns were found.
    pub(crate) fn binding(
        mut self,
        vars: impl Iterator<Item = usize>,
        found: Columns,
        live: &[usize],
    ) -> Self {
        for (var, column) in vars.zip(found.columns) {
            if live.contains(&var) {
                self.columns[var] = column;
            }
        }
        self
    }

    /// How often a row stands there.
    #[inline]
    pub(crate) fn weight(&self, row: usize) -> u64 {
        self.weights.get(row).copied().unwrap_or(1)
    }

    /// Keeps the live columns.
    pub(crate) fn keep(mut self, live: &[usize]) -> Self {
        for (var, column) in self.columns.iter_mut().enumerate() {
            if !column.is_empty() && !live.contains(&var) {
                *column = Vec::new();
            }
        }
        self
    }

    pub(crate) fn slice(&self, rows: Range<usize>) -> Self {
        let cut = |column: &Vec<Cell>| match column.is_empty() {
            true => Vec::new(),
            false => column[rows.clone()].to_vec(),
        };
        let weights = self.weights.get(rows.clone()).map(<[u64]>::to_vec).unwrap_or_default();
        Self { rows: rows.len(), columns: self.columns.iter().map(cut).collect(), weights }
    }
}

/// Columns that expressions read.
pub trait Rows {
    /// The cell of a variable in a row.
    fn cell(&self, var: usize, row: usize) -> Cell;
}

/// Rows for expressions without variables.
pub struct NoRows;

impl Rows for NoRows {
    fn cell(&self, _: usize, _: usize) -> Cell {
        Cell::NULL
    }
}
