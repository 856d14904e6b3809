//! Fast path: queries that are one constant rule, `<-`, as small changes are.

use crate::error::{Error, Result};
use crate::expr::Computer;
use crate::limits::QueryLimits;
use crate::table::Table;
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use model::Value;
use plan::{Expr, Plan, Predicate, PredicateKind};
use std::borrow::Cow;

/// The rows of a plan that is only a constant rule, distinct and sorted: what small changes write.
/// `None` where the plan does more.
///
/// # Errors
/// As `columns`; what stops the query.
pub fn rows_of(
    plan: &Plan,
    computer: &Computer<'_>,
    limits: &QueryLimits<'_>,
) -> Result<Option<Columns>> {
    let entry = plan.program.entry;
    let [group] = &plan.groups[..] else { return Ok(None) };
    let definition = &plan.program.predicates[entry];
    let PredicateKind::Constant(data) = &definition.kind else { return Ok(None) };
    if group.group.predicates != [entry] {
        return Ok(None);
    }
    let columns = columns(data, definition, computer)?;
    let rows = columns.first().map_or(0, Vec::len);
    if rows <= 1 {
        return Ok(Some(Columns { rows, columns }));
    }
    let besides = computer.interner.bytes();
    limits.check(besides + (columns.len() * rows * size_of::<Cell>()) as u64)?;
    let table = Table::set(columns.len()).with_rows(&columns, rows, &|| limits.check(besides))?;
    limits.check(besides + table.bytes())?;
    Ok(Some(Columns { rows: table.rows(), columns: table.into_sorted_columns() }))
}

/// The rows as written, in columns.
///
/// # Errors
/// A value that is not a list of lists, rows with another length than the head, and errors of
/// expressions.
pub(crate) fn columns(
    data: &Expr,
    definition: &Predicate,
    computer: &Computer<'_>,
) -> Result<Vec<Vec<Cell>>> {
    let mut rows = Rows { definition, expected: 0, columns: None };
    if let Some(all) = data.list_items() {
        // Item by item, so that no list of lists is built and taken apart.
        rows.expected = all.len();
        for row in all {
            match row.list_items() {
                Some(items) => {
                    let cells = items.iter().map(|item| computer.known_cell(item));
                    rows.push(items.len(), cells)?;
                }
                None => rows.push_value(&computer.known(row)?, computer)?,
            }
        }
    } else {
        let all = match data {
            Expr::Const(all) => Cow::Borrowed(all),
            data => Cow::Owned(computer.known(data)?),
        };
        let Value::List(all) = &*all else {
            return Err(rows.wrong("a constant rule needs a list of rows"));
        };
        rows.expected = all.len();
        for row in all {
            rows.push_value(row, computer)?;
        }
    }
    Ok(rows.columns.unwrap_or_else(|| vec![Vec::new(); definition.columns.len()]))
}

/// The rows so far.
struct Rows<'d> {
    definition: &'d Predicate,
    /// Expected number of rows.
    expected: usize,
    /// `None` before the first row, which decides the number of columns if the head does not.
    columns: Option<Vec<Vec<Cell>>>,
}

impl Rows<'_> {
    fn push_value(&mut self, row: &Value, computer: &Computer<'_>) -> Result<()> {
        match row {
            Value::List(items) => {
                self.push(items.len(), items.iter().map(|item| Ok(computer.interner.cell(item))))
            }
            other => {
                let (row, name) = (self.rows() + 1, &self.definition.name);
                Err(self
                    .wrong(&format!("row {row} of rule `{name}` is {}, not a list", other.kind())))
            }
        }
    }

    fn push(&mut self, len: usize, cells: impl Iterator<Item = Result<Cell>>) -> Result<()> {
        let arity = match (&self.columns, self.definition.columns.len()) {
            (Some(columns), _) => columns.len(),
            (None, 0) => len,
            (None, named) => named,
        };
        if len != arity {
            let name = &self.definition.name;
            let row = self.rows() + 1;
            let what = format!("rule `{name}` has {arity} columns, row {row} has {len}");
            return Err(self.wrong(&what));
        }
        let make = || (0..arity).map(|_| Vec::with_capacity(self.expected)).collect();
        let columns: &mut Vec<Vec<Cell>> = self.columns.get_or_insert_with(make);
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell?);
        }
        Ok(())
    }

    /// Number of rows.
    fn rows(&self) -> usize {
        self.columns.as_ref().and_then(|columns| columns.first()).map_or(0, Vec::len)
    }

    fn wrong(&self, what: &str) -> Error {
        let hint = "write rows as lists in a list: [[1, 'a'], [2, 'b']]";
        Error::hinted(what, self.definition.span, hint)
    }
}
