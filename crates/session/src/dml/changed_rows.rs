//! Rows that a change is given, and rows that `:returning` returns.

use exec::table::owned::OwnedCells;
use model::Value;

/// Rows of a query with their names, which are to be written.
pub(crate) struct InputRows<'g> {
    /// Names of the columns; of an aggregate also that of its variable.
    pub headers: &'g [String],
    /// Rows.
    pub rows: usize,
    /// The columns.
    pub cells: &'g OwnedCells,
}

/// Rows for `:returning`: their kind, and the relation's columns.
pub(crate) type ReturnedRows = Vec<(&'static str, Vec<Value>)>;
