//! The state that all handles of one open store share, and the order of its locks.
//!
//! # Locks, in the order they may be taken
//! 0. `loading`, shared by bulk loads that write files and by backups; `compacting`: around a whole
//!    compaction; `synced`: one sync of the log at a time; `follower`: around a refresh or a backup
//!    of a read-only process.
//! 1. `maintenance`: one flush, bulk commit, keyspace change or compaction installation at a time.
//! 2. `writer`: the log, the next sequence number, the active memtables. Held for microseconds; a
//!    bulk commit holds it for the length of a flush.
//! 3. `merging`: held by a bulk commit from its check of the running compactions to its
//!    installation, and while a compaction is chosen.
//! 4. `manifest`: inside one of the above.
//! 5. Leaves: `snapshots`, `compaction_error`, `flush_waits`, `held`, `obsolete`.
//!
//! A process that inherited this state by `fork` takes none of them ([`Inner::check_process`]): the
//! thread that holds a lock may not exist there.
//!
//! Readers take only leaves: `snapshots` to register one, and `compaction_error` where many scans
//! make a flush due.
//!
//! # Invariants
//! 1. A sequence number is published after every memtable holds its rows and, under `sync`, after
//!    the log is synced past it. So a reader never sees a commit that a power cut could undo.
//! 2. At most one generation of sealed memtables exists. The log segment that was begun when it was
//!    sealed is the first that recovery needs once the generation's tables are in the manifest.
//! 3. A flush installs the tables of all trees by one manifest edit: the writes of a commit to
//!    several keyspaces reach the tables together, also without a log.

use crate::convert::{env_error, tree_error};
use crate::merging::Merging;
use crate::options::KvOptions;
use crate::poison::Poison;
use crate::snapshots::Snapshots;
use crate::throttle::WriteThrottle;
use crate::trees::Trees;
use crate::wal::{Wal, WalReader};
use base::{KeyspaceId, SeqNo};
use env::sync::ArcSwap;
use env::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use env::sync::{Mutex, RwLock};
use env::{Env, FolderLock, HeldFolder, Owner, Signal};
use lsm::context::Context;
use lsm::manifest::{Manifest, State};
use std::path::PathBuf;
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Result};

/// Everything the writer lock guards.
#[derive(Debug)]
pub(crate) struct Writer {
    /// `None` under durability `none`, and in a follower.
    pub(crate) wal: Option<Wal>,
    /// Sequence number of the newest commit, published or about to be.
    pub(crate) last_seq: SeqNo,
    /// Reused for the encoded commit.
    pub(crate) payload: Vec<u8>,
}

/// Position of a follower in manifest and log.
#[derive(Debug)]
pub(crate) struct FollowerPosition {
    pub(crate) state: State,
    pub(crate) log: WalReader,
    pub(crate) last_seq: SeqNo,
}

