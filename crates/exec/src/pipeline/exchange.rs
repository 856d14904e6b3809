//! Exchanges, where a pipeline hands its batches to other threads, and the key ranges that threads
//! scan.
//!
//! `parallel.rs` asks for both. An exchange collects batches before one step until there are enough
//! for all threads. A scan of a whole relation is partitioned into ranges of keys instead.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::pipeline::Pipeline;
use crate::pipeline::sweep::Sweep;
use crate::sink::Out;
use crate::storage::access_path::{StoredPath, words_to_draw_by};
use crate::storage::relation_source::{Readable, StoredRelation};
use base::{Batch, Key, KeyRange, Keys, Projection};
use plan::Step;
use std::sync::Arc;

/// An exchange is placed before the first step that gets at least this part of the rows that start
/// threads.
const LEAST_SHARE: usize = 16;

/// The work of a search by an index, which is about a tenth of a millisecond.
const SEARCH_WORK: usize = 512;

/// Most bytes of sampled keys, if that is more than one key per range.
const DRAWN_BYTES: u64 = 4 << 20;

/// Keys sampled for each range.
const DRAWN: usize = 16;

/// An exchange. Its place is known once enough rows have passed.
///
/// Work is counted in rows of an ordinary step.
pub(crate) struct Exchange {
    /// The work of each step for a row, and that of the head.
    row_work: Vec<usize>,
    /// The work of the rows that entered each step, and the head.
    passed: Vec<usize>,
    rows_min: usize,
    level: Option<usize>,
    waiting: Vec<Bindings>,
    waiting_work: usize,
}

impl Exchange {
    /// The collected batches.
    pub(crate) fn waiting(&self) -> &[Bindings] {
        &self.waiting
    }

    /// Counts rows that enter a step, until there are enough to start threads.
    pub(crate) fn note(&mut self, step: usize, rows: usize) {
        if self.level.is_some() {
            return;
        }
        self.passed[step] += rows * self.row_work[step];
        if self.passed[step] >= self.rows_min {
            let least = (self.rows_min / LEAST_SHARE).max(1);
            // Before the head no work is left.
            let steps = 1..self.passed.len() - 1;
            self.level = steps.clone().find(|&step| self.passed[step] >= least);
        }
    }
}

/// The work of a step for a row.
pub(crate) fn row_work(step: &Step) -> usize {
    if matches!(step, Step::Search(_)) { SEARCH_WORK } else { 1 }
}

