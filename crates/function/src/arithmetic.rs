//! add, sub, mul, div, mod, minus, pow, abs, signum, floor, ceil, round.
//!
//! # Numbers
//! Integers stay integers and are computed exactly; a result that an Int cannot hold is a failure, never wrapped. With a
//! float among the operands the result is a float, `1 + 0.0` and `1.5 - 1.5` too. `div` and `pow` always give floats.
//! A vertex id above the Ints makes its results ids where they need to be.

use crate::Failure;
use crate::call::{Call, Number};
use crate::vector;
use model::Value;

/// How to compute with two integers, and with two floats.
struct Operator {
    int: fn(i128, i128) -> Option<i128>,
    float: fn(f64, f64) -> f64,
}

pub(crate) fn add(args: &[Value]) -> Result<Value, Failure> {
    fold(Call::new("add", args), 0, &Operator { int: i128::checked_add, float: |a, b| a + b })
}

pub(crate) fn mul(args: &[Value]) -> Result<Value, Failure> {
    fold(Call::new("mul", args), 1, &Operator { int: i128::checked_mul, float: |a, b| a * b })
}

pub(crate) fn sub(args: &[Value]) -> Result<Value, Failure> {
    fold(Call::new("sub", args), 0, &Operator { int: i128::checked_sub, float: |a, b| a - b })
}

pub(crate) fn div(args: &[Value]) -> Result<Value, Failure> {
    floats(Call::new("div", args), |a, b| a / b)
}

pub(crate) fn pow(args: &[Value]) -> Result<Value, Failure> {
    floats(Call::new("pow", args), f64::powf)
}

/// The remainder has the sign of the first operand.
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
    if let Value::Vector(vector) = call.value(0) {
        return Ok(Value::Vector(vector::map(vector, f64::abs)));
    }
    match number(call, 0)? {
        Number::Int(a) => int(call, a.checked_abs()),
        Number::Float(a) => Ok(Value::Float(a.abs())),
    }
}

/// -1, 0 or 1, an integer for floats too; NaN for NaN.
pub(crate) fn signum(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("signum", args);
    match number(call, 0)? {
        Number::Int(a) => int(call, Some(a.signum())),
        Number::Float(a) if a.is_nan() => Ok(Value::Float(a)),
        Number::Float(a) => Ok(Value::Int(i64::from(a > 0.0) - i64::from(a < 0.0))),
    }
}

/// floor, ceil, round: integers stay as they are.
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

/// From left to right, from the first operand; `unit` where there is none.
fn fold(call: Call<'_>, unit: i128, operator: &Operator) -> Result<Value, Failure> {
    let args = call.args();
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

/// Two numbers as floats, or vectors elementwise.
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

/// An integer result. Beyond the Ints it is an id, if an operand is one.
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
