//! Hash tables of increments, summed by key, that are not written yet. Durability `none` allows
//! this delay. [`Accumulate`] defines what a sum is.
//!
//! # Why shards, each with a lock
//! An increment touches one key. An uncontended lock costs about as much as an atomic addition,
//! which could not compute minimum and maximum, nor be drained as a whole. A key that all threads
//! increment is one entry of one shard, and other shards are not locked for it.
//!
//! # Why a shard has two tables
//! Hashes distribute keys over the shards. So writing a single shard would visit all of a memtable
//! for a 64th of its rows. Instead the tables of all shards are sealed, sorted together and written
//! in key order (`drain.rs`), while increments go into fresh tables.
//!
//! # Invariants
//! 1. An increment is either in the buffer or in the store, never in both and never in neither, as
//!    seen under the lock of its shard and, if its key is sealed, the lock of `progress`. Open
//!    tables are written under the lock of their shard, sealed ones under that of `progress`.
//! 2. Locks are taken in this order: `draining`, then shards by ascending number, then `progress`.
//!    A thread that holds `progress` to write a chunk holds no shard.
//! 3. The generation of a shard changes after a drained or replaced sum is visible in the store,
//!    and when the shard is sealed or unsealed, always before the shard's lock is released.
//! 4. After [`Buffer::close`], nothing is added to a shard that has been drained: `closed` is
//!    checked under the shard's lock.
//! 5. The store is read under the lock of a shard only if an earlier read without it may be
//!    outdated. A concurrent commit that bypasses the buffer may be missing from a read, even if a
//!    later increment is in it.
//! 6. `rows` is 0 only if every increment is visible in the store.

use crate::write_buffer::drain::{DrainBacklog, Drains, Progress, Steps};
use base::KeyRef;
use env::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use env::sync::{Mutex, MutexGuard, RwLock, RwLockWriteGuard};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use relation::invalid;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use store::{Error, Result};

/// Number of shards; a power of two. Many more than threads, so that threads rarely contend.
pub(super) const SHARDS: usize = 64;

/// Attempts to read many sums before all shards are locked.
const SUMS_ATTEMPTS: usize = 4;

/// Batches of at least this size are grouped by shard first.
const SORTED_MIN: usize = 64;

/// How increments combine into sums.
pub(crate) trait Accumulate: Send + Sync {
    /// The sum of a key's increments.
    type Sum: Clone + Send;

    /// A single increment.
    type Delta<'a>: Copy;

    /// The sum of a first increment; an error if it is too large for the buffer.
    fn first(&self, delta: Self::Delta<'_>) -> Result<Self::Sum>;

    /// Adds to a sum; an error leaves the sum unchanged.
    fn add(&self, key: KeyRef<'_>, sum: &mut Self::Sum, delta: Self::Delta<'_>) -> Result<()>;

    /// Bytes of a sum outside the hash table.
    fn bytes(sum: &Self::Sum) -> u64;

    /// Combines two sums of one key. Only `drain_in_order` needs it.
    fn both(&self, older: &Self::Sum, newer: &Self::Sum) -> Self::Sum;
}

/// A key that can be read as a key of the store.
pub(crate) trait RefKey: Hash + Eq {
    /// The key, borrowed.
    fn key_ref(&self) -> KeyRef<'_>;

    /// Bytes of the key outside the hash table, including the copy made while it is written.
    fn bytes(&self) -> u64 {
        match self.key_ref() {
            KeyRef::Words(_) => 0,
            KeyRef::Bytes(bytes) => 2 * bytes.len() as u64,
        }
    }
}

impl RefKey for u64 {
    fn key_ref(&self) -> KeyRef<'_> {
        KeyRef::Words(std::slice::from_ref(self))
    }
}

impl RefKey for [u8] {
    fn key_ref(&self) -> KeyRef<'_> {
        KeyRef::Bytes(self)
    }
}

