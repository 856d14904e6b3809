//! Separated values, stored behind their block headers: read one by one, and cached one by one.
//!
//! # Why
//! A lookup of one value of 1 KiB should neither read the 8 KiB block around it, nor keep the
//! values beside it in memory. A block's header holds the keys and where each value lies, and is a
//! hundredth of the block. Headers stay in the cache, and a lookup reads its value alone, straight
//! to its place in the caller's batch. This separates keys from values within one file. `WiscKey`
//! (Lu et al., FAST 2016) separates them between files, and gives up the order that ranges are read
//! in.
//!
//! # Invariants
//! 1. A value is compared with the checksum that its head has of it whenever it is read.
//! 2. A kept value's bytes are counted, and it has an entry in the cache's queue, as long as its
//!    header is in the cache. Both change under the queue's lock only.
//! 3. The lock of a value's place is held to copy a pointer, never for a read, and no other lock is
//!    taken while it is held.
//!
//! # Why a lock for each value and no swapped pointer
//! `arc-swap` looks through what all threads hold whenever such a pointer changes or is dropped. In
//! a run of 100,000 lookups a quarter of the time went into dropping the empty places of the
//! headers that it had met.

use super::section::{CUT_BLOCK, damaged_at, ends_before};
use crate::codec::bytes::ApartReader;
use crate::error::Result;
use base::fault_switch::{Switch, is_on};
use base::{BytesColumn, Corruption};
use env::sync::Mutex;
use env::sync::atomic::{AtomicBool, Ordering::Relaxed};
use env::{EnvError, RandomReadFile};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// In ranges of at most this many consecutive rows, values are kept and taken from the cache one by
/// one. In longer ranges they are read.
const KEPT_ROWS: usize = 16;

/// Rows on each side that are read along with one, at most, and the bytes of all of them.
const BESIDE_ROWS: usize = 4;
const BESIDE_BYTES: usize = 8 << 10;

/// A value in memory of its own.
pub(super) type Value = Arc<[u8]>;

/// Where the values of one head are.
#[derive(Debug)]
pub(super) struct Apart {
    /// The value column.
    pub(super) column: usize,
    pub(super) file: Arc<dyn RandomReadFile>,
    /// Bytes of the file that hold the values of all rows.
    pub(super) heap: Range<u64>,
    home: Home,
    /// Of each row.
    pub(super) places: Box<[Place]>,
    /// For each row: if its value is kept, whether it was asked for since the queue last looked at
    /// it. If it is not kept, whether it was asked for once.
    asked: Box<[AtomicBool]>,
}

/// Where the value of a row is kept.
pub(super) type Place = Mutex<Option<Value>>;

/// Where a header, and with it the kept values, is in the cache.
#[derive(Clone, Debug)]
pub(super) struct Home {
    /// The places of its table's blocks, as long as the table is open.
    pub(super) keeper: Weak<dyn Keeper>,
    /// Number of the block.
    pub(super) index: usize,
    /// Nobody else caches the read values.
    pub(super) direct: bool,
}

/// The cached headers of a table. The cache counts the values that are kept beside them, and this
/// module does not know the cache, which contains such values.
pub(super) trait Keeper: fmt::Debug + Send + Sync {
    /// Keeps the value of a row in `values`, if they belong to the header that is cached for the
    /// block with this number.
    fn keep(self: Arc<Self>, index: usize, values: &Apart, row: usize, value: &Value);
}

/// Bytes of memory that a kept value takes.
pub(super) fn memory_bytes(value: &[u8]) -> u64 {
    const AROUND: usize = 64;
    (value.len() + AROUND) as u64
}

impl Apart {
    /// The values of `rows` rows, which lie in these bytes of the file.
    pub(super) fn new(
        column: usize,
        file: Arc<dyn RandomReadFile>,
        heap: Range<u64>,
        home: Home,
        rows: usize,
    ) -> Self {
        let places = (0..rows).map(|_| Place::default()).collect();
        let asked = (0..rows).map(|_| AtomicBool::default()).collect();
        Self { column, file, heap, home, places, asked }
    }

