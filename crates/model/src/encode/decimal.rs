//! The digits of decimals as byte strings of their order.
//!
//! ```text
//! decimal  := integer fraction     the largest integer that is not above it, and the difference
//! integer  := 128 + n  byte[n]     0 and above: n bytes, the first not zero
//!           | 127 - n  byte[n]     below: all bits of the n bytes of -1 - integer inverted
//! fraction := (1 + pair)* 0        pairs of decimal digits, 0 to 99, the last pair not 0
//! ```
//! More bytes mean a larger magnitude, which the first byte says. A fraction that ends is smaller
//! than one that goes on, because 0 is below all pairs. `12.5` is `129 12 51 0`.

use super::{DecodeError, take, wrong};
use crate::decimal::Decimal;

/// First byte of the integers 0 and -1.
const ZERO: u8 = 128;
const MINUS_ONE: u8 = 127;
/// The unit of the first pair of a fraction with all digits.
const FIRST_PAIR: u128 = 10_u128.pow(Decimal::SCALE_MAX - 2);

pub(super) fn encode(value: Decimal, out: &mut Vec<u8>) {
    let (floor, mut fraction) = value.floor_and_fraction();
    let is_negative = floor < 0;
    // -1 - floor, for a negative one.
    let magnitude = if is_negative { !floor } else { floor };
    let bytes = magnitude.to_be_bytes();
    let zeros = magnitude.leading_zeros() as usize / 8;
    let count = (bytes.len() - zeros) as u8;
    out.push(if is_negative { MINUS_ONE - count } else { ZERO + count });
    let inverted = if is_negative { 0xff } else { 0 };
    out.extend(bytes[zeros..].iter().map(|byte| byte ^ inverted));
    while fraction > 0 {
        out.push(1 + (fraction / FIRST_PAIR) as u8);
        fraction = fraction % FIRST_PAIR * 100;
    }
    out.push(0);
}

pub(super) fn decode(bytes: &mut &[u8]) -> Result<Decimal, DecodeError> {
    let floor = integer(bytes)?;
    let (mut fraction, mut scale) = (0, 0);
    loop {
        match take::<1>(bytes)?[0] {
            0 => break,
            pair @ 1..=100 if scale < Decimal::SCALE_MAX => {
                (fraction, scale) = (fraction * 100 + u128::from(pair - 1), scale + 2);
            }
            _ => return Err(wrong(bytes, "a fraction has an invalid pair of digits")),
        }
    }
    // A last pair 00 would be a second encoding.
    if scale > 0 && fraction % 100 == 0 {
        return Err(wrong(bytes, "a fraction ends with zeros"));
    }
    let value = Decimal::of_floor_and_fraction(floor, fraction, scale);
    value.ok_or_else(|| wrong(bytes, "a decimal has too many digits"))
}

fn integer(bytes: &mut &[u8]) -> Result<i128, DecodeError> {
    let first = take::<1>(bytes)?[0];
    let is_negative = first < ZERO;
    let count = usize::from(if is_negative { MINUS_ONE - first } else { first - ZERO });
    let mut magnitude = [0; 16];
    let Some((given, rest)) = bytes.split_at_checked(count).filter(|_| count <= 16) else {
        return Err(wrong(bytes, "the integer of a decimal is too long"));
    };
    let inverted = if is_negative { 0xff } else { 0 };
    for (byte, given) in magnitude[16 - count..].iter_mut().zip(given) {
        *byte = given ^ inverted;
    }
    let magnitude = i128::from_be_bytes(magnitude);
    if magnitude < 0 || magnitude.leading_zeros() as usize / 8 != 16 - count {
        return Err(wrong(bytes, "the integer of a decimal has another length"));
    }
    *bytes = rest;
    Ok(if is_negative { !magnitude } else { magnitude })
}

/// Skips a decimal. Its fraction is not checked.
pub(super) fn skip(bytes: &mut &[u8]) -> Result<(), DecodeError> {
    integer(bytes)?;
    while take::<1>(bytes)?[0] != 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[u8]) {
        let value = Decimal::parse(text).unwrap();
        let mut bytes = Vec::new();
        encode(value, &mut bytes);
        assert_eq!(bytes, want, "{text}");
        assert_eq!(decode(&mut &want[..]), Ok(value));
    }

    #[test]
    fn decimals_have_these_bytes() {
        check("0", &[128, 0]);
        check("12.5", &[129, 12, 51, 0]);
        check("12.05", &[129, 12, 6, 0]);
        check("256", &[130, 1, 0, 0]);
        check("-1", &[127, 0]);
        check("-0.01", &[127, 100, 0]);
        check("-12.5", &[126, !12, 51, 0]);
        check("-257", &[125, !1, !0, 0]);
    }

    #[test]
    fn a_second_encoding_of_a_decimal_is_refused() {
        let mut long = vec![128];
        long.extend([2; 20]);
        long.push(0);
        let limit = 10_i128.pow(38).to_be_bytes();
        let above = [&[144][..], &limit, &[0]].concat();
        let wrong: [&[u8]; 10] = [
            &[129, 0, 0],
            &[126, 0xff, 0],
            &[128, 1, 0],
            &[128, 51, 1, 0],
            &[128, 101, 1],
            &[128, 255, 0],
            &[128, 51],
            &[145, 1],
            &long,
            &above,
        ];
        for bytes in wrong {
            assert!(decode(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
    }
}
