//! Reads ranges of keys of one path, forwards or backwards, merged by their key columns.
//!
//! The ordered scan reads from it the first rows of a query with `:order` and `:limit`.
//!
//! # How
//! Each range has a cursor, which reads a few rows first and twice as many each later time. Several
//! cursors are merged by a heap (Knuth, TAOCP 5.4.1), so that each is read only as far as its rows
//! are among the first.
//!
//! # Invariants
//! 1. Rows come in the order of the key columns `order`, all ascending or all descending.

use crate::batch_size::CHUNK_ROWS;
use crate::error::Result;
use crate::storage::access_path::{SHORT_BYTES, StoredPath};
use crate::storage::decode::Picked;
use crate::value::cell::{Cell, Interner};
use crate::value::columns::Columns;
use base::{Batch, KeyRange, Projection};
use model::Value;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use store::Read;

/// The columns that are read of each row, and the order of rows.
pub(crate) struct OrderedRead<'r> {
    /// The path that is read.
    pub(crate) path: &'r StoredPath,
    /// Columns of the relation that are read.
    pub(crate) wanted: Vec<usize>,
    /// Indexes in `wanted` of the columns by which rows are ordered.
    pub(crate) order: Vec<usize>,
    /// Whether the greatest keys come first.
    pub(crate) backwards: bool,
}

/// Rows of several ranges in one order.
pub(crate) struct OrderedRows<'r> {
    plan: OrderedRead<'r>,
    read: &'r dyn Read,
    interner: &'r Interner,
    cursors: Vec<Cursor>,
    /// The next row of each cursor that has one, unless there is only one cursor.
    heap: BinaryHeap<NextRow>,
    /// The last row that was returned: its cells of the columns `order`.
    last: Vec<Cell>,
    /// Rows that were read from the store since this was asked for.
    read_rows: u64,
}

/// Rows that follow each other.
pub(crate) struct Piece {
    /// For each row, the number of the range it is from.
    pub(crate) ranges: Vec<u32>,
    /// The wanted columns.
    pub(crate) found: Columns,
}

/// A range that is being read.
struct Cursor {
    /// Number of the range.
    number: u32,
    /// The range that has not been read.
    range: KeyRange,
    /// Rows that were read.
    found: Columns,
    /// Number of the next of them.
    next: usize,
    /// Rows that are read the next time.
    chunk_rows: usize,
    is_read: bool,
}

/// The next row of a cursor. The greatest is the first in the order.
struct NextRow {
    key: Vec<Value>,
    backwards: bool,
    cursor: usize,
}

impl Ord for NextRow {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = match self.backwards {
            true => self.key.cmp(&other.key),
            false => other.key.cmp(&self.key),
        };
        by_key.then_with(|| other.cursor.cmp(&self.cursor))
    }
}

impl PartialOrd for NextRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NextRow {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for NextRow {}

impl<'r> OrderedRows<'r> {
    /// Opens a cursor for each of these ranges, which have numbers. Each reads `chunk_rows` rows
    /// first.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn new(
        plan: OrderedRead<'r>,
        read: &'r dyn Read,
        interner: &'r Interner,
        ranges: Vec<(u32, KeyRange)>,
        chunk_rows: usize,
    ) -> Result<Self> {
        let columns = plan.wanted.len();
        let cursors = ranges.into_iter().map(|(number, range)| Cursor {
            number,
            range,
            found: Columns::of(columns),
            next: 0,
            chunk_rows: chunk_rows.max(1),
            is_read: false,
        });
        let (cursors, heap, last) = (cursors.collect(), BinaryHeap::new(), Vec::new());
        let mut rows = Self { plan, read, interner, cursors, heap, last, read_rows: 0 };
        if rows.cursors.len() > 1 {
            for cursor in 0..rows.cursors.len() {
                rows.push_next(cursor)?;
            }
        }
        Ok(rows)
    }

    /// The last row that was returned: its cells of the columns `order`.
    pub(crate) fn last(&self) -> &[Cell] {
        &self.last
    }

