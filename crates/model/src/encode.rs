//! Values encoded as byte strings that keep their order. They are stored as keys and values of
//! relations, so the encoding is fixed.
//!
//! ```text
//! value    := tag:u8 body
//! 1 null     2 false     3 true
//! 4 number   image:u64be rest:u16be          see `number.rs`; a decimal goes on with its digits,
//!                                            see `encode/decimal.rs`
//! 5 string   escaped     6 bytes   escaped     10 json  escaped
//! 7 uuid     16 bytes
//! 8 list     value* 0
//! 9 vector   width:u8 (1 F32, 2 F64)  (1 image:u32be|u64be)*  0
//! 11 validity  word:u64be (time, negated)  retract:u8
//! 12 date  word:u32be     13 timestamp  word:u64be     14 duration  word:u64be
//! escaped  := bytes with 0 written as 0 255, then 0 0
//! tuple    := value*
//! ```
//! Tags start at 1, so the end of a list (0) sorts before any item. An *image* is a float as an
//! unsigned integer of the same order.

mod decimal;
mod list_item;

pub use list_item::{ListItem, decode_list_item};

use crate::number::{self, Number, from_key};
use crate::value::{Json, Validity, Value, Vector};
use base::shape::{float_to_word, int_to_word, word_to_float, word_to_int};
use std::fmt;

const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const NUMBER: u8 = 4;
const STRING: u8 = 5;
const BYTES: u8 = 6;
const UUID: u8 = 7;
const LIST: u8 = 8;
const VECTOR: u8 = 9;
const JSON: u8 = 10;
const VALIDITY: u8 = 11;
const DATE: u8 = 12;
const TIMESTAMP: u8 = 13;
const DURATION: u8 = 14;

/// Maximum nesting of lists that decoding accepts. Encoding has no limit.
const DEPTH_MAX: usize = 128;

/// The error of bytes that do not encode a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Number of bytes between the position of the error and the end of the input.
    pub rest: usize,
    /// Description of the error.
    pub what: &'static str,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an encoded value is wrong {} bytes before its end: {}", self.rest, self.what)
    }
}

impl std::error::Error for DecodeError {}

/// Appends the encoding of a value.
pub fn encode_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Int(_) | Value::Id(_) | Value::Float(_) | Value::Decimal(_) => {
            out.push(NUMBER);
            let (image, rest) = value.number_key().unwrap_or_default();
            out.extend_from_slice(&image.to_be_bytes());
            out.extend_from_slice(&rest.to_be_bytes());
            if let Value::Decimal(value) = value {
                decimal::encode(*value, out);
            }
        }
        Value::Str(text) => escape(STRING, text.as_bytes(), out),
        Value::Bytes(bytes) => escape(BYTES, bytes, out),
        Value::Json(json) => escape(JSON, json.as_str().as_bytes(), out),
        Value::Uuid(bytes) => {
            out.push(UUID);
            out.extend_from_slice(bytes);
        }
        Value::List(items) => {
            out.push(LIST);
            items.iter().for_each(|item| encode_value(item, out));
            out.push(0);
        }
        Value::Vector(vector) => encode_vector(vector, out),
        Value::Validity(validity) => {
            out.push(VALIDITY);
            out.extend_from_slice(&(!int_to_word(validity.timestamp_us)).to_be_bytes());
            out.push(u8::from(!validity.assert));
        }
        Value::Date(days) => {
            out.push(DATE);
            out.extend_from_slice(&(days.cast_unsigned() ^ 1 << 31).to_be_bytes());
        }
        Value::Timestamp(us) => {
            out.push(TIMESTAMP);
            out.extend_from_slice(&int_to_word(*us).to_be_bytes());
        }
        Value::Duration(us) => {
            out.push(DURATION);
            out.extend_from_slice(&int_to_word(*us).to_be_bytes());
        }
    }
}

