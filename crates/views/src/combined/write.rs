//! Changes of combined values: increments, puts and removals.
//!
//! # Two ways of an increment
//! Under durability `none` it is combined with the buffered sum of its key; `Core::write_sums`
//! writes the sums later. Otherwise `add_stored` reads the value, combines it and puts the result,
//! in a transaction of its own or in that of the caller. Its own transactions lock the keys first:
//! concurrent increments of one key would otherwise conflict and be run again.

use super::combiner::check_length;
use super::read::VALUE;
use super::{Combined, Core, LOCKS, empty_rows, values};
use crate::keys::{KeyList, KeyOf, check_values, empty_keys, keys_of, with_key};
use crate::source::Source;
use crate::transaction::retry;
use crate::write_buffer::{Buffered, RefKey, Schedule, WriteBuffer};
use base::{BytesColumn, Column, Key, KeyRef, Keys, Kind};
use env::sync::MutexGuard;
use env::sync::atomic::AtomicBool;
use relation::invalid;
use std::hash::BuildHasher;
use store::{Error, ErrorKind, Isolation, Kinds, Read, Result, TableWrites, WriteBatch};

/// Keys that one transaction reads, combines and writes: the initial number, and the maximum. The
/// number adapts to the length of the values.
const KEYS_A_STEP: (usize, usize) = (64, 4096);

/// Target size of such a transaction: bytes read and written.
const BYTES_A_STEP: usize = 2 << 20;

