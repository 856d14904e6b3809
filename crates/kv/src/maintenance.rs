//! Flushes in background jobs, and the bookkeeping after them and after compactions.
//!
//! `commit` seals memtables and queues flushes; flushes queue compactions (`compaction`). `inner`
//! gives the order of the locks.

use crate::convert::tree_error;
use crate::inner::{Inner, Writer};
use crate::shared_files::SharedWriters;
use crate::trees::{Entry, Trees};
use base::SeqNo;
use base::mark::{Mark, hit};
use env::JobKind;
use env::sync::atomic::Ordering;
use lsm::manifest::VersionEdit;
use lsm::tree::Flushed;
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Result};

/// Poisons the store if the guarded work panics, because nothing can continue after it. A flush
/// would leave its generation sealed, and writers would wait for it forever; a commit may be in the
/// log and not in memory, or in memory in part.
pub(crate) struct ToldOfPanic<'a> {
    inner: &'a Inner,
    what: &'static str,
    /// Whether the thread was panicking before: then this runs in a destructor, and the panic is
    /// the caller's.
    before: bool,
}

impl<'a> ToldOfPanic<'a> {
    pub(crate) fn of(inner: &'a Inner, what: &'static str) -> Self {
        Self { inner, what, before: std::thread::panicking() }
    }
}

impl Drop for ToldOfPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.before {
            let message = format!("{} ended in a panic", self.what);
            self.inner.poisoned(Error::new(ErrorKind::Poisoned, message));
            self.inner.progress.notify();
        }
    }
}

/// Whether a write failed for lack of file descriptors, before anything was written.
fn is_out_of_descriptors(error: &lsm::Error) -> bool {
    matches!(error, lsm::Error::Env(error) if error.is_out_of_descriptors())
}

/// Memtable limits below this, in bytes, belong to memory limits below 256 MiB.
const RELEASED_BELOW_BYTES: u64 = 16 << 20;