impl RefKey for Box<[u8]> {
    fn key_ref(&self) -> KeyRef<'_> {
        KeyRef::Bytes(self)
    }
}

/// Sums of increments by key.
pub(crate) struct Buffer<K, S: Accumulate> {
    pub(super) how: S,
    pub(super) steps: Steps,
    hasher: FixedState,
    pub(super) shards: Box<[Shard<K, S>]>,
    pub(super) progress: RwLock<Progress<K>>,
    /// The running drain of sealed tables. Each step of a drain takes this lock.
    pub(super) draining: Mutex<Drains<K, S>>,
    pub(super) backlog: DrainBacklog,
    /// Number of shards that [`Buffer::drain_while`] has visited, in all calls: selects the next.
    drained: AtomicUsize,
    rows: AtomicU64,
    bytes: AtomicU64,
    closed: AtomicBool,
}

/// Aligned to two cache lines, because processors prefetch the adjacent one.
#[repr(align(128))]
pub(super) struct Shard<K, S: Accumulate> {
    pub(super) tables: Mutex<Tables<K, S>>,
    pub(super) generation: AtomicU64,
}

/// The keys of a shard with their sums.
pub(super) struct Tables<K, S: Accumulate> {
    /// Receives increments.
    pub(super) open: Rows<K, S>,
    /// Being written in key order; [`Progress`] tells how far.
    pub(super) sealed: Rows<K, S>,
}

/// A hash table of keys and sums.
pub(super) type Rows<K, S> = HashTable<(K, <S as Accumulate>::Sum)>;

/// The keys of a call, grouped by shard.
struct ByShard {
    /// Hash of each key.
    hashes: Vec<u64>,
    /// Indexes of the keys, grouped by shard.
    order: Vec<u32>,
    /// End of each shard's group in `order`.
    ends: [u32; SHARDS],
}

impl ByShard {
    /// Indexes of a shard's keys, ascending.
    fn of(&self, shard: usize) -> &[u32] {
        let start = if shard == 0 { 0 } else { self.ends[shard - 1] };
        &self.order[start as usize..self.ends[shard] as usize]
    }
}

/// Effect of increments on the counts of the buffer.
#[derive(Default)]
struct Change {
    rows: u64,
    /// Change of the bytes of keys and sums, modulo 2^64.
    bytes: u64,
}

impl<K: RefKey + Ord, S: Accumulate> Buffer<K, S> {
    /// An empty buffer. `seed` is that of the hash that assigns keys to shards.
    pub(crate) fn new(how: S, seed: u64, steps: Steps) -> Self {
        let tables = || Tables { open: HashTable::new(), sealed: HashTable::new() };
        let shard = || Shard { tables: Mutex::new(tables()), generation: AtomicU64::new(0) };
        Self {
            how,
            steps,
            hasher: FixedState::with_seed(seed),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            progress: RwLock::default(),
            draining: Mutex::default(),
            backlog: DrainBacklog::default(),
            drained: AtomicUsize::new(0),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Number of buffered keys.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Acquire)
    }

    /// Bytes of keys and sums outside the hash tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Uses bits of the hash that the hash table does not: it takes the low bits and the top seven.
    fn shard_of(hash: u64) -> usize {
        (hash >> 48) as usize % SHARDS
    }

