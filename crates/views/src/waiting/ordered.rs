//! Writes what waits in the order of all keys, some thousand rows at a time, while increments go
//! on.
//!
//! # Why in order
//! A memtable takes rows in key order several times faster than in any other: most fall into the
//! leaf of the row before. And tables that are written of it are the same, so this is the cheapest
//! way in that takes no sync of a file.
//!
//! # Why in steps
//! A million rows take tenths of a second, and nobody who adds shall wait that long. So who finds
//! much waiting does as many steps as keep pace with what it adds, and leaves the rest to the next:
//! a step copies a shard's sealed rows into parts by their keys, between bounds that were drawn; or
//! sorts the part whose turn it is, while it fits the processor's cache, and writes a chunk of it.
//!
//! # How a reader knows where an increment is
//! All tables are sealed first. Each chunk is written while `progress` is held for writing, which
//! then names its last key. A reader that finds a key among the sealed ones holds `progress` for
//! reading while it reads the store: if the key is past the last one written, its sum is not in the
//! store yet. The lock is handed to readers who wait for it after each chunk: whoever writes would
//! have it again before they are awake. A full memtable that is being written to a table makes
//! commits wait for some tenths of a second: that is waited for with `progress` free.

use super::buffer::{Buffer, RefKey, Rows, SHARDS, Shard, Sums, Tables, bytes_of};
use base::sabotage::{Switch, is_on};
use env::sync::UnlockFair;
use env::sync::atomic::{AtomicU64, Ordering};
use std::collections::VecDeque;
use store::Result;

/// Rows of a commit: readers of sealed keys wait that long, some tenths of a millisecond.
pub(super) const ROWS_A_CHUNK: usize = 4096;

/// Bytes of texts as keys, copies included, after which a chunk ends before it has its rows.
const KEY_BYTES_A_CHUNK: u64 = 1 << 20;

/// How many bytes beside the table of keys and sums count as one more row that waits: what a row
/// takes in it.
pub(crate) const BYTES_A_ROW: u64 = 48;

/// How much is done at once. Models of concurrency and simulated machines make the steps tiny.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// Rows of a commit.
    pub(super) chunk_rows: usize,
    /// Rows that are sorted together.
    pub(super) part_rows: usize,
}

impl Steps {
    /// Of commits of so many rows. With [`ROWS_A_CHUNK`] a part is a quarter of a mebibyte of
    /// numbers.
    pub(crate) fn of(chunk_rows: usize) -> Self {
        Self { chunk_rows, part_rows: 4 * chunk_rows }
    }
}

/// Keys drawn for each part: parts come out equal to some tenth.
const DRAWN_A_PART: usize = 64;

/// Commits after which who writes everything lets others have their turn: some ten milliseconds.
const CHUNKS_A_TURN: usize = 16;

/// Rows that are copied in the time in which one is written.
const COPIES_A_WRITE: usize = 4;

/// What to do while the store has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Say so.
    Ask,
    /// Wait until it has.
    Wait,
}

/// How steps ended.
enum Ended {
    /// Some are left.
    Paused,
    /// All was written.
    Written,
    /// All was forgotten meanwhile.
    Forgotten,
}

/// How far the writing of what is sealed has come.
#[derive(Debug)]
pub(super) struct Progress<K> {
    /// Sealed keys up to this one are in the store.
    pub(super) written: Option<K>,
    /// Sealed keys that were given a value or removed since; not in order.
    pub(super) forgotten: Vec<K>,
    /// All counters were forgotten since.
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

/// What is sealed, on its way to the store. Who holds the lock around it takes the next step.
pub(super) struct Drain<K, S: Sums> {
    /// Shards whose rows are in the parts: the first so many.
    copied: usize,
    /// Between the parts: a part ends before its bound.
    bounds: Vec<K>,
    /// Rows whose turn has not come, in no order within a part.
    parts: VecDeque<Vec<(K, S::Sum)>>,
    /// The part whose turn it is, in order.
    part: Vec<(K, S::Sum)>,
    /// Its first row that is not written.
    next: usize,
}

impl<K: RefKey + Ord + Clone, S: Sums> Drain<K, S> {
    fn is_copied(&self) -> bool {
        self.copied == SHARDS
    }

    fn copy(&mut self, rows: &Rows<K, S>) {
        for row in rows {
            let part = self.bounds.partition_point(|bound| *bound <= row.0);
            self.parts[part].push(row.clone());
        }
    }

