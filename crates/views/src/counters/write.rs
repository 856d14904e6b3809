//! Changes of counters: increments, values set, removals. Under durability `none` increments go to
//! the write buffer, otherwise to the store as merges.

use super::number::{word_of, words_of, zero};
use super::{Core, Counters, Number, NumberList};
use crate::keys::{KeyList, KeyOf, empty_keys, keys_of, range_of, with_key};
use crate::source::Source;
use crate::write_buffer::{Buffered, Patience, Schedule, WriteBuffer};
use base::fault_switch::{Switch, is_on};
use base::{Batch, Column, KeyRef, Keys, Kind, WordColumn};
use env::sync::atomic::AtomicBool;
use relation::{KeyType, invalid};
use std::cell::Cell;
use store::{ErrorKind, Kinds, Result, TableWrites, WriteBatch};

/// Rows written for each row added, when the buffer is behind.
const WRITTEN_AN_ADDED: usize = 2;

/// Bytes of string keys added to the buffer between two checks of its size.
const KEY_BYTES_A_STEP: u64 = 1 << 20;

thread_local! {
    /// Buffer for the words of a call, reused across calls.
    static WORDS: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

impl Counters {
    /// Adds to a counter; or takes the minimum or maximum, if the counters combine so.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: the number is not of the counters' type, or is NaN.
    pub fn add<'k>(&self, key: impl Into<KeyOf<'k>>, number: impl Into<Number>) -> Result<()> {
        let word = word_of(&self.core.def, number.into())?;
        with_key(self.core.def.key, key.into(), |key| {
            let added = match (&self.source, &self.core.buffer, key) {
                (Source::Store(_), WriteBuffer::Words(buffer), KeyRef::Words(key)) => {
                    self.core.check_open()?;
                    buffer.add(&key[0], word)
                }
                (Source::Store(_), WriteBuffer::Texts(buffer), KeyRef::Bytes(key)) => {
                    self.core.check_open()?;
                    buffer.add(key, word)
                }
                _ => return self.write_one(Kind::Merge, key, word),
            };
            match added {
                Ok(true) => self.core.schedule_flush(1),
                Ok(false) => Ok(()),
                Err(error) if error.kind() == ErrorKind::Limit => self.write_large(key, word),
                Err(error) => Err(error),
            }
        })
    }

    /// Adds `numbers[i]` to the counter of `keys[i]`. All become visible in one step, except under
    /// durability `none`. A key may occur more than once.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: columns of different lengths, or numbers that are NaN or
    /// not of the counters' type; then nothing is added. [`store::ErrorKind::Limit`], if increments
    /// are not buffered: more than a transaction may hold, a quarter of the memory limit.
    pub fn add_many(&self, keys: KeyList<'_>, numbers: NumberList<'_>) -> Result<()> {
        let mut words = WORDS.take();
        words.clear();
        let result = words_of(&self.core.def, numbers, keys.len(), &mut words)
            .and_then(|()| self.add_words(keys, &words));
        WORDS.set(words);
        result
    }

    fn add_words(&self, keys: KeyList<'_>, words: &[u64]) -> Result<()> {
        let count = words.len();
        let mut large = Vec::new();
        match (&self.source, &self.core.buffer) {
            (Source::Store(_), WriteBuffer::Words(buffer)) => {
                self.core.check_open()?;
                let word = |i: usize| words[i];
                if let (KeyList::U64(keys), KeyType::U64) = (keys, self.core.def.key) {
                    buffer.add_many(count, |i| &keys[i], word, |i, _| large.push(i))?;
                    self.write_all_large(&large, |i| KeyRef::Words(&keys[i..=i]), words)?;
                } else if let Keys::Words(keys) = keys_of(self.core.def.key, keys)? {
                    buffer.add_many(count, |i| &keys[0][i], word, |i, _| large.push(i))?;
                    self.write_all_large(&large, |i| KeyRef::Words(&keys[0][i..=i]), words)?;
                }
                self.core.schedule_flush(count)
            }
            (Source::Store(_), WriteBuffer::Texts(buffer)) => {
                self.core.check_open()?;
                let Keys::Bytes(keys) = keys_of(self.core.def.key, keys)? else { return Ok(()) };
                let mut begin = 0;
                while begin < count {
                    // The keys of a call may exceed the size of the buffer.
                    let upto = keys.offsets[begin] + KEY_BYTES_A_STEP;
                    let end =
                        keys.offsets.partition_point(|&at| at <= upto).clamp(begin + 2, count + 1)
                            - 1;
                    buffer.add_many(
                        end - begin,
                        |i| keys.get(begin + i),
                        |i| words[begin + i],
                        |i, _| large.push(begin + i),
                    )?;
                    self.core.schedule_flush(end - begin)?;
                    begin = end;
                }
                self.write_all_large(&large, |i| KeyRef::Bytes(keys.get(i)), words)
            }
            _ => {
                let keys = keys_of(self.core.def.key, keys)?;
                self.source.apply(&self.core.writes(Kind::Merge, keys, words.to_vec()))
            }
        }
    }

    /// Writes an increment that is too large for the buffer, after the buffered sum of its key: so
    /// recovery never finds a later increment without an earlier one. It takes two commits, since
    /// the two together may not fit a word.
    fn write_large(&self, key: KeyRef<'_>, word: u64) -> Result<()> {
        let write = |buffered: &dyn Fn() -> Option<u64>| {
            if let Some(sum) = buffered() {
                self.write_one(Kind::Merge, key, sum)?;
            }
            // The buffered sum is removed even if this write fails, because it is written already.
            Ok(self.write_one(Kind::Merge, key, word))
        };
        self.core.buffer.replace(key, write)?.0
    }

    fn write_all_large<'k>(
        &self,
        large: &[usize],
        key: impl Fn(usize) -> KeyRef<'k>,
        words: &[u64],
    ) -> Result<()> {
        large.iter().try_for_each(|&i| self.write_large(key(i), words[i]))
    }

    /// Replaces the value of a counter.
    ///
    /// # Errors
    /// As [`Counters::add`].
    pub fn set<'k>(&self, key: impl Into<KeyOf<'k>>, number: impl Into<Number>) -> Result<()> {
        let word = word_of(&self.core.def, number.into())?;
        with_key(self.core.def.key, key.into(), |key| {
            self.replace(key, || self.write_one(Kind::Put, key, word)).map(drop)
        })
    }

    /// Removes a counter; returns whether it existed.
    pub fn remove<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<bool> {
        with_key(self.core.def.key, key.into(), |key| {
            let (removed, waited) = self.replace(key, || self.remove_stored(key))?;
            Ok(removed || waited)
        })
    }

    /// Removes all counters in one step.
    pub fn reset(&self) -> Result<()> {
        self.core.check_process()?;
        let range = range_of(self.core.def.key, None, None)?;
        let mut batch = self.core.writes(Kind::Delete, empty_keys(self.core.def.key), Vec::new());
        batch.tables[0].delete_ranges.push(range);
        match (&self.source, &self.core.buffer) {
            (Source::Store(_), WriteBuffer::Words(buffer)) => {
                let held = buffer.hold();
                self.source.apply(&batch)?;
                held.clear();
            }
            (Source::Store(_), WriteBuffer::Texts(buffer)) => {
                let held = buffer.hold();
                self.source.apply(&batch)?;
                held.clear();
            }
            _ => self.source.apply(&batch)?,
        }
        Ok(())
    }

    /// Writes the buffer to the store. To protect it against a crash or a power cut, flush the
    /// database instead: increments are buffered only under durability `none`, where the store has
    /// no log.
    ///
    /// # Errors
    /// Failed writes; increments that were not written stay in the buffer.
    pub fn flush(&self) -> Result<()> {
        self.core.check_open()?;
        self.core.flush_buffer()
    }

    /// Drops the counters with their keyspace. Other handles of them become invalid.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] inside a transaction, and at a snapshot.
    pub fn drop_counters(self) -> Result<()> {
        let Some(store) = self.source.store() else {
            return Err(invalid("counters cannot be dropped inside a transaction"));
        };
        store.drop_keyspaces(&[self.core.rows])?;
        self.core.end();
        Ok(())
    }

    /// Calls `f`, which writes the key to the store, under the lock of the key's shard, and removes
    /// its buffered sum. Also returns whether there was a buffered sum.
    fn replace<R>(&self, key: KeyRef<'_>, f: impl FnOnce() -> Result<R>) -> Result<(R, bool)> {
        match &self.source {
            Source::Store(_) => {
                self.core.check_process()?;
                self.core.buffer.replace(key, |_| f())
            }
            _ => Ok((f()?, false)),
        }
    }

    fn remove_stored(&self, key: KeyRef<'_>) -> Result<bool> {
        let mut keys = empty_keys(self.core.def.key);
        keys.push(key);
        let batch = self.core.writes(Kind::Delete, keys, vec![zero(&self.core.def)]);
        if let Source::Store(store) = &self.source {
            let mut existed = Vec::with_capacity(1);
            store.write(&batch, Some(&mut existed))?;
            return Ok(existed.first() == Some(&true));
        }
        let there = self.stored(key)?.is_some();
        self.source.apply(&batch)?;
        Ok(there)
    }

    fn write_one(&self, kind: Kind, key: KeyRef<'_>, word: u64) -> Result<()> {
        let mut keys = empty_keys(self.core.def.key);
        keys.push(key);
        self.source.apply(&self.core.writes(kind, keys, vec![word]))
    }
}

