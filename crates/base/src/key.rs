//! Keys, borrowed or owned, and half-open ranges of keys.

use crate::shape::KeyShape;
use std::cmp::Ordering;

/// Maximum number of words in a key.
pub const WORDS_MAX: usize = 4;

/// A borrowed key or key prefix. Its `Ord` is the key order; a prefix sorts before its extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyRef<'a> {
    /// Words, most significant first.
    Words(&'a [u64]),
    /// A byte string.
    Bytes(&'a [u8]),
}

/// An owned key or key prefix. Keys of words need no allocation.
#[derive(Clone, Debug)]
pub enum Key {
    /// The first `len` of `words`.
    Words {
        /// Padded with zeros past `len`.
        words: [u64; WORDS_MAX],
        /// Number of words in use.
        len: u8,
    },
    /// A byte string.
    Bytes(Vec<u8>),
}

impl KeyRef<'_> {
    /// The smallest key larger than this one, which is whole; `None` if there is none.
    #[must_use]
    pub fn successor(self) -> Option<Key> {
        match self {
            Self::Words(words) => next_words(words),
            Self::Bytes(bytes) => Some(Key::Bytes([bytes, &[0]].concat())),
        }
    }
}

impl Key {
    /// A key of up to [`WORDS_MAX`] words.
    ///
    /// # Panics
    /// If there are more.
    #[must_use]
    pub fn words(words: &[u64]) -> Self {
        let mut padded = [0; WORDS_MAX];
        padded[..words.len()].copy_from_slice(words);
        Self::Words { words: padded, len: words.len() as u8 }
    }

    /// A key that copies a byte string.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }

    /// Borrows the key.
    #[must_use]
    pub fn as_ref(&self) -> KeyRef<'_> {
        match self {
            Self::Words { words, len } => KeyRef::Words(&words[..*len as usize]),
            Self::Bytes(bytes) => KeyRef::Bytes(bytes),
        }
    }
}

impl From<KeyRef<'_>> for Key {
    fn from(key: KeyRef<'_>) -> Self {
        match key {
            KeyRef::Words(words) => Self::words(words),
            KeyRef::Bytes(bytes) => Self::bytes(bytes),
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}
impl Eq for Key {}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

/// The keys from `lower` (inclusive) to `upper` (exclusive). Bounds may be prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First key in the range. The empty prefix is below all keys.
    pub lower: Key,
    /// First key after the range; `None` if it has no upper bound.
    pub upper: Option<Key>,
}

impl KeyRange {
    /// All keys of a keyspace with keys of this shape.
    #[must_use]
    pub fn all(shape: &KeyShape) -> Self {
        match shape {
            KeyShape::Words(_) => Self::all_words(),
            KeyShape::Bytes => Self::all_bytes(),
        }
    }

    /// All keys of a keyspace with keys of words.
    #[must_use]
    pub fn all_words() -> Self {
        Self { lower: Key::words(&[]), upper: None }
    }

    /// All keys of a keyspace with byte-string keys.
    #[must_use]
    pub fn all_bytes() -> Self {
        Self { lower: Key::Bytes(Vec::new()), upper: None }
    }

    /// All keys that start with these words.
    #[must_use]
    pub fn prefix_words(prefix: &[u64]) -> Self {
        Self { lower: Key::words(prefix), upper: next_words(prefix) }
    }

    /// This whole key alone.
    #[must_use]
    pub fn of_key(key: KeyRef<'_>) -> Self {
        Self { lower: Key::from(key), upper: key.successor() }
    }

    /// All keys that start with these bytes.
    #[must_use]
    pub fn prefix_bytes(prefix: &[u8]) -> Self {
        let mut range = Self::all_bytes();
        range.set_prefix_bytes(prefix);
        range
    }

    /// Sets the range to all keys that start with these bytes. Reuses the memory of byte-string
    /// bounds.
    pub fn set_prefix_bytes(&mut self, prefix: &[u8]) {
        let own = |key: &mut Key| match key {
            Key::Bytes(bytes) => std::mem::take(bytes),
            Key::Words { .. } => Vec::new(),
        };
        let mut lower = own(&mut self.lower);
        lower.clear();
        lower.extend_from_slice(prefix);
        let upper = prefix.iter().rposition(|&byte| byte != 0xff).map(|last| {
            let mut upper = self.upper.as_mut().map(own).unwrap_or_default();
            upper.clear();
            upper.extend_from_slice(&prefix[..=last]);
            upper[last] += 1;
            upper
        });
        (self.lower, self.upper) = (Key::Bytes(lower), upper.map(Key::Bytes));
    }

    /// Whether `key` is in the range.
    #[must_use]
    pub fn contains(&self, key: KeyRef<'_>) -> bool {
        self.lower.as_ref() <= key && self.upper.as_ref().is_none_or(|upper| key < upper.as_ref())
    }

    /// Whether the bounds exclude every key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.upper.as_ref().is_some_and(|upper| upper.as_ref() <= self.lower.as_ref())
    }

    /// Whether the keys from `first` to `last` (both inclusive) overlap the range.
    #[must_use]
    pub fn overlaps(&self, first: KeyRef<'_>, last: KeyRef<'_>) -> bool {
        self.upper.as_ref().is_none_or(|upper| first < upper.as_ref())
            && self.lower.as_ref() <= last
    }
}

/// The smallest key above all keys that start with `prefix`; `None` if there is none.
#[must_use]
pub fn next_words(prefix: &[u64]) -> Option<Key> {
    let mut len = prefix.len();
    while len > 0 && prefix[len - 1] == u64::MAX {
        len -= 1;
    }
    let (last, head) = prefix[..len].split_last()?;
    let mut words = [0; WORDS_MAX];
    words[..head.len()].copy_from_slice(head);
    words[head.len()] = last + 1;
    Some(Key::Words { words, len: len as u8 })
}

/// The first eight bytes as a big-endian word, padded with zeros. Words compare as the first eight
/// bytes do, so the word of a smaller string is never larger.
#[must_use]
pub fn leading_word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(padded)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_prefix_range_holds_its_extensions_and_nothing_else() {
        let range = KeyRange::prefix_words(&[7]);
        assert!(range.contains(KeyRef::Words(&[7, 0])));
        assert!(range.contains(KeyRef::Words(&[7, u64::MAX])));
        assert!(!range.contains(KeyRef::Words(&[8, 0])));
        assert!(!range.contains(KeyRef::Words(&[6, u64::MAX])));
        let last = KeyRange::prefix_words(&[u64::MAX]);
        assert_eq!(last.upper, None);
        assert!(last.contains(KeyRef::Words(&[u64::MAX, u64::MAX])));
        let bytes = KeyRange::prefix_bytes(b"a\xff");
        assert!(bytes.contains(KeyRef::Bytes(b"a\xff\xff\xff")));
        assert!(!bytes.contains(KeyRef::Bytes(b"b")));
    }

    proptest! {
        #[test]
        fn words_of_byte_strings_are_in_their_order(
            a in prop::collection::vec(0..3_u8, 0..11),
            b in prop::collection::vec(0..3_u8, 0..11),
        ) {
            prop_assert!(a > b || leading_word(&a) <= leading_word(&b));
        }
    }
}