/// Appends the encodings of several values, as in a key of several columns.
pub fn encode_tuple(values: &[Value], out: &mut Vec<u8>) {
    values.iter().for_each(|value| encode_value(value, out));
}

/// Decodes one value and advances `bytes` past it.
///
/// # Errors
/// [`DecodeError`] if `bytes` does not start with a value.
pub fn decode_value(bytes: &mut &[u8]) -> Result<Value, DecodeError> {
    decode(bytes, 0)
}

/// Decodes values until the bytes end.
///
/// # Errors
/// [`DecodeError`] if the bytes are not a sequence of complete values.
pub fn decode_tuple(mut bytes: &[u8]) -> Result<Vec<Value>, DecodeError> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        values.push(decode_value(&mut bytes)?);
    }
    Ok(values)
}

/// Encodes a string as [`encode_value`] does for [`Value::Str`], without a [`Value`].
pub fn encode_str(text: &str, out: &mut Vec<u8>) {
    escape(STRING, text.as_bytes(), out);
}

/// Decodes a single string from [`encode_str`].
///
/// # Errors
/// [`DecodeError`] if `bytes` is anything else.
pub fn decode_str(mut bytes: &[u8]) -> Result<String, DecodeError> {
    match take::<1>(&mut bytes)?[0] {
        STRING => {
            let text = text(&mut bytes)?;
            if bytes.is_empty() { Ok(text) } else { Err(wrong(bytes, "more than a text")) }
        }
        _ => Err(wrong(bytes, "not a text")),
    }
}

/// A value of an encoded tuple, borrowed from it if possible.
#[derive(Clone, Debug, PartialEq)]
pub enum BorrowedValue<'b> {
    /// A string without escaped zeros, borrowed from the encoded bytes.
    Str(&'b str),
    /// Any other value, decoded.
    Value(Value),
}

/// Decodes the first value of an encoded tuple and advances `bytes`. Most strings are not copied.
///
/// # Errors
/// [`DecodeError`] if `bytes` does not start with a value.
pub fn decode_next<'b>(bytes: &mut &'b [u8]) -> Result<BorrowedValue<'b>, DecodeError> {
    if bytes.first() == Some(&STRING) {
        let mut rest = &bytes[1..];
        let text = before_zero(&mut rest)?;
        if let [0, 0, ..] = *rest {
            *bytes = &rest[2..];
            let text = std::str::from_utf8(text);
            return text.map(BorrowedValue::Str).map_err(|_| wrong(bytes, "a string is not UTF-8"));
        }
    }
    decode(bytes, 0).map(BorrowedValue::Value)
}

