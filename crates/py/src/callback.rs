//! Python functions that are told what was changed.

use crate::relations::rows;
use pyo3::prelude::*;
use quipu::Changed;

/// What calls `callback` with `"Put"` or `"Rm"`, the new rows and the old ones. What it raises goes to `sys.unraisablehook`.
pub(crate) fn told(callback: Py<PyAny>) -> impl Fn(&Changed) + Send + Sync {
    move |changed| {
        Python::attach(|py| {
            let callback = callback.bind(py);
            let call = || {
                let (new, old) = (rows(py, &changed.new)?, rows(py, &changed.old)?);
                callback.call1((changed.by.name(), new, old))
            };
            if let Err(error) = call() {
                error.write_unraisable(py, Some(callback));
            }
        });
    }
}
