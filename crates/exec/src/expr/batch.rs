//! A batch of bindings: the values of a rule's variables, row by row. Operators pass batches along
//! a pipeline.

use crate::error::Result;
use crate::expr::Made;
use crate::value::cell::Cell;
use crate::value::columns::{Columns, gather};
use model::ListItem;
use plan::{PerVar, VarId};
use std::ops::Range;

/// Bindings of variables: one column each, empty where the variable is not bound or not live.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    /// Number of rows.
    pub rows: usize,
    /// Columns by variable.
    pub columns: PerVar<Vec<Cell>>,
    /// Multiplicities of the rows where rows are counted; empty while all are 1.
    pub weights: Vec<u64>,
}

impl Rows for Bindings {
    #[inline]
    fn cell(&self, var: VarId, row: usize) -> Cell {
        self.columns[var][row]
    }
}

impl Bindings {
    /// One row without bindings.
    pub(crate) fn unit(variables: usize) -> Self {
        Self { rows: 1, columns: PerVar::filled(Vec::new(), variables), weights: Vec::new() }
    }

    /// Gathers the live columns of these rows, in this order.
    pub(crate) fn gather(&self, rows: &[u32], live: &[VarId]) -> Self {
        let mut columns = PerVar::filled(Vec::new(), self.columns.len());
        for &var in live {
            let column = &self.columns[var];
            if !column.is_empty() {
                columns[var] = gather(column, rows);
            }
        }
        let weights = match self.weights.is_empty() {
            true => Vec::new(),
            false => gather(&self.weights, rows),
        };
        Self { rows: rows.len(), columns, weights }
    }

    /// Gathers the live columns of matching rows, where only the number of matches counts.
    pub(crate) fn gather_weighted(&self, rows: &[u32], weights: Vec<u64>, live: &[VarId]) -> Self {
        Self { weights, ..self.gather(rows, live) }
    }

    /// Repeats the single input row for each row found, and adds the live columns of `vars` that
    /// were found.
    pub(crate) fn with_found(
        &self,
        vars: impl Iterator<Item = VarId>,
        found: Columns,
        live: &[VarId],
    ) -> Self {
        self.gather(&vec![0; found.rows], live).binding(vars, found, live)
    }

    /// These rows with the live ones of these variables, whose columns were found.
    pub(crate) fn binding(
        mut self,
        vars: impl Iterator<Item = VarId>,
        found: Columns,
        live: &[VarId],
    ) -> Self {
        for (var, column) in vars.zip(found.columns) {
            if live.contains(&var) {
                self.columns[var] = column;
            }
        }
        self
    }

    /// Multiplicity of a row.
    #[inline]
    pub(crate) fn weight(&self, row: usize) -> u64 {
        self.weights.get(row).copied().unwrap_or(1)
    }

    /// Drops all columns that are not live.
    pub(crate) fn keep(mut self, live: &[VarId]) -> Self {
        for var in self.columns.ids() {
            if !self.columns[var].is_empty() && !live.contains(&var) {
                self.columns[var] = Vec::new();
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
    fn cell(&self, var: VarId, row: usize) -> Cell;

    /// The value of a variable in a row, which may be not interned.
    ///
    /// # Errors
    /// A stored value that cannot be read.
    fn made(&self, var: VarId, row: usize) -> Result<Made> {
        Ok(Made::Cell(self.cell(var, row)))
    }

    /// The item at an index of a list that a variable is in a row, read without the other items.
    /// `None` where [`Rows::made`] reads no more than that.
    ///
    /// # Errors
    /// A stored value that cannot be read.
    fn list_item(&self, _var: VarId, _row: usize, _index: i64) -> Result<Option<ListItem>> {
        Ok(None)
    }
}

/// Rows for expressions without variables.
pub struct NoRows;

impl Rows for NoRows {
    fn cell(&self, _: VarId, _: usize) -> Cell {
        Cell::NULL
    }
}
