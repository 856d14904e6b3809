//! Reads: at the latest commit, at a snapshot, and at a snapshot under a transaction's writes.
//!
//! All of them go through [`At`], which reads one tree at one sequence number. The macro
//! `read_through` implements [`Read`] with it for the store, snapshots and transactions.

use crate::convert::{env_error, tree_error};
use crate::inner::{Inner, closed};
use crate::trees::{Entry, Trees};
use base::fault_switch::{Switch, is_on};
use base::{Batch, BlockFilter, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo};
use env::Owner;
use env::sync::atomic::Ordering;
use lsm::memtable::Memtable;
use lsm::read::{Cursor, ReadAt, SuperVersion};
use std::sync::Arc;
use store::{Estimate, Read, Result, Scan, Snapshot};

/// A registered snapshot of an open store.
pub(crate) struct Held {
    pub(crate) inner: Arc<Inner>,
    /// The keyspaces at the snapshot. One that is dropped later can still be read.
    pub(crate) trees: Arc<Trees>,
    pub(crate) seq: SeqNo,
}

impl Held {
    /// Registers a snapshot. In a process that inherited the store by `fork` nothing is registered,
    /// and every read through it fails.
    pub(crate) fn new(inner: &Arc<Inner>) -> Self {
        // Keyspaces are loaded before the number: one created in between is then missing from the
        // snapshot, never partly visible.
        let trees = inner.trees.load_full();
        let seq = match inner.owner.is_here() {
            true => inner.snapshots.acquire(),
            false => SeqNo::ZERO,
        };
        Self { inner: Arc::clone(inner), trees, seq }
    }

    /// Sequence number that reads see.
    pub(crate) fn moment(&self) -> SeqNo {
        if is_on(Switch::ReadLatestInsteadOfSnapshot) || is_on(Switch::ReadUncommitted) {
            return self.inner.snapshots.visible();
        }
        self.seq
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.inner.owner.is_here() {
            self.inner.snapshots.release(self.seq);
        }
    }
}

/// A super version of one tree with the sequence number to read at, perhaps under a transaction's
/// writes.
pub(crate) struct At<'a> {
    pub(crate) inner: &'a Arc<Inner>,
    pub(crate) view: &'a Arc<SuperVersion>,
    pub(crate) entry: &'a Entry,
    pub(crate) seq: SeqNo,
    pub(crate) overlay: Option<&'a Arc<Memtable>>,
}

