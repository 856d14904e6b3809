//! Changing blobs.
//!
//! # Why two ways
//! Where no value is long, a write needs to know nothing of what it replaces: it is one row, and
//! the newest wins. Where a long value may be replaced its chunks go with it, so the row is read
//! first, in a transaction.

use super::large::{ChunkWrites, NOTES};
use super::rows::{append_values, empty_batch, large_ids, push_key, push_values};
use super::{Blobs, LARGE, VALUE_BYTES_MAX};
use crate::keys::{KeyList, KeyOf, KeyType, check_values, keys_of, push_keys, push_one, range_of};
use crate::source::Source;
use crate::transaction::retry;
use base::{Batch, BytesColumn, Column, KeyRange, Keys, Kind};
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use relation::{BlobsPart, invalid};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use store::{Error, ErrorKind, Isolation, Kinds, Read, Result, TableWrites, WriteBatch};

thread_local! {
    /// A batch of one table, kept for its memory.
    static WRITES: Cell<Option<Box<WriteBatch>>> = const { Cell::new(None) };
}

/// Of a value as long as this nothing is copied but a piece at a time; a shorter one is one commit,
/// if a commit can hold it.
const PIECES_BYTES_MIN: usize = 64 << 20;

/// Bytes of values that a kept batch may hold on to.
const KEPT_BYTES_MAX: usize = 4 << 20;

