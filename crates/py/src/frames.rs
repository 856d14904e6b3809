//! Input rows: Arrow data, columns by name, lists of rows, `{"headers": …, "rows": …}`.

use crate::called::Called;
use crate::capsule::{array_of, schema_and_batches, speaks_arrow};
use crate::error::{OrRaise, invalid};
use crate::missing::is_masked_array;
use crate::result::ResultObject;
use crate::values::value;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use quipu::{Frame, FrameError, Series, Value, Values};

/// The rows of a Python object. `columns` are the names of the relation's columns, for rows without
/// names.
pub(crate) fn frame(data: &Bound<'_, PyAny>, columns: &[String]) -> PyResult<Frame> {
    if let Ok(answer) = data.cast::<ResultObject>() {
        return answer.get().frame();
    }
    if let Ok(columns) = data.cast::<PyDict>() {
        return of_columns(columns);
    }
    // A list has none of the attributes asked for below, and finding that out costs more than to
    // take a few rows.
    if is_list(data) {
        return of_rows(data, columns);
    }
    if is_pandas(data)? {
        let data = &without_index(data, columns)?;
        if data.py().import("pyarrow").is_err() {
            return of_pandas(data);
        }
        return of_arrow(data, columns);
    }
    if speaks_arrow(data)? {
        return of_arrow(data, columns);
    }
    // A LazyFrame of Polars.
    if data.hasattr("collect")? && data.hasattr("lazy")? {
        return frame(&data.call_method0("collect")?, columns);
    }
    if data.is_instance_of::<PyString>() || data.try_iter().is_err() {
        let what = format!("rows cannot be a {}", data.get_type().name()?);
        let hint =
            "an Arrow table, a pandas or Polars frame, a dict of columns and a list of rows can";
        return Err(PyTypeError::new_err(format!("{what}\nhint: {hint}")));
    }
    of_rows(data, columns)
}

/// As [`frame`]; also accepts `{"headers": […], "rows": […]}`.
pub(crate) fn frame_to_import(data: &Bound<'_, PyAny>, columns: &[String]) -> PyResult<Frame> {
    if let Ok(dict) = data.cast::<PyDict>()
        && let Some(rows) = dict.get_item("rows")?
        && let Some(headers) = dict.get_item("headers")?
    {
        let names: Vec<String> = headers.extract()?;
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); names.len()];
        for (place, row) in rows.try_iter()?.enumerate() {
            let row = row?;
            let mut given = 0;
            for (column, item) in row.try_iter()?.enumerate() {
                let item = item?;
                given += 1;
                if let (Some(values), Some(name)) = (columns.get_mut(column), names.get(column)) {
                    values.push(value(&item, Called::Column(name), 0)?);
                }
            }
            if given != names.len() {
                let what = format!("row {place} has {given} values for {} headers", names.len());
                return Err(invalid(&what));
            }
        }
        let columns = columns.into_iter().map(Series::from).collect();
        return Frame::new(names, columns).map_err(wrong);
    }
    frame(data, columns)
}

fn wrong(error: FrameError) -> PyErr {
    invalid(&error.to_string())
}

fn of_columns(columns: &Bound<'_, PyDict>) -> PyResult<Frame> {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for (name, column) in columns {
        let Ok(name) = name.cast::<PyString>() else {
            let what = format!("names of columns are texts, not {}", name.get_type());
            return Err(PyTypeError::new_err(what));
        };
        let name = name.to_str()?.to_owned();
        all.push(series(&column, &name)?);
        names.push(name);
    }
    Frame::new(names, all).map_err(wrong)
}

/// A column of an Arrow array, a NumPy array, or any iterable that is not a string.
fn series(column: &Bound<'_, PyAny>, name: &str) -> PyResult<Series> {
    if column.is_instance_of::<PyString>() {
        let what = format!("column `{name}` is a list of values, not one text");
        return Err(PyTypeError::new_err(what));
    }
    if is_list(column) {
        return listed(column, name);
    }
    if is_masked_array(column) {
        // Masked items become `None`.
        return listed(&column.call_method0("tolist")?, name);
    }
    // A column of a pyarrow table is a chunked array.
    if column.hasattr("combine_chunks")? && !column.hasattr("__arrow_c_array__")? {
        let whole = column.call_method0("combine_chunks")?;
        if whole.hasattr("__arrow_c_array__")? {
            return series(&whole, name);
        }
    }
    if column.hasattr("__arrow_c_array__")? {
        let (array, field) = array_of(column)?;
        return quipu::series_of_arrow(&array, &field.with_name(name)).or_raise();
    }
    if let Ok(array) = column.cast::<PyArray1<i64>>() {
        return Ok(Values::Int(array.readonly().as_array().to_vec()).into());
    }
    if let Ok(array) = column.cast::<PyArray1<f64>>() {
        return Ok(Values::Float(array.readonly().as_array().to_vec()).into());
    }
    if let Some(series) = crate::temporal::series(column, Called::Column(name))? {
        return Ok(series);
    }
    listed(column, name)
}

fn listed(column: &Bound<'_, PyAny>, name: &str) -> PyResult<Series> {
    let mut values = Vec::new();
    for item in column.try_iter()? {
        values.push(value(&item?, Called::Column(name), 0)?);
    }
    Ok(values.into())
}

/// Whether it is a list or a tuple, not of a class derived from these.
fn is_list(data: &Bound<'_, PyAny>) -> bool {
    data.is_exact_instance_of::<PyList>() || data.is_exact_instance_of::<PyTuple>()
}

