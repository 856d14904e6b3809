//! Tries of stored relations: those of one query, and those cached across queries.

use crate::snapshot_cache::{Key, SnapshotCache};
use crate::trie::Trie;
use base::SeqNo;
use env::sync::Mutex;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;
use store::Snapshot;

/// Relations whose lookups are counted; with more, all counts are reset.
const COUNTED_MAX: usize = 256;

/// The trie cache of an engine.
#[derive(Debug)]
pub struct TrieCache {
    /// By relation and columns.
    pub kept: SnapshotCache<Arc<Trie>>,
    pub(crate) asked: Mutex<Asked>,
    /// Held while a trie is patched, so that other queries wait for it and do not rebuild it.
    pub(crate) mending: Mutex<()>,
}

/// Counts of lookups without a trie.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) keys: Vec<(Key, u64)>,
    /// Relations with long strings, and the snapshot in which these were found.
    pub(crate) refused: Vec<(Key, SeqNo)>,
}

impl TrieCache {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            kept: SnapshotCache::new(bytes_max),
            asked: Mutex::default(),
            mending: Mutex::default(),
        }
    }

    /// Whether long strings were found in a relation at this snapshot.
    pub(crate) fn refuses(&self, key: &Key, moment: SeqNo) -> bool {
        self.asked.lock().refused.iter().any(|(other, at)| other == key && *at == moment)
    }

    /// Resets the count of a key after an attempt to build its trie; records if it cannot be built.
    pub(crate) fn settle(&self, key: &Key, moment: SeqNo, is_refused: bool) {
        let mut asked = self.asked.lock();
        asked.keys.retain(|(other, _)| other != key);
        if is_refused {
            asked.refused.retain(|(other, _)| other != key);
            if asked.refused.len() >= COUNTED_MAX {
                asked.refused.remove(0);
            }
            asked.refused.push((key.clone(), moment));
        }
    }

    /// Counts lookups; returns all since the last attempt to build a trie.
    pub(crate) fn ask(&self, key: &Key, keys: u64) -> u64 {
        let mut asked = self.asked.lock();
        if asked.keys.len() > COUNTED_MAX {
            *asked = Asked::default();
        }
        match asked.keys.iter_mut().find(|(other, _)| other == key) {
            Some((_, all)) => {
                *all += keys;
                *all
            }
            None => {
                asked.keys.push((key.clone(), keys));
                keys
            }
        }
    }
}

/// The trie cache, for a query of one snapshot.
#[derive(Clone, Copy)]
pub struct CachedTries<'e> {
    /// The cache.
    pub cache: &'e TrieCache,
    /// The query's snapshot.
    pub snapshot: &'e dyn Snapshot,
}

/// The tries of a query, by stored relation and columns, shared by its threads.
#[derive(Default)]
pub struct QueryTries {
    pub(crate) known: Mutex<Known>,
    /// Held while a trie is built, so that other threads wait for it.
    pub(crate) making: Mutex<()>,
}

#[derive(Default)]
pub(crate) struct Known {
    pub(crate) made: HashMap<(usize, Vec<usize>), Arc<Trie>>,
    pub(crate) asked: HashMap<(usize, Vec<usize>), u64>,
    /// Those in which long strings were found.
    pub(crate) refused: HashSet<(usize, Vec<usize>)>,
    pub(crate) bytes: u64,
}

impl QueryTries {
    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.known.lock().bytes
    }

    pub(crate) fn get(&self, key: &(usize, Vec<usize>)) -> Option<Arc<Trie>> {
        self.known.lock().made.get(key).cloned()
    }

    pub(crate) fn put(&self, key: (usize, Vec<usize>), trie: &Arc<Trie>) {
        let mut known = self.known.lock();
        if known.made.insert(key, Arc::clone(trie)).is_none() {
            known.bytes += trie.bytes();
        }
    }
}
