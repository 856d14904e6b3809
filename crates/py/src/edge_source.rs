//! The sources of imported edges: paths, file objects, tables, and columns in memory.
//!
//! `quipu/_sources.py` tells what an object is; here it becomes an input of the import.

use crate::capsule::{batches, chunks, speaks_arrow};
use crate::error::{OrRaise, invalid};
use crate::frames::frame;
use crate::missing::is_missing;
use crate::python_code::attached;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, LargeStringArray,
    NullArray, RecordBatch, UInt64Array,
};
use arrow_schema::{Field, Schema};
use env::sync::Mutex;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use quipu::{ErrorKind, Frame, ImportFile, PropertySource, Series, Value, Values};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of a batch of columns in memory.
const BATCH_ROWS: usize = 256 << 10;

/// Bytes asked of a file object at a time.
const READ_BYTES: usize = 1 << 20;

pub(crate) type Batches = Box<dyn Iterator<Item = quipu::Result<RecordBatch>> + Send>;

/// Where edges come from.
pub(crate) enum EdgeSource {
    Files(Vec<ImportFile>, Raised),
    /// A table, and what it has left out of its object.
    Table(Batches, Vec<String>),
}

/// An exception of a file object that a job read.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// The input that an object is.
pub(crate) fn source(object: &Bound<'_, PyAny>) -> PyResult<EdgeSource> {
    let found = python(object.py())?.call_method1("source", (object,))?.cast_into::<PyTuple>()?;
    let (kind, content) = (found.get_item(0)?.extract::<String>()?, found.get_item(1)?);
    match kind.as_str() {
        "files" => files(&content),
        _ => table_source(&content),
    }
}

/// Rows with properties that an object is, and the exceptions of its file objects.
pub(crate) fn property_source(object: &Bound<'_, PyAny>) -> PyResult<(PropertySource, Raised)> {
    let found = python(object.py())?.call_method1("source", (object,))?.cast_into::<PyTuple>()?;
    let (kind, content) = (found.get_item(0)?.extract::<String>()?, found.get_item(1)?);
    if kind == "files" {
        let EdgeSource::Files(files, raised) = files(&content)? else {
            return Err(invalid("no files were found"));
        };
        return Ok((PropertySource::Files(files), raised));
    }
    let source = match content.cast::<PyTuple>() {
        // Names and columns, whose values are of any type.
        Ok(pair) => {
            let columns = PyDict::new(object.py());
            let names = pair.get_item(0)?;
            for (name, column) in names.try_iter()?.zip(pair.get_item(1)?.try_iter()?) {
                columns.set_item(name?, plain(&column?)?)?;
            }
            PropertySource::Rows(without_nan(frame(&columns, &[])?)?)
        }
        Err(_) => PropertySource::Batches(table_of(&content)?),
    };
    Ok((source, Raised::default()))
}

/// A masked array as a list with `None`; anything else unchanged.
fn plain<'py>(column: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match column.hasattr("mask")? {
        true => column.call_method0("tolist"),
        false => Ok(column.clone()),
    }
}

/// NaN in columns of Python is a missing value, as in other imports.
fn without_nan(frame: Frame) -> PyResult<Frame> {
    let names = frame.names().to_vec();
    let column = |mut series: Series| {
        let nan: Vec<usize> = match &series.values {
            Values::Float(values) => (0..values.len()).filter(|&i| values[i].is_nan()).collect(),
            Values::Any(values) => (0..values.len())
                .filter(|&i| matches!(values[i], Value::Float(value) if value.is_nan()))
                .collect(),
            _ => Vec::new(),
        };
        if nan.is_empty() {
            return series;
        }
        if let Values::Any(values) = &mut series.values {
            nan.into_iter().for_each(|row| values[row] = Value::Null);
            return series;
        }
        let value =
            |row| if nan.binary_search(&row).is_ok() { Value::Null } else { series.value(row) };
        (0..series.len()).map(value).collect::<Vec<_>>().into()
    };
    let columns = frame.into_columns().into_iter().map(column).collect();
    Frame::new(names, columns).map_err(|error| invalid(&error.to_string()))
}

/// The files that paths and file objects mean.
pub(crate) fn files_of(object: &Bound<'_, PyAny>) -> PyResult<EdgeSource> {
    files(&python(object.py())?.call_method1("files", (object,))?)
}

/// A table, or an object that converts to one.
pub(crate) fn table(object: &Bound<'_, PyAny>) -> PyResult<EdgeSource> {
    table_source(&python(object.py())?.call_method1("table", (object,))?)
}

