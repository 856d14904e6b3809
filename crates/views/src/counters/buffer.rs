//! Increments that wait to be written, summed by key: what durability `none` allows.
//!
//! # Why shards, and a lock each
//! An increment touches one key, and a lock that nobody else holds costs about as much as an atomic sum, which could
//! not say min and max and could not be taken out whole. A key that everybody counts is one entry of one shard: it is
//! added to without a look at any table.
//!
//! # Invariants
//! 1. A key's increment is in the buffer or in the store, never in both and never in neither, for whoever holds the
//!    lock of its shard: a shard is written while its lock is held.
//! 2. Who needs more than one shard takes them in the order of their numbers.
//! 3. A shard's generation changes after what was drained or replaced is visible in the store, while its lock is still
//!    held.
//! 4. `rows` is 0 only where every increment that came in is visible in the store.

use base::Merge;
use env::sync::atomic::{AtomicU64, Ordering};
use env::sync::{Mutex, MutexGuard};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};
use store::Result;

/// Shards; a power of two. Many more than threads, so that two seldom meet.
const SHARDS: usize = 64;

/// Attempts to read many sums without holding all shards.
const SUMS_ATTEMPTS: usize = 4;

/// Batches from this size on are sorted by shard first.
const SORTED_MIN: usize = 64;

/// Sums by key.
#[derive(Debug)]
pub(super) struct Buffer<K> {
    merge: Merge,
    hasher: RandomState,
    shards: Box<[Shard<K>]>,
    rows: AtomicU64,
}

/// On a cache line of its own, and the next one, which processors fetch along.
#[derive(Debug)]
#[repr(align(128))]
struct Shard<K> {
    sums: Mutex<Sums<K>>,
    generation: AtomicU64,
}

/// A shard's keys with their sums.
pub(super) type Sums<K> = HashTable<(K, u64)>;

