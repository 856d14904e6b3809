//! The first failed write or sync ends all writing.
//!
//! # Why
//! After a failed sync the kernel may have dropped the dirty pages; a second sync that succeeds
//! proves nothing (the "fsyncgate" of 2018). Only a new start, which reads what is really there,
//! can be trusted.

use std::sync::OnceLock;
use store::{Error, ErrorKind, Result};

/// Remembers the first failure.
#[derive(Debug, Default)]
pub(crate) struct Poison(OnceLock<String>);

impl Poison {
    /// Fails where an earlier write failed.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
            Some(first) => Err(Error::new(
                ErrorKind::Poisoned,
                format!(
                    "the database stopped writing after a failure: {first}\n\
                     hint: close it, mend the cause, open it again; what was acknowledged is kept"
                ),
            )),
        }
    }

    /// Remembers `error` as the first failure if there was none, and hands it on.
    pub(crate) fn poison(&self, error: Error) -> Error {
        let _ = self.0.set(error.to_string());
        error
    }
}
