//! Sinks, which receive the rows of a pipeline: a set, the best row of each group, aggregated
//! groups, a list, or a result stream.
//!
//! # Why a trait
//! Several threads may find rows at a time (`parallel.rs`). Each has its own sink, and at the end
//! they are merged into one.

pub(crate) mod aggregate;
pub(crate) mod column_groups;
pub(crate) mod groups;
pub(crate) mod list;
pub(crate) mod meet;
pub(crate) mod set;
pub(crate) mod stream;
mod sum;
pub mod top_k;
pub(crate) mod unique_values;

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::value::cell::Cell;
use crate::vector::evaluate::TypedRows;
use crate::vector::selection::Selection;
use plan::{AggregateUse, VarId};

/// Receives the rows that a pipeline finds.
pub(crate) trait Sink: Send + Sized {
    /// Adds rows.
    ///
    /// # Errors
    /// Values that an aggregate does not accept, and what stops the query.
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted>;

    /// Whether it may take rows of a scan in typed columns.
    fn takes_columns(&self) -> bool {
        false
    }

    /// Adds some rows of a scan, each once, in typed columns; `None` where they have to come as
    /// cells.
    ///
    /// # Errors
    /// See [`Sink::take`].
    fn take_columns(
        &mut self,
        _context: &ExecContext<'_>,
        _columns: &dyn TypedRows,
        _rows: &Selection<'_>,
    ) -> Result<Option<Wanted>> {
        Ok(None)
    }

    /// Number of rows that are enough.
    fn enough(&self) -> usize {
        usize::MAX
    }

    /// Whether no further row is wanted from any thread.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether its rows should be passed on before more are read.
    fn is_full(&self, _query: &ExecContext<'_>) -> bool {
        false
    }

    /// Whether several of this kind can be merged.
    fn is_joinable(&self) -> bool;

    /// An empty sink of the same kind.
    fn fork(&self) -> Self;

    /// Merges the rows of a fork.
    ///
    /// # Errors
    /// As [`Sink::take`].
    fn join(&mut self, other: Self, context: &ExecContext<'_>) -> Result<()>;

    /// Approximate size in bytes.
    fn bytes(&self) -> u64;

    /// Calls `visit` with each cell held.
    fn each_cell(&self, visit: &mut dyn FnMut(Cell));
}

/// The output of a pipeline.
pub(crate) type Out<'e> = &'e mut dyn RowOutput;

/// Where the rows of a pipeline go, and on which threads later steps run.
pub(crate) trait RowOutput {
    /// Receives rows of the last step.
    ///
    /// # Errors
    /// See [`Sink::take`].
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted>;

    /// Whether it may take rows in typed columns, as [`Sink::takes_columns`] says.
    fn takes_columns(&self) -> bool {
        false
    }

    /// Receives rows in typed columns, as [`Sink::take_columns`] says.
    ///
    /// # Errors
    /// See [`Sink::take`].
    fn take_columns(
        &mut self,
        _context: &ExecContext<'_>,
        _columns: &dyn TypedRows,
        _rows: &Selection<'_>,
    ) -> Result<Option<Wanted>> {
        Ok(None)
    }

    /// Number of rows that it has, for a step that reads in order: distinct ones, where rows are a
    /// set. The default never has enough.
    fn rows(&self) -> usize {
        0
    }

    /// Runs the operators from `level` on over the batches collected by an exchange. Only the
    /// output of a parallel pipeline has exchanges.
    ///
    /// # Errors
    /// The errors that stop the query.
    ///
    /// # Panics
    /// In a serial output.
    fn run_in_parallel(
        &mut self,
        _context: &ExecContext<'_>,
        _level: usize,
        _waiting: Vec<Bindings>,
    ) -> Result<Wanted> {
        unreachable!("a serial pipeline has no exchange")
    }

    /// Calls `visit` with each cell held. No other thread runs.
    fn each_cell(&self, visit: &mut dyn FnMut(Cell));
}

/// A sink that one thread fills.
pub(crate) struct Serial<'s, S>(pub &'s mut S);

impl<S: Sink> RowOutput for Serial<'_, S> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        self.0.take(context, found)
    }

    fn takes_columns(&self) -> bool {
        self.0.takes_columns()
    }

    fn take_columns(
        &mut self,
        context: &ExecContext<'_>,
        columns: &dyn TypedRows,
        rows: &Selection<'_>,
    ) -> Result<Option<Wanted>> {
        self.0.take_columns(context, columns, rows)
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.0.each_cell(visit);
    }
}

/// Rows that are held back until a trial has ended.
#[derive(Default)]
pub(crate) struct PendingRows {
    /// The batches, in the order in which they came.
    pub found: Vec<Bindings>,
    bytes: u64,
}

impl RowOutput for PendingRows {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        let cells: usize = found.columns.iter().map(Vec::len).sum();
        self.bytes += 8 * (cells + found.weights.len()) as u64;
        context.check(self.bytes)?;
        self.found.push(found.clone());
        Ok(true)
    }

    fn rows(&self) -> usize {
        self.found.iter().map(|batch| batch.rows).sum()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.found.iter().flat_map(|batch| &batch.columns).flatten().for_each(|&cell| visit(cell));
    }
}

/// Calls `visit` with each cell of some columns.
pub(crate) fn each_cell_of(columns: &[&[Cell]], visit: &mut dyn FnMut(Cell)) {
    columns.iter().for_each(|column| column.iter().for_each(|&cell| visit(cell)));
}

pub(crate) fn head_columns<'b>(head: &[VarId], bindings: &'b Bindings) -> Vec<&'b [Cell]> {
    head.iter().map(|&var| bindings.columns[var].as_slice()).collect()
}

/// Number of columns of a head that are not aggregated.
pub(crate) fn plain_columns(aggregates: &[Option<AggregateUse>]) -> usize {
    aggregates.iter().filter(|one| one.is_none()).count()
}
