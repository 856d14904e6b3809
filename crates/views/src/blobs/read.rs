//! Reading blobs: single keys, many keys, ranges and samples.
//!
//! A row holds a short value itself, or the id of a long value, which is stored in chunks
//! (`mod.rs`). If a read of rows finds ids, all is read again at one snapshot: between row and
//! chunks a commit may have removed the chunks.

use super::rows::{RowContents, contents, empty_batch, large_ids, push_key};
use super::{BlobRows, Blobs, LARGE_BYTES_MIN, VALUES, damaged};
use crate::keys::{
    KeyColumn, KeyList, KeyOf, KeyType, column_of, keys_of, range_of, range_through, with_key,
};
use crate::source::Source;
use base::{Batch, BytesColumn, Column, Keys, Projection};
use std::cell::Cell;
use store::{Read, Result, Scan};

thread_local! {
    /// A row batch, reused across calls.
    static ROW: Cell<Option<Box<Batch>>> = const { Cell::new(None) };
}

/// Row batches with fewer bytes of values than this are kept for reuse.
const KEPT_BYTES_MAX: usize = 1 << 20;

impl Blobs {
    /// Calls `f` with the value of a key (`None` if there is none), with as few copies as possible.
    pub fn with_value<'k, R>(
        &self,
        key: impl Into<KeyOf<'k>>,
        f: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R> {
        let key = key.into();
        let mut row = ROW.take().unwrap_or_else(|| Box::new(empty_batch(self.core.def.key)));
        match (&row.keys, self.core.def.key) {
            (Keys::Words(_), KeyType::U64 | KeyType::I64) | (Keys::Bytes(_), KeyType::Str) => {}
            (_, key) => *row = empty_batch(key),
        }
        let found = with_key(self.core.def.key, key, |key| {
            self.source.read(|read| read.get(self.core.rows, key, VALUES, &mut row))
        });
        let result = match found {
            Err(error) => Err(error),
            Ok(false) => Ok(f(None)),
            Ok(true) => match contents(&row, 0) {
                RowContents::Value(value) => Ok(f(Some(value))),
                // Its chunks may have been removed since: read again, at one snapshot.
                RowContents::Large(..) => self.large_value(key).map(|value| f(value.as_deref())),
                RowContents::Nothing => Err(self.empty_row()),
            },
        };
        row.clear();
        if matches!(&row.values[0], Column::Bytes(column) if column.heap.capacity() < KEPT_BYTES_MAX)
        {
            ROW.set(Some(row));
        }
        result
    }

