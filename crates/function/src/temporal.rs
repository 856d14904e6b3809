//! Dates, timestamps and durations: conversions, arithmetic, their parts, and truncation.
//!
//! # Arithmetic
//! | left | operator | right | result |
//! | --- | --- | --- | --- |
//! | Timestamp | `-` | Timestamp | Duration |
//! | Timestamp | `+` `-` | Duration | Timestamp |
//! | Date | `-` | Date | Duration, of whole days |
//! | Date | `+` `-` | Duration | Timestamp, from midnight UTC |
//! | Date | `+` `-` | Int | Date, days later or earlier |
//! | Duration | `+` `-` | Duration | Duration |
//! | Duration | `*` | number | Duration |
//! | Duration | `/` | number | Duration |
//! | Duration | `/` | Duration | Float |
//!
//! `+` and `*` take their operands in both orders. A result that is not exact is rounded to the
//! nearest microsecond, halves away from zero. A result that does not fit is an error.

use crate::call::{Call, Number};
use crate::failure::Failure;
use model::calendar::{DAY_US, SECOND_US, date_of_days, days_of_date, midnight_us};
use model::{Decimal, Type, Value};

/// Whether an argument is a date, a timestamp or a duration.
pub(crate) fn is_among(args: &[Value]) -> bool {
    args.iter().any(is_temporal)
}

fn is_temporal(value: &Value) -> bool {
    matches!(value, Value::Date(_) | Value::Timestamp(_) | Value::Duration(_))
}

/// The duration of a sum or a mean of `rows` values, if all of these are durations; `None` if none
/// is. `durations` is how many are, and `us` computes the microseconds.
///
/// # Errors
/// A message: some of the values are numbers, or the duration is too long.
pub fn duration_of_rows(
    durations: u64,
    rows: u64,
    us: impl FnOnce() -> i128,
) -> Result<Option<Value>, &'static str> {
    match durations {
        0 => Ok(None),
        _ if durations < rows => Err("expected numbers or durations, not both"),
        _ => match i64::try_from(us()) {
            Ok(us) => Ok(Some(Value::Duration(us))),
            Err(_) => Err("the sum does not fit a Duration"),
        },
    }
}

/// The quotient, rounded to the nearest integer, halves away from zero; 0 for the divisor 0.
#[must_use]
pub fn rounded_div(value: i128, divisor: u64) -> i128 {
    let divisor = i128::from(divisor.max(1));
    let (quotient, rest) = (value / divisor, value % divisor);
    quotient + if rest.abs() * 2 >= divisor { value.signum() } else { 0 }
}

/// Combines two operands, one of them a date, a timestamp or a duration. The call is for messages.
pub(crate) type Combine = fn(Call<'_>, &Value, &Value) -> Result<Value, Failure>;

/// Combines the operands of `add`, `sub` or `mul` from left to right. `numbers` combines two
/// operands without dates, timestamps and durations, as in `1 + 2 + to_date(…)`.
pub(crate) fn fold(
    call: Call<'_>,
    combine: Combine,
    numbers: impl Fn(&[Value]) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    let mut found = call.value(0).clone();
    for right in &call.args()[1..] {
        found = match is_temporal(&found) || is_temporal(right) {
            true => combine(call, &found, right)?,
            false => numbers(&[found, right.clone()])?,
        };
    }
    Ok(found)
}

pub(crate) fn add(call: Call<'_>, left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Duration(a), Value::Duration(b)) => duration(call, a.checked_add(*b)),
        (Value::Timestamp(us), Value::Duration(more))
        | (Value::Duration(more), Value::Timestamp(us)) => timestamp(call, us.checked_add(*more)),
        (Value::Date(days), Value::Duration(more)) | (Value::Duration(more), Value::Date(days)) => {
            timestamp(call, midnight_us(*days).and_then(|us| us.checked_add(*more)))
        }
        (Value::Date(days), Value::Int(more)) | (Value::Int(more), Value::Date(days)) => {
            date(call, i64::from(*days).checked_add(*more))
        }
        _ => Err(unfitting(call, left, right)),
    }
}

