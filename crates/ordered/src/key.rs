//! Encodes keys and ranges as byte strings that sort in the order of the keys.

use base::{KeyRange, KeyRef};

/// Bytes of the prefix of a keyspace.
pub(crate) const PREFIX_BYTES: usize = 4;

/// The prefix of the catalog.
pub(crate) const CATALOG: Prefix = Prefix(0);

/// The prefix of a keyspace's keys. It is not the id: a bulk load changes the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Prefix(pub(crate) u32);

/// Encoded keys from the first to before the second.
pub(crate) type Span = (Vec<u8>, Vec<u8>);

impl Prefix {
    /// An encoded key.
    pub(crate) fn key(self, key: KeyRef<'_>) -> Vec<u8> {
        let mut out = self.0.to_be_bytes().to_vec();
        match key {
            KeyRef::Words(words) => {
                words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
            }
            KeyRef::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        out
    }

    /// All keys of the keyspace. Prefixes are given out from 1 and never reach the last number.
    pub(crate) fn all(self) -> Span {
        (self.0.to_be_bytes().to_vec(), (self.0 + 1).to_be_bytes().to_vec())
    }

    /// The keys of a range.
    pub(crate) fn span(self, range: &KeyRange) -> Span {
        let upper = match &range.upper {
            Some(upper) => self.key(upper.as_ref()),
            None => self.all().1,
        };
        (self.key(range.lower.as_ref()), upper)
    }

    /// The prefix of an encoded key.
    pub(crate) fn of(key: &[u8]) -> Self {
        let bytes = key.first_chunk().copied().unwrap_or_default();
        Self(u32::from_be_bytes(bytes))
    }
}

/// The smallest byte string above `key`.
#[must_use]
pub fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Whether a key lies in a span.
pub(crate) fn contains(span: &Span, key: &[u8]) -> bool {
    span.0.as_slice() <= key && key < span.1.as_slice()
}

/// Whether two spans have a key in common.
pub(crate) fn overlap(a: &Span, b: &Span) -> bool {
    a.0.as_slice().max(&b.0) < a.1.as_slice().min(&b.1)
}

/// The first word of an encoded key of words.
pub(crate) fn first_word(key: &[u8]) -> u64 {
    base::leading_word(key.get(PREFIX_BYTES..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Key;

    #[test]
    fn encoded_keys_and_spans_compare_as_keys_do() {
        let keys = [&[0, u64::MAX], &[1, 0], &[1, 256], &[u64::MAX, u64::MAX]];
        let encoded: Vec<_> =
            keys.iter().map(|words| Prefix(7).key(Key::words(*words).as_ref())).collect();
        assert!(encoded.is_sorted());
        for range in [
            KeyRange::all_words(),
            KeyRange::prefix_words(&[1]),
            KeyRange::prefix_words(&[u64::MAX]),
        ] {
            let span = Prefix(7).span(&range);
            for (key, encoded) in keys.iter().zip(&encoded) {
                let key = Key::words(*key);
                assert_eq!(range.contains(key.as_ref()), contains(&span, encoded), "{key:?}");
            }
        }
        assert!(!overlap(&Prefix(7).all(), &Prefix(8).all()));
        assert_eq!((Prefix::of(&encoded[0]), first_word(&encoded[3])), (Prefix(7), u64::MAX));
    }
}
