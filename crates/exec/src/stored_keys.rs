//! What a join looks for in a stored relation: cells for the columns that are bound.
//!
//! # 1 and 1.0
//! They are equal to `==` and two values everywhere else: joins look for what is the same value, in whatever order they run. What the script
//! says itself is looked for as the column's kind of number: who asks for 1 in a column of floats means 1.0.

use crate::bindings::Bindings;
use crate::cell::{Cell, Interner};
use crate::query::Query;
use model::{Type, Value};
use plan::Step;
use std::borrow::Cow;

/// Columns that are bound: those of the path's prefix first.
pub(crate) struct StoredKeys<'i> {
    /// Their places in the relation.
    pub columns: Vec<usize>,
    /// What they must be, a column each of the rows that come in.
    pub cells: Vec<Cow<'i, [Cell]>>,
    /// How many of them are the path's prefix.
    pub prefix: usize,
    /// The place of the variable that was left out.
    pub without: Option<usize>,
}

impl<'i> StoredKeys<'i> {
    /// What a join with a stored relation looks for; `without` is a variable that is left out, as if it were not bound.
    pub(crate) fn new(
        step: &Step,
        input: &'i Bindings,
        without: Option<usize>,
        query: &Query<'_>,
    ) -> Self {
        let mut keys = Self { columns: Vec::new(), cells: Vec::new(), prefix: 0, without: None };
        let Step::Stored { stored, path, prefix, checks, known, .. } = step else { return keys };
        let info = &query.plan.infos[*stored];
        let in_prefix = info.paths[*path].keys.iter().copied().zip(prefix.iter().copied());
        for (column, var) in in_prefix.chain(checks.iter().copied()) {
            if without == Some(var) {
                keys.without = Some(column);
                continue;
            }
            let cells = input.columns[var].as_slice();
            let of = &info.columns[column].column_type;
            keys.columns.push(column);
            keys.cells.push(match known.contains(&var) {
                true => as_kind_of(of, cells, query.interner),
                false => Cow::Borrowed(cells),
            });
        }
        keys.prefix = prefix.len();
        keys
    }

    /// The columns of the prefix, of some rows.
    pub(crate) fn prefix_cells(&self, rows: std::ops::Range<usize>) -> Vec<&[Cell]> {
        self.cells[..self.prefix].iter().map(|column| &column[rows.clone()]).collect()
    }
}

/// A number as the kind of number that a column holds, where that loses nothing.
pub(crate) fn as_kind_of_column(of: &Type, cell: Cell, interner: &Interner) -> Cell {
    as_kind_of(of, &[cell], interner)[0]
}

/// The same of several.
fn as_kind_of<'i>(of: &Type, cells: &'i [Cell], interner: &Interner) -> Cow<'i, [Cell]> {
    let of = of.without_null();
    let is_right = |cell: &Cell| match of {
        Type::Int | Type::Id => cell.as_plain_float().is_none(),
        Type::Float => cell.as_plain_float().is_some(),
        _ => true,
    };
    if cells.iter().all(is_right) {
        return Cow::Borrowed(cells);
    }
    // Most are one value in all rows.
    let mut last: Option<(Cell, Cell)> = None;
    let convert = |&cell: &Cell| match last {
        Some((from, to)) if from == cell => to,
        _ => {
            let value = interner.value(cell);
            let to = match value {
                Value::Int(int) if (int as f64) as i64 != int => cell,
                Value::Int(_) | Value::Float(_) => {
                    of.coerce(value).map_or(cell, |value| interner.take(value))
                }
                _ => cell,
            };
            last = Some((cell, to));
            to
        }
    };
    Cow::Owned(cells.iter().map(convert).collect())
}
