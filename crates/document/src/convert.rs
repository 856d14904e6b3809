//! Values of fields as values of typed columns.

use crate::error::DocumentError;
use serde_json::{Number, Value};
use std::fmt;
use std::str::FromStr;

/// Type of a gathered column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// `true` or `false`.
    Bool,
    /// A signed integer of 8, 16, 32 or 64 bits.
    Int(u8),
    /// An unsigned integer of 8, 16, 32 or 64 bits.
    UInt(u8),
    /// A float of 32 or 64 bits.
    Float(u8),
    /// A string.
    String,
    /// Any value, as JSON text.
    Json,
}

/// A value of a gathered column.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// Of [`FieldType::Bool`].
    Bool(bool),
    /// Of [`FieldType::Int`] and [`FieldType::UInt`], in their range.
    Int(i128),
    /// Of [`FieldType::Float`], representable in its bits.
    Float(f64),
    /// Of [`FieldType::String`] and [`FieldType::Json`].
    String(String),
}

/// The value of a field in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Converted {
    /// The value of the field.
    Same(Scalar),
    /// The value after a conversion from another type, or rounded.
    Changed(Scalar),
    /// The value cannot be converted to the type of the column.
    Collided,
    /// The field is missing or null.
    Missing,
}

impl FromStr for FieldType {
    type Err = DocumentError;

    fn from_str(name: &str) -> Result<Self, DocumentError> {
        Ok(match name {
            "bool" => Self::Bool,
            "int8" => Self::Int(8),
            "int16" => Self::Int(16),
            "int32" => Self::Int(32),
            "int64" | "int" => Self::Int(64),
            "uint8" => Self::UInt(8),
            "uint16" => Self::UInt(16),
            "uint32" => Self::UInt(32),
            "uint64" => Self::UInt(64),
            "float32" => Self::Float(32),
            "float64" | "float" => Self::Float(64),
            "str" => Self::String,
            "json" => Self::Json,
            other => {
                let known = "bool, int8 to int64, uint8 to uint64, float32, float64, str and json";
                let what = format!("unknown type of a column: {other:?}\nhint: types are {known}");
                return Err(DocumentError::new(what));
            }
        })
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int(bits) => write!(f, "int{bits}"),
            Self::UInt(bits) => write!(f, "uint{bits}"),
            Self::Float(bits) => write!(f, "float{bits}"),
            Self::String => f.write_str("str"),
            Self::Json => f.write_str("json"),
        }
    }
}

/// Converts the value of a field to the type of a column.
///
/// Integers and floats of the same value are [`Converted::Same`], such as `27` and `27.0`. A number
/// that is rounded to a float is [`Converted::Changed`]. Strings that spell a number, `true` or
/// `false` are converted to it, numbers and booleans to strings, and booleans from and to 0 and 1.
#[must_use]
pub fn convert(value: Option<&Value>, of: FieldType) -> Converted {
    let value = match value {
        None | Some(Value::Null) => return Converted::Missing,
        Some(value) => value,
    };
    match of {
        FieldType::Json => Converted::Same(Scalar::String(value.to_string())),
        FieldType::String => match value {
            Value::String(text) => Converted::Same(Scalar::String(text.clone())),
            Value::Number(_) | Value::Bool(_) => {
                Converted::Changed(Scalar::String(value.to_string()))
            }
            _ => Converted::Collided,
        },
        FieldType::Bool => to_bool(value),
        FieldType::Int(bits) => {
            let half = 1_i128 << (bits - 1);
            to_int(value, -half, half - 1)
        }
        FieldType::UInt(bits) => to_int(value, 0, (1_i128 << bits) - 1),
        FieldType::Float(bits) => to_float(value, bits),
    }
}

fn changed<T>(value: Option<T>, scalar: impl FnOnce(T) -> Scalar) -> Converted {
    value.map_or(Converted::Collided, |value| Converted::Changed(scalar(value)))
}

fn to_bool(value: &Value) -> Converted {
    match value {
        Value::Bool(bool) => Converted::Same(Scalar::Bool(*bool)),
        Value::String(text) => changed(text.parse().ok(), Scalar::Bool),
        Value::Number(number) => {
            let is_one = int_of(number).filter(|int| (0..=1).contains(int)).map(|int| int == 1);
            changed(is_one, Scalar::Bool)
        }
        _ => Converted::Collided,
    }
}

fn to_int(value: &Value, least: i128, most: i128) -> Converted {
    let in_range = |int: Option<i128>| int.filter(|int| (least..=most).contains(int));
    match value {
        Value::Number(number) => match in_range(int_of(number)) {
            Some(int) => Converted::Same(Scalar::Int(int)),
            None => Converted::Collided,
        },
        Value::Bool(bool) => changed(in_range(Some(i128::from(*bool))), Scalar::Int),
        Value::String(text) => changed(in_range(text.trim().parse().ok()), Scalar::Int),
        _ => Converted::Collided,
    }
}

/// A number as an integer, if it is one.
pub(crate) fn int_of(number: &Number) -> Option<i128> {
    let int = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    int.or_else(|| {
        let float = number.as_f64()?;
        // 2⁶⁴ and more fits no column.
        (float.trunc() == float && float.abs() < 18_446_744_073_709_551_616.0)
            .then_some(float as i128)
    })
}

fn to_float(value: &Value, bits: u8) -> Converted {
    let rounded = |float: f64| match bits {
        32 => Some(f64::from(float as f32)).filter(|float| float.is_finite()),
        _ => Some(float),
    };
    match value {
        Value::Number(number) => {
            let Some(exact) = number.as_f64() else { return Converted::Collided };
            let Some(float) = rounded(exact) else { return Converted::Collided };
            let is_same = match (number.is_f64(), int_of(number)) {
                (true, _) | (_, None) => float == exact,
                (false, Some(int)) => float as i128 == int,
            };
            match is_same {
                true => Converted::Same(Scalar::Float(float)),
                false => Converted::Changed(Scalar::Float(float)),
            }
        }
        Value::Bool(bool) => Converted::Changed(Scalar::Float(f64::from(u8::from(*bool)))),
        Value::String(text) => {
            let float = text.trim().parse().ok().filter(|float: &f64| float.is_finite());
            changed(float.and_then(rounded), Scalar::Float)
        }
        _ => Converted::Collided,
    }
}
