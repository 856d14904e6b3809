//! Runs the pipeline of the entry rule when its rows go to the consumer as they are found.
//!
//! # How
//! The relation that the pipeline reads first is partitioned into ranges of keys. A wave reads a
//! range on each thread; then its rows go to the consumer, and the values interned by it are
//! released.
//!
//! # Invariants
//! 1. When values are released, no thread holds a cell of one: pipelines, sets for deduplication
//!    and sinks live for one wave, and tables, parameters and expressions are older than the mark.
//!    Tries move the mark when they grow.

use crate::batch_size::Wanted;
use crate::column_list::ColumnList;
use crate::error::Result;
use crate::fixpoint::Fixpoint;
use crate::parallel::{ParallelPipeline, WorkerPool};
use crate::pipeline::Pipeline;
use crate::result_stream::ResultStream;
use crate::sink::Sink;
use crate::sink::stream::{MEMORY_SHARE, StreamingSink};
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::Readable;
use crate::value::cell::Mark;
use crate::value::columns::Columns;
use base::{KeyRange, Projection};
use plan::{PipelinePlan, Rule, Step};
use std::collections::VecDeque;
use store::Read;

/// Most ranges of a relation. The bounds are sampled.
const RANGES_MAX: u64 = 1 << 12;

/// Bytes of a row besides those of its strings.
const ROW_BYTES: u64 = 256;

/// Bytes of memory per byte of a stored string: it is held in a batch and then as a value, and
/// sampled rows may be shorter than others.
const BYTES_A_BYTE: u64 = 3;

/// Number of rows sampled for their length.
const DRAWN: usize = 32;

/// Most ranges that each thread reads before rows go out.
const WAVE_MAX: usize = 64;

/// Least rows of a range.
const RANGE_ROWS_MIN: u64 = 64;

/// Rows of a relation that each of several threads reads at a time; at most `wanted`.
///
/// # Errors
/// Those of the store.
fn range_rows(
    path: &StoredPath,
    read: &dyn Read,
    threads: usize,
    wanted: u64,
    memory_bytes: u64,
) -> Result<u64> {
    // The stored size is a poor estimate: compression may shorten strings ten or a hundred times.
    let row = ROW_BYTES + BYTES_A_BYTE * path.mean_bytes(read, Projection::ALL, DRAWN)?;
    let fit = memory_bytes / MEMORY_SHARE / threads as u64 / row;
    Ok(wanted.min(fit.max(RANGE_ROWS_MIN)))
}

/// How ranges of a relation are read in waves.
struct Waves<'a, 'w> {
    plan: &'w PipelinePlan,
    /// Number of variables of the rule.
    variables: usize,
    worker_pool: &'a WorkerPool,
    /// Ranges that are read at a time, one by each thread.
    threads: usize,
}

impl<'a> Fixpoint<'a> {
    /// Runs the body of the entry rule, and passes its rows to `stream` as they are found; `enough`
    /// rows are enough.
    ///
    /// # Errors
    /// The errors that stop the query, and the consumer's.
    pub(crate) fn run_streaming(
        &mut self,
        plan: &PipelinePlan,
        rule: usize,
        stream: &'a ResultStream<'a>,
        enough: usize,
    ) -> Result<()> {
        let Rule { head, variables, .. } = &self.context.plan.program.rules[rule];
        let variables = variables.len();
        let mut sink = StreamingSink {
            stream,
            list: Columns::of(head.len()),
            columns: ColumnList::default(),
            head,
            enough,
            taken: 0,
            range_rows: stream.range_rows,
            lasting_bytes: self.context.interner.bytes(),
            since_us: self.context.limits.now_us(),
        };
        if let Some(tried) = &plan.tried
            && self.try_body(tried, rule, &mut sink)?
        {
            self.passed_on = sink.taken;
            return sink.hand_on(&self.context).map(drop);
        }
        self.hints.not_compared.clone_from(&plan.not_compared);
        sink.columns = self.hints.columns(head);
        let threads = self.worker_pool.map_or(1, |worker_pool| worker_pool.free() + 1);
        let rows = self.fit_ranges(plan, threads, &mut sink)?;
        let ranges = rows.div_ceil(sink.range_rows).clamp(1, RANGES_MAX);
        // A pipeline that is dropped again, so that what its expressions hold is older than the
        // mark.
        let body = Pipeline::new(plan, variables, &self.context.computer())?;
        let ranges = body.ranges(&self.context, sink.range_rows, ranges as usize)?;
        let (Some(ranges), Some(worker_pool)) = (ranges, self.worker_pool) else {
            self.run_untried(plan, rule, &mut sink)?;
            self.passed_on = sink.taken;
            return sink.hand_on(&self.context).map(drop);
        };
        self.index_for(plan)?;
        let waves = Waves { plan, variables, worker_pool, threads };
        self.run_waves(&waves, ranges.into(), &mut sink)
    }