    /// The rows of a range in the other direction.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn reversed(&self, range: KeyRange, chunk_rows: usize) -> Result<Self> {
        let OrderedRead { path, wanted, order, backwards } = &self.plan;
        let plan = OrderedRead {
            path,
            wanted: wanted.clone(),
            order: order.clone(),
            backwards: !backwards,
        };
        Self::new(plan, self.read, self.interner, vec![(0, range)], chunk_rows)
    }

    /// The number of rows that were read from the store since the last call.
    pub(crate) fn take_read_rows(&mut self) -> u64 {
        std::mem::take(&mut self.read_rows)
    }

    /// The next rows: up to `rows_max`, none at the end.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn next(&mut self, rows_max: usize) -> Result<Piece> {
        self.collect(rows_max, false)
    }

    /// Up to `rows_max` of the next rows that are equal to the last one in the columns `order`.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn next_equal(&mut self, rows_max: usize) -> Result<Piece> {
        self.collect(rows_max, true)
    }

    fn collect(&mut self, rows_max: usize, must_equal: bool) -> Result<Piece> {
        let found = Columns::of(self.plan.wanted.len());
        let mut piece = Piece { ranges: Vec::new(), found };
        while piece.found.rows < rows_max {
            let Some(cursor) = self.first_cursor()? else { break };
            let Cursor { number, found, next, .. } = &self.cursors[cursor];
            let rows = match self.cursors.len() {
                1 => (found.rows - next).min(rows_max - piece.found.rows),
                _ => 1,
            };
            let mut end = *next + rows;
            if must_equal {
                let is_equal = |row: &usize| {
                    let mut order = self.plan.order.iter().zip(&self.last);
                    order.all(|(&column, last)| found.columns[column][*row] == *last)
                };
                end = *next + (*next..end).take_while(is_equal).count();
            }
            let taken = *next..end;
            if taken.is_empty() {
                break;
            }
            piece.ranges.extend(std::iter::repeat_n(*number, taken.len()));
            for (column, from) in piece.found.columns.iter_mut().zip(&found.columns) {
                column.extend_from_slice(&from[taken.clone()]);
            }
            piece.found.rows += taken.len();
            self.cursors[cursor].next = end;
            if self.heap.pop().is_some() {
                self.push_next(cursor)?;
            }
        }
        if let Some(row) = piece.found.rows.checked_sub(1) {
            let cells = self.plan.order.iter().map(|&column| piece.found.columns[column][row]);
            self.last = cells.collect();
        }
        Ok(piece)
    }

    /// The cursor whose next row comes first, if any has one.
    fn first_cursor(&mut self) -> Result<Option<usize>> {
        match self.cursors.len() {
            0 => Ok(None),
            1 => Ok(self.has_next(0)?.then_some(0)),
            _ => Ok(self.heap.peek().map(|first| first.cursor)),
        }
    }

    /// Puts the next row of a cursor on the heap.
    fn push_next(&mut self, cursor: usize) -> Result<()> {
        if self.has_next(cursor)? {
            let Cursor { found, next, .. } = &self.cursors[cursor];
            let value = |&column: &usize| self.interner.value(found.columns[column][*next]);
            let key = self.plan.order.iter().map(value).collect();
            self.heap.push(NextRow { key, backwards: self.plan.backwards, cursor });
        }
        Ok(())
    }

    /// Whether a cursor has another row; reads it if necessary.
    fn has_next(&mut self, cursor: usize) -> Result<bool> {
        let cursor = &mut self.cursors[cursor];
        while cursor.next == cursor.found.rows && !cursor.is_read {
            let OrderedRead { path, wanted, backwards, .. } = &self.plan;
            let rows = path.read_on(self.read, cursor, *backwards, wanted, self.interner)?;
            self.read_rows += rows as u64;
        }
        Ok(cursor.next < cursor.found.rows)
    }
}

impl StoredPath {
    /// Reads the next rows of a cursor; returns their number.
    fn read_on(
        &self,
        read: &dyn Read,
        cursor: &mut Cursor,
        backwards: bool,
        wanted: &[usize],
        interner: &Interner,
    ) -> Result<usize> {
        let places = self.places(wanted);
        let mut projection = self.projection(&places);
        // The last key says where to go on.
        projection.keys = Projection::KEYS.keys;
        let mut batch = Batch::new(&self.shape);
        let Cursor { range, chunk_rows, is_read, .. } = cursor;
        if range.is_empty() {
            *is_read = true;
            return Ok(0);
        }
        *is_read = if backwards {
            read.scan_back_into(self.keyspace, range, projection, *chunk_rows, &mut batch)?;
            batch.rows < *chunk_rows
        } else {
            let (rows, bytes) = (*chunk_rows, SHORT_BYTES);
            !read.scan_some_into(self.keyspace, range, projection, rows, bytes, &mut batch)?
        };
        if let Some(last) = batch.rows.checked_sub(1) {
            let last = batch.keys.get(last);
            match (backwards, last.as_ref().successor()) {
                (true, _) => range.upper = Some(last),
                (false, Some(after)) => range.lower = after,
                (false, None) => *is_read = true,
            }
        }
        let row_bytes = batch.heap_bytes() / batch.rows.max(1);
        *chunk_rows = (2 * *chunk_rows).min(CHUNK_ROWS).min(SHORT_BYTES / row_bytes.max(1)).max(1);
        let rows = Picked::Range(0..batch.rows);
        cursor.found = self.cells(&batch, &rows, &places, &[], interner)?;
        cursor.next = 0;
        Ok(batch.rows)
    }
}
