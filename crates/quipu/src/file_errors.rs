//! Errors of files that a user names.

use std::io;
use std::path::Path;
use store::{Error, ErrorKind};

pub(crate) fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::caused(ErrorKind::Io, env::EnvError::io("open", path, error))
}

pub(crate) fn failed(error: ingest::Error) -> Error {
    match error {
        ingest::Error::Input(error) => Error::caused(ErrorKind::InvalidInput, error),
        ingest::Error::Io { .. } => Error::caused(ErrorKind::Io, error),
    }
}

/// The error of a build without the feature `arrow`.
#[cfg(not(feature = "arrow"))]
pub(crate) fn without_arrow() -> Error {
    let what = "this build has neither Parquet nor Arrow\nhint: build with the feature `arrow`";
    Error::new(ErrorKind::InvalidInput, what)
}
