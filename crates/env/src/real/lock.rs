//! The lock file that excludes a second process from a folder.
//!
//! The kernel releases a lock on an open file when the process ends, for whatever reason. A lock
//! that consisted of a file's existence would survive a killed process. The file itself stays, with
//! the line of its last holder.
//!
//! # Why dropping unlocks explicitly
//! The lock belongs to the open file, and closing releases it only with the last descriptor. A
//! process that another thread is just starting has copies of all descriptors until it executes its
//! program. So a database that is closed and opened again could find itself locked by nobody.
//!
//! # In a child of `fork`
//! A child does not have the lock: its descriptor is closed before `fork` returns there
//! (`owner.rs`). So the lock ends with its process, even if children live longer. A child that
//! opens the folder itself is locked out by its parent as any other process is.

use std::fs::{File, TryLockError};
use std::io::ErrorKind::{QuotaExceeded, StorageFull};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::error::{EnvError, Result};
use crate::files::FolderLock;
use crate::owner::ClosedInChildren;
use crate::owner::Own;

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub(crate) struct RealLock {
    /// `None` after the lock was released.
    held: Option<Own<Held>>,
}

/// The fields are dropped in this order: first children stop closing the descriptor, then it is
/// closed here. Otherwise a child might close another file with the same number.
#[derive(Debug)]
struct Held {
    _closed_in_children: ClosedInChildren,
    file: File,
}

impl Drop for RealLock {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        // A child that was created without the C library still has the descriptor. It must not
        // release the parent's lock.
        if !held.owner().is_surely_here() {
            std::mem::forget(held);
            return;
        }
        if let Ok(held) = held.get() {
            // If this fails, closing the file releases the lock.
            let _ = held.file.unlock();
        }
    }
}

impl FolderLock for RealLock {}

impl RealLock {
    /// Locks `file`, which is open for reading and writing. `path` is for messages.
    pub(super) fn take(path: &Path, mut file: File, holder: &str) -> Result<Self> {
        let fail = |e| EnvError::io("lock", path, e);
        let closed_in_children = ClosedInChildren::new(file.as_raw_fd());
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = read_holder(&mut file);
                drop(closed_in_children);
                return Err(EnvError::Locked { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(e)) => {
                drop(closed_in_children);
                return Err(fail(e));
            }
        }
        let mut held = Held { _closed_in_children: closed_in_children, file };
        write_holder(&mut held.file, holder).map_err(fail)?;
        Ok(Self { held: Some(Own::new(held)) })
    }
}

/// Writes the holder's line over the previous one. This usually needs no new space, so it works on
/// a full disk.
fn write_holder(file: &mut File, holder: &str) -> io::Result<()> {
    let line = format!("{holder}\n");
    match file.write_all(line.as_bytes()).and_then(|()| file.set_len(line.len() as u64)) {
        // The line is used only in messages. Locking works without it.
        Err(e) if matches!(e.kind(), StorageFull | QuotaExceeded) => Ok(()),
        written => written,
    }
}

fn read_holder(file: &mut File) -> String {
    let mut bytes = Vec::new();
    // The line is used only in messages. If it cannot be read, the holder is unknown.
    let _ = file.take(4096).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    match text.lines().next() {
        Some(line) if !line.trim().is_empty() => line.trim().to_owned(),
        _ => "a process that has not written its name yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a command that another test was starting inherited the descriptor and kept the
    /// lock for a short time.
    #[test]
    fn a_lock_given_back_is_free_though_a_process_that_starts_has_its_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let take = |holder| {
            let mut options = File::options();
            let file = options.read(true).write(true).create(true).truncate(false).open(&path);
            RealLock::take(&path, file.unwrap(), holder)
        };
        let lock = take("first").unwrap();
        let held = lock.held.as_ref().unwrap().get().unwrap();
        let inherited = held.file.try_clone().unwrap();
        assert!(take("second").is_err());
        drop(lock);
        drop(take("third").unwrap());
        drop(inherited);
    }
}
