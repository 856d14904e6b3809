//! eq, neq, gt, ge, lt, le, max, min.
//!
//! # Why numbers compare otherwise than keys do
//! As keys `1` and `1.0` are two values. A condition asks about the number: `1 == 1.0`, `0.0 == -0.0`. Integers and floats
//! are compared exactly, not by rounding the integer. NaN equals itself and is above every number, so that the order is total.

use crate::Failure;
use crate::call::{Call, Number, describe};
use model::Value;
use std::cmp::Ordering;

/// Whether a condition takes two values for equal: numbers by what they say, others by the order of values.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    match (Number::of(a), Number::of(b)) {
        (Some(a), Some(b)) => order(a, b).is_eq(),
        _ => a == b,
    }
}

/// How a condition orders two values; `None` where they are of different kinds, or of one without an order (vectors, JSON, validities).
#[must_use]
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Str(_), Value::Str(_))
        | (Value::Bytes(_), Value::Bytes(_))
        | (Value::Uuid(_), Value::Uuid(_))
        | (Value::List(_), Value::List(_)) => Some(a.cmp(b)),
        _ => Some(order(Number::of(a)?, Number::of(b)?)),
    }
}

fn order(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        (Number::Float(a), Number::Float(b)) => {
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        (Number::Int(a), Number::Float(b)) => int_to_float(a, b),
        (Number::Float(a), Number::Int(b)) => int_to_float(b, a).reverse(),
    }
}

/// Exact. Integers here are within 65 bits.
fn int_to_float(int: i128, float: f64) -> Ordering {
    if float.is_nan() || float > 2e19 {
        return Ordering::Less;
    }
    if float < -2e19 {
        return Ordering::Greater;
    }
    // The whole part first; then 0 against the rest.
    int.cmp(&(float.trunc() as i128))
        .then_with(|| 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

pub(crate) fn eq(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("eq", args);
    Ok(Value::Bool(equal(call.value(0), call.value(1))))
}

pub(crate) fn neq(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("neq", args);
    Ok(Value::Bool(!equal(call.value(0), call.value(1))))
}

/// gt, ge, lt, le: `wanted` says which orders hold.
pub(crate) fn ordered(
    name: &'static str,
    args: &[Value],
    wanted: fn(Ordering) -> bool,
) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    let (a, b) = (call.value(0), call.value(1));
    match compare(a, b) {
        Some(order) => Ok(Value::Bool(wanted(order))),
        None => Err(incomparable(call, a, b)),
    }
}

/// max, min: `better` says which order of a new value to the present one makes it the result. At one number the integer is the smaller.
pub(crate) fn extreme(
    name: &'static str,
    args: &[Value],
    better: Ordering,
) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    let mut found = call.value(0);
    for value in args {
        match value {
            // Lists have an order, but who gives one means its items.
            Value::List(_) => {
                return Err(refuse_extreme(call, value)
                    .hint("the arguments are compared, not the items of a list"));
            }
            Value::Null => return Err(refuse_extreme(call, value)),
            _ if compare(value, value).is_none() => return Err(refuse_extreme(call, value)),
            _ => {}
        }
        if compare(value, found).is_none() {
            return Err(incomparable(call, found, value));
        }
        if value.cmp(found) == better {
            found = value;
        }
    }
    Ok(found.clone())
}

fn incomparable(call: Call<'_>, a: &Value, b: &Value) -> Failure {
    call.fail(format_args!("cannot compare {} with {}", describe(a), describe(b)))
}

fn refuse_extreme(call: Call<'_>, value: &Value) -> Failure {
    call.refuse_operand(value, "numbers, strings or other values with an order")
}