    /// Replaces `out` by the value of a key. Returns false, with `out` empty, if there is none.
    pub fn get<'k>(&self, key: impl Into<KeyOf<'k>>, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        self.with_value(key, |value| value.map(|value| out.extend_from_slice(value)).is_some())
    }

    fn large_value(&self, key: KeyOf<'_>) -> Result<Option<Vec<u8>>> {
        self.source.read_snapshot(|read| {
            let mut row = empty_batch(self.core.def.key);
            let found = with_key(self.core.def.key, key, |key| {
                read.get(self.core.rows, key, VALUES, &mut row)
            })?;
            if !found {
                return Ok(None);
            }
            let mut out = Vec::new();
            match contents(&row, 0) {
                RowContents::Value(value) => out.extend_from_slice(value),
                RowContents::Large(id, bytes) => self.read_large(read, id, bytes, &mut out)?,
                RowContents::Nothing => return Err(self.empty_row()),
            }
            Ok(Some(out))
        })
    }

    /// Whether a key has a value.
    pub fn contains<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<bool> {
        let mut row =
            Batch { rows: 0, keys: crate::keys::empty_keys(self.core.def.key), values: vec![] };
        with_key(self.core.def.key, key.into(), |key| {
            self.source.read(|read| read.get(self.core.rows, key, Projection::COUNT, &mut row))
        })
    }

    /// Replaces `present` by whether each key has a value, and `values` by the values, empty for
    /// absent keys.
    pub fn get_many(
        &self,
        keys: KeyList<'_>,
        present: &mut Vec<bool>,
        values: &mut BytesColumn,
    ) -> Result<()> {
        let keys = keys_of(self.core.def.key, keys)?;
        let mut rows = empty_batch(self.core.def.key);
        let mut lent = std::mem::take(values);
        lent.clear();
        rows.values[0] = Column::Bytes(lent);
        let mut get = |read: &dyn Read, rows: &mut Batch| {
            present.clear();
            rows.clear();
            read.get_many(self.core.rows, &keys, VALUES, present, rows)
        };
        self.source.read(|read| get(read, &mut rows))?;
        if large_ids(&rows).next().is_some() {
            // Their chunks may have been removed since: read again, at one snapshot.
            self.source.read_snapshot(|read| {
                get(read, &mut rows)?;
                self.resolve(read, &mut rows)
            })?;
        }
        if let Column::Bytes(column) = &mut rows.values[0] {
            *values = std::mem::take(column);
            // Absent keys are marked in `present`.
            values.validity.0 = None;
        }
        Ok(())
    }

    /// Replaces `present` by whether each key has a value.
    pub fn contains_many(&self, keys: KeyList<'_>, present: &mut Vec<bool>) -> Result<()> {
        let keys = keys_of(self.core.def.key, keys)?;
        let mut rows = empty_batch(self.core.def.key);
        present.clear();
        self.source.read(|read| {
            read.get_many(self.core.rows, &keys, Projection::COUNT, present, &mut rows)
        })
    }

    /// Replaces `out` by up to `count` blobs in key order, from the key `start` on, or from the
    /// first.
    pub fn scan(&self, start: Option<KeyOf<'_>>, count: usize, out: &mut BlobRows) -> Result<()> {
        let range = range_of(self.core.def.key, start, None)?;
        self.fill(out, |read, batch| {
            read.scan_into(self.core.rows, &range, Projection::ALL, count, batch)
        })
    }

    /// As [`Blobs::scan`], in descending order: from the key `start` down, or from the last.
    pub fn scan_back(
        &self,
        start: Option<KeyOf<'_>>,
        count: usize,
        out: &mut BlobRows,
    ) -> Result<()> {
        let range = range_through(self.core.def.key, start)?;
        self.fill(out, |read, batch| {
            read.scan_back_into(self.core.rows, &range, Projection::ALL, count, batch)
        })
    }

    /// Replaces `out` by `count` blobs drawn uniformly with replacement; no blobs only if the set
    /// is empty. The same seed on the same tables draws the same blobs.
    pub fn sample(&self, count: usize, seed: u64, out: &mut BlobRows) -> Result<()> {
        let mut state = seed;
        let mut random = move || {
            // SplitMix64 (Steele, Lea and Flood, 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = state;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        self.fill(out, |read, batch| {
            read.sample_into(self.core.rows, count, &mut random, Projection::ALL, batch)
        })
    }

    /// Streams the blobs in `from..to`, at a snapshot taken now; `None` is no bound.
    pub fn range(&self, from: Option<KeyOf<'_>>, to: Option<KeyOf<'_>>) -> Result<BlobScan> {
        let range = range_of(self.core.def.key, from, to)?;
        let held = self.held();
        let scan = held.source.read(|read| read.scan(self.core.rows, range, Projection::ALL))?;
        let ahead = empty_batch(self.core.def.key);
        Ok(BlobScan { scan, blobs: held, ahead, at: 0 })
    }

    /// Streams the keys in `from..to`, at a snapshot taken now, without reading values; `None` is
    /// no bound.
    pub fn keys(&self, from: Option<KeyOf<'_>>, to: Option<KeyOf<'_>>) -> Result<KeyScan> {
        let range = range_of(self.core.def.key, from, to)?;
        let scan = self.source.read(|read| read.scan(self.core.rows, range, Projection::KEYS))?;
        Ok(KeyScan { scan, key: self.core.def.key })
    }

    /// Exact number of blobs. The cost grows with the writes since the last full compaction, not
    /// with the number of blobs.
    pub fn len(&self) -> Result<u64> {
        self.source.read(|read| read.count(self.core.rows))
    }

    /// Whether there are no blobs.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads rows into `out`, and replaces the ids of long values by the values.
    fn fill(
        &self,
        out: &mut BlobRows,
        mut rows: impl FnMut(&dyn Read, &mut Batch) -> Result<()>,
    ) -> Result<()> {
        out.reset(self.core.def.key);
        self.source.read(|read| rows(read, &mut out.batch))?;
        if large_ids(&out.batch).next().is_some() {
            self.source.read_snapshot(|read| {
                out.reset(self.core.def.key);
                rows(read, &mut out.batch)?;
                self.resolve(read, &mut out.batch)
            })?;
        }
        Ok(())
    }

    /// Replaces the ids of long values by the values. Rows of absent keys stay empty.
    pub(super) fn resolve(&self, read: &dyn Read, rows: &mut Batch) -> Result<()> {
        let mut values = BytesColumn::default();
        for i in 0..rows.values[0].len() {
            self.push_value(read, contents(rows, i), &mut values)?;
        }
        rows.values[0] = Column::Bytes(values);
        rows.values[1..].iter_mut().for_each(Column::clear);
        Ok(())
    }

    /// Appends the value of a row, or null if the row is absent.
    fn push_value(
        &self,
        read: &dyn Read,
        contents: RowContents<'_>,
        out: &mut BytesColumn,
    ) -> Result<()> {
        match contents {
            RowContents::Value(value) => out.push(Some(value)),
            RowContents::Large(id, bytes) => {
                // Read directly into the column without another copy: a value may have a gibibyte.
                let row = out.len();
                self.read_large(read, id, bytes, &mut out.heap)?;
                out.offsets.push(out.heap.len() as u64);
                out.validity.push(row, true);
            }
            RowContents::Nothing => out.push(None),
        }
        Ok(())
    }

    pub(super) fn empty_row(&self) -> store::Error {
        damaged(format!("a row of {:?} has neither a value nor chunks", self.name()))
    }
}