impl Combined {
    /// Combines the value of a key with `delta`; `delta` becomes the value if the key has none.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: `delta` is longer than [`super::VALUE_BYTES_MAX`]. Errors of the
    /// function, if it is called immediately: then the value is unchanged.
    /// [`ErrorKind::Conflict`], unless under durability `none`: transactions kept changing the key.
    pub fn add<'k>(&self, key: impl Into<KeyOf<'k>>, delta: &[u8]) -> Result<()> {
        check_length(delta.len())?;
        with_key(self.core.def.key, key.into(), |key| {
            let new = match (&self.source, &self.core.buffer, key) {
                (Source::Store(_), WriteBuffer::Words(buffer), KeyRef::Words(key)) => {
                    self.core.check_open()?;
                    buffer.add(&key[0], delta)?
                }
                (Source::Store(_), WriteBuffer::Texts(buffer), KeyRef::Bytes(key)) => {
                    self.core.check_open()?;
                    buffer.add(key, delta)?
                }
                _ => {
                    let mut keys = empty_keys(self.core.def.key);
                    keys.push(key);
                    let mut deltas = BytesColumn::default();
                    deltas.push(Some(delta));
                    return self.add_stored(&keys, &deltas);
                }
            };
            if new || self.core.is_full() { self.core.schedule_flush() } else { Ok(()) }
        })
    }

    /// Combines the value of `keys[i]` with `deltas[i]`, for each `i` in order. All become visible
    /// in one step, except under durability `none`. A key may occur more than once.
    ///
    /// # Errors
    /// As [`Combined::add`]; and [`ErrorKind::InvalidInput`]: columns of different lengths, or a
    /// null. Under `none` an increment that the function refuses immediately is left out, all
    /// others are added, and the first error is returned.
    pub fn add_many(&self, keys: KeyList<'_>, deltas: &BytesColumn) -> Result<()> {
        check_values(keys, deltas)?;
        let longest = deltas.offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        check_length(longest as usize)?;
        let (count, keys) = (keys.len(), keys_of(self.core.def.key, keys)?);
        let mut first = Ok(());
        let refused = |_, error| {
            if first.is_ok() {
                first = Err(error);
            }
        };
        let added = match (&self.source, &self.core.buffer, &keys) {
            (Source::Store(_), WriteBuffer::Words(buffer), Keys::Words(keys)) => {
                self.core.check_open()?;
                buffer.add_many(count, |i| &keys[0][i], |i| deltas.get(i), refused)
            }
            (Source::Store(_), WriteBuffer::Texts(buffer), Keys::Bytes(keys)) => {
                self.core.check_open()?;
                buffer.add_many(count, |i| keys.get(i), |i| deltas.get(i), refused)
            }
            _ => return self.add_stored(&keys, deltas),
        };
        added.and(first).and(self.core.schedule_flush())
    }

    /// Replaces the value of a key.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: `value` is longer than [`super::VALUE_BYTES_MAX`].
    pub fn put<'k>(&self, key: impl Into<KeyOf<'k>>, value: &[u8]) -> Result<()> {
        check_length(value.len())?;
        with_key(self.core.def.key, key.into(), |key| {
            let mut keys = empty_keys(self.core.def.key);
            keys.push(key);
            let mut values = BytesColumn::default();
            values.push(Some(value));
            let batch = self.core.writes(Kind::Put, keys, values);
            self.replace(key, || self.source.apply(&batch)).map(drop)
        })
    }

    /// Removes the value of a key; returns whether there was one.
    pub fn remove<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<bool> {
        with_key(self.core.def.key, key.into(), |key| {
            let (removed, waited) = self.replace(key, || self.remove_stored(key))?;
            Ok(removed || waited)
        })
    }

    /// Writes the buffer to the store. To protect it against a crash or a power cut, flush the
    /// database instead: increments are buffered only under durability `none`, where the store has
    /// no log.
    ///
    /// # Errors
    /// Failed writes, and errors of the function; increments that were not written stay in the
    /// buffer.
    pub fn flush(&self) -> Result<()> {
        self.core.flush_buffer()
    }

    /// Drops the values with their keyspace. Other handles of them become invalid.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] inside a transaction, and at a snapshot.
    pub fn drop_combined(self) -> Result<()> {
        let Some(store) = self.source.store() else {
            return Err(invalid("combined values cannot be dropped inside a transaction"));
        };
        store.drop_keyspaces(&[self.core.rows])?;
        self.core.end();
        Ok(())
    }

    /// Reads, combines and puts, in the view's transaction or in a new one.
    fn add_stored(&self, keys: &Keys, deltas: &BytesColumn) -> Result<()> {
        let groups = Groups::of(keys);
        match &self.source {
            Source::Store(store) => {
                self.core.check_open()?;
                let _held = self.core.hold(&groups.keys);
                retry(store, Isolation::Snapshot, |transaction| {
                    self.in_transaction(transaction).add_in(&groups, deltas)
                })
            }
            Source::Transaction(_) => self.add_in(&groups, deltas),
            Source::Snapshot(_) => {
                Err(Error::new(ErrorKind::ReadOnly, "a snapshot cannot be written"))
            }
        }
    }

    /// As [`Self::add_stored`], inside the view's transaction.
    fn add_in(&self, groups: &Groups, deltas: &BytesColumn) -> Result<()> {
        let batch = self.source.read(|read| {
            let mut rows = empty_rows(self.core.def.key);
            let mut present = Vec::new();
            read.get_many(self.core.rows, &groups.keys, VALUE, &mut present, &mut rows)?;
            let (stored, mut puts) = (values(&rows), BytesColumn::default());
            for (i, &present) in present.iter().enumerate() {
                let key = groups.keys.get(i);
                let mut value = present.then(|| stored.get(i).into());
                for &delta in groups.rows(i) {
                    self.core.combine_fn.add_to(
                        key.as_ref(),
                        &mut value,
                        deltas.get(delta as usize),
                    )?;
                }
                puts.push(value.as_deref());
            }
            Ok(self.core.writes(Kind::Put, groups.keys.clone(), puts))
        })?;
        self.source.apply(&batch)
    }

    /// Calls `f`, which writes the key to the store, under the lock of the key's shard, and removes
    /// its buffered value. Also returns whether there was a buffered value.
    fn replace<R>(&self, key: KeyRef<'_>, f: impl FnOnce() -> Result<R>) -> Result<(R, bool)> {
        match (&self.source, &self.core.buffer) {
            (Source::Store(_), WriteBuffer::Words(_) | WriteBuffer::Texts(_)) => {
                self.core.check_open()?;
                self.core.buffer.replace(key, |_| f())
            }
            _ => Ok((f()?, false)),
        }
    }

    fn remove_stored(&self, key: KeyRef<'_>) -> Result<bool> {
        let mut keys = empty_keys(self.core.def.key);
        keys.push(key);
        let mut filler = BytesColumn::default();
        filler.push(Some(&[]));
        let batch = self.core.writes(Kind::Delete, keys, filler);
        if let Source::Store(store) = &self.source {
            let mut existed = Vec::with_capacity(1);
            store.write(&batch, Some(&mut existed))?;
            return Ok(existed.first() == Some(&true));
        }
        let mut row = empty_rows(self.core.def.key);
        let there = self.source.read(|read| read.get(self.core.rows, key, VALUE, &mut row))?;
        self.source.apply(&batch)?;
        Ok(there)
    }
}

