//! The only door to files, the clock, randomness and threads.
//!
//! # Why one door
//! A database is trusted when its failures can be replayed. Everything below the `quipu` crate
//! reaches the machine through [`Env`], so a simulated one can lose what was not synced, tear
//! writes, fill the disk and interleave the jobs from one seed, and the engine cannot tell.
//!
//! # Invariants
//! 1. Nothing here knows what the bytes mean.
//! 2. Every failure names the operation and the path ([`EnvError`]).
//! 3. An environment works in the process that made it. In a child of a `fork` it touches no file,
//!    starts no job and joins no thread ([`Owner`]).
//! 4. Blocking goes through [`Signal`]: a simulated environment runs other jobs while one waits.

// This crate is the door: here, and only here, the methods that clippy.toml forbids are at home.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod at_once;
mod error;
mod jobs;
mod memory;
#[cfg(feature = "shuttle")]
pub mod model;
mod owner;
mod pauses;

#[cfg(unix)]
mod real;
mod scoped;
mod stack;
pub mod sync;
mod timer;
mod whole;

pub use at_once::{at_once, wait_from_here};
pub use error::{EnvError, Result};
pub use jobs::parallel;
pub use memory::{MemoryEnv, ReadCounts};
pub use owner::{Own, Owner};
pub use pauses::Pauses;
#[cfg(unix)]
pub use real::{Output, RealEnv, RealOptions};
pub use scoped::scoped;
pub use stack::{stack_left_bytes, stack_range};

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file is opened for reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Go around the page cache where the file system allows it; otherwise reads as usual.
    /// Callers need not align anything: the environment reads aligned and copies.
    pub direct: bool,
}

/// One piece of a batched read: `buf.len()` bytes from `offset`.
#[derive(Debug)]
pub struct ReadRequest {
    /// First byte to read, counted from the start of the file.
    pub offset: u64,
    /// Filled whole or the request fails: a short file is `UnexpectedEof`.
    pub buf: Vec<u8>,
}

/// One piece of a read of several files: `buf.len()` bytes from `offset`, as in [`ReadRequest`].
#[derive(Debug)]
pub struct FileRead {
    /// Where to read.
    pub file: Arc<dyn RandomReadFile>,
    /// First byte to read, counted from the start of the file.
    pub offset: u64,
    /// Filled whole or the read fails.
    pub buf: Vec<u8>,
}

/// Fills all of these reads, in flight together where the environment can; where it cannot, file by
/// file.
///
/// # Errors
/// The first failure; buffers are then unspecified.
pub fn read_files(reads: &mut [FileRead]) -> Result<()> {
    let Some(first) = reads.first() else { return Ok(()) };
    let file = Arc::clone(&first.file);
    if file.read_together(reads)? {
        return Ok(());
    }
    for reads in reads.chunk_by_mut(|a, b| Arc::ptr_eq(&a.file, &b.file)) {
        let take = |read: &mut FileRead| ReadRequest {
            offset: read.offset,
            buf: std::mem::take(&mut read.buf),
        };
        let mut requests: Vec<ReadRequest> = reads.iter_mut().map(take).collect();
        reads[0].file.read_batch(&mut requests)?;
        for (read, request) in reads.iter_mut().zip(requests) {
            read.buf = request.buf;
        }
    }
    Ok(())
}

/// A file open for positional reading. Immutable by contract while open, except log files.
pub trait RandomReadFile: Send + Sync + std::fmt::Debug {
    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file ends before the buffer is full.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()>;

    /// Fills all requests, in flight together where the kernel can (`io_uring`).
    ///
    /// # Errors
    /// The first failure; buffers are then unspecified.
    fn read_batch(&self, requests: &mut [ReadRequest]) -> Result<()>;

    /// For [`read_files`], called on one of the files: fills all reads with all of them in flight
    /// and returns true, or does nothing and returns false, as here.
    ///
    /// # Errors
    /// As [`RandomReadFile::read_batch`].
    fn read_together(&self, reads: &mut [FileRead]) -> Result<bool> {
        let _ = reads;
        Ok(false)
    }

    /// The file itself, for an environment that looks for its own among several.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// To be asked before memory is made for what is read: whether a read would be refused
    /// ([`at_once`]).
    ///
    /// # Errors
    /// `WouldBlock` where it would.
    fn may_read(&self) -> Result<()> {
        Ok(())
    }

    /// Asks the kernel to have these bytes ready soon. Best effort.
    fn read_ahead(&self, offset: u64, bytes: u64);

    /// Length of the file in bytes, as of now.
    ///
    /// # Errors
    /// When the kernel does not tell.
    fn len_bytes(&self) -> Result<u64>;

