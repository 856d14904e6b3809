//! Rows of the entry that are handed to the caller while the query runs, so that nobody holds them all.
//!
//! # How
//! Where no two rows of the entry's rule can be equal ([`plan::BodyPlan::unequal`]) and no order is asked for, nothing has to be known of a row but itself. The
//! relation that the body reads first is cut into ranges of keys; once the rows of as many ranges as there are threads are found, they go out, and the
//! values that were met on the way are forgotten. Rows that one range makes many of go out before, and so does what was found half a second ago.

use crate::bindings::Bindings;
use crate::body::Wanted;
use crate::cell::{Cell, Interner};
use crate::error::Result;
use crate::output::Output;
use crate::query::Query;
use crate::sink::{Sink, head_columns};
use crate::stored::StoredPath;
use crate::watch::Watch;
use base::{Batch, Keys, Projection};
use env::sync::Mutex;
use model::Type;
use plan::Var;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use store::Read;

/// Rows of the first relation in a range.
pub(crate) const RANGE_ROWS: u64 = 1 << 16;

/// Ranges that a relation is cut into, at most: the bounds are drawn.
pub(crate) const RANGES_MAX: u64 = 1 << 12;

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
pub(crate) const WAVE_MAX: usize = 64;

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
pub(crate) fn range_rows(
    path: &StoredPath,
    read: &dyn Read,
    threads: usize,
    wanted: u64,
    memory_bytes: u64,
) -> Result<u64> {
    let mut drawn = Batch::new(&path.shape);
    let mut random = crate::stored::words_to_draw_by();
    // What is stored tells little: a page of text may be a tenth of its length there, or a hundredth.
    read.sample_into(path.keyspace, DRAWN, &mut random, Projection::ALL, &mut drawn)?;
    let key_bytes = match &drawn.keys {
        Keys::Words(_) => 0,
        Keys::Bytes(keys) => keys.heap.len(),
    };
    let columns = drawn.values.iter().filter_map(|column| column.as_bytes());
    let texts = key_bytes + columns.map(|column| column.heap.len()).sum::<usize>();
    let row = ROW_BYTES + BYTES_A_BYTE * (texts / drawn.rows.max(1)) as u64;
    let fit = memory_bytes / MEMORY_SHARE / threads as u64 / row;
    Ok(wanted.min(fit.max(RANGE_ROWS_MIN)))
}

/// Rows of a result.
#[derive(Debug)]
pub struct Part<'p> {
    /// Some of its rows, or all that there are.
    pub output: Output,
    /// Of each column the type of all its values, where that is known; `None` for the whole result, which shows its types itself.
    pub types: Option<&'p [Option<Type>]>,
}

/// Takes parts of a result as they are found, by one thread at a time; no more are made once it says false or fails.
pub type TakePart<'r> = &'r (dyn Fn(Part<'_>) -> Result<bool> + Send + Sync);

/// Who takes parts, and whether one was handed out.
pub struct Taker<'r> {
    take: TakePart<'r>,
    has_begun: AtomicBool,
}

impl<'r> Taker<'r> {
    /// Nothing was handed out yet.
    pub(crate) fn new(take: TakePart<'r>) -> Self {
        Self { take, has_begun: AtomicBool::new(false) }
    }

    /// Whether a part was handed out.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Relaxed)
    }

    /// Hands out a part; whether more are wanted.
    ///
    /// # Errors
    /// The caller's.
    pub(crate) fn hand(&self, part: Part<'_>) -> Result<Wanted> {
        self.has_begun.store(true, Relaxed);
        (self.take)(part)
    }
}

/// Where rows go out.
pub(crate) struct Outlet<'q> {
    pub taker: &'q Taker<'q>,
    pub headers: Vec<String>,
    pub types: Vec<Option<Type>>,
    pub watch: &'q Watch<'q>,
    pub range_rows: u64,
    pub left: Mutex<Left>,
}

/// What is still to go out.
pub(crate) struct Left {
    /// Rows that are passed over before.
    pub skipped: usize,
    /// Rows after them.
    pub rows: usize,
}

