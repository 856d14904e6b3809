//! What all handles of one open store share, and how its pieces are locked.
//!
//! # Locks, in the order they may be taken
//! 0. `loading`, shared by bulk loads that write files; `compacting`: around a whole compaction.
//! 1. `maintenance`: one flush, bulk commit, keyspace change or compaction installation at a time.
//! 2. `writer`: the log, the next sequence number, the active memtables. Held for microseconds, and
//!    for a flush's moment by a bulk commit.
//! 3. `merging`: held by a bulk commit from its look at it to its installation, and while a compaction is chosen.
//! 4. `manifest`: inside one of the above.
//! 5. `snapshots`: a leaf.
//!
//! A process that inherited all this by `fork` takes none of them ([`Inner::check_process`]): who holds one may not be there.
//!
//! Readers take none of them but the last, and that only to hold a moment.
//!
//! # Invariants
//! 1. A sequence number is published after every memtable holds its rows and, under `sync`, after
//!    the log is synced past it. So a reader never sees what a power cut could take back.
//! 2. At most one generation of sealed memtables exists. The log segment that was begun when it was
//!    sealed is the first that recovery needs once the generation's tables are in the manifest.
//! 3. A flush installs all trees' tables by one manifest edit: what a commit wrote to several
//!    keyspaces reaches the tables together, also without a log.

use crate::convert::{env_error, tree_error};
use crate::merging::Merging;
use crate::options::KvOptions;
use crate::pace::Pace;
use crate::poison::Poison;
use crate::snapshots::Snapshots;
use crate::trees::Trees;
use crate::wal::Wal;
use base::KeyspaceId;
use env::sync::ArcSwap;
use env::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use env::sync::{Mutex, RwLock};
use env::{Env, FolderLock, HeldFolder, Owner, Signal};
use lsm::context::Context;
use lsm::manifest::Manifest;
use std::path::PathBuf;
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Result};

/// Everything the writer lock guards.
#[derive(Debug)]
pub(crate) struct Writer {
    /// `None` under durability `none`, and in a follower.
    pub(crate) wal: Option<Wal>,
    /// Sequence number of the newest commit, published or about to be.
    pub(crate) last_seq: u64,
    /// Reused for the encoded commit.
    pub(crate) payload: Vec<u8>,
}

