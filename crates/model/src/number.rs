//! Sort keys of numbers: integers, floats and decimals in one order.
//!
//! # The key of a number
//! A key is a float image (8 bytes) and a rest (2 bytes).
//!
//! - A float has its own image and the rest 1.
//! - An integer has the image of the largest float that is not above it. Its rest is 0 if the two
//!   are equal, otherwise their distance plus 1. Adjacent floats below 2^64 are at most 2048 apart,
//!   so the distance fits. The integer zero takes the image of -0.0, the smaller of the two zeros.
//! - A decimal has the image of the largest float that is not above it, and the largest rest. Its
//!   digits follow, because decimals between two floats have the same key.
//!
//! At equal values the integer comes first, then the float, then the decimal. Below 2^53 no integer
//! lies between two floats, so all numbers are in the order of their values. Above, a decimal comes
//! after the integers that share its float. Conditions compare the values instead.

use crate::decimal::Decimal;
use base::shape::{float_to_word, word_to_float};

/// The rest in the key of a float.
const FLOAT: u16 = 1;

/// The rest in the key of a decimal. Integers have rests up to 2049.
pub(crate) const DECIMAL: u16 = u16::MAX;

/// The key of a float.
pub(crate) fn float_key(float: f64) -> (u64, u16) {
    (float_to_word(float), FLOAT)
}

/// The key of an integer from `i64::MIN` to `u64::MAX`.
pub(crate) fn int_key(int: i128) -> (u64, u16) {
    if int == 0 {
        return (float_to_word(-0.0), 0);
    }
    let mut below = int as f64;
    if below as i128 > int {
        below = below.next_down();
    }
    let distance = (int - below as i128) as u16;
    (float_to_word(below), if distance == 0 { 0 } else { distance + 1 })
}

/// The key of a decimal, without its digits.
pub(crate) fn decimal_key(decimal: Decimal) -> (u64, u16) {
    let mut below = decimal.to_float();
    if decimal.compare_to_float(below).is_lt() {
        below = below.next_down();
    }
    (float_to_word(below), DECIMAL)
}

/// A number decoded from its key.
pub(crate) enum Number {
    Float(f64),
    Int(i128),
}

/// The integer or float with this key; `None` if none has it.
pub(crate) fn from_key(image: u64, rest: u16) -> Option<Number> {
    let float = word_to_float(image);
    if rest == FLOAT {
        return Some(Number::Float(float));
    }
    if !float.is_finite() || float.fract() != 0.0 || float.abs() > 2e19 {
        return None;
    }
    let int = float as i128 + i128::from(rest.saturating_sub(1));
    let fits = (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&int);
    (fits && int_key(int) == (image, rest)).then_some(Number::Int(int))
}
