//! A cache of values that are derived from stored relations, such as tries and graph projections. A
//! value stays valid while its relation does not change, or is patched.
//!
//! # Why validity is a sequence number
//! The store numbers its commits and tells which was the last to change a relation
//! ([`store::Snapshot::changed_at`]). If a snapshot gives the same number, the cached value is
//! valid without reading a row. Commits to other relations invalidate nothing.
//!
//! # Invariants
//! 1. No cells of a query's interner are cached: it lives as long as its query.
//! 2. Cached values take at most `bytes_max` bytes; the least recently used one is removed first.

use base::{KeyspaceId, SeqNo};
use env::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use store::Snapshot;

/// The source of a cached value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The relation, to which the column numbers refer.
    pub keyspace: KeyspaceId,
    /// The keyspace that was read: the relation, an index or a reverse.
    pub path: KeyspaceId,
    /// The relation's columns, in order.
    pub columns: Vec<usize>,
}

/// Cached values with their keys and snapshots.
#[derive(Debug)]
pub struct SnapshotCache<V> {
    things: Mutex<Vec<CacheEntry<V>>>,
    bytes_max: u64,
    /// Bytes that the values share, besides their own.
    shared_bytes: AtomicU64,
}

/// A cache entry. Entries are in the order of their last use.
#[derive(Debug)]
struct CacheEntry<V> {
    key: Key,
    moment: SeqNo,
    value: V,
    bytes: u64,
}

