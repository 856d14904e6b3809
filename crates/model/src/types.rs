//! Column types, and the conversion of values to them.

use crate::calendar;
use crate::decimal::Decimal;
use crate::value::{Json, Value, Vector};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// Width of a vector's floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorKind {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Any value, null included.
    Any,
    /// True or false.
    Bool,
    /// A signed 64-bit integer.
    Int,
    /// A vertex id: an unsigned 64-bit integer.
    Id,
    /// A 64-bit float.
    Float,
    /// A string in UTF-8.
    String,
    /// Bytes.
    Bytes,
    /// A UUID.
    Uuid,
    /// JSON.
    Json,
    /// A [`crate::Validity`]: a time and a flag.
    Validity,
    /// A day.
    Date,
    /// An instant, in microseconds.
    Timestamp,
    /// A length of time, in microseconds.
    Duration,
    /// A decimal number of up to 38 digits.
    Decimal,
    /// A list of items of one type, of a fixed length if one is given.
    List(Box<Type>, Option<u64>),
    /// A list with one type for each position.
    Tuple(Vec<Type>),
    /// A vector with this number of floats.
    Vector(VectorKind, u64),
    /// Null, or a value of the type.
    Nullable(Box<Type>),
}

/// The error of [`Type::coerce`]: a value does not fit the type of its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// The type of the column.
    pub wanted: Type,
    /// Kind and shortened text of the value.
    pub found: String,
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.wanted, self.found)
    }
}

impl std::error::Error for TypeError {}

impl Type {
    /// Whether a value is stored in one word of 64 bits.
    #[must_use]
    pub fn is_word(&self) -> bool {
        matches!(self, Self::Bool | Self::Int | Self::Id | Self::Float) || self.is_temporal()
    }

    /// Whether its values are dates, timestamps or durations.
    #[must_use]
    pub fn is_temporal(&self) -> bool {
        matches!(self, Self::Date | Self::Timestamp | Self::Duration)
    }

    /// The type without its `?`.
    #[must_use]
    pub fn without_null(&self) -> &Self {
        match self {
            Self::Nullable(inner) => inner.without_null(),
            other => other,
        }
    }

