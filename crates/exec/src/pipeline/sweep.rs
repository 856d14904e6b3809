//! Releases the interned values of finished batches, so that a query holds only values that it
//! still uses.
//!
//! # How
//! Values that do not fit a cell are in the query's interner. A step that makes batch after batch
//! remembers how full the interner was before. When it has passed on a batch and much has been
//! added since, all values added since are released unless they are in a cell that is still held:
//! cells of the sink, collected rows, and tables for deduplication. (Mark and sweep of the young
//! generation; the batches of earlier steps are older.)
//!
//! # Invariants
//! 1. Only the query's own thread sweeps, while no other thread runs.
//! 2. Cells that are held for longer than a batch are visited by [`Pipeline::each_cell`] or
//!    [`Sink::each_cell`](crate::sink::Sink::each_cell), or protected by [`Interner::keep`].

use crate::context::ExecContext;
use crate::pipeline::Pipeline;
use crate::sink::Out;
use crate::value::cell::{Cell, EachCell, Interner, Mark};

/// Memory limit of the query per bytes added between two sweeps.
const SHARE: u64 = 8;

/// Least bytes added between two sweeps.
const LEAST_BYTES: u64 = 256 << 10;

/// Most bytes of a batch's values, except for a single row: the memory limit divided by
/// `BATCH_SHARE`, up to this.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_SHARE: u64 = 32;

/// Decides when to sweep an interner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    /// Size of the interner at the next sweep.
    at_bytes: u64,
    share_bytes: u64,
}

impl Sweep {
    /// Starts with the current size of the interner.
    pub(crate) fn new(context: &ExecContext<'_>) -> Self {
        let share_bytes = (context.limits.memory_bytes_max() / SHARE).max(LEAST_BYTES);
        Self { at_bytes: context.interner.bytes().saturating_add(share_bytes), share_bytes }
    }

    /// Bytes added between two sweeps.
    pub(crate) fn share_bytes(&self) -> u64 {
        self.share_bytes
    }

    /// Whether a sweep is due.
    pub(crate) fn is_due(&self, interner: &Interner) -> bool {
        interner.bytes() >= self.at_bytes
    }

    /// Releases the values added after `mark` that are in no cell held. If much remains, the next
    /// sweep comes later, so that all sweeps together take no longer than making the values that
    /// they visit.
    pub(crate) fn run(&mut self, mark: &Mark, interner: &Interner, each_kept: EachCell<'_>) {
        interner.sweep(mark, each_kept);
        let kept = interner.bytes();
        let more = self.share_bytes.max((kept / 2).min(2 * self.share_bytes));
        self.at_bytes = kept.saturating_add(more);
    }
}

/// Most bytes of a batch's values, except for a single row.
pub(crate) fn batch_bytes(context: &ExecContext<'_>) -> u64 {
    (context.limits.memory_bytes_max() / BATCH_SHARE).min(BATCH_BYTES)
}

impl Pipeline<'_> {
    /// Enables sweeps: this is the only running pipeline of the query.
    pub(crate) fn sweep_from(&mut self, context: &ExecContext<'_>) {
        self.sweep = Some(Sweep::new(context));
    }

    /// A mark of the interner, before a step makes batches; `None` if nothing is released.
    pub(crate) fn mark(&self, context: &ExecContext<'_>) -> Option<Mark> {
        self.sweep.map(|_| context.interner.mark())
    }

    /// Sweeps if it is due, after a step has passed on a batch that it has made since `mark`. No
    /// other batch may be waiting.
    pub(crate) fn handed_on(
        &mut self,
        mark: Option<&Mark>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) {
        let (Some(mut sweep), Some(mark)) = (self.sweep, mark) else { return };
        // A later step can release little: the values of earlier batches stay.
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

    /// Whether a sweep is due before more rows are collected.
    pub(crate) fn is_sweep_due(&self, context: &ExecContext<'_>) -> bool {
        self.sweep.is_some_and(|sweep| sweep.is_due(context.interner))
    }

    /// Calls `visit` with each cell that the pipeline holds for longer than a batch.
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