    /// The next chunk, where it ends in the part.
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

/// The drain at hand, and how many there were.
pub(super) struct Drains<K, S: Sums> {
    pub(super) drain: Option<Drain<K, S>>,
    /// Drains that did not fail.
    ended: u64,
}

impl<K, S: Sums> Default for Drains<K, S> {
    fn default() -> Self {
        Self { drain: None, ended: 0 }
    }
}

/// How many rows are sealed, and how many of them are not written: for the pace of those who add.
#[derive(Default)]
pub(super) struct Pace {
    sealed: AtomicU64,
    left: AtomicU64,
}

impl Pace {
    /// Nothing is sealed.
    pub(super) fn end(&self) {
        self.sealed.store(0, Ordering::Relaxed);
    }
}

impl<K: RefKey + Ord + Clone, S: Sums> Buffer<K, S> {
    /// Hands all sums, in key order, to `write`, and forgets what it has written. One thread at a
    /// time. Before each chunk calls `wait` with nothing held that others need, which may take as
    /// long as it likes.
    ///
    /// # Errors
    /// The first of `write` or `wait`, which are then not called again; what was not written waits
    /// on.
    pub(crate) fn drain_in_order(
        &self,
        mut wait: impl FnMut() -> Result<()>,
        mut write: impl FnMut(&[(K, S::Sum)]) -> Result<()>,
    ) -> Result<()> {
        let mut room = || wait().map(|()| true);
        let turn_rows = CHUNKS_A_TURN * self.steps.chunk_rows;
        let mut draining = self.draining.lock();
        // What is sealed already, and then what came since.
        let wanted = draining.ended + if draining.drain.is_some() { 2 } else { 1 };
        loop {
            self.advance(&mut draining, turn_rows, &mut room, &mut write)?;
            if draining.ended >= wanted {
                return Ok(());
            }
            // Others who add wait for their turn where the buffer is full.
            draining.unlock_fair();
            draining = self.draining.lock();
        }
    }

    /// What waits, in rows: long keys count as several.
    fn rows_worth(&self) -> u64 {
        self.rows() + self.bytes() / BYTES_A_ROW
    }

    /// Whether who adds should call [`Self::keep_pace`], where the worth of `rows_max` rows may
    /// wait.
    pub(crate) fn is_behind(&self, rows_max: u64) -> bool {
        let sealed = self.pace.sealed.load(Ordering::Relaxed);
        if sealed == 0 {
            // As late as lets the copying end before it is too much: more keys come again
            // meanwhile.
            return self.rows_worth() >= rows_max / 8 * 7;
        }
        // What is sealed shall be written when half as many have come. Those may have longer keys.
        let left = self.pace.left.load(Ordering::Relaxed);
        sealed + left < 2 * self.rows() || self.rows_worth() >= rows_max
    }

    /// Writes as [`Self::drain_in_order`] does, but only about `rows`, or until less than the worth
    /// of `rows_max` rows waits. `room` says whether there is room in the store, and waits for it
    /// where it is told to.
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
            // Who has it keeps pace.
            None => return Ok(()),
        };
        while self.is_behind(rows_max) {
            let patience = if is_full() { Patience::Wait } else { Patience::Ask };
            // A step at least, so that a full buffer is one no more after so many rounds.
            self.advance(&mut draining, rows.max(1), &mut || room(patience), &mut write)?;
            if !is_full() || self.rows() == 0 {
                break;
            }
        }
        draining.unlock_fair();
        Ok(())
    }

    /// Takes steps until about so many rows are written, there is no room, or nothing is left;
    /// begins with sealing where nothing is sealed.
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
            // What came after all was forgotten may be among what is sealed.
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

    /// Whether the chunk was to be written: all was not forgotten since it was sealed.
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
            let waits = |row: &&(K, S::Sum)| progress.forgotten.binary_search(&row.0).is_err();
            let left: Vec<_> = chunk.iter().filter(waits).cloned().collect();
            write(if is_on(Switch::KeepIncrements) { chunk } else { &left })?;
            (left.len(), bytes_of::<K, S>(&left))
        };
        progress.written = chunk.last().map(|row| row.0.clone());
        self.gone(rows as u64, bytes);
        self.pace.left.fetch_sub(chunk.len() as u64, Ordering::Relaxed);
        progress.unlock_fair();
        Ok(true)
    }

    /// Seals all tables, before any is copied: readers of many keys begin anew when a shard is
    /// sealed meanwhile.
    fn seal(&self) -> Drain<K, S> {
        *self.progress.write() = Progress::default();
        let rows = self.shards.iter().map(seal).sum::<usize>();
        self.pace.left.store(rows as u64, Ordering::Relaxed);
        self.pace.sealed.store(rows as u64, Ordering::Relaxed);
        let parts = rows.div_ceil(self.steps.part_rows).max(1);
        // Keys are spread over the shards by their hashes, so those of one are a draw.
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

    /// Forgets what is sealed; `reopens` what of it is not written.
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
            // The memory is given back with nothing held.
            drop(sealed);
        }
        self.pace.end();
    }

    fn reopen(&self, tables: &mut Tables<K, S>, key: &K, older: &S::Sum) {
        let hash = self.hash(key);
        if let Some((_, newer)) = tables.open.find_mut(hash, |row| row.0 == *key) {
            let both = self.how.both(older, newer);
            // The key is there once from now on.
            let before = key.bytes() + S::bytes(older) + S::bytes(newer);
            self.gone(1, before - S::bytes(&both));
            *newer = both;
            return;
        }
        let hasher = |row: &(K, S::Sum)| self.hash(&row.0);
        tables.open.insert_unique(hash, (key.clone(), older.clone()), hasher);
    }
}

/// Seals a shard's table; how many rows it has.
fn seal<K, S: Sums>(shard: &Shard<K, S>) -> usize {
    let mut guard = shard.tables.lock();
    let tables = &mut *guard;
    debug_assert!(tables.sealed.is_empty(), "one thread seals at a time");
    std::mem::swap(&mut tables.open, &mut tables.sealed);
    // Most streams bring about as many keys again.
    tables.open = hashbrown::HashTable::with_capacity(tables.sealed.len() / 2);
    shard.generation.fetch_add(1, Ordering::AcqRel);
    tables.sealed.len()
}