impl At<'_> {
    fn read_at(&self) -> ReadAt<'_> {
        ReadAt { snapshot: self.seq, overlay: self.overlay.map(|overlay| &**overlay) }
    }

    pub(crate) fn get(&self, key: KeyRef<'_>, p: Projection, out: &mut Batch) -> Result<bool> {
        self.view.get(key, self.read_at(), p, out).map_err(tree_error)
    }

    pub(crate) fn get_many(
        &self,
        keys: &Keys,
        p: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        self.view.get_many(keys, self.read_at(), p, present, out).map_err(tree_error)
    }

    pub(crate) fn scan_into(
        &self,
        range: &KeyRange,
        p: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.view.scan_into(range, self.read_at(), p, limit, out).map_err(tree_error)
    }

    pub(crate) fn scan_some_into(
        &self,
        range: &KeyRange,
        p: Projection,
        limit: usize,
        bytes_max: usize,
        out: &mut Batch,
    ) -> Result<bool> {
        let (before, bytes) = (out.rows, out.heap_bytes());
        let most = lsm::read::Most { rows: limit, bytes: bytes_max };
        self.view.scan_within(range, self.read_at(), p, most, out).map_err(tree_error)?;
        Ok(out.rows - before >= limit || out.heap_bytes() - bytes >= bytes_max)
    }

    pub(crate) fn scan_back_into(
        &self,
        range: &KeyRange,
        p: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.view.scan_back_into(range, self.read_at(), p, limit, out).map_err(tree_error)
    }

    pub(crate) fn prefix_many(
        &self,
        first_words: &[u64],
        p: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        self.view.prefix_many(first_words, self.read_at(), p, offsets, out).map_err(tree_error)
    }

    pub(crate) fn scan(
        &self,
        range: KeyRange,
        p: Projection,
        filter: Option<&Arc<BlockFilter>>,
    ) -> Result<Box<dyn Scan>> {
        self.inner.flush_if_passed_often(self.entry, self.view);
        let overlay = self.overlay.cloned();
        let context = self.entry.tree.context();
        let cursor = self.view.cursor(context, range, self.seq, overlay, p, filter);
        Ok(Box::new(Stream { owner: self.inner.owner, cursor }))
    }

    pub(crate) fn count(&self) -> Result<u64> {
        self.inner.flush_if_passed_often(self.entry, self.view);
        // The row-count cache relies on the sequence number. A follower's snapshot that is taken
        // during a refresh may see fewer rows than its number says.
        let has_own = self.overlay.is_some_and(|overlay| !overlay.is_empty());
        let rows = match has_own || self.inner.options.read_only {
            true => self.view.count(self.read_at()),
            false => self.entry.tree.count(self.view, self.seq),
        };
        rows.map_err(tree_error)
    }

    pub(crate) fn estimate(&self, range: &KeyRange) -> Estimate {
        let lsm::read::Estimate { rows, bytes } = self.view.estimate(range, self.read_at());
        Estimate { rows, bytes }
    }

    pub(crate) fn first_word_rows_max(&self) -> u64 {
        self.view.first_word_rows_max(self.read_at())
    }

    pub(crate) fn sample_into(
        &self,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        p: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        self.view.sample_into(n, random, self.read_at(), p, out).map_err(tree_error)
    }

    pub(crate) fn first_words(&self, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        self.view.first_words(self.read_at(), visit).map_err(tree_error)
    }
}

/// A cursor holds its tables and memtables, so it needs no registered snapshot.
struct Stream {
    owner: Owner,
    cursor: Cursor,
}

impl Scan for Stream {
    fn next_batch(&mut self, rows_max: usize, out: &mut Batch) -> Result<bool> {
        self.owner.check().map_err(env_error)?;
        self.cursor.next_batch(rows_max, out).map_err(tree_error)
    }
}

