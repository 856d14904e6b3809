//! The entry's body where its rows go out while they are found (`outlet.rs`).
//!
//! # How
//! The relation that the body reads first is cut into ranges of keys; once the rows of as many ranges as there are threads are found, they go out, and the
//! values that were met on the way are forgotten. Rows that one range makes many of go out before, and so does what was found half a second ago.
//!
//! # Invariants
//! 1. When values are forgotten, no thread holds a cell of one: bodies, sets of rows that were seen and sinks last for one wave, and tables, parameters and
//!    expressions were there before the mark. Tries move the mark when they grow.

use crate::batch_size::Wanted;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::parallel::Spread;
use crate::pipeline::Body;
use crate::query::Query;
use crate::result_stream::Outlet;
use crate::sink::{Sink, head_columns};
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::Readable;
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use base::Projection;
use plan::{BodyPlan, Rule, Step, Var};
use std::collections::VecDeque;
use store::Read;

/// Ranges that a relation is cut into, at most: the bounds are drawn.
const RANGES_MAX: u64 = 1 << 12;

/// What is found in the ranges that are read at once takes this part of what a query may hold.
const MEMORY_SHARE: u64 = 8;

/// Bytes of a row besides those of its texts, ...
const ROW_BYTES: u64 = 256;

/// ... and for each of these: what is read is a part of a batch, then a value, and rows that were drawn may be shorter than others.
const BYTES_A_BYTE: u64 = 3;

/// Rows that are drawn to see how long they are.
const DRAWN: usize = 32;

/// Microseconds after which what was found goes out, however little it is.
const PATIENCE_US: u64 = 500_000;

/// Ranges of each thread that are read before anything goes out, at most.
const WAVE_MAX: usize = 64;

/// Rows of a range, at least.
const RANGE_ROWS_MIN: u64 = 64;

/// So many times fewer rows than a range has are worth a part, ...
const FEWER: u64 = 4;

/// ... and so many times more go out before a range is read to its end.
const MORE: u64 = 4;

/// Bytes of values that are worth being forgotten.
const VALUES_BYTES: u64 = 8 << 20;

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
    // What is stored tells little: a page of text may be a tenth of its length there, or a hundredth.
    let row = ROW_BYTES + BYTES_A_BYTE * path.mean_bytes(read, Projection::ALL, DRAWN)?;
    let fit = memory_bytes / MEMORY_SHARE / threads as u64 / row;
    Ok(wanted.min(fit.max(RANGE_ROWS_MIN)))
}

/// Rows that go out.
struct Flow<'q> {
    /// Where to.
    outlet: &'q Outlet<'q>,
    /// Those that are still here.
    list: Columns,
    /// The variable of each column.
    head: &'q [Var],
    /// So many rows are enough, ...
    enough: usize,
    /// ... and so many were here.
    taken: usize,
    /// Rows of a range.
    range_rows: u64,
    /// Bytes of values that stay when rows go out.
    lasting_bytes: u64,
    /// When rows went out last, or the first came.
    since_us: u64,
}

impl Flow<'_> {
    /// Hands all rows on, and nothing is forgotten.
    ///
    /// # Errors
    /// The caller's.
    fn hand_on(&mut self, query: &Query<'_>) -> Result<Wanted> {
        let mut list = self.let_go();
        let interner = query.interner.copied(&mut list.columns);
        let wanted = self.outlet.hand(list, interner);
        self.since_us = query.watch.now_us();
        wanted
    }

    /// Whether there are rows that have waited for long.
    fn is_late(&self, query: &Query<'_>) -> bool {
        self.list.rows > 0 && query.watch.now_us().saturating_sub(self.since_us) > PATIENCE_US
    }

    /// The rows, which are no longer here.
    fn let_go(&mut self) -> Columns {
        let none = Columns::of(self.list.columns.len());
        std::mem::replace(&mut self.list, none)
    }
}