/// Shared state of one open store; the module's header gives lock order and invariants.
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
    /// Sequence number up to which the log is synced. The mutex is held while syncing, so that a
    /// thread that waits for it usually finds its own commit synced.
    pub(crate) synced: Mutex<SeqNo>,
    /// Notified when a flush or a compaction ends, and when a sealed generation is gone.
    pub(crate) progress: Arc<dyn Signal>,
    /// Whether a sealed generation waits for its flush.
    pub(crate) sealed: AtomicBool,
    /// First log segment that is needed once the sealed generation is in tables.
    pub(crate) sealed_segment: AtomicU64,
    /// Newest sequence number in the sealed generation.
    pub(crate) sealed_seq: AtomicU64,
    /// Largest number of level-0 runs of any tree.
    pub(crate) level0_runs: AtomicUsize,
    /// Allows one compaction at a time; the keyspace is the one compacted last.
    pub(crate) compacting: Mutex<KeyspaceId>,
    /// Key ranges of the running compaction, one for each of its trees.
    pub(crate) merging: Mutex<Vec<Merging>>,
    /// Held shared while a bulk load makes or removes files; closing waits for it.
    pub(crate) loading: RwLock<()>,
    pub(crate) flush_queued: AtomicBool,
    /// Whether a flush triggered by scan debt is queued or running.
    pub(crate) read_flush_queued: AtomicBool,
    pub(crate) compaction_queued: AtomicBool,
    /// Number of requests for a compaction so far.
    pub(crate) compactions_asked: AtomicU64,
    /// Tells running compactions to stop.
    pub(crate) closing: Arc<AtomicBool>,
    /// Estimated bytes of the active memtables, compared with the limit without a lock.
    pub(crate) active_bytes: AtomicU64,
    /// Write throttle: the delay owed by writers that are faster than the flush of the sealed
    /// generation.
    pub(crate) throttle: WriteThrottle,
    /// Counters for statistics.
    pub(crate) activity: crate::activity::ActivityCounters,
    /// Memory of the process, in bytes, at which freed memory is next returned to the system.
    pub(crate) released_at: AtomicU64,
    /// Why compaction stopped, if it did. Writes are still accepted.
    pub(crate) compaction_error: Mutex<Option<Error>>,
    /// Why the flush of the sealed generation could not begin, though nothing is broken. The next
    /// writer that waits for room gets this error, and the flush is tried again.
    pub(crate) flush_waits: Mutex<Option<Error>>,
    pub(crate) lock: Mutex<Option<Box<dyn FolderLock>>>,
    /// Handles of the database's folder and of its table folders until it is closed; all files are
    /// reached through them.
    pub(crate) held: Mutex<Vec<Arc<dyn HeldFolder>>>,
    /// Position of a follower in manifest and log; `None` in a writer.
    pub(crate) follower: Mutex<Option<FollowerPosition>>,
    /// Space kept for a full disk.
    pub(crate) reserve: crate::reserve::Reserve,
    /// Files of dropped keyspaces, each until its last reader is gone.
    pub(crate) obsolete: Mutex<lsm::tree::ObsoleteFiles>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kv").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Inner {
    /// Fails in a process that inherited the store by `fork`. Called first by every entry point.
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
            return Err(closed());
        }
        self.poison.check()
    }

    /// Remembers the first failure, and wakes the writers that wait for room: no flush will make
    /// any.
    pub(crate) fn poisoned(&self, error: Error) -> Error {
        let error = self.poison.poison(error);
        self.progress.notify();
        error
    }

    /// As [`Inner::poisoned`], for a tree's errors.
    pub(crate) fn poisoned_by(&self, error: lsm::Error) -> Error {
        self.poisoned(tree_error(error))
    }

    /// As [`Inner::poisoned`], for the environment's errors.
    pub(crate) fn poisoned_by_env(&self, error: env::EnvError) -> Error {
        self.poisoned(env_error(error))
    }

    /// Appends an edit to the manifest; a failure poisons.
    pub(crate) fn log_edit(&self, edit: &lsm::manifest::VersionEdit) -> Result<()> {
        self.with_manifest(|manifest| manifest.append(edit))
    }

    /// Appends an edit that is as durable as a commit. Without `sync` a power cut may lose it
    /// together with all later commits: recovery ends the log before the first commit that depends
    /// on it.
    pub(crate) fn log_edit_as_commit(&self, edit: &lsm::manifest::VersionEdit) -> Result<()> {
        match self.options.durability {
            Durability::Sync => self.log_edit(edit),
            Durability::Os | Durability::None => {
                self.with_manifest(|manifest| manifest.append_unsynced(edit))
            }
        }
    }

    /// Syncs what [`Inner::log_edit_as_commit`] wrote. Called before a later record claims that
    /// commits are durable.
    pub(crate) fn sync_manifest(&self) -> Result<()> {
        self.with_manifest(Manifest::sync)
    }

    fn with_manifest(&self, f: impl FnOnce(&mut Manifest) -> lsm::Result<()>) -> Result<()> {
        let mut manifest = self.manifest.lock();
        // The store may have failed or been closed while the caller waited for the lock.
        self.poison.check()?;
        match manifest.as_mut() {
            Some(manifest) => f(manifest).map_err(|error| self.poisoned_by(error)),
            None if self.options.read_only => {
                Err(Error::new(ErrorKind::ReadOnly, "the database was opened read-only"))
            }
            None => Err(closed()),
        }
    }
}

pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::InvalidInput, "the database is closed")
}
