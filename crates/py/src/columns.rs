//! Input columns: NumPy arrays, lists and Arrow data, as vertices of a graph or keys of blobs and
//! counters.

use crate::error::{OrRaise, invalid};
use crate::missing::{is_masked_array, is_missing};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use quipu::{Graph, KeyType, VertexList};
use std::borrow::Cow;
use std::fmt::Display;

/// The name of a column's values in messages.
#[derive(Clone, Copy)]
pub(crate) struct Noun {
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
    /// Whether floats that are whole numbers are accepted.
    pub(crate) may_be_float: bool,
}

/// Maximum number of wrong values that a message shows.
const PLACES_MAX: usize = 10;

/// Vertices of graphs.
pub(crate) const VERTEX: Noun = Noun { one: "a vertex", many: "vertices", may_be_float: true };
/// Keys of blobs and counters.
pub(crate) const KEY: Noun = Noun { one: "a key", many: "keys", may_be_float: false };

/// The numbers of counters.
pub(crate) const NUMBER: Noun = Noun { one: "a number", many: "numbers", may_be_float: false };
/// Weights of edges.
pub(crate) const WEIGHT: Noun = Noun { one: "a weight", many: "weights", may_be_float: false };

/// A column of vertices or keys. It borrows NumPy's memory where it can.
pub(crate) enum Column<'py> {
    U64(PyReadonlyArray1<'py, u64>),
    I64(PyReadonlyArray1<'py, i64>),
    Owned(Vec<u64>),
    OwnedI64(Vec<i64>),
    Text(Vec<String>),
}

impl Column<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U64(array) => array.len().unwrap_or(0),
            Self::I64(array) => array.len().unwrap_or(0),
            Self::Owned(words) => words.len(),
            Self::OwnedI64(words) => words.len(),
            Self::Text(texts) => texts.len(),
        }
    }

    /// The 64-bit words of the vertices in this graph.
    pub(crate) fn words(&self, graph: &Graph) -> PyResult<Cow<'_, [u64]>> {
        let mut words = Vec::new();
        match self {
            Self::U64(array) => return Ok(Cow::Borrowed(slice(array)?)),
            Self::Owned(words) => return Ok(Cow::Borrowed(words)),
            Self::I64(array) => {
                graph.to_words(VertexList::I64(slice(array)?), &mut words).or_raise()?;
            }
            Self::OwnedI64(ints) => {
                graph.to_words(VertexList::I64(ints), &mut words).or_raise()?;
            }
            Self::Text(texts) => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                graph.to_words(VertexList::Str(&texts), &mut words).or_raise()?;
            }
        }
        Ok(Cow::Owned(words))
    }

    /// Calls `f` with the values as a list of their type.
    pub(crate) fn with_list<R>(&self, f: impl FnOnce(VertexList<'_>) -> R) -> PyResult<R> {
        Ok(match self {
            Self::U64(array) => f(VertexList::U64(slice(array)?)),
            Self::I64(array) => f(VertexList::I64(slice(array)?)),
            Self::Owned(words) => f(VertexList::U64(words)),
            Self::OwnedI64(ints) => f(VertexList::I64(ints)),
            Self::Text(texts) => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                f(VertexList::Str(&texts))
            }
        })
    }
}

pub(crate) fn slice<'a, T: numpy::Element>(
    array: &'a PyReadonlyArray1<'_, T>,
) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| invalid("the array is not contiguous"))
}

/// A NumPy array of a list, or of an object with `__array__` (NumPy, pandas, Polars, pyarrow),
/// `__arrow_c_array__` or `__arrow_c_stream__`.
pub(crate) fn as_array<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let known = value.hasattr("__array__")? || !crate::capsule::speaks_arrow(value)?;
    if known {
        return py.import("numpy")?.call_method1("asarray", (value,));
    }
    crate::capsule::arrow_to_numpy(value)
}

/// NumPy forgets the mask of an array when it converts it.
///
/// # Errors
/// The array has masked items.
fn refuse_masked(noun: Noun, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if !is_masked_array(value) || !value.getattr("mask")?.call_method0("any")?.is_truthy()? {
        return Ok(());
    }
    Err(invalid(&format!("the column of {} has masked items", noun.many)))
}

