//! Converts values of the query language from Python and to Python: parameters, rows, results, and
//! arguments of user-defined functions. Dates and times are in `temporal.rs`. The types are those
//! of the stub; an error names the parameter, row or column of the value.

use crate::attribute::Attribute;
use crate::called::Called;
use crate::columns::explain;
use crate::error::invalid;
use crate::temporal;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple,
};
use quipu::{Decimal, Json, Parameters, Value, Vector};

/// Maximum nesting of lists, from Python and to Python. JSON has the same limit.
const DEPTH_MAX: usize = 128;

static UUID: Attribute = Attribute::new("uuid", "UUID");
static DECIMAL: Attribute = Attribute::new("decimal", "Decimal");
static DUMPS: Attribute = Attribute::new("json", "dumps");
static LOADS: Attribute = Attribute::new("json", "loads");

/// Parameters of a script from a mapping with strings as keys.
pub(crate) fn parameters(given: Option<&Bound<'_, PyAny>>) -> PyResult<Parameters> {
    let mut parameters = Parameters::new();
    let Some(given) = given else { return Ok(parameters) };
    let given = match given.cast::<PyDict>() {
        Ok(dict) => dict.clone(),
        Err(_) => given.py().get_type::<PyDict>().call1((given,))?.cast_into()?,
    };
    for (name, item) in given {
        let Ok(name) = name.cast::<PyString>() else {
            let what = format!("names of parameters are texts, not {}", name.get_type());
            return Err(PyTypeError::new_err(what));
        };
        let name = name.to_str()?;
        parameters.insert(name.to_owned(), value(&item, Called::Parameter(name), 0)?);
    }
    Ok(parameters)
}

/// A Python object as a value. `name` is what messages call it, `depth` how deeply it is nested.
pub(crate) fn value(given: &Bound<'_, PyAny>, name: Called<'_>, depth: usize) -> PyResult<Value> {
    let py = given.py();
    if depth > DEPTH_MAX {
        return Err(invalid(&format!("{name} is nested deeper than {DEPTH_MAX}")));
    }
    if given.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(bool) = given.cast::<PyBool>() {
        return Ok(Value::Bool(bool.is_true()));
    }
    if given.is_instance_of::<PyInt>() {
        return int(given, name);
    }
    if let Ok(float) = given.cast::<PyFloat>() {
        return Ok(Value::Float(float.value()));
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Value::Str(text.to_str()?.to_owned()));
    }
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(Value::Bytes(bytes.as_bytes().to_vec()));
    }
    if given.is_instance_of::<PyByteArray>() || given.is_instance_of::<PyMemoryView>() {
        let bytes = py.get_type::<PyBytes>().call1((given,))?;
        return Ok(Value::Bytes(bytes.cast::<PyBytes>()?.as_bytes().to_vec()));
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let items = given.try_iter()?.map(|item| value(&item?, name, depth + 1));
        return Ok(Value::List(items.collect::<PyResult<_>>()?));
    }
    if given.is_instance_of::<PyDict>() {
        return json(given, name);
    }
    if given.is_instance(UUID.get(py)?)? {
        return Ok(Value::Uuid(given.getattr("bytes")?.extract()?));
    }
    if given.is_instance(DECIMAL.get(py)?)? {
        return decimal(given, name);
    }
    if let Some(value) = temporal::value(given, name)? {
        return Ok(value);
    }
    // NumPy's scalars and arrays, and objects that look like them.
    if given.hasattr("dtype")? && given.hasattr("tolist")? {
        let plain = given.call_method0("tolist")?;
        if !plain.get_type().is(given.get_type()) {
            return value(&plain, name, depth + 1);
        }
    }
    let kind = given.get_type().name()?;
    if kind == "NAType" {
        // `NA` of pandas.
        return Ok(Value::Null);
    }
    let what = format!("{name} cannot be a {kind}");
    let hint = "None, bool, int, float, str, bytes, list, tuple, dict, UUID, Decimal, date, \
                datetime, timedelta and NumPy's can";
    Err(PyTypeError::new_err(format!("{what}\nhint: {hint}")))
}

