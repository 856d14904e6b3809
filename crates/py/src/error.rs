//! Maps errors of the database to the exceptions of `quipu.errors`, and catches panics.

use crate::exits::{self, Raised};
use crate::problems::problems;
use crate::python_code::{attached, still_at_end};
use env::Own;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use quipu::{Error, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Name of the exception's class in `quipu.errors`.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Conflict => "ConflictError",
        ErrorKind::InvalidInput | ErrorKind::ReadOnly => "InvalidInputError",
        ErrorKind::Corruption => "CorruptionError",
        ErrorKind::Poisoned => "PoisonedError",
        ErrorKind::Cancelled => "CancelledError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::Locked => "LockedError",
        ErrorKind::Forked => "ForkedError",
        ErrorKind::Internal => "InternalError",
        _ => "Error",
    }
}

/// The exception for an error of the database. An exit that caused the error is raised unchanged;
/// any other exception that caused it becomes the `__cause__` of ours.
pub(crate) fn raise(error: Error) -> PyErr {
    attached(|py| {
        let raised = Raised::of(&error).map(|Raised(raised)| raised.clone_ref(py));
        if let Some(exit) = raised.as_ref().filter(|raised| exits::is_exit(py, raised)) {
            return exit.clone_ref(py);
        }
        let place = error.cause::<quipu::ingest::InputError>();
        let place = place.map(|input| (input.line(), input.column));
        let script = error.cause::<quipu::ScriptError>().and_then(quipu::ScriptError::place);
        let place = place.or(script.map(|(line, column)| (line.into(), column)));
        let is_missing = error.cause::<env::EnvError>().is_some_and(env::EnvError::is_not_found);
        let class = if is_missing { "MissingFileError" } else { class_name(error.kind()) };
        let made = make(py, class, &error.to_string(), place);
        let made = made.and_then(|exception| {
            if let Some(check) = quipu::Check::of_error(&error) {
                exception.value(py).setattr("problems", problems(py, check)?)?;
            }
            if let Some(reason) = quipu::reason_of(&error) {
                exception.value(py).setattr("reason", reason)?;
            }
            exception.set_cause(py, raised);
            Ok(exception)
        });
        match made {
            Ok(exception) | Err(exception) => exception,
        }
    })
}

/// The kind of an exception whose class is one of the database's or a subclass of one; otherwise
/// `None`.
pub(crate) fn kind_of(py: Python<'_>, error: &PyErr) -> Option<ErrorKind> {
    // The base class, `Error`, comes last: every exception of the database is an instance of it.
    let kinds = [
        ErrorKind::Conflict,
        ErrorKind::InvalidInput,
        ErrorKind::Corruption,
        ErrorKind::Poisoned,
        ErrorKind::Cancelled,
        ErrorKind::Limit,
        ErrorKind::Locked,
        ErrorKind::Forked,
        ErrorKind::Internal,
        ErrorKind::Io,
    ];
    let is_of = |kind: &ErrorKind| {
        let class = module(py).and_then(|module| module.getattr(class_name(*kind)));
        class.is_ok_and(|class| error.value(py).is_instance(&class).unwrap_or(false))
    };
    kinds.into_iter().find(is_of)
}

/// Runs a function that Python called. A panic in it becomes an `InternalError`.
/// [`py_guard::guarded`] puts this call around each function of the module.
pub(crate) fn guarded<T>(call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(|| still_at_end(call)))
        .unwrap_or_else(|panic| Err(raise(Error::panicked(&*panic))))
}

/// An `InvalidInputError` with this message.
pub(crate) fn invalid(message: &str) -> PyErr {
    raise(Error::new(ErrorKind::InvalidInput, message))
}

fn module(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("quipu.errors").map(Bound::unbind))?;
    Ok(module.bind(py))
}

fn make(py: Python<'_>, name: &str, message: &str, place: Option<(u64, u32)>) -> PyResult<PyErr> {
    let class = module(py)?.getattr(name)?.cast_into::<PyType>()?;
    let exception = class.call1((message,))?;
    if let Some((line, column)) = place {
        exception.setattr("line", line)?;
        exception.setattr("column", column)?;
    }
    Ok(PyErr::from_value(exception))
}

/// The object, if this process opened it. Every method that touches the database calls this before
/// anything else.
///
/// # Errors
/// `ForkedError` in a process that inherited the object by `fork`.
#[inline]
pub(crate) fn check_process<T>(own: &Own<T>) -> PyResult<&T> {
    own.get().map_err(|error| raise(Error::caused(ErrorKind::Forked, error)))
}

/// Converts the database's result into Python's.
pub(crate) trait OrRaise<T> {
    /// The value, or its exception. An exit that is pending on this thread (see [`exits`]) comes
    /// first.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for quipu::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        if let Some(exit) = exits::take_pending() {
            return Err(exit);
        }
        self.map_err(raise)
    }
}