impl<V: Clone> SnapshotCache<V> {
    /// An empty cache of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { things: Mutex::default(), bytes_max, shared_bytes: AtomicU64::new(0) }
    }

    /// Most bytes of all values, with those that they share.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Sets the bytes that the values share. They leave as much less for values that are cached
    /// from now on.
    pub(crate) fn set_shared_bytes(&self, bytes: u64) {
        self.shared_bytes.store(bytes, Relaxed);
    }

    /// The value for a key at exactly this snapshot.
    pub(crate) fn get(&self, key: &Key, moment: SeqNo) -> Option<V> {
        let mut things = self.things.lock();
        let place = things.iter().position(|one| one.key == *key && one.moment == moment)?;
        let found = things.remove(place);
        let value = found.value.clone();
        things.push(found);
        Some(value)
    }

    /// The newest value for a key up to this snapshot, with its own snapshot.
    pub(crate) fn up_to(&self, key: &Key, moment: SeqNo) -> Option<(SeqNo, V)> {
        let things = self.things.lock();
        let older = things.iter().filter(|one| one.key == *key && one.moment <= moment);
        older.max_by_key(|one| one.moment).map(|one| (one.moment, one.value.clone()))
    }

    /// Removes the entries that `is_wanted` refuses.
    pub(crate) fn retain(&self, is_wanted: impl Fn(&Key, &V) -> bool) {
        self.things.lock().retain(|one| is_wanted(&one.key, &one.value));
    }

    /// Removes the entries of dropped relations.
    pub(crate) fn remove_dropped(&self, snapshot: &dyn Snapshot) {
        self.retain(|key, _| snapshot.changed_at(key.path).is_ok());
    }

    /// Removes the values for a key up to this snapshot, and returns the newest with its own
    /// snapshot.
    pub(crate) fn take(&self, key: &Key, moment: SeqNo) -> Option<(SeqNo, V)> {
        let mut things = self.things.lock();
        let is_older = |one: &CacheEntry<V>| one.key == *key && one.moment <= moment;
        let newest = things.extract_if(.., |one| is_older(one)).max_by_key(|one| one.moment)?;
        Some((newest.moment, newest.value))
    }

    /// All values, the most recently used one last.
    #[doc(hidden)]
    pub fn values(&self) -> Vec<V> {
        self.things.lock().iter().map(|one| one.value.clone()).collect()
    }

    /// Caches a value unless it is too large.
    pub(crate) fn put(&self, key: Key, moment: SeqNo, value: V, bytes: u64) {
        let bytes_max = self.bytes_max.saturating_sub(self.shared_bytes.load(Relaxed));
        if bytes > bytes_max {
            return;
        }
        let mut things = self.things.lock();
        // New queries cannot use older values, and running ones have taken theirs already.
        things.retain(|one| one.key != key || one.moment > moment);
        things.push(CacheEntry { key, moment, value, bytes });
        let mut all: u64 = things.iter().map(|one| one.bytes).sum();
        let mut gone = 0;
        while all > bytes_max {
            all -= things[gone].bytes;
            gone += 1;
        }
        things.drain(..gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(keyspace: u32) -> Key {
        Key { keyspace: KeyspaceId(keyspace), path: KeyspaceId(keyspace), columns: vec![0, 1] }
    }

    #[test]
    fn what_is_kept_is_found_at_its_moment_only() {
        let kept = SnapshotCache::new(100);
        kept.put(key(1), SeqNo(7), 'a', 10);
        assert_eq!(kept.get(&key(1), SeqNo(7)), Some('a'));
        assert_eq!(kept.get(&key(1), SeqNo(8)), None);
        assert_eq!(kept.get(&key(2), SeqNo(7)), None);
    }

    #[test]
    fn a_newer_moment_takes_the_place_of_an_older_one_and_never_the_other_way() {
        let kept = SnapshotCache::new(100);
        kept.put(key(1), SeqNo(7), 'a', 10);
        kept.put(key(1), SeqNo(8), 'b', 10);
        assert_eq!(kept.get(&key(1), SeqNo(7)), None);
        kept.put(key(1), SeqNo(7), 'a', 10);
        assert_eq!(kept.get(&key(1), SeqNo(8)), Some('b'));
    }

    /// Found by review: a caller that has seen the newer value and then takes one may get the older
    /// one.
    #[test]
    fn of_two_of_one_key_the_newer_may_go_first() {
        let kept = SnapshotCache::new(100);
        kept.put(key(1), SeqNo(11), 'b', 40);
        kept.put(key(1), SeqNo(10), 'a', 40);
        assert_eq!(kept.up_to(&key(1), SeqNo(12)), Some((SeqNo(11), 'b')));
        kept.put(key(2), SeqNo(12), 'c', 60);
        assert_eq!(kept.take(&key(1), SeqNo(12)), Some((SeqNo(10), 'a')));
    }

    #[test]
    fn shared_bytes_leave_less_room_for_values() {
        let kept = SnapshotCache::new(100);
        kept.put(key(1), SeqNo(7), 'a', 50);
        kept.set_shared_bytes(60);
        kept.put(key(2), SeqNo(7), 'b', 50);
        assert_eq!(kept.values(), ['a']);
        kept.put(key(2), SeqNo(7), 'b', 40);
        assert_eq!(kept.values(), ['b']);
    }

    #[test]
    fn what_is_taken_is_the_newest_up_to_a_moment() {
        let kept = SnapshotCache::new(100);
        kept.put(key(1), SeqNo(8), 'c', 10);
        kept.put(key(1), SeqNo(5), 'b', 10);
        kept.put(key(2), SeqNo(5), 'd', 10);
        assert_eq!(kept.take(&key(1), SeqNo(4)), None);
        assert_eq!(kept.up_to(&key(1), SeqNo(7)), Some((SeqNo(5), 'b')));
        assert_eq!(kept.take(&key(1), SeqNo(7)), Some((SeqNo(5), 'b')));
        assert_eq!(kept.up_to(&key(1), SeqNo(7)), None);
        assert_eq!(kept.take(&key(1), SeqNo(7)), None);
        assert_eq!(kept.take(&key(1), SeqNo(9)), Some((SeqNo(8), 'c')));
        kept.retain(|one, _| *one != key(1));
        assert_eq!(kept.get(&key(2), SeqNo(5)), Some('d'));
        kept.retain(|one, _| *one != key(2));
        assert_eq!(kept.get(&key(2), SeqNo(5)), None);
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let kept = SnapshotCache::new(100);
        kept.put(key(1), SeqNo(1), 'a', 50);
        kept.put(key(2), SeqNo(1), 'b', 50);
        assert_eq!(kept.get(&key(1), SeqNo(1)), Some('a'));
        kept.put(key(3), SeqNo(1), 'c', 50);
        let there = [1, 2, 3].map(|number| kept.get(&key(number), SeqNo(1)).is_some());
        assert_eq!(there, [true, false, true]);
        kept.put(key(4), SeqNo(1), 'd', 101);
        assert_eq!(kept.get(&key(4), SeqNo(1)), None);
    }
}
