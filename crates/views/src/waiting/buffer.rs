//! Increments that wait to be written, summed by key: what durability `none` allows. What a sum is,
//! [`Sums`] says.
//!
//! # Why shards, and a lock each
//! An increment touches one key, and a lock that nobody else holds costs about as much as an atomic
//! sum, which could not say min and max and could not be taken out whole. A key that everybody
//! counts is one entry of one shard: it is added to without a look at any table.
//!
//! # Why a shard has two tables
//! Keys are spread over the shards by their hashes, so a shard written by itself would visit all of
//! a memtable for a 64th of its rows. So the tables of all shards are sealed, sorted together and
//! written in key order (`ordered.rs`), while increments go on in fresh tables.
//!
//! # Invariants
//! 1. A key's increment is in the buffer or in the store, never in both and never in neither, for
//!    whoever holds the lock of its shard and, where the key is sealed, that of `progress`: what is
//!    open is written while its shard is held, what is sealed while `progress` is.
//! 2. Who holds more than one shard takes them in the order of their numbers, and `progress` after
//!    them. Whoever holds `progress` for writing a chunk holds no shard. `draining` is taken before
//!    all of them.
//! 3. A shard's generation changes after what was drained or replaced is visible in the store, and
//!    when it is sealed and unsealed, while its lock is still held.
//! 4. Nothing comes in once a shard was drained after [`Buffer::close`]: who holds its lock sees
//!    that it is closed.
//! 5. The store is read with a shard held only where what was read without it may not stand. A
//!    commit that comes past the buffer may be left out of a read beside which it is made, also
//!    where an increment that came after it is not.
//! 6. `rows` is 0 only where every increment that came in is visible in the store.

use crate::waiting::ordered::{Drains, Pace, Progress, Steps};
use base::KeyRef;
use env::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use env::sync::{Mutex, MutexGuard, RwLock, RwLockWriteGuard};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use relation::invalid;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use store::{Error, Result};

/// Shards; a power of two. Many more than threads, so that two seldom meet.
pub(super) const SHARDS: usize = 64;

/// Attempts to read many sums without holding all shards.
const SUMS_ATTEMPTS: usize = 4;

/// Batches from this size on are sorted by shard first.
const SORTED_MIN: usize = 64;

/// How increments become sums.
pub(crate) trait Sums: Send + Sync {
    /// What waits for a key.
    type Sum: Clone + Send;

    /// An increment.
    type Delta<'a>: Copy;

    /// The sum of a first increment, where it may wait.
    fn first(&self, delta: Self::Delta<'_>) -> Result<Self::Sum>;

    /// Adds to a sum, which stays as it was where that fails.
    fn add(&self, key: KeyRef<'_>, sum: &mut Self::Sum, delta: Self::Delta<'_>) -> Result<()>;

    /// Bytes that a sum takes beside the table of keys and sums.
    fn bytes(sum: &Self::Sum) -> u64;

    /// Two sums of one key: what `drain_in_order` asks for, and nobody else.
    fn both(&self, older: &Self::Sum, newer: &Self::Sum) -> Self::Sum;
}

/// A key as the store sees it.
pub(crate) trait RefKey: Hash + Eq {
    /// The same, lent.
    fn key_ref(&self) -> KeyRef<'_>;

    /// Bytes that it takes beside the table of keys and sums, with the copy that is made of it
    /// while it is written.
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

/// Sums by key.
pub(crate) struct Buffer<K, S: Sums> {
    pub(super) how: S,
    pub(super) steps: Steps,
    hasher: FixedState,
    pub(super) shards: Box<[Shard<K, S>]>,
    pub(super) progress: RwLock<Progress<K>>,
    /// What is sealed; who drains holds it.
    pub(super) draining: Mutex<Drains<K, S>>,
    pub(super) pace: Pace,
    /// Shards that [`Buffer::drain_while`] has seen.
    drained: AtomicUsize,
    rows: AtomicU64,
    bytes: AtomicU64,
    closed: AtomicBool,
}

/// On a cache line of its own, and the next one, which processors fetch along.
#[repr(align(128))]
pub(super) struct Shard<K, S: Sums> {
    pub(super) tables: Mutex<Tables<K, S>>,
    pub(super) generation: AtomicU64,
}

/// A shard's keys with their sums.
pub(super) struct Tables<K, S: Sums> {
    /// What is added to.
    pub(super) open: Rows<K, S>,
    /// What is written in the order of all keys; [`Progress`] tells what is in the store already.
    pub(super) sealed: Rows<K, S>,
}

/// Keys with their sums.
pub(super) type Rows<K, S> = HashTable<(K, <S as Sums>::Sum)>;

/// The keys of a call by shard.
struct ByShard {
    /// Of each key.
    hashes: Vec<u64>,
    /// Numbers of the keys, shard by shard.
    order: Vec<u32>,
    /// Where each shard's end in it.
    ends: [u32; SHARDS],
}

impl ByShard {
    /// Numbers of a shard's keys, ascending.
    fn of(&self, shard: usize) -> &[u32] {
        let start = if shard == 0 { 0 } else { self.ends[shard - 1] };
        &self.order[start as usize..self.ends[shard] as usize]
    }
}

/// What an increment changed.
#[derive(Default)]
struct Change {
    rows: u64,
    /// By how much the bytes of keys and sums have changed, modulo 2^64.
    bytes: u64,
}

impl<K: RefKey + Ord, S: Sums> Buffer<K, S> {
    /// Spreads keys over shards by a hash of this `seed`.
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
            pace: Pace::default(),
            drained: AtomicUsize::new(0),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Keys that wait.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Acquire)
    }

