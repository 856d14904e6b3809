//! The only access to files, the clock, randomness and threads.
//!
//! # Why one crate for all of it
//! A database earns trust if its failures can be replayed. Everything below the `quipu` crate
//! reaches the machine through [`Env`]. So a simulated environment can lose unsynced data, tear
//! writes, fill the disk and interleave jobs, all from one seed, and the engine runs the same code.
//!
//! # Invariants
//! 1. This crate does not interpret the bytes that it reads and writes.
//! 2. Every error names the operation and the path ([`EnvError`]).
//! 3. An environment works only in the process that created it. In a child of `fork` it touches no
//!    file, starts no job and joins no thread ([`Owner`]).
//! 4. Threads block only on a [`Signal`], so a simulated environment can run other jobs meanwhile.
//!
//! # Modules
//! - Environments: `real` (the operating system), `memory`, and `model` for the model checker.
//! - Threads: `jobs` (worker pool), `scoped` (threads on borrowed data), `timer` (delayed jobs),
//!   `sync` (locks and atomics), `stack` (free stack of a thread).
//! - `pauses` waits between attempts in non-blocking mode.
//! - `owner` recognizes a child of `fork`. `whole` reads a file of known length sequentially.

// clippy.toml forbids these methods and types everywhere else and names this crate as the
// replacement.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod error;
mod jobs;
mod memory;
#[cfg(feature = "shuttle")]
pub mod model;
mod non_blocking;
mod owner;
mod pauses;

#[cfg(unix)]
mod real;
mod scoped;
mod stack;
pub mod sync;
mod timer;
mod whole;

pub use error::{EnvError, Result};
pub use jobs::parallel;
pub use memory::{MemoryEnv, ReadCounts};
pub use non_blocking::{try_without_blocking, wait_from_here};
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
    /// Bypass the page cache if the file system supports direct I/O; otherwise read as usual.
    /// Callers need not align anything: the environment reads aligned blocks and copies.
    pub direct: bool,
}

/// One piece of a batched read: `buf.len()` bytes from `offset`.
#[derive(Debug)]
pub struct ReadRequest {
    /// First byte to read, counted from the start of the file.
    pub offset: u64,
    /// Buffer to fill. A file that ends earlier is an `UnexpectedEof` error.
    pub buf: Vec<u8>,
}

/// One piece of a read of several files: `buf.len()` bytes from `offset`, as in [`ReadRequest`].
#[derive(Debug)]
pub struct FileRead {
    /// The file to read.
    pub file: Arc<dyn RandomReadFile>,
    /// First byte to read, counted from the start of the file.
    pub offset: u64,
    /// Buffer to fill. A file that ends earlier is an error.
    pub buf: Vec<u8>,
}

/// Fills all requests. They are in flight together if the environment supports it; otherwise the
/// files are read one after the other.
///
/// # Errors
/// The first failure. The contents of the buffers are then unspecified.
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

/// A file open for positional reads. By contract its content does not change while it is open,
/// except for log files.
pub trait RandomReadFile: Send + Sync + std::fmt::Debug {
    /// Fills `buf` with the bytes from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before the buffer is full.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()>;

    /// Fills all requests, in flight together if the kernel supports it (`io_uring`).
    ///
    /// # Errors
    /// The first failure. The contents of the buffers are then unspecified.
    fn read_batch(&self, requests: &mut [ReadRequest]) -> Result<()>;

    /// Implements [`read_files`], which calls it on one of the files: fills all requests with all
    /// of them in flight and returns true, or does nothing and returns false. The default does
    /// nothing.
    ///
    /// # Errors
    /// As [`RandomReadFile::read_batch`].
    fn read_together(&self, reads: &mut [FileRead]) -> Result<bool> {
        let _ = reads;
        Ok(false)
    }

    /// The file as [`std::any::Any`], so that an environment can recognize its own files among
    /// several.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// Checks whether a read would fail because it may not block ([`try_without_blocking`]).
    /// Callers use it before they allocate memory for the read.
    ///
    /// # Errors
    /// `WouldBlock` if it would.
    fn may_read(&self) -> Result<()> {
        Ok(())
    }

    /// Asks the kernel to load this range into its cache. Best effort.
    fn read_ahead(&self, offset: u64, bytes: u64);

    /// Current length of the file in bytes.
    ///
    /// # Errors
    /// If the kernel does not report it.
    fn len_bytes(&self) -> Result<u64>;

    /// Path under which the file was opened, for messages.
    fn path(&self) -> &Path;
}