/// A column of vertices or keys of this type; other values are refused.
pub(crate) fn column<'py>(
    of: KeyType,
    noun: Noun,
    value: &Bound<'py, PyAny>,
) -> PyResult<Column<'py>> {
    let py = value.py();
    refuse_masked(noun, value)?;
    if of == KeyType::Str {
        return Ok(Column::Text(texts(noun, value)?));
    }
    let (one, many) = (noun.one, noun.many);
    let signed = of == KeyType::I64;
    // The common case first: an array of exactly the right type.
    if !signed
        && let Ok(array) = value.cast::<PyArray1<u64>>()
        && let Ok(array) = array.try_readonly()
        && array.as_slice().is_ok()
    {
        return Ok(Column::U64(array));
    }
    let array = as_array(value)?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let numpy = py.import("numpy")?;
    if array.getattr("size")?.extract::<usize>()? == 0 {
        return Ok(if signed { Column::OwnedI64(Vec::new()) } else { Column::Owned(Vec::new()) });
    }
    if array.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(invalid(&format!("{many} must be a one-dimensional array")));
    }
    let range = if signed { "-2**63 to 2**63 - 1" } else { "0 to 2**64 - 1" };
    let not_one = |number: &dyn Display, at: usize| {
        invalid(&format!("{one} is an integer from {range}, not {number} at position {at}"))
    };
    match kind.as_str() {
        "u" if !signed => {
            let array = numpy.call_method1("ascontiguousarray", (array, "uint64"))?;
            Ok(Column::U64(array.cast_into::<PyArray1<u64>>()?.try_readonly()?))
        }
        "i" | "u" => integers(&numpy, &array, kind == "u", signed, &not_one),
        // Python integers past 63 bits make an array of objects.
        "O" => extracted(&array.call_method0("tolist")?, noun, signed, |error| match error
            .is_instance_of::<PyOverflowError>(
            py,
        ) {
            true => invalid(&format!("{many} are integers from {range}, and some are not")),
            false => PyTypeError::new_err(format!("{many} must be integers, and some are not")),
        }),
        // NumPy makes floats of a list that mixes small and very large integers.
        "f" if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() => {
            extracted(value, noun, signed, |_| {
                PyTypeError::new_err(format!("{many} must be integers, not floats"))
            })
        }
        // Other libraries make floats of integers where some are missing.
        "f" if noun.may_be_float => {
            let bits = match dtype.getattr("itemsize")?.extract::<usize>()? {
                2 => 11,
                4 => f32::MANTISSA_DIGITS,
                _ => f64::MANTISSA_DIGITS,
            };
            let floats = numpy.call_method1("ascontiguousarray", (array, "float64"))?;
            let floats = floats.cast_into::<PyArray1<f64>>()?.try_readonly()?;
            whole(slice(&floats)?.iter().copied().map(Item::Float), noun, signed, bits)
        }
        _ => Err(PyTypeError::new_err(format!("{many} must be integers, not {dtype}"))),
    }
}

/// A column of an array of integers, of another type than the column's. `not_one` says that one is
/// out of range, with its position.
fn integers<'py>(
    numpy: &Bound<'py, PyModule>,
    array: &Bound<'py, PyAny>,
    is_unsigned: bool,
    signed: bool,
    not_one: &dyn Fn(&dyn Display, usize) -> PyErr,
) -> PyResult<Column<'py>> {
    if is_unsigned {
        let words = numpy.call_method1("ascontiguousarray", (array, "uint64"))?;
        let words = words.cast_into::<PyArray1<u64>>()?.try_readonly()?;
        let words = slice(&words)?;
        if let Some(at) = words.iter().position(|&word| i64::try_from(word).is_err()) {
            return Err(not_one(&words[at], at));
        }
    }
    let array = numpy.call_method1("ascontiguousarray", (array, "int64"))?;
    let array = array.cast_into::<PyArray1<i64>>()?.try_readonly()?;
    if signed {
        return Ok(Column::I64(array));
    }
    let ints = slice(&array)?;
    if let Some(at) = ints.iter().position(|&int| int < 0) {
        return Err(not_one(&ints[at], at));
    }
    Ok(Column::Owned(ints.iter().map(|&int| int.cast_unsigned()).collect()))
}

/// A column of a list of Python integers, and of whole floats where the noun allows them.
fn extracted<'py>(
    list: &Bound<'py, PyAny>,
    noun: Noun,
    signed: bool,
    wrong: impl Fn(PyErr) -> PyErr,
) -> PyResult<Column<'py>> {
    let found = match signed {
        true => list.extract().map(Column::OwnedI64),
        false => list.extract().map(Column::Owned),
    };
    match found {
        Err(error) if noun.may_be_float && error.is_instance_of::<PyTypeError>(list.py()) => {
            let item = |item: PyResult<Bound<'py, PyAny>>| {
                let item = item?;
                if is_missing(&item) {
                    return Ok(Item::Float(f64::NAN));
                }
                let int = item.extract().map(Item::Int);
                int.or_else(|_| item.extract().map(Item::Float)).map_err(&wrong)
            };
            let items = list.try_iter()?.map(item).collect::<PyResult<Vec<_>>>()?;
            if !items.iter().any(|item| matches!(item, Item::Float(value) if !value.is_nan())) {
                return Err(wrong(error));
            }
            whole(items.into_iter(), noun, signed, f64::MANTISSA_DIGITS)
        }
        found => found.map_err(wrong),
    }
}

/// A number that may be a vertex.
enum Item {
    Int(i128),
    Float(f64),
}

