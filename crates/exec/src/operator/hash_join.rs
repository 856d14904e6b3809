//! Operator: joins with rows in memory through a hash index, for derived relations and relations of
//! a script.
//!
//! The fixpoint builds the indexes before the pipeline runs.

use crate::batch_size::{BATCH_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::pipeline::{Operator, Pipeline};
use crate::sink::Out;
use crate::table::Table;
use crate::value::cell::Cell;
use plan::{Duplicates, OperatorName, Step, Version};
use std::borrow::Cow;
use std::ops::Range;

/// A join with a table in memory.
struct TableJoin<'j> {
    /// The bound columns.
    pub(crate) columns: Vec<usize>,
    /// Their values: one column each, by input row.
    pub(crate) keys: Vec<Cow<'j, [Cell]>>,
    /// Columns that bind variables.
    pub(crate) outputs: &'j [(usize, usize)],
    /// Rows of the table that are visible.
    pub(crate) rows: Range<usize>,
    pub(crate) negated: bool,
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

/// A join with a derived relation, or with a relation of the script.
pub(crate) struct HashJoin<'i> {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: &'i Bindings,
    /// The relation, if it is the script's.
    pub(crate) table: Option<&'i Table>,
}

impl Operator for HashJoin<'_> {
    const NAME: OperatorName = OperatorName::HashJoin;

    /// # Errors
    /// What stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        match self.table {
            Some(table) => pipeline.join_memory(self.at, self.input, table, context, out),
            None => pipeline.join_derived(self.at, self.input, context, out),
        }
    }
}

impl Pipeline<'_> {
    /// Joins with the rows of a derived relation that the step's version is.
    fn join_derived(
        &mut self,
        at: usize,
        input: &Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Step::Derived { predicate, version, bound, outputs, negated } =
            &self.steps[at].planned.step
        else {
            return Ok(true);
        };
        let columns: Vec<usize> = bound.iter().map(|(column, _)| *column).collect();
        let keys = bound.iter().map(|(_, var)| Cow::from(&input.columns[*var])).collect();
        let table = context.table(*predicate);
        let marks = context.marks(*predicate);
        let rows = match version {
            Version::Total => 0..marks.total,
            Version::Old => 0..marks.old,
            Version::Delta => marks.old..marks.total,
        };
        let join = TableJoin { columns, keys, outputs, rows, negated: *negated };
        self.join_table(at, input, &table, &join, context, out)
    }

    /// Joins with a relation of the script that is in memory.
    fn join_memory(
        &mut self,
        at: usize,
        input: &Bindings,
        table: &Table,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Step::Stored { stored, prefix, checks, outputs, negated, path, .. } =
            &self.steps[at].planned.step
        else {
            return Ok(true);
        };
        let keys = &context.plan.infos[*stored].paths[*path].keys;
        let prefix = keys.iter().copied().zip(prefix.iter().copied());
        let bound: Vec<_> = prefix.chain(checks.iter().copied()).collect();
        let columns: Vec<usize> = bound.iter().map(|(column, _)| *column).collect();
        let keys = bound.iter().map(|(_, var)| Cow::from(&input.columns[*var]));
        let (keys, rows) = (keys.collect(), 0..table.rows());
        let join = TableJoin { columns, keys, outputs, rows, negated: *negated };
        self.join_table(at, input, table, &join, context, out)
    }

    fn join_table(
        &mut self,
        at: usize,
        input: &Bindings,
        table: &Table,
        join: &TableJoin<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let live = &self.steps[at].planned.live;
        let once = join.negated || (join.outputs.is_empty() && self.is_set());
        if !once && join.outputs.is_empty() && self.duplicates == Duplicates::Weigh {
            return self.count_matches(at, input, table, join, context, out);
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
                        if !self.hand_on(at, output, context, out)? {
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
                    // The index returns rows from the last to the first.
                    found[first..].reverse();
                }
                if once && any != join.negated {
                    rows.push(row as u32);
                }
            }
            if rows.len() >= BATCH_ROWS {
                let output = joined(input, &rows, live, table, &found, join.outputs);
                if !self.hand_on(at, output, context, out)? {
                    return Ok(false);
                }
                rows.clear();
                found.clear();
            }
        }
        let output = joined(input, &rows, live, table, &found, join.outputs);
        self.hand_on(at, output, context, out)
    }

    /// Joins where no column of the table is live: only the number of matches counts.
    fn count_matches(
        &mut self,
        at: usize,
        input: &Bindings,
        table: &Table,
        join: &TableJoin<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
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
        self.hand_on(at, input.gather_weighted(&rows, weights, live), context, out)
    }
}
