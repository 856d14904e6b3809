//! Equal rows as one with a weight, where a rule counts what it finds.
//!
//! # How
//! What a join leaves is put into a table with its weights, and handed on when all of it is there, or when the table is full. So a
//! count of the ends of all paths of four steps takes as many rows as there are ends, four times. Where few rows are equal, the table is
//! given up.

use crate::batch_size::{BATCH_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::pipeline::Body;
use crate::sink::Emit;
use crate::table::Table;
use crate::value::cell::Cell;
use plan::{Planned, Step};

/// Rows of a table that is handed on before more come.
const MERGED_MAX: usize = 1 << 20;

/// Rows after which it is asked whether many were equal.
const TRIAL_ROWS: u64 = 4 * BATCH_ROWS as u64;

/// Rows that a join makes in the time of one look-up in the table.
const LOOK_UP_ROWS: f64 = 5.0;

/// Rows that go by, at least, where merging is not thought to pay.
const SLEEP_ROWS: u64 = 1 << 20;

/// Rows that must become one there.
const WORTH_LATE: f64 = 3.0;

/// How many rows the steps after one are thought to make of each of its rows, in all.
pub(crate) fn rows_later(steps: &[Planned], at: usize) -> f64 {
    let (mut one, mut all) = (1.0, 0.0);
    for planned in &steps[at + 1..] {
        let grown = planned.grows;
        let makes_rows = match &planned.step {
            Step::Member { .. } => true,
            Step::Derived { outputs, .. } | Step::Stored { outputs, .. } => !outputs.is_empty(),
            _ => false,
        };
        // A join of which nothing is needed changes weights.
        one *= if makes_rows { grown } else { grown.min(1.0) };
        all += one;
    }
    all
}

/// Rows that wait for others of their kind.
pub(crate) struct Merged {
    table: Table,
    weights: Vec<u64>,
    taken: u64,
    /// Rows that go by before the first is taken.
    sleeps: u64,
    /// Rows that must have become one, at least, on average.
    worth: f64,
    is_given_up: bool,
}

impl Merged {
    /// None yet, of so many columns. So `later` rows are made of each by the steps that follow; `rows` are thought to come.
    pub(crate) fn new(columns: usize, later: f64, rows: f64) -> Self {
        // To look a row up costs as much as to make five. Where r equal rows become one, 1 - 1/r of the later ones are saved.
        let saved = 1.0 - LOOK_UP_ROWS / later;
        let worth = if saved > 0.0 { 1.0 / saved } else { WORTH_LATE };
        // Where it does not pay by what is thought, it is tried when many more rows come than were thought.
        let sleeps = if saved > 0.0 { 0 } else { SLEEP_ROWS.max((rows * 4.0) as u64) };
        let table = Table::new(columns, columns);
        Self { table, weights: Vec::new(), taken: 0, sleeps, worth, is_given_up: false }
    }

    /// Calls `visit` with each cell of the rows that wait.
    pub(crate) fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.table.columns().iter().for_each(|column| column.iter().for_each(|&cell| visit(cell)));
    }

    pub(crate) fn take(&mut self, columns: &[&[Cell]], rows: &Bindings) {
        for row in 0..rows.rows {
            let place = self.table.find_or_insert(columns, row);
            let weight = rows.weight(row);
            match self.weights.get_mut(place) {
                Some(there) => *there = there.saturating_add(weight),
                None => self.weights.push(weight),
            }
        }
        self.taken += rows.rows as u64;
    }
}

impl Body<'_> {
    /// Lets rows wait.
    pub(crate) fn merge(
        &mut self,
        at: usize,
        output: Bindings,
        context: &ExecContext<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let ready = &mut self.steps[at];
        let live = &ready.planned.live;
        let Some(merged) = ready.merged.as_mut().filter(|merged| !merged.is_given_up) else {
            return self.pass_on(at, output, context, emit);
        };
        if merged.sleeps > 0 {
            merged.sleeps = merged.sleeps.saturating_sub(output.rows as u64);
            return self.pass_on(at, output, context, emit);
        }
        let columns: Vec<&[Cell]> =
            live.iter().map(|&var| output.columns[var].as_slice()).collect();
        merged.take(&columns, &output);
        context.check(merged.table.bytes() + 8 * merged.weights.len() as u64)?;
        let rows = merged.table.rows();
        merged.is_given_up =
            merged.taken >= TRIAL_ROWS && rows as f64 * merged.worth > merged.taken as f64;
        let is_full = merged.is_given_up || rows >= MERGED_MAX;
        // What waits keeps its values.
        if is_full || self.is_sweep_due(context) {
            return self.hand_on_merged(at, context, emit);
        }
        Ok(true)
    }

    /// Hands on what waits.
    pub(crate) fn hand_on_merged(
        &mut self,
        at: usize,
        context: &ExecContext<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let ready = &mut self.steps[at];
        let Some(merged) = &mut ready.merged else { return Ok(true) };
        let live = &ready.planned.live;
        let table = std::mem::replace(&mut merged.table, Table::new(live.len(), live.len()));
        merged.taken = 0;
        let weights = std::mem::take(&mut merged.weights);
        let mut columns = vec![Vec::new(); self.variables];
        for (column, &var) in table.into_columns().into_iter().zip(live) {
            columns[var] = column;
        }
        let waiting = Bindings { rows: weights.len(), columns, weights };
        self.pass_on(at, waiting, context, emit)
    }
}