pub(crate) fn sub(call: Call<'_>, left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Duration(a), Value::Duration(b)) | (Value::Timestamp(a), Value::Timestamp(b)) => {
            duration(call, a.checked_sub(*b))
        }
        (Value::Timestamp(us), Value::Duration(less)) => timestamp(call, us.checked_sub(*less)),
        (Value::Date(a), Value::Date(b)) => {
            duration(call, (i64::from(*a) - i64::from(*b)).checked_mul(DAY_US))
        }
        (Value::Date(days), Value::Duration(less)) => {
            timestamp(call, midnight_us(*days).and_then(|us| us.checked_sub(*less)))
        }
        (Value::Date(days), Value::Int(less)) => date(call, i64::from(*days).checked_sub(*less)),
        _ => Err(unfitting(call, left, right)),
    }
}

pub(crate) fn mul(call: Call<'_>, left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Duration(us), by) | (by, Value::Duration(us)) => match Number::of(by) {
            Some(Number::Int(by)) => {
                let product = i128::from(*us).checked_mul(by);
                duration(call, product.and_then(|product| i64::try_from(product).ok()))
            }
            Some(Number::Float(by)) => duration(call, rounded(*us as f64 * by)),
            Some(Number::Decimal(by)) => {
                let product = Decimal::of_int(i128::from(*us)).and_then(|us| us.checked_mul(by));
                duration(call, product.and_then(nearest))
            }
            None => Err(unfitting(call, left, right)),
        },
        _ => Err(unfitting(call, left, right)),
    }
}

pub(crate) fn div(call: Call<'_>) -> Result<Value, Failure> {
    match (call.value(0), call.value(1)) {
        (Value::Duration(a), Value::Duration(b)) => Ok(Value::Float(*a as f64 / *b as f64)),
        (Value::Duration(us), by) => match Number::of(by) {
            Some(Number::Int(0)) => Err(call.fail("the divisor is 0")),
            Some(Number::Int(by)) => {
                let magnitude = u64::try_from(by.unsigned_abs()).unwrap_or(u64::MAX);
                let quotient = rounded_div(i128::from(*us) * by.signum(), magnitude);
                duration(call, i64::try_from(quotient).ok())
            }
            Some(Number::Float(by)) => duration(call, rounded(*us as f64 / by)),
            Some(Number::Decimal(Decimal::ZERO)) => Err(call.fail("the divisor is 0")),
            Some(Number::Decimal(by)) => {
                let quotient = Decimal::of_int(i128::from(*us)).and_then(|us| us.checked_div(by));
                duration(call, quotient.and_then(nearest))
            }
            None => Err(unfitting(call, call.value(0), by)),
        },
        (left, right) => Err(unfitting(call, left, right)),
    }
}

fn unfitting(call: Call<'_>, left: &Value, right: &Value) -> Failure {
    let kind = |value: &Value| if *value == Value::Null { "null" } else { value.kind() };
    let failure = call.fail(format_args!("takes no {} with {}", plain(left), kind(right)));
    match (left, right) {
        (Value::Timestamp(_), right) if Number::of(right).is_some() => failure.hint(OF_NUMBER),
        _ => match conversion(left, right) {
            Some(hint) => failure.hint(hint),
            None => failure,
        },
    }
}

const OF_NUMBER: &str = "to_duration(seconds) makes a duration of a number";

/// How one of two values becomes one that fits a date, a timestamp or a duration beside it.
pub(crate) fn conversion(left: &Value, right: &Value) -> Option<&'static str> {
    let (temporal, other) = if is_temporal(left) { (left, right) } else { (right, left) };
    match (temporal, other) {
        (Value::Date(_), Value::Timestamp(_)) | (Value::Timestamp(_), Value::Date(_)) => {
            Some("to_timestamp(date) is the midnight at which the date begins in UTC")
        }
        (Value::Date(_), Value::Str(_)) => Some("to_date(text) reads a date"),
        (Value::Timestamp(_), Value::Str(_)) => Some("to_timestamp(text) reads a timestamp"),
        (Value::Duration(_), Value::Str(_)) => Some("to_duration(text) reads a duration"),
        (Value::Timestamp(_), other) if Number::of(other).is_some() => {
            Some("to_timestamp(seconds) makes a timestamp of a number, such as now()")
        }
        (Value::Duration(_), other) if Number::of(other).is_some() => Some(OF_NUMBER),
        _ => None,
    }
}

/// The kind without its article.
fn plain(value: &Value) -> &'static str {
    let kind = value.kind();
    kind.strip_prefix("a ").or(kind.strip_prefix("an ")).unwrap_or(kind)
}

/// The nearest integer, halves away from zero; `None` if it does not fit.
fn rounded(us: f64) -> Option<i64> {
    crate::call::whole(us.round())
}

