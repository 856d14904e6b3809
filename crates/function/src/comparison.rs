//! eq, neq, gt, ge, lt, le, max, min.
//!
//! # Why numbers compare differently in keys
//! As keys, `1` and `1.0` are different values. A condition compares numerically: `1 == 1.0`, `0.0
//! == -0.0`. Numbers of all kinds are compared exactly, without rounding one of them. NaN equals
//! itself and is above every number, so the order is total.

use crate::call::{Call, Number, describe};
use crate::failure::Failure;
use crate::temporal;
use model::{Decimal, Value};
use std::cmp::Ordering;

/// Equality in conditions: numerical for numbers, identity for other values.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    match (Number::of(a), Number::of(b)) {
        (Some(a), Some(b)) => order(a, b).is_eq(),
        _ => a == b,
    }
}

/// Order in conditions. `None` for values of different kinds and for kinds without an order
/// (vectors, JSON, validities).
#[must_use]
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Str(_), Value::Str(_))
        | (Value::Bytes(_), Value::Bytes(_))
        | (Value::Uuid(_), Value::Uuid(_))
        | (Value::Date(_), Value::Date(_))
        | (Value::Timestamp(_), Value::Timestamp(_))
        | (Value::Duration(_), Value::Duration(_))
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
        (Number::Decimal(a), b) => decimal_to(a, b),
        (a, Number::Decimal(b)) => decimal_to(b, a).reverse(),
    }
}

fn decimal_to(decimal: Decimal, number: Number) -> Ordering {
    match number {
        Number::Float(float) => decimal.compare_to_float(float),
        // All integers here are decimals.
        other => decimal.cmp(&other.to_decimal().unwrap_or(decimal)),
    }
}

/// Exact comparison. Integers here have at most 65 bits.
fn int_to_float(int: i128, float: f64) -> Ordering {
    if float.is_nan() || float > 2e19 {
        return Ordering::Less;
    }
    if float < -2e19 {
        return Ordering::Greater;
    }
    // Compares the integer part first, then 0 with the fraction.
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

/// gt, ge, lt and le. `wanted` says for which orders the result is true.
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

/// max and min. A value whose order relative to the current result is `better` replaces it. Of
/// equal numbers the integer is the smallest and the decimal the largest.
pub(crate) fn extreme(
    name: &'static str,
    args: &[Value],
    better: Ordering,
) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    let mut found = call.value(0);
    for value in args {
        match value {
            // Lists have an order, but a caller who passes one usually means its items.
            Value::List(_) => {
                return Err(refuse_extreme(call, value)
                    .hint("the arguments are compared, not the items of a list"));
            }
            Value::Null => return Err(refuse_extreme(call, value)),
            _ if compare(value, value).is_none() => return Err(refuse_extreme(call, value)),
            _ => {}
        }
        let Some(order) = compare(value, found) else {
            return Err(incomparable(call, found, value));
        };
        if order.then_with(|| value.cmp(found)) == better {
            found = value;
        }
    }
    Ok(found.clone())
}

fn incomparable(call: Call<'_>, a: &Value, b: &Value) -> Failure {
    let failure = call.fail(format_args!("cannot compare {} with {}", describe(a), describe(b)));
    match temporal::conversion(a, b) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn refuse_extreme(call: Call<'_>, value: &Value) -> Failure {
    call.refuse_operand(value, "numbers, strings or other values with an order")
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn conditions_compare_numbers_by_what_they_say() {
        table(
            "eq(1, 1.0) => true
         eq(0.0, -0.0) => true
         eq(9007199254740993, 9007199254740992.0) => false
         eq(to_float('NAN'), to_float('NAN')) => true
         eq([1], [1.0]) => false
         neq(1, 2) => true
         neq('a', 1) => true
         gt(18446744073709551615, 9223372036854775807) => true
         gt(18446744073709551615, 1e300) => false
         lt(-9223372036854775808, -1e300) => false
         gt(2, 1.5) => true
         lt(2, 2.5) => true
         lt(-2, -2.5) => false
         gt(to_float('NAN'), 1) => true
         le(to_float('NAN'), 1.0) => false
         ge('b', 'a') => true
         eq(1, to_decimal('1.00')) => true
         eq(0.5, to_decimal('0.5')) => true
         eq(0.1, to_decimal('0.1')) => false
         gt(0.1, to_decimal('0.1')) => true
         lt(9007199254740993, to_decimal('9007199254740993.5')) => true
         gt(9007199254740994, to_decimal('9007199254740993.5')) => true
         lt(to_decimal('1e37'), to_float('NAN')) => true
         lt(to_decimal('-5'), to_float('NEG_INF')) => false
         lt(to_decimal('1'), '1') => lt: cannot compare a Decimal (1) with a String (\"1\")
         lt([1], [1, 0]) => true
         le(null, null) => true
         lt(1, 'a') => lt: cannot compare an Int (1) with a String (\"a\")
         lt(null, 1) => lt: cannot compare null with an Int (1)
         lt(validity(1), validity(2)) => lt: cannot compare a Validity (validity(1, true)) with a Validity (validity(2, true))
         lt(json(1), json(2)) => lt: cannot compare Json (1) with Json (2)",
        );
    }

    #[test]
    fn max_and_min_take_values_of_one_kind() {
        table(
            "max(1, 1.0) => 1.0
         max(1.0, 1) => 1.0
         min(1, 1.0) => 1
         max(3, 18446744073709551615, 2.5) => 18446744073709551615
         max(1, to_decimal('1'), 1.0) => 1
         max(9007199254740994, to_decimal('9007199254740993.5')) => 9007199254740994
         min(1, to_decimal('0.5'), 0.6) => 0.5
         max('a', 'b') => \"b\"
         max(null) => max: expected numbers, strings or other values with an order, found null
         max([1, 2]) => max: expected numbers, strings or other values with an order, found a list ([1, 2])
         max(1, 'a') => max: cannot compare an Int (1) with a String (\"a\")
         max() => max: takes at least 1 argument, 0 given",
        );
    }
}