/// The rows of a call, grouped by key.
struct Groups {
    /// The distinct keys, in order.
    keys: Keys,
    /// Row numbers, grouped by key. Those of one key keep the order of the call.
    order: Vec<u32>,
    /// The end of each key's group in `order`.
    ends: Vec<u32>,
}

impl Groups {
    fn of(keys: &Keys) -> Self {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        match keys {
            Keys::Words(columns) => order.sort_by_key(|&i| columns[0][i as usize]),
            Keys::Bytes(column) => {
                order.sort_by(|&a, &b| column.get(a as usize).cmp(column.get(b as usize)));
            }
        }
        let mut each = match keys {
            Keys::Words(_) => Keys::Words(vec![Vec::new()]),
            Keys::Bytes(_) => Keys::Bytes(BytesColumn::default()),
        };
        let (mut ends, mut last): (Vec<u32>, Option<Key>) = (Vec::new(), None);
        for (at, &i) in order.iter().enumerate() {
            let key = keys.get(i as usize);
            if last.as_ref() != Some(&key) {
                each.push(key.as_ref());
                ends.push(at as u32);
                last = Some(key);
            }
            if let Some(end) = ends.last_mut() {
                *end = at as u32 + 1;
            }
        }
        Self { keys: each, order, ends }
    }

    fn rows(&self, i: usize) -> &[u32] {
        let begin = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.order[begin as usize..self.ends[i] as usize]
    }
}

impl Core {
    fn writes(&self, kind: Kind, keys: Keys, values: BytesColumn) -> WriteBatch {
        let mut rows = empty_rows(self.def.key);
        rows.rows = keys.len();
        rows.keys = keys;
        rows.values[0] = Column::Bytes(values);
        let kinds = Kinds::Uniform(kind);
        let table = TableWrites { keyspace: self.rows, kinds, rows, delete_ranges: Vec::new() };
        WriteBatch { tables: vec![table] }
    }