/// The nearest integer of a decimal, halves away from zero; `None` if it does not fit.
fn nearest(us: Decimal) -> Option<i64> {
    us.rounded(0)?.to_int().and_then(|us| i64::try_from(us).ok())
}

fn date(call: Call<'_>, days: Option<i64>) -> Result<Value, Failure> {
    let days = days.and_then(|days| i32::try_from(days).ok());
    days.map(Value::Date).ok_or_else(|| call.fail("the result does not fit a Date"))
}

fn timestamp(call: Call<'_>, us: Option<i64>) -> Result<Value, Failure> {
    us.map(Value::Timestamp).ok_or_else(|| call.fail("the result does not fit a Timestamp"))
}

fn duration(call: Call<'_>, us: Option<i64>) -> Result<Value, Failure> {
    us.map(Value::Duration).ok_or_else(|| call.fail("the result does not fit a Duration"))
}

/// The negative of a duration.
pub(crate) fn minus(call: Call<'_>) -> Result<Value, Failure> {
    match call.value(0) {
        Value::Duration(us) => duration(call, us.checked_neg()),
        value => Err(call.refuse_operand(value, "a number or a duration")),
    }
}

/// The length of a duration.
pub(crate) fn abs(call: Call<'_>) -> Result<Value, Failure> {
    match call.value(0) {
        Value::Duration(us) => duration(call, us.checked_abs()),
        value => Err(call.refuse_operand(value, "a number or a duration")),
    }
}

/// A date from text, and the date of a timestamp in UTC.
pub(crate) fn to_date(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("to_date", args);
    match call.value(0) {
        value @ Value::Date(_) => Ok(value.clone()),
        Value::Timestamp(us) => date(call, Some(us.div_euclid(DAY_US))),
        Value::Str(text) => Type::Date.coerce(Value::Str(text.clone())).map_err(|_| {
            call.refuse(0, "a date")
                .hint("as in \"2026-01-31\"; to_date(to_timestamp(…)) of a time")
        }),
        _ => Err(call.refuse(0, "a date as text, or a timestamp")),
    }
}

/// A timestamp from text, a date, a validity, or seconds since 1970-01-01 UTC.
pub(crate) fn to_timestamp(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("to_timestamp", args);
    match call.value(0) {
        value @ Value::Timestamp(_) => Ok(value.clone()),
        Value::Date(days) => timestamp(call, midnight_us(*days)),
        Value::Validity(validity) => Ok(Value::Timestamp(validity.timestamp_us)),
        Value::Str(text) => Type::Timestamp.coerce(Value::Str(text.clone())).map_err(|_| {
            call.refuse(0, "a time in RFC 3339")
                .hint("as in \"2026-01-31T12:30:00Z\"; without an offset a time is in UTC")
        }),
        _ => match seconds_us(call) {
            Some(us) => timestamp(call, us),
            None => Err(call.refuse(0, "a time as text, a date, or seconds since 1970")),
        },
    }
}

/// A duration from text or seconds.
pub(crate) fn to_duration(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("to_duration", args);
    match call.value(0) {
        value @ Value::Duration(_) => Ok(value.clone()),
        Value::Str(text) => Type::Duration.coerce(Value::Str(text.clone())).map_err(|_| {
            call.refuse(0, "a duration in ISO 8601").hint("as in \"P1DT2H30M\" or \"PT0.5S\"")
        }),
        _ => match seconds_us(call) {
            Some(us) => duration(call, us),
            None => Err(call.refuse(0, "a duration as text, or seconds")),
        },
    }
}

/// Microseconds of a number of seconds, if they fit; the outer `None` for other values.
fn seconds_us(call: Call<'_>) -> Option<Option<i64>> {
    Some(match Number::of(call.value(0))? {
        Number::Int(seconds) => {
            let us = seconds.checked_mul(i128::from(SECOND_US));
            us.and_then(|us| i64::try_from(us).ok())
        }
        Number::Float(seconds) => rounded(seconds * SECOND_US as f64),
        Number::Decimal(seconds) => {
            let us = Decimal::of_int(i128::from(SECOND_US)).and_then(|us| us.checked_mul(seconds));
            us.and_then(nearest)
        }
    })
}

