//! Operator: joins with tries of stored relations, by a range of one trie, or by intersecting
//! several that bind one variable together.

use crate::batch_size::{BATCH_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::operator::trie_build;
use crate::pipeline::{Operator, Pipeline};
use crate::sink::Out;
use crate::storage::probe_keys::ProbeKeys;
use crate::storage::relation_source::Readable;
use crate::trie::{Rows, Trie, intersect};
use crate::value::cell::Cell;
use base::prefetch::prefetch_value;
use plan::{Duplicates, OperatorName, Step, VarId};
use std::sync::Arc;

/// Input rows that are looked up in the store without asking for a trie: that would cost as much.
const FEW_ROWS: usize = 4;

/// Input rows whose matches are prefetched together.
const FETCHED_ROWS: usize = 32;

/// Cells of a match that are prefetched; the processor prefetches further ones itself.
const FETCHED_CELLS: usize = 24;

/// The first cells of a match.
#[inline]
fn front<'t>(trie: &'t Trie, column: usize, there: &Rows) -> &'t [Cell] {
    let cells = trie.column(column, there);
    &cells[..cells.len().min(FETCHED_CELLS)]
}

/// A trie with the keys to look up.
pub(crate) struct TrieJoin<'i> {
    trie: Arc<Trie>,
    /// For each trie column, its index in the relation.
    columns: Vec<usize>,
    /// Values of the first columns: one column each, by input row.
    keys: ProbeKeys<'i>,
}

/// Input rows with the cells that all tries have for them.
#[derive(Default)]
struct CommonCells {
    rows: Vec<u32>,
    found: Vec<Cell>,
    /// Multiplicity of each, where duplicates are counted.
    weights: Vec<u64>,
}

impl CommonCells {
    /// Adds the cells that all lists have for an input row of this weight. If they are counted and
    /// not needed, only their number is added.
    #[inline]
    fn add(
        &mut self,
        row: usize,
        weight: u64,
        lists: &mut [&[Cell]],
        duplicates: Duplicates,
        is_needed: bool,
    ) {
        let Self { rows, found, weights } = self;
        match duplicates {
            Duplicates::Weigh if !is_needed => {
                let mut all = 0_u64;
                intersect(lists, |_, times| all = all.saturating_add(times));
                if all > 0 {
                    rows.push(row as u32);
                    weights.push(weight.saturating_mul(all));
                }
            }
            Duplicates::Weigh => intersect(lists, |cell, times| {
                rows.push(row as u32);
                found.push(cell);
                weights.push(weight.saturating_mul(times));
            }),
            Duplicates::Merge => intersect(lists, |cell, _| {
                rows.push(row as u32);
                found.push(cell);
            }),
            Duplicates::Keep => intersect(lists, |cell, times| {
                for _ in 0..times {
                    rows.push(row as u32);
                    found.push(cell);
                }
            }),
        }
    }
}

/// A join with one trie, or with several that bind a variable together.
pub(crate) struct LeapfrogJoin<'i> {
    /// The step, or the first of the group.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: &'i Bindings,
    /// The trie of the step, or of each step of the group.
    pub(crate) joins: Vec<TrieJoin<'i>>,
}

impl Operator for LeapfrogJoin<'_> {
    const NAME: OperatorName = OperatorName::LeapfrogJoin;

    /// # Errors
    /// The errors that stop the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        match &self.joins[..] {
            [join] => pipeline.join_trie(self.at, self.input, join, context, out),
            joins => pipeline.join_together(self.at, self.input, joins, context, out),
        }
    }
}

impl<'i> TrieJoin<'i> {
    pub(crate) fn key(&self, row: usize) -> impl Iterator<Item = Cell> + use<'_, 'i> {
        self.keys.cells.iter().map(move |column| column[row])
    }
}

