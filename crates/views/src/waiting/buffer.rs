//! Increments that wait to be written, summed by key: what durability `none` allows. What a sum is, [`Sums`] says.
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

use base::KeyRef;
use env::sync::atomic::{AtomicU64, Ordering};
use env::sync::{Mutex, MutexGuard};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use store::Result;

/// Shards; a power of two. Many more than threads, so that two seldom meet.
const SHARDS: usize = 64;

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

    /// The sum of a first increment.
    fn first(&self, delta: Self::Delta<'_>) -> Self::Sum;

    /// Adds to a sum, which stays as it was where that fails.
    fn add(&self, key: KeyRef<'_>, sum: &mut Self::Sum, delta: Self::Delta<'_>) -> Result<()>;

    /// Bytes that a sum takes beside the table of keys.
    fn bytes(sum: &Self::Sum) -> u64;
}

/// A key as the store sees it.
pub(crate) trait RefKey: Hash + Eq {
    /// The same, lent.
    fn key_ref(&self) -> KeyRef<'_>;
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

/// Sums by key.
pub(crate) struct Buffer<K, S: Sums> {
    how: S,
    hasher: RandomState,
    shards: Box<[Shard<Rows<K, S>>]>,
    rows: AtomicU64,
    bytes: AtomicU64,
}

/// On a cache line of its own, and the next one, which processors fetch along.
#[repr(align(128))]
struct Shard<T> {
    sums: Mutex<T>,
    generation: AtomicU64,
}

/// A shard's keys with their sums.
type Rows<K, S> = HashTable<(K, <S as Sums>::Sum)>;

/// What an increment changed.
#[derive(Default)]
struct Change {
    rows: u64,
    /// By how much the bytes of sums have changed, modulo 2^64.
    bytes: u64,
}

impl<K: Hash + Eq + Ord, S: Sums> Buffer<K, S> {
    pub(crate) fn new(how: S) -> Self {
        let shard = || Shard { sums: Mutex::new(HashTable::new()), generation: AtomicU64::new(0) };
        Self {
            how,
            hasher: RandomState::default(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Keys that wait.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Acquire)
    }

    /// Bytes that their sums take beside the table of keys.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The table takes a hash's low bits and its top seven.
    fn shard_of(hash: u64) -> usize {
        (hash >> 48) as usize % SHARDS
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
        let mut sums = self.shards[Self::shard_of(hash)].sums.lock();
        let mut change = Change::default();
        self.add_to(&mut sums, hash, key, delta, &mut change)?;
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
        let sum = self.how.first(delta);
        change.rows += 1;
        change.bytes = change.bytes.wrapping_add(S::bytes(&sum));
        sums.insert_unique(hash, (key.to_owned().into(), sum), hasher);
        Ok(())
    }

    /// Adds `delta(i)` to `key(i)` for each of `count`.
    ///
    /// # Errors
    /// The first increment that could not be added; all others are.
    pub(crate) fn add_many<'a, 'd, Q>(
        &self,
        count: usize,
        key: impl Fn(usize) -> &'a Q,
        delta: impl Fn(usize) -> S::Delta<'d>,
    ) -> Result<()>
    where
        Q: RefKey + ?Sized + ToOwned<Owned: Into<K>> + 'a,
        K: Borrow<Q>,
    {
        let mut result = Ok(());
        if count < SORTED_MIN {
            for i in 0..count {
                let added = self.add(key(i), delta(i)).map(drop);
                result = result.and(added);
            }
            return result;
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
            let mut change = Change::default();
            for &i in rows {
                let i = i as usize;
                let added = self.add_to(&mut sums, hashes[i], key(i), delta(i), &mut change);
                result = result.and(added);
            }
            self.changed(&change);
        }
        result
    }

    /// Calls `f` with a key's sum, `None` where there is none, while nothing of its shard is written.
    pub(crate) fn with_sum<Q, R>(&self, key: &Q, f: impl FnOnce(Option<&S::Sum>) -> R) -> R
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q>,
    {
        let hash = self.hash(key);
        let sums = self.shards[Self::shard_of(hash)].sums.lock();
        f(sums.find(hash, |(k, _)| k.borrow() == key).map(|(_, sum)| sum))
    }

    /// Replaces a key's sum by what `f` does to the store, while nothing of its shard is written: the increments so
    /// far are forgotten if that succeeds. Also whether there were some.
    pub(crate) fn replace<Q, R>(&self, key: &Q, f: impl FnOnce() -> Result<R>) -> Result<(R, bool)>
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q>,
    {
        let hash = self.hash(key);
        let mut sums = self.shards[Self::shard_of(hash)].sums.lock();
        let result = f()?;
        let waited = sums.find_entry(hash, |(k, _)| k.borrow() == key).map(|entry| entry.remove());
        if let Ok(((_, sum), _)) = &waited {
            self.gone(1, S::bytes(sum));
        }
        self.shards[Self::shard_of(hash)].generation.fetch_add(1, Ordering::AcqRel);
        Ok((result, waited.is_ok()))
    }

    /// All shards, held.
    pub(crate) fn hold(&self) -> Held<'_, K, S> {
        Held { buffer: self, shards: self.shards.iter().map(|shard| shard.sums.lock()).collect() }
    }

