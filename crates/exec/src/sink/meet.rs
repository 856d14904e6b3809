//! A sink that keeps the best row of each group, by meet aggregates such as `min`.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::limits::Check;
use crate::sink::{Sink, each_cell_of, head_columns, plain_columns};
use crate::table::Table;
use crate::value::cell::{Cell, Interner, compare_words};
use base::STEPS;
use plan::{AggregateUse, VarId};
use std::cmp::Ordering;
use std::sync::Arc;

/// The best row of each group.
pub(crate) struct MeetSink<'q> {
    /// The rows.
    pub table: Table,
    /// The variable of each column.
    pub head: &'q [VarId],
    /// The meet aggregate of each column; none for the columns of the group.
    pub aggregates: &'q [Option<AggregateUse>],
    /// Best rows of earlier rounds; rows that better none of them are dropped.
    pub known: Arc<Table>,
}

impl Sink for MeetSink<'_> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        let columns = head_columns(self.head, found);
        self.table.make_room(found.rows, &|| context.check(0))?;
        let extremes = extremes(self.aggregates);
        for row in 0..found.rows {
            if let Some(extremes) = &extremes
                && is_no_better(&self.known, extremes, &columns, row)
            {
                continue;
            }
            let extremes = extremes.as_deref();
            meet_into(&mut self.table, self.aggregates, extremes, &columns, row, context.interner)?;
        }
        context.check_rows(&self.table)?;
        Ok(true)
    }

    fn is_joinable(&self) -> bool {
        true
    }

    fn fork(&self) -> Self {
        let table = Table::new(self.table.arity(), plain_columns(self.aggregates));
        Self { table, known: Arc::clone(&self.known), ..*self }
    }

    fn join(&mut self, other: Self, context: &ExecContext<'_>) -> Result<()> {
        join_best(&mut self.table, self.aggregates, &other.table, context.interner, &|| {
            context.check(0)
        })?;
        context.check_rows(&self.table)
    }

    fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        each_cell_of(&self.table.columns(), visit);
    }
}

/// Merges the live rows of one table of best rows into another.
///
/// # Errors
/// Values that an aggregate does not accept; those of `check`.
pub(crate) fn join_best(
    table: &mut Table,
    aggregates: &[Option<AggregateUse>],
    other: &Table,
    interner: &Interner,
    check: Check<'_>,
) -> Result<()> {
    let columns = other.columns();
    let extremes = extremes(aggregates);
    for row in (0..other.rows()).filter(|&row| other.is_live(row)) {
        if row % STEPS == STEPS - 1 {
            check()?;
        }
        meet_into(table, aggregates, extremes.as_deref(), &columns, row, interner)?;
    }
    Ok(())
}

/// The ordering that makes a value better than another, for each aggregate; `None` where one of
/// them is neither `min` nor `max`.
fn extremes(aggregates: &[Option<AggregateUse>]) -> Option<Vec<Ordering>> {
    let better = |used: &AggregateUse| match used.aggregate.name {
        "min" => Some(Ordering::Less),
        "max" => Some(Ordering::Greater),
        _ => None,
    };
    aggregates.iter().flatten().map(better).collect()
}

/// Whether a table has a row of the same group that is at least as good in each aggregate. False
/// also where values are not compared as words.
fn is_no_better(known: &Table, extremes: &[Ordering], columns: &[&[Cell]], row: usize) -> bool {
    let Some(there) = known.find_row(columns, row) else { return false };
    extremes.iter().zip(known.keys()..).all(|(&better, i)| {
        compare_words(columns[i][row], known.column(i)[there]).is_some_and(|order| order != better)
    })
}

/// Adds a row to a table of best rows, if its values and those that it meets are compared as words;
/// returns false where they are not. Without a value or an allocation per row, which would take
/// most of the time.
fn meet_words(table: &mut Table, extremes: &[Ordering], columns: &[&[Cell]], row: usize) -> bool {
    let keys = table.keys();
    if !columns[keys..].iter().all(|column| column[row].is_ordered_word()) {
        return false;
    }
    let rows = table.rows();
    let there = table.find_or_insert(columns, row);
    if table.rows() > rows {
        return true;
    }
    let mut is_better = false;
    for (&better, i) in extremes.iter().zip(keys..) {
        match compare_words(columns[i][row], table.column(i)[there]) {
            Some(order) => is_better |= order == better,
            None => return false,
        }
    }
    if is_better {
        let mut best: Vec<Cell> = columns.iter().map(|column| column[row]).collect();
        for (&better, i) in extremes.iter().zip(keys..) {
            let present = table.column(i)[there];
            if compare_words(best[i], present) != Some(better) {
                best[i] = present;
            }
        }
        table.replace(there, &best);
    }
    true
}

/// Adds a row to a table of best rows. A better row is appended, and the old one dies.
fn meet_into(
    table: &mut Table,
    aggregates: &[Option<AggregateUse>],
    extremes: Option<&[Ordering]>,
    columns: &[&[Cell]],
    row: usize,
    interner: &Interner,
) -> Result<()> {
    if extremes.is_some_and(|extremes| meet_words(table, extremes, columns, row)) {
        return Ok(());
    }
    let plain = aggregates.iter().take_while(|one| one.is_none()).count();
    let failed = |used: &AggregateUse, failure| Error::failed(failure, used.span);
    let key: Vec<Cell> = columns[..plain].iter().map(|column| column[row]).collect();
    let Some(there) = table.find_row(columns, row) else {
        let mut first: Vec<Vec<Cell>> = key.iter().map(|&cell| vec![cell]).collect();
        for (used, column) in aggregates[plain..].iter().flatten().zip(&columns[plain..]) {
            let value = interner.value(column[row]);
            let value =
                used.aggregate.meet_first(&value).map_err(|failure| failed(used, failure))?;
            first.push(vec![interner.take(value)]);
        }
        let first: Vec<&[Cell]> = first.iter().map(Vec::as_slice).collect();
        table.insert(&first, 0);
        return Ok(());
    };
    let mut better = key;
    let mut changed = false;
    for (i, used) in aggregates.iter().enumerate().skip(plain) {
        let present = table.column(i)[there];
        let Some(used) = used else { continue };
        if present == columns[i][row] {
            better.push(present);
            continue;
        }
        let mut value = interner.value(present);
        let new = interner.value(columns[i][row]);
        let met = used.aggregate.meet(&mut value, &new).map_err(|failure| failed(used, failure))?;
        match met {
            true => {
                changed = true;
                better.push(interner.take(value));
            }
            false => better.push(present),
        }
    }
    if changed {
        table.replace(there, &better);
    }
    Ok(())
}