    /// Bytes of memory, without the values.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.places) + size_of_val(&*self.asked)
    }

    /// The value of a row, if it is kept; it counts as asked for.
    #[inline]
    pub(super) fn kept(&self, row: usize) -> Option<Value> {
        let value = self.places[row].lock().clone()?;
        if !self.asked[row].load(Relaxed) {
            self.asked[row].store(true, Relaxed);
        }
        Some(value)
    }

    /// Whether the value of a row is kept; that does not count as asking for it.
    pub(super) fn is_kept(&self, row: usize) -> bool {
        self.places.get(row).is_some_and(|place| place.lock().is_some())
    }

    /// Keeps the value of a row if none is kept; returns whether it did. Called by the cache, as
    /// are the methods below.
    pub(super) fn put(&self, row: usize, value: &Value) -> bool {
        let mut place = self.places[row].lock();
        if place.is_some() {
            return false;
        }
        self.asked[row].store(false, Relaxed);
        *place = Some(Arc::clone(value));
        true
    }

    /// Whether the value of a row was asked for since this was last asked.
    pub(super) fn was_hit(&self, row: usize) -> bool {
        self.asked[row].swap(false, Relaxed)
    }

    /// Keeps the value of a row no longer.
    pub(super) fn take(&self, row: usize) -> Option<Value> {
        self.places.get(row)?.lock().take()
    }

    /// Keeps no value any more.
    pub(super) fn take_all(&self) -> impl Iterator<Item = Value> {
        self.places.iter().filter_map(|place| place.lock().take())
    }

    /// The cached values.
    #[cfg(all(test, feature = "shuttle"))]
    pub(super) fn all(&self) -> impl Iterator<Item = Value> {
        self.places.iter().filter_map(|place| place.lock().clone())
    }

    /// Whether a value that has to be read should be kept. If the kernel caches it too, that is
    /// from the second request on.
    pub(super) fn is_wanted(&self, row: usize) -> bool {
        self.home.direct || self.asked[row].swap(true, Relaxed)
    }

    /// Keeps a value that was just read.
    pub(super) fn keep(&self, row: usize, value: &Value) {
        if let Some(keeper) = self.home.keeper.upgrade() {
            keeper.keep(self.home.index, self, row, value);
        }
    }

    /// Appends the values of some rows. `strings` has their places and checksums, from the header.
    /// The caller appends the validity.
    ///
    /// # Errors
    /// A failed read, or corruption; `out` is then as it was.
    pub(super) fn append(
        &self,
        strings: &ApartReader<'_>,
        rows: Range<usize>,
        out: &mut BytesColumn,
    ) -> Result<()> {
        let (heap, offsets) = (out.heap.len(), out.offsets.len());
        let appended = self.try_append(strings, rows, out);
        if appended.is_err() {
            out.heap.truncate(heap);
            out.offsets.truncate(offsets);
        }
        appended
    }

    fn try_append(
        &self,
        strings: &ApartReader<'_>,
        rows: Range<usize>,
        out: &mut BytesColumn,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let span = strings.span(rows.start).start..strings.span(rows.end - 1).end;
        if span.is_empty() {
            out.offsets.resize(out.offsets.len() + rows.len(), out.heap.len() as u64);
            return Ok(());
        }
        let (before, offsets) = (out.heap.len(), out.offsets.len());
        if rows.len() <= KEPT_ROWS {
            let is_there = |row: usize| {
                let value = self.kept(row);
                let is_there = value.is_some() || strings.span(row).is_empty();
                if let Some(value) = value {
                    out.heap.extend_from_slice(&value);
                }
                out.offsets.push(out.heap.len() as u64);
                is_there
            };
            if rows.clone().all(is_there) {
                return Ok(());
            }
            out.heap.truncate(before);
            out.offsets.truncate(offsets);
        }
        self.may_read()?;
        if rows.len() == 1 {
            let beside = self.rows_beside(strings, rows.start);
            if beside.len() > 1 {
                return self.append_beside(strings, rows.start, beside, out);
            }
        }
        out.heap.resize(before + span.len(), 0);
        self.read(&mut out.heap[before..], span.start)?;
        let mut end = before;
        for row in rows.clone() {
            let value = out.heap.get(end..end + strings.span(row).len()).unwrap_or_default();
            self.check(strings, row, value)?;
            if rows.len() <= KEPT_ROWS && !value.is_empty() && self.is_wanted(row) {
                self.keep(row, &Value::from(value));
            }
            end += value.len();
            out.offsets.push(end as u64);
        }
        Ok(())
    }

    /// The rows to read along with a row whose neighbor is kept: requests are then clustered, as
    /// for the newest keys. Only if no other cache keeps what lies beside a value.
    fn rows_beside(&self, strings: &ApartReader<'_>, row: usize) -> Range<usize> {
        let is_kept = |row: &usize| self.is_kept(*row);
        let (first, last) = (row.saturating_sub(BESIDE_ROWS), row + 1 + BESIDE_ROWS);
        let (before, after) = (first..row, row + 1..last.min(self.places.len()));
        let is_close = before.clone().next_back().is_some_and(|row| is_kept(&row))
            || after.clone().next().is_some_and(|row| is_kept(&row));
        if !self.home.direct || !is_close {
            return row..row + 1;
        }
        let fits = |other: &usize| {
            let (start, end) = ((*other).min(row), (*other).max(row));
            let bytes = strings.span(end).end.saturating_sub(strings.span(start).start);
            !is_kept(other) && bytes <= BESIDE_BYTES / 2
        };
        let start = before.rev().take_while(fits).last().unwrap_or(row);
        let end = after.take_while(fits).last().unwrap_or(row) + 1;
        start..end
    }

    /// Appends the value of `row`, and keeps it and those of the rows beside it.
    fn append_beside(
        &self,
        strings: &ApartReader<'_>,
        row: usize,
        beside: Range<usize>,
        out: &mut BytesColumn,
    ) -> Result<()> {
        let start = strings.span(beside.start).start;
        let mut bytes = vec![0; strings.span(beside.end - 1).end.saturating_sub(start)];
        self.read(&mut bytes, start)?;
        for other in beside {
            let span = strings.span(other);
            let inside = span.start.wrapping_sub(start)..span.end.wrapping_sub(start);
            let value = bytes.get(inside).unwrap_or_default();
            if other == row {
                self.check(strings, row, value)?;
                out.heap.extend_from_slice(value);
                out.offsets.push(out.heap.len() as u64);
            } else if self.check(strings, other, value).is_err() {
                // The caller that asks for that one gets the error.
                continue;
            }
            self.keep(other, &Value::from(value));
        }
        Ok(())
    }

    /// Keeps the value of `row` if it lies in `bytes`, which are those of the file from `start` on.
    pub(super) fn offer(&self, strings: &ApartReader<'_>, row: usize, start: u64, bytes: &[u8]) {
        let span = strings.span(row);
        let at = |offset: usize| (self.heap.start + offset as u64).checked_sub(start);
        if let (false, Some(from), Some(to)) = (span.is_empty(), at(span.start), at(span.end))
            && let Some(value) = bytes.get(from as usize..to as usize)
            // A damaged value is reported to the caller that asks for it.
            && self.check(strings, row, value).is_ok()
        {
            self.keep(row, &Value::from(value));
        }
    }

    /// Fills `to` with the bytes at `start` of the heap.
    fn read(&self, to: &mut [u8], start: usize) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let read = self.file.read_at(to, self.heap.start + start as u64);
        read.map_err(|error| self.cut(&error).map_or_else(|| error.into(), Into::into))
    }

    pub(super) fn may_read(&self) -> Result<()> {
        Ok(self.file.may_read()?)
    }

    pub(super) fn check(&self, strings: &ApartReader<'_>, row: usize, value: &[u8]) -> Result<()> {
        if strings.is_string(row, value) || is_on(Switch::IgnoreChecksum) {
            return Ok(());
        }
        Err(self.damaged("a value's checksum does not match").into())
    }

    /// The damage, where a read failed because the file has become shorter than it was.
    #[cold]
    pub(super) fn cut(&self, error: &EnvError) -> Option<Corruption> {
        let is_cut = ends_before(&*self.file, self.heap.end, error);
        is_cut.then(|| self.damaged(CUT_BLOCK))
    }

    fn damaged(&self, what: &str) -> Corruption {
        damaged_at(&*self.file, self.heap.start, what)
    }
}
