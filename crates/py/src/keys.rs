//! Converts keys and values of blobs and counters from Python and to Arrow, for `blobs.rs`,
//! `blob_stream.rs` and `counters.rs`. A key is borrowed for the duration of the call, not copied.

use crate::columns::explain;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, LargeBinaryArray};
use arrow_schema::DataType;
use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use quipu::{BytesColumn, KeyColumn, KeyOf, KeyType, NumberColumn};
use std::sync::Arc;

/// Calls `f` with a Python object as a key of this type.
#[inline]
pub(crate) fn with_key<R>(
    of: KeyType,
    value: &Bound<'_, PyAny>,
    f: impl FnOnce(KeyOf<'_>) -> PyResult<R>,
) -> PyResult<R> {
    match of {
        KeyType::U64 => {
            f(KeyOf::U64(value.extract().map_err(|error| {
                explain(value, error, "a key is an integer from 0 to 2**64 - 1")
            })?))
        }
        KeyType::I64 => f(KeyOf::I64(value.extract().map_err(|error| {
            explain(value, error, "a key is an integer from -2**63 to 2**63 - 1")
        })?)),
        KeyType::Str => {
            let text = value.cast::<PyString>().map_err(|_| {
                PyTypeError::new_err(format!("a key here is text, not {}", value.get_type()))
            })?;
            f(KeyOf::Str(text.to_str()?))
        }
    }
}

/// A key of a column as a Python object.
pub(crate) fn key_object<'py>(
    py: Python<'py>,
    keys: &KeyColumn,
    at: usize,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match keys {
        KeyColumn::U64(words) => words[at].into_pyobject(py)?.into_any(),
        KeyColumn::I64(ints) => ints[at].into_pyobject(py)?.into_any(),
        KeyColumn::Str(texts) => PyString::from_bytes(py, texts.get(at))?.into_any(),
    })
}

/// Calls `f` with a key, or with `None`.
pub(crate) fn with_bound<R>(
    of: KeyType,
    value: Option<&Bound<'_, PyAny>>,
    f: impl FnOnce(Option<KeyOf<'_>>) -> PyResult<R>,
) -> PyResult<R> {
    match value.filter(|value| !value.is_none()) {
        None => f(None),
        Some(value) => with_key(of, value, |key| f(Some(key))),
    }
}

/// Calls `f` with the start and the end of a range. Either may be `None`, which is open.
pub(crate) fn with_range<R>(
    of: KeyType,
    start: Option<&Bound<'_, PyAny>>,
    stop: Option<&Bound<'_, PyAny>>,
    f: impl FnOnce(Option<KeyOf<'_>>, Option<KeyOf<'_>>) -> PyResult<R>,
) -> PyResult<R> {
    with_bound(of, start, |start| with_bound(of, stop, |stop| f(start, stop)))
}

/// Calls `f` with the bytes of one value. `bytes` are borrowed; a `bytearray` and a `memoryview`
/// are copied first.
pub(crate) fn with_bytes<R>(
    value: &Bound<'_, PyAny>,
    f: impl FnOnce(&[u8]) -> PyResult<R>,
) -> PyResult<R> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return f(bytes.as_bytes());
    }
    if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
        let bytes = value.py().get_type::<PyBytes>().call1((value,))?;
        return f(bytes.cast::<PyBytes>()?.as_bytes());
    }
    let hint =
        if value.is_instance_of::<PyString>() { "; text.encode() makes bytes of it" } else { "" };
    Err(PyTypeError::new_err(format!("a value is bytes, not {}{hint}", value.get_type())))
}

/// A column of values: any iterable of bytes, or an Arrow array of binary values or strings.
pub(crate) fn values(value: &Bound<'_, PyAny>) -> PyResult<BytesColumn> {
    let mut column = BytesColumn::default();
    if crate::capsule::speaks_arrow(value)?
        && let Some(arrays) = spoken(value)?
    {
        for array in arrays {
            let of = array.data_type();
            // A cast would reinterpret the memory of numbers as bytes. The null type is of no rows.
            if !(of.is_string() || of.is_binary() || of.is_null()) {
                let what = format!("values are bytes or texts, not of the Arrow type {of}");
                return Err(PyTypeError::new_err(what));
            }
            let array = arrow_cast::cast(&array, &DataType::LargeBinary)
                .map_err(crate::capsule::arrow_error)?;
            let array = array.as_binary::<i64>();
            (0..array.len()).for_each(|i| column.push(Some(array.value(i))));
        }
        return Ok(column);
    }
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("a list of bytes is needed, not one value"));
    }
    for item in value.try_iter()? {
        with_bytes(&item?, |bytes| {
            column.push(Some(bytes));
            Ok(())
        })?;
    }
    Ok(column)
}

/// The arrays of an object with the Arrow interface; `None` for a column of pandas without pyarrow,
/// which it would need for that. Such a column is iterated instead.
fn spoken(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    match crate::capsule::arrow_arrays(value) {
        Err(error) if error.is_instance_of::<PyImportError>(value.py()) => Ok(None),
        arrays => arrays.map(Some),
    }
}

/// Values as an Arrow array of binary type, without a copy of the bytes.
pub(crate) fn binary_array(values: BytesColumn) -> ArrayRef {
    let offsets: Vec<i64> = values.offsets.iter().map(|offset| offset.cast_signed()).collect();
    let nulls = values.validity.0.map(|words| {
        let count = offsets.len() - 1;
        let buffer =
            arrow_buffer::BooleanBuffer::new(arrow_buffer::Buffer::from_vec(words), 0, count);
        arrow_buffer::NullBuffer::new(buffer)
    });
    let offsets = arrow_buffer::OffsetBuffer::new(offsets.into());
    Arc::new(LargeBinaryArray::new(offsets, values.heap.into(), nulls))
}

/// Numbers as an Arrow array of `int64` or `float64`.
pub(crate) fn number_array(numbers: NumberColumn) -> ArrayRef {
    match numbers {
        NumberColumn::Int(numbers) => Arc::new(Int64Array::from(numbers)),
        NumberColumn::Float(numbers) => Arc::new(Float64Array::from(numbers)),
    }
}