impl Inner {
    /// Seals every active memtable and begins a new log segment, the first that recovery needs once
    /// the sealed generation is in tables. The caller checked that no generation is sealed.
    pub(crate) fn seal(&self, writer: &mut Writer) -> Result<()> {
        debug_assert!(!self.sealed.load(Ordering::Acquire), "one sealed generation at a time");
        // Commits whose sync failed must not be published.
        self.poison.check()?;
        if self.options.durability == Durability::Sync {
            // A flush relies on every row in the memtables being published.
            if let Some(wal) = &writer.wal {
                wal.sync_handle().sync().map_err(|error| self.poisoned_by_env(error))?;
            }
        }
        self.snapshots.publish(writer.last_seq);
        let mut any = false;
        for entry in self.trees.load().iter() {
            any |= entry.tree.seal().is_some();
        }
        if any {
            if let Some(wal) = &mut writer.wal {
                // The log must not call a commit durable whose keyspace is not.
                self.sync_manifest()?;
                let segment = wal.rotate().map_err(|error| self.poisoned(error.into()))?;
                self.sealed_segment.store(segment, Ordering::Release);
            }
            self.sealed_seq.store(writer.last_seq.0, Ordering::Release);
            self.sealed.store(true, Ordering::Release);
        }
        self.active_bytes.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Queues a flush of the sealed generation unless one is queued.
    pub(crate) fn queue_flush(self: &Arc<Self>) {
        if !self.flush_queued.swap(true, Ordering::AcqRel) {
            let inner = Arc::clone(self);
            let job = move || {
                let _told = ToldOfPanic::of(&inner, "a flush");
                inner.flush_queued.store(false, Ordering::Release);
                let guard = inner.maintenance.lock();
                // A failure has poisoned the store, or is temporary. The next writer that waits
                // gets it.
                let waits = inner.flush_sealed().err().filter(|_| inner.poison.check().is_ok());
                *inner.flush_waits.lock() = waits;
                drop(guard);
                inner.progress.notify();
                inner.queue_compaction();
                // The memory of a generation was freed in small pieces, which the allocator would
                // keep.
                inner.release_memory();
            };
            self.env.spawn(JobKind::Flush, Box::new(job));
        }
    }

    /// Flushes all commits so far to tables. Holds `maintenance`.
    pub(crate) fn flush_all(self: &Arc<Self>) -> Result<()> {
        self.flush_all_and(|| Ok(()))
    }

    /// As [`Inner::flush_all`]; then calls `then` before another flush, bulk load or compaction
    /// changes the tables. They hold exactly the commits up to one sequence number.
    pub(crate) fn flush_all_and<R>(
        self: &Arc<Self>,
        then: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let guard = self.maintenance.lock();
        self.check_room()?;
        self.flush_sealed()?;
        let newest;
        {
            let mut writer = self.writer.lock();
            // A commit may have sealed a generation meanwhile.
            if self.sealed.load(Ordering::Acquire) {
                hit(Mark::SealedMeanwhile);
            }
            self.flush_sealed_with(&mut writer)?;
            self.seal(&mut writer)?;
            newest = writer.last_seq;
        }
        self.flush_sealed()?;
        let recorded = self.manifest.lock().as_ref().map_or(newest, |m| m.state().last_seq());
        if recorded < newest {
            // All later commits wrote to keyspaces that were dropped. Sequence numbers must still
            // not decrease.
            let edit = VersionEdit { last_seq: Some(newest), ..VersionEdit::default() };
            self.log_edit(&edit)?;
        }
        self.sync_manifest()?;
        let done = then();
        drop(guard);
        self.progress.notify();
        self.queue_compaction();
        done
    }

    /// Fails where a flush might fill the disk again that was full when the database was opened. A
    /// flush that fails after its start would end all writing.
    pub(crate) fn check_room(&self) -> Result<()> {
        let bytes = self.trees.load().iter().map(|entry| entry.tree.active_bytes()).sum();
        if self.reserve.may_flush(bytes) {
            return Ok(());
        }
        let folder = self.folder.display();
        let what =
            format!("the disk of {folder} is full: {bytes} bytes of memory cannot become tables");
        Err(Error::new(
            ErrorKind::Io,
            format!("{what}\nhint: drop a relation, or remove other files"),
        ))
    }

    /// Flushes the sealed generation, if there is one, and releases its log segments. The caller
    /// holds `maintenance`.
    pub(crate) fn flush_sealed(&self) -> Result<()> {
        let Some(segment) = self.write_sealed()? else { return Ok(()) };
        self.release_log(&mut self.writer.lock(), segment)
    }

    /// As [`Inner::flush_sealed`] for a caller that also holds the writer lock.
    pub(crate) fn flush_sealed_with(&self, writer: &mut Writer) -> Result<()> {
        let Some(segment) = self.write_sealed()? else { return Ok(()) };
        self.release_log(writer, segment)
    }

    fn release_log(&self, writer: &mut Writer, segment: u64) -> Result<()> {
        match &mut writer.wal {
            Some(wal) => wal.release(segment).map_err(|error| self.poisoned(error.into())),
            None => Ok(()),
        }
    }

    /// Writes and installs the tables of the sealed generation. Returns the first log segment that
    /// is still needed, or `None` where nothing was sealed.
    fn write_sealed(&self) -> Result<Option<u64>> {
        if !self.sealed.load(Ordering::Acquire) {
            return Ok(None);
        }
        self.poison.check()?;
        let protected = self.snapshots.protected();
        let newest = protected.last().copied().unwrap_or(SeqNo::ZERO);
        let trees = self.trees.load_full();
        let mut edit = VersionEdit {
            last_seq: Some(SeqNo(self.sealed_seq.load(Ordering::Acquire))),
            ..VersionEdit::default()
        };
        let segment = self.sealed_segment.load(Ordering::Acquire);
        // Under `none` there is a log while the rows of an earlier opening with another durability
        // are flushed.
        if segment > 0 {
            edit.wal_first_live = Some(segment);
        }
        let mut flushed = Vec::new();
        let written = self.write_tables(&trees, &protected, &mut flushed);
        if let Err(error) = written.and_then(|()| self.sync_table_folders()) {
            if !is_out_of_descriptors(&error) {
                return Err(self.poisoned_by(error));
            }
            // Nothing is lost: a file could not be created. The tables written so far are
            // discarded, and written again when there are descriptors.
            let added = flushed.iter().flat_map(|(_, done)| &done.edit.added);
            for added in added.filter(|added| added.meta.shared.is_none()) {
                let _ = self.context.discard_table(&added.meta);
            }
            return Err(tree_error(error));
        }
        edit.trees =
            flushed.iter().map(|(entry, done)| (entry.info.id, done.edit.clone())).collect();
        edit.next_table_id = Some(self.context.next_table_id());
        self.log_edit(&edit)?;
        for (entry, done) in flushed {
            entry
                .tree
                .install(&done.edit, &done.memtables, newest)
                .map_err(|error| self.poisoned_by(error))?;
        }
        self.activity.count_flush();
        self.sealed.store(false, Ordering::Release);
        *self.flush_waits.lock() = None;
        self.throttle.forgive();
        self.after_install();
        Ok(Some(segment))
    }

    /// Writes the tables of the sealed generation; trees with few rows share files. Where it fails,
    /// `flushed` has the trees whose tables were written, and no shared file is left.
    fn write_tables<'a>(
        &self,
        trees: &'a Trees,
        protected: &[SeqNo],
        flushed: &mut Vec<(&'a Arc<Entry>, Flushed)>,
    ) -> lsm::Result<()> {
        let small = trees.iter().filter(|entry| entry.tree.has_little_sealed()).take(2).count();
        let mut shared = (small > 1).then(|| SharedWriters::new(&self.context));
        for entry in trees.iter() {
            let shared = shared.as_mut().filter(|_| entry.tree.has_little_sealed());
            let shared = shared.map(|shared| shared.of(&entry.info.name));
            if let Some(done) = entry.tree.flush_sealed(protected, shared)? {
                flushed.push((entry, done));
            }
        }
        shared.map_or(Ok(()), |shared| shared.finish())
    }

    /// Makes the names of new tables durable, before the manifest names them.
    pub(crate) fn sync_table_folders(&self) -> lsm::Result<()> {
        for folder in &self.context.folders {
            self.env.sync_folder(folder)?;
        }
        Ok(())
    }

    /// Updates the number of level-0 runs for writers, and removes obsolete files.
    pub(crate) fn after_install(&self) {
        let trees = self.trees.load();
        let runs = trees.iter().map(|entry| entry.tree.level0_runs()).max().unwrap_or(0);
        self.level0_runs.store(runs, Ordering::Relaxed);
        self.collect_obsolete();
        self.progress.notify();
    }

    /// Removes the files of tables that have no reader any more.
    pub(crate) fn collect_obsolete(&self) {
        for entry in self.trees.load().iter() {
            entry.tree.collect_obsolete();
        }
        self.obsolete.lock().collect(&self.context);
        if self.reserve.fill() {
            // Space was freed, so compactions may run by themselves again.
            *self.compaction_error.lock() = None;
        }
    }

    /// Returns freed memory to the system where the limit is small or nearly reached. Elsewhere the
    /// next memtables reuse it, and a call would stall the allocator, also for the program around
    /// the database. Memory that the program itself holds cannot be returned; the next attempt is
    /// made only after further growth.
    pub(crate) fn release_memory(&self) {
        if self.options.memtable_bytes < RELEASED_BELOW_BYTES {
            return self.env.release_memory();
        }
        // Memory must grow by this much before the next attempt.
        let some = self.options.memory_limit_bytes / 16;
        let at = self.released_at.load(Ordering::Relaxed).max(15 * some);
        let mut resident = self.env.resident_bytes();
        if resident >= at {
            self.env.release_memory();
            resident = self.env.resident_bytes();
            self.released_at.store(resident.saturating_add(some), Ordering::Relaxed);
        } else {
            self.released_at.fetch_min(resident.saturating_add(4 * some), Ordering::Relaxed);
        }
    }
}
