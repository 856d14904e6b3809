//! What can go wrong at the door to the machine.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Result of an environment call.
pub type Result<T> = std::result::Result<T, EnvError>;

/// A failed call, with what was tried and on which path.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// The operating system said no.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: "read", "sync", "rename".
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system answered. Shared, so that one failure can be told to many waiters.
        source: Arc<io::Error>,
    },
    /// Another process holds the folder.
    #[error("{} is locked by {holder}", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The line that its holder wrote into it.
        holder: String,
    },
    /// What was opened in one process was used in another, which inherited it by `fork`.
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
    /// A file was to be read again whose owner has closed its files meanwhile.
    #[error("the database is closed")]
    Closed,
    /// The folder is not the one any more that was opened, so nothing is created or removed in it.
    #[error(
        "cannot {operation} {}: the folder {} {what} since it was opened; close the database, \
         and open it where it is now",
        path.display(),
        folder.display()
    )]
    Moved {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The folder, as it was opened.
        folder: PathBuf,
        /// What became of it, as a verb.
        what: &'static str,
    },
}

impl EnvError {
    /// Wraps what the system answered.
    #[must_use]
    pub fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source: Arc::new(source) }
    }

    /// What the system answered, in words of the standard library.
    #[must_use]
    pub fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Io { source, .. } => source.kind(),
            Self::Locked { .. } => io::ErrorKind::WouldBlock,
            Self::Forked { .. } | Self::Closed | Self::Moved { .. } => io::ErrorKind::Other,
        }
    }

    /// Whether the path did not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the disk had no room, or the user is not given more of it.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// Whether the process, or the machine, had no descriptor for one more open file. It passes
    /// when others are closed.
    #[must_use]
    pub fn is_out_of_descriptors(&self) -> bool {
        // `EMFILE` and `ENFILE`: the same numbers on Linux, macOS and the BSDs.
        const OUT_OF_THEM: [i32; 2] = [24, 23];
        let Self::Io { source, .. } = self else { return false };
        source.raw_os_error().is_some_and(|number| OUT_OF_THEM.contains(&number))
    }

    /// Whether a file ended before what was to be read.
    #[must_use]
    pub fn is_past_end(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof)
    }
}
