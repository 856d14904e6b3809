//! add, sub, mul, div, mod, minus, pow, abs, signum, floor, ceil, round.
//!
//! # Numbers
//! - Integers are computed exactly and stay integers.
//! - A result that does not fit an Int is an error and never wraps. It is an id, if it fits one and
//!   an operand is a vertex id above the largest Int.
//! - If an operand is a float, the result is a float, as in `1 + 0.0` and `1.5 - 1.5`.
//! - `div` and `pow` always return floats.
//!
//! All but `mod` and `signum` also work on vectors, elementwise. `temporal.rs` has the arithmetic
//! of dates, timestamps and durations.

use crate::Failure;
use crate::call::{Call, Number};
use crate::{temporal, vector};
use model::Value;

/// The implementations of an operator for integers, for floats, and for dates, timestamps and
/// durations.
struct Operator {
    int: fn(i128, i128) -> Option<i128>,
    float: fn(f64, f64) -> f64,
    temporal: temporal::Combine,
}

pub(crate) fn add(args: &[Value]) -> Result<Value, Failure> {
    let operator =
        Operator { int: i128::checked_add, float: |a, b| a + b, temporal: temporal::add };
    fold(Call::new("add", args), 0, &operator)
}

pub(crate) fn mul(args: &[Value]) -> Result<Value, Failure> {
    let operator =
        Operator { int: i128::checked_mul, float: |a, b| a * b, temporal: temporal::mul };
    fold(Call::new("mul", args), 1, &operator)
}

pub(crate) fn sub(args: &[Value]) -> Result<Value, Failure> {
    let operator =
        Operator { int: i128::checked_sub, float: |a, b| a - b, temporal: temporal::sub };
    fold(Call::new("sub", args), 0, &operator)
}

pub(crate) fn div(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("div", args);
    if temporal::is_among(args) {
        return temporal::div(call);
    }
    floats(call, |a, b| a / b)
}

pub(crate) fn pow(args: &[Value]) -> Result<Value, Failure> {
    floats(Call::new("pow", args), f64::powf)
}

/// The remainder; it has the sign of the first operand.
pub(crate) fn modulo(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("mod", args);
    match (number(call, 0)?, number(call, 1)?) {
        (Number::Int(_), Number::Int(0)) => Err(call.fail("the divisor is 0")),
        (Number::Int(a), Number::Int(b)) => int(call, a.checked_rem(b)),
        (a, b) => Ok(Value::Float(a.to_float() % b.to_float())),
    }
}

pub(crate) fn minus(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("minus", args);
    if temporal::is_among(args) {
        return temporal::minus(call);
    }
    if let Value::Vector(vector) = call.value(0) {
        return Ok(Value::Vector(vector::map(vector, |x| -x)));
    }
    match number(call, 0)? {
        Number::Int(a) => int(call, a.checked_neg()),
        Number::Float(a) => Ok(Value::Float(-a)),
    }
}

pub(crate) fn abs(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("abs", args);
    if temporal::is_among(args) {
        return temporal::abs(call);
    }
    if let Value::Vector(vector) = call.value(0) {
        return Ok(Value::Vector(vector::map(vector, f64::abs)));
    }
    match number(call, 0)? {
        Number::Int(a) => int(call, a.checked_abs()),
        Number::Float(a) => Ok(Value::Float(a.abs())),
    }
}

/// -1, 0 or 1 as an integer, also for floats; NaN for NaN.
pub(crate) fn signum(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("signum", args);
    match number(call, 0)? {
        Number::Int(a) => int(call, Some(a.signum())),
        Number::Float(a) if a.is_nan() => Ok(Value::Float(a)),
        Number::Float(a) => Ok(Value::Int(i64::from(a > 0.0) - i64::from(a < 0.0))),
    }
}

/// floor, ceil and round. Integers are returned unchanged.
pub(crate) fn rounded(
    name: &'static str,
    args: &[Value],
    round: fn(f64) -> f64,
) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    match call.value(0) {
        Value::Vector(vector) => Ok(Value::Vector(vector::map(vector, round))),
        value => match number(call, 0)? {
            Number::Int(_) => Ok(value.clone()),
            Number::Float(a) => Ok(Value::Float(round(a))),
        },
    }
}