    /// Converts a value to this type:
    ///
    /// - an integer to a float, and a float without a fraction to an integer;
    /// - a list of numbers to a vector;
    /// - a string or 16 bytes to a UUID, and a UUID to a string or to bytes;
    /// - a string to a date, a timestamp or a duration, and each of these to a string;
    /// - an integer, a float or a string to a decimal, see [`Decimal::of_float`]; a decimal to a
    ///   string, to the nearest float, and without a fraction to an integer;
    /// - a date to the timestamp at which it begins in UTC;
    /// - a base64 string to bytes, or to the vector whose floats it holds in little-endian order;
    /// - any value with only finite floats to JSON, see [`Json::tree_of`].
    ///
    /// # Errors
    /// [`TypeError`] if there is no such conversion, or a list or a vector has another length.
    pub fn coerce(&self, value: Value) -> Result<Value, TypeError> {
        match (self, value) {
            (Self::Any, value) => Ok(value),
            (Self::Nullable(_), Value::Null) => Ok(Value::Null),
            (Self::Nullable(inner), value) => inner.coerce(value),
            (Self::Bool, value @ Value::Bool(_))
            | (Self::Int, value @ Value::Int(_))
            | (Self::Id, value @ Value::Id(_))
            | (Self::Float, value @ Value::Float(_))
            | (Self::String, value @ Value::Str(_))
            | (Self::Bytes, value @ Value::Bytes(_))
            | (Self::Uuid, value @ Value::Uuid(_))
            | (Self::Json, value @ Value::Json(_))
            | (Self::Validity, value @ Value::Validity(_))
            | (Self::Date, value @ Value::Date(_))
            | (Self::Timestamp, value @ Value::Timestamp(_))
            | (Self::Duration, value @ Value::Duration(_))
            | (Self::Decimal, value @ Value::Decimal(_)) => Ok(value),
            (Self::Id, Value::Int(int)) if int >= 0 => Ok(Value::Int(int)),
            (Self::Float, Value::Int(int)) => Ok(Value::Float(int as f64)),
            (Self::Float, Value::Id(id)) => Ok(Value::Float(id as f64)),
            (Self::Int, Value::Float(float)) if whole(float) => Ok(Value::Int(float as i64)),
            (Self::Id, Value::Float(float)) if whole(float) && float >= 0.0 => {
                Ok(Value::Int(float as i64))
            }
            (Self::Float, Value::Decimal(value)) => Ok(Value::Float(value.to_float())),
            (Self::Int | Self::Id, Value::Decimal(value)) => {
                let int = value.to_int().and_then(|int| self.integer(int));
                int.ok_or_else(|| self.refuse(&Value::Decimal(value)))
            }
            (Self::Decimal, value) => {
                to_decimal(&value).map(Value::Decimal).ok_or_else(|| self.refuse(&value))
            }
            (Self::Uuid, Value::Str(text)) => match parse_uuid(&text) {
                Some(uuid) => Ok(Value::Uuid(uuid)),
                None => Err(self.refuse(&Value::Str(text))),
            },
            (Self::Uuid, Value::Bytes(bytes)) => match bytes.try_into() {
                Ok(uuid) => Ok(Value::Uuid(uuid)),
                Err(bytes) => Err(self.refuse(&Value::Bytes(bytes))),
            },
            (Self::Bytes, Value::Uuid(uuid)) => Ok(Value::Bytes(uuid.to_vec())),
            (Self::Timestamp, Value::Date(days)) => {
                let us = calendar::midnight_us(days);
                us.map(Value::Timestamp).ok_or_else(|| self.refuse(&Value::Date(days)))
            }
            (Self::Date | Self::Timestamp | Self::Duration, Value::Str(text)) => {
                let found = self.parse_temporal(&text);
                found.ok_or_else(|| self.refuse(&Value::Str(text)))
            }
            (
                Self::String,
                value @ (Value::Date(_)
                | Value::Timestamp(_)
                | Value::Duration(_)
                | Value::Decimal(_)
                | Value::Uuid(_)),
            ) => Ok(Value::Str(value.to_string())),
            (Self::Bytes, Value::Str(text)) => match STANDARD.decode(&text) {
                Ok(bytes) => Ok(Value::Bytes(bytes)),
                Err(_) => Err(self.refuse(&Value::Str(text))),
            },
            (Self::Json, value) => self.to_json(&value),
            (Self::List(item, len), Value::List(items)) => {
                if len.is_some_and(|len| len != items.len() as u64) {
                    return Err(self.refuse(&Value::List(items)));
                }
                let items = items.into_iter().map(|value| item.coerce(value));
                Ok(Value::List(items.collect::<Result<_, _>>()?))
            }
            (Self::Tuple(types), Value::List(items)) if types.len() == items.len() => {
                let items = types.iter().zip(items).map(|(item, value)| item.coerce(value));
                Ok(Value::List(items.collect::<Result<_, _>>()?))
            }
            (Self::Vector(kind, len), value) => self.to_vector(*kind, *len, value),
            (_, value) => Err(self.refuse(&value)),
        }
    }

    /// The value of type `Int` or `Id` that is this integer.
    fn integer(&self, int: i128) -> Option<Value> {
        match self {
            Self::Int => i64::try_from(int).ok().map(Value::Int),
            _ => u64::try_from(int).ok().map(Value::id),
        }
    }

    fn parse_temporal(&self, text: &str) -> Option<Value> {
        match self {
            Self::Date => calendar::parse_date(text).map(Value::Date),
            Self::Timestamp => calendar::parse_timestamp(text).map(Value::Timestamp),
            _ => calendar::parse_duration(text).map(Value::Duration),
        }
    }

    fn to_vector(&self, kind: VectorKind, len: u64, value: Value) -> Result<Value, TypeError> {
        let floats: Option<Vec<f64>> = match &value {
            Value::Str(text) => STANDARD.decode(text).ok().and_then(|bytes| floats(kind, &bytes)),
            other => other.to_floats(),
        };
        let floats = floats.filter(|floats| floats.len() as u64 == len);
        let floats = floats.ok_or_else(|| self.refuse(&value))?;
        Ok(Value::Vector(match kind {
            VectorKind::F32 => Vector::F32(floats.into_iter().map(|f| f as f32).collect()),
            VectorKind::F64 => Vector::F64(floats),
        }))
    }

    fn to_json(&self, value: &Value) -> Result<Value, TypeError> {
        let tree = Json::tree_of(value).filter(|_| is_finite(value));
        let json = tree.and_then(|tree| Json::of_tree(tree).ok());
        json.map(Value::Json).ok_or_else(|| self.refuse(value))
    }