    /// Refuses further increments. A later drain writes all that are in the buffer, including those
    /// added during this call.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Call it under the lock of a shard, which orders it with a drain after [`Buffer::close`].
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(invalid("the database is closed"));
        }
        Ok(())
    }

    /// Updates the counts of the buffer. Call it under the lock of the shard.
    fn changed(&self, change: &Change) {
        if change.rows != 0 {
            self.rows.fetch_add(change.rows, Ordering::AcqRel);
        }
        if change.bytes != 0 {
            self.bytes.fetch_add(change.bytes, Ordering::Relaxed);
        }
    }

    /// Adds to one key; returns whether it is new in its open table.
    pub(crate) fn add<Q>(&self, key: &Q, delta: S::Delta<'_>) -> Result<bool>
    where
        Q: RefKey + ?Sized + ToOwned<Owned: Into<K>>,
        K: Borrow<Q>,
    {
        let hash = self.hash(key);
        let mut tables = self.shards[Self::shard_of(hash)].tables.lock();
        self.check_open()?;
        let mut change = Change::default();
        self.add_to(&mut tables.open, hash, key, delta, &mut change)?;
        self.changed(&change);
        Ok(change.rows > 0)
    }

    #[inline]
    fn add_to<Q>(
        &self,
        sums: &mut Rows<K, S>,
        hash: u64,
        key: &Q,
        delta: S::Delta<'_>,
        change: &mut Change,
    ) -> Result<()>
    where
        Q: RefKey + ?Sized + ToOwned<Owned: Into<K>>,
        K: Borrow<Q>,
    {
        if let Some((_, sum)) = sums.find_mut(hash, |(k, _)| k.borrow() == key) {
            let before = S::bytes(sum);
            self.how.add(key.key_ref(), sum, delta)?;
            change.bytes = change.bytes.wrapping_add(S::bytes(sum).wrapping_sub(before));
            return Ok(());
        }
        let hasher = |(key, _): &(K, S::Sum)| self.hash(key.borrow());
        let sum = self.how.first(delta)?;
        change.rows += 1;
        change.bytes = change.bytes.wrapping_add(key.bytes() + S::bytes(&sum));
        sums.insert_unique(hash, (key.to_owned().into(), sum), hasher);
        Ok(())
    }

    /// Adds `delta(i)` to `key(i)` for each `i` below `count`. Calls `refused` with each increment
    /// that cannot be added.
    ///
    /// # Errors
    /// The buffer was closed in the meantime.
    pub(crate) fn add_many<'a, 'd, Q>(
        &self,
        count: usize,
        key: impl Fn(usize) -> &'a Q,
        delta: impl Fn(usize) -> S::Delta<'d>,
        mut refused: impl FnMut(usize, Error),
    ) -> Result<()>
    where
        Q: RefKey + ?Sized + ToOwned<Owned: Into<K>> + 'a,
        K: Borrow<Q>,
    {
        if count < SORTED_MIN {
            for i in 0..count {
                if let Err(error) = self.add(key(i), delta(i)) {
                    self.check_open()?;
                    refused(i, error);
                }
            }
            return Ok(());
        }
        let keys = self.by_shard(count, &key);
        let mut add_rows = |shard: usize, tables: &mut Tables<K, S>| -> Result<()> {
            self.check_open()?;
            let mut change = Change::default();
            for &i in keys.of(shard) {
                let i = i as usize;
                let hash = keys.hashes[i];
                let added = self.add_to(&mut tables.open, hash, key(i), delta(i), &mut change);
                added.unwrap_or_else(|error| refused(i, error));
            }
            self.changed(&change);
            Ok(())
        };
        // Calls start at different shards, and postpone shards that another thread holds: calls
        // that visit the shards in one order would wait for each other all the way.
        let first = Self::shard_of(keys.hashes[0]);
        let mut held_by_others = Vec::new();
        let shards = (first..SHARDS).chain(0..first);
        for shard in shards.filter(|&shard| !keys.of(shard).is_empty()) {
            match self.shards[shard].tables.try_lock() {
                Some(mut tables) => add_rows(shard, &mut tables)?,
                None => held_by_others.push(shard),
            }
        }
        for shard in held_by_others {
            add_rows(shard, &mut self.shards[shard].tables.lock())?;
        }
        Ok(())
    }

    /// Groups keys by shard, so that each lock is taken once.
    fn by_shard<'a, Q>(&self, count: usize, key: impl Fn(usize) -> &'a Q) -> ByShard
    where
        Q: Hash + ?Sized + 'a,
    {
        let hashes: Vec<u64> = (0..count).map(|i| self.hash(key(i))).collect();
        let mut ends = [0_u32; SHARDS];
        hashes.iter().for_each(|&hash| ends[Self::shard_of(hash)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut order = vec![0_u32; count];
        for (i, &hash) in hashes.iter().enumerate() {
            let end = &mut ends[Self::shard_of(hash)];
            order[*end as usize] = i as u32;
            *end += 1;
        }
        ByShard { hashes, order, ends }
    }

    /// Calls `f` with the result of `read`, which reads a key from the store, and with the key's
    /// buffered sum that this result does not include (`None` if there is none). `read` may be
    /// called twice.
    ///
    /// # Why the store is read before the shard is locked
    /// The read may need the device, and threads that add to the shard would wait for it. The
    /// result is valid if the generation is unchanged under the lock: a drain or a replace holds
    /// the lock from before its write until after it changes the generation, so its write was
    /// visible before the read started, or is not there yet. Otherwise the store is read again
    /// under the lock; and so if the key is sealed, since a sealed key may be written without a
    /// change of the generation. The second read is fast, because its blocks have just been read.
    pub(crate) fn with_sum<Q, T, R>(
        &self,
        key: &Q,
        read: impl Fn() -> T,
        f: impl FnOnce(T, Option<&S::Sum>) -> R,
    ) -> R
    where
        Q: Hash + Ord + ?Sized,
        K: Borrow<Q>,
    {
        let hash = self.hash(key);
        let shard = &self.shards[Self::shard_of(hash)];
        let generation = shard.generation.load(Ordering::Acquire);
        let stored = read();
        let tables = shard.tables.lock();
        if find(&tables.sealed, hash, key).is_none() {
            let stands = shard.generation.load(Ordering::Acquire) == generation;
            let stored = if stands { stored } else { read() };
            return f(stored, find(&tables.open, hash, key));
        }
        let progress = self.progress.read();
        f(read(), self.sum_of(&tables, hash, key, progress.written.as_ref()).as_ref())
    }

    /// The sum of a key that is not in the store, if sealed keys up to `written` are.
    fn sum_of<Q>(
        &self,
        tables: &Tables<K, S>,
        hash: u64,
        key: &Q,
        written: Option<&K>,
    ) -> Option<S::Sum>
    where
        Q: Hash + Ord + ?Sized,
        K: Borrow<Q>,
    {
        let is_buffered = written.is_none_or(|written| written.borrow() < key);
        let sealed = if is_buffered { find(&tables.sealed, hash, key) } else { None };
        match (sealed, find(&tables.open, hash, key)) {
            (Some(older), Some(newer)) => Some(self.how.both(older, newer)),
            (older, newer) => older.or(newer).cloned(),
        }
    }

    /// Calls `f`, which writes a key to the store, under a lock that keeps this key's sum from
    /// being written. If `f` succeeds, the sum is removed. `f` may ask for the sum. Also returns
    /// whether there was one.
    pub(crate) fn replace<Q, R>(
        &self,
        key: &Q,
        f: impl FnOnce(&dyn Fn() -> Option<S::Sum>) -> Result<R>,
    ) -> Result<(R, bool)>
    where
        Q: Hash + Ord + ?Sized,
        K: Borrow<Q>,
    {
        let hash = self.hash(key);
        let shard = &self.shards[Self::shard_of(hash)];
        let mut guard = shard.tables.lock();
        let tables = &mut *guard;
        let mut progress = find(&tables.sealed, hash, key).is_some().then(|| self.progress.write());
        let result = {
            let (tables, progress) = (&*tables, &progress);
            f(&|| {
                let written = progress.as_ref().and_then(|progress| progress.written.as_ref());
                self.sum_of(tables, hash, key, written)
            })?
        };
        let mut waited = false;
        if let Some((key, sum)) = take(&mut tables.open, hash, key) {
            self.gone(1, key.bytes() + S::bytes(&sum));
            waited = true;
        }
        if let Some(progress) = &mut progress
            && let Some((key, sum)) = take(&mut tables.sealed, hash, key)
            && !progress.has_written(&key)
        {
            self.gone(1, key.bytes() + S::bytes(&sum));
            progress.forgotten.push(key);
            waited = true;
        }
        shard.generation.fetch_add(1, Ordering::AcqRel);
        Ok((result, waited))
    }

    /// Locks all shards and `progress`.
    pub(crate) fn hold(&self) -> Held<'_, K, S> {
        let shards = self.shards.iter().map(|shard| shard.tables.lock()).collect();
        Held { buffer: self, shards, progress: self.progress.write() }
    }

    /// Subtracts from the counts. Call it under the lock of the shard, or of `progress` if the rows
    /// are sealed.
    pub(super) fn gone(&self, rows: u64, bytes: u64) {
        self.rows.fetch_sub(rows, Ordering::AcqRel);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Passes the sums of each shard, in key order, to `write`, which removes those that it has
    /// written; the rest stays in the buffer. For sums whose writes may fail one by one; others
    /// should use [`Buffer::drain_in_order`]. Calls `wait` before each shard, with no lock held.
    ///
    /// # Errors
    /// The first error of `write` or `wait`; neither is called again.
    pub(crate) fn drain(
        &self,
        mut wait: impl FnMut() -> Result<()>,
        mut write: impl FnMut(&mut Vec<(K, S::Sum)>) -> Result<()>,
    ) -> Result<()> {
        for shard in &self.shards {
            wait()?;
            self.drain_shard(shard, &mut write)?;
        }
        Ok(())
    }

    /// As [`Buffer::drain`], while `wanted` returns true. Continues at the shard after the last one
    /// that any call has visited.
    ///
    /// # Errors
    /// As [`Buffer::drain`].
    pub(crate) fn drain_while(
        &self,
        wanted: impl Fn() -> bool,
        mut wait: impl FnMut() -> Result<()>,
        mut write: impl FnMut(&mut Vec<(K, S::Sum)>) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..SHARDS {
            if !wanted() {
                break;
            }
            wait()?;
            let next = self.drained.fetch_add(1, Ordering::Relaxed) % SHARDS;
            self.drain_shard(&self.shards[next], &mut write)?;
        }
        Ok(())
    }

    fn drain_shard(
        &self,
        shard: &Shard<K, S>,
        write: &mut impl FnMut(&mut Vec<(K, S::Sum)>) -> Result<()>,
    ) -> Result<()> {
        let sums = &mut shard.tables.lock().open;
        if sums.is_empty() {
            return Ok(());
        }
        let mut rows: Vec<(K, S::Sum)> = sums.drain().collect();
        rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let counted = (rows.len() as u64, bytes_of::<K, S>(&rows));
        let mut draining = Draining { buffer: self, shard, sums, rows, counted };
        write(&mut draining.rows)
    }

    /// The buffered sums of `count` keys and a snapshot from `moment`. Each sum has exactly the
    /// increments that the snapshot does not see. Locks one shard at a time; after several attempts
    /// that drains interrupted, all of them.
    pub(crate) fn sums_at<'a, Q, R>(
        &self,
        count: usize,
        key: impl Fn(usize) -> &'a Q,
        moment: impl Fn() -> R,
    ) -> (Vec<Option<S::Sum>>, R)
    where
        Q: Hash + Ord + ?Sized + 'a,
        K: Borrow<Q> + Clone,
    {
        let keys = self.by_shard(count, &key);
        'again: for _ in 0..SUMS_ATTEMPTS {
            // A later drain changes the generation once the snapshot could see its writes.
            let generations: [u64; SHARDS] =
                std::array::from_fn(|i| self.shards[i].generation.load(Ordering::Acquire));
            // Of the sealed keys, the snapshot sees exactly those written by now.
            let (written, at) = {
                let progress = self.progress.read();
                (progress.written.clone(), moment())
            };
            let mut sums = vec![None; count];
            for (number, shard) in self.shards.iter().enumerate() {
                let rows = keys.of(number);
                if rows.is_empty() {
                    continue;
                }
                let tables = shard.tables.lock();
                if shard.generation.load(Ordering::Acquire) != generations[number] {
                    continue 'again;
                }
                for i in rows.iter().map(|&i| i as usize) {
                    sums[i] = self.sum_of(&tables, keys.hashes[i], key(i), written.as_ref());
                }
            }
            return (sums, at);
        }
        let held = self.hold();
        let sum = |i: usize| {
            let hash = keys.hashes[i];
            let tables = &held.shards[Self::shard_of(hash)];
            self.sum_of(tables, hash, key(i), held.progress.written.as_ref())
        };
        ((0..count).map(sum).collect(), moment())
    }
}

