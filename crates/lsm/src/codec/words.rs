//! A column of words, in whichever of five encodings is smallest.
//!
//! # Why these five
//! Each gives any row by constant work: constant, frame of reference (numbers near each other),
//! dictionary (few distinct words), decimal (floats that are short decimals, as in ALP) and raw.
//!
//! # Invariants
//! 1. What is read is bit for bit what was written, for any words; a decimal column was verified
//!    row by row when it was encoded.
//! 2. Choosing costs one pass; dictionary and decimal are tried only if a sample asks for it.

use super::bitpack::{PACKED_HEADER_BYTES, Packed, packed_bytes, width_of};
use super::{Fields, Malformed};
use base::prefetch::prefetch_value;
use base::shape::{float_to_word, word_to_float};
use std::ops::Range;

const CONSTANT: u8 = 0;
const FRAME: u8 = 1;
const DICTIONARY: u8 = 2;
const DECIMAL: u8 = 3;
const RAW: u8 = 4;

/// Most distinct words of a dictionary: 32 KiB of them still fit a first-level cache.
pub const DICTIONARY_WORDS_MAX: usize = 4096;

/// Most digits after the point: `10^14` and the products with it are exact in a float.
const EXPONENT_MAX: usize = 14;

const POWERS: [f64; EXPONENT_MAX + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// Digits are below this, so that they are exact in a float.
const DIGITS_MAX: f64 = (1_u64 << 52) as f64;

const SIGN: u64 = 1 << 63;

/// Appends `values` in the encoding that takes the fewest bytes.
pub fn encode(values: &[u64], out: &mut Vec<u8>) {
    let (mut min, mut max) = (u64::MAX, 0);
    for &value in values {
        min = min.min(value);
        max = max.max(value);
    }
    if values.is_empty() || min == max {
        out.push(CONSTANT);
        out.extend_from_slice(&max.to_le_bytes());
        return;
    }
    let width = width_of(max - min);
    // Below a byte a value nothing saves enough to pay for slower reads.
    if width > 8 && values.len() >= 16 {
        let sample = Sample::of(values);
        let limit = 1 + PACKED_HEADER_BYTES + packed_bytes(width, values.len());
        if let Some((exponent, digits)) = sample.decimal(width).and_then(|e| decimal(values, e)) {
            let low = digits.iter().copied().min().unwrap_or(0);
            let high = digits.iter().copied().max().unwrap_or(0);
            let bits = width_of(high - low);
            if packed_bytes(bits, values.len()) + 2 + PACKED_HEADER_BYTES < limit
                && sample.distinct * 4 > sample.words.len()
            {
                out.push(DECIMAL);
                out.push(exponent as u8);
                return Packed::encode_between(&digits, low, high, out);
            }
        }
        if sample.distinct * 4 <= sample.words.len() * 3
            && let Some((words, codes)) = dictionary(values)
        {
            let start = out.len();
            out.push(DICTIONARY);
            out.extend_from_slice(&(words.len() as u16).to_le_bytes());
            Packed::encode(&words, out);
            Packed::encode_between(&codes, 0, words.len() as u64 - 1, out);
            if out.len() - start < limit {
                return;
            }
            out.truncate(start);
        }
    }
    if width > 62 {
        out.push(RAW);
        values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    } else {
        out.push(FRAME);
        Packed::encode_between(values, min, max, out);
    }
}

/// Words sampled evenly from a column.
struct Sample {
    words: Vec<u64>,
    distinct: usize,
}

impl Sample {
    fn of(values: &[u64]) -> Self {
        let step = values.len().div_ceil(128);
        let words: Vec<u64> = values.iter().copied().step_by(step).collect();
        let mut sorted = words.clone();
        sorted.sort_unstable();
        sorted.dedup();
        Self { words, distinct: sorted.len() }
    }

    /// The fewest digits after the point with which every sampled word is a decimal, if that
    /// promises fewer bits than `width`.
    fn decimal(&self, width: u8) -> Option<usize> {
        let mut exponent = 0;
        let mut largest = 0_u64;
        for &word in &self.words {
            while digits_of(word, exponent).is_none() {
                exponent += 1;
                if exponent > EXPONENT_MAX {
                    return None;
                }
            }
        }
        for &word in &self.words {
            largest = largest.max(digits_of(word, exponent)?.unsigned_abs());
        }
        (width_of(largest) < width).then_some(exponent)
    }
}

/// `float * 10^exponent` if it is a whole number from which the very same float comes back.
#[inline(always)]
fn digits_of(word: u64, exponent: usize) -> Option<i64> {
    let float = word_to_float(word);
    let digits = (float * POWERS[exponent]).round();
    // False for NaN too; minus zero fails the comparison of words.
    if digits.abs() < DIGITS_MAX {
        let whole = digits as i64;
        return (float_from(whole, exponent) == word).then_some(whole);
    }
    None
}

/// The word of the float nearest to `digits / 10^exponent`.
#[inline(always)]
fn float_from(digits: i64, exponent: usize) -> u64 {
    // Division of two exact numbers rounds once, so it gives what parsing the decimal gives.
    float_to_word(digits as f64 / POWERS[exponent])
}

/// All of `values` as digits with at least `exponent` places, sign bit flipped to keep order.
fn decimal(values: &[u64], mut exponent: usize) -> Option<(usize, Vec<u64>)> {
    let mut digits = Vec::with_capacity(values.len());
    'retry: loop {
        digits.clear();
        for &word in values {
            match digits_of(word, exponent) {
                Some(whole) => digits.push(whole as u64 ^ SIGN),
                None if exponent == EXPONENT_MAX => return None,
                None => {
                    exponent += 1;
                    continue 'retry;
                }
            }
        }
        return Some((exponent, digits));
    }
}

