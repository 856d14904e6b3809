//! Encodings of values in keys: of one value, and bounds of the values that a condition accepts.

use crate::value::cell::{Cell, Interner};
use base::{KeyRange, KeyRef};
use model::{Type, Value, encode_value};

/// Appends the encoding of a key, or of a key prefix.
pub(super) fn encode_cells(
    cells: impl Iterator<Item = Cell>,
    interner: &Interner,
    out: &mut Vec<u8>,
) {
    cells.for_each(|cell| interner.with(cell, |value| encode_value(value, out)));
}

/// The word in which a column of this type stores a cell's value; `None` where it cannot have that
/// value.
#[inline]
pub(super) fn word_of(of: &Type, cell: Cell, interner: &Interner) -> Option<u64> {
    match (of, cell.as_small_int()) {
        (Type::Int, Some(int)) => Some(base::int_to_word(int)),
        (Type::Id, Some(int)) => u64::try_from(int).ok(),
        _ => interner.with(cell, |value| model::word_of_value(of, value)),
    }
}

/// The range of a string's key, where keys are raw strings.
pub(super) fn raw_key(value: &Value) -> Option<KeyRange> {
    let Value::Str(text) = value else { return None };
    Some(KeyRange::of_key(KeyRef::Bytes(text.as_bytes())))
}

/// The number that a value is, rounded to a float.
pub(super) fn number(value: &Value) -> Option<f64> {
    match *value {
        Value::Int(int) => Some(int as f64),
        Value::Id(id) => Some(id as f64),
        Value::Float(float) if !float.is_nan() => Some(float),
        Value::Decimal(decimal) => Some(decimal.to_float()),
        _ => None,
    }
}

/// A bound such that no accepted value of this type is beyond its word.
pub(crate) fn bound_word(of: &Type, value: &Value, up: bool) -> Option<u64> {
    match (of, value) {
        (Type::Int | Type::Id | Type::Bool, Value::Int(_) | Value::Id(_) | Value::Bool(_)) => {
            match (of, value) {
                (Type::Id, Value::Int(int)) if *int < 0 => Some(0),
                _ => model::word_of_value(of, value),
            }
        }
        (Type::Int | Type::Id, Value::Float(float)) if !float.is_nan() => {
            let whole = if up { float.ceil() } else { float.floor() };
            let word = match of {
                Type::Int => base::int_to_word(whole as i64),
                _ => whole as u64,
            };
            Some(word)
        }
        (Type::Date | Type::Timestamp | Type::Duration, _) => model::word_of_value(of, value),
        (Type::Float, _) => {
            let float = number(value)?;
            // Integers above 2^53 and decimals are rounded; the neighboring floats are on the safe
            // side, also for both zeros.
            let float = if up { float.next_up() } else { float.next_down() };
            Some(base::float_to_word(float))
        }
        _ => None,
    }
}

/// The least string after all that start with `text`.
pub(super) fn text_after(text: &str) -> Option<String> {
    let mut chars: Vec<char> = text.chars().collect();
    while let Some(last) = chars.pop() {
        let next = match u32::from(last) + 1 {
            0xD800 => Some('\u{E000}'),
            code => char::from_u32(code),
        };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}