impl Sink for Flow<'_> {
    fn take(&mut self, query: &Query<'_>, found: &Bindings) -> Result<Wanted> {
        let found_columns = head_columns(self.head, found);
        for (column, found) in self.list.columns.iter_mut().zip(found_columns) {
            column.extend_from_slice(found);
        }
        self.list.rows += found.rows;
        self.taken = self.taken.saturating_add(found.rows);
        query.check(self.bytes())?;
        let is_much = self.list.rows as u64 >= self.range_rows * MORE || self.is_late(query);
        if is_much && !self.hand_on(query)? {
            return Ok(false);
        }
        Ok(self.taken < self.enough)
    }

    fn enough(&self) -> usize {
        self.enough
    }

    fn is_done(&self) -> bool {
        self.outlet.is_done()
    }

    /// There are so many rows, or so many values besides.
    fn is_full(&self, query: &Query<'_>) -> bool {
        if self.is_late(query) {
            return true;
        }
        let values = VALUES_BYTES.min(query.watch.memory_bytes_max() / MEMORY_SHARE);
        self.list.rows as u64 >= self.range_rows / FEWER
            || query.interner.bytes() > self.lasting_bytes + values
    }

    fn is_joinable(&self) -> bool {
        self.enough == usize::MAX
    }

    fn fork(&self) -> Self {
        Self { list: Columns::of(self.list.columns.len()), ..*self }
    }

    fn join(&mut self, other: Self, query: &Query<'_>) -> Result<()> {
        self.list.append(other.list);
        query.check(self.bytes())
    }

    fn bytes(&self) -> u64 {
        self.list.bytes()
    }

    fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        self.list.each_cell(visit);
    }
}

impl<'a> Query<'a> {
    /// Runs the body of the entry's rule, whose rows go to an outlet while they are found; `enough` of them are.
    ///
    /// # Errors
    /// Whatever stops the query, and the caller's.
    pub(crate) fn run_flow(
        &mut self,
        plan: &BodyPlan,
        rule: usize,
        outlet: &'a Outlet<'a>,
        enough: usize,
    ) -> Result<()> {
        let Rule { head, variables, .. } = &self.plan.program.rules[rule];
        let variables = variables.len();
        let mut flow = Flow {
            outlet,
            list: Columns::of(head.len()),
            head,
            enough,
            taken: 0,
            range_rows: outlet.range_rows,
            lasting_bytes: self.interner.bytes(),
            since_us: self.watch.now_us(),
        };
        if let Some(tried) = &plan.tried
            && self.try_body(tried, rule, &mut flow)?
        {
            return flow.hand_on(self).map(drop);
        }
        self.loose = plan.loose.clone();
        let threads = self.helpers.map_or(1, |helpers| helpers.free() + 1);
        let mut rows = 0;
        if let Some(Step::Stored { stored, .. }) = plan.steps.first().map(|planned| &planned.step)
            && let Readable::Stored(relation) = self.relation(*stored)
        {
            let (path, memory) = (&relation.paths[0], self.watch.memory_bytes_max());
            flow.range_rows = range_rows(path, self.read, threads, flow.range_rows, memory)?;
            rows = self.read.estimate(path.keyspace, &path.all())?.rows;
        }
        let ranges = rows.div_ceil(flow.range_rows).clamp(1, RANGES_MAX);
        // One that is thrown away, so that what its expressions hold is there before the mark.
        let body = Body::new(plan, variables, &self.computer())?;
        let ranges = body.ranges(self, flow.range_rows, ranges as usize)?;
        let (Some(ranges), Some(helpers)) = (ranges, self.helpers) else {
            self.run_untried(plan, rule, &mut flow)?;
            return flow.hand_on(self).map(drop);
        };
        self.index_for(plan)?;
        let mut mark = self.interner.mark();
        let mut tries_bytes = self.tries.bytes();
        let mut ranges = VecDeque::from(ranges);
        let mut in_wave = threads;
        loop {
            let wave: Vec<_> = ranges.drain(..in_wave.min(ranges.len())).collect();
            if wave.is_empty() {
                return flow.hand_on(self).map(drop);
            }
            flow.lasting_bytes = mark.bytes();
            let mut body = Body::new(plan, variables, &self.computer())?;
            body.set_enough(flow.enough);
            let spread = Spread::new(helpers, self.stands(), plan, variables, &mut flow);
            let (wanted, unread) = spread.run_over(wave, &mut body, self)?;
            unread.into_iter().rev().for_each(|range| ranges.push_front(range));
            if self.tries.bytes() != tries_bytes {
                // They may hold values that were met in this wave.
                tries_bytes = self.tries.bytes();
                mark = self.interner.mark();
            }
            if !wanted {
                return flow.hand_on(self).map(drop);
            }
            // A wave costs threads their start: one that gives little is followed by a longer one, which ends when it gives much.
            let is_full = flow.is_full(self);
            in_wave = match is_full {
                true => threads,
                false => (2 * in_wave).min(WAVE_MAX * threads),
            };
            if is_full {
                let mut list = flow.let_go();
                let interner = self.interner.split_off(&mark, &mut list.columns);
                // A part without rows would say nothing of its columns, and only the last may.
                if list.rows > 0 && !outlet.hand(list, interner)? {
                    return Ok(());
                }
                flow.since_us = self.watch.now_us();
            }
        }
    }
}
