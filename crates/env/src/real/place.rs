//! Resolves the path of an operation: from a held folder's descriptor, or as the user wrote it.
//!
//! # Why a walk and not one call
//! `openat2` with `RESOLVE_NO_SYMLINKS` would take one call on kernels that have it, but only opens
//! files. A walk works for every operation on every system. Below a database's folder it is a
//! single step.
//!
//! # Invariants
//! 1. Below a held folder no component may be a symbolic link, not even the last.
//! 2. Only regular files are opened for reading or writing. Opening never blocks; opening a named
//!    pipe could block forever.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fcntl_setfl, fstat, mkdirat, openat, statat,
};
use rustix::io::Errno;

use super::folder::Folder;
use crate::error::{EnvError, Result};

/// Modes of new files and folders, before the process's umask.
const FILE_MODE: u32 = 0o666;
pub(super) const FOLDER_MODE: u32 = 0o777;

/// Mode of a new database folder: only the owner has access, as with PostgreSQL's data folder.
pub(super) const PRIVATE_FOLDER_MODE: u32 = 0o700;

/// Flags to open a folder in order to access its entries.
pub(super) fn open_folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// A folder and a name in it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    /// The path that the caller gave, for messages.
    path: &'a Path,
    name: &'a Path,
    from: From,
}

#[derive(Debug)]
enum From {
    /// Outside of all held folders. `name` is the whole path, and symbolic links are followed.
    Here,
    Held(Arc<Folder>),
    /// A folder below a held one.
    Inner(OwnedFd),
}

impl<'a> Place<'a> {
    pub(super) fn here(path: &'a Path) -> Self {
        Self { path, name: path, from: From::Here }
    }

    /// Walks from the held folder to the parent of `path`.
    pub(super) fn below(
        operation: &'static str,
        folder: Arc<Folder>,
        path: &'a Path,
    ) -> Result<Self> {
        let inner = path.strip_prefix(folder.path()).unwrap_or(path);
        let mut place = Self { path, name: Path::new("."), from: From::Held(folder) };
        let mut names = inner.components().peekable();
        while let Some(name) = names.next() {
            if !matches!(name, Component::Normal(_)) {
                let error =
                    io::Error::new(io::ErrorKind::InvalidInput, "it leads out of the folder");
                return Err(EnvError::io(operation, path, error));
            }
            place.name = Path::new(name.as_os_str());
            if names.peek().is_some() {
                place = place.step(operation)?;
            }
        }
        Ok(place)
    }

