//! Tests of a value's kind: is_null, is_int and others.

use crate::failure::Failure;
use model::Value;

/// Applies a test to the argument.
pub(crate) fn is(args: &[Value], kind: fn(&Value) -> bool) -> Result<Value, Failure> {
    Ok(Value::Bool(args.first().is_some_and(kind)))
}

pub(crate) fn int(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Id(_))
}

pub(crate) fn number(value: &Value) -> bool {
    int(value) || matches!(value, Value::Float(_) | Value::Decimal(_))
}

pub(crate) fn finite(value: &Value) -> bool {
    number(value) && !infinite(value) && !nan(value)
}

pub(crate) fn infinite(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_infinite())
}

pub(crate) fn nan(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_nan())
}
