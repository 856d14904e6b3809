//! Runs one pipeline on several threads.
//!
//! The fixpoint calls it for each body while worker threads are free.
//!
//! # How
//! A pipeline runs on the caller's thread until its steps have made many rows. From then on, the
//! batches that leave the first step with more than a few rows are collected. When there are
//! enough, each thread runs the later steps on a share of them, into its own sink (morsel-driven
//! parallelism: Leis, Boncz, Kemper and Neumann, SIGMOD 2014). A large relation that the first step
//! reads completely is partitioned into ranges of keys instead, before anything runs. At the end
//! the sinks are merged.
//!
//! Shares are dealt in turn, not to the first free thread: a sum of fractions depends on the order
//! of its parts, and should be the same each time for the same rows and number of threads.
//!
//! # Invariants
//! 1. While threads run, nothing changes that another thread reads, except the interner and the
//!    tries, which have locks.
//! 2. The worker pool of an engine has as many threads as its environment, except the callers' own.

use crate::batch_size::{BATCH_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::pipeline::exchange::row_work;
use crate::pipeline::sweep::Sweep;
use crate::pipeline::{OutputHints, Pipeline};
use crate::profile::Clock;
use crate::sink::{RowOutput, Serial, Sink};
use crate::value::cell::Cell;
use crate::vector::evaluate::TypedRows;
use crate::vector::selection::Selection;
use base::KeyRange;
use plan::PipelinePlan;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Rows after which starting threads pays off: about a millisecond of work.
const ROWS_MIN: usize = 64 << 10;

/// Shares per thread, so that threads end at about the same time.
const SHARES: usize = 4;

/// Most ranges of a relation whose strings exceed the query's memory.
const RANGES_MAX: usize = 512;

/// Least rows of a share, where a row is little work.
const SHARE_ROWS_MIN: usize = 256;

/// The worker threads of an engine.
#[derive(Debug)]
pub struct WorkerPool {
    free: AtomicUsize,
    rows_min: AtomicUsize,
    times_taken: AtomicU64,
}

impl WorkerPool {
    /// A pool for an environment with this many threads, one of them the caller's.
    pub fn new(threads: usize) -> Self {
        let free = threads.saturating_sub(1).into();
        Self { free, rows_min: ROWS_MIN.into(), times_taken: AtomicU64::new(0) }
    }

    /// Sets the rows after which workers help. For tests.
    pub fn set_rows_min(&self, rows: usize) {
        self.rows_min.store(rows.max(1), Relaxed);
    }

    /// Rows after which workers help.
    pub(crate) fn rows_min(&self) -> usize {
        self.rows_min.load(Relaxed)
    }

    /// Number of free workers.
    pub(crate) fn free(&self) -> usize {
        self.free.load(Relaxed)
    }

    /// How often workers were reserved.
    pub fn times_taken(&self) -> u64 {
        self.times_taken.load(Relaxed)
    }

    /// Reserves all free workers.
    fn take(&self) -> ReservedWorkers<'_> {
        let taken = ReservedWorkers { worker_pool: self, count: self.free.swap(0, Relaxed) };
        self.times_taken.fetch_add(u64::from(taken.count > 0), Relaxed);
        taken
    }
}

/// Reserved workers, until dropped.
struct ReservedWorkers<'h> {
    worker_pool: &'h WorkerPool,
    count: usize,
}

impl Drop for ReservedWorkers<'_> {
    fn drop(&mut self) {
        self.worker_pool.free.fetch_add(self.count, Relaxed);
    }
}

/// A pipeline that runs on several threads, and the sink that they fill.
pub(crate) struct ParallelPipeline<'a, 'p, 's, S> {
    worker_pool: &'a WorkerPool,
    context: &'a ExecContext<'a>,
    plan: &'p PipelinePlan,
    variables: usize,
    hints: OutputHints,
    sink: &'s mut S,
    /// The caller's thread is the first. Empty before workers are needed.
    workers: Vec<Worker<'a, 'p, S>>,
    taken: Option<ReservedWorkers<'a>>,
    /// Whether workers measure their steps.
    is_profiled: bool,
}

/// State of one thread.
struct Worker<'a, 'p, S> {
    body: Pipeline<'p>,
    context: ExecContext<'a>,
    sink: S,
    /// Ranges that it has not read because its sink was full.
    unread: Vec<KeyRange>,
}

