//! The lock that keeps a second writer out of a folder.
//!
//! The kernel's lock on an open file goes away with the process, however it ends; a lock made of a
//! file's mere existence would outlive a killed one. The file itself stays, with the last holder's
//! line.
//!
//! # Why it is given back by a call
//! The lock belongs to the open file, and closing gives it back only with the last descriptor. A
//! process that another thread is just starting has copies of all descriptors until it runs its
//! program, so who closed a database and opened it again could meet a lock that nobody holds.
//!
//! # What a child of `fork` has of it
//! Nothing: its descriptor is closed before `fork` returns there (`owner.rs`). So the lock ends
//! with its process, however many children outlive that, and a child that opens the folder itself
//! meets its parent's lock as any process does.

use std::fs::{File, TryLockError};
use std::io::ErrorKind::{QuotaExceeded, StorageFull};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::owner::ClosedInChildren;
use crate::{EnvError, FolderLock, Own, Result};

/// Holds the lock until dropped.
#[derive(Debug)]
pub(crate) struct RealLock {
    /// `None` once it was given back.
    held: Option<Own<Held>>,
}

/// In this order: nobody closes what is closed already.
#[derive(Debug)]
struct Held {
    _closed_in_children: ClosedInChildren,
    file: File,
}

impl Drop for RealLock {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        // A child that was made without the C library still has the descriptor, and must leave its
        // parent's lock alone.
        if !held.owner().is_surely_here() {
            std::mem::forget(held);
            return;
        }
        if let Ok(held) = held.get() {
            // Where it fails, closing does it.
            let _ = held.file.unlock();
        }
    }
}

impl FolderLock for RealLock {}

impl RealLock {
    /// Locks the file at `path`, which was opened to be read and written.
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

/// Over the line before, which needs no room that the file does not have: also on a full disk.
fn write_holder(file: &mut File, holder: &str) -> io::Result<()> {
    let line = format!("{holder}\n");
    match file.write_all(line.as_bytes()).and_then(|()| file.set_len(line.len() as u64)) {
        // Only words for a message; the lock is taken without them.
        Err(e) if matches!(e.kind(), StorageFull | QuotaExceeded) => Ok(()),
        written => written,
    }
}

fn read_holder(file: &mut File) -> String {
    let mut bytes = Vec::new();
    // Only words for a message: a failed read is told as an unknown holder.
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

    /// Found by tests that start processes: the command started beside them held the lock for a
    /// moment.
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
