//! Evaluates steps that read no relation: filters and assignments.
//!
//! `filter` and `project` run them in pipelines, `point_lookup` and `depth_first` on the few rows
//! that they find.

use crate::batch_size::ROWS_A_LOOK;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::expr::{Compiled, Computer};
use crate::value::cell::Cell;
use plan::{PlannedStep, Step, VarId};

/// A step that reads no relation, ready to run.
pub(crate) struct RowStep<'p> {
    planned: &'p PlannedStep,
    expr: Option<Compiled>,
}

impl<'p> RowStep<'p> {
    /// Compiles the expression of a step; `None` if the step reads a relation or makes rows.
    ///
    /// # Errors
    /// An expression that fails whatever the rows are.
    pub(crate) fn new(planned: &'p PlannedStep, computer: &Computer<'_>) -> Result<Option<Self>> {
        if !is_row_step(&planned.step) {
            return Ok(None);
        }
        let expr = planned.step.expr().map(|expr| computer.compile(expr)).transpose()?;
        Ok(Some(Self { planned, expr }))
    }

    /// Evaluates the step on a batch.
    ///
    /// # Errors
    /// An expression that fails, or a condition that is no truth value.
    pub(crate) fn apply(&self, input: Bindings, computer: &Computer<'_>) -> Result<Bindings> {
        apply(self.planned, self.expr.as_ref(), input, computer)
    }
}

/// Whether a step reads no relation and makes at most one row of each.
pub(crate) fn is_row_step(step: &Step) -> bool {
    matches!(step, Step::Assign { .. } | Step::Filter(_) | Step::Same { .. })
}

/// Evaluates a step that reads no relation on a batch, whose live columns are kept.
///
/// # Errors
/// An expression that fails, or a condition that is no truth value.
pub(crate) fn apply(
    planned: &PlannedStep,
    expr: Option<&Compiled>,
    input: Bindings,
    computer: &Computer<'_>,
) -> Result<Bindings> {
    match (&planned.step, expr) {
        (Step::Filter(_), Some(expr)) => {
            let kept = computer.select(expr, &input, planned.span)?;
            Ok(match kept.len() == input.rows {
                true => input.keep(&planned.live),
                false => input.gather(&kept, &planned.live),
            })
        }
        (Step::Assign { var, compare, .. }, Some(expr)) => {
            let column = compute(planned, expr, &input, 0, u64::MAX, computer)?;
            Ok(assign(planned, *var, *compare, input, column))
        }
        (Step::Same { a, b, compare: true }, _) => {
            Ok(keep_equal(planned, &input, &input.columns[*a], *b))
        }
        (Step::Same { a, b, compare: false }, _) => {
            let column = input.columns[*a].clone();
            Ok(assign(planned, *b, false, input, column))
        }
        _ => Ok(input),
    }
}

/// Computes the value of a step for the rows from `start` on: of one row at least, and until the
/// interner holds `full_bytes`.
///
/// # Errors
/// An expression that fails, and what stops the query.
pub(crate) fn compute(
    planned: &PlannedStep,
    expr: &Compiled,
    rows: &Bindings,
    start: usize,
    full_bytes: u64,
    computer: &Computer<'_>,
) -> Result<Vec<Cell>> {
    let mut column = Vec::with_capacity(rows.rows - start);
    for row in start..rows.rows {
        if row > start && computer.interner.bytes() >= full_bytes {
            break;
        }
        column.push(computer.compute(expr, rows, row)?);
        if (row + 1) % ROWS_A_LOOK == 0 {
            computer.go_on(planned.span)?;
        }
    }
    Ok(column)
}

/// Binds a variable to a column, or keeps the rows where it equals the column.
pub(crate) fn assign(
    planned: &PlannedStep,
    var: VarId,
    compare: bool,
    rows: Bindings,
    column: Vec<Cell>,
) -> Bindings {
    if compare {
        return keep_equal(planned, &rows, &column, var);
    }
    let mut output = rows;
    output.columns[var] = column;
    output.keep(&planned.live)
}

/// Keeps the rows where a variable equals a column.
fn keep_equal(planned: &PlannedStep, rows: &Bindings, column: &[Cell], var: VarId) -> Bindings {
    let bound = &rows.columns[var];
    let kept = (0..rows.rows).filter(|&row| bound[row] == column[row]);
    rows.gather(&kept.map(|row| row as u32).collect::<Vec<_>>(), &planned.live)
}
