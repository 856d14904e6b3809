//! Rows by the names of their columns: one column, dicts, NumPy arrays.

use crate::error::invalid;
use crate::temporal;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use quipu::{ColumnValues, QueryResult};

/// Position of the column with this name.
///
/// # Errors
/// `KeyError` if there is none, `InvalidInputError` if there are several.
pub(crate) fn position(columns: &[String], name: &str) -> PyResult<usize> {
    let mut found = columns.iter().enumerate().filter(|(_, column)| *column == name);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(at),
        (Some(_), Some(_)) => Err(several(name)),
        (None, _) => {
            let columns = columns.join(", ");
            Err(PyKeyError::new_err(format!("no column {name:?}; there are: {columns}")))
        }
    }
}

/// A dict has one value for each name.
///
/// # Errors
/// Two columns have one name.
fn check_distinct(columns: &[String]) -> PyResult<()> {
    let again = |(i, name): &(usize, &String)| columns[..*i].contains(name);
    match columns.iter().enumerate().find(again) {
        None => Ok(()),
        Some((_, name)) => Err(several(name)),
    }
}

fn several(name: &str) -> PyErr {
    let hint = "hint: name the columns differently, as in `?[a, b] := *r[a, c], b = c`";
    invalid(&format!("several columns have the name {name:?}\n{hint}"))
}

/// A dict for each row.
pub(crate) fn dicts<'py>(
    py: Python<'py>,
    columns: &[String],
    rows: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyList>> {
    check_distinct(columns)?;
    let dicts = PyList::empty(py);
    for row in rows.iter() {
        let dict = PyDict::new(py);
        for (name, value) in columns.iter().zip(row.cast::<PyTuple>()?.iter()) {
            dict.set_item(name, value)?;
        }
        dicts.append(dict)?;
    }
    Ok(dicts)
}

/// A dict of arrays, made by `array` from the position of a column.
pub(crate) fn arrays<'py>(
    py: Python<'py>,
    columns: &[String],
    array: impl Fn(usize) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    check_distinct(columns)?;
    let arrays = PyDict::new(py);
    for (place, name) in columns.iter().enumerate() {
        arrays.set_item(name, array(place)?)?;
    }
    Ok(arrays)
}

/// A column of a result without nulls as an array of numbers; `None` for any other column.
pub(crate) fn numbers<'py>(
    py: Python<'py>,
    answer: &QueryResult,
    column: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let column = py.detach(|| answer.column(column));
    if !(0..answer.len()).all(|row| column.valid.is_valid(row)) {
        return Ok(None);
    }
    let rows = answer.len();
    Ok(Some(match column.values {
        ColumnValues::Bool(flags) => PyArray1::from_vec(py, flags).into_any(),
        ColumnValues::Int(ints) => PyArray1::from_vec(py, ints).into_any(),
        ColumnValues::Id(ids) => PyArray1::from_vec(py, ids).into_any(),
        ColumnValues::Float(floats) => PyArray1::from_vec(py, floats).into_any(),
        ColumnValues::Vector32(len, floats) => {
            PyArray1::from_vec(py, floats).reshape([rows, len])?.into_any()
        }
        ColumnValues::Vector64(len, floats) => {
            PyArray1::from_vec(py, floats).reshape([rows, len])?.into_any()
        }
        ColumnValues::Date(days) => {
            temporal::array(py, days.into_iter().map(i64::from).collect(), "datetime64[D]")?
        }
        ColumnValues::Timestamp(us) => temporal::array(py, us, "datetime64[us]")?,
        ColumnValues::Duration(us) => temporal::array(py, us, "timedelta64[us]")?,
        _ => return Ok(None),
    }))
}

/// An array of Python objects. NumPy does not look into them: a list stays a list.
pub(crate) fn objects<'py>(values: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
    let py = values.py();
    let arguments = PyDict::new(py);
    arguments.set_item("count", values.len().into_bound_py_any(py)?)?;
    py.import("numpy")?.getattr("fromiter")?.call((values, "object"), Some(&arguments))
}