impl Pipeline<'_> {
    /// Places an exchange once `rows_min` rows have entered a step.
    pub(crate) fn exchange_from(&mut self, rows_min: usize) {
        let row_work = self.steps.iter().map(|step| row_work(&step.planned.step));
        self.exchange = Some(Exchange {
            row_work: row_work.chain([1]).collect(),
            passed: vec![0; self.steps.len() + 1],
            rows_min,
            level: None,
            waiting: Vec::new(),
            waiting_work: 0,
        });
    }

    /// Passes a batch to a step, or to the exchange before it.
    pub(crate) fn enter(
        &mut self,
        at: usize,
        batch: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let is_sweep_due = self.is_sweep_due(context);
        if let Some(exchange) = &mut self.exchange {
            exchange.note(at, batch.rows);
            if exchange.level == Some(at) {
                exchange.waiting_work += batch.rows * exchange.row_work[at];
                exchange.waiting.push(batch);
                // Collected batches keep their values from being swept.
                if exchange.waiting_work >= 2 * exchange.rows_min || is_sweep_due {
                    return self.run_waiting_in_parallel(context, out);
                }
                return Ok(true);
            }
        }
        self.step(at, batch, context, out)
    }

    /// Hands the collected batches to all threads.
    pub(crate) fn run_waiting_in_parallel(
        &mut self,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        match &mut self.exchange {
            Some(Exchange { level: Some(level), waiting, waiting_work, .. })
                if *waiting_work > 0 =>
            {
                *waiting_work = 0;
                let (level, waiting) = (*level, std::mem::take(waiting));
                let now_us = || context.limits.now_us();
                let paused = self.clock.as_mut().map(|clock| clock.pause(now_us()));
                let wanted = out.run_in_parallel(context, level, waiting);
                if let (Some(clock), Some(before)) = (&mut self.clock, paused) {
                    clock.leave(before, now_us());
                }
                wanted
            }
            _ => Ok(true),
        }
    }

    /// Restricts the first step to a part of its relation.
    pub(crate) fn read_only(&mut self, part: KeyRange) {
        self.part = Some(part);
    }

    /// Number of sweeps needed for the strings that the first step reads, if it reads a relation of
    /// at least `rows_min` rows.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn waves(&self, context: &ExecContext<'_>, rows_min: u64) -> Result<usize> {
        let Some(Step::Stored { stored, outputs, .. }) =
            self.steps.first().map(|first| &first.planned.step)
        else {
            return Ok(1);
        };
        let rows = context.plan.infos[*stored].rows;
        let Readable::Stored(relation) = context.relation(*stored) else { return Ok(1) };
        let path = &relation.paths[0];
        let costly = outputs.iter().map(|(column, _)| *column);
        let costly: Vec<usize> = costly.filter(|&column| path.is_costly(column)).collect();
        if rows < rows_min || costly.is_empty() {
            return Ok(1);
        }
        let bytes = path.mean_bytes_of(context.read, &costly, DRAWN)?.saturating_mul(rows);
        let waves = bytes / Sweep::new(context).share_bytes() + 1;
        Ok(usize::try_from(waves).unwrap_or(usize::MAX))
    }

    /// About `count` ranges of keys with about equal numbers of rows, if the first step reads a
    /// whole relation of at least `rows_min` rows.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn ranges(
        &self,
        context: &ExecContext<'_>,
        rows_min: u64,
        count: usize,
    ) -> Result<Option<Vec<KeyRange>>> {
        let Some(relation) = self.whole_relation(context, rows_min)? else { return Ok(None) };
        let path = &relation.paths[0];
        let mut bounds = sampled_keys(path, context, count)?;
        bounds.sort_unstable();
        let step = (bounds.len() / count).max(1);
        let mut bounds: Vec<Key> = bounds.into_iter().step_by(step).skip(1).collect();
        bounds.dedup();
        let KeyRange { mut lower, upper } = path.all();
        let mut ranges = Vec::with_capacity(bounds.len() + 1);
        for bound in bounds {
            ranges.push(KeyRange { lower, upper: Some(bound.clone()) });
            lower = bound;
        }
        ranges.push(KeyRange { lower, upper });
        Ok(Some(ranges))
    }

    /// The relation of the first step, if it is read as a whole in its primary order and has at
    /// least `rows_min` rows.
    fn whole_relation(
        &self,
        context: &ExecContext<'_>,
        rows_min: u64,
    ) -> Result<Option<Arc<StoredRelation>>> {
        let Some(first) = self.steps.first() else { return Ok(None) };
        let Step::Stored {
            stored,
            path,
            prefix,
            checks,
            outputs,
            negated,
            range,
            own_range,
            at,
            ..
        } = &first.planned.step
        else {
            return Ok(None);
        };
        let is_alone = prefix.is_empty() && checks.is_empty() && at.is_none();
        // Without live columns, rows are counted without being read.
        if !is_alone
            || *negated
            || outputs.is_empty()
            || first.planned.group_steps > 0
            || context.plan.infos[*stored].rows < rows_min
        {
            return Ok(None);
        }
        let Readable::Stored(relation) = context.relation(*stored) else { return Ok(None) };
        let is_whole = match range {
            None => true,
            // The relation is read instead of an index that would have to look up too much.
            Some(_) if *path > 0 && own_range.is_none() => self
                .scanned(0, &relation, context)?
                .is_some_and(|(read, _)| read.keyspace == relation.paths[0].keyspace),
            Some(_) => false,
        };
        Ok(is_whole.then_some(relation))
    }
}

/// Random keys, enough for `count` ranges.
fn sampled_keys(path: &StoredPath, context: &ExecContext<'_>, count: usize) -> Result<Vec<Key>> {
    let mut drawn = Batch::new(&path.shape);
    let mut random = words_to_draw_by();
    let keys = Projection { values: 0, ..Projection::ALL };
    let sampled = match &drawn.keys {
        Keys::Words(_) => DRAWN * count,
        // Long keys are sampled less.
        Keys::Bytes(_) => {
            let mean = path.mean_bytes(context.read, keys, DRAWN)?.max(1);
            let most = usize::try_from(DRAWN_BYTES / mean).unwrap_or(usize::MAX);
            (DRAWN * count).min(most.max(count))
        }
    };
    context.read.sample_into(path.keyspace, sampled, &mut random, keys, &mut drawn)?;
    Ok((0..drawn.rows).map(|row| drawn.keys.get(row)).collect())
}
