//! A map that is emptied when it is full: for what is cheap to make again.

use hashbrown::HashMap;
use std::hash::Hash;

/// Entries of a map: plans, scripts, and keyspaces whose statistics are cached.
const ENTRIES_MAX: usize = 1024;

/// Keeps one more, of some thousand at most; what is to be dropped for it.
pub fn keep<K: Eq + Hash, T>(
    all: &mut HashMap<K, T>,
    key: K,
    one: T,
) -> (HashMap<K, T>, Option<T>) {
    let full = all.len() >= ENTRIES_MAX;
    let before = if full { std::mem::take(all) } else { HashMap::new() };
    (before, all.insert(key, one))
}
