//! Relations with history: the last key column of a row tells since when it is valid.

use crate::error::{Error, Result};
use crate::value::cell::{Cell, Interner};
use function::FunctionContext;
use model::Value;
use syntax::Span;

/// Whether a row is the valid fact for its key at a time: the newest row that is not later, if it
/// is an assertion. `keys` are all key columns, with the validity last; rows come in key order, the
/// newest of a key first. `last` is the last key that was decided.
pub(crate) fn newest(
    keys: &[Vec<Cell>],
    row: usize,
    at_us: i64,
    last: &mut Option<Vec<Cell>>,
    interner: &Interner,
) -> bool {
    let Some((validity, keys)) = keys.split_last() else { return false };
    let Value::Validity(validity) = interner.value(validity[row]) else { return false };
    if validity.timestamp_us > at_us {
        return false;
    }
    let key: Vec<Cell> = keys.iter().map(|column| column[row]).collect();
    if last.as_ref() == Some(&key) {
        return false;
    }
    *last = Some(key);
    validity.assert
}

/// The time in microseconds of a value after `@`: an integer, a time as a string, `'NOW'` or
/// `'END'`.
///
/// # Errors
/// A value that is not a time.
pub(crate) fn time_of(value: &Value, ambient: &dyn FunctionContext) -> Result<i64> {
    match value {
        Value::Int(us) => Ok(*us),
        Value::Validity(validity) => Ok(validity.timestamp_us),
        Value::Timestamp(us) => Ok(*us),
        Value::Date(days) => Ok(i64::from(*days).saturating_mul(model::calendar::DAY_US)),
        Value::Str(text) => match text.as_str() {
            "NOW" => Ok(ambient.statement_time_us()),
            "END" => Ok(i64::MAX),
            text => microseconds(text, ambient),
        },
        other => {
            let what = format!("`@` expects a time, found {}", other.kind());
            let hint =
                "microseconds as an integer, a time such as '2024-01-31T12:00:00Z', 'NOW' or 'END'";
            Err(Error::hinted(what, Span::default(), hint))
        }
    }
}

/// The microseconds of a time in a string.
///
/// # Errors
/// A string that is not a time.
pub fn microseconds(text: &str, ambient: &dyn FunctionContext) -> Result<i64> {
    let failed = |message: String| {
        let hint = "write times as in '2024-01-31T12:00:00Z'";
        Error::hinted(message, Span::default(), hint)
    };
    let Some(parse) = function::lookup("parse_timestamp") else {
        return Err(failed("times cannot be parsed".to_owned()));
    };
    let seconds = (parse.call)(&[Value::Str(text.to_owned())], ambient);
    match seconds {
        Ok(Value::Float(seconds)) => Ok((seconds * 1e6).round() as i64),
        Ok(_) => Err(failed(format!("{text:?} is no time"))),
        Err(failure) => Err(failed(failure.message)),
    }
}
