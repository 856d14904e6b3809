//! Pre-aggregation: represents equal rows as one row with a multiplicity, where a rule counts them.
//! The pipeline calls it behind joins for which the plan allows it.
//!
//! # How
//! The rows of a join are collected in a table with their multiplicities. They are passed on when
//! all have come or the table is full. So a count of the ends of all paths of four edges handles as
//! many rows as there are ends, four times. If few rows are equal, the table is given up.

use crate::batch_size::{BATCH_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::pipeline::Pipeline;
use crate::sink::Out;
use crate::table::Table;
use crate::value::cell::Cell;
use plan::{PerVar, PlannedStep, Step};

/// Rows of a table at which it is passed on early.
const MERGED_MAX: usize = 1 << 20;

/// Rows after which the share of equal rows is checked.
const TRIAL_ROWS: u64 = 4 * BATCH_ROWS as u64;

/// Rows that a join makes in the time of one lookup in the table.
const LOOK_UP_ROWS: f64 = 5.0;

/// Rows that pass before a table starts, where it is not expected to pay off.
const SLEEP_ROWS: u64 = 1 << 20;

/// Input rows per distinct row from which on it pays off there.
const WORTH_LATE: f64 = 3.0;

/// How many rows the steps after one are thought to make of each of its rows, in all.
pub(crate) fn rows_later(steps: &[PlannedStep], at: usize) -> f64 {
    let (mut one, mut all) = (1.0, 0.0);
    for planned in &steps[at + 1..] {
        let grown = planned.grows;
        let makes_rows = match &planned.step {
            Step::Member { .. } | Step::Search(_) => true,
            Step::Derived { outputs, .. } | Step::Stored { outputs, .. } => !outputs.is_empty(),
            _ => false,
        };
        // A join without live columns only changes multiplicities.
        one *= if makes_rows { grown } else { grown.min(1.0) };
        all += one;
    }
    all
}

/// A table of rows with their multiplicities.
pub(crate) struct PreAggregation {
    table: Table,
    weights: Vec<u64>,
    taken: u64,
    /// Rows that pass before the first is taken.
    sleeps: u64,
    /// Least number of input rows per distinct row.
    worth: f64,
    is_given_up: bool,
}

impl PreAggregation {
    /// An empty table with this many columns. The later steps are estimated to make `later` rows of
    /// each row; `rows` is the expected input.
    pub(crate) fn new(columns: usize, later: f64, rows: f64) -> Self {
        // A lookup costs as much as making five rows. Where r equal rows become one, 1 - 1/r of the
        // later rows are saved.
        let saved = 1.0 - LOOK_UP_ROWS / later;
        let worth = if saved > 0.0 { 1.0 / saved } else { WORTH_LATE };
        // If the estimates say that it does not pay off, it starts only when many more rows come
        // than expected.
        let sleeps = if saved > 0.0 { 0 } else { SLEEP_ROWS.max((rows * 4.0) as u64) };
        let table = Table::new(columns, columns);
        Self { table, weights: Vec::new(), taken: 0, sleeps, worth, is_given_up: false }
    }

    /// Calls `visit` with each cell of the collected rows.
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

impl Pipeline<'_> {
    /// Collects rows.
    pub(crate) fn merge(
        &mut self,
        at: usize,
        output: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let ready = &mut self.steps[at];
        let live = &ready.planned.live;
        let Some(pre_aggregation) =
            ready.pre_aggregation.as_mut().filter(|pre_aggregation| !pre_aggregation.is_given_up)
        else {
            return self.pass_on(at, output, context, out);
        };
        if pre_aggregation.sleeps > 0 {
            pre_aggregation.sleeps = pre_aggregation.sleeps.saturating_sub(output.rows as u64);
            return self.pass_on(at, output, context, out);
        }
        let columns: Vec<&[Cell]> =
            live.iter().map(|&var| output.columns[var].as_slice()).collect();
        pre_aggregation.take(&columns, &output);
        context.check(pre_aggregation.table.bytes() + 8 * pre_aggregation.weights.len() as u64)?;
        let rows = pre_aggregation.table.rows();
        pre_aggregation.is_given_up = pre_aggregation.taken >= TRIAL_ROWS
            && rows as f64 * pre_aggregation.worth > pre_aggregation.taken as f64;
        let is_full = pre_aggregation.is_given_up || rows >= MERGED_MAX;
        // Collected rows keep their values from being swept.
        if is_full || self.is_sweep_due(context) {
            return self.hand_on_pre_aggregated(at, context, out);
        }
        Ok(true)
    }

    /// Passes on the collected rows.
    pub(crate) fn hand_on_pre_aggregated(
        &mut self,
        at: usize,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let ready = &mut self.steps[at];
        let Some(pre_aggregation) = &mut ready.pre_aggregation else { return Ok(true) };
        let live = &ready.planned.live;
        let table =
            std::mem::replace(&mut pre_aggregation.table, Table::new(live.len(), live.len()));
        pre_aggregation.taken = 0;
        let weights = std::mem::take(&mut pre_aggregation.weights);
        let mut columns = PerVar::filled(Vec::new(), self.variables);
        for (column, &var) in table.into_columns().into_iter().zip(live) {
            columns[var] = column;
        }
        let waiting = Bindings { rows: weights.len(), columns, weights };
        self.pass_on(at, waiting, context, out)
    }
}
