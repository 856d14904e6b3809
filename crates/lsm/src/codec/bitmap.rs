//! Validity of a column: which rows have a value.
//!
//! Most columns are wholly valid, so that case is one byte and costs a reader one comparison.

use super::{Fields, Malformed};
use base::Validity;
use std::ops::Range;

const NONE: u8 = 0;
const ALL: u8 = 1;
const SOME: u8 = 2;

/// Appends the validity of `rows`.
pub fn encode(validity: &Validity, rows: Range<usize>, out: &mut Vec<u8>) {
    if validity.0.is_none() {
        return out.push(ALL);
    }
    let words: Vec<u64> = rows
        .clone()
        .step_by(64)
        .map(|row| validity.bits(row) & (u64::MAX >> (64 - (rows.end - row).min(64))))
        .collect();
    let set: usize = words.iter().map(|word| word.count_ones() as usize).sum();
    if set == rows.len() {
        out.push(ALL);
    } else if set == 0 {
        out.push(NONE);
    } else {
        out.push(SOME);
        words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }
}

/// The validity of a column of known length.
#[derive(Clone, Copy, Debug)]
pub struct BitmapReader<'a> {
    kind: u8,
    rows: usize,
    words: &'a [u8],
}

impl<'a> BitmapReader<'a> {
    /// Reads the validity of `rows` rows; `bytes` holds nothing else.
    ///
    /// # Errors
    /// If `bytes` is no bitmap of that length.
    pub fn parse(bytes: &'a [u8], rows: usize) -> Result<Self, Malformed> {
        let mut fields = Fields::new(bytes);
        let kind = fields.u8()?;
        let words = match kind {
            NONE | ALL => &[],
            SOME => fields.take(rows.div_ceil(64) * 8)?,
            _ => return Err(Malformed("unknown kind of validity")),
        };
        fields.finish()?;
        Ok(Self { kind, rows, words })
    }

    /// Whether every row has a value.
    pub fn is_all(&self) -> bool {
        self.kind == ALL || self.rows == 0
    }

    /// Whether row `row` has a value; `false` past the last row.
    #[inline]
    pub fn get(&self, row: usize) -> bool {
        match self.kind {
            _ if row >= self.rows => false,
            ALL => true,
            NONE => false,
            _ => self.words[row / 8] >> (row % 8) & 1 == 1,
        }
    }

    /// Which of the 64 rows starting at `row` have a value, one bit each. Bits of rows past the end
    /// are unspecified.
    #[inline]
    pub fn bits(&self, row: usize) -> u64 {
        match self.kind {
            ALL => u64::MAX,
            NONE => 0,
            _ => {
                let word = |at: usize| match self.words.get(8 * at..).and_then(<[u8]>::first_chunk)
                {
                    Some(word) => u64::from_le_bytes(*word),
                    None => 0,
                };
                // In two steps: a shift by 64 is none.
                word(row / 64) >> (row % 64) | word(row / 64 + 1) << 1 << (63 - row % 64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn validity_comes_back(
            bits in prop_oneof![
                prop::collection::vec(any::<bool>(), 0..300),
                prop::collection::vec(Just(true), 0..300),
                prop::collection::vec(Just(false), 0..300),
            ],
            from: prop::sample::Index,
        ) {
            let mut validity = Validity::default();
            bits.iter().enumerate().for_each(|(i, &bit)| validity.push(i, bit));
            let from = from.index(bits.len() + 1);
            let mut bytes = Vec::new();
            encode(&validity, from..bits.len(), &mut bytes);
            let bits = &bits[from..];
            let reader = BitmapReader::parse(&bytes, bits.len()).unwrap();
            prop_assert_eq!(reader.is_all(), bits.iter().all(|&b| b));
            for (i, &bit) in bits.iter().enumerate() {
                prop_assert_eq!(reader.get(i), bit);
                let window = reader.bits(i);
                for (j, &bit) in bits[i..].iter().take(64).enumerate() {
                    prop_assert_eq!(window >> j & 1 == 1, bit);
                }
            }
            prop_assert!(!reader.get(bits.len()));
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(0..4_u8, 0..30), rows in 0..200_usize) {
            if let Ok(reader) = BitmapReader::parse(&bytes, rows) {
                for row in 0..=rows {
                    reader.get(row);
                    reader.bits(row);
                }
            }
        }
    }
}
