//! A sink for rows that are provably distinct, so that it compares none of them.
//!
//! For a top-k query it drops the other rows from time to time.

use crate::batch_size::Wanted;
use crate::column_list::ColumnList;
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::sink::top_k::TopK;
use crate::sink::{Sink, head_columns};
use crate::table::ROWS_MAX;
use crate::value::cell::Cell;
use crate::value::columns::{Columns, gather};
use crate::value::sort;
use crate::vector::evaluate::TypedRows;
use crate::vector::selection::Selection;
use plan::VarId;
use std::sync::Arc;

/// Rows kept beyond those wanted, before the others are dropped.
const SPARE_ROWS: usize = 8192;

/// Least rows that leave in typed columns.
const COLUMN_ROWS_MIN: usize = 1024;

/// Rows that are provably distinct ([`plan::PipelinePlan::distinct_keys`]).
pub(crate) struct ListSink<'q> {
    /// The rows.
    pub list: Columns,
    /// The variable of each column.
    pub head: &'q [VarId],
    /// Number of leading columns that make the rows distinct. Later columns never decide an order,
    /// and may have several cells for one value.
    pub told: usize,
    /// Number of rows that are enough.
    pub enough: usize,
    /// The top-k bound, if only the first rows in an order are wanted.
    pub first: Option<Arc<TopK>>,
    /// Rows that came in typed columns, if they may; then there are no others.
    pub columns: Option<ColumnList>,
}

impl ListSink<'_> {
    /// Makes the rows that came in columns into cells. From then on all rows come as cells.
    pub(crate) fn make_cells(&mut self, context: &ExecContext<'_>) -> Result<()> {
        if let Some(list) = self.columns.take()
            && list.rows() > 0
        {
            self.list.append(list.into_cells(context.interner));
            context.check(self.bytes())?;
        }
        Ok(())
    }

    /// Puts the rows that came in columns in the order of their keys, or makes cells of them: if
    /// they are few, or have to be sorted.
    pub(crate) fn finish(&mut self, context: &ExecContext<'_>) -> Result<()> {
        let Some(list) = self.columns.take_if(|list| list.rows() >= COLUMN_ROWS_MIN) else {
            return self.make_cells(context);
        };
        match list.in_order(self.told) {
            Ok(list) => {
                self.columns = Some(list);
                Ok(())
            }
            Err(list) => {
                self.columns = Some(list);
                self.make_cells(context)
            }
        }
    }

    /// Drops the rows that are not wanted, if there are many.
    fn prune(&mut self, spare: usize, context: &ExecContext<'_>) -> Result<()> {
        let Some(first) = &self.first else { return Ok(()) };
        let TopK { order, rows: wanted, .. } = &**first;
        if self.list.rows <= wanted.saturating_add(spare.max(*wanted)) {
            return Ok(());
        }
        let by = order.iter().copied().chain((0..self.told).map(|column| (column, false)));
        let by: Vec<(&[Cell], bool)> =
            by.map(|(column, descends)| (self.list.columns[column].as_slice(), descends)).collect();
        let mut sorted = sort::order(&by, self.list.rows, context.interner, &|| context.check(0))?;
        sorted.truncate(*wanted);
        if let Some(&row) = sorted.last() {
            first.note(self.list.columns[order[0].0][row as usize], context.interner);
        }
        for column in &mut self.list.columns {
            *column = gather(column, &sorted);
        }
        self.list.rows = sorted.len();
        Ok(())
    }
}

impl Sink for ListSink<'_> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        self.make_cells(context)?;
        let found_columns = head_columns(self.head, found);
        let first = self.first.as_ref();
        let kept =
            first.and_then(|first| first.kept(found_columns[first.order[0].0], context.interner));
        if let Some(kept) = kept {
            for (column, found) in self.list.columns.iter_mut().zip(&found_columns) {
                column.extend(kept.iter().map(|&row| found[row as usize]));
            }
            self.list.rows += kept.len();
        } else {
            let rows = found.rows.min(self.enough - self.list.rows);
            for (column, found) in self.list.columns.iter_mut().zip(&found_columns) {
                column.extend_from_slice(&found[..rows]);
            }
            self.list.rows += rows;
        }
        self.prune(SPARE_ROWS, context)?;
        if self.list.rows >= ROWS_MAX / 2 {
            return Err(Error::Limit("a rule has more than 2 billion rows".to_owned()));
        }
        context.check(self.bytes())?;
        Ok(self.list.rows < self.enough)
    }

    fn takes_columns(&self) -> bool {
        self.columns.is_some()
    }

    fn take_columns(
        &mut self,
        context: &ExecContext<'_>,
        columns: &dyn TypedRows,
        rows: &Selection<'_>,
    ) -> Result<Option<Wanted>> {
        let Some(list) = &mut self.columns else { return Ok(None) };
        if !list.take(self.head, columns, rows) {
            return Ok(None);
        }
        if list.rows() >= ROWS_MAX / 2 {
            return Err(Error::Limit("a rule has more than 2 billion rows".to_owned()));
        }
        if !list.is_last_in_order(self.told) {
            self.make_cells(context)?;
        }
        context.check(self.bytes())?;
        Ok(Some(true))
    }

    fn enough(&self) -> usize {
        self.enough
    }

    fn is_joinable(&self) -> bool {
        self.enough == usize::MAX
    }

    fn fork(&self) -> Self {
        let list = Columns::of(self.list.columns.len());
        let columns = self.columns.as_ref().map(ColumnList::fork);
        Self { list, first: self.first.clone(), columns, ..*self }
    }

    fn join(&mut self, mut other: Self, context: &ExecContext<'_>) -> Result<()> {
        if let (Some(list), Some(_)) = (&mut self.columns, &other.columns) {
            list.append(other.columns.unwrap_or_default());
            return context.check(self.bytes());
        }
        self.make_cells(context)?;
        other.make_cells(context)?;
        self.list.append(other.list);
        self.prune(SPARE_ROWS, context)?;
        context.check(self.bytes())
    }

    fn bytes(&self) -> u64 {
        self.list.bytes() + self.columns.as_ref().map_or(0, ColumnList::bytes)
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.list.each_cell(visit);
        if let Some(last) = self.first.as_ref().and_then(|first| *first.last.lock()) {
            visit(last);
        }
    }
}