impl<K: Hash + Eq + Ord> Buffer<K> {
    pub(super) fn new(merge: Merge) -> Self {
        let shard = || Shard { sums: Mutex::new(HashTable::new()), generation: AtomicU64::new(0) };
        Self {
            merge,
            hasher: RandomState::default(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            rows: AtomicU64::new(0),
        }
    }

    /// Keys that wait.
    pub(super) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Acquire)
    }

    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The table takes a hash's low bits and its top seven.
    fn shard_of(hash: u64) -> usize {
        (hash >> 48) as usize % SHARDS
    }

    /// Adds to one key; whether it is new in the buffer.
    pub(super) fn add<Q>(&self, key: &Q, word: u64) -> bool
    where
        Q: Hash + Eq + ?Sized + ToOwned<Owned: Into<K>>,
        K: std::borrow::Borrow<Q>,
    {
        let hash = self.hash(key);
        let mut sums = self.shards[Self::shard_of(hash)].sums.lock();
        let new = self.add_to(&mut sums, hash, key, word);
        if new {
            self.rows.fetch_add(1, Ordering::AcqRel);
        }
        new
    }

    fn add_to<Q>(&self, sums: &mut Sums<K>, hash: u64, key: &Q, word: u64) -> bool
    where
        Q: Hash + Eq + ?Sized + ToOwned<Owned: Into<K>>,
        K: std::borrow::Borrow<Q>,
    {
        if let Some((_, sum)) = sums.find_mut(hash, |(k, _)| k.borrow() == key) {
            *sum = self.merge.apply(*sum, word);
            return false;
        }
        let hasher = |(key, _): &(K, u64)| self.hash(key.borrow());
        sums.insert_unique(hash, (key.to_owned().into(), word), hasher);
        true
    }

    /// Adds `words[i]` to `key(i)` for each of `count`.
    pub(super) fn add_many<'a, Q>(&self, count: usize, key: impl Fn(usize) -> &'a Q, words: &[u64])
    where
        Q: Hash + Eq + ?Sized + ToOwned<Owned: Into<K>> + 'a,
        K: std::borrow::Borrow<Q>,
    {
        if count < SORTED_MIN {
            (0..count).for_each(|i| {
                self.add(key(i), words[i]);
            });
            return;
        }
        // By shard, so that each lock is taken once.
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
        let mut at = 0;
        for (shard, &end) in self.shards.iter().zip(&ends) {
            let rows = &order[at as usize..end as usize];
            at = end;
            if rows.is_empty() {
                continue;
            }
            let mut sums = shard.sums.lock();
            let mut new = 0;
            for &i in rows {
                let i = i as usize;
                new += u64::from(self.add_to(&mut sums, hashes[i], key(i), words[i]));
            }
            self.rows.fetch_add(new, Ordering::AcqRel);
        }
    }

    /// Calls `f` with a key's sum, `None` where there is none, while nothing of its shard is written.
    pub(super) fn with_sum<Q, R>(&self, key: &Q, f: impl FnOnce(Option<u64>) -> R) -> R
    where
        Q: Hash + Eq + ?Sized,
        K: std::borrow::Borrow<Q>,
    {
        let hash = self.hash(key);
        let sums = self.shards[Self::shard_of(hash)].sums.lock();
        f(sums.find(hash, |(k, _)| k.borrow() == key).map(|(_, sum)| *sum))
    }

    /// Replaces a key's sum by what `f` does to the store, while nothing of its shard is written: the increments so
    /// far are forgotten if that succeeds. Also whether there were some.
    pub(super) fn replace<Q, R>(&self, key: &Q, f: impl FnOnce() -> Result<R>) -> Result<(R, bool)>
    where
        Q: Hash + Eq + ?Sized,
        K: std::borrow::Borrow<Q>,
    {
        let hash = self.hash(key);
        let mut sums = self.shards[Self::shard_of(hash)].sums.lock();
        let result = f()?;
        let waited = sums.find_entry(hash, |(k, _)| k.borrow() == key).map(|entry| entry.remove());
        if waited.is_ok() {
            self.rows.fetch_sub(1, Ordering::AcqRel);
        }
        self.shards[Self::shard_of(hash)].generation.fetch_add(1, Ordering::AcqRel);
        Ok((result, waited.is_ok()))
    }

    /// All shards, held.
    pub(super) fn hold(&self) -> Held<'_, K> {
        Held { buffer: self, shards: self.shards.iter().map(|shard| shard.sums.lock()).collect() }
    }

    /// Hands each shard's sums, in key order, to `write`, and forgets what it has written.
    pub(super) fn drain(&self, mut write: impl FnMut(&[(K, u64)]) -> Result<()>) -> Result<()> {
        for shard in &self.shards {
            let mut sums = shard.sums.lock();
            if sums.is_empty() {
                continue;
            }
            let mut rows: Vec<(K, u64)> = sums.drain().collect();
            rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            if let Err(error) = write(&rows) {
                let hasher = |(key, _): &(K, u64)| self.hash(key);
                for row in rows {
                    sums.insert_unique(self.hash(&row.0), row, hasher);
                }
                return Err(error);
            }
            self.rows.fetch_sub(rows.len() as u64, Ordering::AcqRel);
            shard.generation.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// The sums of `count` keys and what `moment` gives, such that each sum is one that the store did not hold at that
    /// moment, and with it makes the key's number. Holds one shard at a time, and only if shards keep being written
    /// all of them.
    pub(super) fn sums_at<'a, Q, R>(
        &self,
        count: usize,
        key: impl Fn(usize) -> &'a Q,
        moment: impl Fn() -> R,
    ) -> (Vec<Option<u64>>, R)
    where
        Q: Hash + Eq + ?Sized + 'a,
        K: std::borrow::Borrow<Q>,
    {
        'again: for _ in 0..SUMS_ATTEMPTS {
            // What is drained after this shows in the generation once the moment could have seen it.
            let generations: [u64; SHARDS] =
                std::array::from_fn(|i| self.shards[i].generation.load(Ordering::Acquire));
            let at = moment();
            let mut sums = Vec::with_capacity(count);
            for i in 0..count {
                let hash = self.hash(key(i));
                let number = Self::shard_of(hash);
                let shard = &self.shards[number];
                let held = shard.sums.lock();
                if shard.generation.load(Ordering::Acquire) != generations[number] {
                    continue 'again;
                }
                let found = held.find(hash, |(k, _)| k.borrow() == key(i));
                sums.push(found.map(|(_, sum)| *sum));
            }
            return (sums, at);
        }
        let held = self.hold();
        ((0..count).map(|i| held.sum(key(i))).collect(), moment())
    }
}

/// All shards, held: nothing comes in, and nothing is written.
pub(super) struct Held<'a, K> {
    buffer: &'a Buffer<K>,
    shards: Vec<MutexGuard<'a, Sums<K>>>,
}

impl<K: Hash + Eq + Ord> Held<'_, K> {
    /// The sum of a key.
    pub(super) fn sum<Q>(&self, key: &Q) -> Option<u64>
    where
        Q: Hash + Eq + ?Sized,
        K: std::borrow::Borrow<Q>,
    {
        let hash = self.buffer.hash(key);
        let sums = &self.shards[Buffer::<K>::shard_of(hash)];
        sums.find(hash, |(k, _)| k.borrow() == key).map(|(_, sum)| *sum)
    }

    /// Forgets everything.
    pub(super) fn clear(mut self) {
        let rows: usize = self.shards.iter().map(|sums| sums.len()).sum();
        self.shards.iter_mut().for_each(|sums| sums.clear());
        for shard in &self.buffer.shards {
            shard.generation.fetch_add(1, Ordering::AcqRel);
        }
        self.buffer.rows.fetch_sub(rows as u64, Ordering::AcqRel);
    }
}
