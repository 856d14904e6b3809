//! Exports and imports of whole relations: `export_relations` and `import_relations` of `Database`
//! and of `Transaction`, which pass what differs as closures.

use crate::error::OrRaise;
use crate::frames::frame_to_import;
use crate::values::object;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use quipu::{Frame, RunOptions};
use std::collections::BTreeMap;

/// Rows by relation, in the form that `import_relations` takes.
pub(crate) fn export<'py>(
    py: Python<'py>,
    names: Vec<String>,
    export: impl FnOnce(&[String]) -> quipu::Result<BTreeMap<String, Frame>> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let frames = py.detach(|| export(&names)).or_raise()?;
    let out = PyDict::new(py);
    for (name, frame) in frames {
        let one = PyDict::new(py);
        one.set_item("headers", frame.names())?;
        one.set_item("rows", rows(py, &frame)?)?;
        out.set_item(name, one)?;
    }
    Ok(out)
}

/// Rows as a list of lists.
pub(crate) fn rows<'py>(py: Python<'py>, frame: &Frame) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for row in 0..frame.len() {
        let values = frame.columns().iter().map(|column| object(py, &column.value(row)));
        rows.append(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?)?;
    }
    Ok(rows)
}

/// Puts rows into relations, or deletes rows if a relation's name in `data` begins with `-`.
/// `columns` returns the names of a relation's columns, and `import` writes the rows.
pub(crate) fn import(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    columns: impl Fn(&str) -> PyResult<Vec<String>>,
    import: impl FnOnce(&BTreeMap<String, Frame>, &RunOptions<'_>) -> quipu::Result<()> + Send,
) -> PyResult<()> {
    let data = match data.cast::<PyDict>() {
        Ok(dict) => dict.clone(),
        Err(_) => py.get_type::<PyDict>().call1((data,))?.cast_into()?,
    };
    let mut frames = BTreeMap::new();
    for (name, rows) in data {
        let Ok(name) = name.cast::<PyString>() else {
            let what = format!("names of relations are texts, not {}", name.get_type());
            return Err(PyTypeError::new_err(what));
        };
        let name = name.to_str()?.to_owned();
        let columns = columns(name.strip_prefix('-').unwrap_or(&name))?;
        frames.insert(name, frame_to_import(&rows, &columns)?);
    }
    crate::interruptible::interruptible(py, |go_on| {
        import(&frames, &RunOptions { go_on: Some(go_on), ..RunOptions::default() })
    })
}

/// Names of a relation's columns, in order.
pub(crate) fn column_names(database: &quipu::Database, name: &str) -> PyResult<Vec<String>> {
    let columns = database.columns_of(name).or_raise()?;
    Ok(columns.into_iter().map(|column| column.name).collect())
}
