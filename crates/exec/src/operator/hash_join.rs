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
use crate::storage::relation_source::Readable;
use crate::table::Table;
use crate::table::index::Index;
use crate::value::cell::Cell;
use plan::{Duplicates, OperatorName, Step, VarId, Version};
use std::borrow::Cow;
use std::ops::Range;

/// A join with a table in memory.
struct TableJoin<'j> {
    pub(crate) table: &'j Table,
    /// The bound columns.
    pub(crate) columns: Vec<usize>,
    /// Their values: one column each, by input row.
    pub(crate) keys: Vec<Cow<'j, [Cell]>>,
    /// Columns that bind variables.
    pub(crate) outputs: &'j [(usize, VarId)],
    /// Rows of the table that are visible.
    pub(crate) rows: Range<usize>,
    pub(crate) negated: bool,
}

/// The number of a key that no row of a table has.
const NO_KEY: u32 = u32::MAX;

impl<'j> TableJoin<'j> {
    /// The index of the join, and the number of each row's key there. `None` where no column is
    /// bound. Numbers are found before the rows are, so that their cache misses overlap.
    fn numbers(&self, rows: usize) -> Option<(&'j Index, Vec<u32>)> {
        let index = self.table.index_on(&self.columns);
        debug_assert_eq!(index.is_none(), self.columns.is_empty(), "tables are indexed before");
        let index = index?;
        let number = |key: &[Cell]| index.number(self.table, key).unwrap_or(NO_KEY);
        let numbers = match &self.keys[..] {
            [column] => column[..rows].iter().map(|&cell| number(&[cell])).collect(),
            keys => {
                let mut key = Vec::with_capacity(keys.len());
                let of_row = |row: usize| {
                    key.clear();
                    key.extend(keys.iter().map(|column| column[row]));
                    number(&key)
                };
                (0..rows).map(of_row).collect()
            }
        };
        Some((index, numbers))
    }
}

/// Rows of a batch with the rows of a table that they are joined with, in pairs.
#[derive(Default)]
struct JoinedRows {
    input: Vec<u32>,
    /// Empty if only the rows of the batch are wanted.
    table: Vec<u32>,
}

impl JoinedRows {
    #[inline]
    fn push(&mut self, row: usize, there: usize) {
        self.input.push(row as u32);
        self.table.push(there as u32);
    }

    /// Adds the matches of a row, whose key has this number in the index. If it is to be added at
    /// most once, the caller does so. Returns whether there are matches.
    #[inline]
    fn match_row(
        &mut self,
        row: usize,
        index: &Index,
        number: u32,
        join: &TableJoin<'_>,
        once: bool,
    ) -> bool {
        if number == NO_KEY {
            return false;
        }
        if once {
            let mut any = false;
            join.table.each_match(index, number, &join.rows, |_| {
                any = true;
                false
            });
            return any;
        }
        let before = self.table.len();
        join.table.append_matches(index, number, &join.rows, &mut self.table);
        self.input.resize(self.table.len(), row as u32);
        self.table.len() > before
    }

    fn gather(&self, input: &Bindings, live: &[VarId], join: &TableJoin<'_>) -> Bindings {
        let mut output = input.gather(&self.input, live);
        for &(column, var) in join.outputs {
            if live.contains(&var) && self.table.len() == self.input.len() {
                let column = join.table.column(column);
                output.columns[var] =
                    self.table.iter().map(|&there| column[there as usize]).collect();
            }
        }
        output
    }
}

/// A join with a derived relation, or with a relation of the script.
pub(crate) struct HashJoin<'i> {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: &'i Bindings,
}

impl Operator for HashJoin<'_> {
    const NAME: OperatorName = OperatorName::HashJoin;

    /// # Errors
    /// The errors that stop the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Self { at, input } = self;
        match &pipeline.steps[at].planned.step {
            Step::Stored { stored, .. } => {
                let Readable::Memory(table) = context.relation(*stored) else {
                    unreachable!("only a relation in memory is planned as a hash join");
                };
                pipeline.join_memory(at, input, &table, context, out)
            }
            _ => pipeline.join_derived(at, input, context, out),
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
        let join = TableJoin { table: &table, columns, keys, outputs, rows, negated: *negated };
        self.join_table(at, input, &join, context, out)
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
        let join = TableJoin { table, columns, keys, outputs, rows, negated: *negated };
        self.join_table(at, input, &join, context, out)
    }

    fn join_table(
        &mut self,
        at: usize,
        input: &Bindings,
        join: &TableJoin<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let once = join.negated || (join.outputs.is_empty() && self.is_set());
        if !once && join.outputs.is_empty() && self.duplicates == Duplicates::Weigh {
            return self.count_matches(at, input, join, context, out);
        }
        let numbers = join.numbers(input.rows);
        let mut joined = JoinedRows::default();
        for row in 0..input.rows {
            let any = match &numbers {
                None => {
                    let all = self.join_all(at, input, row, join, &mut joined, context, out)?;
                    let Some(any) = all else { return Ok(false) };
                    any
                }
                Some((index, numbers)) => joined.match_row(row, index, numbers[row], join, once),
            };
            if once && any != join.negated {
                joined.input.push(row as u32);
            }
            if joined.input.len() >= BATCH_ROWS
                && !self.hand_on_joined(at, input, join, &mut joined, context, out)?
            {
                return Ok(false);
            }
        }
        self.hand_on_joined(at, input, join, &mut joined, context, out)
    }

    /// Pairs a row with all rows of the table. Returns whether there are any; `None` if no more
    /// rows are wanted.
    #[expect(clippy::too_many_arguments, reason = "a row of a batch, and where its pairs go")]
    #[inline]
    fn join_all(
        &mut self,
        at: usize,
        input: &Bindings,
        row: usize,
        join: &TableJoin<'_>,
        joined: &mut JoinedRows,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Option<bool>> {
        let once = join.negated || (join.outputs.is_empty() && self.is_set());
        let mut any = false;
        for there in join.rows.clone().filter(|&there| join.table.is_live(there)) {
            any = true;
            if once {
                break;
            }
            joined.push(row, there);
            if joined.input.len() >= BATCH_ROWS
                && !self.hand_on_joined(at, input, join, joined, context, out)?
            {
                return Ok(None);
            }
        }
        Ok(Some(any))
    }

    /// Passes joined rows on, and clears them.
    fn hand_on_joined(
        &mut self,
        at: usize,
        input: &Bindings,
        join: &TableJoin<'_>,
        joined: &mut JoinedRows,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let output = joined.gather(input, &self.steps[at].planned.live, join);
        joined.input.clear();
        joined.table.clear();
        self.hand_on(at, output, context, out)
    }

    /// Joins where no column of the table is live: only the number of matches counts.
    fn count_matches(
        &mut self,
        at: usize,
        input: &Bindings,
        join: &TableJoin<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let live = &self.steps[at].planned.live;
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        let numbers = join.numbers(input.rows);
        let is_live = |there: &usize| join.table.is_live(*there);
        let all = match &numbers {
            None => join.rows.clone().filter(is_live).count() as u64,
            Some(_) => 0,
        };
        for row in 0..input.rows {
            let mut matches = all;
            if let Some((index, numbers)) = &numbers
                && numbers[row] != NO_KEY
            {
                join.table.each_match(index, numbers[row], &join.rows, |_| {
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
