//! The lock that keeps a second writer out of a folder.
//!
//! The kernel's lock on an open file goes away with the process, however it ends; a lock made of a
//! file's mere existence would outlive a killed one. The file itself stays, with the last holder's line.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::{EnvError, FolderLock, Result};

/// Holds the lock until dropped: closing the file gives it free.
#[derive(Debug)]
pub(crate) struct RealLock {
    _file: File,
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
        Ok(Self { _file: file })
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