    /// Path it was opened under, for messages.
    fn path(&self) -> &Path;
}

/// A file read from its begin to its end, whose length need not be known: also a pipe, or what the
/// kernel makes up.
pub trait StreamFile: Send + std::fmt::Debug {
    /// Reads some of the bytes that come next, and says how many; 0 at the end. `None` where there
    /// was nothing to read for about `wait_us` microseconds, or where it was interrupted: ask
    /// again.
    ///
    /// # Errors
    /// A failed read.
    fn read_some(&mut self, buf: &mut [u8], wait_us: u64) -> Result<Option<usize>>;

    /// How many bytes it says that it has; `None` where it says nothing to be believed.
    fn len_bytes(&self) -> Option<u64>;
}

/// A new file written front to back: tables, manifests, exports.
pub trait AppendFile: Send + std::fmt::Debug {
    /// Appends all of `bytes`. May buffer; [`AppendFile::sync`] and [`AppendFile::flush`] push.
    ///
    /// # Errors
    /// Any failed write. The file's content past the last sync is then unknown.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Hands buffered bytes to the operating system (survives a killed process, not a power cut).
    ///
    /// # Errors
    /// As [`AppendFile::append`].
    fn flush(&mut self) -> Result<()>;

    /// Flushes, then makes data durable (`fdatasync`).
    ///
    /// # Errors
    /// After a failed sync, what is on the disk is unknown.
    fn sync(&mut self) -> Result<()>;

    /// Bytes appended so far, buffered ones included.
    fn len_bytes(&self) -> u64;

    /// Path it was created under, for messages.
    fn path(&self) -> &Path;
}

/// A preallocated file for a write-ahead log: fixed length, written at growing offsets, recycled.
///
/// The real environment may keep it memory-mapped, so that a small write costs no system call and
/// still survives a killed process. All writes are visible to other processes that read the file.
pub trait LogFile: Send + std::fmt::Debug {
    /// Writes `bytes` at `offset`; `offset + bytes.len()` must not pass [`LogFile::len_bytes`].
    ///
    /// # Errors
    /// Any failed write.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()>;

    /// Makes every byte written so far durable (`fdatasync`).
    ///
    /// # Errors
    /// After a failed sync, what is on the disk is unknown.
    fn sync(&mut self) -> Result<()>;

    /// A handle that syncs this file from another thread while writing goes on (group commit).
    fn sync_handle(&self) -> Arc<dyn LogSync>;

    /// Preallocated length in bytes.
    fn len_bytes(&self) -> u64;

    /// Path, for messages.
    fn path(&self) -> &Path;
}

/// Syncs a log file without holding its writer up.
pub trait LogSync: Send + Sync + std::fmt::Debug {
    /// Makes every byte durable whose write had returned when this was called (`fdatasync`).
    ///
    /// # Errors
    /// After a failed sync, what is on the disk is unknown.
    fn sync(&self) -> Result<()>;
}

/// How a log file is written; the bytes on the disk are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogMode {
    /// Copies into a shared memory mapping: nanoseconds a write, for logs that are seldom synced.
    Mapped,
    /// A system call a write: for logs synced after each commit, where the mapping's page would be
    /// protected again by every sync and each write would fault.
    #[default]
    Write,
}

/// Held while a process owns a folder; dropping it gives the folder free.
pub trait FolderLock: Send + Sync + std::fmt::Debug {}

/// A folder that [`Env::hold`] holds; dropping it lets the folder go.
pub trait HeldFolder: Send + Sync + std::fmt::Debug {
    /// Whether the folder's path still leads to it, and its lock is still the one that was taken.
    ///
    /// # Errors
    /// [`EnvError::Moved`] where they are not.
    fn check(&self) -> Result<()>;
}

/// A folder of an environment in which nobody moves folders.
#[derive(Debug)]
struct Unmoved;

impl HeldFolder for Unmoved {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Something a thread can wait for. Spurious wake-ups do not escape: `wait_until` checks again.
pub trait Signal: Send + Sync {
    /// Wakes every waiter to check its condition again.
    fn notify(&self);

    /// Returns when `ready` returns true. `ready` is called on this thread, never while a lock of
    /// the signal is held that [`Signal::notify`] needs. No wake-up is lost between check and wait.
    fn wait_until(&self, ready: &mut dyn FnMut() -> bool);

    /// As `wait_until`, for at most `timeout_us` microseconds; returns whether `ready` was true.
    fn wait_until_timeout(&self, timeout_us: u64, ready: &mut dyn FnMut() -> bool) -> bool;
}

/// A background job: runs once.
pub type Job = Box<dyn FnOnce() + Send + 'static>;

/// Which queue a job waits in. Urgent jobs (flush) are never behind long ones (compaction).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Short and awaited by writers.
    Flush,
    /// Long; runs when a worker is free.
    Compaction,
    /// Parallel pieces of a foreground operation (import, check); the caller waits for them.
    Foreground,
}