fn find<'a, K, V, Q>(rows: &'a HashTable<(K, V)>, hash: u64, key: &Q) -> Option<&'a V>
where
    Q: Eq + ?Sized,
    K: Borrow<Q>,
{
    rows.find(hash, |(k, _)| k.borrow() == key).map(|(_, sum)| sum)
}

fn take<K, V, Q>(rows: &mut HashTable<(K, V)>, hash: u64, key: &Q) -> Option<(K, V)>
where
    Q: Eq + ?Sized,
    K: Borrow<Q>,
{
    rows.find_entry(hash, |(k, _)| k.borrow() == key).ok().map(|entry| entry.remove().0)
}

/// Bytes of keys and sums outside the hash table.
pub(super) fn bytes_of<K: RefKey, S: Accumulate>(rows: &[(K, S::Sum)]) -> u64 {
    rows.iter().map(|(key, sum)| key.bytes() + S::bytes(sum)).sum()
}

/// The rows of a shard while they are written. Its destructor puts rows that were not written back
/// into the shard, even if a user-defined function panics.
struct Draining<'a, K: RefKey + Ord, S: Accumulate> {
    buffer: &'a Buffer<K, S>,
    shard: &'a Shard<K, S>,
    sums: &'a mut Rows<K, S>,
    rows: Vec<(K, S::Sum)>,
    /// The initial number of rows, and of their bytes.
    counted: (u64, u64),
}