fn int(given: &Bound<'_, PyAny>, name: Called<'_>) -> PyResult<Value> {
    if let Ok(int) = given.extract::<i64>() {
        return Ok(Value::Int(int));
    }
    let what = format!("{name} is an integer from -2**63 to 2**64 - 1");
    given.extract::<u64>().map(Value::id).map_err(|error| explain(given, error, &what))
}

/// A `decimal.Decimal` as a value.
///
/// # Errors
/// It is not finite, or has too many digits.
fn decimal(given: &Bound<'_, PyAny>, name: Called<'_>) -> PyResult<Value> {
    let text: String = given.str()?.extract()?;
    let decimal = Decimal::parse(&text).map(Value::Decimal);
    decimal.ok_or_else(|| {
        invalid(&format!(
            "{name} is {text}, and a Decimal is a number with at most 38 digits, and 38 behind the point"
        ))
    })
}

/// A Python object as JSON; bytes are JSON text. `name` is what messages call it.
///
/// # Errors
/// `quipu.InvalidInputError`: it is no JSON, holds what JSON cannot, or nests too deep.
pub(crate) fn json_value(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Json> {
    let py = given.py();
    let wrong = |why: String| invalid(&format!("{name} is no JSON: {why}"));
    let text: String = if let Ok(bytes) = given.cast::<PyBytes>() {
        let text = std::str::from_utf8(bytes.as_bytes());
        text.map_err(|error| wrong(error.to_string()))?.to_owned()
    } else {
        dumped(given).map_err(|error| wrong(error.value(py).to_string()))?
    };
    Json::parse(&text).map_err(|error| wrong(error.to_string()))
}

/// A Python object as JSON text, by `json.dumps`.
fn dumped(given: &Bound<'_, PyAny>) -> PyResult<String> {
    let arguments = PyDict::new(given.py());
    arguments.set_item("allow_nan", false)?;
    DUMPS.get(given.py())?.call((given,), Some(&arguments))?.extract()
}

/// JSON as a Python object.
pub(crate) fn json_object<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    LOADS.get(py)?.call1((json.as_str(),))
}

fn json(given: &Bound<'_, PyAny>, name: Called<'_>) -> PyResult<Value> {
    let wrong = |why: String| invalid(&format!("{name} is a dict, but no JSON: {why}"));
    let text = dumped(given).map_err(|error| wrong(error.value(given.py()).to_string()))?;
    Ok(Value::Json(Json::parse(&text).map_err(|error| wrong(error.to_string()))?))
}

/// A value as a Python object.
pub(crate) fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    nested(py, value, 0)
}

fn nested<'py>(py: Python<'py>, value: &Value, depth: usize) -> PyResult<Bound<'py, PyAny>> {
    if depth > DEPTH_MAX {
        return Err(invalid(&format!("the result holds a list nested deeper than {DEPTH_MAX}")));
    }
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(bool) => bool.into_bound_py_any(py),
        Value::Int(int) => int.into_bound_py_any(py),
        Value::Id(id) => id.into_bound_py_any(py),
        Value::Float(float) => float.into_bound_py_any(py),
        Value::Str(text) => text.into_bound_py_any(py),
        Value::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Value::Uuid(bytes) => {
            let arguments = PyDict::new(py);
            arguments.set_item("bytes", PyBytes::new(py, bytes))?;
            UUID.get(py)?.call((), Some(&arguments))
        }
        Value::List(items) => {
            let items = items.iter().map(|item| nested(py, item, depth + 1));
            Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        Value::Vector(Vector::F32(items)) => Ok(PyList::new(py, items)?.into_any()),
        Value::Vector(Vector::F64(items)) => Ok(PyList::new(py, items)?.into_any()),
        Value::Json(json) => LOADS.get(py)?.call1((json.as_str(),)),
        Value::Date(days) => temporal::date(py, *days),
        Value::Timestamp(us) => temporal::timestamp(py, *us),
        Value::Duration(us) => temporal::duration(py, *us),
        Value::Decimal(decimal) => DECIMAL.get(py)?.call1((decimal.to_string(),)),
        Value::Validity(validity) => (validity.timestamp_us, validity.assert).into_bound_py_any(py),
    }
}
