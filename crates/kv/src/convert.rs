//! Conversions between the types of `store`, `lsm` and `env`: row kinds on the way down, errors on
//! the way up, classified by the caller's possible reaction.

use crate::wal::WalError;
use base::SeqNo;
use env::EnvError;
use lsm::memtable;
use store::{Error, ErrorKind, Kinds, TableWrites};

/// Inserts rows into a tree's memtable.
pub(crate) fn insert(tree: &lsm::tree::Tree, table: &TableWrites, seq: SeqNo) {
    with_kinds(&table.kinds, |kinds| tree.insert(&table.rows, kinds, seq));
}

/// Calls `f` with the kinds in the form that memtables take.
pub(crate) fn with_kinds<R>(kinds: &Kinds, f: impl FnOnce(memtable::Kinds<'_>) -> R) -> R {
    match kinds {
        Kinds::Uniform(kind) => f(memtable::Kinds::Uniform(*kind)),
        Kinds::PerRow(kinds) => {
            let kinds: Vec<u8> = kinds.iter().map(|kind| *kind as u8).collect();
            f(memtable::Kinds::Each(&kinds))
        }
    }
}

/// An error of kind [`ErrorKind::InvalidInput`].
pub(crate) fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

/// Converts a tree's error.
pub(crate) fn tree_error(error: lsm::Error) -> Error {
    match error {
        lsm::Error::Env(error) => env_error(error),
        lsm::Error::Corruption(corruption) => corruption.into(),
        lsm::Error::Cancelled => Error::new(ErrorKind::Cancelled, "cancelled"),
        other => Error::caused(ErrorKind::InvalidInput, other),
    }
}

/// Converts an environment's error.
pub(crate) fn env_error(error: EnvError) -> Error {
    match &error {
        EnvError::Locked { .. } => Error::caused(ErrorKind::Locked, error),
        EnvError::Forked { .. } => Error::caused(ErrorKind::Forked, error),
        EnvError::Closed => Error::caused(ErrorKind::InvalidInput, error),
        _ => Error::caused(ErrorKind::Io, error),
    }
}

impl From<WalError> for Error {
    fn from(error: WalError) -> Self {
        match error {
            WalError::Env(error) => env_error(error),
            WalError::Corruption(corruption) => corruption.into(),
            WalError::Failed { .. } => Self::caused(ErrorKind::Poisoned, error),
            WalError::Limit { .. } => Self::caused(ErrorKind::Limit, error),
        }
    }
}
