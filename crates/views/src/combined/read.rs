//! Reads of combined values, for the Rust API.
//!
//! # Invariants
//! 1. A read of the newest state combines the stored value with the buffered increments of its key;
//!    one of a snapshot or a transaction reads stored values only.
//! 2. Stored value and buffer are read under the buffer's protection (`write_buffer`), so a
//!    flush in between neither loses nor repeats an increment.

use super::{Combined, Core, empty_rows, values};
use crate::keys::{
    KeyColumn, KeyList, KeyOf, column_of, empty_keys, keys_of, range_of, range_through, with_key,
};
use crate::source::Source;
use crate::write_buffer::Buffered;
use base::{Batch, BytesColumn, Column, KeyRange, KeyRef, Keys, Projection};
use store::{Read, Result, Scan};

/// Projection of the column `value` only.
pub(super) const VALUE: Projection = Projection { keys: 0, values: 1 };

/// Combined values with their keys, in key order.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinedRows {
    /// The keys, ascending or descending as the call says.
    pub keys: KeyColumn,
    /// One value for each key.
    pub values: BytesColumn,
}

impl CombinedRows {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Combined {
    /// Replaces `out` by the value of a key. Returns false, with `out` empty, if there is none.
    pub fn get<'k>(&self, key: impl Into<KeyOf<'k>>, out: &mut Vec<u8>) -> Result<bool> {
        let found = with_key(self.core.def.key, key.into(), |key| {
            let read = || {
                let mut row = empty_rows(self.core.def.key);
                let found = self.source.read(|read| read.get(self.core.rows, key, VALUE, &mut row));
                found.map(|found| found.then_some(row))
            };
            let mut with = |stored: Result<Option<Batch>>, buffered: Option<&Box<[u8]>>| {
                let stored = stored?;
                let stored = stored.as_ref().map(|row| values(row).get(0));
                self.core.both(key, stored, buffered.map(|sum| &**sum), out)
            };
            match &self.source {
                Source::Store(_) => {
                    self.core.check_process()?;
                    self.core.buffer.with_sum(key, read, with)
                }
                _ => with(read(), None),
            }
        });
        if !matches!(found, Ok(true)) {
            out.clear();
        }
        found
    }

    /// Replaces `present` by whether each key has a value, and `out` by the values, empty for
    /// absent keys.
    ///
    /// # Errors
    /// The first error of the function for one of the keys.
    pub fn get_many(
        &self,
        keys: KeyList<'_>,
        present: &mut Vec<bool>,
        out: &mut BytesColumn,
    ) -> Result<()> {
        present.clear();
        out.clear();
        let keys = keys_of(self.core.def.key, keys)?;
        let buffered = match &self.source {
            Source::Store(store) => {
                self.core.check_process()?;
                self.core.buffer.sums_at(&keys, || store.snapshot())
            }
            _ => None,
        };
        if let Some((sums, snapshot)) = buffered {
            return self.core.with_waiting(&*snapshot, &keys, &sums, present, out);
        }
        let mut rows = empty_rows(self.core.def.key);
        rows.values[0] = Column::Bytes(std::mem::take(out));
        self.source.read(|read| read.get_many(self.core.rows, &keys, VALUE, present, &mut rows))?;
        if let Some(Column::Bytes(found)) = rows.values.pop() {
            *out = found;
            // Absent keys are marked in `present`.
            out.validity.0 = None;
        }
        Ok(())
    }

    /// Up to `count` values in key order, from the key `start` on, or from the first.
    pub fn scan(&self, start: Option<KeyOf<'_>>, count: usize) -> Result<CombinedRows> {
        let range = range_of(self.core.def.key, start, None)?;
        self.rows_of(|read, rows| {
            read.scan_into(self.core.rows, &range, Projection::ALL, count, rows)
        })
    }

