//! A sink that aggregates groups of rows, for heads with ordinary aggregates.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::sink::groups::Groups;
use crate::sink::{Sink, head_columns};
use crate::value::cell::Cell;
use crate::vector::evaluate::TypedRows;
use crate::vector::selection::Selection;
use plan::VarId;

/// Aggregates the groups of the rows it receives.
pub(crate) struct AggregateSink<'q> {
    /// The groups.
    pub groups: Groups,
    /// The variable of each column.
    pub head: &'q [VarId],
}

impl Sink for AggregateSink<'_> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        let columns = head_columns(self.head, found);
        let check = |more| context.check(more);
        self.groups.add(&columns, found.rows, &found.weights, context.interner, &check)?;
        context.check(self.groups.bytes())?;
        Ok(true)
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn take_columns(
        &mut self,
        context: &ExecContext<'_>,
        columns: &dyn TypedRows,
        rows: &Selection<'_>,
    ) -> Result<Option<Wanted>> {
        let check = |more| context.check(more);
        if !self.groups.add_columns(self.head, columns, rows, context.interner, &check)? {
            return Ok(None);
        }
        context.check(self.groups.bytes())?;
        Ok(Some(true))
    }

    fn is_joinable(&self) -> bool {
        self.groups.is_joinable()
    }

    fn fork(&self) -> Self {
        Self { groups: self.groups.fork(), head: self.head }
    }

    fn join(&mut self, other: Self, context: &ExecContext<'_>) -> Result<()> {
        self.groups.join(other.groups, context.interner)?;
        context.check(self.groups.bytes())
    }

    fn bytes(&self) -> u64 {
        self.groups.bytes()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.groups.each_cell(visit);
    }
}