/// A column of numbers of at most 2^bits where they are floats, which are whole numbers.
///
/// # Errors
/// The number of those that are not, and the first places.
fn whole<'py>(
    items: impl Iterator<Item = Item>,
    noun: Noun,
    signed: bool,
    bits: u32,
) -> PyResult<Column<'py>> {
    let max = (1_u64 << bits) as f64;
    let (min, least) = if signed { (-max, i128::from(i64::MIN)) } else { (0.0, 0) };
    let most = if signed { i128::from(i64::MAX) } else { i128::from(u64::MAX) };
    let mut words = Vec::with_capacity(items.size_hint().0);
    let (mut bad, mut first) = (0_usize, Vec::new());
    for (at, item) in items.enumerate() {
        let (is_fit, int, shown): (_, _, &dyn Display) = match &item {
            Item::Int(int) => ((least..=most).contains(int), *int, int),
            Item::Float(float) => {
                let is_whole = float.trunc() == *float && (min..=max).contains(float);
                (is_whole, *float as i128, float)
            }
        };
        words.push(int as u64);
        if !is_fit {
            bad += 1;
            if first.len() < PLACES_MAX {
                first.push(format!("{shown} at position {at}"));
            }
        }
    }
    if bad == 0 {
        return Ok(match signed {
            true => Column::OwnedI64(words.into_iter().map(u64::cast_signed).collect()),
            false => Column::Owned(words),
        });
    }
    let from = if signed { format!("-2**{bits}") } else { "0".to_owned() };
    let range = format!("whole numbers from {from} to 2**{bits}");
    let more = if bad > first.len() { ", …" } else { "" };
    let are = if bad == 1 { "1 is" } else { &format!("{bad} are") };
    let places = first.join(", ");
    Err(invalid(&format!("{} as floats are {range}, and {are} not: {places}{more}", noun.many)))
}

/// An input column of 64-bit signed integers.
pub(crate) struct Ints<'py>(Column<'py>);

impl Ints<'_> {
    pub(crate) fn as_slice(&self) -> PyResult<&[i64]> {
        match &self.0 {
            Column::I64(array) => slice(array),
            Column::OwnedI64(ints) => Ok(ints),
            Column::U64(_) | Column::Owned(_) | Column::Text(_) => Err(invalid("no integers")),
        }
    }
}

/// A column of integers. Other values, and integers out of range, are refused rather than
/// converted.
pub(crate) fn ints<'py>(noun: Noun, value: &Bound<'py, PyAny>) -> PyResult<Ints<'py>> {
    refuse_masked(noun, value)?;
    if let Ok(array) = value.cast::<PyArray1<bool>>() {
        // A mask of NumPy: as in Python, true is 1.
        let array = array.readonly();
        let ints = array.as_array().iter().map(|&one| i64::from(one)).collect();
        return Ok(Ints(Column::OwnedI64(ints)));
    }
    column(KeyType::I64, noun, value).map(Ints)
}

/// A column of floats. Integers become floats as in Python; nulls, strings, times and complex
/// numbers are refused.
pub(crate) fn floats<'py>(
    noun: Noun,
    value: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArray1<'py, f64>> {
    let (py, many) = (value.py(), noun.many);
    refuse_masked(noun, value)?;
    if let Ok(array) = value.cast::<PyArray1<f64>>()
        && let Ok(array) = array.try_readonly()
        && array.as_slice().is_ok()
    {
        return Ok(array);
    }
    // NumPy makes NaN of a null, which would then be added up or stored as if it were a value.
    if let Ok(nulls) = value.getattr("null_count") {
        let nulls = if nulls.is_callable() { nulls.call0()? } else { nulls };
        if nulls.extract::<usize>().is_ok_and(|nulls| nulls > 0) {
            return Err(invalid(&format!("the column of {many} holds nulls")));
        }
    }
    let array = as_array(value)?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if array.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(invalid(&format!("{many} must be a one-dimensional array")));
    }
    let array = match kind.as_str() {
        "f" | "i" | "u" | "b" => {
            py.import("numpy")?.call_method1("ascontiguousarray", (array, "float64"))?
        }
        // Very large integers of Python, and anything that is not an array of numbers.
        "O" => {
            let floats: Vec<f64> = array.call_method0("tolist")?.extract().map_err(|_| {
                PyTypeError::new_err(format!("{many} must be floats, and some are not"))
            })?;
            return Ok(PyArray1::from_vec(py, floats).readonly());
        }
        _ => return Err(PyTypeError::new_err(format!("{many} must be floats, not {dtype}"))),
    };
    Ok(array.cast_into::<PyArray1<f64>>()?.try_readonly()?)
}

fn texts(noun: Noun, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("a list of texts is needed, not one text"));
    }
    if let Ok(list) = value.extract::<Vec<String>>() {
        return Ok(list);
    }
    let list = if value.hasattr("to_pylist")? {
        value.call_method0("to_pylist")?
    } else if value.hasattr("tolist")? {
        value.call_method0("tolist")?
    } else {
        as_array(value)?.call_method0("tolist")?
    };
    list.extract().map_err(|_| PyTypeError::new_err(format!("{} here are texts", noun.many)))
}

/// The error for a Python value that is not an integer of the type that `what` describes.
#[cold]
pub(crate) fn explain(value: &Bound<'_, PyAny>, error: PyErr, what: &str) -> PyErr {
    let py = value.py();
    if error.is_instance_of::<PyOverflowError>(py) {
        return invalid(&format!("{what}, not {value}"));
    }
    PyTypeError::new_err(format!("{what}, not {}", value.get_type()))
}
