//! Constructors of errors, with their messages.

use base::{Corruption, KeyspaceId};
use std::path::Path;
use store::{Error, ErrorKind};

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

pub(crate) fn unknown(id: KeyspaceId) -> Error {
    invalid(format!("there is no keyspace {}", id.0))
}

/// Another transaction won.
pub(crate) fn conflict(why: &str) -> Error {
    let hint = "run the transaction again";
    Error::new(
        ErrorKind::Conflict,
        format!("another transaction won: {why} since this one began\nhint: {hint}"),
    )
}

/// Stored bytes that differ from the written ones.
pub(crate) fn damaged(place: &str, what: impl Into<String>) -> Error {
    Corruption::new(Path::new(place), 0, what).into()
}
