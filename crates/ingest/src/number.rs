//! Parses numbers: eight digits at a time where that is fast, one by one otherwise.
//!
//! The fast parsers accept only certainly valid input and return `None` otherwise; the full
//! ones decide and explain. So the fast ones need no error messages.

/// The word of a signed vertex: flipping the sign bit makes unsigned order equal signed order.
#[inline]
pub fn i64_to_word(vertex: i64) -> u64 {
    (vertex as u64) ^ (1 << 63)
}

/// The signed vertex of a word; undoes [`i64_to_word`].
#[inline]
pub fn word_to_i64(word: u64) -> i64 {
    (word ^ (1 << 63)) as i64
}

/// Powers of ten that a float represents exactly: 10^0 to 10^22.
const POWERS_F64: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

const POWERS_U64: [u64; 17] = {
    let mut powers = [1; 17];
    let mut i = 1;
    while i < 17 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// Numbers of up to this many digits are exact as floats: 10^15 < 2^53.
const EXACT_DIGITS_MAX: usize = 15;

/// The value of the digits at the start of eight bytes, and their count.
#[inline(always)]
fn eight(bytes: u64) -> (u64, usize) {
    let x = bytes ^ 0x3030_3030_3030_3030;
    // The top bit of a byte is set when it is not a digit. Such a byte may carry into the next one,
    // which does not matter: only the first one is used.
    let other = (x.wrapping_add(0x7676_7676_7676_7676) | x) & 0x8080_8080_8080_8080;
    let digits = (other.trailing_zeros() / 8) as usize;
    if digits == 0 {
        return (0, 0);
    }
    // Shifts the digits to the top; the zeros that are shifted in act as leading zeros.
    let x = x << (64 - 8 * digits);
    let x = x.wrapping_mul(10).wrapping_add(x >> 8);
    let low = (x & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((x >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    (low.wrapping_add(high) >> 32, digits)
}

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*word))
}

/// One to 19 digits at `at`: their value and where they end. Also `None` near the end of `bytes`,
/// where eight bytes cannot be loaded.
#[inline(always)]
pub(crate) fn fast_digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, digits) = eight(load(bytes, at)?);
    match digits {
        0 => None,
        8 => fast_digits_long(bytes, at + 8, value),
        _ => Some((value, at + digits)),
    }
}

#[inline]
fn fast_digits_long(bytes: &[u8], at: usize, first: u64) -> Option<(u64, usize)> {
    let (value, digits) = eight(load(bytes, at)?);
    let second = first * POWERS_U64[digits] + value;
    if digits < 8 {
        return Some((second, at + digits));
    }
    let (value, digits) = eight(load(bytes, at + 8)?);
    // 19 digits are below 10^19 < 2^64; 20 may exceed it and are left to the full parser.
    if digits > 3 {
        return None;
    }
    Some((second * POWERS_U64[digits] + value, at + 8 + digits))
}

/// A signed integer of up to 18 digits at `at`.
#[inline(always)]
pub(crate) fn fast_i64(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let negative = *bytes.get(at)? == b'-';
    let start = at + usize::from(negative);
    let (value, end) = fast_digits(bytes, start)?;
    if end - start > 18 {
        return None;
    }
    let value = value as i64;
    Some((if negative { -value } else { value }, end))
}

/// A decimal of up to 15 digits at `at`, without an exponent.
///
/// Both the digits and the power of ten are exact floats, so their quotient is the nearest
/// float to the decimal (Clinger's fast path).
#[inline(always)]
pub(crate) fn fast_f64(bytes: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = *bytes.get(at)? == b'-';
    let start = at + usize::from(negative);
    let (whole, mut end) = fast_digits(bytes, start)?;
    let mut digits = end - start;
    let mut value = whole as f64;
    if bytes.get(end) == Some(&b'.') {
        let (part, part_end) = fast_digits(bytes, end + 1)?;
        let part_digits = part_end - end - 1;
        digits += part_digits;
        if digits > EXACT_DIGITS_MAX {
            return None;
        }
        value = (whole * POWERS_U64[part_digits] + part) as f64 / POWERS_F64[part_digits];
        end = part_end;
    }
    if digits > EXACT_DIGITS_MAX {
        return None;
    }
    Some((if negative { -value } else { value }, end))
}

/// Why a number is invalid: the expected form, and advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberError {
    pub(crate) expected: &'static str,
    pub(crate) hint: Option<&'static str>,
}