    /// While their shard is held.
    fn gone(&self, rows: u64, bytes: u64) {
        self.rows.fetch_sub(rows, Ordering::AcqRel);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Hands each shard's sums, in key order, to `write`, which takes away what it has written; the rest waits on.
    ///
    /// # Errors
    /// The first of `write`, which is then not called again.
    pub(crate) fn drain(
        &self,
        mut write: impl FnMut(&mut Vec<(K, S::Sum)>) -> Result<()>,
    ) -> Result<()> {
        for shard in &self.shards {
            let mut sums = shard.sums.lock();
            if sums.is_empty() {
                continue;
            }
            let mut rows: Vec<(K, S::Sum)> = sums.drain().collect();
            rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let counted = (rows.len() as u64, sum_bytes::<K, S>(&rows));
            let mut draining = Draining { buffer: self, shard, sums: &mut sums, rows, counted };
            let result = write(&mut draining.rows);
            drop(draining);
            result?;
        }
        Ok(())
    }

    /// The sums of `count` keys and what `moment` gives, such that each sum is one that the store did not hold at that
    /// moment, and with it makes the key's number. Holds one shard at a time, and only if shards keep being written
    /// all of them.
    pub(crate) fn sums_at<'a, Q, R>(
        &self,
        count: usize,
        key: impl Fn(usize) -> &'a Q,
        moment: impl Fn() -> R,
    ) -> (Vec<Option<S::Sum>>, R)
    where
        Q: Hash + Eq + ?Sized + 'a,
        K: Borrow<Q>,
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
                sums.push(found.map(|(_, sum)| sum.clone()));
            }
            return (sums, at);
        }
        let held = self.hold();
        ((0..count).map(|i| held.sum(key(i))).collect(), moment())
    }
}

fn sum_bytes<K, S: Sums>(rows: &[(K, S::Sum)]) -> u64 {
    rows.iter().map(|(_, sum)| S::bytes(sum)).sum()
}

/// A shard's rows on their way to the store. Those that do not get there are put back, also where a function of the
/// caller's panics.
struct Draining<'a, K: Hash + Eq + Ord, S: Sums> {
    buffer: &'a Buffer<K, S>,
    shard: &'a Shard<Rows<K, S>>,
    sums: &'a mut Rows<K, S>,
    rows: Vec<(K, S::Sum)>,
    /// Rows, and bytes of their sums, that there were.
    counted: (u64, u64),
}

impl<K: Hash + Eq + Ord, S: Sums> Drop for Draining<'_, K, S> {
    fn drop(&mut self) {
        let (rows, bytes) = self.counted;
        let left = sum_bytes::<K, S>(&self.rows);
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
    shards: Vec<MutexGuard<'a, Rows<K, S>>>,
}

impl<K: Hash + Eq + Ord, S: Sums> Held<'_, K, S> {
    /// The sum of a key.
    fn sum<Q>(&self, key: &Q) -> Option<S::Sum>
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q>,
    {
        let hash = self.buffer.hash(key);
        let sums = &self.shards[Buffer::<K, S>::shard_of(hash)];
        sums.find(hash, |(k, _)| k.borrow() == key).map(|(_, sum)| sum.clone())
    }

    /// Forgets everything.
    pub(crate) fn clear(mut self) {
        for sums in &mut self.shards {
            let bytes = sums.iter().map(|(_, sum)| S::bytes(sum)).sum();
            self.buffer.gone(sums.len() as u64, bytes);
            sums.clear();
        }
        for shard in &self.buffer.shards {
            shard.generation.fetch_add(1, Ordering::AcqRel);
        }
    }
}
