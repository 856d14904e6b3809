//! The pipeline of the entry rule where its rows go to the consumer while they are found.
//!
//! # How
//! The relation that the pipeline reads first is cut into ranges of keys. Once the rows of as many
//! ranges as there are threads are found, they go out, and the values that were met on the way are
//! forgotten.
//!
//! # Invariants
//! 1. When values are forgotten, no thread holds a cell of one: pipelines, sets of rows that were
//!    seen and sinks last for one wave of ranges, and tables, parameters and expressions were there
//!    before the mark. Tries move the mark when they grow.

use crate::error::Result;
use crate::fixpoint::Fixpoint;
use crate::parallel::ParallelPipeline;
use crate::pipeline::Pipeline;
use crate::profile::Clock;
use crate::result_stream::ResultStream;
use crate::sink::Sink;
use crate::sink::stream::{MEMORY_SHARE, StreamingSink};
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::Readable;
use crate::value::columns::Columns;
use base::Projection;
use plan::{PipelinePlan, Rule, Step};
use std::collections::VecDeque;
use store::Read;

/// Ranges that a relation is cut into, at most: the bounds are drawn.
const RANGES_MAX: u64 = 1 << 12;

/// Bytes of a row besides those of its texts, ...
const ROW_BYTES: u64 = 256;

/// ... and for each of these: what is read is a part of a batch, then a value, and rows that were
/// drawn may be shorter than others.
const BYTES_A_BYTE: u64 = 3;

/// Rows that are drawn to see how long they are.
const DRAWN: usize = 32;

/// Ranges of each thread that are read before anything goes out, at most.
const WAVE_MAX: usize = 64;

/// Rows of a range, at least.
const RANGE_ROWS_MIN: u64 = 64;

/// How many rows of a relation are read at once by each of some threads, `wanted` at most.
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
    // What is stored tells little: a page of text may be a tenth of its length there, or a
    // hundredth.
    let row = ROW_BYTES + BYTES_A_BYTE * path.mean_bytes(read, Projection::ALL, DRAWN)?;
    let fit = memory_bytes / MEMORY_SHARE / threads as u64 / row;
    Ok(wanted.min(fit.max(RANGE_ROWS_MIN)))
}

impl<'a> Fixpoint<'a> {
    /// Runs the body of the entry's rule, whose rows go to an outlet while they are found; `enough`
    /// of them are.
    ///
    /// # Errors
    /// Whatever stops the query, and the caller's.
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
        let threads = self.worker_pool.map_or(1, |worker_pool| worker_pool.free() + 1);
        let mut rows = 0;
        if let Some(Step::Stored { stored, .. }) = plan.steps.first().map(|planned| &planned.step)
            && let Readable::Stored(relation) = self.context.relation(*stored)
        {
            let (path, memory) = (&relation.paths[0], self.context.limits.memory_bytes_max());
            sink.range_rows =
                range_rows(path, self.context.read, threads, sink.range_rows, memory)?;
            rows = self.context.read.estimate(path.keyspace, &path.all())?.rows;
        }
        let ranges = rows.div_ceil(sink.range_rows).clamp(1, RANGES_MAX);
        // One that is thrown away, so that what its expressions hold is there before the mark.
        let body = Pipeline::new(plan, variables, &self.context.computer())?;
        let ranges = body.ranges(&self.context, sink.range_rows, ranges as usize)?;
        let (Some(ranges), Some(worker_pool)) = (ranges, self.worker_pool) else {
            self.run_untried(plan, rule, &mut sink)?;
            self.passed_on = sink.taken;
            return sink.hand_on(&self.context).map(drop);
        };
        self.index_for(plan)?;
        let mut mark = self.context.interner.mark();
        let mut tries_bytes = self.context.tries.bytes();
        let mut ranges = VecDeque::from(ranges);
        let mut in_wave = threads;
        loop {
            let wave: Vec<_> = ranges.drain(..in_wave.min(ranges.len())).collect();
            if wave.is_empty() {
                return sink.hand_on(&self.context).map(drop);
            }
            sink.lasting_bytes = mark.bytes();
            let mut body = Pipeline::new(plan, variables, &self.context.computer())?;
            body.set_enough(sink.enough);
            body.set_hints(self.hints.clone());
            body.clock = self.profile.as_ref().map(|_| Clock::new(plan.steps.len()));
            let parallel = ParallelPipeline::new(
                worker_pool,
                &self.context,
                plan,
                variables,
                &self.hints,
                &mut sink,
            );
            let (wanted, unread) = parallel.run_over(wave, &mut body)?;
            if let (Some(profile), Some(clock)) = (&mut self.profile, body.clock.take()) {
                profile.add(plan, clock);
            }
            self.passed_on = sink.taken;
            unread.into_iter().rev().for_each(|range| ranges.push_front(range));
            if self.context.tries.bytes() != tries_bytes {
                // They may hold values that were met in this wave.
                tries_bytes = self.context.tries.bytes();
                mark = self.context.interner.mark();
            }
            if !wanted {
                return sink.hand_on(&self.context).map(drop);
            }
            // A wave costs threads their start: one that gives little is followed by a longer one,
            // which ends when it gives much.
            let is_full = sink.is_full(&self.context);
            in_wave = match is_full {
                true => threads,
                false => (2 * in_wave).min(WAVE_MAX * threads),
            };
            if is_full {
                let mut list = sink.let_go();
                let interner = self.context.interner.split_off(&mark, &mut list.columns);
                // A part without rows would say nothing of its columns, and only the last may.
                if list.rows > 0 && !stream.hand(list, interner)? {
                    return Ok(());
                }
                sink.since_us = self.context.limits.now_us();
            }
        }
    }
}
