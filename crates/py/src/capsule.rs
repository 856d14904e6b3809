//! The Arrow PyCapsule interface, import and export, without pyarrow. Classes with rows export by
//! it (`__arrow_c_stream__`), and arguments of any Arrow library are read by it. A stream can
//! transport only an `errno` and a string of an error.

use crate::error::invalid;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use quipu::{Error, ErrorKind};
use std::io;
use std::sync::Arc;

/// Returns the next batch; `None` at the end.
pub(crate) type NextBatch = Box<dyn FnMut() -> quipu::Result<Option<RecordBatch>> + Send>;

/// Exports a schema as a capsule.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(arrow_error)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Exports batches of this schema as a stream capsule.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    schema: &Arc<Schema>,
    mut next: NextBatch,
) -> PyResult<Bound<'py, PyCapsule>> {
    let batches = std::iter::from_fn(move || {
        let batch = next().transpose()?;
        Some(batch.map_err(stream_error))
    });
    let reader: Box<dyn RecordBatchReader + Send> =
        Box::new(RecordBatchIterator::new(batches, Arc::clone(schema)));
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

/// An error for the consumer of a stream, which gets an `errno` value and a string: mistakes are
/// `EINVAL` (a `ValueError` of pyarrow), too little memory is `ENOMEM`, anything else `EIO` (an
/// `OSError`).
fn stream_error(error: Error) -> ArrowError {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::ReadOnly => ArrowError::ExternalError(Box::new(error)),
        ErrorKind::Limit => ArrowError::MemoryError(error.to_string()),
        _ => ArrowError::IoError(error.to_string(), io::Error::other(error)),
    }
}

pub(crate) fn arrow_error(error: ArrowError) -> PyErr {
    invalid(&error.to_string())
}

/// Whether an object speaks the Arrow PyCapsule interface.
pub(crate) fn speaks_arrow(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.hasattr("__arrow_c_array__")? || value.hasattr("__arrow_c_stream__")?)
}

/// A NumPy array of a column with the Arrow interface: integers and floats of 64 bits, booleans,
/// strings as objects. No value changes; the caller checks the type.
pub(crate) fn arrow_to_numpy<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let arrays = arrow_arrays(value)?;
    let of = arrays.first().map_or(DataType::Null, |array| array.data_type().clone());
    Ok(match of {
        // The column has no rows, because nulls were refused.
        DataType::Null => PyArray1::from_vec(py, Vec::<f64>::new()).into_any(),
        DataType::Boolean => {
            let bits = arrays.iter().flat_map(|array| array.as_boolean().values());
            PyArray1::from_iter(py, bits).into_any()
        }
        of if of.is_unsigned_integer() => numbers::<UInt64Type>(py, &arrays)?,
        of if of.is_integer() => numbers::<Int64Type>(py, &arrays)?,
        of if of.is_floating() => numbers::<Float64Type>(py, &arrays)?,
        of if of.is_string() => {
            let list = PyList::empty(py);
            for array in arrays {
                let texts = arrow_cast::cast(&array, &DataType::LargeUtf8).map_err(arrow_error)?;
                texts.as_string::<i64>().iter().flatten().try_for_each(|text| list.append(text))?;
            }
            py.import("numpy")?.call_method1("array", (list, "object"))?
        }
        other => {
            let what = format!("a column of the Arrow type {other} holds no numbers and no texts");
            return Err(PyTypeError::new_err(what));
        }
    })
}

/// Numbers without nulls as an array of `T`, which must be able to hold each of them.
fn numbers<'py, T>(py: Python<'py>, arrays: &[ArrayRef]) -> PyResult<Bound<'py, PyAny>>
where
    T: ArrowPrimitiveType<Native: numpy::Element>,
{
    let mut numbers = Vec::with_capacity(arrays.iter().map(|array| array.len()).sum());
    for array in arrays {
        let array = arrow_cast::cast(array, &T::DATA_TYPE).map_err(arrow_error)?;
        numbers.extend_from_slice(array.as_primitive::<T>().values());
    }
    Ok(PyArray1::from_vec(py, numbers).into_any())
}

/// The arrays of a column with the Arrow interface, or of the only column of a table. Nulls are
/// refused, and dictionary encoding is decoded.
pub(crate) fn arrow_arrays(value: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let mut arrays = chunks(value)?;
    let mut rows = 0;
    for array in &mut arrays {
        refuse_nulls(array, rows)?;
        if let Some(table) = array.as_struct_opt() {
            let [column] = table.columns() else {
                let count = table.num_columns();
                return Err(invalid(&format!("one column, not a table of {count}, is needed")));
            };
            *array = Arc::clone(column);
        }
        if let DataType::Dictionary(_, of) = array.data_type() {
            *array = arrow_cast::cast(array, of).map_err(arrow_error)?;
        }
        refuse_nulls(array, rows)?;
        rows += array.len();
    }
    Ok(arrays)
}

