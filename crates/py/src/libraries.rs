//! Conversions to tables of other libraries, which are imported at first use.

use crate::capsule::schema_of;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A pattern of the digits of a UUID, and their text with dashes.
const UUID_DIGITS: &str = "^(.{8})(.{4})(.{4})(.{4})(.{12})$";
const UUID_TEXT: &str = "${1}-${2}-${3}-${4}-${5}";

/// A pyarrow table of an object with the Arrow interface.
pub(crate) fn to_arrow<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    rows.py().import("pyarrow")?.call_method1("table", (rows,))
}

/// A Polars frame of an object with the Arrow interface. UUIDs become strings.
pub(crate) fn to_polars<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let polars = rows.py().import("polars")?;
    let frame = polars.getattr("DataFrame")?.call1((rows,))?;
    // Polars reads UUIDs as bytes. The schema of a result takes time.
    if !frame.getattr("dtypes")?.contains(polars.getattr("Binary")?)? {
        return Ok(frame);
    }
    let schema = schema_of(rows)?;
    let uuids = schema.fields().iter().filter(|field| quipu::is_uuid_field(field));
    uuids.map(|field| field.name()).try_fold(frame, |frame, name| {
        let digits = frame.get_item(name)?.getattr("bin")?.call_method1("encode", ("hex",))?;
        let text = digits.getattr("str")?.call_method1("replace", (UUID_DIGITS, UUID_TEXT))?;
        frame.call_method1("with_columns", (text,))
    })
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
