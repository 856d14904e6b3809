//! Panics of the engine as errors.
//!
//! # Why they are caught here
//! A script runs in a transaction, which ends where the script failed: it is not committed, and
//! what was made for it is dropped. A panic that went past that place would leave both undone
//! (decision 0038).

use exec::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does something; a panic in it is an error of kind [`store::ErrorKind::Internal`].
///
/// What `act` was changing may be half changed then: the caller lets go of it.
pub(crate) fn caught<T>(act: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(outcome) => outcome,
        Err(panic) => Err(Error::Store(store::Error::panicked(&*panic))),
    }
}