/// A file that is read sequentially and whose length may be unknown: a regular file, a pipe, or a
/// virtual file such as those of `/proc`.
pub trait StreamFile: Send + std::fmt::Debug {
    /// Reads the next bytes into `buf` and returns their number; 0 at the end of the file. Returns
    /// `None` if nothing arrived for about `wait_us` microseconds or the wait was interrupted; call
    /// again then.
    ///
    /// # Errors
    /// A failed read.
    fn read_some(&mut self, buf: &mut [u8], wait_us: u64) -> Result<Option<usize>>;

    /// Length in bytes; `None` if the file does not report one that can be trusted.
    fn len_bytes(&self) -> Option<u64>;
}

/// A new file that is written sequentially: a table, a manifest or an export.
pub trait AppendFile: Send + std::fmt::Debug {
    /// Appends all of `bytes`, possibly to a buffer; see [`AppendFile::flush`] and
    /// [`AppendFile::sync`].
    ///
    /// # Errors
    /// Any failed write. The file's content past the last sync is then unknown.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Passes buffered bytes to the operating system. They then survive a killed process, but not a
    /// power cut.
    ///
    /// # Errors
    /// As [`AppendFile::append`].
    fn flush(&mut self) -> Result<()>;

    /// Flushes, then makes the data durable (`fdatasync`).
    ///
    /// # Errors
    /// A failed flush or sync. The content of the disk is then unknown.
    fn sync(&mut self) -> Result<()>;

    /// Number of bytes appended so far, buffered ones included.
    fn len_bytes(&self) -> u64;

    /// Path under which the file was created, for messages.
    fn path(&self) -> &Path;
}

/// A preallocated file of the write-ahead log: fixed length, written at growing offsets, recycled.
///
/// The real environment may map it into memory, so that a small write costs no system call and
/// still survives a killed process. Other processes that read the file see every write.
pub trait LogFile: Send + std::fmt::Debug {
    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// Any failed write; a write past [`LogFile::len_bytes`].
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()>;

    /// Makes all writes so far durable (`fdatasync`).
    ///
    /// # Errors
    /// A failed sync. The content of the disk is then unknown.
    fn sync(&mut self) -> Result<()>;

    /// A handle to sync this file from another thread while writes continue (group commit).
    fn sync_handle(&self) -> Arc<dyn LogSync>;

    /// Preallocated length in bytes.
    fn len_bytes(&self) -> u64;

    /// Path under which the file was opened, for messages.
    fn path(&self) -> &Path;
}

/// Syncs a log file without blocking its writer.
pub trait LogSync: Send + Sync + std::fmt::Debug {
    /// Makes all writes durable that had returned before this call (`fdatasync`).
    ///
    /// # Errors
    /// A failed sync. The content of the disk is then unknown.
    fn sync(&self) -> Result<()>;
}

/// How a log file is written. The bytes on disk do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogMode {
    /// Copies into a shared memory mapping, in nanoseconds per write. For logs that are rarely
    /// synced.
    Mapped,
    /// One system call per write. For logs that are synced after each commit: each sync would
    /// write-protect the mapped page again, so the next write would fault.
    #[default]
    Write,
}

/// An exclusive lock on a folder. Dropping it releases the folder.
pub trait FolderLock: Send + Sync + std::fmt::Debug {}

/// A folder held by [`Env::hold`]. Dropping it releases the folder.
pub trait HeldFolder: Send + Sync + std::fmt::Debug {
    /// Checks that the folder's path still leads to this folder and that its lock file was not
    /// replaced.
    ///
    /// # Errors
    /// [`EnvError::Moved`] otherwise.
    fn check(&self) -> Result<()>;
}

/// A folder of an environment in which folders cannot be moved from outside.
#[derive(Debug)]
struct Unmoved;

impl HeldFolder for Unmoved {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// A condition that threads can wait for. Waits do not return early: a spurious wake-up only checks
/// the condition again.
pub trait Signal: Send + Sync {
    /// Wakes every waiter, which then checks its condition again.
    fn notify(&self);

    /// Returns when `ready` returns true. `ready` is called on this thread, and never while the
    /// signal holds a lock that [`Signal::notify`] needs. A notification between the check and the
    /// wait is not lost.
    fn wait_until(&self, ready: &mut dyn FnMut() -> bool);

    /// As [`Signal::wait_until`], for at most `timeout_us` microseconds. Returns the last result of
    /// `ready`.
    fn wait_until_timeout(&self, timeout_us: u64, ready: &mut dyn FnMut() -> bool) -> bool;
}

/// A background job, which runs once.
pub type Job = Box<dyn FnOnce() + Send + 'static>;

/// The queue of a job. A flush never waits behind a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Short; writers wait for it.
    Flush,
    /// Long; runs when a worker is free.
    Compaction,
    /// A part of a parallel foreground operation (import, check), which waits for it.
    Foreground,
}

