//! Joins with rows in memory: derived relations, a script's own, and stored ones that were read whole.

use super::{BATCH_ROWS, Body, Emit, Wanted};
use crate::bindings::Bindings;
use crate::cell::Cell;
use crate::error::Result;
use crate::query::Query;
use crate::table::Table;
use plan::Duplicates;
use std::borrow::Cow;
use std::ops::Range;

/// A join with rows in memory.
pub(super) struct TableJoin<'j> {
    /// Columns that are bound.
    pub(super) columns: Vec<usize>,
    /// What they must be, a column each of the rows that come in.
    pub(super) keys: Vec<Cow<'j, [Cell]>>,
    /// Columns that bind variables.
    pub(super) outputs: &'j [(usize, usize)],
    /// Which rows are seen.
    pub(super) rows: Range<usize>,
    pub(super) negated: bool,
}

fn joined(
    input: &Bindings,
    rows: &[u32],
    live: &[usize],
    table: &Table,
    found: &[u32],
    outputs: &[(usize, usize)],
) -> Bindings {
    let mut output = input.gather(rows, live);
    for &(column, var) in outputs {
        if live.contains(&var) && found.len() == rows.len() {
            let column = table.column(column);
            output.columns[var] = found.iter().map(|&there| column[there as usize]).collect();
        }
    }
    output
}

impl Body<'_> {
    pub(super) fn join_table(
        &mut self,
        at: usize,
        input: &Bindings,
        table: &Table,
        join: &TableJoin<'_>,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let live = &self.steps[at].planned.live;
        let once = join.negated || (join.outputs.is_empty() && self.is_set());
        if !once && join.outputs.is_empty() && self.duplicates == Duplicates::Weigh {
            return self.count_matches(at, input, table, join, query, emit);
        }
        let (mut rows, mut found) = (Vec::new(), Vec::new());
        let mut key = Vec::with_capacity(join.keys.len());
        for row in 0..input.rows {
            if join.columns.is_empty() {
                let mut any = false;
                for there in join.rows.clone().filter(|&there| table.is_live(there)) {
                    any = true;
                    if once {
                        break;
                    }
                    rows.push(row as u32);
                    found.push(there as u32);
                    if rows.len() >= BATCH_ROWS {
                        let output = joined(input, &rows, live, table, &found, join.outputs);
                        if !self.hand_on(at, output, query, emit)? {
                            return Ok(false);
                        }
                        rows.clear();
                        found.clear();
                    }
                }
                if once && any != join.negated {
                    rows.push(row as u32);
                }
            } else {
                key.clear();
                key.extend(join.keys.iter().map(|column| column[row]));
                let mut any = false;
                let first = found.len();
                table.each_match(&join.columns, &key, &join.rows, |there| {
                    any = true;
                    if !once {
                        rows.push(row as u32);
                        found.push(there as u32);
                    }
                    !once
                });
                if table.is_sorted() {
                    // They came from the last to the first.
                    found[first..].reverse();
                }
                if once && any != join.negated {
                    rows.push(row as u32);
                }
            }
            if rows.len() >= BATCH_ROWS {
                let output = joined(input, &rows, live, table, &found, join.outputs);
                if !self.hand_on(at, output, query, emit)? {
                    return Ok(false);
                }
                rows.clear();
                found.clear();
            }
        }
        let output = joined(input, &rows, live, table, &found, join.outputs);
        self.hand_on(at, output, query, emit)
    }

    /// Nothing of the rows that are found is needed but how many they are.
    fn count_matches(
        &mut self,
        at: usize,
        input: &Bindings,
        table: &Table,
        join: &TableJoin<'_>,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let live = &self.steps[at].planned.live;
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        let all = join.rows.clone().filter(|&there| table.is_live(there)).count() as u64;
        let mut key = Vec::with_capacity(join.keys.len());
        for row in 0..input.rows {
            let mut matches = all;
            if !join.columns.is_empty() {
                matches = 0;
                key.clear();
                key.extend(join.keys.iter().map(|column| column[row]));
                table.each_match(&join.columns, &key, &join.rows, |_| {
                    matches += 1;
                    true
                });
            }
            if matches > 0 {
                rows.push(row as u32);
                weights.push(input.weight(row).saturating_mul(matches));
            }
        }
        self.hand_on(at, input.gather_weighted(&rows, weights, live), query, emit)
    }
}
