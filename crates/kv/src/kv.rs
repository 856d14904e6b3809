//! [`Kv`], a database folder of the native engine.

use crate::bulk::KvBulk;
use crate::convert::env_error;
use crate::inner::{Inner, closed};
use crate::options::KvOptions;
use crate::outside::check_is_folder;
use crate::reader::{At, Held, read_through};
use crate::transaction::KvTransaction;
use crate::trees::Entry;
use crate::{check, follower, open};
use base::{Batch, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo};
use env::Env;
use env::sync::Mutex;
use env::sync::atomic::Ordering;
use lsm::manifest::{AddedKeyspace, ChangedKeyspace, Manifest, VersionEdit};
use std::path::Path;
use std::sync::Arc;
use store::{
    BulkLoad, CheckReport, Durability, Error, ErrorKind, Isolation, KeyspaceChange, KeyspaceInfo,
    KeyspaceStats, NewKeyspace, Progress, Read, Result, Scan, Snapshot, Store, StoreStats,
    Transaction, WriteBatch, WrittenBytes,
};

/// A database folder of the native engine, open.
#[derive(Debug)]
pub struct Kv {
    pub(crate) inner: Arc<Inner>,
    /// Whether it was closed. The lock is held while closing: a second caller of `close` returns
    /// when the first has finished.
    closed: Mutex<bool>,
}

impl Kv {
    /// Opens the database in `folder`, creating it where the options allow.
    ///
    /// # Errors
    /// `Locked` where another process writes it, `Corruption` with file and offset, `InvalidInput`
    /// where the folder holds something else or nothing.
    pub fn open(env: Arc<dyn Env>, folder: &Path, options: KvOptions) -> Result<Self> {
        let folder = &env.resolved(folder).map_err(env_error)?;
        check_is_folder(&*env, folder)?;
        let inner = match options.read_only {
            true => follower::open(env, folder, options)?,
            false => open::open(env, folder, options)?,
        };
        Ok(Self { inner, closed: Mutex::new(false) })
    }

    /// The folder it was opened in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// Removes the files of dropped keyspaces, each when its last reader is gone.
    fn let_go(&self, dropped: Vec<Arc<Entry>>) {
        let inner = &self.inner;
        for entry in &dropped {
            entry.tree.retire(&mut inner.obsolete.lock());
        }
        let any_files = dropped.iter().any(|entry| !entry.tree.is_empty_of_tables());
        drop(dropped);
        if any_files {
            inner.collect_obsolete();
        }
    }
}

impl Drop for Kv {
    fn drop(&mut self) {
        if !self.inner.owner.is_surely_here() {
            // The fields belong to the parent process: no file is closed, no thread joined, no lock
            // taken.
            std::mem::forget(Arc::clone(&self.inner));
            return;
        }
        let _ = self.close();
    }
}

impl Kv {
    fn with_latest<R>(
        &self,
        keyspace: KeyspaceId,
        f: impl FnOnce(&At<'_>) -> Result<R>,
    ) -> Result<R> {
        self.inner.latest(keyspace, f)
    }
}
read_through!(Kv, with_latest);

impl Store for Kv {
    #[inline]
    fn check_process(&self) -> Result<()> {
        self.inner.check_process()
    }

    fn create_keyspaces(&self, new: &[NewKeyspace]) -> Result<Vec<KeyspaceId>> {
        self.replace_keyspaces(new, &[])
    }

