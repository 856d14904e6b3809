//! Held folders. They are accessed through an open descriptor, so that operations stay in the
//! folder even if it is moved.
//!
//! # Invariants
//! 1. While a folder is held, every path below it is resolved from its descriptor, one component at
//!    a time, without following symbolic links ([`super::place`]).
//! 2. Nothing below it is created, renamed or removed if its path now leads to another folder, or
//!    if its lock file was replaced. Otherwise another user of that path would lose files.
//! 3. The path is the one that the kernel resolved when the folder was opened. Links above it may
//!    change.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, openat, stat, statat};

use super::lock::RealLock;
use super::place::{Place, open_folder_flags};
use crate::error::{EnvError, Result};
use crate::files::{FolderLock, HeldFolder};
use crate::jobs::locked;
use crate::owner::Owner;

/// How often a lock file may be replaced during locking before this is an error.
const LOCK_ATTEMPTS: usize = 100;

/// Identity of a file or folder, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    // The widths of the fields differ between systems.
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss)]
    pub(super) fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev as u64, number: stat.st_ino as u64 }
    }
}

/// Whether `folder` contains `path`, compared by identity: a mount may show a folder under another
/// path.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = stat(folder) else { return false };
    let is_it =
        |above: &Path| stat(above).is_ok_and(|there| Identity::of(&there) == Identity::of(&folder));
    path.ancestors().any(is_it)
}

/// A held folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    descriptor: OwnedFd,
    identity: Identity,
    /// Name and identity of the lock file taken in it.
    lock: Mutex<Option<(PathBuf, Identity)>>,
}

impl Folder {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if the folder's path now leads to another folder, or if its lock file was replaced.
    pub(super) fn check_in_place(&self, operation: &'static str, path: &Path) -> Result<()> {
        let moved = |what| {
            let (path, folder) = (path.to_owned(), self.path.clone());
            Err(EnvError::Moved { operation, path, folder, what })
        };
        if stat(&self.path).map(|there| Identity::of(&there)) != Ok(self.identity) {
            return moved("was moved, removed or replaced");
        }
        if let Some((name, identity)) = &*locked(&self.lock) {
            let there = statat(self.descriptor(), name, AtFlags::SYMLINK_NOFOLLOW);
            if there.map(|there| Identity::of(&there)) != Ok(*identity) {
                return moved("has another lock file");
            }
        }
        Ok(())
    }
}

impl HeldFolder for Arc<Folder> {
    fn check(&self) -> Result<()> {
        self.check_in_place("use", &self.path)
    }
}

/// All folders that an environment holds.
#[derive(Debug, Default)]
pub(super) struct Folders(Mutex<Vec<Weak<Folder>>>);

impl Folders {
    /// The innermost held folder that contains `path`. A held folder contains itself only if
    /// `itself` is set.
    pub(super) fn around(&self, path: &Path, itself: bool) -> Option<Arc<Folder>> {
        let folders = locked(&self.0);
        let held = folders.iter().filter_map(Weak::upgrade);
        let around = held.filter(|f| path.starts_with(&f.path) && (itself || path != f.path));
        around.max_by_key(|folder| folder.path.as_os_str().len())
    }

    /// Opens a folder and holds it until the result is dropped.
    pub(super) fn hold(&self, path: &Path) -> Result<Arc<Folder>> {
        let operation = "open folder";
        let place = self.place(operation, path, true)?;
        let flags = open_folder_flags() | place.follow();
        let descriptor = openat(place.descriptor(), place.name(), flags, Mode::empty())
            .map_err(|error| place.fail(operation, error))?;
        let held = fstat(&descriptor).map_err(|error| place.fail(operation, error))?;
        let (path, identity) = (path.to_owned(), Identity::of(&held));
        let new = Arc::new(Folder { path, descriptor, identity, lock: Mutex::default() });
        let mut folders = locked(&self.0);
        folders.retain(|folder| folder.strong_count() > 0);
        let mut held = folders.iter().filter_map(Weak::upgrade);
        if let Some(other) = held.find(|folder| folder.path == new.path) {
            // One path cannot lead to two folders, and the first one still has open files.
            other.check_in_place(operation, &new.path)?;
            return Ok(other);
        }
        folders.push(Arc::downgrade(&new));
        Ok(new)
    }

    /// The place of an operation on `path`; see [`Folders::around`] for `itself`.
    pub(super) fn place<'a>(
        &self,
        operation: &'static str,
        path: &'a Path,
        itself: bool,
    ) -> Result<Place<'a>> {
        match self.around(path, itself) {
            Some(folder) => Place::below(operation, folder, path),
            None => Ok(Place::here(path)),
        }
    }

    /// As [`Folders::place`], for operations that change names or open a file to write to it.
    pub(super) fn place_to_change<'a>(
        &self,
        operation: &'static str,
        path: &'a Path,
    ) -> Result<Place<'a>> {
        if let Some(folder) = self.around(path, false) {
            folder.check_in_place(operation, path)?;
        }
        self.place(operation, path, false)
    }

    /// Takes the lock file at `path`. From then on, changes in the held folder around it fail if
    /// the lock file is replaced.
    pub(super) fn lock(&self, path: &Path, holder: &str) -> Result<HeldLock> {
        for _ in 0..LOCK_ATTEMPTS {
            let place = self.place_to_change("lock", path)?;
            let file = open_lock(&place)?;
            let identity = fstat(&file).map_err(|error| place.fail("lock", error))?;
            let lock = RealLock::take(path, file, holder)?;
            // The previous holder may have removed the file before it released the lock, and a
            // third process may have created a new one.
            let there = statat(place.descriptor(), place.name(), place.at_flags());
            if there.map(|there| Identity::of(&there)) != Ok(Identity::of(&identity)) {
                continue;
            }
            let folder = self.around(path, false).filter(|f| path.parent() == Some(&f.path));
            if let (Some(folder), Some(name)) = (&folder, path.file_name()) {
                *locked(&folder.lock) = Some((PathBuf::from(name), Identity::of(&identity)));
            }
            return Ok(HeldLock { owner: Owner::here(), folder, _lock: lock });
        }
        let error = io::Error::other("the lock file is replaced all the time");
        Err(EnvError::io("lock", path, error))
    }
}

/// Opens the lock file, or creates it.
fn open_lock(place: &Place<'_>) -> Result<File> {
    let flags = OFlags::RDWR;
    match place.open_alone("lock", flags) {
        Err(error) if error.is_not_found() => {}
        opened => return opened,
    }
    match place.create("lock", flags) {
        // Another process created it first.
        Err(EnvError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
            place.open_alone("lock", flags)
        }
        created => created,
    }
}

/// A lock and the held folder that checks it.
#[derive(Debug)]
pub(super) struct HeldLock {
    owner: Owner,
    folder: Option<Arc<Folder>>,
    _lock: RealLock,
}

impl FolderLock for HeldLock {}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // In a child of `fork` the mutex may be locked forever.
        if let (Some(folder), true) = (&self.folder, self.owner.is_here()) {
            *locked(&folder.lock) = None;
        }
    }
}
