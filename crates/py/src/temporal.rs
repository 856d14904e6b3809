//! Dates, timestamps and durations from Python and to Python.
//!
//! A `datetime` without a time zone is in UTC, as are NumPy's. Results have the time zone UTC.

use crate::attribute::Attribute;
use crate::called::Called;
use crate::error::invalid;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quipu::{Series, Value, Values};

static DATE: Attribute = Attribute::new("datetime", "date");
static DATETIME: Attribute = Attribute::new("datetime", "datetime");
static TIMEDELTA: Attribute = Attribute::new("datetime", "timedelta");
static UTC: Attribute = Attribute::new("datetime", "UTC");

/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;
/// `date(1970, 1, 1).toordinal()`.
const EPOCH_ORDINAL: i64 = 719_163;
/// NumPy's integer for a missing time, `NaT`.
const NOT_A_TIME: i64 = i64::MIN;

/// A `date`, a `datetime` or a `timedelta`, also of NumPy, as a value; `None` for other objects.
///
/// # Errors
/// A time or a duration that does not fit 64 bits of microseconds.
pub(crate) fn value(given: &Bound<'_, PyAny>, name: Called<'_>) -> PyResult<Option<Value>> {
    let py = given.py();
    let too_long = || invalid(&format!("{name} is longer than a Duration can be"));
    if given.is_instance(DATETIME.get(py)?)? {
        // NaT of pandas is an instance of datetime.
        if given.ne(given)? {
            return Ok(Some(Value::Null));
        }
        let days: i64 = given.call_method0("toordinal")?.extract()?;
        let part = |part: &str| given.getattr(part)?.extract::<i64>();
        let minutes = part("hour")? * 60 + part("minute")?;
        let seconds = minutes * 60 + part("second")?;
        let local = (days - EPOCH_ORDINAL) * DAY_US + seconds * 1_000_000 + part("microsecond")?;
        let offset = given.call_method0("utcoffset")?;
        let offset = if offset.is_none() { Some(0) } else { length(&offset)? };
        return Ok(offset.map(|offset| Value::Timestamp(local - offset)));
    }
    if given.is_instance(DATE.get(py)?)? {
        let days: i64 = given.call_method0("toordinal")?.extract()?;
        return Ok(i32::try_from(days - EPOCH_ORDINAL).ok().map(Value::Date));
    }
    if given.is_instance(TIMEDELTA.get(py)?)? {
        return length(given)?.map(|us| Some(Value::Duration(us))).ok_or_else(too_long);
    }
    if dtype(given)?.is_some() && given.getattr("shape")?.len()? == 0 {
        let column = given.call_method1("reshape", (1,))?;
        return Ok(series(&column, name)?.map(|series| series.value(0)));
    }
    Ok(None)
}

/// Microseconds of a `timedelta`, if they fit.
fn length(given: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    let part = |part: &str| given.getattr(part)?.extract::<i64>();
    let rest = part("seconds")? * 1_000_000 + part("microseconds")?;
    Ok(part("days")?.checked_mul(DAY_US).and_then(|us| us.checked_add(rest)))
}

/// A NumPy array of `datetime64` or `timedelta64` as a column; `None` for other objects. Arrays of
/// days are dates. `NaT` is null.
///
/// # Errors
/// A time that does not fit 64 bits of microseconds.
pub(crate) fn series(column: &Bound<'_, PyAny>, name: Called<'_>) -> PyResult<Option<Series>> {
    let Some(of) = dtype(column)? else { return Ok(None) };
    let is_time = of.starts_with("datetime64");
    let is_date = of == "datetime64[D]";
    let to = match (is_date, is_time) {
        (true, _) => "datetime64[D]",
        (_, true) => "datetime64[us]",
        _ => "timedelta64[us]",
    };
    let converted = column.call_method1("astype", (to,))?;
    // NumPy's conversions to smaller units wrap where a time does not fit.
    let is_finer = ["[ns]", "[ps]", "[fs]", "[as]"].iter().any(|unit| of.ends_with(unit));
    if !is_finer {
        let back = converted.call_method1("astype", (&of,))?.call_method1("view", ("int64",))?;
        let same = (back, column.call_method1("view", ("int64",))?);
        let numpy = column.py().import("numpy")?;
        if !numpy.call_method1("array_equal", same)?.extract::<bool>()? {
            return Err(invalid(&format!("{name} does not fit 64 bits of microseconds")));
        }
    }
    let counts = converted.call_method1("view", ("int64",))?.cast_into::<PyArray1<i64>>()?;
    let value = |&count: &i64| match (count, is_date, is_time) {
        (NOT_A_TIME, ..) => Ok(Value::Null),
        (days, true, _) => i32::try_from(days)
            .map(Value::Date)
            .map_err(|_| invalid(&format!("{name} is outside of the range of a Date"))),
        (us, _, true) => Ok(Value::Timestamp(us)),
        (us, ..) => Ok(Value::Duration(us)),
    };
    let values =
        counts.readonly().as_array().iter().map(value).collect::<PyResult<Vec<Value>>>()?;
    Ok(Some(Values::Any(values).into()))
}

/// The type of NumPy's values, such as `datetime64[us]`, if it is one of times or durations.
fn dtype(of: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let Ok(of) = of.getattr("dtype") else { return Ok(None) };
    let name: String = of.str()?.extract()?;
    let is_plain = name.ends_with(']') && !name.contains(',');
    let is_temporal = name.starts_with("datetime64[") || name.starts_with("timedelta64[");
    Ok((is_plain && is_temporal).then_some(name))
}

/// A `datetime.date`.
///
/// # Errors
/// `ValueError` or `OverflowError` outside of the years 1 to 9999.
pub(crate) fn date(py: Python<'_>, days: i32) -> PyResult<Bound<'_, PyAny>> {
    DATE.get(py)?.call_method1("fromordinal", (i64::from(days) + EPOCH_ORDINAL,))
}

/// A `datetime.datetime` in UTC.
///
/// # Errors
/// `OverflowError` outside of the years 1 to 9999.
pub(crate) fn timestamp(py: Python<'_>, us: i64) -> PyResult<Bound<'_, PyAny>> {
    let arguments = PyDict::new(py);
    arguments.set_item("tzinfo", UTC.get(py)?)?;
    let epoch = DATETIME.get(py)?.call((1970, 1, 1), Some(&arguments))?;
    epoch.add(duration(py, us)?)
}

/// A `datetime.timedelta`.
pub(crate) fn duration(py: Python<'_>, us: i64) -> PyResult<Bound<'_, PyAny>> {
    TIMEDELTA.get(py)?.call1((0, 0, us))
}

/// A NumPy array of counts as `datetime64` or `timedelta64`.
pub(crate) fn array<'py>(
    py: Python<'py>,
    counts: Vec<i64>,
    of: &str,
) -> PyResult<Bound<'py, PyAny>> {
    PyArray1::from_vec(py, counts).call_method1("view", (of,))
}