const UNSIGNED: &str = "an unsigned integer";
const SIGNED: &str = "an integer";
const DECIMAL_ID: &str = "vertices written as decimals usually come from a column with gaps; \
     write them as integers";

/// Parses an unsigned vertex. White space around it, a leading `+` and leading zeros are allowed.
pub(crate) fn parse_u64(text: &[u8]) -> Result<u64, NumberError> {
    let text = text.trim_ascii();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    if let Some(value) = all_digits(digits) {
        return value.ok_or(NumberError {
            expected: "an unsigned integer below 2^64",
            hint: Some("for longer identifiers use text vertices"),
        });
    }
    let negative = text.strip_prefix(b"-").is_some_and(|rest| all_digits(rest).is_some());
    let hint = if negative {
        Some("for negative numbers use signed vertices (i64)")
    } else {
        id_hint(text)
    };
    Err(NumberError { expected: UNSIGNED, hint })
}

/// Parses a signed vertex or weight by the rules of [`parse_u64`].
pub(crate) fn parse_i64(text: &[u8], weight: bool) -> Result<i64, NumberError> {
    let text = text.trim_ascii();
    let negative = text.first() == Some(&b'-');
    let digits = match text.first() {
        Some(b'+' | b'-') => &text[1..],
        _ => text,
    };
    let range = NumberError { expected: "an integer from -2^63 to 2^63 - 1", hint: None };
    match all_digits(digits) {
        Some(Some(value)) if negative => 0_i64.checked_sub_unsigned(value).ok_or(range),
        Some(Some(value)) => i64::try_from(value).map_err(|_| range),
        Some(None) => Err(range),
        None if weight => {
            let float = parse_f64(text).is_ok();
            let hint = float.then_some("for decimal weights use float weights");
            Err(NumberError { expected: SIGNED, hint })
        }
        None => Err(NumberError { expected: SIGNED, hint: id_hint(text) }),
    }
}

/// Parses a finite float, with or without white space around it.
pub(crate) fn parse_f64(text: &[u8]) -> Result<f64, NumberError> {
    let text = text.trim_ascii();
    let wrong = NumberError { expected: "a number", hint: None };
    let finite = NumberError { expected: "a finite number", hint: None };
    // Rejects words that only the standard library accepts as numbers: `inf`, `nan`, `infinity`.
    let named = text.trim_ascii_start().iter().any(|b| b.is_ascii_alphabetic() && *b | 32 != b'e');
    let Some(value) = std::str::from_utf8(text).ok().and_then(|t| t.parse::<f64>().ok()) else {
        return Err(wrong);
    };
    if named || !value.is_finite() {
        return Err(finite);
    }
    Ok(value)
}

/// Parses the weight of an edge: a finite float, an infinity, or `NaN` in this spelling, which
/// writers that can write null use for the value. Other spellings of NaN are those of a missing
/// value, see [`is_null`].
pub(crate) fn parse_weight(text: &[u8], decimal: u8) -> Result<f64, NumberError> {
    let text = text.trim_ascii();
    let finite = match decimal {
        b'.' => parse_f64(text),
        mark => parse_f64(&with_point(text, mark)),
    };
    finite.or_else(|wrong| {
        let (sign, name) = match text.first() {
            Some(b'-') => (-1.0, &text[1..]),
            Some(b'+') => (1.0, &text[1..]),
            _ => (1.0, text),
        };
        match name {
            b"NaN" => Ok(f64::NAN),
            _ if name.eq_ignore_ascii_case(b"inf") => Ok(sign * f64::INFINITY),
            _ if name.eq_ignore_ascii_case(b"infinity") => Ok(sign * f64::INFINITY),
            _ => Err(wrong),
        }
    })
}

/// A float as it is written for the weight of an edge; `None` if it is none.
#[must_use]
pub fn parse_float(text: &str, decimal: u8) -> Option<f64> {
    parse_weight(text.as_bytes(), decimal).ok()
}

/// The number with a point as decimal mark. A point in it makes it invalid.
fn with_point(text: &[u8], mark: u8) -> Vec<u8> {
    let exchange = |&byte: &u8| match byte {
        b'.' => b'x',
        _ if byte == mark => b'.',
        _ => byte,
    };
    text.iter().map(exchange).collect()
}

/// Spellings of a missing value, in lower case. `NaN` in exactly this case is a value.
const NULLS: [&str; 10] = ["", "na", "n/a", "#n/a", "<na>", "null", "none", "nan", "-nan", "\\n"];

