//! A sink that keeps the best row of each group, by meet aggregates such as `min`.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::limits::Check;
use crate::sink::{Sink, each_cell_of, head_columns, plain_columns};
use crate::table::Table;
use crate::value::cell::{Cell, Interner};
use base::STEPS;
use plan::{AggregateUse, Var};

/// The best row of each group.
pub(crate) struct MeetSink<'q> {
    /// The rows.
    pub table: Table,
    /// The variable of each column.
    pub head: &'q [Var],
    /// The meet aggregate of each column; none for the columns of the group.
    pub aggregates: &'q [Option<AggregateUse>],
}

impl Sink for MeetSink<'_> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        let columns = head_columns(self.head, found);
        self.table.make_room(found.rows, &|| context.check(0))?;
        for row in 0..found.rows {
            meet_into(&mut self.table, self.aggregates, &columns, row, context.interner)?;
        }
        context.check_rows(&self.table)?;
        Ok(true)
    }

    fn is_joinable(&self) -> bool {
        true
    }

    fn fork(&self) -> Self {
        let table = Table::new(self.table.arity(), plain_columns(self.aggregates));
        Self { table, ..*self }
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
    for row in (0..other.rows()).filter(|&row| other.is_live(row)) {
        if row % STEPS == STEPS - 1 {
            check()?;
        }
        meet_into(table, aggregates, &columns, row, interner)?;
    }
    Ok(())
}

/// Adds a row to a table of best rows. A better row is appended, and the old one dies.
fn meet_into(
    table: &mut Table,
    aggregates: &[Option<AggregateUse>],
    columns: &[&[Cell]],
    row: usize,
    interner: &Interner,
) -> Result<()> {
    let plain = aggregates.iter().take_while(|one| one.is_none()).count();
    let failed = |used: &AggregateUse, failure| Error::failed(failure, used.span);
    let key: Vec<Cell> = columns[..plain].iter().map(|column| column[row]).collect();
    let Some(there) = table.find(&key) else {
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
