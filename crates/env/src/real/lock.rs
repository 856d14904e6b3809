//! The lock that keeps a second writer out of a folder.
//!
//! The kernel's lock on an open file goes away with the process, however it ends; a lock made of a
//! file's mere existence would outlive a killed one. The file itself stays, with the last holder's line.
//!
//! # Why it is given back by a call
//! The lock belongs to the open file, and closing gives it back only with the last descriptor. A process that another
//! thread is just starting has copies of all descriptors until it runs its program, so who closed a database and opened
//! it again could meet a lock that nobody holds.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::{EnvError, FolderLock, Result};

/// Holds the lock until dropped.
#[derive(Debug)]
pub(crate) struct RealLock {
    file: File,
    process: u32,
}

impl Drop for RealLock {
    fn drop(&mut self) {
        // A forked child that ends has a copy of this, and must leave its parent's lock alone.
        if std::process::id() == self.process {
            // Where it fails, closing does it.
            let _ = self.file.unlock();
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
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = read_holder(&mut file);
                return Err(EnvError::Locked { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(e)) => return Err(fail(e)),
        }
        write_holder(&mut file, holder).map_err(fail)?;
        Ok(Self { file, process: std::process::id() })
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
        let inherited = lock.file.try_clone().unwrap();
        assert!(RealLock::take(&path, "second").is_err());
        drop(lock);
        drop(RealLock::take(&path, "third").unwrap());
        drop(inherited);
    }
}