    fn refuse(&self, value: &Value) -> TypeError {
        let text = value.to_string();
        let short: String = text.chars().take(40).collect();
        let more = if short.len() < text.len() { "…" } else { "" };
        let found = match value {
            Value::Null => "null".to_owned(),
            _ => format!("{} ({short}{more})", value.kind()),
        };
        TypeError { wanted: self.clone(), found }
    }
}

/// The decimal of an integer, a float or a string.
fn to_decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Int(int) => Decimal::of_int(i128::from(*int)),
        Value::Id(id) => Decimal::of_int(i128::from(*id)),
        Value::Float(float) => Decimal::of_float(*float),
        Value::Str(text) => Decimal::parse(text),
        _ => None,
    }
}

/// Floats of a vector from little-endian bytes; `None` if the last float is incomplete.
fn floats(kind: VectorKind, bytes: &[u8]) -> Option<Vec<f64>> {
    let (floats, rest) = match kind {
        VectorKind::F32 => {
            let (items, rest) = bytes.as_chunks();
            (items.iter().map(|&item| f64::from(f32::from_le_bytes(item))).collect(), rest)
        }
        VectorKind::F64 => {
            let (items, rest) = bytes.as_chunks();
            (items.iter().map(|&item| f64::from_le_bytes(item)).collect(), rest)
        }
    };
    rest.is_empty().then_some(floats)
}

/// Whether all floats in it are finite: JSON has no others.
fn is_finite(value: &Value) -> bool {
    match value {
        Value::Float(float) => float.is_finite(),
        Value::List(items) => items.iter().all(is_finite),
        Value::Vector(Vector::F32(items)) => items.iter().all(|item| item.is_finite()),
        Value::Vector(Vector::F64(items)) => items.iter().all(|item| item.is_finite()),
        _ => true,
    }
}

/// Whether the float is an integer in the range of `i64`.
fn whole(float: f64) -> bool {
    float.fract() == 0.0 && (-(2_f64.powi(63))..2_f64.powi(63)).contains(&float)
}