fn table_source(content: &Bound<'_, PyAny>) -> PyResult<EdgeSource> {
    let notes = match content.cast::<PyTuple>() {
        Ok(parts) if parts.len() > 2 => parts.get_item(2)?.extract()?,
        _ => Vec::new(),
    };
    Ok(EdgeSource::Table(table_of(content)?, notes))
}

fn python<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyModule>> {
    py.import("quipu._sources")
}

fn files(list: &Bound<'_, PyAny>) -> PyResult<EdgeSource> {
    let raised = Raised::default();
    let mut files = Vec::new();
    for item in list.try_iter()? {
        let item = item?;
        if let Ok(path) = item.extract::<PathBuf>() {
            files.extend(ImportFile::all_at(&path).or_raise()?);
            continue;
        }
        let name = item.getattr("name").and_then(|name| name.extract::<String>());
        let name = name.unwrap_or_else(|_| "the file object".to_owned());
        let reader = PyReader {
            object: item.unbind(),
            held: Vec::new(),
            at: 0,
            raised: Arc::clone(&raised),
        };
        files.push(ImportFile::stream(Box::new(reader), &name));
    }
    Ok(EdgeSource::Files(files, raised))
}

/// Reads a file object. A job calls it without the GIL.
struct PyReader {
    object: Py<PyAny>,
    held: Vec<u8>,
    at: usize,
    raised: Raised,
}

impl PyReader {
    fn fill(&mut self) -> io::Result<()> {
        let read = attached(|py| {
            let read = self.object.bind(py).call_method1("read", (READ_BYTES,))?;
            if let Ok(text) = read.cast::<PyString>() {
                return Ok(text.to_str()?.as_bytes().to_vec());
            }
            match read.cast::<PyBytes>() {
                Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
                Err(_) => read.extract::<Vec<u8>>(),
            }
        });
        self.at = 0;
        match read {
            Ok(bytes) => {
                self.held = bytes;
                Ok(())
            }
            Err(error) => {
                let text = error.to_string();
                *self.raised.lock() = Some(error);
                self.held.clear();
                Err(io::Error::other(text))
            }
        }
    }
}

