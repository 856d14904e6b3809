//! Dates, times and durations as text.
//!
//! # Time zones
//! A timestamp is an instant; it has no zone. A text with an offset is converted to UTC, a text
//! without one is UTC, as in `datetime64` of NumPy. Results are written in UTC.
//!
//! # Days
//! Days are counted in the proleptic Gregorian calendar, without leap seconds, by the algorithms of
//! Howard Hinnant (chrono-compatible low-level date algorithms, 2013): years begin in March, so the
//! leap day is the last day of a year, and 400 years have always 146,097 days.

use std::fmt;

/// Microseconds of a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY_US: i64 = 86_400 * SECOND_US;

/// Days of 400 years.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// Year, month (1 to 12) and day (1 to 31) of a number of days since 1970-01-01.
#[must_use]
pub fn date_of_days(days: i64) -> (i64, u8, u8) {
    // Taken apart first, because the sum may not fit.
    let (era, day) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS) + EPOCH_DAYS);
    let (era, day) = (era + day.div_euclid(ERA_DAYS), day.rem_euclid(ERA_DAYS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next_year, month as u8, day_of_month as u8)
}

/// Days since 1970-01-01; `None` if there is no such date, or the result does not fit.
#[must_use]
pub fn days_of_date(year: i64, month: u8, day: u8) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) || year.abs() > 10_000_000 {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let day = (153 * month + 2) / 5 + i64::from(day) - 1;
    let days = era * ERA_DAYS + year * 365 + year / 4 - year / 100 + day - EPOCH_DAYS;
    i32::try_from(days).ok()
}

/// Microseconds from 1970-01-01 UTC to the midnight at which a date begins; `None` if they do not
/// fit.
#[must_use]
pub fn midnight_us(days: i32) -> Option<i64> {
    i64::from(days).checked_mul(DAY_US)
}

/// Parses a date such as `2026-01-31`; the year has at least four digits and may have a sign.
#[must_use]
pub fn parse_date(text: &str) -> Option<i32> {
    let mut reader = Reader(text.as_bytes());
    let days = reader.date()?;
    reader.0.is_empty().then_some(days)
}

/// Parses a time such as `2026-01-31T12:30:00.5+01:00`, or a date, which means its midnight.
/// Returns microseconds since 1970-01-01 UTC. Digits after the sixth of a fraction are cut off.
#[must_use]
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let mut reader = Reader(text.as_bytes());
    // The midnight before the first instant does not fit 64 bits.
    let midnight = i128::from(reader.date()?) * i128::from(DAY_US);
    if reader.0.is_empty() {
        return i64::try_from(midnight).ok();
    }
    if !(reader.eat(b'T') || reader.eat(b't') || reader.eat(b' ')) {
        return None;
    }
    let time = reader.time_of_day()?;
    let offset = match reader.0 {
        [] => 0,
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), rest @ ..] => {
            reader.0 = rest;
            let hours = reader.digits(2)?;
            reader.eat(b':');
            let minutes = if reader.0.is_empty() { 0 } else { reader.digits(2)? };
            if !reader.0.is_empty() || hours > 25 || minutes > 59 {
                return None;
            }
            let offset = (hours * 60 + minutes) * 60 * SECOND_US;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    i64::try_from(midnight + i128::from(time - offset)).ok()
}

/// Parses a duration in ISO 8601, such as `P1DT2H30M0.5S` or `-PT1S`: weeks, days of 24 hours,
/// hours, minutes and seconds. Returns microseconds. Years and months have no fixed length and are
/// refused.
#[must_use]
pub fn parse_duration(text: &str) -> Option<i64> {
    let mut reader = Reader(text.as_bytes());
    let is_negative = reader.eat(b'-');
    if !reader.eat(b'P') || reader.0.is_empty() {
        return None;
    }
    let units = [(b'W', 7 * DAY_US), (b'D', DAY_US)];
    let mut total = reader.units(&units)?;
    if reader.eat(b'T') {
        if reader.0.is_empty() {
            return None;
        }
        let units = [(b'H', 3600 * SECOND_US), (b'M', 60 * SECOND_US), (b'S', SECOND_US)];
        total += reader.units(&units)?;
    }
    let total = if is_negative { -total } else { total };
    reader.0.is_empty().then(|| i64::try_from(total).ok())?
}