impl Outlet<'_> {
    /// Whether a part went out.
    pub(crate) fn has_begun(&self) -> bool {
        self.taker.has_begun()
    }

    /// Whether no further part is wanted.
    pub(crate) fn is_done(&self) -> bool {
        self.has_begun() && self.left.lock().rows == 0
    }

    /// Hands rows to the caller. The time it takes does not count as the query's.
    ///
    /// # Errors
    /// The caller's.
    pub(crate) fn hand(
        &self,
        mut columns: Vec<Vec<Cell>>,
        rows: usize,
        interner: Interner,
    ) -> Result<Wanted> {
        let mut left = self.left.lock();
        let has_begun = self.has_begun();
        if left.rows == 0 && has_begun {
            return Ok(false);
        }
        let from = left.skipped.min(rows);
        let to = from.saturating_add(left.rows).min(rows);
        if (from, to) != (0, rows) {
            columns = columns.iter().map(|column| column[from..to].to_vec()).collect();
        }
        left.skipped -= from;
        if from == to && has_begun {
            return Ok(true);
        }
        // Nothing is, if this fails.
        let rest = std::mem::take(&mut left.rows) - (to - from);
        let output = Output {
            headers: self.headers.clone(),
            columns,
            rows: to - from,
            interner: Arc::new(interner),
        };
        let began_us = self.watch.now_us();
        let wanted = self.taker.hand(Part { output, types: Some(&self.types) })?;
        self.watch.postpone(self.watch.now_us().saturating_sub(began_us));
        if wanted {
            left.rows = rest;
        }
        Ok(left.rows > 0)
    }
}

/// Rows that go out.
pub(crate) struct Flow<'q> {
    /// Where to.
    pub outlet: &'q Outlet<'q>,
    /// Those that are still here.
    pub columns: Vec<Vec<Cell>>,
    /// How many.
    pub rows: usize,
    /// The variable of each column.
    pub head: &'q [Var],
    /// So many rows are enough, ...
    pub enough: usize,
    /// ... and so many were here.
    pub taken: usize,
    /// Rows of a range.
    pub range_rows: u64,
    /// Bytes of values that stay when rows go out.
    pub lasting_bytes: u64,
    /// When rows went out last, or the first came.
    pub since_us: u64,
}

impl Flow<'_> {
    /// Hands all rows on, and nothing is forgotten.
    ///
    /// # Errors
    /// The caller's.
    pub(crate) fn hand_on(&mut self, query: &Query<'_>) -> Result<Wanted> {
        let (mut columns, rows) = self.let_go();
        let interner = query.interner.copied(&mut columns);
        let wanted = self.outlet.hand(columns, rows, interner);
        self.since_us = query.watch.now_us();
        wanted
    }

    /// Whether there are rows that have waited for long.
    fn is_late(&self, query: &Query<'_>) -> bool {
        self.rows > 0 && query.watch.now_us().saturating_sub(self.since_us) > PATIENCE_US
    }

    /// The rows, which are no longer here.
    pub(crate) fn let_go(&mut self) -> (Vec<Vec<Cell>>, usize) {
        let none = vec![Vec::new(); self.columns.len()];
        (std::mem::replace(&mut self.columns, none), std::mem::take(&mut self.rows))
    }
}

impl Sink for Flow<'_> {
    fn take(&mut self, query: &Query<'_>, found: &Bindings) -> Result<Wanted> {
        for (column, found) in self.columns.iter_mut().zip(head_columns(self.head, found)) {
            column.extend_from_slice(found);
        }
        self.rows += found.rows;
        self.taken = self.taken.saturating_add(found.rows);
        query.check(self.bytes())?;
        let is_much = self.rows as u64 >= self.range_rows * MORE || self.is_late(query);
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
        self.rows as u64 >= self.range_rows / FEWER
            || query.interner.bytes() > self.lasting_bytes + values
    }

    fn is_joinable(&self) -> bool {
        self.enough == usize::MAX
    }

    fn fork(&self) -> Self {
        Self { columns: vec![Vec::new(); self.columns.len()], rows: 0, ..*self }
    }

    fn join(&mut self, other: Self, query: &Query<'_>) -> Result<()> {
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            if column.is_empty() { *column = more } else { column.extend(more) }
        }
        self.rows += other.rows;
        query.check(self.bytes())
    }

    fn bytes(&self) -> u64 {
        self.columns.iter().map(|column| (column.capacity() * size_of::<Cell>()) as u64).sum()
    }
}