impl<K: RefKey + Ord, S: Accumulate> Drop for Draining<'_, K, S> {
    fn drop(&mut self) {
        let (rows, bytes) = self.counted;
        let left = bytes_of::<K, S>(&self.rows);
        self.buffer.gone(rows - self.rows.len() as u64, bytes - left);
        let hasher = |(key, _): &(K, S::Sum)| self.buffer.hash(key);
        for row in self.rows.drain(..) {
            self.sums.insert_unique(self.buffer.hash(&row.0), row, hasher);
        }
        self.shard.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// All shards and `progress`, locked: nothing is added and nothing is written.
pub(crate) struct Held<'a, K, S: Accumulate> {
    buffer: &'a Buffer<K, S>,
    shards: Vec<MutexGuard<'a, Tables<K, S>>>,
    progress: RwLockWriteGuard<'a, Progress<K>>,
}

impl<K: RefKey + Ord, S: Accumulate> Held<'_, K, S> {
    /// Removes all sums.
    pub(crate) fn clear(mut self) {
        for tables in &mut self.shards {
            tables.open.clear();
            tables.sealed.clear();
        }
        self.progress.all_forgotten = true;
        // Otherwise a paused drain would keep the memory of its copies until its next step.
        if let Some(mut draining) = self.buffer.draining.try_lock() {
            draining.drain = None;
            self.buffer.backlog.end();
        }
        // Only changed under one of the locks held here.
        self.buffer.rows.store(0, Ordering::Release);
        self.buffer.bytes.store(0, Ordering::Relaxed);
        for shard in &self.buffer.shards {
            shard.generation.fetch_add(1, Ordering::AcqRel);
        }
    }
}