    /// Enters the folder with this name.
    fn step(self, operation: &'static str) -> Result<Self> {
        let flags = open_folder_flags() | OFlags::NOFOLLOW;
        match openat(self.descriptor(), self.name, flags, Mode::empty()) {
            Ok(inner) => Ok(Self { from: From::Inner(inner), ..self }),
            Err(error) => Err(self.fail(operation, error)),
        }
    }

    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    pub(super) fn name(&self) -> &'a Path {
        self.name
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.from {
            From::Here => CWD,
            From::Held(folder) => folder.descriptor(),
            From::Inner(folder) => folder.as_fd(),
        }
    }

    fn is_held(&self) -> bool {
        !matches!(self.from, From::Here)
    }

    /// Flags that prevent opening a symbolic link, if in a held folder.
    pub(super) fn follow(&self) -> OFlags {
        if self.is_held() { OFlags::NOFOLLOW } else { OFlags::empty() }
    }

    /// As [`Place::follow`], for calls that only look up a name.
    pub(super) fn at_flags(&self) -> AtFlags {
        if self.is_held() { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() }
    }

    /// Opens the entry, which must be a regular file.
    pub(super) fn open(&self, operation: &'static str, flags: OFlags) -> Result<File> {
        // Neither waits for the other end of a pipe nor makes a terminal the controlling one.
        let open_flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file =
            openat(self.descriptor(), self.name, flags | open_flags | self.follow(), Mode::empty())
                .map_err(|error| self.fail(operation, error))?;
        let fail = |error| EnvError::io(operation, self.path, error);
        let there = fstat(&file).map_err(|error| fail(error.into()))?;
        check_is_file(FileType::from_raw_mode(there.st_mode)).map_err(fail)?;
        // Clears `O_NONBLOCK`, with which a read through `io_uring` may fail with `EAGAIN`.
        let status = flags & (OFlags::APPEND | direct());
        fcntl_setfl(&file, status).map_err(|error| fail(error.into()))?;
        Ok(File::from(file))
    }

    /// Opens the entry to write to it. In a held folder it must not have hard links: their content
    /// would change too, wherever they are.
    pub(super) fn open_alone(&self, operation: &'static str, flags: OFlags) -> Result<File> {
        let file = self.open(operation, flags)?;
        let there = fstat(&file).map_err(|error| self.fail(operation, error))?;
        if self.is_held() && there.st_nlink > 1 {
            let what = "it has another name (a hard link), and would change there too; put a copy in its place";
            let error = io::Error::new(io::ErrorKind::InvalidInput, what);
            return Err(EnvError::io(operation, self.path, error));
        }
        Ok(file)
    }

    /// Creates a file; fails if the name exists.
    pub(super) fn create(&self, operation: &'static str, flags: OFlags) -> Result<File> {
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(self.descriptor(), self.name, flags, Mode::from_raw_mode(FILE_MODE));
        file.map(File::from).map_err(|error| self.fail(operation, error))
    }

    /// Creates the folder if it does not exist, and checks that it can be opened.
    pub(super) fn create_folder(&self, operation: &'static str, mode: u32) -> Result<()> {
        match mkdirat(self.descriptor(), self.name, Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(self.fail(operation, error)),
        }
        self.open_folder(operation).map(drop)
    }

    /// Opens a file or folder to read or change its owner and mode.
    pub(super) fn open_any(&self, operation: &'static str) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(self.descriptor(), self.name, flags | self.follow(), Mode::empty());
        file.map(File::from).map_err(|error| self.fail(operation, error))
    }

    /// Opens a folder to list or sync its entries.
    pub(super) fn open_folder(&self, operation: &'static str) -> Result<OwnedFd> {
        let flags = open_folder_flags() | self.follow();
        let folder = openat(self.descriptor(), self.name, flags, Mode::empty());
        folder.map_err(|error| self.fail(operation, error))
    }

    /// The error of a call on this place. If a special file is in the way, the message says which
    /// kind.
    #[cold]
    pub(super) fn fail(&self, operation: &'static str, error: Errno) -> EnvError {
        let fail = |error| EnvError::io(operation, self.path, error);
        if !matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::OPNOTSUPP) {
            return fail(error.into());
        }
        let there = statat(self.descriptor(), self.name, self.at_flags());
        match there.map(|there| FileType::from_raw_mode(there.st_mode)) {
            Ok(kind @ (FileType::RegularFile | FileType::Directory)) => {
                let _ = kind;
                fail(error.into())
            }
            Ok(kind) => fail(check_is_file(kind).err().unwrap_or_else(|| error.into())),
            Err(_) => fail(error.into()),
        }
    }
}

/// The flag for direct I/O, if the system has one.
pub(super) fn direct() -> OFlags {
    #[cfg(target_os = "linux")]
    return OFlags::DIRECT;
    #[cfg(not(target_os = "linux"))]
    OFlags::empty()
}

fn check_is_file(kind: FileType) -> io::Result<()> {
    let what = match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(io::ErrorKind::IsADirectory.into()),
        FileType::Symlink => {
            "it is a symbolic link, and none is followed within the folder of a database"
        }
        FileType::Fifo => "it is a named pipe, and not a regular file",
        FileType::Socket => "it is a socket, and not a regular file",
        FileType::CharacterDevice | FileType::BlockDevice => {
            "it is a device, and not a regular file"
        }
        _ => "it is not a regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}
