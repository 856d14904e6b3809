//! A sink that keeps each row once, for heads without aggregates.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::sink::{Sink, each_cell_of, head_columns};
use crate::table::Table;
use crate::value::cell::Cell;
use plan::VarId;
use std::sync::Arc;

/// A set of rows.
pub(crate) struct SetSink<'q> {
    /// The rows.
    pub table: Table,
    /// The variable of each column.
    pub head: &'q [VarId],
    /// Rows that exist already and are not added again.
    pub known: Option<Arc<Table>>,
    /// Number of rows that are enough.
    pub enough: usize,
}

impl Sink for SetSink<'_> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        let columns = head_columns(self.head, found);
        self.table.make_room(found.rows, &|| context.check(0))?;
        self.table.expect(&columns, found.rows);
        if self.enough == usize::MAX {
            match &self.known {
                Some(known) => self.table.insert_unknown(known, &columns, found.rows),
                None => self.table.insert_rows(&columns, found.rows),
            }
            return context.check_rows(&self.table).map(|()| true);
        }
        for row in 0..found.rows {
            self.table.insert(&columns, row);
            if self.table.rows() >= self.enough {
                return Ok(false);
            }
        }
        context.check_rows(&self.table)?;
        Ok(true)
    }

    fn enough(&self) -> usize {
        self.enough
    }

    fn is_joinable(&self) -> bool {
        // A query that stops early finds its rows as fast on one thread.
        self.enough == usize::MAX
    }

    fn fork(&self) -> Self {
        Self { table: Table::set(self.table.arity()), known: self.known.clone(), ..*self }
    }

    fn join(&mut self, other: Self, context: &ExecContext<'_>) -> Result<()> {
        if self.table.rows() == 0 {
            self.table = other.table;
            return Ok(());
        }
        self.table.insert_all(&other.table, &|| context.check(0))?;
        context.check_rows(&self.table)
    }

    fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        each_cell_of(&self.table.columns(), visit);
    }
}