/// Days since 1970-01-01 and microseconds of the day, of a date or a timestamp in UTC.
fn day_and_time(call: Call<'_>, i: usize) -> Result<(i64, i64), Failure> {
    match call.value(i) {
        Value::Date(days) => Ok((i64::from(*days), 0)),
        Value::Timestamp(us) => Ok((us.div_euclid(DAY_US), us.rem_euclid(DAY_US))),
        _ => Err(call.refuse(i, "a date or a timestamp")),
    }
}

/// `year`, `month` and `day`: a part of the date in UTC.
pub(crate) fn part_of_date(
    name: &'static str,
    args: &[Value],
    part: fn((i64, u8, u8)) -> i64,
) -> Result<Value, Failure> {
    let (days, _) = day_and_time(Call::new(name, args), 0)?;
    Ok(Value::Int(part(date_of_days(days))))
}

/// `hour` and `minute`: how many whole `unit`s of microseconds have passed, up to `count`.
pub(crate) fn part_of_time(
    name: &'static str,
    args: &[Value],
    unit: i64,
    count: i64,
) -> Result<Value, Failure> {
    let (_, time) = day_and_time(Call::new(name, args), 0)?;
    Ok(Value::Int(time / unit % count))
}

/// Seconds of the minute, with their fraction.
pub(crate) fn second(args: &[Value]) -> Result<Value, Failure> {
    let (_, time) = day_and_time(Call::new("second", args), 0)?;
    Ok(Value::Float((time % (60 * SECOND_US)) as f64 / SECOND_US as f64))
}

/// 1 for Monday to 7 for Sunday, as in ISO 8601.
pub(crate) fn day_of_week(args: &[Value]) -> Result<Value, Failure> {
    let (days, _) = day_and_time(Call::new("day_of_week", args), 0)?;
    Ok(Value::Int(weekday(days) + 1))
}

/// 0 for Monday to 6 for Sunday.
fn weekday(days: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (days.rem_euclid(7) + 3) % 7
}