/// Access to the machine: files, clock, randomness and jobs.
pub trait Env: Send + Sync + std::fmt::Debug {
    // --- files -------------------------------------------------------------------------------

    /// Creates a file to append to.
    ///
    /// # Errors
    /// The path exists, the folder is missing, or the disk is full.
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>>;

    /// Truncates an existing file to `keep_bytes` and opens it to append to it, as a manifest after
    /// reopening.
    ///
    /// # Errors
    /// The file is missing or shorter than `keep_bytes`.
    fn open_append(&self, path: &Path, keep_bytes: u64) -> Result<Box<dyn AppendFile>>;

    /// Opens a file for positional reads.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist.
    fn open_read(&self, path: &Path, options: ReadOptions) -> Result<Arc<dyn RandomReadFile>>;

    /// Creates a log file of exactly `len_bytes` zero bytes with its disk space reserved.
    ///
    /// # Errors
    /// A full disk is reported here instead of in the middle of a commit.
    fn create_log(&self, path: &Path, len_bytes: u64, mode: LogMode) -> Result<Box<dyn LogFile>>;

    /// Opens an existing log file to write to it, after recovery or after renaming it for reuse.
    /// The old content stays; the log's record format distinguishes old records from new ones.
    ///
    /// # Errors
    /// The file is missing.
    fn open_log(&self, path: &Path, mode: LogMode) -> Result<Box<dyn LogFile>>;