/// The distinct words in order and the place of each value among them, or `None` if too many.
fn dictionary(values: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    const SLOTS: usize = 4 * DICTIONARY_WORDS_MAX;
    const FREE: u16 = u16::MAX;
    let mut slots = vec![FREE; SLOTS];
    let mut words: Vec<u64> = Vec::new();
    let mut codes = Vec::with_capacity(values.len());
    let most = DICTIONARY_WORDS_MAX.min(values.len() / 2);
    for &value in values {
        let mut at = (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as usize % SLOTS;
        let code = loop {
            match slots[at] {
                FREE => {
                    if words.len() == most {
                        return None;
                    }
                    slots[at] = words.len() as u16;
                    words.push(value);
                    break words.len() as u64 - 1;
                }
                code if words[code as usize] == value => break u64::from(code),
                _ => at = (at + 1) % SLOTS,
            }
        };
        codes.push(code);
    }
    // Sorted, so that the words themselves pack, and so that codes compare like words.
    let mut order: Vec<u16> = (0..words.len() as u16).collect();
    order.sort_unstable_by_key(|&code| words[code as usize]);
    let mut place = vec![0; words.len()];
    order.iter().enumerate().for_each(|(at, &code)| place[code as usize] = at as u64);
    codes.iter_mut().for_each(|code| *code = place[*code as usize]);
    words.sort_unstable();
    Some((words, codes))
}

#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    Constant(u64),
    Frame(Packed<'a>),
    Dictionary { words: Packed<'a>, codes: Packed<'a> },
    Decimal { digits: Packed<'a>, exponent: usize },
    Raw(&'a [[u8; 8]]),
}

/// A column of words of known length.
#[derive(Clone, Copy, Debug)]
pub struct WordReader<'a> {
    rows: usize,
    kind: Kind<'a>,
}

impl<'a> WordReader<'a> {
    /// Reads a column of `rows` words; `bytes` holds nothing else.
    ///
    /// # Errors
    /// If `bytes` is no column of that length.
    pub fn parse(bytes: &'a [u8], rows: usize) -> Result<Self, Malformed> {
        let mut fields = Fields::new(bytes);
        let kind = match fields.u8()? {
            CONSTANT => Kind::Constant(fields.u64()?),
            FRAME => Kind::Frame(fields.packed(rows)?),
            DICTIONARY => {
                let len = usize::from(fields.u16()?);
                if len == 0 || len > DICTIONARY_WORDS_MAX {
                    return Err(Malformed("a dictionary of impossible length"));
                }
                Kind::Dictionary { words: fields.packed(len)?, codes: fields.packed(rows)? }
            }
            DECIMAL => {
                let exponent = usize::from(fields.u8()?);
                if exponent > EXPONENT_MAX {
                    return Err(Malformed("a decimal of too many places"));
                }
                Kind::Decimal { digits: fields.packed(rows)?, exponent }
            }
            RAW => {
                let bytes = rows.checked_mul(8).ok_or(Malformed("cut short"))?;
                Kind::Raw(fields.take(bytes)?.as_chunks().0)
            }
            _ => return Err(Malformed("unknown encoding of words")),
        };
        fields.finish()?;
        Ok(Self { rows, kind })
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The one word of every row, if the column is constant.
    pub fn constant(&self) -> Option<u64> {
        if let Kind::Constant(word) = self.kind { Some(word) } else { None }
    }

    /// Word of row `row`.
    ///
    /// # Panics
    /// If `row` is not below `len()`.
    #[inline]
    pub fn get(&self, row: usize) -> u64 {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        match &self.kind {
            Kind::Constant(word) => *word,
            Kind::Frame(packed) => packed.get(row),
            Kind::Dictionary { words, codes } => {
                words.get((codes.get(row) as usize).min(words.len() - 1))
            }
            Kind::Decimal { digits, exponent } => {
                float_from((digits.get(row) ^ SIGN) as i64, *exponent)
            }
            Kind::Raw(words) => u64::from_le_bytes(words[row]),
        }
    }

    /// Fetches what [`Self::get`] reads for a row.
    #[inline]
    pub fn prefetch(&self, row: usize) {
        match &self.kind {
            Kind::Constant(_) => {}
            Kind::Frame(packed) | Kind::Dictionary { codes: packed, .. } => packed.prefetch(row),
            Kind::Decimal { digits, .. } => digits.prefetch(row),
            Kind::Raw(words) => words.get(row).into_iter().for_each(prefetch_value),
        }
    }

    /// Appends the words of `rows`.
    ///
    /// # Panics
    /// If `rows` ends past `len()`.
    pub fn read(&self, rows: Range<usize>, out: &mut Vec<u64>) {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "{rows:?} of {}", self.rows);
        let start = out.len();
        match &self.kind {
            Kind::Constant(word) => out.resize(start + rows.len(), *word),
            Kind::Raw(words) => out.extend(words[rows].iter().map(|w| u64::from_le_bytes(*w))),
            _ => {
                out.resize(start + rows.len(), 0);
                self.read_into(rows.start, &mut out[start..]);
            }
        }
    }

    /// Writes the words of the rows from `start` on over `out`.
    ///
    /// # Panics
    /// If the rows end past `len()`.
    #[inline]
    pub fn read_into(&self, start: usize, out: &mut [u64]) {
        assert!(out.len() <= self.rows && start <= self.rows - out.len(), "row {start}");
        match &self.kind {
            Kind::Constant(word) => out.fill(*word),
            Kind::Raw(words) => {
                let words = &words[start..start + out.len()];
                out.iter_mut().zip(words).for_each(|(out, word)| *out = u64::from_le_bytes(*word));
            }
            Kind::Frame(packed) => packed.read(start, out),
            Kind::Decimal { digits, exponent } => {
                digits.read(start, out);
                let power = POWERS[*exponent];
                for word in out {
                    *word = float_to_word((*word ^ SIGN) as i64 as f64 / power);
                }
            }
            Kind::Dictionary { words, codes } => {
                codes.read(start, out);
                let last = words.len() - 1;
                if out.len() * 2 < words.len() {
                    out.iter_mut().for_each(|w| *w = words.get((*w as usize).min(last)));
                } else {
                    let mut table = vec![0; words.len()];
                    words.read(0, &mut table);
                    out.iter_mut().for_each(|w| *w = table[(*w as usize).min(last)]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Encodes, checks every way to read, and returns the tag that was chosen.
    #[track_caller]
    fn check(values: &[u64]) -> u8 {
        let mut bytes = Vec::new();
        encode(values, &mut bytes);
        let reader = WordReader::parse(&bytes, values.len()).unwrap();
        for (row, &value) in values.iter().enumerate() {
            assert_eq!(reader.get(row), value, "row {row}");
        }
        for start in [0, values.len() / 3, values.len()] {
            let mut out = vec![7];
            reader.read(start..values.len(), &mut out);
            assert_eq!(out[1..], values[start..]);
        }
        assert!(bytes.len() <= values.len() * 8 + 32, "never much larger than raw");
        bytes[0]
    }

    fn floats(values: impl IntoIterator<Item = f64>) -> Vec<u64> {
        values.into_iter().map(float_to_word).collect()
    }

    #[test]
    fn each_kind_of_column_gets_its_encoding() {
        assert_eq!(check(&[]), CONSTANT);
        assert_eq!(check(&[9; 50]), CONSTANT);
        assert_eq!(check(&[3, 4]), FRAME);
        assert_eq!(check(&(0..999).map(|i| SIGN + i * 77).collect::<Vec<_>>()), FRAME);
        assert_eq!(check(&(0..999).map(|i| (i % 5) * 123_456_789).collect::<Vec<_>>()), DICTIONARY);
        assert_eq!(check(&floats((0..999).map(|i| f64::from(i * 37 - 7000) / 100.0))), DECIMAL);
        assert_eq!(check(&floats((0..999).map(|i| 1.0 + f64::from(i).sqrt() / 99.0))), FRAME);
        let scatter = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        assert_eq!(check(&(0..999).map(scatter).collect::<Vec<_>>()), RAW);
    }

    #[test]
    fn floats_that_are_no_decimals_come_back_too() {
        for odd in [-0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 0.1 + 0.2, 1e300] {
            let mut values: Vec<f64> = (0..500).map(|i| f64::from(i) / 8.0).collect();
            values[250] = odd;
            check(&floats(values));
        }
    }

    fn columns() -> impl Strategy<Value = Vec<u64>> {
        let decimal = (-99_999..99_999_i32, 0..5_i32);
        prop_oneof![
            prop::collection::vec(any::<u64>(), 0..300),
            prop::collection::vec(0..1000_u64, 0..300),
            prop::collection::vec((0..4_u64).prop_map(|x| x * 0xffff_ffff), 0..300),
            prop::collection::vec(
                decimal.prop_map(|(d, e)| float_to_word(f64::from(d) / 10_f64.powi(e))),
                0..300
            ),
            prop::collection::vec(any::<f64>().prop_map(float_to_word), 0..300),
        ]
    }

    proptest! {
        #[test]
        fn any_words_come_back(values in columns()) {
            check(&values);
        }

        #[test]
        fn damaged_bytes_never_panic(
            values in columns(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut: prop::sample::Index,
            rows in 0..400_usize,
        ) {
            let mut bytes = Vec::new();
            encode(&values, &mut bytes);
            for (at, byte) in damage {
                let at = at.index(bytes.len().min(24));
                bytes[at] = byte;
            }
            let shorter = &bytes[..cut.index(bytes.len() + 1)];
            for (bytes, rows) in [(&bytes[..], values.len()), (&bytes[..], rows), (shorter, rows)] {
                if let Ok(reader) = WordReader::parse(bytes, rows) {
                    let mut out = Vec::new();
                    reader.read(0..rows, &mut out);
                    (0..rows).for_each(|row| prop_assert_eq_ok(reader.get(row), out[row]));
                }
            }
        }
    }

    fn prop_assert_eq_ok(left: u64, right: u64) {
        assert_eq!(left, right);
    }
}
