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
}

impl EnvError {
    /// Wraps what the system answered.
    #[must_use]
    pub fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source: Arc::new(source) }
    }

    /// Whether the path did not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether a file ended before what was to be read.
    #[must_use]
    pub fn is_past_end(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof)
    }
}
