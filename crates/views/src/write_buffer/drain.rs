//! Writes the buffer in key order, a few thousand rows at a time, while increments continue.
//!
//! # Why in key order
//! A memtable inserts sorted rows several times faster than unsorted ones, since most fall into the
//! same leaf as the row before. The tables flushed from it are the same. So this is the cheapest
//! way into the store without a sync of a file.
//!
//! # Why in steps
//! A million rows take tenths of a second, and no increment should wait for that. So a thread that
//! adds to a full buffer takes as many steps as needed to keep pace with its increments, and leaves
//! the rest to the next thread. A step copies the sealed rows of one shard into parts, split at
//! sampled keys; or it sorts the next part, which fits the processor's cache, and writes a chunk of
//! it.
//!
//! # How a reader locates an increment
//! First all tables are sealed. Each chunk is written under the write lock of `progress`, which
//! then records the last key written. A reader of a sealed key holds the read lock of `progress`
//! while it reads the store: if the key is above the last one written, its sum is not in the store
//! yet. The lock is released fairly after each chunk; otherwise the writer would take it again
//! before the waiting readers wake up. Commits may wait tenths of a second for a memtable flush;
//! this wait happens without the lock of `progress`.

use super::buffer::{Accumulate, Buffer, RefKey, Rows, SHARDS, Shard, Tables, bytes_of};
use base::fault_switch::{Switch, is_on};
use env::sync::UnlockFair;
use env::sync::atomic::{AtomicU64, Ordering};
use std::collections::VecDeque;
use store::Result;

/// Rows of a commit. Readers of sealed keys wait for one commit, some tenths of a millisecond.
pub(super) const ROWS_A_CHUNK: usize = 4096;

/// Bytes of string keys, copies included, that end a chunk before it has all its rows.
const KEY_BYTES_A_CHUNK: u64 = 1 << 20;

/// Bytes outside the hash tables that count as one more buffered row: the size of a row in a table.
pub(crate) const BYTES_A_ROW: u64 = 48;

/// Sizes of the steps. Concurrency models and the simulator use tiny ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// Rows of one commit.
    pub(super) chunk_rows: usize,
    /// Rows of one part, which are sorted together.
    pub(super) part_rows: usize,
}

impl Steps {
    /// Sizes for commits of `chunk_rows` rows. With [`ROWS_A_CHUNK`] a part of integer keys has a
    /// quarter of a mebibyte.
    pub(crate) fn of(chunk_rows: usize) -> Self {
        Self { chunk_rows, part_rows: 4 * chunk_rows }
    }
}

/// Keys sampled for each part, for parts of equal size within some ten percent.
const DRAWN_A_PART: usize = 64;

/// Commits after which a full drain lets other threads take over: about ten milliseconds.
const CHUNKS_A_TURN: usize = 16;

/// Rows that can be copied in the time of one written row.
const COPIES_A_WRITE: usize = 4;

/// What to do while the store has no room for a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Return that there is no room.
    Ask,
    /// Wait for room.
    Wait,
}

/// Outcome of a series of steps.
enum Ended {
    /// There is more to do.
    Paused,
    /// All sealed rows are written.
    Written,
    /// All rows were removed in the meantime.
    Forgotten,
}

/// Progress of the drain of the sealed tables.
#[derive(Debug)]
pub(super) struct Progress<K> {
    /// Largest sealed key written; all sealed keys up to it are in the store.
    pub(super) written: Option<K>,
    /// Sealed keys that were replaced or removed since; unordered.
    pub(super) forgotten: Vec<K>,
    /// All counters were removed since.
    pub(super) all_forgotten: bool,
}

impl<K> Default for Progress<K> {
    fn default() -> Self {
        Self { written: None, forgotten: Vec::new(), all_forgotten: false }
    }
}

impl<K: Ord> Progress<K> {
    /// Whether a sealed key is in the store.
    pub(super) fn has_written(&self, key: &K) -> bool {
        self.written.as_ref().is_some_and(|written| key <= written)
    }
}

