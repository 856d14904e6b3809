//! The errors of a tree.

use base::Corruption;
use env::EnvError;

/// Result of a call into a tree.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed call. Nothing was changed unless the text says so.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine said no.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// A file failed its checksum or its format.
    #[error(transparent)]
    Corruption(#[from] Corruption),
    /// The caller asked for something that the tree cannot hold.
    #[error("{0}")]
    Invalid(String),
    /// A long operation was told to stop.
    #[error("cancelled")]
    Cancelled,
}
