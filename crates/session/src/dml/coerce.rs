//! Converts values to the type of a column, for all writes by scripts and imports of rows. The
//! accepted forms are part of the language: `docs/reference/language.md`, "Changes".

use exec::error::Result;
use model::{Type, Value};

/// Converts a value to a column's type; the error says why that is impossible.
pub(crate) fn coerced(
    of: &Type,
    value: Value,
    ambient: &dyn function::FunctionContext,
) -> std::result::Result<Value, String> {
    if has_stray_null(of, &value) {
        return Err("expected a value, found null".to_owned());
    }
    if *of.without_null() == Type::Validity
        && let Some(validity) = validity(&value, ambient).map_err(|error| error.to_string())?
    {
        return Ok(validity);
    }
    of.coerce(value).map_err(|error| error.to_string())
}

/// The accepted forms of a validity: a time that asserts, `'ASSERT'` and `'RETRACT'` for now, `~`
/// before a time that retracts, and a list of microseconds and a truth value.
fn validity(value: &Value, ambient: &dyn function::FunctionContext) -> Result<Option<Value>> {
    let make =
        |timestamp_us, assert| Ok(Some(Value::Validity(model::Validity { timestamp_us, assert })));
    match value {
        Value::Str(text) => match text.as_str() {
            "ASSERT" => make(ambient.statement_time_us(), true),
            "RETRACT" => make(ambient.statement_time_us(), false),
            text => match text.strip_prefix('~') {
                Some(text) => make(exec::value::validity::microseconds(text, ambient)?, false),
                None => make(exec::value::validity::microseconds(text, ambient)?, true),
            },
        },
        Value::List(items) => match items.as_slice() {
            [Value::Int(timestamp_us), Value::Bool(assert)] => make(*timestamp_us, *assert),
            _ => Ok(None),
        },
        Value::Int(timestamp_us) | Value::Timestamp(timestamp_us) => make(*timestamp_us, true),
        Value::Date(days) => match model::calendar::midnight_us(*days) {
            Some(timestamp_us) => make(timestamp_us, true),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Whether there is a null that the type does not allow. The types `Any` and JSON allow it.
fn has_stray_null(of: &Type, value: &Value) -> bool {
    match (of, value) {
        (Type::Any | Type::Json, Value::Null) => true,
        (Type::Nullable(of), value) => *value != Value::Null && has_stray_null(of, value),
        (Type::List(of, _), Value::List(items)) => {
            items.iter().any(|item| has_stray_null(of, item))
        }
        (Type::Tuple(types), Value::List(items)) => {
            types.iter().zip(items).any(|(of, item)| has_stray_null(of, item))
        }
        _ => false,
    }
}