/// State of a drain of the sealed tables. The holder of the lock around it takes the next step.
pub(super) struct Drain<K, S: Accumulate> {
    /// Number of shards whose rows are copied into the parts, from the first.
    copied: usize,
    /// Bounds between the parts; a bound belongs to the part after it.
    bounds: Vec<K>,
    /// Parts that are not started; each is unordered.
    parts: VecDeque<Vec<(K, S::Sum)>>,
    /// The current part, sorted.
    part: Vec<(K, S::Sum)>,
    /// Index of its first row that is not written.
    next: usize,
}

impl<K: RefKey + Ord + Clone, S: Accumulate> Drain<K, S> {
    fn is_copied(&self) -> bool {
        self.copied == SHARDS
    }

    fn copy(&mut self, rows: &Rows<K, S>) {
        for row in rows {
            let part = self.bounds.partition_point(|bound| *bound <= row.0);
            self.parts[part].push(row.clone());
        }
    }

    /// End of the next chunk within the current part; `None` if all parts are written.
    fn chunk(&mut self, rows: usize) -> Option<usize> {
        while self.next == self.part.len() {
            self.part = self.parts.pop_front()?;
            self.part.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            self.next = 0;
        }
        let (mut end, mut bytes) = (self.next, 0);
        let last = (self.next + rows).min(self.part.len());
        while end < last && bytes < KEY_BYTES_A_CHUNK {
            bytes += self.part[end].0.bytes();
            end += 1;
        }
        Some(end)
    }
}

/// The running drain, and the number of drains that ended.
pub(super) struct Drains<K, S: Accumulate> {
    pub(super) drain: Option<Drain<K, S>>,
    /// Number of drains that ended without an error.
    ended: u64,
}

impl<K, S: Accumulate> Default for Drains<K, S> {
    fn default() -> Self {
        Self { drain: None, ended: 0 }
    }
}

/// Numbers of sealed rows and of those not written, from which writers derive their share of the
/// drain.
#[derive(Default)]
pub(super) struct DrainBacklog {
    sealed: AtomicU64,
    left: AtomicU64,
}

impl DrainBacklog {
    /// Records that nothing is sealed.
    pub(super) fn end(&self) {
        self.sealed.store(0, Ordering::Relaxed);
    }
}

impl<K: RefKey + Ord + Clone, S: Accumulate> Buffer<K, S> {
    /// Passes all sums, in key order, to `write`, and removes what it has written. One thread at a
    /// time. Calls `wait` before each chunk, without locks that others need; it may block.
    ///
    /// # Errors
    /// The first error of `write` or `wait`; neither is called again. Sums that were not written
    /// stay in the buffer.
    pub(crate) fn drain_in_order(
        &self,
        mut wait: impl FnMut() -> Result<()>,
        mut write: impl FnMut(&[(K, S::Sum)]) -> Result<()>,
    ) -> Result<()> {
        let mut room = || wait().map(|()| true);
        let turn_rows = CHUNKS_A_TURN * self.steps.chunk_rows;
        let mut draining = self.draining.lock();
        // First the tables that are sealed already, then those with the increments since.
        let wanted = draining.ended + if draining.drain.is_some() { 2 } else { 1 };
        loop {
            self.advance(&mut draining, turn_rows, &mut room, &mut write)?;
            if draining.ended >= wanted {
                return Ok(());
            }
            // Writers wait for the lock if the buffer is full.
            draining.unlock_fair();
            draining = self.draining.lock();
        }
    }

    /// Size of the buffer in rows; long keys count as several.
    fn rows_worth(&self) -> u64 {
        self.rows() + self.bytes() / BYTES_A_ROW
    }

    /// Whether a writer should call [`Self::keep_pace`], if the buffer may hold `rows_max` rows.
    pub(crate) fn is_behind(&self, rows_max: u64) -> bool {
        let sealed = self.backlog.sealed.load(Ordering::Relaxed);
        if sealed == 0 {
            // Late, but early enough to finish the copies before the buffer is full: more keys
            // arrive in the meantime.
            return self.rows_worth() >= rows_max / 8 * 7;
        }
        // The sealed rows should be written when half as many have arrived. New keys may be longer.
        let left = self.backlog.left.load(Ordering::Relaxed);
        sealed + left < 2 * self.rows() || self.rows_worth() >= rows_max
    }

