//! add, sub, mul, div, mod, minus, pow, abs, signum, floor, ceil, round.
//!
//! # Numbers
//! - Integers are computed exactly and stay integers.
//! - A result that does not fit an Int is an error and never wraps. It is an id, if it fits one and
//!   an operand is a vertex id above the largest Int.
//! - If an operand is a float, the result is a float, as in `1 + 0.0` and `1.5 - 1.5`.
//! - Otherwise, if an operand is a decimal, the result is a decimal, rounded as in
//!   `model::Decimal`. One with too many digits before the point is an error.
//! - `div` returns floats for integers, and `pow` always.
//!
//! All but `mod` and `signum` also work on vectors, elementwise. `temporal.rs` has the arithmetic
//! of dates, timestamps and durations.

use crate::call::{Call, Number};
use crate::failure::Failure;
use crate::temporal;
use crate::vector;
use model::{Decimal, Value};

/// The implementations of an operator for integers, for floats, for decimals, and for dates,
/// timestamps and durations.
struct Operator {
    int: fn(i128, i128) -> Option<i128>,
    float: fn(f64, f64) -> f64,
    decimal: fn(Decimal, Decimal) -> Option<Decimal>,
    temporal: temporal::Combine,
}

pub(crate) fn add(args: &[Value]) -> Result<Value, Failure> {
    let operator = Operator {
        int: i128::checked_add,
        float: |a, b| a + b,
        decimal: Decimal::checked_add,
        temporal: temporal::add,
    };
    fold(Call::new("add", args), 0, &operator)
}

pub(crate) fn mul(args: &[Value]) -> Result<Value, Failure> {
    let operator = Operator {
        int: i128::checked_mul,
        float: |a, b| a * b,
        decimal: Decimal::checked_mul,
        temporal: temporal::mul,
    };
    fold(Call::new("mul", args), 1, &operator)
}

pub(crate) fn sub(args: &[Value]) -> Result<Value, Failure> {
    let operator = Operator {
        int: i128::checked_sub,
        float: |a, b| a - b,
        decimal: Decimal::checked_sub,
        temporal: temporal::sub,
    };
    fold(Call::new("sub", args), 0, &operator)
}

pub(crate) fn div(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("div", args);
    if temporal::is_among(args) {
        return temporal::div(call);
    }
    if let Some((a, b)) = decimals(call) {
        return quotient(call, b, a.checked_div(b));
    }
    floats(call, |a, b| a / b)
}

pub(crate) fn pow(args: &[Value]) -> Result<Value, Failure> {
    floats(Call::new("pow", args), f64::powf)
}

/// The remainder; it has the sign of the first operand.
pub(crate) fn modulo(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("mod", args);
    if let Some((a, b)) = decimals(call) {
        return quotient(call, b, a.checked_rem(b));
    }
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
        Number::Decimal(a) => Ok(Value::Decimal(-a)),
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
        Number::Decimal(a) => Ok(Value::Decimal(a.abs())),
    }
}

/// -1, 0 or 1 as an integer, also for floats and decimals; NaN for NaN.
pub(crate) fn signum(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("signum", args);
    match number(call, 0)? {
        Number::Int(a) => int(call, Some(a.signum())),
        Number::Float(a) if a.is_nan() => Ok(Value::Float(a)),
        Number::Float(a) => Ok(Value::Int(i64::from(a > 0.0) - i64::from(a < 0.0))),
        Number::Decimal(a) => int(call, Some(a.coefficient().signum())),
    }
}

/// floor and ceil. Integers are returned unchanged.
pub(crate) fn rounded(
    name: &'static str,
    args: &[Value],
    round: fn(f64) -> f64,
    decimal: fn(Decimal) -> Decimal,
) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    match call.value(0) {
        Value::Vector(vector) => Ok(Value::Vector(vector::map(vector, round))),
        value => match number(call, 0)? {
            Number::Int(_) => Ok(value.clone()),
            Number::Float(a) => Ok(Value::Float(round(a))),
            Number::Decimal(a) => Ok(Value::Decimal(decimal(a))),
        },
    }
}

/// The nearest whole number, halves away from zero, or with a second argument the nearest number
/// with this many digits behind the point. A float is rounded as the decimal that it is written as.
pub(crate) fn round(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("round", args);
    let places = if args.len() > 1 { Some(call.int(1)?) } else { None };
    match (call.value(0), places) {
        (Value::Vector(vector), None) => Ok(Value::Vector(vector::map(vector, f64::round))),
        (Value::Int(_) | Value::Id(_), None | Some(0..)) => Ok(call.value(0).clone()),
        (Value::Float(a), None) => Ok(Value::Float(a.round())),
        (Value::Float(a), Some(places)) => {
            // Floats that are no decimals have no digits behind the point, or are nearly zero.
            let decimal = Decimal::of_float(*a).and_then(|a| a.rounded(places));
            Ok(Value::Float(match decimal {
                Some(rounded) => rounded.to_float().copysign(*a),
                None if a.abs() < 1.0 => 0_f64.copysign(*a),
                None => *a,
            }))
        }
        _ => {
            let number = number(call, 0)?;
            let decimal = number.to_decimal().and_then(|a| a.rounded(places.unwrap_or(0)));
            match (number, decimal) {
                (Number::Int(_), Some(rounded)) => int(call, rounded.to_int()),
                (_, rounded) => self::decimal(call, rounded),
            }
        }
    }
}

