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
            // Takes an exit of an earlier callback away for the time of this call, so that the
            // calls that this function makes do not raise it.
            let earlier = exits::take_pending();
            let callback = callback.bind(py);
            let told = || {
                let (new, old) = (rows(py, &changed.new)?, rows(py, &changed.old)?);
                callback.call1((changed.by.name(), new, old))
            };
            let raised = told().err();
            earlier.into_iter().for_each(exits::set_pending);
            match raised {
                Some(error) if exits::is_exit(py, &error) => exits::set_pending(error),
                Some(error) => error.write_unraisable(py, Some(callback)),
                None => {}
            }
        });
    }
}
