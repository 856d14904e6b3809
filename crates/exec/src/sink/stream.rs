//! The streaming sink, whose rows go to the consumer while the query runs.
//!
//! The fixpoint's `stream.rs` fills it. Rows of one range of keys are passed on together; earlier
//! if a range makes many, or rows have waited for half a second.

use crate::batch_size::Wanted;
use crate::column_list::ColumnList;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::result_stream::ResultStream;
use crate::sink::{Sink, head_columns};
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use crate::vector::evaluate::TypedRows;
use crate::vector::selection::Selection;
use plan::VarId;

/// Rows found in the ranges of one wave may take the memory limit divided by this.
pub(crate) const MEMORY_SHARE: u64 = 8;

/// Microseconds after which rows are passed on, however few they are.
const PATIENCE_US: u64 = 500_000;

/// A range's rows divided by this are enough for a part.
const FEWER: u64 = 4;

/// A range's rows times this are passed on before the range is finished.
const MORE: u64 = 4;

/// Bytes of interned values that are worth releasing.
const VALUES_BYTES: u64 = 8 << 20;

/// Collects rows for a result stream.
pub(crate) struct StreamingSink<'q> {
    /// The result stream.
    pub stream: &'q ResultStream<'q>,
    /// Rows that were not passed on yet.
    pub list: Columns,
    /// As `list`, those that came in typed columns.
    pub columns: ColumnList,
    /// The variable of each column.
    pub head: &'q [VarId],
    /// Number of rows that are enough.
    pub enough: usize,
    /// Number of rows received so far.
    pub taken: usize,
    /// Rows of a range.
    pub range_rows: u64,
    /// Bytes of interned values that stay when rows are passed on.
    pub lasting_bytes: u64,
    /// When rows were passed on last, or the first one came.
    pub since_us: u64,
}

impl StreamingSink<'_> {
    /// Passes on all rows; no values are released.
    ///
    /// # Errors
    /// The consumer's.
    pub(crate) fn hand_on(&mut self, context: &ExecContext<'_>) -> Result<Wanted> {
        let wants_more = self.hand_on_columns()?;
        let mut list = self.let_go();
        if !wants_more {
            return Ok(false);
        }
        let interner = context.interner.copied(&mut list.columns);
        let wanted = self.stream.hand(list, interner);
        self.since_us = context.limits.now_us();
        wanted
    }

    /// Passes on the rows that came in typed columns, if there are any.
    ///
    /// # Errors
    /// The consumer's.
    pub(crate) fn hand_on_columns(&mut self) -> Result<Wanted> {
        let none = self.columns.fork();
        match std::mem::replace(&mut self.columns, none) {
            list if list.rows() == 0 => Ok(true),
            list => self.stream.hand_list(list),
        }
    }

    /// Number of rows that were not passed on yet.
    fn waiting_rows(&self) -> usize {
        self.list.rows + self.columns.rows()
    }

    /// Notes rows that came; whether more are wanted.
    fn took(&mut self, rows: usize, context: &ExecContext<'_>) -> Result<Wanted> {
        self.taken = self.taken.saturating_add(rows);
        context.check(self.bytes())?;
        let is_much = self.waiting_rows() as u64 >= self.range_rows * MORE || self.is_late(context);
        if is_much && !self.hand_on(context)? {
            return Ok(false);
        }
        Ok(self.taken < self.enough)
    }

    /// Whether rows have waited too long.
    fn is_late(&self, context: &ExecContext<'_>) -> bool {
        self.waiting_rows() > 0
            && context.limits.now_us().saturating_sub(self.since_us) > PATIENCE_US
    }

    /// Removes and returns the rows.
    pub(crate) fn let_go(&mut self) -> Columns {
        let none = Columns::of(self.list.columns.len());
        std::mem::replace(&mut self.list, none)
    }
}

impl Sink for StreamingSink<'_> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        let found_columns = head_columns(self.head, found);
        for (column, found) in self.list.columns.iter_mut().zip(found_columns) {
            column.extend_from_slice(found);
        }
        self.list.rows += found.rows;
        self.took(found.rows, context)
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
        if !self.columns.take(self.head, columns, rows) {
            return Ok(None);
        }
        self.took(rows.len(), context).map(Some)
    }

    fn enough(&self) -> usize {
        self.enough
    }

    fn is_done(&self) -> bool {
        self.stream.is_done()
    }

    /// Whether there are enough rows, or interned values, for a part.
    fn is_full(&self, context: &ExecContext<'_>) -> bool {
        if self.is_late(context) {
            return true;
        }
        let values = VALUES_BYTES.min(context.limits.memory_bytes_max() / MEMORY_SHARE);
        self.waiting_rows() as u64 >= self.range_rows / FEWER
            || context.interner.bytes() > self.lasting_bytes + values
    }

    fn is_joinable(&self) -> bool {
        self.enough == usize::MAX
    }

    fn fork(&self) -> Self {
        let list = Columns::of(self.list.columns.len());
        Self { list, columns: self.columns.fork(), taken: 0, ..*self }
    }

    fn join(&mut self, other: Self, context: &ExecContext<'_>) -> Result<()> {
        self.list.append(other.list);
        self.columns.append(other.columns);
        self.taken = self.taken.saturating_add(other.taken);
        context.check(self.bytes())
    }

    fn bytes(&self) -> u64 {
        self.list.bytes() + self.columns.bytes()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.list.each_cell(visit);
    }
}
