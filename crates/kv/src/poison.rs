//! Ends all writing at the first failed write or sync. Every commit, flush and manifest edit checks
//! it.
//!
//! # Why
//! After a failed sync the kernel may have dropped the dirty pages; a second sync that succeeds
//! proves nothing (the "fsyncgate" of 2018). Only a new opening, which reads from the disk, can
//! be trusted.

use std::sync::OnceLock;
use store::{Error, ErrorKind, Result};

/// The first failure, if there was one.
#[derive(Debug, Default)]
pub(crate) struct Poison(OnceLock<String>);

impl Poison {
    /// Fails with the first failure, if there was one.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
            Some(first) => Err(Error::new(
                ErrorKind::Poisoned,
                format!(
                    "the database stopped writing after a failure: {first}\n\
                     hint: close it, fix the cause, open it again; what was acknowledged is kept"
                ),
            )),
        }
    }

    /// Remembers `error` unless there was an earlier failure, and returns it.
    pub(crate) fn poison(&self, error: Error) -> Error {
        let _ = self.0.set(error.to_string());
        error
    }
}
