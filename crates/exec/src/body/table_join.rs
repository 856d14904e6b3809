//! Joins with rows in memory: derived relations, a script's own, and stored ones that were read whole.

use super::{BATCH_ROWS, Body, Emit, Wanted};
use crate::bindings::Bindings;
use crate::error::Result;
use crate::query::Query;
use crate::table::Table;
use std::ops::Range;

/// A join with rows in memory.
pub(super) struct TableJoin<'j> {
    /// Columns that are bound.
    pub(super) columns: Vec<usize>,
    /// By which variables.
    pub(super) vars: Vec<usize>,
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
        input: Bindings,
        table: &Table,
        join: &TableJoin<'_>,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let live = &self.steps[at].planned.live;
        let once = join.negated || (join.outputs.is_empty() && self.is_set);
        let (mut rows, mut found) = (Vec::new(), Vec::new());
        let mut key = Vec::with_capacity(join.vars.len());
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
                        let output = joined(&input, &rows, live, table, &found, join.outputs);
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
                key.extend(join.vars.iter().map(|&var| input.columns[var][row]));
                let mut any = false;
                table.each_match(&join.columns, &key, &join.rows, |there| {
                    any = true;
                    if !once {
                        rows.push(row as u32);
                        found.push(there as u32);
                    }
                    !once
                });
                if once && any != join.negated {
                    rows.push(row as u32);
                }
            }
            if rows.len() >= BATCH_ROWS {
                let output = joined(&input, &rows, live, table, &found, join.outputs);
                if !self.hand_on(at, output, query, emit)? {
                    return Ok(false);
                }
                rows.clear();
                found.clear();
            }
        }
        let output = joined(&input, &rows, live, table, &found, join.outputs);
        self.hand_on(at, output, query, emit)
    }
}