/// Target size of a stream's batch, in bytes of values.
const BATCH_BYTES: usize = 4 << 20;

/// Rows read in one step. A step may exceed the wanted size by at most [`BATCH_BYTES`], because
/// each stored row is shorter than [`LARGE_BYTES_MIN`].
const ROWS_A_STEP: usize = BATCH_BYTES / LARGE_BYTES_MIN;
const _: () = assert!(ROWS_A_STEP == 256, "what a step may have too much is a batch");

/// A stream of blobs in key order, at the snapshot taken when it started.
///
/// # Why rows are read ahead
/// A thousand rows of long values take a few kilobytes, but the values may take gigabytes. So rows
/// are read in advance, and long values only when they are returned, as many as fit a batch.
pub struct BlobScan {
    scan: Box<dyn Scan>,
    blobs: Blobs,
    /// Rows read in advance, some with long values. `at` is the index of the next one to return.
    ahead: Batch,
    at: usize,
}

impl BlobScan {
    /// Replaces `out` by up to `count` blobs, fewer if their values exceed about 4 MiB, but at
    /// least one. Returns false at the end. In a transaction, long values are read with the
    /// transaction's own writes up to this call.
    pub fn next_rows(&mut self, count: usize, out: &mut BlobRows) -> Result<bool> {
        out.reset(self.blobs.core.def.key);
        while out.batch.rows == 0 && count > 0 {
            if self.at == self.ahead.rows {
                self.read_rows(count, &mut out.batch)?;
                if large_ids(&out.batch).next().is_none() {
                    break;
                }
                self.ahead.clear();
                self.at = 0;
                std::mem::swap(&mut self.ahead, &mut out.batch);
            }
            self.hand_out(count, &mut out.batch)?;
        }
        Ok(out.batch.rows > 0)
    }

    /// Appends rows as stored, with ids in place of long values.
    fn read_rows(&mut self, count: usize, out: &mut Batch) -> Result<()> {
        let mut step = ROWS_A_STEP;
        while out.rows < count && bytes_of(out) < BATCH_BYTES {
            if !self.scan.next_batch(step.min(count - out.rows), out)? {
                break;
            }
            // If all wanted rows would fit at the length of the first ones, read them in one step,
            // since each step has a cost. If longer ones follow, this batch is larger: at most
            // 64 MiB for 4096 rows.
            let is_short = bytes_of(out) / out.rows < BATCH_BYTES / count;
            step = if is_short { count } else { ROWS_A_STEP };
        }
        Ok(())
    }

    /// Appends rows that were read ahead, with their values.
    fn hand_out(&mut self, count: usize, out: &mut Batch) -> Result<()> {
        let Self { blobs, ahead, at, .. } = self;
        let may_change = matches!(blobs.source, Source::Transaction(_));
        let mut row = empty_batch(blobs.core.def.key);
        blobs.source.read(|read| {
            while *at < ahead.rows && out.rows < count {
                let mut now = contents(ahead, *at);
                if let (true, RowContents::Large(..)) = (may_change, &now) {
                    // The transaction may have removed the chunks since the row was read.
                    row.clear();
                    let key = ahead.keys.get(*at);
                    if !read.get(blobs.core.rows, key.as_ref(), VALUES, &mut row)? {
                        *at += 1;
                        continue;
                    }
                    now = contents(&row, 0);
                }
                let bytes = match now {
                    RowContents::Value(value) => value.len() as u64,
                    RowContents::Large(_, bytes) => bytes,
                    RowContents::Nothing => 0,
                };
                if out.rows > 0 && (bytes_of(out) as u64).saturating_add(bytes) > BATCH_BYTES as u64
                {
                    break;
                }
                if let Column::Bytes(values) = &mut out.values[0] {
                    blobs.push_value(read, now, values)?;
                }
                push_key(&mut out.keys, &ahead.keys, *at);
                out.rows += 1;
                *at += 1;
            }
            Ok(())
        })
    }

    /// Type of the keys.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        self.blobs.core.def.key
    }
}

/// A stream of keys in order, at the snapshot taken when it started.
pub struct KeyScan {
    scan: Box<dyn Scan>,
    key: KeyType,
}

impl KeyScan {
    /// About `count` keys; `None` at the end.
    pub fn next_keys(&mut self, count: usize) -> Result<Option<KeyColumn>> {
        let mut rows = empty_batch(self.key);
        match self.scan.next_batch(count, &mut rows)? {
            true => column_of(self.key, rows.keys).map(Some),
            false => Ok(None),
        }
    }
}

/// Bytes of the values in a batch of rows.
fn bytes_of(rows: &Batch) -> usize {
    match &rows.values[0] {
        Column::Bytes(values) => values.heap.len(),
        Column::Words(_) => unreachable!("values of blobs are bytes"),
    }
}