/// Refuses an array with nulls. The error names the row of the first one; `rows` is the number of
/// rows of the column before this array.
fn refuse_nulls(array: &ArrayRef, rows: usize) -> PyResult<()> {
    let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(());
    };
    let at = rows + nulls.iter().take_while(|&is_valid| is_valid).count();
    Err(invalid(&format!("the column holds nulls, the first at position {at}")))
}

/// The arrays of a column with the Arrow interface, nulls included.
pub(crate) fn chunks(value: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if value.hasattr("__arrow_c_array__")? {
        return Ok(vec![array_of(value)?.0]);
    }
    chunks_of(value)?.collect::<Result<_, _>>().map_err(arrow_error)
}

/// The array of a value with `__arrow_c_array__`, and its field.
#[allow(unsafe_code)]
// SAFETY of this module's four blocks: the capsules' contents follow the Arrow C data interface by
// the name they were asked for under; each is taken (replaced by an empty, released one) once.
pub(crate) fn array_of(value: &Bound<'_, PyAny>) -> PyResult<(ArrayRef, Field)> {
    let pair = value.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
    let (schema, array) = (pair.get_item(0)?, pair.get_item(1)?);
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_schema"))?;
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: see above.
    let (data, field) = unsafe {
        let schema = FFI_ArrowSchema::from_raw(schema.as_ptr().cast());
        let array = FFI_ArrowArray::from_raw(array.as_ptr().cast());
        let field = Field::try_from(&schema).map_err(arrow_error)?;
        (from_ffi(array, &schema).map_err(arrow_error)?, field)
    };
    Ok((arrow_array::make_array(data), field))
}

/// The record batches of a table, a stream, or a struct array.
pub(crate) fn batches(
    table: &Bound<'_, PyAny>,
) -> PyResult<Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>> {
    if table.hasattr("__arrow_c_stream__")? {
        return Ok(Box::new(stream_of(table)?));
    }
    if table.hasattr("__arrow_c_array__")? {
        let (array, _) = array_of(table)?;
        let batch = array
            .as_any()
            .downcast_ref::<StructArray>()
            .map(RecordBatch::from)
            .ok_or_else(|| invalid("a table of edges is needed, not a single column"))?;
        return Ok(Box::new(std::iter::once(Ok(batch))));
    }
    Err(invalid(
        "import_arrow takes anything with the Arrow PyCapsule interface: a pyarrow or Polars table, a \
         pandas frame of version 2.2 or later, a record batch reader",
    ))
}

#[allow(unsafe_code)]
fn stream_of(value: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = value.call_method0("__arrow_c_stream__")?;
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: see `array_of`.
    unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr().cast()) }.map_err(arrow_error)
}

/// As [`stream_of`], for arrays of any type instead of record batches.
#[allow(unsafe_code)]
fn chunks_of(value: &Bound<'_, PyAny>) -> PyResult<ArrayStreamReader> {
    let capsule = value.call_method0("__arrow_c_stream__")?;
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: see `array_of`.
    unsafe { ArrayStreamReader::from_raw(pointer.as_ptr().cast()) }.map_err(arrow_error)
}

/// The schema of a table, and its record batches.
pub(crate) fn schema_and_batches(
    table: &Bound<'_, PyAny>,
) -> PyResult<(Arc<Schema>, Vec<RecordBatch>)> {
    let all = match table.hasattr("__arrow_c_stream__")? {
        true => {
            let stream = stream_of(table)?;
            let schema = stream.schema();
            (schema, stream.collect::<Result<Vec<_>, _>>().map_err(arrow_error)?)
        }
        false => {
            let batches = batches(table)?.collect::<Result<Vec<_>, _>>().map_err(arrow_error)?;
            let schema = batches.first().map(RecordBatch::schema);
            (schema.unwrap_or_else(|| Arc::new(Schema::empty())), batches)
        }
    };
    Ok(all)
}

/// The schema of a schema object, or of a table.
#[allow(unsafe_code)]
pub(crate) fn schema_of(value: &Bound<'_, PyAny>) -> PyResult<Schema> {
    if !value.hasattr("__arrow_c_schema__")? {
        return Ok(stream_of(value)?.schema().as_ref().clone());
    }
    let capsule = value.call_method0("__arrow_c_schema__")?;
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_schema"))?;
    // SAFETY: see `array_of`.
    let schema = unsafe { FFI_ArrowSchema::from_raw(pointer.as_ptr().cast()) };
    Schema::try_from(&schema).map_err(arrow_error)
}
