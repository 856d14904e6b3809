//! Time functions: the clock, timestamps as text, validities, and timestamps in UUIDs.
//!
//! Timestamps are seconds since 1970-01-01 UTC as floats; a validity has integer microseconds. The
//! time zone database is compiled in, so that a script gives the same result on every machine.

use crate::call::Call;
use crate::context::FunctionContext;
use crate::failure::Failure;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::{Validity, Value};

/// Number of 100-nanosecond ticks from 1582-10-15, the epoch of UUIDs, to 1970-01-01.
const UUID_EPOCH_TICKS: i64 = 0x01b2_1dd2_1381_4000;

pub(crate) fn now(context: &dyn FunctionContext) -> Result<Value, Failure> {
    Ok(Value::Float(context.now_us() as f64 / 1e6))
}

/// Parses a time in RFC 3339, or a date, which means midnight UTC. Returns microseconds since
/// 1970-01-01 UTC.
///
/// # Errors
/// The text is neither.
pub fn parse_time_us(text: &str) -> Result<i64, Failure> {
    time_of(Call::new("parse_timestamp", &[]), text).map(Timestamp::as_microsecond)
}

fn time_of(call: Call<'_>, text: &str) -> Result<Timestamp, Failure> {
    let date = || {
        let date: jiff::civil::Date = (text.len() == 10).then(|| text.parse().ok()).flatten()?;
        date.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    };
    // A date alone has no `T` or space before a time.
    text.parse().ok().or_else(date).ok_or_else(|| {
        let shown = crate::call::describe(&Value::Str(text.to_owned()));
        call.fail(format_args!("expected a time in RFC 3339, found {shown}"))
            .hint("as in \"2026-01-31T12:30:00Z\" or \"2026-01-31T12:30:00.5+01:00\"")
    })
}

pub(crate) fn parse_timestamp(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("parse_timestamp", args);
    if let Value::Timestamp(us) = call.value(0) {
        return Ok(Value::Float(*us as f64 / 1e6));
    }
    let time = time_of(call, call.text(0)?)?;
    Ok(Value::Float(time.as_second() as f64 + f64::from(time.subsec_nanosecond()) / 1e9))
}

/// Formats a time in RFC 3339, in UTC or the given time zone, with milliseconds if they are not 0.
pub(crate) fn format_timestamp(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("format_timestamp", args);
    let outside = || call.refuse(0, "a time between the years -9999 and 9999");
    let ms = match call.value(0) {
        Value::Validity(validity) => validity.timestamp_us.div_euclid(1000),
        Value::Timestamp(us) => us.div_euclid(1000),
        Value::Date(days) => i64::from(*days) * (model::calendar::DAY_US / 1000),
        _ => {
            let seconds = call.float(0)?;
            // Larger values would be saturated by the cast.
            if seconds.is_nan() || seconds.abs() > 1e15 {
                return Err(outside());
            }
            // Most milliseconds are not exact in binary, so the product must be rounded.
            (seconds * 1000.0).round() as i64
        }
    };
    let time = Timestamp::from_millisecond(ms).map_err(|_| outside())?;
    let zone = if args.len() < 2 { TimeZone::UTC } else { zone(call)? };
    let zoned = time.to_zoned(zone);
    let offset_s = zoned.offset().seconds();
    let offset_min = (offset_s.unsigned_abs() + 30) / 60;
    let sign = if offset_s < 0 { '-' } else { '+' };
    let ms = ms.rem_euclid(1000);
    let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}") };
    let year_sign = if zoned.year() < 0 { "-" } else { "" };
    Ok(Value::Str(format!(
        "{year_sign}{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{fraction}{sign}{:02}:{:02}",
        zoned.year().unsigned_abs(),
        zoned.month(),
        zoned.day(),
        zoned.hour(),
        zoned.minute(),
        zoned.second(),
        offset_min / 60,
        offset_min % 60,
    )))
}

fn zone(call: Call<'_>) -> Result<TimeZone, Failure> {
    TimeZone::get(call.text(1)?).map_err(|_| {
        call.refuse(1, "the name of a time zone").hint("as in \"Europe/Berlin\" or \"UTC\"")
    })
}

/// `validity(microseconds [, assert])`
pub(crate) fn validity(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("validity", args);
    let timestamp_us = match call.value(0) {
        Value::Int(us) | Value::Timestamp(us) => *us,
        // A float most likely comes from now() or parse_timestamp() and is in seconds.
        Value::Float(_) => {
            return Err(call
                .refuse(0, "integer microseconds")
                .hint("now() and parse_timestamp(…) give seconds: to_int(seconds * 1000000)"));
        }
        _ => return Err(call.refuse(0, "integer microseconds")),
    };
    let assert = if args.len() < 2 { true } else { call.bool(1)? };
    Ok(Value::Validity(Validity { timestamp_us, assert }))
}

