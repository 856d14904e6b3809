//! Exceptions that nothing holds back: Ctrl-C, `sys.exit()` and whatever else is no `Exception`.
//!
//! # Why they are no errors of a script
//! Who raises `KeyboardInterrupt` or `SystemExit` wants the program to end. As a mistake of the
//! script it could be ignored by `%ignore_error`, and the script would go on and commit. So such an
//! exception ends the script, whose changes are rolled back, and reaches the caller as it was
//! raised.
//!
//! # Invariants
//! 1. What Python code raises on the way to an error of the database is kept in it as [`Raised`]:
//!    as the exception itself where it is an exit, else as the `__cause__` of ours.
//! 2. What has nobody to go to where it was raised (a callback tells of what is committed already)
//!    waits on its thread and is raised by the call in which it came:
//!    [`OrRaise`](crate::error::OrRaise) looks.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::error::Error;
use std::fmt;

/// An exception that Python code raised which the database had called.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) PyErr);

impl Raised {
    /// The one that an error comes of.
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

/// Whether nothing may hold an exception back.
pub(crate) fn is_exit(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

/// An exit as an error that ends a script.
pub(crate) fn error(exit: PyErr, message: String) -> quipu::Error {
    quipu::Error::caused(quipu::ErrorKind::Cancelled, Raised(exit)).with_message(message)
}

thread_local! {
    static WAITING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps an exit until the call is over in which it came. The first one stays.
pub(crate) fn keep(exit: PyErr) {
    let earlier = WAITING.with(|waiting| {
        let mut waiting = waiting.borrow_mut();
        match &*waiting {
            None => waiting.replace(exit),
            Some(_) => Some(exit),
        }
    });
    // Dropped behind the borrow: to drop an exception may run Python code.
    drop(earlier);
}

/// The exit that waits on this thread.
pub(crate) fn take() -> Option<PyErr> {
    WAITING.with(|waiting| waiting.borrow_mut().take())
}

/// Whether one waits.
pub(crate) fn is_waiting() -> bool {
    WAITING.with(|waiting| waiting.borrow().is_some())
}