/// The last instant or day not after the given one at which a unit begins, in UTC.
pub(crate) fn date_trunc(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("date_trunc", args);
    let unit = call.text(0)?;
    let (days, time) = day_and_time(call, 1)?;
    let (year, month, _) = date_of_days(days);
    let begin = |year: i64, month: u8| days_of_date(year, month, 1).map(i64::from);
    let (days, time) = match unit {
        "year" => (begin(year, 1), 0),
        "quarter" => (begin(year, month - (month - 1) % 3), 0),
        "month" => (begin(year, month), 0),
        "week" => (Some(days - weekday(days)), 0),
        "day" => (Some(days), 0),
        "hour" => (Some(days), time - time % (3600 * SECOND_US)),
        "minute" => (Some(days), time - time % (60 * SECOND_US)),
        "second" => (Some(days), time - time % SECOND_US),
        _ => {
            let hint = "year, quarter, month, week, day, hour, minute or second";
            return Err(call.refuse(0, "a unit of time").hint(hint));
        }
    };
    match call.value(1) {
        Value::Date(_) => date(call, days),
        _ => {
            let us = days.and_then(|days| days.checked_mul(DAY_US)?.checked_add(time));
            timestamp(call, us)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn dates_times_and_durations_are_made() {
        table(
            "to_date('2026-01-31') => 2026-01-31
         to_date(to_timestamp('1969-12-31T23:00:00Z')) => 1969-12-31
         to_date('2026-02-30') => to_date: expected a date, found a String (\"2026-02-30\")
         to_date(1) => to_date: expected a date as text, or a timestamp, found an Int (1)
         to_timestamp('2026-01-31T12:30:00+01:00') => 2026-01-31T11:30:00Z
         to_timestamp('2026-01-31T12:30:00') => 2026-01-31T12:30:00Z
         to_timestamp(1.5) => 1970-01-01T00:00:01.500Z
         to_timestamp(-1) => 1969-12-31T23:59:59Z
         to_timestamp(to_date('1970-01-02')) => 1970-01-02T00:00:00Z
         to_timestamp(validity(7)) => 1970-01-01T00:00:00.000007Z
         to_timestamp(1e300) => to_timestamp: the result does not fit a Timestamp
         to_duration('P1DT1S') => P1DT1S
         to_duration(-90) => -PT1M30S
         to_duration('1 day') => to_duration: expected a duration in ISO 8601, found a String (\"1 day\")
         to_int(to_duration(1.5)) => 1500000
         to_int(to_date('1970-01-11')) => 10
         to_float(to_duration('PT0.5S')) => 0.5
         to_float(to_timestamp('1970-01-01T00:00:02Z')) => 2.0
         to_string(to_date('2026-01-31')) => \"2026-01-31\"
         to_bool(to_duration(0)) => false
         parse_timestamp(to_timestamp(1.5)) => 1.5
         format_timestamp(to_timestamp(0), 'Asia/Shanghai') => \"1970-01-01T08:00:00+08:00\"
         format_timestamp(to_date('1970-01-02')) => \"1970-01-02T00:00:00+00:00\"",
        );
    }

    #[test]
    fn arithmetic_keeps_to_its_table() {
        table(
            "sub(to_timestamp(90), to_timestamp(30)) => PT1M
         add(to_timestamp(0), to_duration('PT1H'), to_duration(1)) => 1970-01-01T01:00:01Z
         add(to_duration('PT1H'), to_timestamp(0)) => 1970-01-01T01:00:00Z
         sub(to_date('2026-03-01'), to_date('2026-02-01')) => P28D
         add(to_date('2026-02-28'), 1) => 2026-03-01
         sub(to_date('2026-01-01'), 1) => 2025-12-31
         add(to_date('2026-01-01'), to_duration('PT1H')) => 2026-01-01T01:00:00Z
         mul(to_duration(10), 3) => PT30S
         mul(2, to_duration(10), 0.25) => PT5S
         div(to_duration(10), 4) => PT2.500S
         div(to_duration(10), -4) => -PT2.500S
         div(to_duration(10), to_duration(4)) => 2.5
         div(to_duration(10), 0) => div: the divisor is 0
         div(to_duration(10), 0.0) => div: the result does not fit a Duration
         minus(to_duration(1)) => -PT1S
         abs(to_duration(-1)) => PT1S
         minus(to_date('2026-01-01')) => minus: expected a number or a duration, found a Date (2026-01-01)
         add(to_timestamp(0), to_timestamp(0)) => add: takes no Timestamp with a Timestamp
         add(to_timestamp(0), 1) => add: takes no Timestamp with an Int
         add(to_date('2026-01-01'), null) => add: takes no Date with null
         add(to_date('2026-01-01'), 9999999999) => add: the result does not fit a Date
         mul(to_duration(9000000000000), 9) => mul: the result does not fit a Duration
         lt(to_date('2026-01-01'), to_date('2026-01-02')) => true
         eq(to_date('1970-01-01'), to_timestamp(0)) => false
         lt(to_date('2026-01-01'), to_timestamp(0)) => lt: cannot compare a Date (2026-01-01) with a Timestamp (1970-01-01T00:00:00Z)
         max(to_duration(1), to_duration(2)) => PT2S",
        );
    }

    #[test]
    fn parts_and_truncation_are_in_utc() {
        table(
            "year(to_date('-0001-12-31')) => -1
         month(to_timestamp('2026-01-31T23:30:00-01:00')) => 2
         day(to_timestamp('1969-12-31T23:59:59Z')) => 31
         hour(to_timestamp('1969-12-31T23:59:58.5Z')) => 23
         minute(to_timestamp('1969-12-31T23:59:58.5Z')) => 59
         second(to_timestamp('1969-12-31T23:59:58.5Z')) => 58.5
         hour(to_date('2026-01-31')) => 0
         day_of_week(to_date('1970-01-01')) => 4
         day_of_week(to_date('2026-11-29')) => 7
         day_of_week(to_date('1969-12-29')) => 1
         date_trunc('week', to_date('1970-01-01')) => 1969-12-29
         date_trunc('quarter', to_date('2026-06-30')) => 2026-04-01
         date_trunc('month', to_timestamp('2026-02-28T23:00:00Z')) => 2026-02-01T00:00:00Z
         date_trunc('year', to_date('1969-12-29')) => 1969-01-01
         date_trunc('hour', to_timestamp('1969-12-31T23:59:59Z')) => 1969-12-31T23:00:00Z
         date_trunc('minute', to_timestamp(61.5)) => 1970-01-01T00:01:00Z
         date_trunc('second', to_timestamp(61.5)) => 1970-01-01T00:01:01Z
         date_trunc('age', to_date('2026-06-30')) => date_trunc: expected a unit of time as argument 1, found a String (\"age\")
         year(1) => year: expected a date or a timestamp, found an Int (1)
         is_date(to_date('2026-06-30')) => true
         is_timestamp(to_date('2026-06-30')) => false
         is_duration(to_duration(1)) => true",
        );
    }
}
