//! Integers and floats in one exact order.
//!
//! # The key of a number
//! A float image (8 bytes) and a rest (2 bytes). Of a float: its own image, and 1. Of an integer:
//! the image of the largest float that is not above it, and how far above that it is: 0 if it is
//! equal, else the distance plus 1. Floats are at most 2048 apart below 2^64, so the distance fits.
//! At one value the integer comes first (0 before 1), and what lies between two floats comes
//! between. Zero takes the image of -0.0, the smaller of the two zeros.

use base::shape::{float_to_word, word_to_float};

/// Rest of a float.
const FLOAT: u16 = 1;

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

/// What a key is of.
pub(crate) enum Number {
    Float(f64),
    Int(i128),
}

/// The number of a key; `None` where it is the key of none.
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
