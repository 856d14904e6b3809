//! Exits: exceptions that must always reach the caller, namely Ctrl-C, `sys.exit()` and any other
//! that is not an `Exception`.
//!
//! # Why they are not errors of a script
//! Code that raises `KeyboardInterrupt` or `SystemExit` wants the program to end. If these were
//! mistakes of the script, `%ignore_error` could ignore them, and the script would go on and
//! commit. So such an exception ends the script, rolls its changes back, and reaches the caller as
//! it was raised.
//!
//! # Invariants
//! 1. An exception that Python code raised is kept in the resulting error of the database as
//!    [`Raised`]: an exit is then raised itself, any other exception becomes the `__cause__` of
//!    ours.
//! 2. An exit that has no error to travel in (a callback runs after its change is committed) is
//!    stored on its thread. The call that runs on this thread raises it:
//!    [`OrRaise`](crate::error::OrRaise) checks for it.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::error::Error;
use std::fmt;

/// An exception of Python code that the database called.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) PyErr);

impl Raised {
    /// The exception in the chain of causes of an error, if there is one.
    pub(crate) fn of(error: &quipu::Error) -> Option<&Self> {
        let mut source: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = source {
            if let Some(raised) = error.downcast_ref() {
                return Some(raised);
            }
            source = error.source();
        }
        None
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Raised {}

/// Whether an exception is an exit: not an instance of `Exception`.
pub(crate) fn is_exit(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

/// An error that ends a script and carries the exit.
pub(crate) fn error(exit: PyErr, message: String) -> quipu::Error {
    quipu::Error::caused(quipu::ErrorKind::Cancelled, Raised(exit)).with_message(message)
}

thread_local! {
    static PENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Stores an exit on this thread until the current call returns. The first one stays.
pub(crate) fn set_pending(exit: PyErr) {
    let earlier = PENDING.with(|pending| {
        let mut pending = pending.borrow_mut();
        match &*pending {
            None => pending.replace(exit),
            Some(_) => Some(exit),
        }
    });
    // Dropped after the borrow, because dropping an exception may run Python code.
    drop(earlier);
}

/// Takes the pending exit of this thread.
pub(crate) fn take_pending() -> Option<PyErr> {
    PENDING.with(|pending| pending.borrow_mut().take())
}

/// Whether an exit is pending on this thread.
pub(crate) fn is_pending() -> bool {
    PENDING.with(|pending| pending.borrow().is_some())
}

/// Calls Python code whose result does not change that of the call which runs it. An exception goes
/// to `sys.unraisablehook` with `context`, and an exit to the caller.
pub(crate) fn call_apart(
    py: Python<'_>,
    context: Option<&Bound<'_, PyAny>>,
    call: impl FnOnce() -> PyResult<Py<PyAny>>,
) {
    // Takes an exit of an earlier call away for the time of this one, so that the calls that the
    // code makes do not raise it.
    let earlier = take_pending();
    let raised = call().err();
    earlier.into_iter().for_each(set_pending);
    match raised {
        Some(error) if is_exit(py, &error) => set_pending(error),
        Some(error) => error.write_unraisable(py, context),
        None => {}
    }
}
