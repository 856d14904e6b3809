//! Where the rows go that a body finds: a set, the best of each group, or groups that are aggregated.
//!
//! # Why a trait
//! Several threads may find rows at once (`spread.rs`). Each has a sink of its own, and in the end they become one.

use crate::aggregate::Groups;
use crate::bindings::Bindings;
use crate::body::Wanted;
use crate::cell::{Cell, Interner};
use crate::error::{Error, Result};
use crate::query::Query;
use crate::table::Table;
use crate::watch::Check;
use base::STEPS;
use plan::{AggregateUse, Var};
use std::sync::Arc;

/// Takes the rows that a body finds.
pub(crate) trait Sink: Send + Sized {
    /// Takes some.
    ///
    /// # Errors
    /// Values that an aggregate does not take, and what stops the query.
    fn take(&mut self, query: &Query<'_>, found: &Bindings) -> Result<Wanted>;

    /// So many rows are enough.
    fn enough(&self) -> usize {
        usize::MAX
    }

    /// Whether no further row is wanted, whoever finds it.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether what it has taken should go elsewhere before more is read.
    fn is_full(&self, _query: &Query<'_>) -> bool {
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
    fn join(&mut self, other: Self, query: &Query<'_>) -> Result<()>;

    /// About how many bytes it holds.
    fn bytes(&self) -> u64;

    /// Calls `visit` with each cell that it holds.
    fn each_cell(&self, visit: &mut dyn FnMut(Cell));
}

/// Calls `visit` with each cell of some columns.
pub(crate) fn each_cell_of(columns: &[&[Cell]], visit: &mut dyn FnMut(Cell)) {
    columns.iter().for_each(|column| column.iter().for_each(|&cell| visit(cell)));
}

/// A set of rows.
pub(crate) struct RowSet<'q> {
    /// The rows.
    pub table: Table,
    /// The variable of each column.
    pub head: &'q [Var],
    /// Rows that are there already, and not taken.
    pub known: Option<Arc<Table>>,
    /// So many rows are enough.
    pub enough: usize,
}

impl Sink for RowSet<'_> {
    fn take(&mut self, query: &Query<'_>, found: &Bindings) -> Result<Wanted> {
        let columns = head_columns(self.head, found);
        self.table.make_room(found.rows, &|| query.check(0))?;
        self.table.expect(&columns, found.rows);
        if self.known.is_none() && self.enough == usize::MAX {
            self.table.insert_rows(&columns, found.rows);
            return query.check_rows(&self.table).map(|()| true);
        }
        for row in 0..found.rows {
            if self.known.as_ref().is_some_and(|known| known.contains(&columns, row)) {
                continue;
            }
            self.table.insert(&columns, row);
            if self.table.rows() >= self.enough {
                return Ok(false);
            }
        }
        query.check_rows(&self.table)?;
        Ok(true)
    }

    fn enough(&self) -> usize {
        self.enough
    }

    fn is_joinable(&self) -> bool {
        // Who stops early has few rows, and one thread finds them as soon.
        self.enough == usize::MAX
    }

    fn fork(&self) -> Self {
        Self { table: Table::set(self.table.arity()), known: self.known.clone(), ..*self }
    }

    fn join(&mut self, other: Self, query: &Query<'_>) -> Result<()> {
        if self.table.rows() == 0 {
            self.table = other.table;
            return Ok(());
        }
        self.table.insert_all(&other.table, &|| query.check(0))?;
        query.check_rows(&self.table)
    }

    fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        each_cell_of(&self.table.columns(), visit);
    }
}

/// The best row of each group, by meet aggregates.
pub(crate) struct Best<'q> {
    /// The rows.
    pub table: Table,
    /// The variable of each column.
    pub head: &'q [Var],
    /// What is better; none of the columns before.
    pub aggregates: &'q [Option<AggregateUse>],
}

impl Sink for Best<'_> {
    fn take(&mut self, query: &Query<'_>, found: &Bindings) -> Result<Wanted> {
        let columns = head_columns(self.head, found);
        self.table.make_room(found.rows, &|| query.check(0))?;
        for row in 0..found.rows {
            meet_into(&mut self.table, self.aggregates, &columns, row, query.interner)?;
        }
        query.check_rows(&self.table)?;
        Ok(true)
    }

    fn is_joinable(&self) -> bool {
        true
    }

    fn fork(&self) -> Self {
        let table = Table::new(self.table.arity(), plain_columns(self.aggregates));
        Self { table, ..*self }
    }

    fn join(&mut self, other: Self, query: &Query<'_>) -> Result<()> {
        join_best(&mut self.table, self.aggregates, &other.table, query.interner, &|| {
            query.check(0)
        })?;
        query.check_rows(&self.table)
    }

    fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        each_cell_of(&self.table.columns(), visit);
    }
}

/// Groups that are aggregated.
pub(crate) struct Grouped<'q> {
    /// The groups.
    pub groups: Groups,
    /// The variable of each column.
    pub head: &'q [Var],
}

impl Sink for Grouped<'_> {
    fn take(&mut self, query: &Query<'_>, found: &Bindings) -> Result<Wanted> {
        let columns = head_columns(self.head, found);
        let check = |more| query.check(more);
        self.groups.add(&columns, found.rows, &found.weights, query.interner, &check)?;
        query.check(self.groups.bytes())?;
        Ok(true)
    }

    fn is_joinable(&self) -> bool {
        self.groups.is_joinable()
    }

    fn fork(&self) -> Self {
        Self { groups: self.groups.fork(), head: self.head }
    }

    fn join(&mut self, other: Self, query: &Query<'_>) -> Result<()> {
        self.groups.join(other.groups, query.interner)?;
        query.check(self.groups.bytes())
    }

    fn bytes(&self) -> u64 {
        self.groups.bytes()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.groups.each_cell(visit);
    }
}

pub(crate) fn head_columns<'b>(head: &[Var], bindings: &'b Bindings) -> Vec<&'b [Cell]> {
    head.iter().map(|&var| bindings.columns[var].as_slice()).collect()
}

/// Columns of a head that are not aggregated.
pub(crate) fn plain_columns(aggregates: &[Option<AggregateUse>]) -> usize {
    aggregates.iter().filter(|one| one.is_none()).count()
}

/// Puts the live rows of one table that keeps one a group into another.
///
/// # Errors
/// Values that an aggregate does not take; those of `check`.
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

/// Puts a row into a table that keeps one a group; a group that is bettered gets a new row.
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