impl Blobs {
    /// Gives a key a value. One that a commit cannot hold is written in pieces, as
    /// [`Blobs::writer`] does it; it is there at once all the same.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for a value past [`VALUE_BYTES_MAX`], or, inside a transaction, past its memory.
    pub fn put<'k>(&self, key: impl Into<KeyOf<'k>>, value: &[u8]) -> Result<()> {
        check_length(value.len() as u64)?;
        let key = key.into();
        if value.len() >= PIECES_BYTES_MIN && self.source.store().is_some() {
            return self.put_in_pieces(key, value);
        }
        if value.len() >= self.core.sizes.large_bytes_min || self.may_hold_large()? {
            let mut keys = crate::keys::empty_keys(self.core.def.key);
            push_one(self.core.def.key, key, &mut keys)?;
            let mut values = BytesColumn::default();
            values.push(Some(value));
            let put = self.put_checked(&keys, &values);
            drop(values);
            return match put {
                Err(error) if error.kind() == ErrorKind::Limit && self.source.store().is_some() => {
                    self.put_in_pieces(key, value)
                }
                put => put,
            };
        }
        self.write_rows(Kind::Put, |rows| {
            push_one(self.core.def.key, key, &mut rows.keys)?;
            push_values(rows, Some(value), None);
            rows.rows = 1;
            Ok(())
        })
    }

    fn put_in_pieces(&self, key: KeyOf<'_>, value: &[u8]) -> Result<()> {
        let mut writer = self.writer(key)?;
        writer.append(value)?;
        writer.finish()
    }

    /// Gives keys values; all become visible at once. Of a key named twice the last value stays.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: columns of different lengths, or a value that is null. [`ErrorKind::Limit`]: a
    /// value past [`VALUE_BYTES_MAX`], or more in all than a transaction may hold: a quarter of the
    /// memory limit.
    pub fn put_many(&self, keys: KeyList<'_>, values: &BytesColumn) -> Result<()> {
        check_values(keys, values)?;
        let longest = values.offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        check_length(longest)?;
        if longest >= self.core.sizes.large_bytes_min as u64 || self.may_hold_large()? {
            return self.put_checked(&keys_of(self.core.def.key, keys)?, values);
        }
        self.write_rows(Kind::Put, |rows| {
            push_keys(self.core.def.key, keys, &mut rows.keys)?;
            append_values(rows, values);
            rows.rows = values.len();
            Ok(())
        })
    }

    /// Deletes a key's value; whether there was one.
    pub fn delete<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<bool> {
        let mut keys = crate::keys::empty_keys(self.core.def.key);
        push_one(self.core.def.key, key.into(), &mut keys)?;
        let mut deleted = Vec::with_capacity(1);
        self.delete_keys(&keys, &mut deleted)?;
        Ok(deleted.first() == Some(&true))
    }

    /// Deletes the values of keys at once; `deleted` is replaced by whether each was there. Of a
    /// key named twice the second flag is false.
    pub fn delete_many(&self, keys: KeyList<'_>, deleted: &mut Vec<bool>) -> Result<()> {
        self.delete_keys(&keys_of(self.core.def.key, keys)?, deleted)
    }

    /// Deletes a key's value if there is one, without a look at what is there: [`Blobs::delete`]
    /// without its answer.
    pub fn discard<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<()> {
        let key = key.into();
        if self.may_hold_large()? {
            return self.delete(key).map(drop);
        }
        self.write_rows(Kind::Delete, |rows| {
            push_one(self.core.def.key, key, &mut rows.keys)?;
            push_values(rows, None, None);
            rows.rows = 1;
            Ok(())
        })
    }

    /// Deletes the values of keys, where they have some, at once and without a look at what is
    /// there.
    pub fn discard_many(&self, keys: KeyList<'_>) -> Result<()> {
        if self.may_hold_large()? {
            return self.delete_many(keys, &mut Vec::new());
        }
        let rows = deletes(self.core.def.key, keys_of(self.core.def.key, keys)?);
        let table = self.rows_table(Kinds::Uniform(Kind::Delete), rows);
        self.source.apply(&WriteBatch { tables: vec![table] })
    }

    /// Deletes all values at once. One that is being written in pieces is not among them: once it
    /// is finished, it is there.
    pub fn clear(&self) -> Result<()> {
        let alone = self.source.store().is_some();
        if alone && !self.holds_large()? {
            self.source.apply(&self.clear_rows()?)?;
            // A long value may have come between, and has lost its row.
            return match self.holds_large()? {
                true => self.collect_garbage().map(drop),
                false => Ok(()),
            };
        }
        match self.in_own_transaction(Self::clear_checked) {
            // Others write without a pause: the rows go, whatever is written; then the chunks that
            // lost theirs.
            Err(error) if alone && error.kind() == ErrorKind::Conflict => {
                self.source.apply(&self.clear_rows()?)?;
                self.collect_garbage().map(drop)
            }
            done => done,
        }
    }

    /// Inside a transaction: deletes all rows, and all chunks but those of values that are being
    /// written.
    ///
    /// # Why this is safe beside writers
    /// Who writes in pieces commits its note before its first chunk. A note of the transaction's
    /// moment is seen here, and its chunks are spared. One that came later has no chunk at that
    /// moment, so a chunk that is there when this commits was written since into a range that is
    /// deleted: that is a conflict. So is a row that took its note away meanwhile.
    fn clear_checked(&self) -> Result<()> {
        let mut spared = self.noted()?;
        spared.sort_unstable();
        // The notes themselves lie under the first id.
        let mut lower = Some(NOTES + 1);
        let mut between = Vec::with_capacity(spared.len() + 1);
        for id in spared {
            let gap = lower.map(|lower| KeyRange {
                lower: base::Key::words(&[lower]),
                upper: Some(base::Key::words(&[id])),
            });
            between.extend(gap);
            lower = id.checked_add(1);
        }
        between
            .extend(lower.map(|lower| KeyRange { lower: base::Key::words(&[lower]), upper: None }));
        between.retain(|range| !range.is_empty());
        let mut writes = self.clear_rows()?;
        writes.tables.push(self.range_deletes(BlobsPart::Large, between));
        self.source.apply(&writes)
    }

    fn clear_rows(&self) -> Result<WriteBatch> {
        let all = range_of(self.core.def.key, None, None)?;
        Ok(WriteBatch { tables: vec![self.range_deletes(BlobsPart::Rows, vec![all])] })
    }

    /// Deletes whole ranges of a keyspace.
    pub(super) fn range_deletes(
        &self,
        part: BlobsPart,
        delete_ranges: Vec<KeyRange>,
    ) -> TableWrites {
        let keyspace = match part {
            BlobsPart::Rows => self.core.rows,
            BlobsPart::Large => self.core.large,
        };
        let rows = Batch::new(&self.core.def.shape(part));
        TableWrites { keyspace, kinds: Kinds::Uniform(Kind::Delete), rows, delete_ranges }
    }

    /// Drops the blobs with all that belongs to them, at once. They cannot be used afterwards.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] inside a transaction, and at a snapshot.
    pub fn drop_blobs(self) -> Result<()> {
        let Some(store) = self.source.store() else {
            return Err(invalid("blobs cannot be dropped inside a transaction"));
        };
        store.drop_keyspaces(&[self.core.rows, self.core.large])
    }

    fn delete_keys(&self, keys: &Keys, deleted: &mut Vec<bool>) -> Result<()> {
        deleted.clear();
        if let Source::Store(store) = &self.source
            && !self.may_hold_large()?
        {
            let rows = deletes(self.core.def.key, keys.clone());
            let table = self.rows_table(Kinds::Uniform(Kind::Delete), rows);
            store.write(&WriteBatch { tables: vec![table] }, Some(deleted))?;
        } else {
            *deleted = self.in_own_transaction(|blobs| blobs.delete_checked(keys))?;
        }
        forget_repeats(keys, deleted);
        Ok(())
    }

    /// Inside a transaction: deletes rows, and the chunks that belong to them.
    fn delete_checked(&self, keys: &Keys) -> Result<Vec<bool>> {
        let mut chunks = ChunkWrites::new();
        let present = self.source.read(|read| self.give_up_chunks(read, keys, &mut chunks))?;
        let mut there = crate::keys::empty_keys(self.core.def.key);
        (0..keys.len()).filter(|&i| present[i]).for_each(|i| push_key(&mut there, keys, i));
        let rows = deletes(self.core.def.key, there);
        self.write_both(Kinds::Uniform(Kind::Delete), rows, chunks)?;
        Ok(present)
    }

    pub(super) fn put_checked(&self, keys: &Keys, values: &BytesColumn) -> Result<()> {
        self.in_own_transaction(|blobs| blobs.put_in(keys, values))
    }

    /// Inside a transaction: writes rows, their chunks, and deletes the chunks of what they
    /// replace.
    fn put_in(&self, keys: &Keys, values: &BytesColumn) -> Result<()> {
        let mut chunks = ChunkWrites::new();
        let mut rows = empty_batch(self.core.def.key);
        self.source.read(|read| {
            self.give_up_chunks(read, keys, &mut chunks)?;
            // The last value of a key stays; chunks of an earlier one would belong to nothing.
            let mut last: BTreeMap<base::Key, usize> = BTreeMap::new();
            if keys.len() > 1 {
                last.extend((0..keys.len()).map(|i| (keys.get(i), i)));
            }
            let mut taken: HashSet<u64, RandomState> = HashSet::default();
            for i in 0..keys.len() {
                if last.get(&keys.get(i)).is_some_and(|&last| last != i) {
                    continue;
                }
                push_key(&mut rows.keys, keys, i);
                let value = values.get(i);
                if value.len() < self.core.sizes.large_bytes_min {
                    push_values(&mut rows, Some(value), None);
                } else {
                    let mut id = self.free_id(read)?;
                    while !taken.insert(id) {
                        id = self.free_id(read)?;
                    }
                    chunks.put_all(id, value, self.core.sizes.chunk_bytes);
                    push_values(&mut rows, None, Some((id, value.len() as u64)));
                }
                rows.rows += 1;
            }
            Ok(())
        })?;
        self.write_both(Kinds::Uniform(Kind::Put), rows, chunks)
    }

    /// Inside a transaction: gives a key the chunks under `id`, which are written already, and
    /// takes the note of them away.
    pub(super) fn put_id(&self, keys: &Keys, id: u64, bytes: u64) -> Result<()> {
        let mut chunks = ChunkWrites::new();
        self.source.read(|read| self.give_up_chunks(read, keys, &mut chunks))?;
        chunks.delete(NOTES, id);
        let mut rows = empty_batch(self.core.def.key);
        push_key(&mut rows.keys, keys, 0);
        push_values(&mut rows, None, Some((id, bytes)));
        rows.rows = 1;
        self.write_both(Kinds::Uniform(Kind::Put), rows, chunks)
    }

    /// Whether each key has a value; the chunks of those that have some are deleted.
    fn give_up_chunks(
        &self,
        read: &dyn Read,
        keys: &Keys,
        chunks: &mut ChunkWrites,
    ) -> Result<Vec<bool>> {
        let mut old = empty_batch(self.core.def.key);
        let mut present = Vec::new();
        read.get_many(self.core.rows, keys, LARGE, &mut present, &mut old)?;
        // In order: what is written must not depend on how a table hashes.
        let ids: BTreeSet<u64> = large_ids(&old).collect();
        for id in ids {
            self.delete_large(read, id, chunks)?;
        }
        Ok(present)
    }

    pub(super) fn write_both(&self, kinds: Kinds, rows: Batch, chunks: ChunkWrites) -> Result<()> {
        let mut tables = vec![self.rows_table(kinds, rows)];
        if !chunks.is_empty() {
            tables.push(chunks.into_table(self));
        }
        self.source.apply(&WriteBatch { tables })
    }

    fn rows_table(&self, kinds: Kinds, rows: Batch) -> TableWrites {
        TableWrites { keyspace: self.core.rows, kinds, rows, delete_ranges: Vec::new() }
    }

    /// Runs `f` in the transaction that the blobs are seen through, or in one of its own.
    pub(super) fn in_own_transaction<R>(&self, f: impl Fn(&Self) -> Result<R>) -> Result<R> {
        match &self.source {
            Source::Store(store) => {
                retry(
                    store,
                    Isolation::Snapshot,
                    |transaction| f(&self.in_transaction(transaction)),
                )
            }
            Source::Transaction(_) => f(self),
            Source::Snapshot(_) => {
                Err(Error::new(ErrorKind::ReadOnly, "what is seen at a snapshot cannot be written"))
            }
        }
    }

    /// Writes rows that need no look at what they replace.
    fn write_rows(&self, kind: Kind, fill: impl FnOnce(&mut Batch) -> Result<()>) -> Result<()> {
        let mut writes = WRITES.take().unwrap_or_default();
        if writes.tables.is_empty() {
            writes
                .tables
                .push(self.rows_table(Kinds::Uniform(kind), empty_batch(self.core.def.key)));
        }
        let table = &mut writes.tables[0];
        table.keyspace = self.core.rows;
        table.kinds = Kinds::Uniform(kind);
        match (&table.rows.keys, self.core.def.key) {
            (Keys::Words(_), KeyType::U64 | KeyType::I64) | (Keys::Bytes(_), KeyType::Str) => {}
            (_, key) => table.rows = empty_batch(key),
        }
        let result = fill(&mut table.rows).and_then(|()| self.source.apply(&writes));
        let table = &mut writes.tables[0];
        table.rows.clear();
        if matches!(&table.rows.values[0], Column::Bytes(c) if c.heap.capacity() < KEPT_BYTES_MAX) {
            WRITES.set(Some(writes));
        }
        result
    }
}

fn check_length(bytes: u64) -> Result<()> {
    if bytes <= VALUE_BYTES_MAX {
        return Ok(());
    }
    let what = format!("a value of {bytes} bytes, the limit is {VALUE_BYTES_MAX}");
    Err(Error::new(ErrorKind::Limit, what))
}

/// Rows that delete `keys`.
pub(super) fn deletes(key: KeyType, keys: Keys) -> Batch {
    let mut rows = empty_batch(key);
    rows.rows = keys.len();
    rows.keys = keys;
    (0..rows.rows).for_each(|_| push_values(&mut rows, None, None));
    rows
}

/// Sets the flag of every key that is named before to false.
fn forget_repeats(keys: &Keys, flags: &mut [bool]) {
    if keys.len() < 2 {
        return;
    }
    let mut seen: BTreeSet<base::Key> = BTreeSet::new();
    for (i, flag) in flags.iter_mut().enumerate() {
        *flag &= seen.insert(keys.get(i));
    }
}
