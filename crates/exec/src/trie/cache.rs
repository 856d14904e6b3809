//! Tries of stored relations: those of one query, and those that are cached from query to
//! query.

use crate::snapshot_cache::{Key, SnapshotCache};
use crate::trie::Trie;
use base::SeqNo;
use env::sync::Mutex;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;
use store::Snapshot;

/// Relations whose look-ups are counted; more are forgotten.
const COUNTED_MAX: usize = 256;

/// The cached tries of an engine.
#[derive(Debug)]
pub struct TrieCache {
    /// By relation and columns.
    pub kept: SnapshotCache<Arc<Trie>>,
    pub(crate) asked: Mutex<Asked>,
    /// Held while one is patched: who wants it too waits for it, instead of making it anew.
    pub(crate) mending: Mutex<()>,
}

/// Keys that were looked up where there was no trie.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) keys: Vec<(Key, u64)>,
    /// Relations in which long texts were met, and when.
    pub(crate) refused: Vec<(Key, SeqNo)>,
}

impl TrieCache {
    /// Keeps nothing yet, and at most so many bytes.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            kept: SnapshotCache::new(bytes_max),
            asked: Mutex::default(),
            mending: Mutex::default(),
        }
    }

    /// Whether long texts were met in a relation at this moment.
    pub(crate) fn refuses(&self, key: &Key, moment: SeqNo) -> bool {
        self.asked.lock().refused.iter().any(|(other, at)| other == key && *at == moment)
    }

    /// Forgets what was counted, once a trie was tried; notes where it cannot be made.
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

    /// Counts look-ups; all there were since a trie was tried.
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

/// Cached tries, for a query of one snapshot.
#[derive(Clone, Copy)]
pub struct CachedTries<'e> {
    /// Where.
    pub cache: &'e TrieCache,
    /// What the query sees.
    pub snapshot: &'e dyn Snapshot,
}

/// The tries of a query, by stored relation and columns; all of its threads have the same.
#[derive(Default)]
pub struct QueryTries {
    pub(crate) known: Mutex<Known>,
    /// Held while one is made: who needs it too waits for it.
    pub(crate) making: Mutex<()>,
}

#[derive(Default)]
pub(crate) struct Known {
    pub(crate) made: HashMap<(usize, Vec<usize>), Arc<Trie>>,
    pub(crate) asked: HashMap<(usize, Vec<usize>), u64>,
    /// In which long texts were met.
    pub(crate) refused: HashSet<(usize, Vec<usize>)>,
    pub(crate) bytes: u64,
}

impl QueryTries {
    /// About how many bytes they take.
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
