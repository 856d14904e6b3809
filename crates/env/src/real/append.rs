//! Files written front to back.
//!
//! # Invariants
//! 1. What is in the buffer is not in the file yet; the file's own position is at its end.
//! 2. Dropping writes nothing: a file that nobody flushed is one that nobody finished.
//! 3. The kernel is asked to begin writing as the file grows: the sync at its end then waits for the last piece and not
//!    for all of it. A sync stays what makes bytes durable; an error of the writing before it is the sync's to report.
//! 4. Of one file no more than [`WRITING_BYTES_MAX`] wait for the device: whoever reads from it meanwhile waits behind them. (RocksDB's
//!    `strict_bytes_per_sync`.) An error that is met in this wait is reported here, for the sync will not say it again.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{AppendFile, EnvError, Result};

/// Bytes gathered before a write call. Larger pieces bypass the buffer.
const BUFFER_BYTES: usize = 256 << 10;

/// Bytes after which the kernel is asked to write them: as RocksDB's manual advises for `bytes_per_sync`.
const WRITE_BEHIND_BYTES: u64 = 1 << 20;

/// Bytes that the kernel has been asked to write and has not written, at most; then more is waited for.
const WRITING_BYTES_MAX: u64 = 8 << 20;

#[derive(Debug)]
pub(crate) struct RealAppendFile {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
    written_bytes: u64,
    /// Of those, how many the kernel was asked to write, or has written.
    begun_bytes: u64,
    /// Of those, how many were waited for.
    settled_bytes: u64,
}

impl RealAppendFile {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create_new(path).map_err(|e| EnvError::io("create", path, e))?;
        Ok(Self::at(file, path, 0))
    }

    pub(crate) fn open(path: &Path, keep_bytes: u64) -> Result<Self> {
        let fail = |e| EnvError::io("open to append", path, e);
        let mut file = OpenOptions::new().write(true).open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.len() < keep_bytes {
            return Err(fail(io::Error::from(io::ErrorKind::UnexpectedEof)));
        }
        file.set_len(keep_bytes).map_err(fail)?;
        file.seek(SeekFrom::End(0)).map_err(fail)?;
        Ok(Self::at(file, path, keep_bytes))
    }

    fn at(file: File, path: &Path, len_bytes: u64) -> Self {
        Self {
            file,
            path: path.to_owned(),
            buffer: Vec::new(),
            written_bytes: len_bytes,
            begun_bytes: len_bytes,
            settled_bytes: len_bytes,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let needed = bytes.len() as u64;
        let written = self.file.write_all(bytes);
        written.map_err(|e| super::write_error("write", &self.path, needed, e))?;
        self.written_bytes += needed;
        let waiting = self.written_bytes - self.begun_bytes;
        if waiting >= WRITE_BEHIND_BYTES {
            super::sys::begin_writing(&self.file, self.begun_bytes, waiting);
            self.begun_bytes = self.written_bytes;
            self.settle()?;
        }
        Ok(())
    }
}

impl RealAppendFile {
    /// Waits while too much is being written.
    fn settle(&mut self) -> Result<()> {
        let settled = self.begun_bytes.saturating_sub(WRITING_BYTES_MAX);
        let waiting = settled.saturating_sub(self.settled_bytes);
        if waiting > 0 {
            let waited = super::sys::wait_written(&self.file, self.settled_bytes, waiting);
            waited.map_err(|e| super::write_error("write", &self.path, waiting, e))?;
            self.settled_bytes = settled;
        }
        Ok(())
    }
}

impl AppendFile for RealAppendFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            return self.write(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let written = if buffer.is_empty() { Ok(()) } else { self.write(&buffer) };
        buffer.clear();
        self.buffer = buffer;
        written
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.file.sync_data().map_err(|e| EnvError::io("sync", &self.path, e))
    }

    fn len_bytes(&self) -> u64 {
        self.written_bytes + self.buffer.len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
