//! What a join looks for in a stored relation: cells for the columns that are bound.
//!
//! # 1 and 1.0
//! They are equal to `==` and two values everywhere else. A join looks for the same value, in
//! whatever order joins run. A column of floats has no row for 1.

use crate::expr::batch::Bindings;
use crate::value::cell::Cell;
use plan::{Plan, Step};

/// Columns that are bound: those of the path's prefix first.
pub(crate) struct ProbeKeys<'i> {
    /// Their places in the relation.
    pub columns: Vec<usize>,
    /// What they must be, a column each of the rows that come in.
    pub cells: Vec<&'i [Cell]>,
    /// How many of them are the path's prefix.
    pub prefix: usize,
    /// The place of the variable that was left out.
    pub without: Option<usize>,
}

impl<'i> ProbeKeys<'i> {
    /// What a join with a stored relation looks for; `without` is a variable that is left out, as
    /// if it were not bound.
    pub(crate) fn new(
        step: &Step,
        input: &'i Bindings,
        without: Option<usize>,
        plan: &Plan,
    ) -> Self {
        let mut keys = Self { columns: Vec::new(), cells: Vec::new(), prefix: 0, without: None };
        let Step::Stored { stored, path, prefix, checks, .. } = step else { return keys };
        let info = &plan.infos[*stored];
        let in_prefix = info.paths[*path].keys.iter().copied().zip(prefix.iter().copied());
        for (column, var) in in_prefix.chain(checks.iter().copied()) {
            if without == Some(var) {
                keys.without = Some(column);
                continue;
            }
            keys.columns.push(column);
            keys.cells.push(&input.columns[var]);
        }
        keys.prefix = prefix.len();
        keys
    }

    /// The columns of the prefix, of some rows.
    pub(crate) fn prefix_cells(&self, rows: std::ops::Range<usize>) -> Vec<&[Cell]> {
        self.cells[..self.prefix].iter().map(|column| &column[rows.clone()]).collect()
    }
}
