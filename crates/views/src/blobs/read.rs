//! Reading blobs.

use super::rows::{Held, empty_batch, held, large_ids, push_key};
use super::{BlobRows, Blobs, LARGE_BYTES_MIN, VALUES, damaged};
use crate::keys::{
    KeyColumn, KeyList, KeyOf, KeyType, column_of, keys_of, range_of, range_through, with_key,
};
use crate::source::Source;
use base::{Batch, BytesColumn, Column, Keys, Projection};
use std::cell::Cell;
use store::{Read, Result, Scan};

thread_local! {
    /// A row, kept for its memory.
    static ROW: Cell<Option<Box<Batch>>> = const { Cell::new(None) };
}

/// Bytes of values that a kept row may hold on to.
const KEPT_BYTES_MAX: usize = 1 << 20;

impl Blobs {
    /// Calls `f` with the value of a key, `None` where there is none, without copying it more often
    /// than needed.
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
            Ok(true) => match held(&row, 0) {
                Held::Value(value) => Ok(f(Some(value))),
                // The chunks may be gone by now: again, at one moment.
                Held::Large(..) => self.large_value(key).map(|value| f(value.as_deref())),
                Held::Nothing => Err(self.empty_row()),
            },
        };
        row.clear();
        if matches!(&row.values[0], Column::Bytes(column) if column.heap.capacity() < KEPT_BYTES_MAX)
        {
            ROW.set(Some(row));
        }
        result
    }

    /// Replaces `out` by the value of a key; false, and `out` empty, where there is none.
    pub fn get<'k>(&self, key: impl Into<KeyOf<'k>>, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        self.with_value(key, |value| value.map(|value| out.extend_from_slice(value)).is_some())
    }

    fn large_value(&self, key: KeyOf<'_>) -> Result<Option<Vec<u8>>> {
        self.source.read_moment(|read| {
            let mut row = empty_batch(self.core.def.key);
            let found = with_key(self.core.def.key, key, |key| {
                read.get(self.core.rows, key, VALUES, &mut row)
            })?;
            if !found {
                return Ok(None);
            }
            let mut out = Vec::new();
            match held(&row, 0) {
                Held::Value(value) => out.extend_from_slice(value),
                Held::Large(id, bytes) => self.read_large(read, id, bytes, &mut out)?,
                Held::Nothing => return Err(self.empty_row()),
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

    /// Replaces `present` by whether each key has a value, and `values` by the values, empty where
    /// there is none.
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
            // Their chunks may be gone by now: again, at one moment.
            self.source.read_moment(|read| {
                get(read, &mut rows)?;
                self.resolve(read, &mut rows)
            })?;
        }
        if let Column::Bytes(column) = &mut rows.values[0] {
            *values = std::mem::take(column);
            // Absent keys show in `present`.
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

    /// Replaces `out` by up to `count` blobs in key order: from the key `start` on, or from the
    /// first.
    pub fn scan(&self, start: Option<KeyOf<'_>>, count: usize, out: &mut BlobRows) -> Result<()> {
        let range = range_of(self.core.def.key, start, None)?;
        self.fill(out, |read, batch| {
            read.scan_into(self.core.rows, &range, Projection::ALL, count, batch)
        })
    }

    /// As [`Blobs::scan`], backward: from the key `start` down, or from the last.
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

    /// Replaces `out` by `count` blobs drawn uniformly, with replacement; none only where there are
    /// none. One seed draws the same of the same tables.
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

    /// A stream of the blobs from `from` on and below `to`, as of now; `None` is no bound.
    pub fn range(&self, from: Option<KeyOf<'_>>, to: Option<KeyOf<'_>>) -> Result<BlobScan> {
        let range = range_of(self.core.def.key, from, to)?;
        let held = self.held();
        let scan = held.source.read(|read| read.scan(self.core.rows, range, Projection::ALL))?;
        let ahead = empty_batch(self.core.def.key);
        Ok(BlobScan { scan, blobs: held, ahead, at: 0 })
    }

    /// A stream of the keys from `from` on and below `to`, as of now, which reads no values; `None`
    /// is no bound.
    pub fn keys(&self, from: Option<KeyOf<'_>>, to: Option<KeyOf<'_>>) -> Result<KeyScan> {
        let range = range_of(self.core.def.key, from, to)?;
        let scan = self.source.read(|read| read.scan(self.core.rows, range, Projection::KEYS))?;
        Ok(KeyScan { scan, key: self.core.def.key })
    }

    /// Exact number of blobs. Costs what was written since the last full compaction, not the size.
    pub fn len(&self) -> Result<u64> {
        self.source.read(|read| read.count(self.core.rows))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads rows into `out`, with long values in place of their ids.
    fn fill(
        &self,
        out: &mut BlobRows,
        mut rows: impl FnMut(&dyn Read, &mut Batch) -> Result<()>,
    ) -> Result<()> {
        out.reset(self.core.def.key);
        self.source.read(|read| rows(read, &mut out.batch))?;
        if large_ids(&out.batch).next().is_some() {
            self.source.read_moment(|read| {
                out.reset(self.core.def.key);
                rows(read, &mut out.batch)?;
                self.resolve(read, &mut out.batch)
            })?;
        }
        Ok(())
    }

    /// Puts long values in the place of their ids. Rows that are absent stay empty.
    pub(super) fn resolve(&self, read: &dyn Read, rows: &mut Batch) -> Result<()> {
        let mut values = BytesColumn::default();
        for i in 0..rows.values[0].len() {
            self.push_value(read, held(rows, i), &mut values)?;
        }
        rows.values[0] = Column::Bytes(values);
        rows.values[1..].iter_mut().for_each(Column::clear);
        Ok(())
    }

    /// Appends what a row holds; nothing where it is absent.
    fn push_value(&self, read: &dyn Read, held: Held<'_>, out: &mut BytesColumn) -> Result<()> {
        match held {
            Held::Value(value) => out.push(Some(value)),
            Held::Large(id, bytes) => {
                // No copy beside the column's: a value may be a gibibyte.
                let row = out.len();
                self.read_large(read, id, bytes, &mut out.heap)?;
                out.offsets.push(out.heap.len() as u64);
                out.validity.push(row, true);
            }
            Held::Nothing => out.push(None),
        }
        Ok(())
    }

    pub(super) fn empty_row(&self) -> store::Error {
        damaged(format!("a row of {:?} has neither a value nor chunks", self.name()))
    }
}

/// Bytes of values after which a batch of a stream ends.
const BATCH_BYTES: usize = 4 << 20;

/// Rows read at once. They may be [`BATCH_BYTES`] more than wanted, for each is shorter than
/// [`LARGE_BYTES_MIN`].
const ROWS_A_STEP: usize = BATCH_BYTES / LARGE_BYTES_MIN;
const _: () = assert!(ROWS_A_STEP == 256, "what a step may have too much is a batch");

/// A stream of blobs in key order, as of the moment it began.
///
/// # Why rows wait
/// A thousand rows of long values are a few kilobytes, and what they stand for is gigabytes. So
/// rows are read ahead, and their values when they are handed out: as many as a batch's bytes
/// allow.
pub struct BlobScan {
    scan: Box<dyn Scan>,
    blobs: Blobs,
    /// Rows that were read, some of long values; the next to be handed out is `at`.
    ahead: Batch,
    at: usize,
}

impl BlobScan {
    /// Replaces `out` by up to `count` blobs, fewer where their values take more than about 4 MiB;
    /// one at least, however long. False when there are no more. In a transaction, long values are
    /// as the transaction's own writes have left them by now.
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

    /// Appends rows as they are stored.
    fn read_rows(&mut self, count: usize, out: &mut Batch) -> Result<()> {
        let mut step = ROWS_A_STEP;
        while out.rows < count && bytes_of(out) < BATCH_BYTES {
            if !self.scan.next_batch(step.min(count - out.rows), out)? {
                break;
            }
            // Where the first are so short that all that are wanted would fit, the rest is read at
            // once: each stop costs. Where longer ones follow, that batch has more, with 4096 rows
            // 64 MiB at most.
            let is_short = bytes_of(out) / out.rows < BATCH_BYTES / count;
            step = if is_short { count } else { ROWS_A_STEP };
        }
        Ok(())
    }

    /// Appends rows that wait, with their values.
    fn hand_out(&mut self, count: usize, out: &mut Batch) -> Result<()> {
        let Self { blobs, ahead, at, .. } = self;
        let may_change = matches!(blobs.source, Source::Transaction(_));
        let mut row = empty_batch(blobs.core.def.key);
        blobs.source.read(|read| {
            while *at < ahead.rows && out.rows < count {
                let mut now = held(ahead, *at);
                if let (true, Held::Large(..)) = (may_change, &now) {
                    // The transaction may have taken the chunks away since the row was read.
                    row.clear();
                    let key = ahead.keys.get(*at);
                    if !read.get(blobs.core.rows, key.as_ref(), VALUES, &mut row)? {
                        *at += 1;
                        continue;
                    }
                    now = held(&row, 0);
                }
                let bytes = match now {
                    Held::Value(value) => value.len() as u64,
                    Held::Large(_, bytes) => bytes,
                    Held::Nothing => 0,
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

    /// Whether the keys are numbers or text.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        self.blobs.core.def.key
    }
}

/// A stream of keys in their order, as of the moment it began.
pub struct KeyScan {
    scan: Box<dyn Scan>,
    key: KeyType,
}

impl KeyScan {
    /// About `count` keys; `None` when there are no more.
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
