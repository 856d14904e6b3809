//! Checks that a view is used in the process that opened it.

use env::Owner;
use store::{Error, ErrorKind, Result};

/// Call it before taking a lock of a view: in a child of a `fork`, a thread that does not exist in
/// this process may hold the lock.
///
/// # Errors
/// [`ErrorKind::Forked`] in a process that inherited the view by `fork`.
#[inline]
pub(crate) fn check_process(owner: Owner) -> Result<()> {
    owner.check().map_err(|error| Error::caused(ErrorKind::Forked, error))
}