/// Reads the parts of a text.
struct Reader<'t>(&'t [u8]);

impl Reader<'_> {
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    /// A number with exactly `count` digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().all(u8::is_ascii_digit).then(|| number(digits))
    }

    /// The leading digits.
    fn run(&mut self) -> &[u8] {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        digits
    }

    fn date(&mut self) -> Option<i32> {
        let is_negative = self.eat(b'-');
        if !is_negative {
            self.eat(b'+');
        }
        let year = self.run();
        if !(4..=7).contains(&year.len()) {
            return None;
        }
        let year = number(year);
        let month = self.eat(b'-').then(|| self.digits(2))??;
        let day = self.eat(b'-').then(|| self.digits(2))??;
        days_of_date(if is_negative { -year } else { year }, month as u8, day as u8)
    }

    fn time_of_day(&mut self) -> Option<i64> {
        let hour = self.digits(2)?;
        let minute = self.eat(b':').then(|| self.digits(2))??;
        let second = if self.eat(b':') { self.digits(2)? } else { 0 };
        let fraction = if self.eat(b'.') { self.fraction()? } else { 0 };
        let is_time = hour < 24 && minute < 60 && second < 60;
        is_time.then_some(((hour * 60 + minute) * 60 + second) * SECOND_US + fraction)
    }

    /// Microseconds of the digits after a point; there must be at least one.
    fn fraction(&mut self) -> Option<i64> {
        let digits = self.run();
        let first = digits.get(..6).unwrap_or(digits);
        (!digits.is_empty()).then(|| number(first) * 10_i64.pow(6 - first.len() as u32))
    }

    /// The sum of numbers with units, which occur in this order, each at most once. Only seconds
    /// may have a fraction.
    fn units(&mut self, units: &[(u8, i64)]) -> Option<i128> {
        let mut total = 0_i128;
        let mut units = units.iter();
        while self.0.first().is_some_and(u8::is_ascii_digit) {
            let digits = self.run();
            if digits.len() > 18 {
                return None;
            }
            let count = number(digits);
            let fraction = if self.eat(b'.') { Some(self.fraction()?) } else { None };
            let unit = units.find(|(name, _)| self.0.first() == Some(name))?;
            if fraction.is_some() && unit.0 != b'S' {
                return None;
            }
            self.eat(unit.0);
            total += i128::from(count) * i128::from(unit.1) + i128::from(fraction.unwrap_or(0));
        }
        Some(total)
    }
}

/// The number of at most 18 digits.
fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
}

/// Writes a date as [`parse_date`] reads it. Years of more than four digits have a sign.
pub(crate) fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = date_of_days(days);
    match year {
        0..=9999 => write!(f, "{year:04}-{month:02}-{day:02}"),
        _ => write!(f, "{year:+05}-{month:02}-{day:02}"),
    }
}

/// Writes a time in UTC as [`parse_timestamp`] reads it.
pub(crate) fn write_timestamp(f: &mut fmt::Formatter<'_>, us: i64) -> fmt::Result {
    write_date(f, us.div_euclid(DAY_US))?;
    let time = us.rem_euclid(DAY_US);
    let seconds = time / SECOND_US;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(f, "T{hour:02}:{minute:02}:{second:02}")?;
    write_fraction(f, (time % SECOND_US).unsigned_abs())?;
    f.write_str("Z")
}

/// Writes a duration as [`parse_duration`] reads it.
pub(crate) fn write_duration(f: &mut fmt::Formatter<'_>, us: i64) -> fmt::Result {
    if us < 0 {
        f.write_str("-")?;
    }
    let us = us.unsigned_abs();
    let second = SECOND_US.unsigned_abs();
    let (seconds, fraction) = (us / second, us % second);
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    f.write_str("P")?;
    if days > 0 {
        write!(f, "{days}D")?;
    }
    if seconds == 0 && fraction == 0 {
        return f.write_str(if days > 0 { "" } else { "T0S" });
    }
    f.write_str("T")?;
    for (count, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
        if count > 0 {
            write!(f, "{count}{unit}")?;
        }
    }
    if seconds % 60 > 0 || fraction > 0 {
        write!(f, "{}", seconds % 60)?;
        write_fraction(f, fraction)?;
        f.write_str("S")?;
    }
    Ok(())
}