/// Whether a field is a spelling of a missing value: nothing, `NA`, `null` and others in any case,
/// or one of `more`.
#[must_use]
pub fn is_null(text: &[u8], more: &[String]) -> bool {
    let text = text.trim_ascii();
    let short = text.len() <= 5 && text != b"NaN";
    (short && NULLS.iter().any(|null| text.eq_ignore_ascii_case(null.as_bytes())))
        || more.iter().any(|null| null.as_bytes() == text)
}

/// `None`: there are other bytes than digits. `Some(None)`: the number exceeds 2^64 - 1.
fn all_digits(text: &[u8]) -> Option<Option<u64>> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut value = Some(0_u64);
    for digit in text {
        value = value.and_then(|v| v.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    }
    Some(value)
}

fn id_hint(text: &[u8]) -> Option<&'static str> {
    if text.is_empty() {
        return None;
    }
    if parse_f64(text).is_ok() {
        return Some(DECIMAL_ID);
    }
    Some("for names use text vertices (str); a first line of column names is a header")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn padded(text: &str) -> Vec<u8> {
        format!("{text},_______").into_bytes()
    }

    proptest! {
        #[test]
        fn fast_digits_equal_the_standard_parser(value: u64, zeros in 0..4_usize, cut in 0..20_u32) {
            let value = value / 10_u64.pow(cut.min(19));
            let text = format!("{}{value}", "0".repeat(zeros));
            let got = fast_digits(&padded(&text), 0);
            if text.len() <= 19 {
                prop_assert_eq!(got, Some((value, text.len())));
            } else {
                prop_assert_eq!(got, None);
            }
            prop_assert_eq!(parse_u64(text.as_bytes()), Ok(value));
        }

        #[test]
        fn fast_floats_equal_the_standard_parser(whole in "-?[0-9]{1,16}", part in "(\\.[0-9]{1,12})?") {
            let text = whole + &part;
            if let Some((value, end)) = fast_f64(&padded(&text), 0) {
                prop_assert_eq!(end, text.len());
                prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
            } else {
                prop_assert!(text.len() > EXACT_DIGITS_MAX);
            }
        }

        #[test]
        fn signed_integers_equal_the_standard_parser(value: i64, cut in 0..19_u32) {
            let value = value / 10_i64.pow(cut.min(18));
            let text = value.to_string();
            prop_assert_eq!(parse_i64(text.as_bytes(), false), Ok(value));
            if let Some(got) = fast_i64(&padded(&text), 0) {
                prop_assert_eq!(got, (value, text.len()));
            } else {
                prop_assert!(text.len() > 18);
            }
        }

        #[test]
        fn words_of_signed_vertices_keep_their_order(a: i64, b: i64) {
            prop_assert_eq!(a.cmp(&b), i64_to_word(a).cmp(&i64_to_word(b)));
            prop_assert_eq!(word_to_i64(i64_to_word(a)), a);
        }

        #[test]
        fn every_byte_that_is_no_digit_ends_the_digits(head in "[0-9]{0,7}", stop: u8, tail: [u8; 8]) {
            prop_assume!(!stop.is_ascii_digit());
            let mut bytes = head.clone().into_bytes();
            bytes.push(stop);
            bytes.extend(tail);
            let want = head.parse().ok().map(|value| (value, head.len()));
            prop_assert_eq!(fast_digits(&bytes, 0), want);
        }
    }

    #[test]
    fn the_largest_vertex_fits_and_the_next_does_not() {
        assert_eq!(parse_u64(b"18446744073709551615"), Ok(u64::MAX));
        assert!(parse_u64(b"18446744073709551616").is_err());
        assert_eq!(parse_i64(b"-9223372036854775808", false), Ok(i64::MIN));
        assert!(parse_i64(b"9223372036854775808", false).is_err());
    }

    #[test]
    fn names_of_floats_that_are_not_numbers_are_rejected() {
        for text in ["nan", "NaN", "inf", "-inf", "infinity", "1e999", "", "e", "1e", "0x10"] {
            assert!(parse_f64(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["1", "+1.5", "-0", ".5", "5.", "1E-3", "1e5", " 2 "] {
            assert!(parse_f64(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_vertex_written_as_a_decimal_gets_its_own_hint() {
        assert_eq!(parse_u64(b"12.0").unwrap_err().hint, Some(DECIMAL_ID));
        assert_eq!(parse_i64(b"12.0", false).unwrap_err().hint, Some(DECIMAL_ID));
    }
}
