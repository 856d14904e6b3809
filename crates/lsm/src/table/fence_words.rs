//! A word of each fence of byte strings, so that most of a search is one in words that lie one behind the other.
//!
//! # Why
//! A search by comparing strings waits for two places in memory a step: where the string lies, and the string. Of what follows on the bytes that all
//! fences begin with, eight tell most of them apart. (As the poor man's normalised keys of Graefe and Larson, ICDE 2001.)

use crate::search::{lower_bound, lower_bound_near};
use base::BytesColumn;
use std::ops::Range;

/// The words of ascending strings.
#[derive(Debug)]
pub(super) struct FenceWords {
    /// How many bytes all strings begin with.
    shared: usize,
    words: Vec<u64>,
}

impl FenceWords {
    /// Those of these strings.
    pub(super) fn of(strings: &BytesColumn) -> Self {
        let len = strings.len();
        let (first, last) = match len {
            0 => (&[][..], &[][..]),
            _ => (strings.get(0), strings.get(len - 1)),
        };
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let words = (0..len).map(|i| word(strings.get(i).get(shared..).unwrap_or_default()));
        Self { shared, words: words.collect() }
    }

    /// The first of the strings that is at least `key`.
    pub(super) fn lower_bound(&self, strings: &BytesColumn, key: &[u8]) -> usize {
        let is_before = |i: usize| strings.get(i) < key;
        lower_bound(self.candidates(strings, key), is_before)
    }

    /// Where that may be: strings before have less in their words, strings behind more.
    fn candidates(&self, strings: &BytesColumn, key: &[u8]) -> Range<usize> {
        let all = 0..self.words.len();
        if all.is_empty() || key.get(..self.shared) != strings.get(0).get(..self.shared) {
            return all;
        }
        let word = word(&key[self.shared..]);
        let low = lower_bound(all.clone(), |i| self.words[i] < word);
        low..lower_bound_near(low..all.end, |i| self.words[i] <= word)
    }
}

/// The first eight bytes, so that their order is that of the strings; shorter ones as if zeros followed.
fn word(bytes: &[u8]) -> u64 {
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

    /// Strings that often begin alike, end early or hold zeros.
    fn string() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop::sample::select(vec![0, 1, b'a', b'b', 0xff]);
        (0..3_usize, prop::collection::vec(byte, 0..12))
            .prop_map(|(shared, rest)| [&b"user-of-this"[..6 * shared], &rest].concat())
    }

    proptest! {
        #[test]
        fn a_string_is_found_where_comparing_finds_it(
            mut strings in prop::collection::vec(string(), 0..40),
            keys in prop::collection::vec(string(), 1..20),
        ) {
            strings.sort();
            let mut column = BytesColumn::default();
            strings.iter().for_each(|string| column.push(Some(string)));
            let words = FenceWords::of(&column);
            for key in keys.iter().chain(&strings) {
                let wanted = strings.partition_point(|string| string < key);
                prop_assert_eq!(words.lower_bound(&column, key), wanted);
            }
        }
    }
}