/// Three or six digits, or none for zero.
fn write_fraction(f: &mut fmt::Formatter<'_>, us: u64) -> fmt::Result {
    match us {
        0 => Ok(()),
        us if us.is_multiple_of(1000) => write!(f, ".{:03}", us / 1000),
        us => write!(f, ".{us:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Type, Value};
    use proptest::prelude::*;

    #[test]
    fn every_day_of_eight_centuries_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1599, 12, 31);
        let first = days_of_date(1600, 1, 1).unwrap();
        assert_eq!(days_of_date(1970, 1, 1), Some(0));
        for days in first..first + 2 * ERA_DAYS as i32 {
            let next = date_of_days(i64::from(days));
            let follows = next == (year, month, day + 1)
                || next == (year, month + 1, 1)
                || next == (year + 1, 1, 1) && (month, day) == (12, 31);
            assert!(follows, "{next:?} after {year}-{month}-{day}");
            // The calendar has each date, and no other between.
            assert_eq!(days_of_date(next.0, next.1, next.2), Some(days));
            (year, month, day) = next;
        }
        assert_eq!((year, month, day), (2399, 12, 31));
    }

    #[track_caller]
    fn timestamp(text: &str, want: Option<&str>) {
        let found = parse_timestamp(text).map(|us| Value::Timestamp(us).to_string());
        assert_eq!(found.as_deref(), want, "{text}");
    }

    #[test]
    fn times_are_read_with_and_without_an_offset() {
        timestamp("1970-01-01", Some("1970-01-01T00:00:00Z"));
        timestamp("2026-01-31 12:30", Some("2026-01-31T12:30:00Z"));
        timestamp("2026-01-31T12:30:00.5+01:00", Some("2026-01-31T11:30:00.500Z"));
        timestamp("2026-01-31t23:30:00-0130", Some("2026-02-01T01:00:00Z"));
        timestamp("1969-12-31T23:59:59.999999999Z", Some("1969-12-31T23:59:59.999999Z"));
        timestamp("-0001-02-28T00:00:00Z", Some("-0001-02-28T00:00:00Z"));
        for wrong in ["2026-02-29", "2026-1-1", "2026-01-31T24:00:00Z", "2026-01-31T1", "noon", ""]
        {
            timestamp(wrong, None);
        }
        timestamp("2026-01-31T12:30:00X", None);
        timestamp("+9999999-01-01", None);
    }

    #[test]
    fn durations_are_read_and_written() {
        let check = |text: &str, want: Option<&str>| {
            let found = parse_duration(text).map(|us| Value::Duration(us).to_string());
            assert_eq!(found.as_deref(), want, "{text}");
        };
        check("PT0S", Some("PT0S"));
        check("P1W", Some("P7D"));
        check("PT36H", Some("P1DT12H"));
        check("-P1DT2H30M0.5S", Some("-P1DT2H30M0.500S"));
        check("PT0.000001S", Some("PT0.000001S"));
        for wrong in ["P", "PT", "P1", "P1Y", "P1M", "PT1.5H", "PT1S1M", "1H", "P106751992D"] {
            check(wrong, None);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            days in prop_oneof![Just(i32::MIN), Just(i32::MAX), any::<i32>()],
            us in prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>()],
        ) {
            let read = |of: Type, value: Value| of.coerce(Value::Str(value.to_string()));
            let date = Value::Date(days);
            prop_assert_eq!(read(Type::Date, date.clone()), Ok(date));
            let time = Value::Timestamp(us);
            prop_assert_eq!(read(Type::Timestamp, time.clone()), Ok(time));
            let duration = Value::Duration(us);
            prop_assert_eq!(read(Type::Duration, duration.clone()), Ok(duration));
        }
    }
}