impl<'a, 'p, 's, S: Sink> ParallelPipeline<'a, 'p, 's, S> {
    /// No worker is reserved yet.
    pub(crate) fn new(
        worker_pool: &'a WorkerPool,
        context: &'a ExecContext<'a>,
        plan: &'p PipelinePlan,
        variables: usize,
        hints: &OutputHints,
        sink: &'s mut S,
    ) -> Self {
        let hints = hints.clone();
        Self {
            worker_pool,
            context,
            plan,
            variables,
            hints,
            sink,
            workers: Vec::new(),
            taken: None,
            is_profiled: false,
        }
    }

    /// Runs the pipeline of a body.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn run(mut self, body: &mut Pipeline<'p>) -> Result<()> {
        let context = self.context;
        self.is_profiled = body.clock.is_some();
        let free = self.worker_pool.free();
        if free == 0 || !self.sink.is_joinable() {
            return body.run(context, &mut Serial(self.sink)).map(drop);
        }
        let rows_min = self.worker_pool.rows_min();
        let threads = free + 1;
        let waves = body.waves(context, 2 * rows_min as u64)?;
        let in_wave = if waves > 1 { threads } else { SHARES * threads };
        let ranges = (waves * in_wave).min(RANGES_MAX.max(in_wave));
        match body.ranges(context, 2 * rows_min as u64, ranges)? {
            Some(ranges) => {
                self.scan_in_waves(context, ranges, if waves > 1 { in_wave } else { usize::MAX })?
            }
            None => {
                body.exchange_from(rows_min);
                body.run(context, &mut self)?;
            }
        }
        self.finish(body, context)
    }

    /// Runs the pipeline on some ranges of its first relation. Returns the ranges that were not
    /// read because the sink is full or wants no more.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn run_over(
        mut self,
        ranges: Vec<KeyRange>,
        body: &mut Pipeline<'p>,
    ) -> Result<(Wanted, Vec<KeyRange>)> {
        let context = self.context;
        self.is_profiled = body.clock.is_some();
        if self.sink.is_joinable() {
            let unread = self.scan(ranges, true)?;
            let is_done = self.sink.is_done();
            self.finish(body, context)?;
            return Ok((!is_done, unread));
        }
        let mut ranges = ranges.into_iter();
        for range in ranges.by_ref() {
            body.read_only(range);
            if !body.step(0, Bindings::unit(self.variables), context, &mut Serial(self.sink))? {
                return Ok((false, Vec::new()));
            }
            if self.sink.is_full(context) {
                break;
            }
        }
        let wanted = body.hand_on_all_pre_aggregated(context, &mut Serial(self.sink))?;
        Ok((wanted, ranges.collect()))
    }

    fn begin(&mut self) -> Result<()> {
        if !self.workers.is_empty() {
            return Ok(());
        }
        let taken = self.worker_pool.take();
        for _ in 0..=taken.count {
            let context = self.context.fork();
            let mut body = Pipeline::new(self.plan, self.variables, &context.computer())?;
            body.set_hints(self.hints.clone());
            body.clock = self.is_profiled.then(|| Clock::new(self.plan.steps.len()));
            let (sink, unread) = (self.sink.fork(), Vec::new());
            self.workers.push(Worker { body, context, sink, unread });
        }
        self.taken = Some(taken);
        Ok(())
    }

    /// Reads these ranges, `in_wave` at a time, and sweeps the interner in between.
    fn scan_in_waves(
        &mut self,
        context: &ExecContext<'_>,
        ranges: Vec<KeyRange>,
        in_wave: usize,
    ) -> Result<()> {
        self.begin()?;
        let (mark, mut sweep) = (context.interner.mark(), Sweep::new(context));
        let mut ranges = ranges.into_iter();
        loop {
            let wave: Vec<KeyRange> = ranges.by_ref().take(in_wave).collect();
            if wave.is_empty() || self.sink.is_done() {
                return Ok(());
            }
            self.scan(wave, false)?;
            if sweep.is_due(context.interner) {
                sweep.run(&mark, context.interner, &mut |keep| self.each_cell(keep));
            }
        }
    }

    /// Reads these ranges by the first step. If `pauses`, only until the sinks are full; the rest
    /// is returned.
    fn scan(&mut self, ranges: Vec<KeyRange>, pauses: bool) -> Result<Vec<KeyRange>> {
        self.begin()?;
        let variables = self.variables;
        let shares = dealt(ranges, self.workers.len());
        self.all(shares, |Worker { body, context, sink, unread }, ranges| {
            let mut ranges = ranges.into_iter();
            for range in ranges.by_ref() {
                body.read_only(range);
                if !body.step(0, Bindings::unit(variables), context, &mut Serial(sink))?
                    || (pauses && sink.is_full(context))
                {
                    break;
                }
            }
            *unread = ranges.collect();
            Ok(())
        })?;
        let unread = self.workers.iter_mut().flat_map(|worker| std::mem::take(&mut worker.unread));
        Ok(unread.collect())
    }

    /// Lets each worker process its share.
    fn all<I: Send>(
        &mut self,
        shares: Vec<Vec<I>>,
        work: impl Fn(&mut Worker<'a, 'p, S>, Vec<I>) -> Result<()> + Sync,
    ) -> Result<()> {
        let all: u64 = self.workers.iter().map(|worker| worker.sink.bytes()).sum();
        for worker in &mut self.workers {
            worker.context.beside_bytes = all - worker.sink.bytes() + self.sink.bytes();
        }
        let env = Arc::clone(self.context.limits.env());
        let shares = self.workers.iter_mut().zip(shares).filter(|(_, share)| !share.is_empty());
        let done = env::scoped(&*env, shares.collect(), |(worker, share)| work(worker, share));
        done.into_iter().collect()
    }

    /// Merges all sinks into one, and the workers' measurements into `of`.
    fn finish(mut self, of: &mut Pipeline<'p>, context: &ExecContext<'_>) -> Result<()> {
        let shares = self.workers.iter().map(|_| vec![()]).collect();
        self.all(shares, |Worker { body, context, sink, .. }, _| {
            body.hand_on_all_pre_aggregated(context, &mut Serial(sink)).map(drop)
        })?;
        for Worker { sink, body, .. } in self.workers.drain(..) {
            if let (Some(all), Some(clock)) = (&mut of.clock, &body.clock) {
                all.join(clock);
            }
            self.sink.join(sink, context)?;
        }
        Ok(())
    }
}