    /// Writes about `rows` rows as [`Self::drain_in_order`] does, or until the buffer is below
    /// `rows_max`. `room` returns whether the store has room for a commit, or waits for it.
    ///
    /// # Errors
    /// As [`Self::drain_in_order`].
    pub(crate) fn keep_pace(
        &self,
        rows_max: u64,
        rows: usize,
        mut room: impl FnMut(Patience) -> Result<bool>,
        mut write: impl FnMut(&[(K, S::Sum)]) -> Result<()>,
    ) -> Result<()> {
        let is_full = || self.rows_worth() >= rows_max;
        let mut draining = match self.draining.try_lock() {
            Some(draining) => draining,
            None if is_full() => self.draining.lock(),
            // The thread that holds the lock drains the buffer.
            None => return Ok(()),
        };
        while self.is_behind(rows_max) {
            let patience = if is_full() { Patience::Wait } else { Patience::Ask };
            // At least one step, so that a full buffer is drained after a bounded number of rounds.
            self.advance(&mut draining, rows.max(1), &mut || room(patience), &mut write)?;
            if !is_full() || self.rows() == 0 {
                break;
            }
        }
        draining.unlock_fair();
        Ok(())
    }

    /// Takes steps until about `rows_max` rows are written, the store has no room, or nothing is
    /// left. Seals the tables first if none are sealed.
    fn advance(
        &self,
        draining: &mut Drains<K, S>,
        rows_max: usize,
        room: &mut impl FnMut() -> Result<bool>,
        write: &mut impl FnMut(&[(K, S::Sum)]) -> Result<()>,
    ) -> Result<()> {
        let drain = draining.drain.get_or_insert_with(|| self.seal());
        let result = self.steps(drain, rows_max, room, write);
        match result {
            Ok(Ended::Paused) => return Ok(()),
            Ok(Ended::Written) => self.unseal(false),
            // Increments after the removal of all rows may be in the sealed tables.
            Ok(Ended::Forgotten) | Err(_) => self.unseal(true),
        }
        draining.drain = None;
        draining.ended += u64::from(result.is_ok());
        result.map(drop)
    }

    fn steps(
        &self,
        drain: &mut Drain<K, S>,
        rows_max: usize,
        room: &mut impl FnMut() -> Result<bool>,
        write: &mut impl FnMut(&[(K, S::Sum)]) -> Result<()>,
    ) -> Result<Ended> {
        let mut done = 0;
        while !drain.is_copied() {
            if done >= rows_max {
                return Ok(Ended::Paused);
            }
            let tables = self.shards[drain.copied].tables.lock();
            done += tables.sealed.len() / COPIES_A_WRITE;
            drain.copy(&tables.sealed);
            drain.copied += 1;
        }
        while let Some(end) = drain.chunk(self.steps.chunk_rows) {
            if done >= rows_max || !room()? {
                return Ok(Ended::Paused);
            }
            if !self.write_chunk(&drain.part[drain.next..end], write)? {
                return Ok(Ended::Forgotten);
            }
            done += end - drain.next;
            drain.next = end;
        }
        match self.progress.read().all_forgotten {
            true => Ok(Ended::Forgotten),
            false => Ok(Ended::Written),
        }
    }

