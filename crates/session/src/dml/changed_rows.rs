//! Input rows of a change, and the rows that `:returning` returns.

use exec::table::owned::OwnedCells;
use model::Value;

/// Rows of a query to be written, with their column names.
pub(crate) struct InputRows<'g> {
    /// Names of the columns. An aggregate can also be named by its variable.
    pub headers: &'g [String],
    /// Rows.
    pub rows: usize,
    /// The columns.
    pub cells: &'g OwnedCells,
}

/// Rows for `:returning`: their kind, and the values of the relation's columns.
pub(crate) type ReturnedRows = Vec<(&'static str, Vec<Value>)>;
