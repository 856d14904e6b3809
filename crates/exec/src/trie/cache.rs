//! Tries of stored relations: those of one query, and those cached across queries.

use crate::snapshot_cache::{Key, SnapshotCache};
use crate::trie::Trie;
use crate::value::cell::SharedValues;
use base::SeqNo;
use env::sync::Mutex;
use hashbrown::{HashMap, HashSet};
use plan::StoredId;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
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
    /// Tries with long strings.
    shared: Mutex<SharedTries>,
    /// Whether any were ever wanted: most engines take no lock.
    is_any_wanted: AtomicBool,
    /// Held while such a trie is built: its values follow those of the one before.
    pub(crate) building: Mutex<()>,
}

/// The tries with long strings that queries wanted, and the values of those that were built.
#[derive(Debug, Default)]
struct SharedTries {
    values: Arc<SharedValues>,
    wanted: Vec<WantedTrie>,
}

/// A trie that queries looked for.
#[derive(Debug)]
struct WantedTrie {
    key: Key,
    /// Keys that were looked up in the store since it was built.
    asked: u64,
    /// Whether the next query builds it.
    is_due: bool,
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
            shared: Mutex::default(),
            is_any_wanted: AtomicBool::new(false),
            building: Mutex::default(),
        }
    }

    /// Counts lookups in a relation of `rows` rows with long strings, without a trie. With enough
    /// of them the next query builds the trie.
    pub(crate) fn want_shared(&self, key: &Key, keys: u64, rows: u64) {
        self.is_any_wanted.store(true, Relaxed);
        let wanted = &mut self.shared.lock().wanted;
        let place = wanted.iter().position(|one| one.key == *key).unwrap_or_else(|| {
            if wanted.len() >= COUNTED_MAX {
                wanted.remove(0);
            }
            wanted.push(WantedTrie { key: key.clone(), asked: 0, is_due: false });
            wanted.len() - 1
        });
        let one = &mut wanted[place];
        one.asked = one.asked.saturating_add(keys);
        one.is_due |= one.asked >= rows / 4;
    }

    /// The shared values, if tries of a relation were wanted that have them.
    pub(crate) fn values_if_wanted(
        &self,
        is_of: impl Fn(&Key) -> bool,
    ) -> Option<Arc<SharedValues>> {
        if !self.is_any_wanted.load(Relaxed) {
            return None;
        }
        let shared = self.shared.lock();
        shared.wanted.iter().any(|one| is_of(&one.key)).then(|| Arc::clone(&shared.values))
    }

    /// The tries of a relation that are due.
    pub(crate) fn due(&self, is_of: impl Fn(&Key) -> bool) -> Vec<Key> {
        if !self.is_any_wanted.load(Relaxed) {
            return Vec::new();
        }
        let shared = self.shared.lock();
        let due = shared.wanted.iter().filter(|one| one.is_due && is_of(&one.key));
        due.map(|one| one.key.clone()).collect()
    }

    /// Begins a build: resets the lookups of a trie. False if it is not due any more.
    pub(crate) fn begin_build(&self, key: &Key) -> bool {
        let mut shared = self.shared.lock();
        let one = shared.wanted.iter_mut().find(|one| one.key == *key && one.is_due);
        one.map(|one| (one.asked, one.is_due) = (0, false)).is_some()
    }

    /// The newest version of the shared values.
    pub(crate) fn shared_values(&self) -> Arc<SharedValues> {
        Arc::clone(&self.shared.lock().values)
    }

    /// Whether a trie of this many bytes may be cached, with shared values of this many bytes.
    pub(crate) fn has_room(&self, trie_bytes: u64, values_bytes: u64) -> bool {
        trie_bytes + values_bytes <= self.kept.bytes_max()
    }

    /// Publishes the values of a trie that was built.
    pub(crate) fn publish(&self, values: SharedValues) {
        self.kept.set_shared_bytes(values.bytes());
        self.shared.lock().values = Arc::new(values);
    }

    /// Begins the shared values anew where they would take too much memory: many may be of rows
    /// that are gone. The tries that have them serve no later query, and are removed.
    pub(crate) fn forget_shared(&self) {
        self.kept.retain(|_, trie| !trie.has_shared());
        self.kept.set_shared_bytes(0);
        self.shared.lock().values = Arc::default();
    }

    /// Whether queries that start now can use a trie.
    pub(crate) fn serves_later(&self, trie: &Trie) -> bool {
        trie.has_shared_of(&self.shared.lock().values)
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
    pub(crate) made: HashMap<(StoredId, Vec<usize>), Arc<Trie>>,
    pub(crate) asked: HashMap<(StoredId, Vec<usize>), u64>,
    /// Those in which long strings were found.
    pub(crate) refused: HashSet<(StoredId, Vec<usize>)>,
    /// Keys looked up where values may be long; `None` where no trie with them can be built.
    pub(crate) asked_long: HashMap<(StoredId, Vec<usize>), Option<u64>>,
    pub(crate) bytes: u64,
}

impl QueryTries {
    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.known.lock().bytes
    }

    pub(crate) fn get(&self, key: &(StoredId, Vec<usize>)) -> Option<Arc<Trie>> {
        self.known.lock().made.get(key).cloned()
    }

    pub(crate) fn put(&self, key: (StoredId, Vec<usize>), trie: &Arc<Trie>) {
        let mut known = self.known.lock();
        if known.made.insert(key, Arc::clone(trie)).is_none() {
            known.bytes += trie.bytes();
        }
    }
}
