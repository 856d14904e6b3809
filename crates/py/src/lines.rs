//! Lines from Python, and bytes to Python's files.

use crate::keys::with_bytes;
use crate::python_code::attached;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Lines that are read at a time.
pub(crate) const LINES_AT_ONCE: usize = 4096;

/// The file at a path; `None` if it is no path.
pub(crate) fn opened<'py>(
    file: &Bound<'py, PyAny>,
    mode: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let is_path = file.is_instance_of::<PyString>() || file.hasattr("__fspath__")?;
    match is_path {
        true => file.py().import("builtins")?.call_method1("open", (file, mode)).map(Some),
        false => Ok(None),
    }
}

/// A line of text or bytes.
pub(crate) fn line_of(line: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match line.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.as_bytes().to_vec()),
        Err(_) => with_bytes(line, |bytes| Ok(bytes.to_vec())),
    }
}

/// An object with a method `write`, which gets bytes.
pub(crate) struct PythonFile {
    file: Py<PyAny>,
    /// The exception of the method.
    error: Option<PyErr>,
}

impl std::io::Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = attached(|py| {
            self.file.bind(py).call_method1("write", (PyBytes::new(py, bytes),)).map(drop)
        });
        written.map_err(|error| {
            let what = error.to_string();
            self.error = Some(error);
            std::io::Error::other(what)
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl PythonFile {
    pub(crate) fn new(file: &Bound<'_, PyAny>) -> Self {
        Self { file: file.clone().unbind(), error: None }
    }

    /// The exception of the method, if it raised one.
    pub(crate) fn into_error(self) -> Option<PyErr> {
        self.error
    }
}