impl Core {
    fn writes(&self, kind: Kind, keys: Keys, words: Vec<u64>) -> WriteBatch {
        let column = WordColumn { words, ..WordColumn::default() };
        let rows = Batch { rows: keys.len(), keys, values: vec![Column::Words(column)] };
        let kinds = Kinds::Uniform(kind);
        let tables =
            vec![TableWrites { keyspace: self.rows, kinds, rows, delete_ranges: Vec::new() }];
        WriteBatch { tables }
    }

    /// Schedules a write of the buffer after `rows` rows were added, and writes a part of it now if
    /// it is behind.
    pub(super) fn schedule_flush(&self, rows: usize) -> Result<()> {
        self.schedule.soon();
        let room = |patience| match patience {
            Patience::Ask => Ok(self.store.has_room()),
            Patience::Wait => self.store.wait_for_room().map(|()| true),
        };
        let rows = WRITTEN_AN_ADDED * rows;
        match &self.buffer {
            WriteBuffer::Words(buffer) if buffer.is_behind(self.rows_max) => {
                buffer.keep_pace(self.rows_max, rows, room, |rows| self.write_words(rows))
            }
            WriteBuffer::Texts(buffer) if buffer.is_behind(self.rows_max) => {
                buffer.keep_pace(self.rows_max, rows, room, |rows| self.write_texts(rows))
            }
            _ => Ok(()),
        }
    }