/// See the module's header.
pub(crate) struct Inner {
    /// The process that opened it.
    pub(crate) owner: Owner,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) folder: PathBuf,
    pub(crate) options: KvOptions,
    pub(crate) context: Arc<Context>,
    pub(crate) trees: ArcSwap<Trees>,
    pub(crate) snapshots: Snapshots,
    pub(crate) poison: Poison,
    pub(crate) maintenance: Mutex<()>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) manifest: Mutex<Option<Manifest>>,
    /// Sequence number up to which the log is synced; the mutex is held while syncing, so that
    /// whoever waits for it finds the work done.
    pub(crate) synced: Mutex<u64>,
    /// Told when a flush or a compaction ends, and when a sealed generation is gone.
    pub(crate) progress: Arc<dyn Signal>,
    /// A sealed generation waits for its flush.
    pub(crate) sealed: AtomicBool,
    /// First log segment that is needed once the sealed generation is in tables.
    pub(crate) sealed_segment: AtomicU64,
    /// Newest sequence number in the sealed generation.
    pub(crate) sealed_seq: AtomicU64,
    /// Runs in the deepest level 0 of all trees.
    pub(crate) level0_runs: AtomicUsize,
    /// One compaction at a time; of which tree the last one was.
    pub(crate) compacting: Mutex<KeyspaceId>,
    /// The keys that it works on.
    pub(crate) merging: Mutex<Option<Merging>>,
    /// Held shared while a bulk load makes or removes files; closing waits for it.
    pub(crate) loading: RwLock<()>,
    pub(crate) flush_queued: AtomicBool,
    /// A flush for the sake of scans waits or runs.
    pub(crate) read_flush_queued: AtomicBool,
    pub(crate) compaction_queued: AtomicBool,
    /// How often a compaction was asked for.
    pub(crate) compactions_asked: AtomicU64,
    /// Tells running compactions to stop.
    pub(crate) closing: Arc<AtomicBool>,
    /// Bytes in active memtables at which a commit seals them, cheap to read.
    pub(crate) active_bytes: AtomicU64,
    /// What writers owe who outrun the flush of the sealed generation.
    pub(crate) pace: Pace,
    /// Bytes that the process has when freed memory is given back next.
    pub(crate) released_at: AtomicU64,
    /// Why compaction stopped, if it did; writes go on.
    pub(crate) compaction_error: Mutex<Option<Error>>,
    /// Why the flush of the sealed generation could not begin, though nothing is broken: the next
    /// writer who waits for room is told, and it is tried again.
    pub(crate) flush_waits: Mutex<Option<Error>>,
    pub(crate) lock: Mutex<Option<Box<dyn FolderLock>>>,
    /// The database's folder and those of its tables, until it is closed: all its files are reached from them.
    pub(crate) held: Mutex<Vec<Arc<dyn HeldFolder>>>,
    /// Where a follower stands; `None` in a writer.
    pub(crate) follower: Mutex<Option<crate::follower::Position>>,
    /// Space for when the disk is full.
    pub(crate) reserve: crate::reserve::Reserve,
    /// Trees of dropped keyspaces whose files wait for their last reader.
    pub(crate) obsolete: Mutex<lsm::tree::ObsoleteFiles>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kv").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Inner {
    /// Fails in a process that inherited the store by `fork`. Asked first wherever the store is entered.
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        self.owner.check().map_err(env_error)
    }

    /// Fails unless the store may write.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_process()?;
        if self.options.read_only {
            return Err(Error::new(ErrorKind::ReadOnly, "the database was opened read-only"));
        }
        if self.closing.load(Ordering::Acquire) {
            return Err(crate::reader::closed());
        }
        self.poison.check()
    }

    /// Remembers the first failure, and wakes the writers that wait for room: none will come.
    pub(crate) fn poisoned(&self, error: Error) -> Error {
        let error = self.poison.poison(error);
        self.progress.notify();
        error
    }

    /// A failed write or sync of the log or the manifest: the first one poisons.
    pub(crate) fn poisoned_by(&self, error: lsm::Error) -> Error {
        self.poisoned(tree_error(error))
    }

    /// As [`Inner::poisoned_by`], for the environment's errors.
    pub(crate) fn poisoned_by_env(&self, error: env::EnvError) -> Error {
        self.poisoned(env_error(error))
    }

    /// Appends an edit to the manifest; a failure poisons.
    pub(crate) fn log_edit(&self, edit: &lsm::manifest::VersionEdit) -> Result<()> {
        self.with_manifest(|manifest| manifest.append(edit))
    }

    /// Appends an edit that is as durable as a commit. Without `sync` a power cut may take it, with
    /// all commits since: they come after it in time, and recovery ends the log before the first
    /// one that rests on it.
    pub(crate) fn log_edit_as_commit(&self, edit: &lsm::manifest::VersionEdit) -> Result<()> {
        match self.options.durability {
            Durability::Sync => self.log_edit(edit),
            Durability::Os | Durability::None => {
                self.with_manifest(|manifest| manifest.append_unsynced(edit))
            }
        }
    }

    /// Makes durable what [`Inner::log_edit_as_commit`] wrote. Before anything says of commits that
    /// they are durable.
    pub(crate) fn sync_manifest(&self) -> Result<()> {
        self.with_manifest(Manifest::sync)
    }

    fn with_manifest(&self, f: impl FnOnce(&mut Manifest) -> lsm::Result<()>) -> Result<()> {
        let mut manifest = self.manifest.lock();
        // It may have failed, or been closed, since the caller began to wait for its turn.
        self.poison.check()?;
        match manifest.as_mut() {
            Some(manifest) => f(manifest).map_err(|error| self.poisoned_by(error)),
            None if self.options.read_only => {
                Err(Error::new(ErrorKind::ReadOnly, "the database was opened read-only"))
            }
            None => Err(crate::reader::closed()),
        }
    }
}