    /// Bytes that they and their sums take beside the table of both.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The table takes a hash's low bits and its top seven.
    fn shard_of(hash: u64) -> usize {
        (hash >> 48) as usize % SHARDS
    }

    /// Lets nothing come in any more. What is there can be drained, also what comes in while this
    /// returns.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// While a shard is held, which orders this with a drain after [`Buffer::close`].
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(invalid("the database is closed"));
        }
        Ok(())
    }

    /// While the shard is held.
    fn changed(&self, change: &Change) {
        if change.rows != 0 {
            self.rows.fetch_add(change.rows, Ordering::AcqRel);
        }
        if change.bytes != 0 {
            self.bytes.fetch_add(change.bytes, Ordering::Relaxed);
        }
    }

    /// Adds to one key; whether it is new in the buffer.
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

    /// Adds `delta(i)` to `key(i)` for each of `count`; calls `refused` for each that could not be
    /// added.
    ///
    /// # Errors
    /// The buffer was closed meanwhile.
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
        // Calls begin with different shards, and leave for later what another holds: two that went
        // through the shards in one order would wait for each other all the way.
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

    /// Sorts keys by shard, so that each lock is taken once.
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

    /// Calls `f` with what `read` finds of a key in the store, and with the key's sum that is not
    /// among it, `None` where there is none. `read` may be called twice.
    ///
    /// # Why the store is read before the shard is held
    /// It may take a look at the device, and whoever adds to the shard would wait for that. What
    /// was read stands if the generation is the same with the lock held: who drains or replaces has
    /// the lock from before it writes until after the generation has changed, so what it wrote was
    /// there before the first look, or is not there yet. Else, and where the key is sealed and may
    /// have been written without a change of the generation, the store is read again with nothing
    /// moving: it has just been read, so that is quick.
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

    /// A key's sum where the sealed ones up to `written` are in the store.
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
        let waits = written.is_none_or(|written| written.borrow() < key);
        let sealed = if waits { find(&tables.sealed, hash, key) } else { None };
        match (sealed, find(&tables.open, hash, key)) {
            (Some(older), Some(newer)) => Some(self.how.both(older, newer)),
            (older, newer) => older.or(newer).cloned(),
        }
    }

    /// Replaces a key's sum, which `f` may ask for, by what it does to the store, while nothing of
    /// the key is written: the increments so far are forgotten if that succeeds. Also whether there
    /// were some.
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

    /// All shards, held.
    pub(crate) fn hold(&self) -> Held<'_, K, S> {
        let shards = self.shards.iter().map(|shard| shard.tables.lock()).collect();
        Held { buffer: self, shards, progress: self.progress.write() }
    }

    /// While their shard is held, or `progress` where they are sealed.
    pub(super) fn gone(&self, rows: u64, bytes: u64) {
        self.rows.fetch_sub(rows, Ordering::AcqRel);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Hands each shard's sums, in key order, to `write`, which takes away what it has written; the
    /// rest waits on. For sums that may fail to be written one by one; others are better drained in
    /// order. Before each shard calls `wait` with nothing held.
    ///
    /// # Errors
    /// The first of `write` or `wait`, which are then not called again.
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

    /// As [`Buffer::drain`], as long as that is `wanted`: from the shard on at which the last call
    /// ended, whose ever that was.
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

    /// The sums of `count` keys and what `moment` gives, such that each sum is one that the store
    /// did not hold at that moment, and with it makes the key's number. Holds one shard at a time,
    /// and only if shards keep being written all of them.
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
            // What is drained after this shows in the generation once the moment could have seen
            // it.
            let generations: [u64; SHARDS] =
                std::array::from_fn(|i| self.shards[i].generation.load(Ordering::Acquire));
            // Of what is sealed, the moment sees what is written by now, and that alone.
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

/// Bytes of keys and sums beside their table.
pub(super) fn bytes_of<K: RefKey, S: Sums>(rows: &[(K, S::Sum)]) -> u64 {
    rows.iter().map(|(key, sum)| key.bytes() + S::bytes(sum)).sum()
}

/// A shard's rows on their way to the store. Those that do not get there are put back, also where a
/// function of the caller's panics.
struct Draining<'a, K: RefKey + Ord, S: Sums> {
    buffer: &'a Buffer<K, S>,
    shard: &'a Shard<K, S>,
    sums: &'a mut Rows<K, S>,
    rows: Vec<(K, S::Sum)>,
    /// Rows, and their bytes, that there were.
    counted: (u64, u64),
}

impl<K: RefKey + Ord, S: Sums> Drop for Draining<'_, K, S> {
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

/// All shards, held: nothing comes in, and nothing is written.
pub(crate) struct Held<'a, K, S: Sums> {
    buffer: &'a Buffer<K, S>,
    shards: Vec<MutexGuard<'a, Tables<K, S>>>,
    progress: RwLockWriteGuard<'a, Progress<K>>,
}

impl<K: RefKey + Ord, S: Sums> Held<'_, K, S> {
    /// Forgets everything.
    pub(crate) fn clear(mut self) {
        for tables in &mut self.shards {
            tables.open.clear();
            tables.sealed.clear();
        }
        self.progress.all_forgotten = true;
        // What a drain in pause has copied would keep its memory until the next one.
        if let Some(mut draining) = self.buffer.draining.try_lock() {
            draining.drain = None;
            self.buffer.pace.end();
        }
        // Nobody else changes them: that takes one of the locks held here.
        self.buffer.rows.store(0, Ordering::Release);
        self.buffer.bytes.store(0, Ordering::Relaxed);
        for shard in &self.buffer.shards {
            shard.generation.fetch_add(1, Ordering::AcqRel);
        }
    }
}