    fn replace_keyspaces(
        &self,
        new: &[NewKeyspace],
        ids: &[KeyspaceId],
    ) -> Result<Vec<KeyspaceId>> {
        let inner = &self.inner;
        inner.check_writable()?;
        let _maintenance = inner.maintenance.lock();
        // The database may have been closed while this waited.
        inner.check_writable()?;
        // The writer lock keeps commits from inserting into a tree that is being dropped.
        let _writer = (!ids.is_empty()).then(|| inner.writer.lock());
        let before = inner.trees.load_full();
        let mut trees = (*before).clone();
        let mut dropped = Vec::with_capacity(ids.len());
        for id in ids {
            trees.get(*id)?;
            dropped.extend(trees.remove(*id));
        }
        // Ids begin at 1, so that a zeroed id is never a keyspace.
        let next_id = |manifest: &Manifest| manifest.state().next_keyspace_id().max(1);
        let mut next = inner.manifest.lock().as_ref().map_or(1, next_id);
        let mut edit = VersionEdit { keyspaces_dropped: ids.to_vec(), ..VersionEdit::default() };
        for keyspace in new {
            // Checked against the names from before too: the manifest applies additions before
            // drops.
            if [&*before, &trees].iter().any(|trees| trees.named(&keyspace.name).next().is_some()) {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    format!("there is a keyspace \"{}\" already", keyspace.name),
                ));
            }
            let info = KeyspaceInfo {
                id: KeyspaceId(next),
                name: keyspace.name.clone(),
                shape: keyspace.shape.clone(),
                definition: keyspace.definition.clone(),
            };
            next += 1;
            edit.keyspaces_added.push(added_keyspace(&info));
            trees.insert(Arc::new(Entry::empty(&inner.context, info)?));
        }
        edit.next_keyspace_id = Some(next);
        let has_rows = |entry: &Arc<Entry>| {
            !entry.tree.is_empty_of_tables() || entry.tree.rows_in_memory() > 0
        };
        // A drop that loses rows is synced: after a power cut either the keyspace is there with its
        // rows, or neither is.
        match dropped.iter().any(has_rows) {
            true => inner.log_edit(&edit)?,
            false => inner.log_edit_as_commit(&edit)?,
        }
        inner.trees.store(Arc::new(trees));
        self.let_go(dropped);
        Ok(edit.keyspaces_added.iter().map(|added| added.id).collect())
    }

    fn drop_keyspaces(&self, ids: &[KeyspaceId]) -> Result<()> {
        self.change_keyspaces(&[], ids)
    }

    fn change_keyspaces(&self, changes: &[KeyspaceChange], ids: &[KeyspaceId]) -> Result<()> {
        let inner = &self.inner;
        inner.check_writable()?;
        let _maintenance = inner.maintenance.lock();
        // The database may have been closed while this waited.
        inner.check_writable()?;
        // The writer lock keeps commits from inserting into a tree that is being dropped.
        let _writer = inner.writer.lock();
        let mut trees = (*inner.trees.load_full()).clone();
        let mut dropped = Vec::new();
        for id in ids {
            trees.get(*id)?;
            dropped.extend(trees.remove(*id));
        }
        let mut edit = VersionEdit { keyspaces_dropped: ids.to_vec(), ..VersionEdit::default() };
        for (at, KeyspaceChange { id, name, definition }) in changes.iter().enumerate() {
            if changes[..at].iter().any(|other| other.id == *id) {
                let what = format!("keyspace {} is changed twice", id.0);
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
            let entry = trees.get(*id)?;
            let (name, definition) = (name.clone(), definition.clone());
            let changed =
                ChangedKeyspace { id: *id, name: name.clone(), definition: definition.clone() };
            edit.keyspaces_changed.push(changed);
            let info = KeyspaceInfo { id: *id, name, shape: entry.info.shape.clone(), definition };
            let tree = Arc::clone(&entry.tree);
            trees.insert(Arc::new(Entry { info, tree }));
        }
        let is_twice = |change: &&KeyspaceChange| trees.named(&change.name).nth(1).is_some();
        if let Some(change) = changes.iter().find(is_twice) {
            let what = format!("there is a keyspace \"{}\" already", change.name);
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        inner.log_edit(&edit)?;
        inner.trees.store(Arc::new(trees));
        self.let_go(dropped);
        Ok(())
    }

    fn keyspaces(&self) -> Vec<KeyspaceInfo> {
        self.inner.trees.load().iter().map(|entry| entry.info.clone()).collect()
    }

    fn keyspace_named(&self, name: &str) -> Option<KeyspaceInfo> {
        self.inner.trees.load().named(name).next().map(|entry| entry.info.clone())
    }

    fn keyspaces_starting(&self, prefix: &str) -> Vec<KeyspaceInfo> {
        let trees = self.inner.trees.load();
        trees.starting(prefix).map(|entry| entry.info.clone()).collect()
    }

    fn keyspaces_named(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<KeyspaceInfo> {
        let trees = self.inner.trees.load();
        let wanted = trees.iter().filter(|entry| wanted(&entry.info.name));
        wanted.map(|entry| entry.info.clone()).collect()
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(Held::new(&self.inner))
    }

    fn begin(&self, isolation: Isolation) -> Box<dyn Transaction> {
        Box::new(KvTransaction::new(&self.inner, isolation))
    }

    fn write(&self, batch: &WriteBatch, existed: Option<&mut Vec<bool>>) -> Result<SeqNo> {
        self.inner.commit(batch, None, existed)
    }

    fn write_unsynced(&self, batch: &WriteBatch) -> Result<SeqNo> {
        self.inner.commit_unsynced(batch, None, None)
    }

    fn wait_for_room(&self) -> Result<()> {
        self.inner.check_process()?;
        self.inner.wait_for_room()
    }

    fn has_room(&self) -> bool {
        self.inner.has_room()
    }

    fn commit_would_not_block(&self) -> bool {
        self.inner.owner.is_here() && self.inner.commit_would_not_block()
    }

    fn begin_bulk(&self) -> Result<Box<dyn BulkLoad>> {
        Ok(Box::new(KvBulk::new(&self.inner)?))
    }

    fn flush(&self) -> Result<()> {
        self.inner.check_writable()?;
        self.inner.flush_all()?;
        // Files that a reader held when the last compaction ended are removed now, not at the next
        // one.
        self.inner.collect_obsolete();
        Ok(())
    }

    fn make_durable(&self) -> Result<()> {
        self.inner.check_process()?;
        match self.inner.options.durability {
            Durability::Sync => Ok(()),
            Durability::None | Durability::Os if self.inner.env.is_volatile() => Ok(()),
            Durability::None | Durability::Os => self.flush(),
        }
    }

    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.inner.check_process()?;
        self.inner.compact_everything(go_on)
    }

    fn stats(&self) -> StoreStats {
        let inner = &self.inner;
        if !inner.owner.is_here() {
            return StoreStats::default();
        }
        let trees = inner.trees.load();
        let keyspaces = trees.iter().map(|entry| {
            let stats = entry.tree.stats();
            let figures = KeyspaceStats {
                disk_bytes: stats.levels.iter().map(|level| level.bytes).sum(),
                disk_rows: stats.levels.iter().map(|level| level.rows).sum(),
                memory_bytes: stats.memtable_bytes,
                tables_per_level: stats.levels.iter().map(|level| level.tables).collect(),
            };
            (entry.info.clone(), figures)
        });
        let keyspaces = keyspaces.collect();
        let (log_bytes, log_written) = match &inner.writer.lock().wal {
            Some(wal) => (wal.live_bytes(), wal.written_bytes()),
            None => (0, 0),
        };
        let tables = &inner.context.written;
        StoreStats {
            keyspaces,
            log_bytes,
            written: WrittenBytes {
                log: log_written,
                flushed: tables.flushed.load(Ordering::Relaxed),
                loaded: tables.loaded.load(Ordering::Relaxed),
                merged: tables.merged.load(Ordering::Relaxed),
            },
            cache_bytes: inner.context.cache.used_bytes(),
            activity: inner.activity.activity(
                inner.context.cache.misses(),
                inner.compaction_error.lock().as_ref().map(ToString::to_string),
            ),
            seq: inner.snapshots.visible(),
        }
    }

    fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        self.inner.check_process()?;
        check::check(&self.inner, progress)
    }

    fn refresh(&self) -> Result<()> {
        self.inner.check_process()?;
        if self.inner.options.read_only { follower::refresh(&self.inner) } else { Ok(()) }
    }

    fn is_read_only(&self) -> bool {
        self.inner.options.read_only
    }

    fn check_open(&self) -> Result<()> {
        match self.inner.closing.load(Ordering::Relaxed) {
            true => Err(closed()),
            false => Ok(()),
        }
    }

    fn lend_cache(&self, bytes: u64) -> Box<dyn Send> {
        Box::new(self.inner.context.cache.reserve(bytes))
    }

    fn close(&self) -> Result<()> {
        let inner = &self.inner;
        if !inner.owner.is_surely_here() {
            return Ok(());
        }
        let mut closed = self.closed.lock();
        if std::mem::replace(&mut *closed, true) {
            return Ok(());
        }
        if inner.options.read_only {
            inner.closing.store(true, Ordering::Release);
            inner.context.files.close();
            inner.held.lock().clear();
            return Ok(());
        }
        {
            // Commits check `closing` under this lock, so no commit follows the last flush.
            let _writer = inner.writer.lock();
            inner.closing.store(true, Ordering::Release);
        }
        // Running loads and compactions stop when they see `closing`. After these locks nobody
        // creates tables: the next process that opens the folder uses the same table ids.
        drop(inner.loading.write());
        drop(inner.compacting.lock());
        // Rows in tables need no replay at the next opening; under durability `none` only tables
        // persist.
        let has_log = inner.writer.lock().wal.is_some();
        let flushed = match inner.check_room() {
            // The disk has no room for a flush; the log still holds the rows.
            Err(_) if has_log => inner.poison.check(),
            _ => inner.poison.check().and_then(|()| inner.flush_all()),
        };
        drop(inner.maintenance.lock());
        // The log must not call a commit durable whose keyspace is not. Where the sync of the
        // manifest fails, the log is not closed cleanly.
        let flushed = flushed.and_then(|()| inner.sync_manifest());
        let is_synced = inner.manifest.lock().as_ref().is_some_and(Manifest::is_synced);
        let wal = inner.writer.lock().wal.take().filter(|_| is_synced);
        let logged =
            wal.map_or(Ok(()), |wal| wal.close().map_err(|error| inner.poisoned(error.into())));
        inner.manifest.lock().take();
        inner.collect_obsolete();
        // Also where snapshots and iterators are still alive: their next read fails.
        inner.context.files.close();
        // Whatever failed, the folder is unlocked: the next opening reads the bytes that are really
        // on disk.
        inner.lock.lock().take();
        inner.held.lock().clear();
        flushed.and(logged)
    }

    fn holds(&self, path: &Path) -> bool {
        let inner = &self.inner;
        let mut folders = std::iter::once(&inner.folder).chain(&inner.context.folders);
        !inner.env.is_volatile() && folders.any(|folder| inner.env.is_within(path, folder))
    }
}