/// Parses 32 hexadecimal digits. Dashes are ignored wherever they are.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let mut digits = text.bytes().filter(|&byte| byte != b'-');
    let mut uuid = [0; 16];
    for byte in &mut uuid {
        let high = char::from(digits.next()?).to_digit(16)?;
        let low = char::from(digits.next()?).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    digits.next().is_none().then_some(uuid)
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("Any"),
            Self::Bool => f.write_str("Bool"),
            Self::Int => f.write_str("Int"),
            Self::Id => f.write_str("Id"),
            Self::Float => f.write_str("Float"),
            Self::String => f.write_str("String"),
            Self::Bytes => f.write_str("Bytes"),
            Self::Uuid => f.write_str("Uuid"),
            Self::Json => f.write_str("Json"),
            Self::Validity => f.write_str("Validity"),
            Self::Date => f.write_str("Date"),
            Self::Timestamp => f.write_str("Timestamp"),
            Self::Duration => f.write_str("Duration"),
            Self::Decimal => f.write_str("Decimal"),
            Self::List(item, None) => write!(f, "[{item}]"),
            Self::List(item, Some(len)) => write!(f, "[{item}; {len}]"),
            Self::Tuple(types) => {
                f.write_str("(")?;
                for (i, item) in types.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Self::Vector(VectorKind::F32, len) => write!(f, "<F32; {len}>"),
            Self::Vector(VectorKind::F64, len) => write!(f, "<F64; {len}>"),
            Self::Nullable(inner) => write!(f, "{inner}?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &Type, given: Value, want: Result<Value, &str>) {
        let found = wanted.coerce(given).map_err(|error| error.to_string());
        assert_eq!(found, want.map_err(str::to_owned));
    }

    /// Found by an audit: other engines of the language take these.
    #[test]
    fn text_becomes_bytes_and_vectors_and_any_value_json() {
        let text = |text: &str| Value::Str(text.to_owned());
        check(&Type::Bytes, text("AAEC"), Ok(Value::Bytes(vec![0, 1, 2])));
        check(&Type::Bytes, text(""), Ok(Value::Bytes(Vec::new())));
        check(&Type::Bytes, text("AAE"), Err("expected Bytes, found a String (\"AAE\")"));
        let pair = |kind| Type::Vector(kind, 2);
        let floats = Vector::F32(vec![1.0, 2.0]);
        check(&pair(VectorKind::F32), text("AACAPwAAAEA="), Ok(Value::Vector(floats.clone())));
        let longer = Vector::F64(vec![1.0, 2.0]);
        check(&pair(VectorKind::F64), text("AAAAAAAA8D8AAAAAAAAAQA=="), Ok(Value::Vector(longer)));
        for wrong in ["AACAPw==", "AACAPwAAAEAA", "two"] {
            let want = format!("expected <F32; 2>, found a String (\"{wrong}\")");
            check(&pair(VectorKind::F32), text(wrong), Err(&want));
        }
        let json = |value: Value| Type::Json.coerce(value).map(|json| json.to_string());
        let uuid = Type::Uuid.coerce(text("00112233-4455-6677-8899-aabbccddeeff")).unwrap();
        let plain = |text: &str| Ok(Value::Json(Json::parse(text).unwrap()).to_string());
        assert_eq!(json(uuid), plain("\"00112233-4455-6677-8899-aabbccddeeff\""));
        assert_eq!(json(Value::Bytes(vec![0, 1, 2])), plain("\"AAEC\""));
        assert_eq!(json(Value::Vector(floats.clone())), plain("[1.0,2.0]"));
        assert_eq!(json(Value::List(vec![Value::Vector(floats)])), plain("[[1.0,2.0]]"));
        let validity = Value::Validity(crate::Validity { timestamp_us: 5, assert: true });
        assert_eq!(json(validity), plain("[5,true]"));
        let deep = (0..200).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        assert!(json(deep).is_err());
        assert!(json(Value::List(vec![Value::Float(f64::INFINITY)])).is_err());
    }

    #[test]
    fn a_value_is_coerced_only_where_it_says_the_same() {
        check(&Type::Float, Value::Int(2), Ok(Value::Float(2.0)));
        check(&Type::Int, Value::Float(2.0), Ok(Value::Int(2)));
        check(&Type::Int, Value::Float(2.5), Err("expected Int, found a Float (2.5)"));
        check(
            &Type::Int,
            Value::Float(2_f64.powi(63)),
            Err("expected Int, found a Float (9.223372036854776e18)"),
        );
        check(&Type::Id, Value::Int(-1), Err("expected Id, found an Int (-1)"));
        check(&Type::Id, Value::Id(u64::MAX), Ok(Value::Id(u64::MAX)));
        check(&Type::Int, Value::Null, Err("expected Int, found null"));
        check(&Type::Nullable(Box::new(Type::Int)), Value::Null, Ok(Value::Null));
        let vector = Type::Vector(VectorKind::F32, 2);
        let list = Value::List(vec![Value::Int(1), Value::Float(0.5)]);
        check(&vector, list.clone(), Ok(Value::Vector(Vector::F32(vec![1.0, 0.5]))));
        check(
            &Type::Vector(VectorKind::F32, 3),
            list,
            Err("expected <F32; 3>, found a list ([1, 0.5])"),
        );
        let uuid = "00112233-4455-6677-8899-aabbccddeeff";
        let found = Type::Uuid.coerce(Value::Str(uuid.to_owned())).unwrap();
        assert_eq!(found.to_string(), uuid);
        let bytes = Type::Bytes.coerce(found.clone()).unwrap();
        assert_eq!(Type::Uuid.coerce(bytes), Ok(found.clone()));
        check(&Type::String, found, Ok(Value::Str(uuid.to_owned())));
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
        check(&Type::Decimal, Value::Str("1.10".to_owned()), Ok(decimal("1.1")));
        check(&Type::Decimal, Value::Int(-3), Ok(decimal("-3")));
        check(&Type::Decimal, Value::Id(u64::MAX), Ok(decimal("18446744073709551615")));
        check(&Type::Decimal, Value::Float(0.1), Ok(decimal("0.1")));
        let wanted = "expected Decimal, found a Float";
        check(&Type::Decimal, Value::Float(f64::NAN), Err(&format!("{wanted} (NaN)")));
        check(&Type::Decimal, Value::Float(1e-300), Err(&format!("{wanted} (1e-300)")));
        check(&Type::Int, decimal("7.00"), Ok(Value::Int(7)));
        check(&Type::Id, decimal("18446744073709551615"), Ok(Value::Id(u64::MAX)));
        check(&Type::Int, decimal("7.5"), Err("expected Int, found a Decimal (7.5)"));
        check(&Type::Id, decimal("-1"), Err("expected Id, found a Decimal (-1)"));
        check(&Type::Float, decimal("0.1"), Ok(Value::Float(0.1)));
        check(&Type::String, decimal("-0.5"), Ok(Value::Str("-0.5".to_owned())));
        let short = Value::Bytes(vec![7; 3]);
        check(&Type::Uuid, short, Err("expected Uuid, found Bytes (0x070707)"));
    }
}