fn escape(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    // Fast for strings without a zero byte, which are the most common.
    for (i, piece) in bytes.split(|&byte| byte == 0).enumerate() {
        if i > 0 {
            out.extend_from_slice(&[0, 0xff]);
        }
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(&[0, 0]);
}

fn encode_vector(vector: &Vector, out: &mut Vec<u8>) {
    out.push(VECTOR);
    match vector {
        Vector::F32(items) => {
            out.push(1);
            for item in items {
                out.push(1);
                out.extend_from_slice(&f32_image(*item).to_be_bytes());
            }
        }
        Vector::F64(items) => {
            out.push(2);
            for item in items {
                out.push(1);
                out.extend_from_slice(&float_to_word(*item).to_be_bytes());
            }
        }
    }
    out.push(0);
}

/// The image of a 32-bit float, as [`float_to_word`] is for 64 bits.
fn f32_image(float: f32) -> u32 {
    let bits = float.to_bits();
    bits ^ (((bits.cast_signed() >> 31).cast_unsigned()) | (1 << 31))
}

fn image_f32(image: u32) -> f32 {
    let mask = (!image).cast_signed() >> 31;
    f32::from_bits(image ^ (mask.cast_unsigned() | (1 << 31)))
}

fn decode(bytes: &mut &[u8], depth: usize) -> Result<Value, DecodeError> {
    if depth > DEPTH_MAX {
        return Err(wrong(bytes, "lists nest too deep"));
    }
    match take::<1>(bytes)?[0] {
        NULL => Ok(Value::Null),
        FALSE => Ok(Value::Bool(false)),
        TRUE => Ok(Value::Bool(true)),
        NUMBER => {
            let image = u64::from_be_bytes(take(bytes)?);
            let rest = u16::from_be_bytes(take(bytes)?);
            if rest == number::DECIMAL {
                let value = decimal::decode(bytes)?;
                return match number::decimal_key(value) == (image, rest) {
                    true => Ok(Value::Decimal(value)),
                    false => Err(wrong(bytes, "a decimal after a float that is not its own")),
                };
            }
            match from_key(image, rest) {
                Some(Number::Float(float)) => Ok(Value::Float(float)),
                Some(Number::Int(int)) => i64::try_from(int)
                    .map(Value::Int)
                    .or_else(|_| u64::try_from(int).map(Value::Id))
                    .map_err(|_| wrong(bytes, "an integer is out of range")),
                None => Err(wrong(bytes, "a number that is none")),
            }
        }
        STRING => Ok(Value::Str(text(bytes)?)),
        BYTES => Ok(Value::Bytes(unescape(bytes)?)),
        UUID => Ok(Value::Uuid(take(bytes)?)),
        LIST => {
            let mut items = Vec::new();
            while bytes.first() != Some(&0) {
                items.push(decode(bytes, depth + 1)?);
            }
            *bytes = &bytes[1..];
            Ok(Value::List(items))
        }
        VECTOR => decode_vector(bytes),
        JSON => Ok(Value::Json(Json::from_canonical(text(bytes)?))),
        VALIDITY => {
            let timestamp_us = word_to_int(!u64::from_be_bytes(take(bytes)?));
            match take::<1>(bytes)?[0] {
                retract @ (0 | 1) => {
                    Ok(Value::Validity(Validity { timestamp_us, assert: retract == 0 }))
                }
                _ => Err(wrong(bytes, "a flag is neither 0 nor 1")),
            }
        }
        DATE => Ok(Value::Date((u32::from_be_bytes(take(bytes)?) ^ 1 << 31).cast_signed())),
        TIMESTAMP => Ok(Value::Timestamp(word_to_int(u64::from_be_bytes(take(bytes)?)))),
        DURATION => Ok(Value::Duration(word_to_int(u64::from_be_bytes(take(bytes)?)))),
        _ => Err(wrong(bytes, "an unknown tag")),
    }
}

fn decode_vector(bytes: &mut &[u8]) -> Result<Value, DecodeError> {
    let mut vector = match take::<1>(bytes)?[0] {
        1 => Vector::F32(Vec::new()),
        2 => Vector::F64(Vec::new()),
        _ => return Err(wrong(bytes, "an unknown width of a vector")),
    };
    loop {
        match (take::<1>(bytes)?[0], &mut vector) {
            (0, _) => return Ok(Value::Vector(vector)),
            (1, Vector::F32(items)) => items.push(image_f32(u32::from_be_bytes(take(bytes)?))),
            (1, Vector::F64(items)) => items.push(word_to_float(u64::from_be_bytes(take(bytes)?))),
            _ => return Err(wrong(bytes, "a vector goes on with neither 0 nor 1")),
        }
    }
}

fn text(bytes: &mut &[u8]) -> Result<String, DecodeError> {
    String::from_utf8(unescape(bytes)?).map_err(|_| wrong(bytes, "a string is not UTF-8"))
}

fn unescape(bytes: &mut &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    loop {
        out.extend_from_slice(before_zero(bytes)?);
        match **bytes {
            [0, 0, ..] => {
                *bytes = &bytes[2..];
                return Ok(out);
            }
            [0, 0xff, ..] => {
                out.push(0);
                *bytes = &bytes[2..];
            }
            _ => return Err(wrong(bytes, "a zero is not escaped")),
        }
    }
}

/// Takes the bytes before the first zero.
fn before_zero<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], DecodeError> {
    match bytes.iter().position(|&byte| byte == 0) {
        Some(zero) => {
            let (before, rest) = bytes.split_at(zero);
            *bytes = rest;
            Ok(before)
        }
        None => Err(wrong(bytes, "a string does not end")),
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], DecodeError> {
    let (head, tail) = bytes.split_first_chunk().ok_or_else(|| wrong(bytes, "it ends early"))?;
    *bytes = tail;
    Ok(*head)
}

fn wrong(bytes: &[u8], what: &'static str) -> DecodeError {
    DecodeError { rest: bytes.len(), what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Decimal;
    use crate::decimal::tests::decimal;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn number() -> impl Strategy<Value = Value> {
        // Around powers of two, where floats begin to skip integers.
        let near = (0..64_u32, -3..4_i64, any::<bool>()).prop_map(|(shift, off, minus)| {
            let int = (1_u64 << shift).wrapping_add_signed(off);
            if minus { Value::Int((int as i64).wrapping_neg()) } else { Value::id(int) }
        });
        prop_oneof![
            any::<i64>().prop_map(Value::Int),
            any::<u64>().prop_map(Value::id),
            (-4..4_i64).prop_map(Value::Int),
            (-8..8_i32).prop_map(|half| Value::Float(f64::from(half) / 2.0)),
            any::<f64>().prop_map(Value::Float),
            any::<u64>().prop_map(|bits| Value::Float(f64::from_bits(bits))),
            near.clone(),
            near.prop_map(|value| match value {
                Value::Int(int) => Value::Float(int as f64),
                Value::Id(id) => Value::Float(id as f64),
                other => other,
            }),
            Just(Value::Float(-0.0)),
            decimal().prop_map(Value::Decimal),
            decimal().prop_map(|value| Value::Float(value.to_float())),
            decimal().prop_map(|value| match i64::try_from(value.trunc()) {
                Ok(int) => Value::Int(int),
                Err(_) => Value::Decimal(value),
            }),
        ]
    }

    pub(super) fn value() -> impl Strategy<Value = Value> {
        let bytes =
            || proptest::collection::vec(prop_oneof![Just(0), Just(255), any::<u8>()], 0..6);
        let text =
            proptest::collection::vec(prop_oneof![Just('\0'), Just('a'), any::<char>()], 0..5);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            number(),
            number(),
            text.prop_map(|chars| Value::Str(chars.into_iter().collect())),
            bytes().prop_map(Value::Bytes),
            any::<[u8; 16]>().prop_map(Value::Uuid),
            any::<i32>().prop_map(Value::Date),
            any::<i64>().prop_map(Value::Timestamp),
            any::<i64>().prop_map(Value::Duration),
            proptest::collection::vec(any::<f32>(), 0..4)
                .prop_map(|v| Value::Vector(Vector::F32(v))),
            proptest::collection::vec(any::<f64>(), 0..4)
                .prop_map(|v| Value::Vector(Vector::F64(v))),
            any::<i32>().prop_map(|n| Value::Json(
                Json::parse(&format!("{{\"b\": {n}, \"a\": []}}")).unwrap()
            )),
            (any::<i64>(), any::<bool>()).prop_map(|(timestamp_us, assert)| Value::Validity(
                Validity { timestamp_us, assert }
            )),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            proptest::collection::vec(inner, 0..4).prop_map(Value::List)
        })
    }

    fn encoded(values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_tuple(values, &mut out);
        out
    }

    /// Compares numbers without their keys: by exact value, then the integer first and the decimal
    /// last. `None` where a decimal is beside an integer above 2^53, or a float is NaN.
    fn plain(a: &Value, b: &Value) -> Option<Ordering> {
        let int = |value: &Value| match *value {
            Value::Int(int) => Some(i128::from(int)),
            Value::Id(id) => Some(i128::from(id)),
            _ => None,
        };
        /// Integers up to here are floats, too.
        const EXACT_MAX: u128 = 1 << 53;
        match (a, b) {
            (Value::Decimal(a), Value::Decimal(b)) => return Some(a.cmp(b)),
            (Value::Decimal(a), &Value::Float(b)) if !b.is_nan() => {
                return Some(a.compare_to_float(b).then(Ordering::Greater));
            }
            (Value::Decimal(a), _) => {
                let int = int(b).filter(|int| int.unsigned_abs() <= EXACT_MAX)?;
                return Some(a.cmp(&Decimal::of_int(int)?).then(Ordering::Greater));
            }
            (_, Value::Decimal(_)) => return plain(b, a).map(Ordering::reverse),
            _ => {}
        }
        match (int(a), int(b), a, b) {
            (Some(a), Some(b), ..) => Some(a.cmp(&b)),
            (None, None, Value::Float(a), Value::Float(b)) => Some(a.total_cmp(b)),
            (Some(a), None, _, Value::Float(b)) if !b.is_nan() => Some(against(a, *b)),
            (None, Some(b), Value::Float(a), _) if !a.is_nan() => Some(against(b, *a).reverse()),
            _ => None,
        }
    }

    fn against(int: i128, float: f64) -> Ordering {
        if float.abs() > 1e30 {
            return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
        }
        let whole = float.floor() as i128;
        int.cmp(&whole).then(Ordering::Less)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn encoded_values_compare_as_values_do(a in value(), b in value()) {
            prop_assert_eq!(a.cmp(&b), encoded(std::slice::from_ref(&a)).cmp(&encoded(std::slice::from_ref(&b))));
        }

        #[test]
        fn encoded_tuples_compare_as_tuples_do(
            a in proptest::collection::vec(value(), 0..3),
            b in proptest::collection::vec(value(), 0..3),
        ) {
            prop_assert_eq!(a.cmp(&b), encoded(&a).cmp(&encoded(&b)));
        }

        #[test]
        fn numbers_compare_exactly_and_integers_come_first(a in number(), b in number()) {
            if let Some(want) = plain(&a, &b) {
                prop_assert_eq!(a.cmp(&b), want);
            }
            prop_assert_eq!(a.cmp(&b), encoded(std::slice::from_ref(&a)).cmp(&encoded(std::slice::from_ref(&b))));
        }

        #[test]
        fn tuples_come_back(values in proptest::collection::vec(value(), 0..4)) {
            let found = decode_tuple(&encoded(&values)).unwrap();
            prop_assert_eq!(encoded(&found), encoded(&values));
            prop_assert_eq!(&found, &values);
            let (bytes, mut one_by_one) = (encoded(&values), Vec::new());
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                one_by_one.push(match decode_next(&mut rest).unwrap() {
                    BorrowedValue::Str(text) => Value::Str(text.to_owned()),
                    BorrowedValue::Value(value) => value,
                });
            }
            prop_assert_eq!(one_by_one, values);
        }

        #[test]
        fn any_bytes_are_a_value_or_an_error(bytes in proptest::collection::vec(prop_oneof![0..17_u8, 0x7d..0x83_u8], 0..24)) {
            let mut rest = &bytes[..];
            let next = decode_next(&mut rest);
            let mut other = &bytes[..];
            // Both decoders accept the same bytes and stop at the same position.
            prop_assert_eq!(next.is_ok(), decode_value(&mut other).is_ok());
            prop_assert!(next.is_err() || rest == other);
            if let Ok(values) = decode_tuple(&bytes) {
                prop_assert_eq!(decode_tuple(&encoded(&values)).unwrap(), values);
            }
        }
    }

    #[test]
    fn one_and_one_point_zero_are_two_keys_between_their_neighbours() {
        let ascending = [Value::Float(0.9), Value::Int(1), Value::Float(1.0), Value::Float(1.1)];
        assert!(ascending.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn lists_that_nest_too_deep_are_an_error() {
        assert!(decode_tuple(&[LIST; 100_000]).is_err());
    }
}
