//! Writes what waits in the order of all keys, some thousand rows at a time, while increments go on.
//!
//! # Why in order
//! A memtable takes rows in key order several times faster than in any other: most fall into the leaf of the row before. And tables that
//! are written of it are the same, so this is the cheapest way in that takes no sync of a file.
//!
//! # How a reader knows where an increment is
//! All tables are sealed first, then sorted, and no shard is held any more. Each chunk is written while `progress` is held for
//! writing, which then names its last key. A reader that finds a key among the sealed ones holds `progress` for reading while it
//! reads the store: if the key is past the last one written, its sum is not in the store yet. A full memtable that is being written
//! to a table makes commits wait for some tenths of a second: that is waited for with `progress` free.

use super::buffer::{Buffer, Shard, Sums, Tables};
use env::sync::atomic::Ordering;
use std::hash::Hash;
use store::Result;

/// Rows of a commit: readers of sealed keys wait that long, some tenths of a millisecond.
const ROWS_A_CHUNK: usize = 4096;

/// How far the writing of what is sealed has come.
#[derive(Debug)]
pub(super) struct Progress<K> {
    /// Sealed keys up to this one are in the store.
    pub(super) written: Option<K>,
    /// Sealed keys that were given a value or removed since; not in order.
    pub(super) forgotten: Vec<K>,
    /// All counters were forgotten since.
    pub(super) all_forgotten: bool,
}

impl<K> Default for Progress<K> {
    fn default() -> Self {
        Self { written: None, forgotten: Vec::new(), all_forgotten: false }
    }
}

impl<K: Ord> Progress<K> {
    /// Whether a sealed key is in the store.
    pub(super) fn has_written(&self, key: &K) -> bool {
        self.written.as_ref().is_some_and(|written| key <= written)
    }
}

impl<K: Hash + Eq + Ord + Clone, S: Sums> Buffer<K, S> {
    /// Hands all sums, in key order, to `write`, and forgets what it has written. One thread at a time. Before each
    /// chunk calls `wait` with nothing held, which may take as long as it likes.
    ///
    /// # Errors
    /// The first of `write` or `wait`, which are then not called again; what was not written waits on.
    pub(crate) fn drain_in_order(
        &self,
        mut wait: impl FnMut() -> Result<()>,
        mut write: impl FnMut(&[(K, S::Sum)]) -> Result<()>,
    ) -> Result<()> {
        *self.progress.write() = Progress::default();
        let mut rows = Vec::with_capacity(self.rows() as usize);
        // All are sealed before any is copied: readers of many keys begin anew when a shard is sealed meanwhile.
        self.shards.iter().for_each(seal);
        self.shards
            .iter()
            .for_each(|shard| rows.extend(shard.tables.lock().sealed.iter().cloned()));
        rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let result = self.write_sealed(&rows, &mut wait, &mut write);
        drop(rows);
        self.shards.iter().for_each(|shard| self.unseal(shard));
        result
    }

    fn write_sealed(
        &self,
        rows: &[(K, S::Sum)],
        wait: &mut impl FnMut() -> Result<()>,
        write: &mut impl FnMut(&[(K, S::Sum)]) -> Result<()>,
    ) -> Result<()> {
        for chunk in rows.chunks(ROWS_A_CHUNK) {
            wait()?;
            let mut progress = self.progress.write();
            if progress.all_forgotten {
                return Ok(());
            }
            let rows = if progress.forgotten.is_empty() {
                write(chunk)?;
                chunk.len()
            } else {
                progress.forgotten.sort_unstable();
                let waits = |row: &&(K, S::Sum)| progress.forgotten.binary_search(&row.0).is_err();
                let chunk: Vec<_> = chunk.iter().filter(waits).cloned().collect();
                write(&chunk)?;
                chunk.len()
            };
            progress.written = chunk.last().map(|row| row.0.clone());
            self.gone(rows as u64, 0);
        }
        Ok(())
    }

    /// Forgets what is sealed and written; what is not, because writing failed, is open again.
    fn unseal(&self, shard: &Shard<K, S>) {
        let mut guard = shard.tables.lock();
        let tables = &mut *guard;
        let sealed = std::mem::take(&mut tables.sealed);
        let progress = self.progress.read();
        for (key, older) in sealed.iter().filter(|row| !progress.has_written(&row.0)) {
            self.reopen(tables, key, older);
        }
        drop(progress);
        shard.generation.fetch_add(1, Ordering::AcqRel);
        drop(guard);
        // The memory is given back with nothing held.
        drop(sealed);
    }

    fn reopen(&self, tables: &mut Tables<K, S>, key: &K, older: &S::Sum) {
        let hash = self.hash(key);
        if let Some((_, newer)) = tables.open.find_mut(hash, |row| row.0 == *key) {
            *newer = self.how.both(older, newer);
            self.gone(1, 0);
            return;
        }
        let hasher = |row: &(K, S::Sum)| self.hash(&row.0);
        tables.open.insert_unique(hash, (key.clone(), older.clone()), hasher);
    }
}

/// Seals a shard's table.
fn seal<K, S: Sums>(shard: &Shard<K, S>) {
    let mut guard = shard.tables.lock();
    let tables = &mut *guard;
    debug_assert!(tables.sealed.is_empty(), "one thread seals at a time");
    std::mem::swap(&mut tables.open, &mut tables.sealed);
    // Most streams bring about as many keys again.
    tables.open = hashbrown::HashTable::with_capacity(tables.sealed.len() / 2);
    shard.generation.fetch_add(1, Ordering::AcqRel);
}
