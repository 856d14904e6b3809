//! Work that goes on only as long as it need not wait for a file.

use crate::{EnvError, Result};
use std::cell::Cell;
use std::io;
use std::path::Path;

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::Patient) };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Reads wait as long as they take.
    Patient,
    /// A read fails.
    Impatient,
    /// One has failed.
    Refused,
}

/// Runs `work` on this thread with reads of files that fail instead of waiting for the device or
/// the kernel; `None` where one did, whatever `work` has made of it. Inside of another, it is a
/// part of that.
pub fn at_once<T>(work: impl FnOnce() -> T) -> Option<T> {
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

/// Lets reads wait again until [`at_once`] ends, for what must not be done twice; false where one
/// has failed, so that it must not be done at all.
#[must_use]
pub fn wait_from_here() -> bool {
    let is_whole = STATE.get() != State::Refused;
    if is_whole {
        STATE.set(State::Patient);
    }
    is_whole
}

/// To be asked before a file is read.
///
/// # Errors
/// `WouldBlock` inside of [`at_once`].
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
        assert_eq!(at_once(|| 7), Some(7));
        assert_eq!(at_once(|| may_read(path).is_err()), None);
        assert!(may_read(path).is_ok());
        assert_eq!(at_once(|| wait_from_here() && may_read(path).is_ok()), Some(true));
        assert_eq!(at_once(|| may_read(path).is_ok() || wait_from_here()), None);
        assert_eq!(at_once(|| at_once(|| 7)), Some(Some(7)));
        assert_eq!(at_once(|| at_once(|| may_read(path).is_ok())), None);
        assert_eq!(
            at_once(|| (at_once(|| 7), may_read(path).is_ok())),
            None,
            "goes on after a part"
        );
        assert!(std::panic::catch_unwind(|| at_once(|| panic!("in the middle"))).is_err());
        assert!(may_read(path).is_ok());
    }
}
