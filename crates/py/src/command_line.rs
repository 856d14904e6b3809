//! The command line in the module: `python -m quipu`, and completion for notebooks.

use crate::database::Database;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use std::ffi::OsString;

#[documented]
#[guarded]
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| quipu_cli::run(arguments))
}

#[documented]
#[guarded]
#[pyfunction]
pub(crate) fn candidates(
    py: Python<'_>,
    database: &Bound<'_, Database>,
    parameters: Vec<String>,
    before: &str,
) -> PyResult<(usize, Vec<String>)> {
    let database = database.get().db()?;
    let (start, found) = py.detach(|| quipu_cli::candidates(database, parameters, before));
    // Python counts characters.
    Ok((before[..start].chars().count(), found))
}
