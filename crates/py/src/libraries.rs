//! Conversions to tables of other libraries, which are imported at first use.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A pyarrow table of an object with the Arrow interface.
pub(crate) fn to_arrow<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    rows.py().import("pyarrow")?.call_method1("table", (rows,))
}

/// A Polars frame of an object with the Arrow interface.
pub(crate) fn to_polars<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    rows.py().import("polars")?.getattr("DataFrame")?.call1((rows,))
}

/// A pandas frame: through pyarrow where it is installed, else of tuples and the names of columns.
pub(crate) fn to_pandas<'py>(
    rows: &Bound<'py, PyAny>,
    columns: Vec<String>,
    tuples: impl FnOnce() -> PyResult<Bound<'py, PyList>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = rows.py();
    if py.import("pyarrow").is_ok() {
        return to_arrow(rows)?.call_method0("to_pandas");
    }
    let arguments = PyDict::new(py);
    arguments.set_item("columns", columns)?;
    py.import("pandas")?.getattr("DataFrame")?.call((tuples()?,), Some(&arguments))
}
