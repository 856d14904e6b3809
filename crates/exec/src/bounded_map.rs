//! Insertion into a map that is emptied when it is full, for entries that are cheap to make again:
//! cached statistics here, cached plans and scripts in `session`.
//!
//! # Why not LRU
//! A lookup changes nothing then, and 1,024 entries are rarely exceeded. The removed entries are
//! returned: the caller drops them after it has released its lock.

use hashbrown::HashMap;
use std::hash::Hash;

/// Most entries of a map: plans, scripts, and keyspaces with cached statistics.
const ENTRIES_MAX: usize = 1024;

/// Inserts an entry. Returns the removed entries: all entries of a full map or the old value of
/// `key`, so that the caller can drop it after releasing its lock.
pub fn keep<K: Eq + Hash, T>(
    all: &mut HashMap<K, T>,
    key: K,
    one: T,
) -> (HashMap<K, T>, Option<T>) {
    let full = all.len() >= ENTRIES_MAX;
    let before = if full { std::mem::take(all) } else { HashMap::new() };
    (before, all.insert(key, one))
}
