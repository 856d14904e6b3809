//! The problems that a check found, as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quipu::Check;

/// The problems that a check found, as a list of dictionaries.
pub(crate) fn problems<'py>(py: Python<'py>, check: &Check) -> PyResult<Bound<'py, PyList>> {
    let problems = PyList::empty(py);
    for problem in check.problems() {
        let row = PyDict::new(py);
        row.set_item("file", problem.file)?;
        row.set_item("offset", problem.offset)?;
        row.set_item("what", problem.what)?;
        problems.append(row)?;
    }
    Ok(problems)
}
