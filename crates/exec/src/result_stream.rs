//! Result streams: rows of the entry rule go to the consumer while the query runs, so that they are
//! never held all together.
//!
//! # When
//! Rows are streamable where no two rows of the entry's rule can be equal
//! ([`plan::PipelinePlan::distinct_keys`]) and no order is asked for. `fixpoint/stream.rs` finds
//! them.

use crate::batch_size::Wanted;
use crate::column_list::ColumnList;
use crate::error::Result;
use crate::limits::QueryLimits;
use crate::query_result::QueryResult;
use crate::value::cell::Interner;
use crate::value::columns::Columns;
use env::sync::Mutex;
use model::Type;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Rows of the first relation in a range.
pub const RANGE_ROWS: u64 = 1 << 16;

/// A part of a result.
#[derive(Debug)]
pub struct Part<'p> {
    /// Some of the rows, or all of them.
    pub output: QueryResult,
    /// The type of each column's values that are not null, where known; `None` if this is the whole
    /// result, which has types itself.
    pub types: Option<&'p [Option<Type>]>,
}

/// Receives the parts of a result as they are found, from one thread at a time. No more are made
/// once it returns false or fails.
pub type TakePart<'r> = &'r (dyn Fn(Part<'_>) -> Result<bool> + Send + Sync);

/// The consumer of a result stream, and whether it has received a part.
pub struct Consumer<'r> {
    take: TakePart<'r>,
    has_begun: AtomicBool,
}

impl<'r> Consumer<'r> {
    /// No part was passed on yet.
    pub fn new(take: TakePart<'r>) -> Self {
        Self { take, has_begun: AtomicBool::new(false) }
    }

    /// Whether a part was passed on.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Relaxed)
    }

    /// Passes on a part; returns whether more are wanted.
    ///
    /// # Errors
    /// The consumer's.
    pub fn hand(&self, part: Part<'_>) -> Result<Wanted> {
        self.has_begun.store(true, Relaxed);
        (self.take)(part)
    }
}

/// A result stream of a running query.
pub struct ResultStream<'q> {
    /// The consumer.
    pub consumer: &'q Consumer<'q>,
    /// Names of the columns.
    pub headers: Vec<String>,
    /// The type of each column, where known.
    pub types: Arc<[Option<Type>]>,
    /// The query's limits. Their deadline is moved by the time that the consumer takes.
    pub limits: &'q QueryLimits<'q>,
    /// Rows of the first relation that are read for one part.
    pub range_rows: u64,
    /// The rows that remain to be passed on.
    pub left: Mutex<Remaining>,
}

/// The rows that remain to be passed on.
pub struct Remaining {
    /// Rows to skip first.
    pub skipped: usize,
    /// Rows to pass on after them.
    pub rows: usize,
}

impl ResultStream<'_> {
    /// Whether a part was passed on.
    pub fn has_begun(&self) -> bool {
        self.consumer.has_begun()
    }

    /// Whether no further part is wanted.
    pub(crate) fn is_done(&self) -> bool {
        self.has_begun() && self.left.lock().rows == 0
    }

    /// As [`ResultStream::hand`], for rows in typed columns.
    ///
    /// # Errors
    /// The consumer's.
    pub(crate) fn hand_list(&self, list: ColumnList) -> Result<Wanted> {
        self.hand_range(list.rows(), |range| {
            let list = if range == (0..list.rows()) { list } else { list.slice(range) };
            QueryResult::of_list(self.headers.clone(), list)
        })
    }

    /// Passes rows to the consumer. Its time does not count for the query.
    ///
    /// # Errors
    /// The consumer's.
    pub(crate) fn hand(
        &self,
        Columns { rows, mut columns }: Columns,
        interner: Interner,
    ) -> Result<Wanted> {
        self.hand_range(rows, |range| {
            let count = range.len();
            if range != (0..rows) {
                columns = columns.iter().map(|column| column[range.clone()].to_vec()).collect();
            }
            QueryResult::new(self.headers.clone(), columns, count, Arc::new(interner))
        })
    }

    /// Passes on those of `rows` rows that are neither skipped nor too many; `output` makes them.
    fn hand_range(
        &self,
        rows: usize,
        output: impl FnOnce(Range<usize>) -> QueryResult,
    ) -> Result<Wanted> {
        let mut left = self.left.lock();
        let has_begun = self.has_begun();
        if left.rows == 0 && has_begun {
            return Ok(false);
        }
        let from = left.skipped.min(rows);
        let to = from.saturating_add(left.rows).min(rows);
        left.skipped -= from;
        if from == to && has_begun {
            return Ok(true);
        }
        // Nothing remains if the consumer fails.
        let rest = std::mem::take(&mut left.rows) - (to - from);
        let output = output(from..to);
        let began_us = self.limits.now_us();
        let wanted = self.consumer.hand(Part { output, types: Some(&self.types) })?;
        self.limits.postpone(self.limits.now_us().saturating_sub(began_us));
        if wanted {
            left.rows = rest;
        }
        Ok(left.rows > 0)
    }
}
