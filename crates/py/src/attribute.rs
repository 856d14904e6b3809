//! Attributes of Python modules, looked up once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// An attribute of a module, looked up once.
pub(crate) struct Attribute {
    module: &'static str,
    name: &'static str,
    found: PyOnceLock<Py<PyAny>>,
}

impl Attribute {
    pub(crate) const fn new(module: &'static str, name: &'static str) -> Self {
        Self { module, name, found: PyOnceLock::new() }
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let find = || Ok::<_, PyErr>(py.import(self.module)?.getattr(self.name)?.unbind());
        Ok(self.found.get_or_try_init(py, find)?.bind(py))
    }
}
