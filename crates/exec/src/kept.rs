//! What was made of stored relations and is kept from query to query while they stay as they are.
//!
//! # Why by the moment of the whole store
//! The store numbers its commits. A snapshot of the same number sees the same rows, so what was made at it is right without looking
//! at one row. Any commit, of any relation, ends that: what is asked again and again between changes gains, and under a stream of
//! writes nothing is lost but the moment in which it is put here.
//!
//! # Invariants
//! 1. No cell of an interner is kept: interners live as long as a query.
//! 2. What is kept takes at most `bytes_max` bytes; what was not asked for longest goes first.

use base::{KeyspaceId, SeqNo};
use env::sync::Mutex;

/// What something is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The relation.
    pub keyspace: KeyspaceId,
    /// Its columns, in order.
    pub columns: Vec<usize>,
}

/// Things that are kept.
#[derive(Debug)]
pub(crate) struct Kept<V> {
    things: Mutex<Vec<Thing<V>>>,
    bytes_max: u64,
}

/// One of them; the last of its list was asked for last.
#[derive(Debug)]
struct Thing<V> {
    key: Key,
    moment: SeqNo,
    value: V,
    bytes: u64,
}

impl<V: Clone> Kept<V> {
    /// Keeps nothing yet, and at most so many bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { things: Mutex::default(), bytes_max }
    }

    /// What was made of this at this moment.
    pub(crate) fn get(&self, key: &Key, moment: SeqNo) -> Option<V> {
        let mut things = self.things.lock();
        let place = things.iter().position(|one| one.key == *key && one.moment == moment)?;
        let found = things.remove(place);
        let value = found.value.clone();
        things.push(found);
        Some(value)
    }

    /// Lets go of what is older than a moment.
    pub(crate) fn forget_before(&self, moment: SeqNo) {
        self.things.lock().retain(|one| one.moment >= moment);
    }

    /// Keeps what was made of this at a moment, unless it is too large.
    pub(crate) fn put(&self, key: Key, moment: SeqNo, value: V, bytes: u64) {
        if bytes > self.bytes_max {
            return;
        }
        let mut things = self.things.lock();
        // What is older is of no use to queries that begin now; one that runs since then has what it wants.
        things.retain(|one| one.key != key || one.moment > moment);
        things.push(Thing { key, moment, value, bytes });
        let mut all: u64 = things.iter().map(|one| one.bytes).sum();
        let mut gone = 0;
        while all > self.bytes_max {
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
        Key { keyspace: KeyspaceId(keyspace), columns: vec![0, 1] }
    }

    #[test]
    fn what_is_kept_is_found_at_its_moment_only() {
        let kept = Kept::new(100);
        kept.put(key(1), SeqNo(7), 'a', 10);
        assert_eq!(kept.get(&key(1), SeqNo(7)), Some('a'));
        assert_eq!(kept.get(&key(1), SeqNo(8)), None);
        assert_eq!(kept.get(&key(2), SeqNo(7)), None);
    }

    #[test]
    fn a_newer_moment_takes_the_place_of_an_older_one_and_never_the_other_way() {
        let kept = Kept::new(100);
        kept.put(key(1), SeqNo(7), 'a', 10);
        kept.put(key(1), SeqNo(8), 'b', 10);
        assert_eq!(kept.get(&key(1), SeqNo(7)), None);
        kept.put(key(1), SeqNo(7), 'a', 10);
        assert_eq!(kept.get(&key(1), SeqNo(8)), Some('b'));
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let kept = Kept::new(100);
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