/// Combines the operands from left to right; `unit` is the result without operands.
fn fold(call: Call<'_>, unit: i128, operator: &Operator) -> Result<Value, Failure> {
    let args = call.args();
    if temporal::is_among(args) {
        return temporal::fold(call, operator.temporal);
    }
    if args.iter().any(|value| matches!(value, Value::Vector(_))) {
        return vector::fold(call, operator.float);
    }
    let Some((_, rest)) = args.split_first() else { return int(call, Some(unit)) };
    let mut found = number(call, 0)?;
    for i in 1..=rest.len() {
        found = match (found, number(call, i)?) {
            (Number::Int(a), Number::Int(b)) => match (operator.int)(a, b) {
                Some(result) => Number::Int(result),
                None => return int(call, None),
            },
            (a, b) => Number::Float((operator.float)(a.to_float(), b.to_float())),
        };
    }
    match found {
        Number::Int(result) => int(call, Some(result)),
        Number::Float(result) => Ok(Value::Float(result)),
    }
}

/// Combines two numbers as floats, or vectors elementwise.
fn floats(call: Call<'_>, compute: fn(f64, f64) -> f64) -> Result<Value, Failure> {
    if call.args().iter().any(|value| matches!(value, Value::Vector(_))) {
        return vector::fold(call, compute);
    }
    Ok(Value::Float(compute(number(call, 0)?.to_float(), number(call, 1)?.to_float())))
}

fn number(call: Call<'_>, i: usize) -> Result<Number, Failure> {
    let value = call.value(i);
    Number::of(value).ok_or_else(|| call.refuse_operand(value, "numbers"))
}

/// An integer result. If it does not fit an Int and an operand is an id, the result is an id.
fn int(call: Call<'_>, result: Option<i128>) -> Result<Value, Failure> {
    let ids = call.args().iter().any(|value| matches!(value, Value::Id(_)));
    let value = result.and_then(|result| match i64::try_from(result) {
        Ok(int) => Some(Value::Int(int)),
        Err(_) if ids => u64::try_from(result).ok().map(Value::Id),
        Err(_) => None,
    });
    value.ok_or_else(|| {
        let result = result.map(|result| format!(" {result}")).unwrap_or_default();
        call.fail(format_args!("the result{result} does not fit an Int, which has 64 bits"))
            .hint("with a float among the operands, as in 1.0, the result is a float")
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn integers_are_exact_or_a_failure() {
        table(
            "add() => 0
         add(1, 2, 3) => 6
         add(1, 0.0) => 1.0
         add(1.5, -1.5) => 0.0
         add(9223372036854775807, 1) => add: the result 9223372036854775808 does not fit an Int, which has 64 bits
         add(9223372036854775807, 1, -1) => 9223372036854775807
         add(9223372036854775807, 1.0) => 9.223372036854776e18
         add(9223372036854775808, 1) => 9223372036854775809
         sub(9223372036854775808, 1) => 9223372036854775807
         sub(0, 9223372036854775809) => sub: the result -9223372036854775809 does not fit an Int, which has 64 bits
         add('a') => add: expected numbers, found a String (\"a\")
         add(1, null) => add: expected numbers, found null
         mul() => 1
         mul(3, 4) => 12
         mul(2, 1.0) => 2.0
         mul(18446744073709551615, 18446744073709551615, 18446744073709551615) => mul: the result does not fit an Int, which has 64 bits
         minus(-9223372036854775808) => minus: the result 9223372036854775808 does not fit an Int, which has 64 bits
         minus(9223372036854775808) => -9223372036854775808
         abs(-9223372036854775808) => abs: the result 9223372036854775808 does not fit an Int, which has 64 bits
         abs(-2.5) => 2.5
         mod(-7, 3) => -1
         mod(-9223372036854775808, -1) => 0
         mod(5, 0) => mod: the divisor is 0
         mod(5.5, 2) => 1.5
         mod(5.0, 0) => NaN",
        );
    }

    #[test]
    fn divisions_and_powers_are_floats() {
        table(
            "div(4, 2) => 2.0
         div(1, 0) => inf
         div(0, 0) => NaN
         pow(2, 3) => 8.0
         pow(0, -1) => inf
         pow('a', 1) => pow: expected numbers, found a String (\"a\")
         signum(-0.0) => 0
         signum(-2.5) => -1
         signum(to_float('NAN')) => NaN
         floor(2) => 2
         floor(2.7) => 2.0
         ceil(2.1) => 3.0
         round(-2.5) => -3.0
         round('a') => round: expected numbers, found a String (\"a\")
         sqrt(4) => 2.0
         sqrt(-1) => NaN
         ln(0) => -inf
         atan2(0, 1) => 0.0
         haversine_deg_input(0, 0, 0, 180) => 3.141592653589793
         haversine(0, 0, 0, to_float('NAN')) => NaN
         deg_to_rad(180) => 3.141592653589793
         sin('a') => sin: expected a number, found a String (\"a\")",
        );
    }
}
