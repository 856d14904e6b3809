//! Runs a plan that reads the first rows of the result first, as a trial.
//!
//! If the trial gives up, the plan that sorts starts from the beginning.

use super::{Fixpoint, Trial};
use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::pipeline::Pipeline;
use crate::sink::{PendingRows, RowOutput, Sink, each_cell_of, head_columns};
use crate::table::Table;
use crate::value::cell::Cell;
use plan::{InOrder, PipelinePlan, VarId};

/// Rows that a trial may read before the step that reads in order, at least.
const ROWS_BEFORE: u64 = 1024;

/// The distinct rows that a trial finds.
struct DistinctRows<'q> {
    table: Table,
    head: &'q [VarId],
}

impl RowOutput for DistinctRows<'_> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        let columns = head_columns(self.head, found);
        self.table.make_room(found.rows, &|| context.check(0))?;
        self.table.expect(&columns, found.rows);
        self.table.insert_rows(&columns, found.rows);
        context.check_rows(&self.table)?;
        Ok(true)
    }

    fn rows(&self) -> usize {
        self.table.rows()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        each_cell_of(&self.table.columns(), visit);
    }
}

impl Fixpoint<'_> {
    /// The first rows of the entry, and perhaps others; `None` if they have to be found by sorting.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(super) fn first_rows(&mut self, body: &PipelinePlan, rule: usize) -> Result<Option<Table>> {
        let ([in_order], Some(first)) = (&body.in_order[..], &self.first) else { return Ok(None) };
        let wanted = first.rows;
        let head = &self.context.plan.program.rules[rule].head;
        let mut found = DistinctRows { table: Table::set(head.len()), head };
        let is_found = self.try_in_order(in_order, body, rule, wanted, &mut found)?;
        Ok(is_found.then_some(found.table))
    }

    /// Passes the rows with the least or the greatest value to the sink of aggregates. Returns
    /// whether it did so, or there is no row.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(super) fn extreme_rows<S: Sink>(
        &mut self,
        body: &PipelinePlan,
        rule: usize,
        sink: &mut S,
    ) -> Result<bool> {
        let mut found = Vec::with_capacity(body.in_order.len());
        for in_order in &body.in_order {
            let mut rows = PendingRows::default();
            if !self.try_in_order(in_order, body, rule, 1, &mut rows)? {
                return Ok(false);
            }
            if rows.found.is_empty() {
                // Without a row, the other aggregates are null too.
                return Ok(true);
            }
            found.extend(rows.found);
        }
        for rows in &found {
            sink.take(&self.context, rows)?;
        }
        Ok(!body.in_order.is_empty())
    }

    /// Runs a plan in order until `out` has the first `wanted` rows. Returns whether it has.
    fn try_in_order(
        &mut self,
        in_order: &InOrder,
        sorting: &PipelinePlan,
        rule: usize,
        wanted: usize,
        out: &mut dyn RowOutput,
    ) -> Result<bool> {
        let rows_max = (sorting.cost as u64).max(ROWS_BEFORE);
        let trial = Trial { plan: &in_order.plan, rule, rows_max };
        let set_up = |body: &mut Pipeline<'_>| body.first_rows = wanted;
        // The plan that sorts may read fewer or shorter values, and may not evaluate an expression
        // for the row for which it fails.
        let abandons = |error: &Error| matches!(error, Error::Limit(_) | Error::Value(_));
        Ok(self.run_trial(&trial, set_up, out, abandons)?.is_some())
    }
}
