//! Types of properties: found from values, and columns of strings converted to them.

use ingest::{TextColumn, TextOptions, is_null, parse_float};
use model::{Series, Type, Value, Values, calendar};

/// Characters of a field that a message repeats at most.
const SHOWN_CHARS: usize = 40;

/// Up to here floats hold all whole numbers; above it one may be the rounded value of another.
pub(crate) const WHOLE_MAX: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// A field that is no value of its column.
pub(crate) struct Unfit {
    pub(crate) row: usize,
    /// The expected kind of value.
    pub(crate) expected: String,
    pub(crate) found: String,
}

/// The types that fit all values of a text column so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guess {
    is_seen: bool,
    bool: bool,
    int: bool,
    float: bool,
    date: bool,
    timestamp: bool,
}

impl Default for Guess {
    fn default() -> Self {
        Self { is_seen: false, bool: true, int: true, float: true, date: true, timestamp: true }
    }
}

impl Guess {
    /// Looks at more values of the column.
    pub(crate) fn look(&mut self, column: &TextColumn, options: &TextOptions) {
        for (text, is_present) in column.texts.iter().zip(&column.present) {
            if *is_present && !is_null(text.as_bytes(), &options.null_values) {
                self.look_at(text.trim(), options);
            }
        }
    }

    fn look_at(&mut self, text: &str, options: &TextOptions) {
        self.is_seen = true;
        // `007` is a name of three digits, and `+5` is not written back as it was.
        let digits = text.strip_prefix('-').unwrap_or(text);
        let starts = digits.as_bytes().first().is_some_and(u8::is_ascii_digit);
        let is_padded = digits.len() > 1
            && digits.as_bytes()[0] == b'0'
            && digits.as_bytes()[1].is_ascii_digit();
        let is_number = starts && !is_padded;
        self.bool &= text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false");
        self.int &= is_number && text.parse::<i64>().is_ok();
        if self.float {
            let has_point = digits.bytes().any(|byte| !byte.is_ascii_digit());
            let is_whole = is_number && text.parse::<i64>().is_ok();
            let special = matches!(digits, "NaN" | "inf" | "Infinity");
            self.float = special
                || is_whole
                || is_number && has_point && parse_float(text, options.decimal).is_some();
        }
        self.date = self.date && calendar::parse_date(text).is_some();
        self.timestamp = self.timestamp && calendar::parse_timestamp(text).is_some();
    }

    /// The type of a property. It may be null.
    pub(crate) fn property(self) -> Type {
        let of = match self {
            Self { is_seen: false, .. } => Type::String,
            Self { bool: true, .. } => Type::Bool,
            Self { int: true, .. } => Type::Int,
            Self { float: true, .. } => Type::Float,
            Self { date: true, .. } => Type::Date,
            Self { timestamp: true, .. } => Type::Timestamp,
            _ => Type::String,
        };
        Type::Nullable(Box::new(of))
    }

    /// Whether all values can be unsigned, and signed, integers. A vertex `007` is 7.
    pub(crate) fn of_vertices(column: &TextColumn) -> (bool, bool) {
        let texts = || column.texts.iter().map(str::trim);
        let ids = texts().all(|text| text.parse::<u64>().is_ok());
        (ids, ids || texts().all(|text| text.parse::<i64>().is_ok()))
    }
}

/// The type of a property that can hold the values of a column. It may be null.
pub(crate) fn type_of_series(series: &Series) -> Type {
    let of = match &series.values {
        Values::Null(_) => Type::String,
        Values::Bool(_) => Type::Bool,
        Values::Int(_) => Type::Int,
        Values::Id(ids) => {
            if ids.iter().all(|&id| i64::try_from(id).is_ok()) {
                Type::Int
            } else {
                Type::Id
            }
        }
        Values::Float(_) => Type::Float,
        Values::Str(_) => Type::String,
        Values::Bytes(_) => Type::Bytes,
        Values::Any(values) => {
            let kinds = values.iter().filter(|value| **value != Value::Null).map(type_of_value);
            kinds.reduce(wider).unwrap_or(Type::String)
        }
    };
    Type::Nullable(Box::new(of))
}

fn type_of_value(value: &Value) -> Type {
    match value {
        Value::Null | Value::Str(_) => Type::String,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Id(_) => Type::Id,
        Value::Float(_) => Type::Float,
        Value::Bytes(_) => Type::Bytes,
        Value::Uuid(_) => Type::Uuid,
        Value::Date(_) => Type::Date,
        Value::Timestamp(_) => Type::Timestamp,
        Value::Duration(_) => Type::Duration,
        Value::Decimal(_) => Type::Decimal,
        Value::Validity(_) => Type::Validity,
        // Nested values of several lengths and kinds.
        Value::List(_) | Value::Vector(_) | Value::Json(_) => Type::Json,
    }
}

