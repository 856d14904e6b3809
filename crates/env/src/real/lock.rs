//! The lock that keeps a second writer out of a folder.
//!
//! The kernel's lock on an open file goes away with the process, however it ends; a lock made of a
//! file's mere existence would outlive a killed one. The file itself stays, with the last holder's line.
//!
//! # Why it is given back by a call
//! The lock belongs to the open file, and closing gives it back only with the last descriptor. A process that another
//! thread is just starting has copies of all descriptors until it runs its program, so who closed a database and opened
//! it again could meet a lock that nobody holds.
//!
//! # What a child of `fork` has of it
//! Nothing: its descriptor is closed before `fork` returns there (`owner.rs`). So the lock ends with its process, however
//! many children outlive that, and a child that opens the folder itself meets its parent's lock as any process does.

use std::fs::{File, OpenOptions, TryLockError};
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
        // A child that was made without the C library still has the descriptor, and must leave its parent's lock alone.
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
    pub(crate) fn take(path: &Path, holder: &str) -> Result<Self> {
        let fail = |e| EnvError::io("lock", path, e);
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(fail)?;
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

fn write_holder(file: &mut File, holder: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(format!("{holder}\n").as_bytes())
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

    /// Found by tests that start processes: the command started beside them held the lock for a moment.
    #[test]
    fn a_lock_given_back_is_free_though_a_process_that_starts_has_its_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let lock = RealLock::take(&path, "first").unwrap();
        let held = lock.held.as_ref().unwrap().get().unwrap();
        let inherited = held.file.try_clone().unwrap();
        assert!(RealLock::take(&path, "second").is_err());
        drop(lock);
        drop(RealLock::take(&path, "third").unwrap());
        drop(inherited);
    }
}