impl Pipeline<'_> {
    /// The trie for a step, if it has one or builds one. `without` is a variable that is not bound
    /// yet.
    pub(crate) fn trie_join<'i>(
        &mut self,
        at: usize,
        input: &'i Bindings,
        without: Option<VarId>,
        context: &ExecContext<'_>,
    ) -> Result<Option<TrieJoin<'i>>> {
        let planned = self.steps[at].planned;
        let Step::Stored { stored, outputs, prefix, negated, range, at: time, .. } = &planned.step
        else {
            return Ok(None);
        };
        let Readable::Stored(_) = context.relation(*stored) else { return Ok(None) };
        if input.rows <= FEW_ROWS && !prefix.is_empty() {
            return Ok(None);
        }
        let keys = ProbeKeys::new(&planned.step, input, without, context.plan);
        if keys.cells.is_empty() || time.is_some() {
            return Ok(None);
        }
        let outputs: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        let rows = context.plan.infos[*stored].rows;
        let (asked, is_needed) = match (prefix.is_empty() && without.is_none(), range) {
            // No stored order helps, so each input row would scan the relation. One row may do so
            // once; a second time is too much.
            (true, _) if input.rows > 1 || *negated => (input.rows, true),
            (true, _) => ((rows / trie_build::ROWS_A_LOOK_UP / 2 + 1) as usize, false),
            (false, None) => (input.rows, false),
            // For few keys, a range scan is better.
            (false, Some(_)) => return Ok(None),
        };
        let next = keys.without.or_else(|| outputs.first().copied());
        let mut wanted = trie_build::Wanted {
            stored: *stored,
            bound: &keys.columns,
            next: if planned.group_steps > 0 || without.is_some() { next } else { None },
            outputs: &outputs,
            keys: asked,
            is_needed: is_needed && self.rows_left.is_none(),
        };
        let mut found = context.trie(&wanted)?;
        if found.is_none() && is_needed && !wanted.is_needed && self.spend(rows) {
            wanted.is_needed = true;
            found = context.trie(&wanted)?;
        }
        Ok(found.map(|(trie, columns)| TrieJoin { trie, columns, keys }))
    }

    /// Joins with a trie.
    fn join_trie(
        &mut self,
        at: usize,
        input: &Bindings,
        join: &TrieJoin<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { outputs, negated, .. } = &planned.step else { return Ok(true) };
        let live = &planned.live;
        let trie = &*join.trie;
        let mut rows: Vec<u32> = Vec::new();
        let once = *negated || (outputs.is_empty() && self.is_set());
        if once {
            let is_kept = |row: &u32| trie.find(join.key(*row as usize)).is_empty() == *negated;
            rows.extend((0..input.rows as u32).filter(is_kept));
            return self.hand_on(at, input.gather(&rows, live), context, out);
        }
        if outputs.is_empty() && self.duplicates == Duplicates::Weigh {
            let mut weights = Vec::new();
            for row in 0..input.rows {
                let found = trie.find(join.key(row)).len() as u64;
                if found > 0 {
                    rows.push(row as u32);
                    weights.push(input.weight(row).saturating_mul(found));
                }
            }
            return self.hand_on(at, input.gather_weighted(&rows, weights, live), context, out);
        }
        self.hand_on_matches(at, input, join, context, out)
    }

    /// Passes on each row with its matches in a trie.
    fn hand_on_matches(
        &mut self,
        at: usize,
        input: &Bindings,
        join: &TrieJoin<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { outputs, .. } = &planned.step else { return Ok(true) };
        let live = &planned.live;
        let trie = &*join.trie;
        let mut rows: Vec<u32> = Vec::new();
        let place = |column: usize| join.columns.iter().position(|&one| one == column);
        let from: Vec<(usize, VarId)> =
            outputs.iter().filter_map(|&(column, var)| Some((place(column)?, var))).collect();
        let mut found: Vec<Vec<Cell>> = vec![Vec::new(); from.len()];
        let mut all = Vec::with_capacity(input.rows.min(FETCHED_ROWS));
        for start in (0..input.rows).step_by(FETCHED_ROWS) {
            // Separate loops, so that their cache misses overlap.
            all.clear();
            all.extend(
                (start..input.rows.min(start + FETCHED_ROWS)).map(|row| trie.find(join.key(row))),
            );
            for there in &all {
                from.iter().for_each(|&(column, _)| prefetch_value(front(trie, column, there)));
            }
            let more = all.iter().map(Rows::len).sum::<usize>().min(BATCH_ROWS);
            rows.reserve(more);
            found.iter_mut().for_each(|found| found.reserve(more));
            for (row, there) in (start..).zip(&all) {
                rows.extend(std::iter::repeat_n(row as u32, there.len()));
                for (found, &(column, _)) in found.iter_mut().zip(&from) {
                    match trie.column(column, there) {
                        // A row with a unique key: a push is cheaper than a copy.
                        [cell] => found.push(*cell),
                        cells => found.extend_from_slice(cells),
                    }
                }
                if rows.len() >= BATCH_ROWS || row + 1 == input.rows {
                    let mut output = input.gather(&rows, live);
                    for (found, &(_, var)) in found.iter_mut().zip(&from) {
                        output.columns[var] = std::mem::take(found);
                    }
                    rows.clear();
                    if !self.hand_on(at, output, context, out)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Binds the variable of a step to the intersection of it and the `joins` after it; continues
    /// after those.
    fn join_together(
        &mut self,
        at: usize,
        input: &Bindings,
        joins: &[TrieJoin<'_>],
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let last = at + joins.len() - 1;
        let Step::Stored { outputs, .. } = &self.steps[at].planned.step else { return Ok(true) };
        let Some(&(_, var)) = outputs.first() else { return Ok(true) };
        let live = &self.steps[last].planned.live;
        let is_needed = live.contains(&var);
        let mut common = CommonCells::default();
        let mut lists: Vec<&[Cell]> = Vec::with_capacity(joins.len());
        for row in 0..input.rows {
            lists.clear();
            for join in joins {
                let there = join.trie.find(join.key(row));
                lists.push(join.trie.column(join.keys.columns.len(), &there));
            }
            common.add(row, input.weight(row), &mut lists, self.duplicates, is_needed);
            if common.rows.len() >= BATCH_ROWS || row + 1 == input.rows {
                let weights = std::mem::take(&mut common.weights);
                let mut output = input.gather_weighted(&common.rows, weights, live);
                if is_needed {
                    output.columns[var] = std::mem::take(&mut common.found);
                }
                common.rows.clear();
                common.found.clear();
                if !self.hand_on(last, output, context, out)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
