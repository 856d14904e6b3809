//! Changes of blobs: put, remove, discard, clear.
//!
//! # Why there are two write paths
//! If there are no long values, a write need not read the old value: it writes one row, and the
//! newest wins. If it may replace a long value, the chunks must be deleted too, so it first reads
//! the row, in a transaction.

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
    /// A batch of one table, reused across calls.
    static WRITES: Cell<Option<Box<WriteBatch>>> = const { Cell::new(None) };
}

/// Values of at least this length are written in pieces, without a copy of the whole. A shorter one
/// is written in one commit if a transaction can hold it.
const PIECES_BYTES_MIN: usize = 64 << 20;

/// Batches with fewer bytes of values than this are kept for reuse.
const KEPT_BYTES_MAX: usize = 4 << 20;

impl Blobs {
    /// Stores a value under a key. A value that does not fit a transaction is written in pieces, as
    /// by [`Blobs::writer`]; it still becomes visible in one step.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for a value longer than [`VALUE_BYTES_MAX`], or, in a transaction,
    /// beyond the transaction's memory limit.
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

    /// Stores values under keys, in one commit. If a key occurs twice, its last value wins.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: columns of different lengths, or a null value.
    /// [`ErrorKind::Limit`]: a value longer than [`VALUE_BYTES_MAX`], or more bytes than a
    /// transaction may hold, a quarter of the memory limit.
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

    /// Deletes the value of a key; returns whether there was one.
    pub fn delete<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<bool> {
        let mut keys = crate::keys::empty_keys(self.core.def.key);
        push_one(self.core.def.key, key.into(), &mut keys)?;
        let mut deleted = Vec::with_capacity(1);
        self.delete_keys(&keys, &mut deleted)?;
        Ok(deleted.first() == Some(&true))
    }

    /// Deletes the values of keys in one commit. `deleted` is replaced by whether each had a value.
    /// If a key occurs twice, its second flag is false.
    pub fn delete_many(&self, keys: KeyList<'_>, deleted: &mut Vec<bool>) -> Result<()> {
        self.delete_keys(&keys_of(self.core.def.key, keys)?, deleted)
    }

    /// Deletes the value of a key if there is one. Faster than [`Blobs::delete`], since it need not
    /// find out whether there was one.
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

    /// Deletes the values of keys in one commit, as [`Blobs::discard`].
    pub fn discard_many(&self, keys: KeyList<'_>) -> Result<()> {
        if self.may_hold_large()? {
            return self.delete_many(keys, &mut Vec::new());
        }
        let rows = deletes(self.core.def.key, keys_of(self.core.def.key, keys)?);
        let table = self.rows_table(Kinds::Uniform(Kind::Delete), rows);
        self.source.apply(&WriteBatch { tables: vec![table] })
    }

    /// Deletes all values in one step. A value that is being written in pieces is not affected: it
    /// becomes visible when it is finished.
    pub fn clear(&self) -> Result<()> {
        let alone = self.source.store().is_some();
        if alone && !self.holds_large()? {
            self.source.apply(&self.clear_rows()?)?;
            // A long value that was written between the two lost its row.
            return match self.holds_large()? {
                true => self.collect_garbage().map(drop),
                false => Ok(()),
            };
        }
        match self.in_own_transaction(Self::clear_checked) {
            // Steady writers made it conflict: delete the rows without a check, and then the chunks
            // that belong to no row.
            Err(error) if alone && error.kind() == ErrorKind::Conflict => {
                self.source.apply(&self.clear_rows()?)?;
                self.collect_garbage().map(drop)
            }
            done => done,
        }
    }

    /// In a transaction: deletes all rows, and all chunks except those of values that are being
    /// written.
    ///
    /// # Why this is safe with concurrent writers
    /// A writer commits its note before its first chunk. This call sees the notes in its snapshot
    /// and spares their chunks. The chunks of a later note are not in the snapshot; if some exist
    /// when this commits, they were written into a deleted range since, and that is a conflict. So
    /// is a row that removed its note in the meantime.
    fn clear_checked(&self) -> Result<()> {
        let mut spared = self.noted()?;
        spared.sort_unstable();
        // The notes themselves have the first id.
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

    /// The deletion of whole ranges of a keyspace.
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

    /// Drops the blobs with all their keyspaces, in one step. Other handles of them become invalid.
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

    /// In a transaction: deletes rows and their chunks; returns whether each key had a value.
    fn delete_checked(&self, keys: &Keys) -> Result<Vec<bool>> {
        let mut chunks = ChunkWrites::new();
        let present = self.source.read(|read| self.delete_chunks(read, keys, &mut chunks))?;
        let mut there = crate::keys::empty_keys(self.core.def.key);
        (0..keys.len()).filter(|&i| present[i]).for_each(|i| push_key(&mut there, keys, i));
        let rows = deletes(self.core.def.key, there);
        self.write_both(Kinds::Uniform(Kind::Delete), rows, chunks)?;
        Ok(present)
    }

    pub(super) fn put_checked(&self, keys: &Keys, values: &BytesColumn) -> Result<()> {
        self.in_own_transaction(|blobs| blobs.put_in(keys, values))
    }

    /// In a transaction: writes rows and their chunks, and deletes the chunks of replaced values.
    fn put_in(&self, keys: &Keys, values: &BytesColumn) -> Result<()> {
        let mut chunks = ChunkWrites::new();
        let mut rows = empty_batch(self.core.def.key);
        self.source.read(|read| {
            self.delete_chunks(read, keys, &mut chunks)?;
            // The last value of a key wins; chunks of an earlier one would be garbage.
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

    /// In a transaction: stores the row of a key whose chunks are written under `id` already, and
    /// removes their note.
    pub(super) fn put_id(&self, keys: &Keys, id: u64, bytes: u64) -> Result<()> {
        let mut chunks = ChunkWrites::new();
        self.source.read(|read| self.delete_chunks(read, keys, &mut chunks))?;
        chunks.delete(NOTES, id);
        let mut rows = empty_batch(self.core.def.key);
        push_key(&mut rows.keys, keys, 0);
        push_values(&mut rows, None, Some((id, bytes)));
        rows.rows = 1;
        self.write_both(Kinds::Uniform(Kind::Put), rows, chunks)
    }

    /// Deletes the chunks of the keys' values; returns whether each key has a value.
    fn delete_chunks(
        &self,
        read: &dyn Read,
        keys: &Keys,
        chunks: &mut ChunkWrites,
    ) -> Result<Vec<bool>> {
        let mut old = empty_batch(self.core.def.key);
        let mut present = Vec::new();
        read.get_many(self.core.rows, keys, LARGE, &mut present, &mut old)?;
        // Sorted: the writes must not depend on the order of a hash table.
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

    /// Runs `f` in the transaction of these blobs, or in new ones until one commits.
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
                Err(Error::new(ErrorKind::ReadOnly, "a snapshot cannot be written"))
            }
        }
    }

    /// Writes rows without reading the replaced ones, from a reused batch.
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

/// Clears the flag of every key that occurs earlier in the list.
fn forget_repeats(keys: &Keys, flags: &mut [bool]) {
    if keys.len() < 2 {
        return;
    }
    let mut seen: BTreeSet<base::Key> = BTreeSet::new();
    for (i, flag) in flags.iter_mut().enumerate() {
        *flag &= seen.insert(keys.get(i));
    }
}
