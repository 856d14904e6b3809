//! Files that are written sequentially.
//!
//! # Invariants
//! 1. The buffer is not in the file yet. The file's position is at its end.
//! 2. A child of `fork` writes nothing: it shares the file's position with its parent.
//! 3. Dropping writes nothing: a file that was not flushed was not finished.
//! 4. The kernel is asked to start writing while the file grows, so the sync at the end waits only
//!    for the last part. Durability still comes only from a sync. An error of the early writing is
//!    reported by the next wait or sync.
//! 5. At most [`WRITING_BYTES_MAX`] of a file wait for the device, because reads wait behind them
//!    (as with RocksDB's `strict_bytes_per_sync`). The kernel reports an error only once, so all
//!    calls fail after a wait that met one.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::place::Place;
use crate::error::{EnvError, Result};
use crate::files::AppendFile;
use crate::owner::Own;

/// Bytes collected before a write call. Larger pieces bypass the buffer.
const BUFFER_BYTES: usize = 256 << 10;

/// Bytes after which the kernel is asked to start writing. RocksDB's manual recommends this value
/// for `bytes_per_sync`.
const WRITE_BEHIND_BYTES: u64 = 1 << 20;

/// Maximum number of bytes that the kernel is writing. Beyond that, appends wait.
const WRITING_BYTES_MAX: u64 = 8 << 20;

#[derive(Debug)]
pub(crate) struct RealAppendFile {
    file: Own<File>,
    path: PathBuf,
    buffer: Vec<u8>,
    written_bytes: u64,
    /// Part of `written_bytes` that the kernel was asked to write, or has written.
    begun_bytes: u64,
    /// Part of `begun_bytes` that was waited for.
    settled_bytes: u64,
    /// A wait has met an error, which later syncs would not report again.
    has_failed: bool,
}

impl RealAppendFile {
    pub(super) fn create(place: &Place<'_>) -> Result<Self> {
        Ok(Self::at(place.create("create", OFlags::WRONLY)?, place.path(), 0))
    }

    pub(super) fn open(place: &Place<'_>, keep_bytes: u64) -> Result<Self> {
        let (path, operation) = (place.path(), "open to append");
        let fail = |e| EnvError::io(operation, path, e);
        let mut file = place.open_alone(operation, OFlags::WRONLY)?;
        if file.metadata().map_err(fail)?.len() < keep_bytes {
            return Err(fail(io::Error::from(io::ErrorKind::UnexpectedEof)));
        }
        file.set_len(keep_bytes).map_err(fail)?;
        file.seek(SeekFrom::End(0)).map_err(fail)?;
        Ok(Self::at(file, path, keep_bytes))
    }

    fn at(file: File, path: &Path, len_bytes: u64) -> Self {
        Self {
            file: Own::new(file),
            path: path.to_owned(),
            buffer: Vec::new(),
            written_bytes: len_bytes,
            begun_bytes: len_bytes,
            settled_bytes: len_bytes,
            has_failed: false,
        }
    }

    /// Fails after a wait that met an error.
    fn check(&self) -> Result<()> {
        match self.has_failed {
            false => Ok(()),
            true => Err(EnvError::io(
                "write",
                &self.path,
                io::Error::other("an earlier write to the device failed"),
            )),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.check()?;
        let needed = bytes.len() as u64;
        let written = self.file.get_mut()?.write_all(bytes);
        written.map_err(|e| super::write_error("write", &self.path, needed, e))?;
        self.written_bytes += needed;
        let waiting = self.written_bytes - self.begun_bytes;
        if waiting >= WRITE_BEHIND_BYTES {
            super::sys::begin_writing(self.file.get()?, self.begun_bytes, waiting);
            self.begun_bytes = self.written_bytes;
            self.settle()?;
        }
        Ok(())
    }

    /// Waits while more than [`WRITING_BYTES_MAX`] are being written.
    fn settle(&mut self) -> Result<()> {
        let settled = self.begun_bytes.saturating_sub(WRITING_BYTES_MAX);
        let waiting = settled.saturating_sub(self.settled_bytes);
        if waiting > 0 {
            let waited = super::sys::wait_written(self.file.get()?, self.settled_bytes, waiting);
            if let Err(error) = waited {
                self.has_failed = true;
                return Err(super::write_error("write", &self.path, waiting, error));
            }
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
        self.check()?;
        self.file.get()?.sync_data().map_err(|e| EnvError::io("sync", &self.path, e))
    }

    fn len_bytes(&self) -> u64 {
        self.written_bytes + self.buffer.len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_file_little_waits_for_the_device() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let piece = vec![7; 1 << 20];
        let mut file = RealAppendFile::create(&Place::here(&path)).unwrap();
        for written in 1..=20_u64 {
            file.append(&piece).unwrap();
            assert_eq!(file.settled_bytes, (written << 20).saturating_sub(WRITING_BYTES_MAX));
        }
        file.sync().unwrap();
        drop(file);
        // Content from before the file was opened is not waited for.
        let mut file = RealAppendFile::open(&Place::here(&path), 15 << 20).unwrap();
        assert_eq!(file.settled_bytes, 15 << 20);
        for _ in 0..9 {
            file.append(&piece).unwrap();
        }
        assert_eq!(file.settled_bytes, 16 << 20);
        file.sync().unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 24 << 20);
    }

    #[test]
    fn after_a_wait_that_failed_nothing_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let mut file = RealAppendFile::create(&Place::here(&path)).unwrap();
        file.append(b"some").unwrap();
        file.has_failed = true;
        assert!(file.flush().is_err());
        assert!(file.sync().is_err());
        assert!(file.append(&vec![0; BUFFER_BYTES]).is_err());
    }
}
