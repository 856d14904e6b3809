//! Equal rows as one with a weight, where a rule counts what it finds.
//!
//! # How
//! What a join leaves is put into a table with its weights, and handed on when all of it is there, or when the table is full. So a
//! count of the ends of all paths of four steps takes as many rows as there are ends, four times. Where few rows are equal, the table is
//! given up.

use super::{BATCH_ROWS, Body, Emit, Wanted};
use crate::bindings::Bindings;
use crate::cell::Cell;
use crate::error::Result;
use crate::query::Query;
use crate::table::Table;

/// Rows of a table that is handed on before more come.
const MERGED_MAX: usize = 1 << 20;

/// Rows after which it is asked whether many were equal.
const TRIAL_ROWS: u64 = 4 * BATCH_ROWS as u64;

/// Rows that wait for others of their kind.
pub(super) struct Merged {
    table: Table,
    weights: Vec<u64>,
    taken: u64,
    /// How many rows must have become one, at least, that it is worth it.
    worth: u64,
    is_given_up: bool,
}

impl Merged {
    /// None yet, of so many columns; `grows` says whether later joins make more rows of each.
    pub(super) fn new(columns: usize, grows: bool) -> Self {
        let table = Table::new(columns, columns);
        // To look a row up costs as much as some steps that only count or refuse it.
        let worth = if grows { 2 } else { 6 };
        Self { table, weights: Vec::new(), taken: 0, worth, is_given_up: false }
    }

    fn take(&mut self, columns: &[&[Cell]], rows: &Bindings) {
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
    pub(super) fn merge(
        &mut self,
        at: usize,
        output: Bindings,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let ready = &mut self.steps[at];
        let live = &ready.planned.live;
        let Some(merged) = ready.merged.as_mut().filter(|merged| !merged.is_given_up) else {
            return self.pass_on(at, output, query, emit);
        };
        let columns: Vec<&[Cell]> =
            live.iter().map(|&var| output.columns[var].as_slice()).collect();
        merged.take(&columns, &output);
        query.check(merged.table.bytes() + 8 * merged.weights.len() as u64)?;
        let rows = merged.table.rows();
        merged.is_given_up =
            merged.taken >= TRIAL_ROWS && rows as u64 * merged.worth > merged.taken;
        if merged.is_given_up || rows >= MERGED_MAX {
            return self.hand_on_merged(at, query, emit);
        }
        Ok(true)
    }

    /// Hands on what waits.
    pub(super) fn hand_on_merged(
        &mut self,
        at: usize,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let ready = &mut self.steps[at];
        let Some(merged) = &mut ready.merged else { return Ok(true) };
        let live = &ready.planned.live;
        let table = std::mem::replace(&mut merged.table, Table::new(live.len(), live.len()));
        let weights = std::mem::take(&mut merged.weights);
        let mut columns = vec![Vec::new(); self.variables];
        for (column, &var) in table.into_columns().into_iter().zip(live) {
            columns[var] = column;
        }
        let waiting = Bindings { rows: weights.len(), columns, weights };
        self.pass_on(at, waiting, query, emit)
    }
}