    /// Fits the rows of a range to the memory limit. Returns the rows of the relation that the
    /// pipeline reads first; 0 if none is stored.
    fn fit_ranges(
        &self,
        plan: &PipelinePlan,
        threads: usize,
        sink: &mut StreamingSink<'_>,
    ) -> Result<u64> {
        if let Some(Step::Stored { stored, .. }) = plan.steps.first().map(|planned| &planned.step)
            && let Readable::Stored(relation) = self.context.relation(*stored)
        {
            let (path, memory) = (&relation.paths[0], self.context.limits.memory_bytes_max());
            sink.range_rows =
                range_rows(path, self.context.read, threads, sink.range_rows, memory)?;
            return Ok(self.context.read.estimate(path.keyspace, &path.all())?.rows);
        }
        Ok(0)
    }

    /// Reads the ranges in waves, and passes the rows of each to the consumer.
    fn run_waves(
        &mut self,
        waves: &Waves<'a, '_>,
        mut ranges: VecDeque<KeyRange>,
        sink: &mut StreamingSink<'a>,
    ) -> Result<()> {
        let mut mark = self.context.interner.mark();
        let mut tries_bytes = self.context.tries.bytes();
        let mut in_wave = waves.threads;
        loop {
            let wave: Vec<_> = ranges.drain(..in_wave.min(ranges.len())).collect();
            if wave.is_empty() {
                return sink.hand_on(&self.context).map(drop);
            }
            sink.lasting_bytes = mark.bytes();
            let (wanted, unread) = self.run_wave(waves, wave, sink)?;
            unread.into_iter().rev().for_each(|range| ranges.push_front(range));
            if self.context.tries.bytes() != tries_bytes {
                // The tries may hold values that were interned in this wave.
                tries_bytes = self.context.tries.bytes();
                mark = self.context.interner.mark();
            }
            if !wanted {
                return sink.hand_on(&self.context).map(drop);
            }
            // Each wave starts threads. After a wave with few rows the next one has more ranges,
            // but ends early if it finds many rows.
            let is_full = sink.is_full(&self.context);
            in_wave = match is_full {
                true => waves.threads,
                false => (2 * in_wave).min(WAVE_MAX * waves.threads),
            };
            if is_full && !self.hand_on_releasing(sink, &mark)? {
                return Ok(());
            }
        }
    }

    /// Reads the ranges of one wave. Returns whether more rows are wanted, and the ranges that were
    /// not read.
    fn run_wave(
        &mut self,
        waves: &Waves<'a, '_>,
        wave: Vec<KeyRange>,
        sink: &mut StreamingSink<'a>,
    ) -> Result<(Wanted, Vec<KeyRange>)> {
        let &Waves { plan, variables, worker_pool, .. } = waves;
        let mut body = Pipeline::new(plan, variables, &self.context.computer())?;
        body.set_enough(sink.enough);
        body.set_hints(self.hints.clone());
        body.clock = self.clock_of(plan);
        let parallel = ParallelPipeline::new(
            worker_pool,
            &self.context,
            plan,
            variables,
            &self.hints,
            &mut *sink,
        );
        let (wanted, unread) = parallel.run_over(wave, &mut body)?;
        self.record(plan, body.clock.take());
        self.passed_on = sink.taken;
        Ok((wanted, unread))
    }

    /// Passes the rows of a wave on, with the values that were interned after `mark`, which are
    /// released. Returns whether more rows are wanted.
    fn hand_on_releasing(&self, sink: &mut StreamingSink<'_>, mark: &Mark) -> Result<Wanted> {
        let wants_more = sink.hand_on_columns()?;
        let mut list = sink.let_go();
        let interner = self.context.interner.split_off(mark, &mut list.columns);
        // A part without rows says nothing about its columns, so only the last part may be empty.
        if !wants_more || list.rows > 0 && !sink.stream.hand(list, interner)? {
            return Ok(false);
        }
        sink.since_us = self.context.limits.now_us();
        Ok(true)
    }
}