/// The machine as the engine sees it.
pub trait Env: Send + Sync + std::fmt::Debug {
    // --- files -------------------------------------------------------------------------------

    /// Creates a file to append to. Fails where one exists.
    ///
    /// # Errors
    /// Existing path, missing folder, full disk.
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>>;

    /// Opens an existing file to append to it (a manifest after reopening), truncated to
    /// `keep_bytes` first.
    ///
    /// # Errors
    /// Missing file; `keep_bytes` longer than the file.
    fn open_append(&self, path: &Path, keep_bytes: u64) -> Result<Box<dyn AppendFile>>;

    /// Opens a file for positional reads.
    ///
    /// # Errors
    /// `NotFound` where there is none.
    fn open_read(&self, path: &Path, options: ReadOptions) -> Result<Arc<dyn RandomReadFile>>;

    /// Creates a log file of exactly `len_bytes`, space reserved on the disk, content zero.
    ///
    /// # Errors
    /// Full disk now, rather than in the middle of a commit.
    fn create_log(&self, path: &Path, len_bytes: u64, mode: LogMode) -> Result<Box<dyn LogFile>>;

    /// Opens an existing log file for writing: after recovery, or renamed for reuse (its old
    /// content stays; the log's records tell old from new).
    ///
    /// # Errors
    /// Missing file.
    fn open_log(&self, path: &Path, mode: LogMode) -> Result<Box<dyn LogFile>>;

