//! Where the rows of a pipeline go: a set, the best row of each group, groups that are aggregated,
//! a list, or the consumer of a stream.
//!
//! # Why a trait
//! Several threads may find rows at once (`parallel.rs`). Each has a sink of its own, and in the
//! end they are merged into one.

pub(crate) mod aggregate;
pub(crate) mod groups;
pub(crate) mod list;
pub(crate) mod meet;
pub(crate) mod set;
pub(crate) mod stream;
pub mod top_k;

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::value::cell::Cell;
use plan::{AggregateUse, Var};

/// Takes the rows that a body finds.
pub(crate) trait Sink: Send + Sized {
    /// Takes some.
    ///
    /// # Errors
    /// Values that an aggregate does not take, and what stops the query.
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted>;

    /// So many rows are enough.
    fn enough(&self) -> usize {
        usize::MAX
    }

    /// Whether no further row is wanted, whoever finds it.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether what it has taken should go elsewhere before more is read.
    fn is_full(&self, _query: &ExecContext<'_>) -> bool {
        false
    }

    /// Whether what several have taken can be made one.
    fn is_joinable(&self) -> bool;

    /// One of this kind that has taken nothing.
    fn fork(&self) -> Self;

    /// Takes what a fork has taken.
    ///
    /// # Errors
    /// As [`Sink::take`].
    fn join(&mut self, other: Self, context: &ExecContext<'_>) -> Result<()>;

    /// About how many bytes it holds.
    fn bytes(&self) -> u64;

    /// Calls `visit` with each cell that it holds.
    fn each_cell(&self, visit: &mut dyn FnMut(Cell));
}

/// Takes the rows that come out.
pub(crate) type Out<'e> = &'e mut dyn RowOutput;

/// Where the rows of a pipeline go, and which threads run it.
pub(crate) trait RowOutput {
    /// Takes rows that the last step made.
    ///
    /// # Errors
    /// See [`Sink::take`].
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted>;

    /// Runs the operators from `level` on over the batches that wait at an exchange. Only the
    /// output of a parallel pipeline has exchanges.
    ///
    /// # Errors
    /// Whatever stops the query.
    ///
    /// # Panics
    /// In an output of one thread.
    fn run_in_parallel(
        &mut self,
        _context: &ExecContext<'_>,
        _level: usize,
        _waiting: Vec<Bindings>,
    ) -> Result<Wanted> {
        unreachable!("a serial pipeline has no exchange")
    }

    /// Calls `visit` with each cell that is held here. No other thread runs.
    fn each_cell(&self, visit: &mut dyn FnMut(Cell));
}

/// A sink that one thread fills.
pub(crate) struct Serial<'s, S>(pub &'s mut S);

impl<S: Sink> RowOutput for Serial<'_, S> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        self.0.take(context, found)
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.0.each_cell(visit);
    }
}

/// Rows that are held back until it is known whether they count.
#[derive(Default)]
pub(crate) struct PendingRows {
    /// In batches, as they came.
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

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.found.iter().flat_map(|batch| &batch.columns).flatten().for_each(|&cell| visit(cell));
    }
}

/// Calls `visit` with each cell of some columns.
pub(crate) fn each_cell_of(columns: &[&[Cell]], visit: &mut dyn FnMut(Cell)) {
    columns.iter().for_each(|column| column.iter().for_each(|&cell| visit(cell)));
}

pub(crate) fn head_columns<'b>(head: &[Var], bindings: &'b Bindings) -> Vec<&'b [Cell]> {
    head.iter().map(|&var| bindings.columns[var].as_slice()).collect()
}

/// Columns of a head that are not aggregated.
pub(crate) fn plain_columns(aggregates: &[Option<AggregateUse>]) -> usize {
    aggregates.iter().filter(|one| one.is_none()).count()
}
