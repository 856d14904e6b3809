//! Errors of invalid input.

use store::{Error, ErrorKind};

/// An error of kind [`ErrorKind::InvalidInput`].
#[must_use]
pub fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
