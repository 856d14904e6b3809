//! Errors of the environment. Each names the operation and the path.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Result of an environment call.
pub type Result<T> = std::result::Result<T, EnvError>;

/// A failed operation on the environment, with the operation and its path.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// The operating system returned an error.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb: "read", "sync", "rename".
        operation: &'static str,
        /// The file or folder that the operation was on.
        path: PathBuf,
        /// The system's error. Shared, so that one failure can be reported to many waiters.
        source: Arc<io::Error>,
    },
    /// Another process holds the folder.
    #[error("{} is locked by {holder}", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The line that the holder wrote into the lock file.
        holder: String,
    },
    /// An object opened in one process was used in another, which inherited it by `fork`.
    #[error(
        "this database was opened in process {opened_in}; this is process {here}, which inherited it by fork\n\
         hint: open it again here, read-only or after process {opened_in} has closed it"
    )]
    Forked {
        /// The process that opened it.
        opened_in: u32,
        /// The process that used it.
        here: u32,
    },
    /// A file was reopened after its database had closed its files.
    #[error("the database is closed")]
    Closed,
    /// A held folder was moved or replaced, or its lock file was. Nothing is created or removed in
    /// it.
    #[error(
        "cannot {operation} {}: the folder {} {what} since it was opened; close the database, \
         and open it where it is now",
        path.display(),
        folder.display()
    )]
    Moved {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file or folder that the operation was on.
        path: PathBuf,
        /// The path of the folder when it was opened.
        folder: PathBuf,
        /// The change of the folder, as a verb phrase.
        what: &'static str,
    },
}

impl EnvError {
    /// Adds the operation and the path to a system error.
    #[must_use]
    pub fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source: Arc::new(source) }
    }

    /// The corresponding kind of the standard library. `Locked` is `WouldBlock`; errors without a
    /// kind are `Other`.
    #[must_use]
    pub fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Io { source, .. } => source.kind(),
            Self::Locked { .. } => io::ErrorKind::WouldBlock,
            Self::Forked { .. } | Self::Closed | Self::Moved { .. } => io::ErrorKind::Other,
        }
    }

    /// Whether the path does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the disk is full or a quota is exceeded.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// Whether the process or the machine has run out of file descriptors. The condition passes
    /// when other files are closed.
    #[must_use]
    pub fn is_out_of_descriptors(&self) -> bool {
        // `EMFILE` and `ENFILE` have the same numbers on Linux, macOS and the BSDs.
        const OUT_OF_THEM: [i32; 2] = [24, 23];
        let Self::Io { source, .. } = self else { return false };
        source.raw_os_error().is_some_and(|number| OUT_OF_THEM.contains(&number))
    }

    /// Whether a read went past the end of a file.
    #[must_use]
    pub fn is_past_end(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof)
    }
}
