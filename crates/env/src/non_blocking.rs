//! Non-blocking execution: work that is abandoned if it would have to wait for file input.

use crate::error::{EnvError, Result};
use std::cell::Cell;
use std::io;
use std::path::Path;

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::Patient) };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Reads block as usual.
    Patient,
    /// Reads fail instead of blocking.
    Impatient,
    /// A read was refused.
    Refused,
}

/// Runs `work` on this thread in non-blocking mode: each file read fails instead of waiting for the
/// device or the kernel. Returns `None` if a read was refused so, even if `work` ignored the error.
/// A nested call has no effect of its own: the outer one returns `None`.
pub fn try_without_blocking<T>(work: impl FnOnce() -> T) -> Option<T> {
    struct Patient;
    impl Drop for Patient {
        fn drop(&mut self) {
            STATE.set(State::Patient);
        }
    }
    if STATE.get() != State::Patient {
        return Some(work());
    }
    STATE.set(State::Impatient);
    let _patient = Patient;
    let done = work();
    (STATE.get() != State::Refused).then_some(done)
}

/// Allows blocking reads again until [`try_without_blocking`] returns. Call it before work that
/// must not be repeated. Returns false if a read was already refused; then the work must not
/// be started.
#[must_use]
pub fn wait_from_here() -> bool {
    let is_whole = STATE.get() != State::Refused;
    if is_whole {
        STATE.set(State::Patient);
    }
    is_whole
}

/// Whether this thread may wait, for engines that reach the machine by other ways than an
/// environment. In [`try_without_blocking`] it may not, and the work counts as abandoned.
#[must_use]
pub fn may_wait() -> bool {
    let may = STATE.get() == State::Patient;
    if !may {
        STATE.set(State::Refused);
    }
    may
}

/// Checks whether this thread may block on a read. Call it before each file read.
///
/// # Errors
/// `WouldBlock` inside [`try_without_blocking`].
pub(crate) fn may_read(path: &Path) -> Result<()> {
    if STATE.get() == State::Patient {
        return Ok(());
    }
    STATE.set(State::Refused);
    Err(EnvError::io("read at once", path, io::ErrorKind::WouldBlock.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_is_not_done_at_once_and_reads_afterwards() {
        let path = Path::new("file");
        assert_eq!(try_without_blocking(|| 7), Some(7));
        assert_eq!(try_without_blocking(|| may_read(path).is_err()), None);
        assert!(may_read(path).is_ok());
        assert_eq!(try_without_blocking(may_wait), None);
        assert!(may_wait());
        assert_eq!(try_without_blocking(|| wait_from_here() && may_read(path).is_ok()), Some(true));
        assert_eq!(try_without_blocking(|| may_read(path).is_ok() || wait_from_here()), None);
        assert_eq!(try_without_blocking(|| try_without_blocking(|| 7)), Some(Some(7)));
        assert_eq!(try_without_blocking(|| try_without_blocking(|| may_read(path).is_ok())), None);
        assert_eq!(
            try_without_blocking(|| (try_without_blocking(|| 7), may_read(path).is_ok())),
            None,
            "goes on after a part"
        );
        assert!(
            std::panic::catch_unwind(|| try_without_blocking(|| panic!("in the middle"))).is_err()
        );
        assert!(may_read(path).is_ok());
    }
}