/// The type that holds values of both types.
pub(crate) fn wider(a: Type, b: Type) -> Type {
    match (a, b) {
        (a, b) if a == b => a,
        (Type::Int | Type::Id, Type::Float) | (Type::Float, Type::Int | Type::Id) => Type::Float,
        (Type::Int, Type::Id) | (Type::Id, Type::Int) => Type::Id,
        (Type::Int | Type::Id, Type::Decimal) | (Type::Decimal, Type::Int | Type::Id) => {
            Type::Decimal
        }
        (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Type::Timestamp,
        _ => Type::Any,
    }
}

/// A column of strings as values of a type. A field that is none becomes null and is added to
/// `unfit`.
pub(crate) fn converted(
    column: &TextColumn,
    of: &Type,
    options: &TextOptions,
    unfit: &mut Vec<Unfit>,
) -> Series {
    let plain = of.without_null();
    let mut series = Series::of_type(plain);
    for (row, (text, is_present)) in column.texts.iter().zip(&column.present).enumerate() {
        let value = match *is_present {
            true => value_of(plain, text, options),
            false => Some(Value::Null),
        };
        match (&mut series, value) {
            // Not by way of a string of its own.
            (Series { values: Values::Str(texts), valid }, Some(Value::Str(_))) => {
                valid.push(texts.len(), true);
                texts.push(Some(text.as_bytes()));
            }
            (series, Some(value)) => series.push(value),
            (series, None) => {
                series.push(Value::Null);
                unfit.push(Unfit { row, expected: noun(plain), found: shown(text) });
            }
        }
    }
    series
}

/// The strings among values of a file of columns, converted as those of text.
pub(crate) fn converted_series(series: Series, of: &Type, unfit: &mut Vec<Unfit>) -> Series {
    let plain = of.without_null();
    match (&series.values, plain) {
        (Values::Str(_), Type::String | Type::Any) => series,
        (Values::Str(_), _) => {
            let mut typed = Series::of_type(plain);
            for row in 0..series.len() {
                let value = match series.value(row) {
                    Value::Str(text) => plain.parse_field(&text).or_else(|| {
                        unfit.push(Unfit { row, expected: noun(plain), found: shown(&text) });
                        Some(Value::Null)
                    }),
                    other => Some(other),
                };
                typed.push(value.unwrap_or(Value::Null));
            }
            typed
        }
        // Parquet has no durations; they are written as microseconds.
        (Values::Int(_), Type::Duration) => {
            let value = |row| match series.value(row) {
                Value::Int(us) => Value::Duration(us),
                other => other,
            };
            (0..series.len()).map(value).collect::<Vec<_>>().into()
        }
        _ => series,
    }
}

/// Vertices of a type of integers: floats that are whole numbers of at most `max` become integers.
/// Other floats, and negative vertices of unsigned integers, become null and are added to `unfit`.
pub(crate) fn whole_vertices(
    series: Series,
    of: &Type,
    max: f64,
    unfit: &mut Vec<Unfit>,
) -> Series {
    let is_signed = *of == Type::Int;
    let has_negative = |ints: &[i64]| !is_signed && ints.iter().any(|&int| int < 0);
    match &series.values {
        Values::Float(_) | Values::Any(_) => {}
        Values::Int(ints) if has_negative(ints) => {}
        _ => return series,
    }
    let min = if is_signed { -max } else { 0.0 };
    let value = |row| match series.value(row) {
        Value::Float(float) if float.trunc() == float && (min..=max).contains(&float) => {
            Value::Int(float as i64)
        }
        Value::Float(float) => {
            let from = if is_signed { format!("-2^{}", max.log2()) } else { "0".to_owned() };
            let expected = format!("a whole number from {from} to 2^{}", max.log2());
            unfit.push(Unfit { row, expected, found: float.to_string() });
            Value::Null
        }
        Value::Int(int) if int < 0 && !is_signed => {
            unfit.push(Unfit { row, expected: noun(of), found: int.to_string() });
            Value::Null
        }
        other => other,
    };
    (0..series.len()).map(value).collect::<Vec<_>>().into()
}

fn value_of(of: &Type, text: &str, options: &TextOptions) -> Option<Value> {
    if matches!(of, Type::String | Type::Any) {
        return of.parse_field(text);
    }
    // `null` and `nan` are bytes in base64, too.
    if *of != Type::Bytes && is_null(text.as_bytes(), &options.null_values) {
        return Some(Value::Null);
    }
    match of {
        Type::Float => parse_float(text, options.decimal).map(Value::Float),
        Type::Decimal if options.decimal != b'.' => {
            // As for floats, a point is then no decimal mark.
            let mark = char::from(options.decimal);
            (!text.contains('.')).then(|| of.parse_field(&text.replace(mark, ".")))?
        }
        Type::Bool => match text.trim() {
            "1" => Some(Value::Bool(true)),
            "0" => Some(Value::Bool(false)),
            text => of.parse_field(&text.to_ascii_lowercase()),
        },
        // As the relation takes it: a time, or a list of microseconds and a truth value.
        Type::Validity => {
            let list = Type::List(Box::new(Type::Any), Some(2)).parse_field(text);
            list.or_else(|| Some(Value::Str(text.to_owned())))
        }
        of => of.parse_field(text),
    }
}

/// A type for messages: what a field should be.
fn noun(of: &Type) -> String {
    match of {
        Type::Bool => "true or false".to_owned(),
        Type::Int => "an integer".to_owned(),
        Type::Id => "an unsigned integer".to_owned(),
        Type::Float => "a number".to_owned(),
        Type::Date => "a date such as 2026-01-31".to_owned(),
        Type::Timestamp => "a time such as 2026-01-31T12:30:00Z".to_owned(),
        Type::Decimal => "a decimal number".to_owned(),
        Type::Json => "JSON".to_owned(),
        Type::Bytes => "bytes in base64".to_owned(),
        other => format!("a value of type {other}"),
    }
}

fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    if text.is_empty() { "nothing".to_owned() } else { format!("{short:?}{more}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(fields: &[&str]) -> TextColumn {
        let mut column = TextColumn::default();
        for field in fields {
            column.texts.push(field);
            column.present.push(!field.is_empty());
        }
        column
    }

    #[track_caller]
    fn check(fields: &[&str], want: &str) {
        let mut guess = Guess::default();
        guess.look(&column(fields), &TextOptions::default());
        assert_eq!(guess.property().to_string(), want, "{fields:?}");
    }

    #[test]
    fn the_narrowest_type_that_loses_nothing_is_found() {
        check(&["1", "", "-3", "NA"], "Int?");
        check(&["1", "2.5", "NaN"], "Float?");
        check(&["1e3", "-0.5"], "Float?");
        check(&["true", "False"], "Bool?");
        check(&["1998-02-03", ""], "Date?");
        check(&["1998-02-03", "1998-02-03T04:05:06Z"], "Timestamp?");
        check(&["007", "12"], "String?");
        check(&["12345678901234567890"], "String?");
        check(&["1", "x"], "String?");
        check(&["", ""], "String?");
    }

    #[test]
    fn fields_that_do_not_fit_are_told_and_null() {
        let mut unfit = Vec::new();
        let fields = column(&["1", "x", "", "null", "3.0"]);
        let found = converted(&fields, &Type::Int, &TextOptions::default(), &mut unfit);
        let values: Vec<Value> = (0..5).map(|row| found.value(row)).collect();
        let want = [Value::Int(1), Value::Null, Value::Null, Value::Null, Value::Int(3)];
        assert_eq!(values, want);
        assert_eq!((unfit.len(), unfit[0].row), (1, 1));
        assert_eq!((unfit[0].expected.as_str(), unfit[0].found.as_str()), ("an integer", "\"x\""));
    }

    #[test]
    fn strings_keep_words_that_mean_null_elsewhere() {
        let fields = column(&["NA", "null"]);
        let found = converted(&fields, &Type::String, &TextOptions::default(), &mut Vec::new());
        assert_eq!(found.value(0), Value::Str("NA".to_owned()));
    }

    #[test]
    fn a_decimal_comma_is_that_of_the_options() {
        let options = TextOptions { decimal: b',', ..TextOptions::default() };
        let mut guess = Guess::default();
        guess.look(&column(&["1,5", "2"]), &options);
        assert_eq!(guess.property().to_string(), "Float?");
        let found = converted(&column(&["1,5"]), &Type::Float, &options, &mut Vec::new());
        assert_eq!(found.value(0), Value::Float(1.5));
    }

    #[test]
    fn a_field_is_a_float_if_it_is_a_weight() {
        let comma = TextOptions { decimal: b',', ..TextOptions::default() };
        for (text, options) in [
            ("1.5", &comma),
            ("1.000,5", &comma),
            ("1,5", &TextOptions::default()),
            ("1e999", &TextOptions::default()),
        ] {
            let mut unfit = Vec::new();
            let found = converted(&column(&[text]), &Type::Float, options, &mut unfit);
            assert_eq!((found.value(0), unfit.len()), (Value::Null, 1), "{text}");
            let mut guess = Guess::default();
            guess.look(&column(&[text, "2"]), options);
            assert_eq!(guess.property().to_string(), "String?", "{text}");
        }
        let special = column(&["inf", "-Infinity", " 2 ", "NaN"]);
        let found = converted(&special, &Type::Float, &comma, &mut Vec::new());
        let values: Vec<Value> = (0..3).map(|row| found.value(row)).collect();
        assert_eq!(values, [f64::INFINITY, f64::NEG_INFINITY, 2.0].map(Value::Float));
        assert!(matches!(found.value(3), Value::Float(nan) if nan.is_nan()));
    }
}