    /// Takes the locks of all keys, in ascending order of the locks, so that there is no deadlock.
    fn hold(&self, keys: &Keys) -> Vec<MutexGuard<'_, ()>> {
        let mut wanted = [false; LOCKS];
        // The hash only has to be stable for the life of the process.
        let hasher = foldhash::fast::FixedState::default();
        for i in 0..keys.len() {
            let hash = match keys.get(i).as_ref() {
                KeyRef::Words(words) => hasher.hash_one(words[0]),
                KeyRef::Bytes(bytes) => hasher.hash_one(bytes),
            };
            wanted[(hash >> 48) as usize % LOCKS] = true;
        }
        let locks = self.adding.iter().zip(wanted);
        locks.filter(|(_, wanted)| *wanted).map(|(lock, _)| lock.lock()).collect()
    }

    fn is_full(&self) -> bool {
        self.buffer.rows() >= self.rows_max || self.buffer.bytes() >= self.bytes_max
    }

    /// Schedules a write of the buffer, and writes a part of it now if it is full.
    fn schedule_flush(&self) -> Result<()> {
        self.schedule.soon();
        if !self.is_full() {
            return Ok(());
        }
        let (mut step, mut refused) = (KEYS_A_STEP.0, Ok(()));
        let (full, wait) = (|| self.is_full(), || self.store.wait_for_room());
        match &self.buffer {
            WriteBuffer::Nothing => {}
            WriteBuffer::Words(buffer) => buffer
                .drain_while(full, wait, |sums| self.write_sums(sums, &mut step, &mut refused))?,
            WriteBuffer::Texts(buffer) => buffer
                .drain_while(full, wait, |sums| self.write_sums(sums, &mut step, &mut refused))?,
        }
        refused
    }

    /// Writes the sums of a shard. Sums that the function refuses stay in `sums`.
    fn write_sums<K>(
        &self,
        sums: &mut Vec<(K, Box<[u8]>)>,
        step: &mut usize,
        refused: &mut Result<()>,
    ) -> Result<()>
    where
        K: RefKey,
    {
        // Refused sums are gathered at the front, and the rest is taken from the back. So at any
        // time `sums` holds exactly the sums that are not written, even after an error or a panic.
        let mut kept = 0;
        while kept < sums.len() {
            let begin = sums.len() - (*step).min(sums.len() - kept);
            let tail = &sums[begin..];
            let combined = retry(&self.store, Isolation::Snapshot, |transaction| {
                let combined =
                    transaction.with(|transaction| self.combine_sums(transaction, tail))?;
                transaction.write(&combined.puts)?;
                Ok(combined)
            })?;
            *step = match combined.bytes {
                bytes if bytes > 2 * BYTES_A_STEP => (*step / 2).max(1),
                bytes if bytes < BYTES_A_STEP / 2 => (*step * 2).min(KEYS_A_STEP.1),
                _ => *step,
            };
            let mut failed = combined.refused.into_iter().peekable();
            for (i, row) in sums.split_off(begin).into_iter().enumerate() {
                if let Some((_, error)) = failed.next_if(|(at, _)| *at == i) {
                    *refused = std::mem::replace(refused, Ok(())).and(Err(error));
                    sums.push(row);
                    let last = sums.len() - 1;
                    sums.swap(kept, last);
                    kept += 1;
                }
            }
        }
        Ok(())
    }

    /// Combines stored values with `sums` into puts.
    fn combine_sums<K: RefKey>(
        &self,
        read: &dyn Read,
        sums: &[(K, Box<[u8]>)],
    ) -> Result<CombinedSums> {
        let mut keys = empty_keys(self.def.key);
        sums.iter().for_each(|(key, _)| keys.push(key.key_ref()));
        let (mut rows, mut present) = (empty_rows(self.def.key), Vec::new());
        read.get_many(self.rows, &keys, VALUE, &mut present, &mut rows)?;
        let (stored, mut made, mut refused) = (values(&rows), Vec::new(), Vec::new());
        let (mut put_keys, mut puts) = (empty_keys(self.def.key), BytesColumn::default());
        for (i, (key, sum)) in sums.iter().enumerate() {
            let mut value: &[u8] = sum;
            if present[i] {
                if let Err(error) =
                    self.combine_fn.combine(key.key_ref(), stored.get(i), sum, &mut made)
                {
                    refused.push((i, error));
                    continue;
                }
                value = &made;
            }
            put_keys.push(key.key_ref());
            puts.push(Some(value));
        }
        let key_bytes = match &put_keys {
            Keys::Words(_) => 0,
            Keys::Bytes(keys) => keys.heap.len(),
        };
        let bytes = key_bytes + stored.heap.len() + puts.heap.len();
        Ok(CombinedSums { puts: self.writes(Kind::Put, put_keys, puts), refused, bytes })
    }
}

/// The sums of one transaction, combined with the stored values.
struct CombinedSums {
    puts: WriteBatch,
    /// Errors of the function, with the index of the sum.
    refused: Vec<(usize, Error)>,
    /// Bytes read and written.
    bytes: usize,
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
        let (mut step, mut refused) = (KEYS_A_STEP.0, Ok(()));
        let wait = || self.store.wait_for_room();
        match &self.buffer {
            WriteBuffer::Nothing => {}
            WriteBuffer::Words(buffer) => {
                buffer.drain(wait, |sums| self.write_sums(sums, &mut step, &mut refused))?;
            }
            WriteBuffer::Texts(buffer) => {
                buffer.drain(wait, |sums| self.write_sums(sums, &mut step, &mut refused))?;
            }
        }
        refused
    }
}
