//! Turns panics of the engine into errors.
//!
//! # Why they are caught here
//! A script runs in a transaction. Where the script fails, the transaction is not committed, and
//! objects created for it are dropped. A panic past this point would skip both (decision 0038).

use exec::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `act`; a panic becomes an error of kind [`store::ErrorKind::Internal`].
///
/// The state that `act` was changing may be half changed then, and the caller must drop it.
pub(crate) fn caught<T>(act: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(outcome) => outcome,
        Err(panic) => Err(Error::Store(store::Error::panicked(&*panic))),
    }
}
