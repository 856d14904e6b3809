//! The bound columns of a join with a stored relation, and their values.
//!
//! # 1 and 1.0
//! They are equal for `==` and different values everywhere else. A join looks up the same value, in
//! whatever order joins run. A column of floats has no row for 1.

use crate::expr::batch::Bindings;
use crate::value::cell::Cell;
use plan::{Plan, Step, VarId};

/// Bound columns, those of the path's key prefix first.
pub(crate) struct ProbeKeys<'i> {
    /// Their indexes in the relation.
    pub columns: Vec<usize>,
    /// Their values: one column each, by input row.
    pub cells: Vec<&'i [Cell]>,
    /// How many of them belong to the prefix.
    pub prefix: usize,
    /// Index of the column whose variable was left out.
    pub without: Option<usize>,
}

impl<'i> ProbeKeys<'i> {
    /// The bound columns of a step. `without` is a variable to leave out, as if it were not bound.
    pub(crate) fn new(
        step: &Step,
        input: &'i Bindings,
        without: Option<VarId>,
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

    /// The cells of the prefix, for some rows.
    pub(crate) fn prefix_cells(&self, rows: std::ops::Range<usize>) -> Vec<&[Cell]> {
        self.cells[..self.prefix].iter().map(|column| &column[rows.clone()]).collect()
    }
}