    fn write_words(&self, rows: &[(u64, u64)]) -> Result<()> {
        let keys = rows.iter().map(|(key, _)| *key).collect();
        self.write_sums(Keys::Words(vec![keys]), rows.iter().map(|row| row.1).collect())
    }

    fn write_texts(&self, rows: &[(Box<[u8]>, u64)]) -> Result<()> {
        let mut keys = base::BytesColumn::default();
        rows.iter().for_each(|(key, _)| keys.push(Some(key)));
        self.write_sums(Keys::Bytes(keys), rows.iter().map(|row| row.1).collect())
    }

    /// Writes sums in one commit: readers see all of them in the store, or none.
    fn write_sums(&self, keys: Keys, words: Vec<u64>) -> Result<()> {
        if is_on(Switch::CountTwice) {
            let again = self.writes(Kind::Merge, keys.clone(), words.clone());
            self.store.write(&again, None)?;
        }
        self.store.write(&self.writes(Kind::Merge, keys, words), None).map(drop)
    }
}

impl Buffered for Core {
    fn rows_buffered(&self) -> u64 {
        self.buffer.rows()
    }

    fn close_buffer(&self) {
        self.buffer.close();
    }

    fn ended(&self) -> &AtomicBool {
        &self.ended
    }

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn write_all(&self) -> Result<()> {
        let wait = || self.store.wait_for_room();
        match &self.buffer {
            WriteBuffer::Nothing => Ok(()),
            WriteBuffer::Words(buffer) => {
                buffer.drain_in_order(wait, |rows| self.write_words(rows))
            }
            WriteBuffer::Texts(buffer) => {
                buffer.drain_in_order(wait, |rows| self.write_texts(rows))
            }
        }
    }
}
