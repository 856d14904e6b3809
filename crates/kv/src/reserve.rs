//! Disk space that the database keeps for the day when the disk is full.
//!
//! `open` cuts it, flushes and the log ask [`Reserve`] whether the database is frugal.
//!
//! # Why
//! Opening for writing needs a new log segment, and deleting rows needs a log, a table and an edit
//! of the manifest. A full disk has room for none of them, so nothing could be deleted to make
//! room. A shorter segment does not help: with no byte free it cannot be created either.
//!
//! # How it is used
//! The file `RESERVE` has the length of [`whole_bytes`] and no content that matters. A database
//! that is opened on a disk with little room is *frugal*. Its opening cuts the file by a quarter
//! where there is next to no room, and again while it fails. A frugal database has short log
//! segments, keeps none of them for reuse, flushes only where there is room, and compacts only on
//! request. It stops being frugal once there is room ([`ample_bytes`]).
//!
//! # Invariants
//! 1. Only openings cut the file: writes that fill the disk cannot use up the space that is needed
//!    to delete them.
//! 2. The file is not part of the database: without it everything opens as before, and it is
//!    created again where there is room.

use crate::convert::env_error;
use crate::folder::LOCK;
use crate::options::KvOptions;
use env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use env::{Env, EnvError, LogMode, ReadOptions};
use lsm::manifest::CURRENT;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, Result};

/// Name of the file.
pub(crate) const RESERVE: &str = "RESERVE";
const RESERVE_NEW: &str = "RESERVE.new";

/// Length of a log segment while the database is frugal.
const FRUGAL_SEGMENT_BYTES: u64 = 64 << 10;

/// An opening cuts the file by one part in this many of its full length.
const PARTS: u64 = 4;

/// Length of the file, in bytes, in a database with log segments of `segment_bytes`.
fn whole_bytes(segment_bytes: u64) -> u64 {
    (4 * segment_bytes).clamp(64 << 10, 1 << 20)
}

/// Free bytes from which on a database need not be frugal: enough for a log segment, one twice as
/// long at a flush, and tables.
fn ample_bytes(segment_bytes: u64) -> u64 {
    let first = segment_bytes.min(crate::wal::WalOptions::default().first_segment_bytes);
    2 * whole_bytes(segment_bytes) + 3 * first
}

/// Length of a frugal database's log segments, in bytes.
pub(crate) fn frugal_segment_bytes(options: &KvOptions) -> u64 {
    options.wal_segment_bytes.min(FRUGAL_SEGMENT_BYTES)
}

/// Whether an operation failed because the disk is full.
pub(crate) fn is_disk_full(error: &Error) -> bool {
    error.cause::<EnvError>().is_some_and(EnvError::is_disk_full)
}

/// Whether a database is to be opened frugally, because the disk has little room.
///
/// On a disk that is nearly full this also cuts the reserve: opening might succeed with a segment
/// kept for reuse, but later writes would have no room.
///
/// # Errors
/// As [`give_up_part`].
pub(crate) fn is_needed(env: &dyn Env, folder: &Path, options: &KvOptions) -> Result<bool> {
    if env.is_volatile() || !env.exists(&folder.join(CURRENT)) {
        return Ok(false);
    }
    let (free, whole) = (free_bytes(env, folder), whole_bytes(options.wal_segment_bytes));
    if free < whole / PARTS {
        give_up_part(env, folder, options)?;
    }
    Ok(free < ample_bytes(options.wal_segment_bytes))
}

/// Unlimited where the environment cannot tell.
fn free_bytes(env: &dyn Env, folder: &Path) -> u64 {
    env.free_bytes(folder).unwrap_or(u64::MAX)
}

/// Cuts one part off the reserve of the database in `folder`; false where nothing is left of it.
///
/// # Errors
/// `Locked` where another process opened the database meanwhile.
pub(crate) fn give_up_part(env: &dyn Env, folder: &Path, options: &KvOptions) -> Result<bool> {
    let _held = env.hold(folder).map_err(env_error)?;
    let _lock = env.lock(&folder.join(LOCK), &env.process_line()).map_err(env_error)?;
    let path = folder.join(RESERVE);
    let left = length(env, &path);
    if left == 0 {
        return Ok(false);
    }
    let part = whole_bytes(options.wal_segment_bytes).div_ceil(PARTS);
    env.open_append(&path, left.saturating_sub(part)).map_err(env_error)?;
    Ok(true)
}

fn length(env: &dyn Env, path: &Path) -> u64 {
    let file = env.open_read(path, ReadOptions::default());
    file.and_then(|file| file.len_bytes()).unwrap_or(0)
}

/// The reserve of an open database.
#[derive(Debug)]
pub(crate) struct Reserve {
    env: Arc<dyn Env>,
    folder: PathBuf,
    whole: u64,
    ample: u64,
    left: AtomicU64,
    frugal: Arc<AtomicBool>,
}

impl Reserve {
    /// `frugal` says whether the database was opened on a full disk.
    pub(crate) fn of(env: &Arc<dyn Env>, folder: &Path, options: &KvOptions, frugal: bool) -> Self {
        // Databases in memory and read-only ones need no reserve.
        let needs_none = options.read_only || env.is_volatile();
        let whole = if needs_none { 0 } else { whole_bytes(options.wal_segment_bytes) };
        let left = if needs_none { 0 } else { length(&**env, &folder.join(RESERVE)).min(whole) };
        Self {
            env: Arc::clone(env),
            folder: folder.to_owned(),
            whole,
            ample: ample_bytes(options.wal_segment_bytes),
            left: left.into(),
            frugal: Arc::new(frugal.into()),
        }
    }

    /// Whether the database was opened on a full disk, and there is still not enough room.
    pub(crate) fn is_frugal(&self) -> bool {
        self.frugal.load(Ordering::Relaxed)
    }

    /// The flag of [`Reserve::is_frugal`], shared with the log.
    pub(crate) fn frugal(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.frugal)
    }

    /// Whether memtables of this many bytes may be flushed: a frugal database refuses what might
    /// fill the disk again.
    pub(crate) fn may_flush(&self, bytes: u64) -> bool {
        let needed = bytes.saturating_add(2 * FRUGAL_SEGMENT_BYTES.min(self.whole / PARTS));
        !self.is_frugal() || free_bytes(&*self.env, &self.folder) >= needed
    }

    /// Restores the file where there is room for twice its length. Returns whether the database
    /// stopped being frugal.
    pub(crate) fn fill(&self) -> bool {
        let is_whole = || self.left.load(Ordering::Relaxed) >= self.whole;
        if is_whole() && !self.is_frugal() {
            return false;
        }
        let free = free_bytes(&*self.env, &self.folder);
        if !is_whole() && free >= 2 * self.whole && self.make().is_ok() {
            self.left.store(self.whole, Ordering::Relaxed);
        }
        is_whole() && free >= self.ample && self.frugal.swap(false, Ordering::Relaxed)
    }

    /// Creates the file anew. Its name need not be durable: if a power cut loses it, it is created
    /// again.
    fn make(&self) -> env::Result<()> {
        let new = self.folder.join(RESERVE_NEW);
        if self.env.exists(&new) {
            self.env.remove(&new)?;
        }
        self.env.create_log(&new, self.whole, LogMode::Write)?;
        self.env.rename(&new, &self.folder.join(RESERVE))
    }
}

/// Whether a file of this name in the folder of a database is its reserve.
pub(crate) fn is_reserve(name: &str) -> bool {
    name == RESERVE || name == RESERVE_NEW
}
