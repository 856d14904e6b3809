//! Releases interned values of batches that are done, so that a query holds what it keeps and not
//! what it has read.
//!
//! # How
//! Values that no cell holds by itself are in the query's interner. A step that makes batch after
//! batch remembers how full the interner was before. When it has handed a batch on and much has
//! been added since, everything that was added and is in no cell that somebody keeps is released:
//! kept are cells of the sink, rows that are collected, and tables of rows that were seen. (Mark
//! and sweep of the young generation; the batches of earlier steps are older.)
//!
//! # Invariants
//! 1. Only the query's own thread sweeps, while no other thread runs.
//! 2. Whoever holds cells for longer than a batch is among [`Pipeline::each_cell`] and
//!    [`Sink::each_cell`](crate::sink::Sink::each_cell), or calls [`Interner::keep`].

use crate::context::ExecContext;
use crate::pipeline::Pipeline;
use crate::sink::Out;
use crate::value::cell::{Cell, EachCell, Interner, Mark};

/// Of what a query may hold, the part that comes between two sweeps.
const SHARE: u64 = 8;

/// The least that does.
const LEAST_BYTES: u64 = 256 << 10;

/// Bytes of values of a batch, at most, but for one row: and of the memory that a query may hold
/// the part that they are.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_SHARE: u64 = 32;

/// When an interner is swept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    /// It takes so many bytes.
    at_bytes: u64,
    share_bytes: u64,
}

impl Sweep {
    /// What is there now stays.
    pub(crate) fn new(context: &ExecContext<'_>) -> Self {
        let share_bytes = (context.limits.memory_bytes_max() / SHARE).max(LEAST_BYTES);
        Self { at_bytes: context.interner.bytes().saturating_add(share_bytes), share_bytes }
    }

    /// Bytes that come between two sweeps.
    pub(crate) fn share_bytes(&self) -> u64 {
        self.share_bytes
    }

    /// Whether it is time.
    pub(crate) fn is_due(&self, interner: &Interner) -> bool {
        interner.bytes() >= self.at_bytes
    }

    /// Lets go what came behind `mark` and nobody keeps. Where much is kept it takes longer until
    /// the next time, so that all of them together take no longer than what they look at took to be
    /// made.
    pub(crate) fn run(&mut self, mark: &Mark, interner: &Interner, each_kept: EachCell<'_>) {
        interner.sweep(mark, each_kept);
        let kept = interner.bytes();
        let more = self.share_bytes.max((kept / 2).min(2 * self.share_bytes));
        self.at_bytes = kept.saturating_add(more);
    }
}

/// Bytes of values that a batch holds at most, but for one row.
pub(crate) fn batch_bytes(context: &ExecContext<'_>) -> u64 {
    (context.limits.memory_bytes_max() / BATCH_SHARE).min(BATCH_BYTES)
}

impl Pipeline<'_> {
    /// From now on values are let go: this is the only body of the query that runs.
    pub(crate) fn sweep_from(&mut self, context: &ExecContext<'_>) {
        self.sweep = Some(Sweep::new(context));
    }

    /// How far the interner is filled, before a step makes batches; `None` where nothing is let go.
    pub(crate) fn mark(&self, context: &ExecContext<'_>) -> Option<Mark> {
        self.sweep.map(|_| context.interner.mark())
    }

    /// A batch that a step has made since `mark` was handed on, and no other waits with it.
    pub(crate) fn handed_on(
        &mut self,
        mark: Option<&Mark>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) {
        let (Some(mut sweep), Some(mark)) = (self.sweep, mark) else { return };
        // A step behind others lets go little: what they made for it is theirs.
        let young = context.interner.bytes().saturating_sub(mark.bytes());
        if !sweep.is_due(context.interner) || young < sweep.share_bytes / 2 {
            return;
        }
        sweep.run(mark, context.interner, &mut |keep| {
            self.each_cell(keep);
            out.each_cell(keep);
        });
        self.sweep = Some(sweep);
    }

    /// Whether values should be let go before more wait.
    pub(crate) fn is_sweep_due(&self, context: &ExecContext<'_>) -> bool {
        self.sweep.is_some_and(|sweep| sweep.is_due(context.interner))
    }

    /// Calls `visit` with each cell that it holds for longer than a batch.
    pub(crate) fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        for ready in &self.steps {
            if let Some(expr) = &ready.expr {
                expr.each_cell(visit);
            }
            let seen = ready.seen.iter().flat_map(|seen| seen.columns());
            seen.for_each(|column| column.iter().for_each(|&cell| visit(cell)));
            if let Some(pre_aggregation) = &ready.pre_aggregation {
                pre_aggregation.each_cell(visit);
            }
        }
        let waiting = self.exchange.iter().flat_map(|exchange| exchange.waiting());
        let columns = waiting.flat_map(|batch| &batch.columns);
        columns.for_each(|column| column.iter().for_each(|&cell| visit(cell)));
    }
}
