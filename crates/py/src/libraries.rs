//! Rows as the tables of other libraries, which are imported only when they are asked for.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A table of pyarrow's of what speaks Arrow.
pub(crate) fn to_arrow<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    rows.py().import("pyarrow")?.call_method1("table", (rows,))
}

/// A frame of polars's of what speaks Arrow.
pub(crate) fn to_polars<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    rows.py().import("polars")?.getattr("DataFrame")?.call1((rows,))
}

/// A frame of pandas's: through pyarrow where it is there, else of tuples with names for their
/// columns.
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