impl Inner {
    /// Calls `f` with the latest state of a keyspace.
    ///
    /// The sequence number is read before the super version, which therefore holds all commits up
    /// to it. A compaction that ended in between may have dropped versions that only the older
    /// number sees; `oldest_readable` tells, and both are read again.
    pub(crate) fn latest<R>(
        self: &Arc<Self>,
        keyspace: KeyspaceId,
        f: impl FnOnce(&At<'_>) -> Result<R>,
    ) -> Result<R> {
        self.check_process()?;
        if self.closing.load(Ordering::Relaxed) {
            return Err(closed());
        }
        let trees = self.trees.load();
        let entry = trees.get(keyspace)?;
        loop {
            let seq = self.snapshots.visible();
            let view = entry.tree.view();
            if view.oldest_readable <= seq {
                return f(&At { inner: self, view: &view, entry, seq, overlay: None });
            }
            base::mark::hit(base::mark::Mark::LatestReadAgain);
        }
    }
}

/// Implements [`Read`] for a type through its method that makes an [`At`] for a keyspace.
macro_rules! read_through {
    ($type:ty, $with:ident) => {
        impl Read for $type {
            fn get(
                &self,
                keyspace: KeyspaceId,
                key: KeyRef<'_>,
                projection: Projection,
                out: &mut Batch,
            ) -> Result<bool> {
                self.$with(keyspace, |at| at.get(key, projection, out))
            }

            fn get_many(
                &self,
                keyspace: KeyspaceId,
                keys: &Keys,
                projection: Projection,
                present: &mut Vec<bool>,
                out: &mut Batch,
            ) -> Result<()> {
                self.$with(keyspace, |at| at.get_many(keys, projection, present, out))
            }

            fn scan_into(
                &self,
                keyspace: KeyspaceId,
                range: &KeyRange,
                projection: Projection,
                limit: usize,
                out: &mut Batch,
            ) -> Result<()> {
                self.$with(keyspace, |at| at.scan_into(range, projection, limit, out))
            }

            fn scan_some_into(
                &self,
                keyspace: KeyspaceId,
                range: &KeyRange,
                projection: Projection,
                limit: usize,
                bytes_max: usize,
                out: &mut Batch,
            ) -> Result<bool> {
                self.$with(keyspace, |at| {
                    at.scan_some_into(range, projection, limit, bytes_max, out)
                })
            }

            fn scan_back_into(
                &self,
                keyspace: KeyspaceId,
                range: &KeyRange,
                projection: Projection,
                limit: usize,
                out: &mut Batch,
            ) -> Result<()> {
                self.$with(keyspace, |at| at.scan_back_into(range, projection, limit, out))
            }

            fn prefix_many(
                &self,
                keyspace: KeyspaceId,
                first_words: &[u64],
                projection: Projection,
                offsets: &mut Vec<u64>,
                out: &mut Batch,
            ) -> Result<()> {
                self.$with(keyspace, |at| at.prefix_many(first_words, projection, offsets, out))
            }

            fn scan(
                &self,
                keyspace: KeyspaceId,
                range: KeyRange,
                projection: Projection,
            ) -> Result<Box<dyn Scan>> {
                self.$with(keyspace, |at| at.scan(range, projection, None))
            }

            fn scan_filtered(
                &self,
                keyspace: KeyspaceId,
                range: KeyRange,
                projection: Projection,
                filter: &Arc<base::BlockFilter>,
            ) -> Result<Box<dyn Scan>> {
                self.$with(keyspace, |at| at.scan(range, projection, Some(filter)))
            }

            fn count(&self, keyspace: KeyspaceId) -> Result<u64> {
                self.$with(keyspace, |at| at.count())
            }

            fn estimate(&self, keyspace: KeyspaceId, range: &KeyRange) -> Result<store::Estimate> {
                self.$with(keyspace, |at| Ok(at.estimate(range)))
            }

            fn first_word_rows_max(&self, keyspace: KeyspaceId) -> Result<u64> {
                self.$with(keyspace, |at| Ok(at.first_word_rows_max()))
            }

            fn sample_into(
                &self,
                keyspace: KeyspaceId,
                n: usize,
                random: &mut dyn FnMut() -> u64,
                projection: Projection,
                out: &mut Batch,
            ) -> Result<()> {
                self.$with(keyspace, |at| at.sample_into(n, random, projection, out))
            }

            fn first_words(
                &self,
                keyspace: KeyspaceId,
                visit: &mut dyn FnMut(&[u64]),
            ) -> Result<()> {
                self.$with(keyspace, |at| at.first_words(visit))
            }
        }
    };
}
pub(crate) use read_through;

impl Held {
    pub(crate) fn with<R>(
        &self,
        keyspace: KeyspaceId,
        f: impl FnOnce(&At<'_>) -> Result<R>,
    ) -> Result<R> {
        self.inner.check_process()?;
        if self.inner.closing.load(Ordering::Relaxed) {
            return Err(closed());
        }
        let entry = self.trees.get(keyspace)?;
        let seq = self.moment();
        let view = entry.tree.view();
        f(&At { inner: &self.inner, view: &view, entry, seq, overlay: None })
    }
}
read_through!(Held, with);

impl Snapshot for Held {
    fn seq(&self) -> SeqNo {
        self.seq
    }

    fn changed_at(&self, keyspace: KeyspaceId) -> Result<SeqNo> {
        self.inner.check_process()?;
        let newest = self.trees.get(keyspace)?.tree.newest_change();
        let moment = self.moment();
        // Newer changes hide the last change that this snapshot sees; its own number is an upper
        // bound.
        Ok(newest.min(moment))
    }

    fn changed_since(&self, keyspace: KeyspaceId, since: SeqNo) -> Result<Option<Vec<u64>>> {
        self.inner.check_process()?;
        Ok(self.trees.get(keyspace)?.tree.changed_between(since, self.moment()))
    }
}
