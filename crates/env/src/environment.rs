//! The environment: files, the clock, randomness, threads and memory.

use crate::error::{EnvError, Result};
use crate::files::{
    AppendFile, FolderLock, HeldFolder, LogFile, LogMode, RandomReadFile, ReadOptions, StreamFile,
    Unmoved,
};
use crate::whole::InOrder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// A part of a parallel foreground operation (import, check), which waits for it. Also a
    /// delayed flush of a write buffer.
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
        Ok(Box::new(InOrder::new(file)?))
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