    /// As [`Combined::scan`], in descending order: from the key `start` down, or from the last.
    pub fn scan_back(&self, start: Option<KeyOf<'_>>, count: usize) -> Result<CombinedRows> {
        let range = range_through(self.core.def.key, start)?;
        self.rows_of(|read, rows| {
            read.scan_back_into(self.core.rows, &range, Projection::ALL, count, rows)
        })
    }

    /// Streams the values in `from..to`, at a snapshot taken now; `None` is no bound.
    pub fn range(&self, from: Option<KeyOf<'_>>, to: Option<KeyOf<'_>>) -> Result<CombinedScan> {
        self.write_what_waits()?;
        let range: KeyRange = range_of(self.core.def.key, from, to)?;
        let scan = self.source.read(|read| read.scan(self.core.rows, range, Projection::ALL))?;
        Ok(CombinedScan { scan, combined: self.clone() })
    }

    /// Exact number of keys. Writes the buffer first.
    pub fn len(&self) -> Result<u64> {
        self.write_what_waits()?;
        self.source.read(|read| read.count(self.core.rows))
    }

    /// Whether there are no keys. Writes the buffer first.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Writes the buffer before a read of many keys, which then finds everything in the store.
    fn write_what_waits(&self) -> Result<()> {
        match &self.source {
            Source::Store(_) => self.core.flush_buffer(),
            Source::Snapshot(_) | Source::Transaction(_) => Ok(()),
        }
    }

    fn rows_of(
        &self,
        read_rows: impl FnOnce(&dyn Read, &mut Batch) -> Result<()>,
    ) -> Result<CombinedRows> {
        self.write_what_waits()?;
        let mut rows = empty_rows(self.core.def.key);
        self.source.read(|read| read_rows(read, &mut rows))?;
        self.core.rows_out(&mut rows)
    }
}

impl Core {
    /// Replaces `out` by the combination of stored and buffered value. Returns whether there is
    /// one.
    fn both(
        &self,
        key: KeyRef<'_>,
        stored: Option<&[u8]>,
        buffered: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if let (Some(stored), Some(buffered)) = (stored, buffered) {
            self.combine_fn.combine(key, stored, buffered, out)?;
            return Ok(true);
        }
        out.clear();
        let one = stored.or(buffered);
        out.extend_from_slice(one.unwrap_or_default());
        Ok(one.is_some())
    }

    fn with_waiting(
        &self,
        read: &dyn Read,
        keys: &Keys,
        buffered: &[Option<Box<[u8]>>],
        present: &mut Vec<bool>,
        out: &mut BytesColumn,
    ) -> Result<()> {
        let mut rows = empty_rows(self.def.key);
        read.get_many(self.rows, keys, VALUE, present, &mut rows)?;
        let (stored, mut value) = (values(&rows), Vec::new());
        for (i, (present, buffered)) in present.iter_mut().zip(buffered).enumerate() {
            let key = keys.get(i);
            let stored = present.then(|| stored.get(i));
            *present = self.both(key.as_ref(), stored, buffered.as_deref(), &mut value)?;
            out.push(Some(&value));
        }
        Ok(())
    }

    /// Moves keys and values out of a batch.
    fn rows_out(&self, rows: &mut Batch) -> Result<CombinedRows> {
        let keys = std::mem::replace(&mut rows.keys, empty_keys(self.def.key));
        let values = match rows.values.pop() {
            Some(Column::Bytes(values)) => values,
            _ => unreachable!("combined values are bytes"),
        };
        Ok(CombinedRows { keys: column_of(self.def.key, keys)?, values })
    }
}

/// A stream of combined values in key order, at the snapshot taken when it started.
pub struct CombinedScan {
    scan: Box<dyn Scan>,
    combined: Combined,
}

impl CombinedScan {
    /// About `count` values; `None` at the end.
    pub fn next_rows(&mut self, count: usize) -> Result<Option<CombinedRows>> {
        let core = &self.combined.core;
        let mut rows = empty_rows(core.def.key);
        if !self.scan.next_batch(count, &mut rows)? {
            return Ok(None);
        }
        core.rows_out(&mut rows).map(Some)
    }
}