impl Read for PyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.held.len() {
            self.fill()?;
        }
        let length = buffer.len().min(self.held.len() - self.at);
        buffer[..length].copy_from_slice(&self.held[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// Record batches of an object with the Arrow interface, or of a tuple of names and columns.
fn table_of(object: &Bound<'_, PyAny>) -> PyResult<Batches> {
    if let Ok(pair) = object.cast::<PyTuple>() {
        let (names, columns) = (pair.get_item(0)?, pair.get_item(1)?);
        let columns = columns.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        return Ok(sliced(&batch_of(names.extract()?, &columns)?));
    }
    let read = batches(object)?;
    Ok(Box::new(
        read.map(|batch| {
            batch.map_err(|error| quipu::Error::caused(ErrorKind::InvalidInput, error))
        }),
    ))
}

fn sliced(batch: &RecordBatch) -> Batches {
    let rows = batch.num_rows();
    let starts = (0..rows.max(1)).step_by(BATCH_ROWS);
    let slices: Vec<_> =
        starts.map(|start| batch.slice(start, BATCH_ROWS.min(rows - start))).collect();
    Box::new(slices.into_iter().map(Ok))
}

/// A record batch of columns: NumPy arrays, masked ones too, lists, and columns with the Arrow
/// interface. `None`, NaN and masked items are null.
pub(crate) fn batch_of(names: Vec<String>, columns: &[Bound<'_, PyAny>]) -> PyResult<RecordBatch> {
    let arrays = columns.iter().map(array_of).collect::<PyResult<Vec<_>>>()?;
    let fields: Vec<_> = names
        .into_iter()
        .zip(&arrays)
        .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|_| invalid("the columns differ in length"))
}

fn array_of(column: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let py = column.py();
    if speaks_arrow(column)? && !column.hasattr("dtype")? {
        if let [only] = &chunks(column)?[..] {
            return Ok(Arc::clone(only));
        }
        let list = if column.hasattr("to_pylist")? { "to_pylist" } else { "to_list" };
        return of_objects(&column.call_method0(list)?.cast_into()?, &|_| false);
    }
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asanyarray", (column,))?;
    if array.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(invalid("a column is an array of one dimension"));
    }
    let mask = match array.hasattr("mask")? {
        true => {
            let mask = numpy.getattr("ma")?.call_method1("getmaskarray", (&array,))?;
            let mask = mask.cast_into::<PyArray1<bool>>()?.readonly();
            Some(mask.as_array().iter().copied().collect::<Vec<_>>())
        }
        false => None,
    };
    let data = if mask.is_some() { array.getattr("data")? } else { array };
    let kind: String = data.getattr("dtype")?.getattr("kind")?.extract()?;
    let is_null = |row: usize| mask.as_ref().is_some_and(|mask| mask[row]);
    Ok(match kind.as_str() {
        "i" => Arc::new(numbers::<i64, Int64Array>(&data, "int64", |i, _| is_null(i))?),
        "u" => Arc::new(numbers::<u64, UInt64Array>(&data, "uint64", |i, _| is_null(i))?),
        "b" => Arc::new(numbers::<bool, BooleanArray>(&data, "bool", |i, _| is_null(i))?),
        "f" if data.getattr("itemsize")?.extract::<usize>()? == size_of::<f32>() => {
            let is_missing = |i, value: f32| is_null(i) || value.is_nan();
            Arc::new(numbers::<f32, Float32Array>(&data, "float32", is_missing)?)
        }
        "f" => {
            let is_missing = |i, value: f64| is_null(i) || value.is_nan();
            Arc::new(numbers::<f64, Float64Array>(&data, "float64", is_missing)?)
        }
        "U" | "O" | "S" => of_objects(&data.call_method0("tolist")?.cast_into()?, &is_null)?,
        _ => {
            let dtype = data.getattr("dtype")?;
            return Err(PyTypeError::new_err(format!("{dtype} is no vertex and no weight")));
        }
    })
}

/// The values of a NumPy array, converted to `dtype`; null where `is_null` is true of the place and
/// the value.
fn numbers<T: Element + Copy, A: FromIterator<Option<T>>>(
    data: &Bound<'_, PyAny>,
    dtype: &str,
    is_null: impl Fn(usize, T) -> bool,
) -> PyResult<A> {
    let numpy = data.py().import("numpy")?;
    let values = numpy.call_method1("ascontiguousarray", (data, dtype))?;
    let values = values.cast_into::<PyArray1<T>>()?.readonly();
    let value = |(i, &value): (usize, &T)| (!is_null(i, value)).then_some(value);
    Ok(values.as_array().iter().enumerate().map(value).collect())
}

/// A column of Python objects: integers, floats or decimals, or texts; `None` is null.
fn of_objects(list: &Bound<'_, PyList>, is_null: &dyn Fn(usize) -> bool) -> PyResult<ArrayRef> {
    let is_none = |i: usize, item: &Bound<'_, PyAny>| is_null(i) || is_missing(item);
    let items: Vec<_> = list
        .iter()
        .enumerate()
        .map(|(i, item)| if is_none(i, &item) { None } else { Some(item) })
        .collect();
    let all = |is: &dyn Fn(&Bound<'_, PyAny>) -> bool| items.iter().flatten().all(is);
    if items.iter().all(Option::is_none) {
        return Ok(Arc::new(NullArray::new(items.len())));
    }
    if all(&|item| item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>()) {
        let signed: PyResult<Int64Array> =
            items.iter().map(|item| item.as_ref().map(|item| item.extract()).transpose()).collect();
        if let Ok(signed) = signed {
            return Ok(Arc::new(signed));
        }
        let unsigned: PyResult<UInt64Array> =
            items.iter().map(|item| item.as_ref().map(|item| item.extract()).transpose()).collect();
        return Ok(Arc::new(unsigned.map_err(|_| invalid("an integer is out of range"))?));
    }
    let is_text = |item: &Bound<'_, PyAny>| {
        let name = item.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        item.is_instance_of::<PyString>() || name == "UUID"
    };
    if all(&is_text) {
        let texts: PyResult<LargeStringArray> = items
            .iter()
            .map(|item| item.as_ref().map(|item| Ok(item.str()?.to_string())).transpose())
            .collect();
        return Ok(Arc::new(texts?));
    }
    let is_number = |item: &Bound<'_, PyAny>| {
        !is_text(item)
            && (item.is_instance_of::<PyFloat>() || item.hasattr("__float__").unwrap_or(false))
    };
    if all(&is_number) {
        let floats: PyResult<Float64Array> = items
            .iter()
            .map(|item| {
                let float = item.as_ref().map(|item| item.call_method0("__float__")?.extract());
                float.transpose()
            })
            .collect();
        return Ok(Arc::new(floats?));
    }
    if all(&|item| item.is_instance_of::<PyBytes>()) {
        return Err(PyTypeError::new_err("names are text, not bytes: decode them first"));
    }
    Err(PyTypeError::new_err("a column holds values of several types"))
}
