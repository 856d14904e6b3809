//! Reads of counters: single keys, many keys, scans and ranges. A read of the newest state adds the
//! buffered sum of a key to its stored value; one of a snapshot or a transaction does not.

use super::number::{both, nothing, number_of, numbers_of, zero};
use super::{Counters, CountersDef, Number, NumberColumn};
use crate::keys::{
    KeyColumn, KeyList, KeyOf, column_of, empty_keys, keys_of, range_of, range_through, with_key,
};
use crate::source::Source;
use crate::write_buffer::Buffered;
use base::{Batch, Column, KeyRange, KeyRef, Keys, Projection, WordColumn};
use store::{ErrorKind, Read, Result, Scan};

/// Projection of the column `count` only.
const COUNT: Projection = Projection { keys: 0, values: 1 };

/// Counters with their keys. The order is that of the call that returns them. A sum out of range is
/// returned as the end of the range, [`i64::MAX`] or [`i64::MIN`], which no other sum equals.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterRows {
    /// The keys, in the order of `numbers`.
    pub keys: KeyColumn,
    /// One number for each key.
    pub numbers: NumberColumn,
}

impl CounterRows {
    /// Number of counters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are no counters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Counters {
    /// The value of a counter; 0 if it does not exist.
    pub fn get<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<Number> {
        Ok(self.find(key)?.unwrap_or(nothing(&self.core.def)))
    }

    /// The value of a counter; `None` if it does not exist.
    pub fn find<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<Option<Number>> {
        with_key(self.core.def.key, key.into(), |key| {
            let merge = self.core.def.merge();
            let read = || self.stored(key);
            // The combined sum; `None` if the two words do not determine it.
            let with = |stored: Result<Option<u64>>, buffered: Option<&u64>| {
                stored.map(|stored| match (stored, buffered) {
                    (Some(stored), Some(&buffered)) => both(merge, stored, buffered).map(Some),
                    (stored, buffered) => Some(stored.or(buffered.copied())),
                })
            };
            let word = match &self.source {
                Source::Store(_) => {
                    self.core.check_process()?;
                    self.core.buffer.with_sum(key, read, with)
                }
                _ => with(read(), None),
            }?;
            let word = match word {
                Some(word) => word,
                None => {
                    self.write_what_waits()?;
                    read()?
                }
            };
            word.map(|word| number_of(&self.core.def, key, word)).transpose()
        })
    }

    /// Whether a counter exists, even if its sum is out of range.
    pub fn contains<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<bool> {
        match self.find(key) {
            Err(error) if error.kind() == ErrorKind::Limit => Ok(true),
            found => Ok(found?.is_some()),
        }
    }

    /// The values of counters, in the order of `keys`; 0 for those that do not exist. Sums out of
    /// range are returned as in [`CounterRows`].
    pub fn get_many(&self, keys: KeyList<'_>) -> Result<NumberColumn> {
        let keys = keys_of(self.core.def.key, keys)?;
        let buffered = match &self.source {
            Source::Store(store) => {
                self.core.check_process()?;
                self.core.buffer.sums_at(&keys, || store.snapshot())
            }
            _ => None,
        };
        let stored = || self.source.read(|read| self.words_of(read, &keys, None));
        let mut words = match buffered {
            Some((sums, snapshot)) => self.words_of(&*snapshot, &keys, Some(&sums))?,
            None => stored()?,
        };
        if words.is_none() {
            self.write_what_waits()?;
            words = stored()?;
        }
        Ok(numbers_of(&self.core.def, &words.expect("without a buffer, stored words are returned")))
    }

    /// Up to `count` counters in key order, from the key `start` on, or from the first.
    pub fn scan(&self, start: Option<KeyOf<'_>>, count: usize) -> Result<CounterRows> {
        let range = range_of(self.core.def.key, start, None)?;
        self.rows_of(|read, rows| {
            read.scan_into(self.core.rows, &range, Projection::ALL, count, rows)
        })
    }

    /// As [`Counters::scan`], in descending order: from the key `start` down, or from the last.
    pub fn scan_back(&self, start: Option<KeyOf<'_>>, count: usize) -> Result<CounterRows> {
        let range = range_through(self.core.def.key, start)?;
        self.rows_of(|read, rows| {
            read.scan_back_into(self.core.rows, &range, Projection::ALL, count, rows)
        })
    }