fn of_rows(rows: &Bound<'_, PyAny>, columns: &[String]) -> PyResult<Frame> {
    let mut names: Option<Vec<String>> = None;
    let mut all: Vec<Vec<Value>> = Vec::new();
    for (place, row) in rows.try_iter()?.enumerate() {
        let row = row?;
        if let Ok(row) = row.cast::<PyDict>() {
            let names = match &mut names {
                Some(names) => names,
                none => {
                    let keys: Vec<String> = row.keys().extract()?;
                    all = vec![Vec::new(); keys.len()];
                    none.insert(keys)
                }
            };
            for (name, values) in names.iter().zip(&mut all) {
                let Some(item) = row.get_item(name)? else {
                    return Err(invalid(&format!("row {place} has no `{name}`, the first has")));
                };
                values.push(value(&item, Called::Column(name), 0)?);
            }
            if row.len() != names.len() {
                let what = format!("row {place} has other names than the first");
                return Err(invalid(&what));
            }
            continue;
        }
        if row.is_instance_of::<PyString>() || row.try_iter().is_err() {
            let what = format!("row {place} is a {}", row.get_type().name()?);
            let hint = "a row is a tuple, a list or a dict";
            return Err(PyTypeError::new_err(format!("{what}\nhint: {hint}")));
        }
        let mut given = 0;
        let items: Vec<Bound<'_, PyAny>> = row.try_iter()?.collect::<PyResult<_>>()?;
        let names = match &mut names {
            Some(names) => names,
            none => {
                let first = columns.get(..items.len()).unwrap_or(columns);
                all = vec![Vec::new(); first.len()];
                none.insert(first.to_vec())
            }
        };
        if items.len() != names.len() {
            let what = format!("row {place} has {} values for {}", items.len(), names.len());
            return Err(invalid(&format!("{what} columns")));
        }
        for ((item, name), values) in items.iter().zip(names.iter()).zip(&mut all) {
            values.push(value(item, Called::Column(name), 0)?);
            given += 1;
        }
        debug_assert_eq!(given, names.len());
    }
    // An empty list of rows has all columns of the relation.
    let names = names.unwrap_or_else(|| columns.to_vec());
    all.resize(names.len(), Vec::new());
    Frame::new(names, all.into_iter().map(Series::from).collect()).map_err(wrong)
}

pub(crate) fn is_pandas(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module = data.get_type().module()?;
    Ok(module.to_str()?.starts_with("pandas"))
}

/// A frame of pandas without the index that only numbers its rows, as it remains after `sample`. An
/// index with a name is a column, where `columns` has this name or the frame says it by Arrow.
pub(crate) fn without_index<'py>(
    data: &Bound<'py, PyAny>,
    columns: &[String],
) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    if !data.hasattr("columns")? {
        return Ok(data.clone());
    }
    let name = |name: PyResult<Bound<'py, PyAny>>| {
        let name = name?;
        let text = || Ok(name.str()?.to_str()?.to_owned());
        if name.is_none() { Ok(None) } else { text().map(Some) }
    };
    let names = data.getattr("index")?.getattr("names")?;
    let levels: Vec<Option<String>> = names.try_iter()?.map(name).collect::<PyResult<_>>()?;
    let mut data = data.clone();
    for level in levels.iter().flatten().filter(|level| columns.contains(level)) {
        if !data.getattr("columns")?.contains(level)? {
            data = data.call_method1("reset_index", (level,))?;
        }
    }
    if levels.iter().all(Option::is_none) {
        let options = PyDict::new(py);
        options.set_item("drop", true)?;
        data = data.call_method("reset_index", (), Some(&options))?;
    }
    Ok(data)
}

/// Without pyarrow, pandas has no Arrow interface: this reads column by column, with missing values
/// as nulls.
fn of_pandas(data: &Bound<'_, PyAny>) -> PyResult<Frame> {
    let py = data.py();
    let columns = PyDict::new(py);
    for name in data.getattr("columns")?.try_iter()? {
        let name = name?;
        let column = data.get_item(&name)?;
        let there = column.call_method0("notna")?.call_method0("tolist")?;
        let values = column.call_method0("tolist")?;
        let values: Vec<Bound<'_, PyAny>> = values.extract()?;
        let there: Vec<bool> = there.extract()?;
        let none = py.None().into_bound(py);
        let values: Vec<_> = values
            .into_iter()
            .zip(there)
            .map(|(value, there)| if there { value } else { none.clone() })
            .collect();
        columns.set_item(name, values)?;
    }
    of_columns(&columns)
}

/// Whether a column of Arrow is an index that only numbers the rows of a frame of pandas.
pub(crate) fn is_unnamed_index(name: &str) -> bool {
    name.starts_with("__index_level_") && name.ends_with("__")
}

fn of_arrow(data: &Bound<'_, PyAny>, wanted: &[String]) -> PyResult<Frame> {
    let (schema, batches) = schema_and_batches(data)?;
    let is_kept = |name: &String| !is_unnamed_index(name) || wanted.contains(name);
    let all: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let kept: Vec<usize> = (0..all.len()).filter(|&i| is_kept(&all[i])).collect();
    let mut columns: Vec<Option<Series>> = vec![None; kept.len()];
    for batch in batches {
        for (column, &i) in columns.iter_mut().zip(&kept) {
            let more = quipu::series_of_arrow(batch.column(i), schema.field(i)).or_raise()?;
            match column {
                Some(column) => column.append(more),
                none => *none = Some(more),
            }
        }
    }
    let names = kept.into_iter().map(|i| all[i].clone()).collect();
    let columns = columns.into_iter().map(|one| one.unwrap_or_else(|| Values::Null(0).into()));
    Frame::new(names, columns.collect()).map_err(wrong)
}
