//! Lines from Python, and bytes to Python's files.

use crate::keys::with_bytes;
use crate::python_code::attached;
use pyo3::exceptions::{PyBlockingIOError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Lines that are read at a time.
pub(crate) const LINES_AT_ONCE: usize = 4096;

/// Whether an object is a path, and not a file.
pub(crate) fn is_path(file: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(file.is_instance_of::<PyString>() || file.hasattr("__fspath__")?)
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
            let file = self.file.bind(py);
            let written = file.call_method1("write", (PyBytes::new(py, bytes),))?;
            written_bytes(file, &written, bytes.len())
        });
        written.map_err(|error| {
            let what = error.to_string();
            self.error = Some(error);
            std::io::Error::other(what)
        })
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// How many of `given` bytes were written, by the result of the method `write`. Raw files return a
/// smaller number, or `None` if they would block; other objects may return `None` for all.
fn written_bytes(
    file: &Bound<'_, PyAny>,
    returned: &Bound<'_, PyAny>,
    given: usize,
) -> PyResult<usize> {
    if returned.is_none() {
        let raw = file.py().import("io")?.getattr("RawIOBase")?;
        return match file.is_instance(&raw)? {
            true => Err(PyBlockingIOError::new_err("the file would block")),
            false => Ok(given),
        };
    }
    match returned.extract::<usize>() {
        Ok(written) if written <= given => Ok(written),
        _ => {
            let what = format!("`write` returned {returned} for {given} bytes");
            Err(PyOSError::new_err(what))
        }
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
