//! One key, borrowed or owned, and half-open ranges of keys.

use std::cmp::Ordering;

/// Most words in a key.
pub const WORDS_MAX: usize = 4;

/// A borrowed key or key prefix. Compares in key order; a prefix sorts before its extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyRef<'a> {
    /// Words, first word first.
    Words(&'a [u64]),
    /// A byte string.
    Bytes(&'a [u8]),
}

/// An owned key or key prefix; word keys need no allocation.
#[derive(Clone, Debug)]
pub enum Key {
    /// The first `len` of `words`.
    Words {
        /// Padded with zeros past `len`.
        words: [u64; WORDS_MAX],
        /// Words in use.
        len: u8,
    },
    /// A byte string.
    Bytes(Vec<u8>),
}

impl Key {
    /// A key of words; at most [`WORDS_MAX`].
    #[must_use]
    pub fn words(words: &[u64]) -> Self {
        let mut padded = [0; WORDS_MAX];
        padded[..words.len()].copy_from_slice(words);
        Self::Words { words: padded, len: words.len() as u8 }
    }

    /// A key of bytes.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }

    /// Borrows it.
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

/// Keys from `lower` (inclusive) to `upper` (exclusive; `None` is no bound). Bounds may be
/// prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First key inside. An empty prefix is the smallest key of all.
    pub lower: Key,
    /// First key outside.
    pub upper: Option<Key>,
}

impl KeyRange {
    /// Every key of a keyspace of words.
    #[must_use]
    pub fn all_words() -> Self {
        Self { lower: Key::words(&[]), upper: None }
    }

    /// Every key of a keyspace of byte strings.
    #[must_use]
    pub fn all_bytes() -> Self {
        Self { lower: Key::Bytes(Vec::new()), upper: None }
    }

    /// Every key that starts with these words.
    #[must_use]
    pub fn prefix_words(prefix: &[u64]) -> Self {
        Self { lower: Key::words(prefix), upper: next_words(prefix) }
    }

    /// Every key that starts with these bytes.
    #[must_use]
    pub fn prefix_bytes(prefix: &[u8]) -> Self {
        let mut range = Self::all_bytes();
        range.set_prefix_bytes(prefix);
        range
    }

    /// Makes it the range of every key that starts with these bytes. A range of byte strings keeps
    /// the memory that it has.
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

    /// Whether `key` lies inside.
    #[must_use]
    pub fn contains(&self, key: KeyRef<'_>) -> bool {
        self.lower.as_ref() <= key && self.upper.as_ref().is_none_or(|upper| key < upper.as_ref())
    }

    /// Whether a key could lie between the bounds.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.upper.as_ref().is_some_and(|upper| upper.as_ref() <= self.lower.as_ref())
    }

    /// Whether keys from `first` to `last` (both inclusive) reach into the range.
    #[must_use]
    pub fn overlaps(&self, first: KeyRef<'_>, last: KeyRef<'_>) -> bool {
        self.upper.as_ref().is_none_or(|upper| first < upper.as_ref())
            && self.lower.as_ref() <= last
    }
}

/// The smallest key above every key that starts with `prefix`; `None` where there is none.
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

/// The first eight bytes as a word, so that the order of words is that of the bytes as far as they
/// go; shorter ones count as if zeros followed.
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
}
