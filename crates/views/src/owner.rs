//! A view belongs to the process that opened it, as its store does.

use env::Owner;
use store::{Error, ErrorKind, Result};

/// To be asked before a lock of a view is taken: a thread that is not in this process may hold it.
///
/// # Errors
/// [`ErrorKind::Forked`] in a process that inherited the view by `fork`.
#[inline]
pub(crate) fn check_process(owner: Owner) -> Result<()> {
    owner.check().map_err(|error| Error::caused(ErrorKind::Forked, error))
}