/// The manifest's entry of a new keyspace.
fn added_keyspace(info: &KeyspaceInfo) -> AddedKeyspace {
    AddedKeyspace {
        id: info.id,
        name: info.name.clone(),
        shape: info.shape.clone(),
        definition: info.definition.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Batch, ColumnShape, Key, KeyShape, Kind, Shape};
    use env::MemoryEnv;
    use store::{Durability, Kinds, TableWrites};

    fn shape() -> Shape {
        Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Word { merge: None }] }
    }

    fn open() -> (Kv, KeyspaceId) {
        let options = KvOptions { durability: Durability::Sync, ..KvOptions::default() };
        let kv = Kv::open(Arc::new(MemoryEnv::new(1)), Path::new("/db"), options).unwrap();
        let new = NewKeyspace { name: "rows".into(), shape: shape(), definition: Vec::new() };
        let id = kv.create_keyspaces(&[new]).unwrap()[0];
        (kv, id)
    }

    fn one(keyspace: KeyspaceId, kind: Kind) -> WriteBatch {
        let mut rows = Batch::new(&shape());
        rows.rows = 1;
        rows.keys.push(Key::words(&[7]).as_ref());
        rows.values[0].push_null();
        let kinds = Kinds::Uniform(kind);
        WriteBatch {
            tables: vec![TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() }],
        }
    }

    /// Found by reading: without a log the bytes of values were not counted, so memtables of long
    /// values grew to many times their limit before they were sealed.
    #[test]
    fn memtables_of_long_values_are_sealed_without_a_log_too() {
        const LIMIT: u64 = 64 << 10;
        const VALUE: usize = 4 << 10;
        let options = KvOptions {
            durability: Durability::None,
            memtable_bytes: LIMIT,
            ..KvOptions::default()
        };
        let kv = Kv::open(Arc::new(MemoryEnv::new(1)), Path::new("/db"), options).unwrap();
        let shape = Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] };
        let new = NewKeyspace { name: "rows".into(), shape: shape.clone(), definition: Vec::new() };
        let keyspace = kv.create_keyspaces(&[new]).unwrap()[0];
        for key in 0..100 {
            let mut rows = Batch::new(&shape);
            rows.rows = 1;
            rows.keys.push(Key::words(&[key]).as_ref());
            let base::Column::Bytes(column) = &mut rows.values[0] else { panic!("of bytes") };
            column.push(Some(&[key as u8; VALUE]));
            let kinds = Kinds::Uniform(Kind::Put);
            let table = TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() };
            kv.write(&WriteBatch { tables: vec![table] }, None).unwrap();
            let held = kv.stats().keyspaces[0].1.memory_bytes;
            // One active and one sealed memtable, and the values that overshot the limit.
            assert!(held <= 2 * (LIMIT + 4 * VALUE as u64), "{held} bytes after {key} values");
        }
    }

    /// Found by reading: a delete that found nothing to delete returned at once, though the delete
    /// that it had seen could still be lost in a power cut.
    #[test]
    fn an_answer_about_a_key_waits_for_the_commits_it_rests_on() {
        let (kv, id) = open();
        kv.write(&one(id, Kind::Put), None).unwrap();
        // Commits a delete to log and memtable without syncing it.
        let inner = &kv.inner;
        {
            let mut writer = inner.writer.lock();
            let seq = writer.last_seq.next();
            let tables = one(id, Kind::Delete).tables;
            let tables: Vec<_> = tables.iter().map(std::borrow::Cow::Borrowed).collect();
            inner.apply(&mut writer, &inner.trees.load(), &tables, seq).unwrap();
        }
        let mut existed = Vec::new();
        let seq = kv.write(&one(id, Kind::Delete), Some(&mut existed)).unwrap();
        assert_eq!(existed, [false]);
        assert!(inner.snapshots.visible() >= seq, "answered before that delete was durable");
    }

    /// Found by reading: the second `close` returned at once, while the first still wrote in the
    /// folder.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "the threads are the test's own")]
    fn who_closes_second_returns_when_the_folder_is_free() {
        let (kv, id) = open();
        kv.write(&one(id, Kind::Put), None).unwrap();
        let busy = kv.inner.maintenance.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| kv.close().unwrap());
            while !kv.inner.closing.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let second = scope.spawn(|| {
                kv.close().unwrap();
                kv.inner.lock.lock().is_none()
            });
            for _ in 0..10_000 {
                if second.is_finished() {
                    break;
                }
                std::thread::yield_now();
            }
            drop(busy);
            assert!(second.join().unwrap(), "the folder was not free yet");
        });
    }
}
