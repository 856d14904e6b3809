//! Files and folders of an environment.

use crate::error::Result;
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

    /// Checks whether a read would fail because it may not block
    /// ([`try_without_blocking`](crate::try_without_blocking)). Callers use it before they allocate
    /// memory for the read.
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

/// A file that is written sequentially: a table, a manifest or an export.
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

    /// Path under which the file was created or opened, for messages.
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

/// A folder held by [`Env::hold`](crate::Env::hold). Dropping it releases the folder.
pub trait HeldFolder: Send + Sync + std::fmt::Debug {
    /// Checks that the folder's path still leads to this folder and that its lock file was not
    /// replaced.
    ///
    /// # Errors
    /// [`EnvError::Moved`](crate::EnvError::Moved) otherwise.
    fn check(&self) -> Result<()>;
}

/// A folder of an environment in which folders cannot be moved from outside.
#[derive(Debug)]
pub(crate) struct Unmoved;

impl HeldFolder for Unmoved {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Path of the file `name` in `folder`.
#[must_use]
pub fn join(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}
