//! Callbacks in Python that are called with the rows that a script changed.

use crate::exits;
use crate::python_code::attached;
use crate::relations::rows;
use pyo3::prelude::*;
use quipu::Changed;

/// A callback that calls the Python function with `"Put"` or `"Rm"`, the new rows and the old ones.
/// The change is committed whatever the function raises: an exception goes to `sys.unraisablehook`,
/// and an exit to the caller that made the change.
pub(crate) fn told(callback: Py<PyAny>) -> impl Fn(&Changed) + Send + Sync {
    move |changed| {
        attached(|py| {
            let callback = callback.bind(py);
            exits::call_apart(py, Some(callback), || {
                let (new, old) = (rows(py, &changed.new)?, rows(py, &changed.old)?);
                callback.call1((changed.by.name(), new, old)).map(Bound::unbind)
            });
        });
    }
}