impl<S: Sink> RowOutput for ParallelPipeline<'_, '_, '_, S> {
    fn take(&mut self, context: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        self.sink.take(context, found)
    }

    fn takes_columns(&self) -> bool {
        self.sink.takes_columns()
    }

    fn take_columns(
        &mut self,
        context: &ExecContext<'_>,
        columns: &dyn TypedRows,
        rows: &Selection<'_>,
    ) -> Result<Option<Wanted>> {
        self.sink.take_columns(context, columns, rows)
    }

    fn run_in_parallel(
        &mut self,
        _: &ExecContext<'_>,
        level: usize,
        waiting: Vec<Bindings>,
    ) -> Result<Wanted> {
        self.begin()?;
        let rows: usize = waiting.iter().map(|batch| batch.rows).sum();
        let shares = SHARES * self.workers.len();
        let rows_min = (SHARE_ROWS_MIN / row_work(&self.plan.steps[level].step)).max(1);
        let share = rows.div_ceil(shares).clamp(rows_min, BATCH_ROWS);
        let mut pieces = Vec::with_capacity(shares);
        for batch in waiting {
            if batch.rows <= share {
                pieces.push(batch);
                continue;
            }
            for start in (0..batch.rows).step_by(share) {
                pieces.push(batch.slice(start..(start + share).min(batch.rows)));
            }
        }
        let shares = dealt(pieces, self.workers.len());
        self.all(shares, |Worker { body, context, sink, .. }, pieces| {
            for piece in pieces {
                if !body.step(level, piece, context, &mut Serial(sink))? {
                    break;
                }
            }
            Ok(())
        })?;
        Ok(!self.sink.is_done())
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.sink.each_cell(visit);
        for Worker { body, sink, .. } in &self.workers {
            body.each_cell(visit);
            sink.each_cell(visit);
        }
    }
}

/// Deals `things` in turn into `to` lists.
fn dealt<T>(things: Vec<T>, to: usize) -> Vec<Vec<T>> {
    let mut hands: Vec<Vec<T>> = (0..to).map(|_| Vec::new()).collect();
    for (i, thing) in things.into_iter().enumerate() {
        hands[i % to].push(thing);
    }
    hands
}