    /// Reads a whole file.
    ///
    /// # Errors
    /// `NotFound`, or a failed read.
    fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        let file = self.open_read(path, ReadOptions::default())?;
        let mut buf = vec![0; usize::try_from(file.len_bytes()?).unwrap_or(usize::MAX)];
        file.read_at(&mut buf, 0)?;
        Ok(buf)
    }

    /// Opens a file of any kind to read it sequentially, without blocking. The file must lie below
    /// each folder in `below` after all links are resolved. The default implementation does not
    /// resolve links; it refuses paths with `..`.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist, `InvalidInput` if it cannot be read sequentially (a
    /// folder, a block device, a socket), `PermissionDenied` if it lies outside of a folder.
    fn open_stream(&self, path: &Path, below: &[&Path]) -> Result<Box<dyn StreamFile>> {
        let goes_up = path.components().any(|part| part == std::path::Component::ParentDir);
        if !below.is_empty() && (goes_up || !below.iter().all(|folder| path.starts_with(folder))) {
            return Err(EnvError::io("open", path, std::io::ErrorKind::PermissionDenied.into()));
        }
        let file = self.open_read(path, ReadOptions::default())?;
        Ok(Box::new(whole::InOrder::new(file)?))
    }

    /// Renames a file and replaces the target if it exists, or renames a folder with its content to
    /// a path that does not exist. Durable after [`Env::sync_folder`] of the folders that hold the
    /// two names.
    ///
    /// # Errors
    /// The source or a folder is missing.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Creates a hard link, or a copy if the file system has no hard links.
    ///
    /// # Errors
    /// The target exists or the source is missing.
    fn link(&self, from: &Path, to: &Path) -> Result<()>;

    /// As [`Env::link`], but returns false instead of copying if no hard link is possible. For
    /// callers with a better way to copy.
    ///
    /// # Errors
    /// As [`Env::link`].
    fn link_if_possible(&self, from: &Path, to: &Path) -> Result<bool> {
        self.link(from, to).map(|()| true)
    }

    /// Sorted names of the files and folders in a folder, without `.` and `..`.
    ///
    /// # Errors
    /// `NotFound` if the folder does not exist.
    fn list(&self, folder: &Path) -> Result<Vec<String>>;

    /// Creates a folder and its parents. Succeeds if the folder exists.
    ///
    /// # Errors
    /// No permission, or a file is in the way.
    fn create_folder(&self, folder: &Path) -> Result<()>;

    /// As [`Env::create_folder`], but only the owner has access to the new folder (mode 0700), if
    /// the environment has owners. Parent folders get the usual mode.
    ///
    /// # Errors
    /// As [`Env::create_folder`].
    fn create_private_folder(&self, folder: &Path) -> Result<()> {
        self.create_folder(folder)
    }

    /// Copies owner, group and mode of `from` to `to`, if the environment has them.
    ///
    /// # Errors
    /// `PermissionDenied` if this process may not set that owner or group; a path is missing.
    fn copy_access(&self, from: &Path, to: &Path) -> Result<()> {
        let _ = (from, to);
        Ok(())
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// The folder is missing or not empty.
    fn remove_folder(&self, folder: &Path) -> Result<()>;

    /// Whether a file or folder exists at `path`.
    fn exists(&self, path: &Path) -> bool;

    /// Makes creations, renames and removals in this folder durable.
    ///
    /// # Errors
    /// A failed sync.
    fn sync_folder(&self, folder: &Path) -> Result<()>;

    /// Free bytes in the file system of `folder`.
    ///
    /// # Errors
    /// If the kernel does not report them.
    fn free_bytes(&self, folder: &Path) -> Result<u64>;

    /// Maximum number of files that a database may keep open for reading. It leaves descriptors for
    /// the log, other databases and the program.
    fn open_files_max(&self) -> usize {
        usize::MAX
    }

    /// Takes the exclusive lock file at `path` and writes the line `holder` into it.
    ///
    /// # Errors
    /// [`EnvError::Locked`] with the line that the current holder wrote.
    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn FolderLock>>;

    /// Resolves symbolic links in `path`. The last component need not exist.
    ///
    /// # Errors
    /// A dangling or circular link; a folder without permission to read it.
    fn resolved(&self, path: &Path) -> Result<PathBuf> {
        Ok(path.to_owned())
    }

    /// Whether a file at `path` would lie in `folder`, at any depth. Symbolic links are followed,
    /// also at the end of `path`. Folders are compared by identity, not by name.
    fn is_within(&self, path: &Path, folder: &Path) -> bool {
        path.starts_with(folder)
    }

    /// Holds a folder until the result is dropped; `folder` must come from [`Env::resolved`].
    /// Meanwhile all operations on paths below it start from the open folder and follow no symbolic
    /// links. Operations that create, rename, remove or write fail with [`EnvError::Moved`] if the
    /// path now leads to another folder, or if the lock file taken in it was replaced. Reads
    /// continue in the folder that was opened.
    ///
    /// # Errors
    /// The folder is missing; [`EnvError::Moved`] if this environment holds another folder that was
    /// at this path.
    fn hold(&self, folder: &Path) -> Result<Arc<dyn HeldFolder>> {
        let _ = folder;
        Ok(Arc::new(Unmoved))
    }

    // --- clock and randomness ------------------------------------------------------------------

    /// Microseconds since an arbitrary fixed time. Never decreases.
    fn monotonic_us(&self) -> u64;

    /// Microseconds since 1970-01-01T00:00:00Z.
    fn wall_us(&self) -> u64;

    /// 64 random bits. Not for cryptography.
    fn random_u64(&self) -> u64;

    /// A line that describes this process for a lock file: process id, program and host.
    fn process_line(&self) -> String;

    /// Checks that jobs run in this process. Call it before waiting for a job: in a child of `fork`
    /// none runs.
    ///
    /// # Errors
    /// [`EnvError::Forked`] if another process created the environment.
    fn check_process(&self) -> Result<()> {
        Ok(())
    }

    // --- jobs ----------------------------------------------------------------------------------

    /// Queues a background job. Jobs of one kind start in order and may run in parallel.
    fn spawn(&self, kind: JobKind, job: Job);

    /// Runs a short job after `delay_us` microseconds or a little later. The job is dropped if the
    /// environment is gone by then. Nothing waits for it, not even [`Env::drain_jobs`], so use it
    /// only for work that may be skipped. The default implementation drops it.
    fn spawn_after(&self, delay_us: u64, job: Job) {
        let _ = (delay_us, job);
    }

    /// Maximum number of jobs that run at the same time: the number of workers, at least 1.
    fn parallelism(&self) -> usize;

    /// Whether threads other than workers run freely. False if the environment schedules all
    /// threads itself.
    fn has_threads(&self) -> bool {
        true
    }

    /// Returns freed memory from the allocator to the system, after work that used much of it.
    /// Takes milliseconds.
    fn release_memory(&self) {}

    /// Resident memory of the whole process in bytes, without mapped files; 0 if unknown.
    fn resident_bytes(&self) -> u64 {
        0
    }

    /// Whether data is lost with the process, so that nothing needs to be made durable.
    fn is_volatile(&self) -> bool {
        false
    }

    /// Creates a signal.
    fn signal(&self) -> Arc<dyn Signal>;

    /// Waits until all queued jobs have finished. Used to close a database.
    fn drain_jobs(&self);
}

/// Path of the file `name` in `folder`.
#[must_use]
pub fn join(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}