/// Number of 100-nanosecond ticks since the epoch of UUIDs.
pub(crate) fn uuid_ticks(now_us: i64) -> u64 {
    let ticks = i128::from(now_us) * 10 + i128::from(UUID_EPOCH_TICKS);
    u64::try_from(ticks.max(0)).unwrap_or(u64::MAX)
}

/// The time of a UUID of version 1, 6 or 7, in seconds since 1970-01-01 UTC; null for other
/// versions.
pub(crate) fn uuid_timestamp(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("uuid_timestamp", args);
    let Value::Uuid(uuid) = call.value(0) else { return Err(call.refuse(0, "a UUID")) };
    let high = u64::from_be_bytes(uuid.first_chunk().copied().unwrap_or_default());
    let seconds = |ticks: u64| (ticks as i64).wrapping_sub(UUID_EPOCH_TICKS) as f64 / 1e7;
    Ok(match high >> 12 & 0xf {
        // The order is time_low, time_mid, then version and time_high.
        1 => Value::Float(seconds((high & 0xfff) << 48 | (high >> 16 & 0xffff) << 32 | high >> 32)),
        6 => Value::Float(seconds((high >> 16) << 12 | high & 0xfff)),
        7 => Value::Float((high >> 16) as f64 / 1e3),
        _ => Value::Null,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn times_are_read_and_written_before_1970_too() {
        table(
            "now() => 1.5
         format_timestamp(0) => \"1970-01-01T00:00:00+00:00\"
         format_timestamp(1.5) => \"1970-01-01T00:00:01.500+00:00\"
         format_timestamp(-1.5) => \"1969-12-31T23:59:58.500+00:00\"
         format_timestamp(1.001) => \"1970-01-01T00:00:01.001+00:00\"
         format_timestamp(1.005) => \"1970-01-01T00:00:01.005+00:00\"
         format_timestamp(-1.001) => \"1969-12-31T23:59:58.999+00:00\"
         format_timestamp(parse_timestamp('2023-11-14T22:13:20.123Z')) => \"2023-11-14T22:13:20.123+00:00\"
         format_timestamp(-62135596801) => \"0000-12-31T23:59:59+00:00\"
         format_timestamp(-99999999999) => \"-1199-02-15T14:13:21+00:00\"
         format_timestamp(0, 'Asia/Shanghai') => \"1970-01-01T08:00:00+08:00\"
         format_timestamp(1700000000, 'Asia/Kathmandu') => \"2023-11-15T03:58:20+05:45\"
         format_timestamp(0, 'America/New_York') => \"1969-12-31T19:00:00-05:00\"
         format_timestamp(validity(-1)) => \"1969-12-31T23:59:59.999+00:00\"
         format_timestamp(0, 'Nowhere') => format_timestamp: expected the name of a time zone as argument 2, found a String (\"Nowhere\")
         format_timestamp(1e12) => format_timestamp: expected a time between the years -9999 and 9999, found a Float (1000000000000.0)
         format_timestamp(div(0, 0)) => format_timestamp: expected a time between the years -9999 and 9999, found a Float (NaN)
         parse_timestamp('1970-01-01T00:00:01.5Z') => 1.5
         parse_timestamp('1969-12-31T23:59:59Z') => -1.0
         parse_timestamp('1969-12-31T23:59:58.5Z') => -1.5
         parse_timestamp('2020-01-01T00:00:00+01:00') => 1577833200.0
         parse_timestamp('2020-01-01') => 1577836800.0
         parse_timestamp('2020-01-01T00:00:00') => parse_timestamp: expected a time in RFC 3339, found a String (\"2020-01-01T00:00:00\")
         parse_timestamp(1) => parse_timestamp: expected a string, found an Int (1)
         validity(1) => validity(1, true)
         validity(-1, false) => validity(-1, false)
         validity(1.0) => validity: expected integer microseconds, found a Float (1.0)
         uuid_timestamp(to_uuid('dd85b926-3f09-11ed-b878-0242ac120002')) => 1664354712.2137382
         uuid_timestamp(to_uuid('1ed3f09d-d85b-6926-b878-0242ac120002')) => 1664354712.2137382
         uuid_timestamp(to_uuid('018b2f2e-6f00-7000-8000-000000000000')) => 1697303654.144
         uuid_timestamp('x') => uuid_timestamp: expected a UUID, found a String (\"x\")",
        );
        assert_eq!(crate::parse_time_us("1969-12-31T23:59:59.999999Z"), Ok(-1));
    }
}
