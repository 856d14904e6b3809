//! Python functions that are told what was changed.

use crate::exits;
use crate::python_code::attached;
use crate::relations::rows;
use pyo3::prelude::*;
use quipu::Changed;

/// What calls `callback` with `"Put"` or `"Rm"`, the new rows and the old ones. The change is
/// committed, whatever it raises: that goes to `sys.unraisablehook`, but an exit to who made the
/// change.
pub(crate) fn told(callback: Py<PyAny>) -> impl Fn(&Changed) + Send + Sync {
    move |changed| {
        attached(|py| {
            // One of an earlier callback is no business of what this one calls.
            let earlier = exits::take();
            let callback = callback.bind(py);
            let told = || {
                let (new, old) = (rows(py, &changed.new)?, rows(py, &changed.old)?);
                callback.call1((changed.by.name(), new, old))
            };
            let raised = told().err();
            earlier.into_iter().for_each(exits::keep);
            match raised {
                Some(error) if exits::is_exit(py, &error) => exits::keep(error),
                Some(error) => error.write_unraisable(py, Some(callback)),
                None => {}
            }
        });
    }
}