/// Combines the operands from left to right; `unit` is the result without operands.
fn fold(call: Call<'_>, unit: i128, operator: &Operator) -> Result<Value, Failure> {
    let args = call.args();
    if temporal::is_among(args) {
        let numbers = |pair: &[Value]| fold(call.with(pair), unit, operator);
        return temporal::fold(call, operator.temporal, numbers);
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
            (a @ Number::Float(_), b) | (a, b @ Number::Float(_)) => {
                Number::Float((operator.float)(a.to_float(), b.to_float()))
            }
            (a, b) => match a.to_decimal().zip(b.to_decimal()) {
                Some((a, b)) => match (operator.decimal)(a, b) {
                    Some(result) => Number::Decimal(result),
                    None => return decimal(call, None),
                },
                None => return decimal(call, None),
            },
        };
    }
    match found {
        Number::Int(result) => int(call, Some(result)),
        Number::Float(result) => Ok(Value::Float(result)),
        Number::Decimal(result) => Ok(Value::Decimal(result)),
    }
}

/// Two operands as decimals, if one is a decimal and none a float.
fn decimals(call: Call<'_>) -> Option<(Decimal, Decimal)> {
    if !call.args().iter().any(|value| matches!(value, Value::Decimal(_))) {
        return None;
    }
    let operand = |i| Number::of(call.value(i)).and_then(Number::to_decimal);
    Some((operand(0)?, operand(1)?))
}

/// A quotient or a remainder of decimals.
fn quotient(call: Call<'_>, by: Decimal, result: Option<Decimal>) -> Result<Value, Failure> {
    match by == Decimal::ZERO {
        true => Err(call.fail("the divisor is 0")),
        false => decimal(call, result),
    }
}

fn decimal(call: Call<'_>, result: Option<Decimal>) -> Result<Value, Failure> {
    let value = result.map(Value::Decimal);
    value.ok_or_else(|| {
        call.fail("the result does not fit a Decimal, which has 38 digits")
            .hint("with a float among the operands, as in 1.0, the result is a float")
    })
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
    fn decimals_are_exact_or_rounded_and_floats_win() {
        table(
            "add(to_decimal('0.1'), to_decimal('0.2')) => 0.3
         add(1, to_decimal('0.5'), 2) => 3.5
         add(to_decimal('0.5'), 0.5) => 1.0
         sub(2, to_decimal('0.01')) => 1.99
         mul(to_decimal('19.99'), 3) => 59.97
         div(to_decimal('1'), 4) => 0.25
         div(1, to_decimal('3')) => 0.33333333333333333333333333333333333333
         div(to_decimal('1'), 2.0) => 0.5
         div(to_decimal('1'), 0) => div: the divisor is 0
         div(to_decimal('1'), 0.0) => inf
         mod(to_decimal('-7.5'), 2) => -1.5
         mod(to_decimal('1'), to_decimal('0')) => mod: the divisor is 0
         mul(to_decimal('1e37'), 10) => mul: the result does not fit a Decimal, which has 38 digits
         minus(to_decimal('1.5')) => -1.5
         abs(to_decimal('-1.5')) => 1.5
         signum(to_decimal('-0.01')) => -1
         floor(to_decimal('-1.5')) => -2
         ceil(to_decimal('-1.5')) => -1
         pow(to_decimal('1.5'), 2) => 2.25
         sqrt(to_decimal('2.25')) => 1.5
         add(to_decimal('1'), 'a') => add: expected numbers, found a String (\"a\")
         add(to_decimal('1'), to_date('2026-01-01')) => add: takes no Decimal with a Date",
        );
    }

    #[test]
    fn numbers_are_rounded_to_places() {
        table(
            "round(to_decimal('2.5')) => 3
         round(to_decimal('-1.005'), 2) => -1.01
         round(to_decimal('99999999999999999999999999999999999999'), -1) => round: the result does not fit a Decimal, which has 38 digits
         round(1250, -2) => 1300
         round(9223372036854775807, -1) => round: the result 9223372036854775810 does not fit an Int, which has 64 bits
         round(7, 2) => 7
         round(2.345, 2) => 2.35
         round(1.005, 2) => 1.01
         round(-0.001, 2) => -0.0
         round(1e300, 2) => 1e300
         round(1e-300, 2) => 0.0
         round(to_float('NAN'), 2) => NaN
         round(149.5, -2) => 100.0
         round(1.5, 'a') => round: expected an integer as argument 2, found a String (\"a\")",
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