    /// The whole file at once.
    ///
    /// # Errors
    /// `NotFound`, or a failed read.
    fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        let file = self.open_read(path, ReadOptions::default())?;
        let mut buf = vec![0; usize::try_from(file.len_bytes()?).unwrap_or(usize::MAX)];
        file.read_at(&mut buf, 0)?;
        Ok(buf)
    }

    /// Opens a file that is read in order, whatever it is, without waiting for anybody. Where
    /// folders are given, the file must lie below each of them, links resolved. Here: as its whole
    /// path says.
    ///
    /// # Errors
    /// `NotFound` where there is none, `InvalidInput` for what is no file to be read (a folder, a
    /// block device, a socket), `PermissionDenied` for one elsewhere.
    fn open_stream(&self, path: &Path, below: &[&Path]) -> Result<Box<dyn StreamFile>> {
        let goes_up = path.components().any(|part| part == std::path::Component::ParentDir);
        if !below.is_empty() && (goes_up || !below.iter().all(|folder| path.starts_with(folder))) {
            return Err(EnvError::io("open", path, std::io::ErrorKind::PermissionDenied.into()));
        }
        let file = self.open_read(path, ReadOptions::default())?;
        Ok(Box::new(whole::InOrder::new(file)?))
    }

    /// Renames a file, replacing the target, or a folder with all in it, to a path where nothing
    /// is. Durable after [`Env::sync_folder`] of the folders that hold the names.
    ///
    /// # Errors
    /// Missing source or folder.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` where there is none.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Hard-links a file (or copies it where the file system has no links).
    ///
    /// # Errors
    /// Existing target, missing source.
    fn link(&self, from: &Path, to: &Path) -> Result<()>;

    /// As [`Env::link`], but where the file system has no link between the two it does nothing and
    /// returns false: for callers that copy better than blindly.
    ///
    /// # Errors
    /// As [`Env::link`].
    fn link_if_possible(&self, from: &Path, to: &Path) -> Result<bool> {
        self.link(from, to).map(|()| true)
    }

    /// Names in a folder, sorted, without `.` and `..`. Sub-folders are included.
    ///
    /// # Errors
    /// `NotFound` where there is no folder.
    fn list(&self, folder: &Path) -> Result<Vec<String>>;

    /// Creates a folder and its parents; fine where it exists.
    ///
    /// # Errors
    /// No permission, or a file in the way.
    fn create_folder(&self, folder: &Path) -> Result<()>;

    /// As [`Env::create_folder`], but into a new folder nobody looks but its owner (mode 0700),
    /// where the environment has owners. Its parents are as usual.
    ///
    /// # Errors
    /// As [`Env::create_folder`].
    fn create_private_folder(&self, folder: &Path) -> Result<()> {
        self.create_folder(folder)
    }

    /// Gives the file or folder `to` the owner, the group and the mode of `from`, where the
    /// environment has any.
    ///
    /// # Errors
    /// `PermissionDenied` where this process may not give it to that owner or group; one of them is
    /// missing.
    fn copy_access(&self, from: &Path, to: &Path) -> Result<()> {
        let _ = (from, to);
        Ok(())
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// Not empty, or missing.
    fn remove_folder(&self, folder: &Path) -> Result<()>;

    /// Whether a file or folder is there.
    fn exists(&self, path: &Path) -> bool;

    /// Makes creations, renames and removals in this folder durable.
    ///
    /// # Errors
    /// A failed sync.
    fn sync_folder(&self, folder: &Path) -> Result<()>;

    /// Free bytes on the file system that holds `folder`.
    ///
    /// # Errors
    /// When the kernel does not tell.
    fn free_bytes(&self, folder: &Path) -> Result<u64>;

    /// How many files a database may keep open to read them, so that descriptors are left for
    /// others.
    fn open_files_max(&self) -> usize {
        usize::MAX
    }

    /// Takes the exclusive lock file at `path`, writing `holder` (a line of text) into it.
    ///
    /// # Errors
    /// [`EnvError::Locked`] with the text the present holder wrote.
    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn FolderLock>>;

    /// Where a path leads when the symbolic links in it are followed. The last part of it need not
    /// be there.
    ///
    /// # Errors
    /// A link that leads nowhere, or in a circle; a folder that may not be looked into.
    fn resolved(&self, path: &Path) -> Result<PathBuf> {
        Ok(path.to_owned())
    }

    /// Whether a file at `path` would lie in `folder`, at any depth, by whatever names: links are
    /// followed, those at the end of `path` too, and folders compared by what they are, not by how
    /// they are spelled.
    fn is_within(&self, path: &Path, folder: &Path) -> bool {
        path.starts_with(folder)
    }

    /// Holds a folder, by a path that [`Env::resolved`] gave, until the result is dropped.
    /// Meanwhile every operation on a path below it stays inside: it is done from the open folder,
    /// and follows no symbolic link. One that creates, renames, removes or writes fails with
    /// [`EnvError::Moved`] once the path leads to another folder, or the lock taken in it is
    /// another file. Reads go on, in the folder that was opened.
    ///
    /// # Errors
    /// Missing folder; [`EnvError::Moved`] where this environment holds another one that was at
    /// this path.
    fn hold(&self, folder: &Path) -> Result<Arc<dyn HeldFolder>> {
        let _ = folder;
        Ok(Arc::new(Unmoved))
    }

    // --- clock and randomness ------------------------------------------------------------------

    /// Microseconds since some fixed moment; never goes back.
    fn monotonic_us(&self) -> u64;

    /// Microseconds since 1970-01-01T00:00:00Z.
    fn wall_us(&self) -> u64;

    /// A random word.
    fn random_u64(&self) -> u64;

    /// A line that names this process for a lock file: process id, program, host.
    fn process_line(&self) -> String;

    /// To be asked before a job is waited for: in a child of a `fork` no job runs.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in another process than the one that made the environment.
    fn check_process(&self) -> Result<()> {
        Ok(())
    }

    // --- jobs ----------------------------------------------------------------------------------

    /// Queues a background job. Jobs of one kind start in order; they may run in parallel.
    fn spawn(&self, kind: JobKind, job: Job);

    /// Runs a short job in `delay_us` microseconds or somewhat later, unless the environment is
    /// gone by then. Nothing waits for such a job, also not [`Env::drain_jobs`], so only what is
    /// good to be done soon may depend on it: an environment without time of its own, as here,
    /// forgets it.
    fn spawn_after(&self, delay_us: u64, job: Job) {
        let _ = (delay_us, job);
    }

    /// How many jobs can run at once: the number of worker threads, at least 1.
    fn parallelism(&self) -> usize;

    /// Whether threads besides its jobs' run as the machine likes. Where it decides itself who runs
    /// next, they do not.
    fn has_threads(&self) -> bool {
        true
    }

    /// Gives memory that was freed back to the system, where the allocator keeps it: after work
    /// that held much for a while. Takes milliseconds.
    fn release_memory(&self) {}

    /// Bytes of memory that the process has from the system, all of the program included, mapped
    /// files not; 0 where that is not known.
    fn resident_bytes(&self) -> u64 {
        0
    }

    /// Whether nothing outlives the process, so that nothing has to be made durable.
    fn is_volatile(&self) -> bool {
        false
    }

    /// A new signal.
    fn signal(&self) -> Arc<dyn Signal>;

    /// Waits until all jobs this environment has queued are done (closing a database).
    fn drain_jobs(&self);
}

/// Joins a folder and a file name; here so that callers need no path juggling of their own.
#[must_use]
pub fn join(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}