    /// Writes a chunk; returns false, without writing, if all rows were removed since it was
    /// sealed.
    fn write_chunk(
        &self,
        chunk: &[(K, S::Sum)],
        write: &mut impl FnMut(&[(K, S::Sum)]) -> Result<()>,
    ) -> Result<bool> {
        let mut progress = self.progress.write();
        if progress.all_forgotten {
            return Ok(false);
        }
        let (rows, bytes) = if progress.forgotten.is_empty() {
            write(chunk)?;
            (chunk.len(), bytes_of::<K, S>(chunk))
        } else {
            progress.forgotten.sort_unstable();
            let is_kept = |row: &&(K, S::Sum)| progress.forgotten.binary_search(&row.0).is_err();
            let left: Vec<_> = chunk.iter().filter(is_kept).cloned().collect();
            write(if is_on(Switch::KeepIncrements) { chunk } else { &left })?;
            (left.len(), bytes_of::<K, S>(&left))
        };
        progress.written = chunk.last().map(|row| row.0.clone());
        self.gone(rows as u64, bytes);
        self.backlog.left.fetch_sub(chunk.len() as u64, Ordering::Relaxed);
        progress.unlock_fair();
        Ok(true)
    }

    /// Seals all tables before any is copied: a read of many keys starts again if a shard is sealed
    /// during it.
    fn seal(&self) -> Drain<K, S> {
        *self.progress.write() = Progress::default();
        let rows = self.shards.iter().map(seal).sum::<usize>();
        self.backlog.left.store(rows as u64, Ordering::Relaxed);
        self.backlog.sealed.store(rows as u64, Ordering::Relaxed);
        let parts = rows.div_ceil(self.steps.part_rows).max(1);
        // Hashes assign keys to shards, so the keys of one shard are a random sample.
        let mut drawn: Vec<K> = match parts {
            1 => Vec::new(),
            _ => {
                let tables = self.shards[0].tables.lock();
                tables.sealed.iter().take(DRAWN_A_PART * parts).map(|row| row.0.clone()).collect()
            }
        };
        drawn.sort_unstable();
        let bounds = (1..parts).filter_map(|part| drawn.get(part * drawn.len() / parts).cloned());
        let bounds: Vec<K> = bounds.collect();
        let rows_a_part = rows / parts + rows / parts / 4;
        let parts = (0..=bounds.len()).map(|_| Vec::with_capacity(rows_a_part)).collect();
        Drain { copied: 0, bounds, parts, part: Vec::new(), next: 0 }
    }

    /// Drops the sealed tables. With `reopens`, rows that are not written return to the open ones.
    fn unseal(&self, reopens: bool) {
        for shard in &self.shards {
            let mut guard = shard.tables.lock();
            let tables = &mut *guard;
            let sealed = std::mem::take(&mut tables.sealed);
            if reopens {
                let progress = self.progress.read();
                for (key, older) in sealed.iter().filter(|row| !progress.has_written(&row.0)) {
                    self.reopen(tables, key, older);
                }
            }
            shard.generation.fetch_add(1, Ordering::AcqRel);
            drop(guard);
            // Freed without a lock held.
            drop(sealed);
        }
        self.backlog.end();
    }

    fn reopen(&self, tables: &mut Tables<K, S>, key: &K, older: &S::Sum) {
        let hash = self.hash(key);
        if let Some((_, newer)) = tables.open.find_mut(hash, |row| row.0 == *key) {
            let both = self.how.both(older, newer);
            // From now on the key is in one table only.
            let before = key.bytes() + S::bytes(older) + S::bytes(newer);
            self.gone(1, before - S::bytes(&both));
            *newer = both;
            return;
        }
        let hasher = |row: &(K, S::Sum)| self.hash(&row.0);
        tables.open.insert_unique(hash, (key.clone(), older.clone()), hasher);
    }
}

/// Seals the table of a shard; returns its number of rows.
fn seal<K, S: Accumulate>(shard: &Shard<K, S>) -> usize {
    let mut guard = shard.tables.lock();
    let tables = &mut *guard;
    debug_assert!(tables.sealed.is_empty(), "one thread seals at a time");
    std::mem::swap(&mut tables.open, &mut tables.sealed);
    // Most workloads add about as many keys again.
    tables.open = hashbrown::HashTable::with_capacity(tables.sealed.len() / 2);
    shard.generation.fetch_add(1, Ordering::AcqRel);
    tables.sealed.len()
}
