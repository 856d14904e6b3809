//! The shape of a keyspace: the types of its keys and value columns, as storage knows them.

/// The type of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyShape {
    /// 1 to [`crate::WORDS_MAX`] words. Compared as unsigned integers, the first word first.
    Words(u8),
    /// One byte string, compared bytewise.
    Bytes,
}

/// The operator that combines writes of a word column. Each merge is an operand; a put replaces
/// the stored value.
///
/// Signed integers and floats are stored as their order-preserving words ([`int_to_word`],
/// [`float_to_word`]). The operator converts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Merge {
    /// Adds signed 64-bit integers (`word = int ^ 1 << 63`). The two ends of the range are not
    /// valid sums; see [`Merge::is_past`].
    AddInt,
    /// Adds floats.
    AddFloat,
    /// Keeps the smaller word.
    Min,
    /// Keeps the larger word.
    Max,
}

impl Merge {
    /// Merges an older and a newer operand. Returns `None` if the result does not fit into a word,
    /// or if an operand is already out of range. The caller then stores both operands, so that
    /// later writes can bring the sum back into range. [`Total`](crate::Total) adds up such
    /// operands.
    ///
    /// The final sum does not depend on which operands were merged when; sums of floats may differ
    /// in rounding.
    #[must_use]
    pub fn apply(self, older: u64, newer: u64) -> Option<u64> {
        match self {
            Self::AddInt if self.is_past(older) || self.is_past(newer) => None,
            Self::AddInt => {
                let sum = word_to_int(older).checked_add(word_to_int(newer))?;
                Some(int_to_word(sum)).filter(|&word| !self.is_past(word))
            }
            Self::AddFloat => {
                let (older, newer) = (word_to_float(older), word_to_float(newer));
                let sum = older + newer;
                let is_past = sum.is_infinite() && older.is_finite() && newer.is_finite();
                (!is_past).then(|| float_to_word(sum))
            }
            Self::Min => Some(older.min(newer)),
            Self::Max => Some(older.max(newer)),
        }
    }

    /// Whether a word marks a sum of integers as out of range: [`u64::MAX`] above it, 0 below it.
    /// So a counter never holds [`i64::MAX`] or [`i64::MIN`]. Reads return these marks. Only
    /// databases written by earlier versions store them; those sums are lost.
    #[must_use]
    pub fn is_past(self, word: u64) -> bool {
        self == Self::AddInt && (word == u64::MAX || word == 0)
    }
}

/// Order-preserving word of a signed integer: the sign bit is flipped.
#[must_use]
pub fn int_to_word(int: i64) -> u64 {
    int.cast_unsigned() ^ (1 << 63)
}

/// Inverse of [`int_to_word`].
#[must_use]
pub fn word_to_int(word: u64) -> i64 {
    (word ^ (1 << 63)).cast_signed()
}

/// Order-preserving word of a float, in IEEE total order: negative NaN first, positive NaN last.
#[must_use]
pub fn float_to_word(float: f64) -> u64 {
    let bits = float.to_bits();
    bits ^ (((bits.cast_signed() >> 63).cast_unsigned()) | (1 << 63))
}

/// Inverse of [`float_to_word`].
#[must_use]
pub fn word_to_float(word: u64) -> f64 {
    let mask = (!word).cast_signed() >> 63;
    f64::from_bits(word ^ (mask.cast_unsigned() | (1 << 63)))
}

/// The type of a value column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnShape {
    /// One word.
    Word {
        /// The operator that combines writes. With `None` the newest write replaces older ones.
        merge: Option<Merge>,
    },
    /// A byte string.
    Bytes,
}

/// Maximum number of value columns in a keyspace.
pub const VALUES_MAX: usize = 4096;

/// Key and value columns of a keyspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The type of the keys.
    pub key: KeyShape,
    /// Value columns: up to [`VALUES_MAX`], possibly none.
    pub values: Vec<ColumnShape>,
}

impl Shape {
    /// Number of words in a key; 0 for byte-string keys.
    #[must_use]
    pub fn key_words(&self) -> usize {
        match self.key {
            KeyShape::Words(n) => n as usize,
            KeyShape::Bytes => 0,
        }
    }
}

/// The kind of a stored version of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A tombstone. Its value columns hold fillers.
    Delete = 0,
    /// A complete row.
    Put = 1,
    /// Columns with a merge operator hold operands for the next older version; other columns
    /// replace it. If the row does not exist, a merge is a put.
    Merge = 2,
}

impl Kind {
    /// Decodes the number that is stored on disk; `None` if it is unknown.
    #[must_use]
    pub fn from_u8(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Delete),
            1 => Some(Self::Put),
            2 => Some(Self::Merge),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_images_keep_the_order_and_come_back() {
        let floats =
            [f64::NEG_INFINITY, -1e300, -1.0, -0.0, 0.0, 1e-300, 1.0, f64::INFINITY, f64::NAN];
        for pair in floats.windows(2) {
            assert!(float_to_word(pair[0]) < float_to_word(pair[1]), "{pair:?}");
        }
        for float in floats {
            assert_eq!(word_to_float(float_to_word(float)).to_bits(), float.to_bits());
        }
    }

    #[test]
    fn what_a_word_cannot_hold_stays_apart() {
        let (max, min) = (int_to_word(i64::MAX), int_to_word(i64::MIN));
        let add = |a, b| Merge::AddInt.apply(a, b);
        assert_eq!(add(int_to_word(i64::MAX - 1), int_to_word(5)), None);
        assert_eq!(add(int_to_word(i64::MAX - 1), int_to_word(1)), None, "the end is not in range");
        assert_eq!(add(max, int_to_word(-5)), None);
        assert_eq!(add(int_to_word(-5), min), None);
        assert!(Merge::AddInt.is_past(max) && Merge::AddInt.is_past(min));
        assert!(!Merge::Max.is_past(max));
        assert_eq!(add(int_to_word(-2), int_to_word(5)), Some(int_to_word(3)));
        let add = |a, b| Merge::AddFloat.apply(float_to_word(a), float_to_word(b));
        assert_eq!(add(1e308, 1e308), None);
        assert_eq!(add(f64::INFINITY, -1e308), Some(float_to_word(f64::INFINITY)));
    }
}