    /// Streams the counters in `from..to`, at a snapshot taken now; `None` is no bound.
    pub fn range(&self, from: Option<KeyOf<'_>>, to: Option<KeyOf<'_>>) -> Result<CounterScan> {
        self.write_what_waits()?;
        let range: KeyRange = range_of(self.core.def.key, from, to)?;
        let scan = self.source.read(|read| read.scan(self.core.rows, range, Projection::ALL))?;
        Ok(CounterScan { scan, counters: self.clone() })
    }

    /// Exact number of counters. Writes the buffer first.
    pub fn len(&self) -> Result<u64> {
        self.write_what_waits()?;
        self.source.read(|read| read.count(self.core.rows))
    }

    /// Whether there are no counters. Writes the buffer first.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The stored word of a key, without the write buffer.
    pub(super) fn stored(&self, key: KeyRef<'_>) -> Result<Option<u64>> {
        let mut row = empty_rows(&self.core.def);
        let found = self.source.read(|read| read.get(self.core.rows, key, COUNT, &mut row))?;
        Ok(found.then(|| row.value_words(0)[0]))
    }

    /// The word of each key; `None` if stored and buffered words do not determine a sum.
    fn words_of(
        &self,
        read: &dyn Read,
        keys: &Keys,
        buffered: Option<&[Option<u64>]>,
    ) -> Result<Option<Vec<u64>>> {
        let mut rows = empty_rows(&self.core.def);
        let mut present = Vec::new();
        read.get_many(self.core.rows, keys, COUNT, &mut present, &mut rows)?;
        let (zero, merge) = (zero(&self.core.def), self.core.def.merge());
        let word = |i: usize| {
            let stored = present[i].then(|| rows.value_words(0)[i]);
            let buffered = buffered.and_then(|buffered| buffered[i]);
            match (stored, buffered) {
                (Some(stored), Some(buffered)) => both(merge, stored, buffered),
                (stored, buffered) => Some(stored.or(buffered).unwrap_or(zero)),
            }
        };
        Ok((0..present.len()).map(word).collect())
    }

    /// Writes the buffer before a read of many keys, which then finds everything in the store.
    pub(super) fn write_what_waits(&self) -> Result<()> {
        match &self.source {
            Source::Store(_) => self.core.flush_buffer(),
            Source::Snapshot(_) | Source::Transaction(_) => Ok(()),
        }
    }

    fn rows_of(
        &self,
        read_rows: impl FnOnce(&dyn Read, &mut Batch) -> Result<()>,
    ) -> Result<CounterRows> {
        self.write_what_waits()?;
        let mut rows = empty_rows(&self.core.def);
        self.source.read(|read| read_rows(read, &mut rows))?;
        let keys = std::mem::replace(&mut rows.keys, empty_keys(self.core.def.key));
        self.rows_out(keys, rows.value_words(0))
    }

    pub(super) fn rows_out(&self, keys: Keys, words: &[u64]) -> Result<CounterRows> {
        let numbers = numbers_of(&self.core.def, words);
        Ok(CounterRows { keys: column_of(self.core.def.key, keys)?, numbers })
    }
}

/// A stream of counters in key order, at the snapshot taken when it started.
pub struct CounterScan {
    scan: Box<dyn Scan>,
    counters: Counters,
}

impl CounterScan {
    /// About `count` counters; `None` at the end.
    pub fn next_rows(&mut self, count: usize) -> Result<Option<CounterRows>> {
        let mut rows = empty_rows(&self.counters.core.def);
        if !self.scan.next_batch(count, &mut rows)? {
            return Ok(None);
        }
        let keys = std::mem::replace(&mut rows.keys, empty_keys(self.counters.core.def.key));
        self.counters.rows_out(keys, rows.value_words(0)).map(Some)
    }

    /// Name and types of the counters.
    #[must_use]
    pub fn def(&self) -> &CountersDef {
        &self.counters.core.def
    }
}

/// An empty batch in the shape of counters.
pub(super) fn empty_rows(def: &CountersDef) -> Batch {
    Batch { rows: 0, keys: empty_keys(def.key), values: vec![Column::Words(WordColumn::default())] }
}
