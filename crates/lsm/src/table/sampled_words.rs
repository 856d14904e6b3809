//! One word for each of some of many sorted byte strings, so that most of a search compares words
//! that lie next to each other.
//!
//! # Why
//! A search that compares strings waits for two memory accesses at each step: where the string
//! lies, and the string. Behind the common prefix of all strings, eight bytes tell most of them
//! apart. (As the poor man's normalized keys of Graefe and Larson, ICDE 2001.)

use crate::search::{lower_bound, lower_bound_near};
use base::leading_word;
use std::ops::Range;

/// The words of every `step`-th of ascending strings.
#[derive(Debug)]
pub(super) struct SampledWords {
    /// Strings.
    len: usize,
    /// The first string has a word, and then every `step`-th one.
    step: usize,
    /// The common prefix of all strings.
    shared: Box<[u8]>,
    words: Vec<u64>,
}

impl SampledWords {
    /// Those of `len` strings, which `get` gives.
    pub(super) fn of<'s>(len: usize, step: usize, get: impl Fn(usize) -> &'s [u8]) -> Self {
        let (first, last) = match len {
            0 => (&[][..], &[][..]),
            _ => (get(0), get(len - 1)),
        };
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let words = (0..len).step_by(step);
        let words = words.map(|i| leading_word(get(i).get(shared..).unwrap_or_default())).collect();
        Self { len, step, shared: first[..shared].into(), words }
    }

    /// Bytes of memory it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.shared.len() + 8 * self.words.capacity()
    }

    /// Where the first string that is at least `key` may be, or the end of that range. Strings
    /// before the range are less, and strings behind it are not.
    pub(super) fn candidates(&self, key: &[u8]) -> Range<usize> {
        let Some(rest) = key.strip_prefix(&*self.shared) else { return 0..self.len };
        let (word, end) = (leading_word(rest), self.words.len());
        let less = lower_bound(0..end, |i| self.words[i] < word);
        let not_more = lower_bound_near(less..end, |i| self.words[i] <= word);
        let start = less.checked_sub(1).map_or(0, |last| last * self.step + 1);
        start..self.len.min(not_more * self.step)
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

    fn padded(string: &[u8]) -> Vec<u8> {
        let end = string.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        string[..end].to_vec()
    }

    proptest! {
        #[test]
        fn a_string_is_among_the_candidates_and_those_are_few(
            mut strings in prop::collection::vec(string(), 0..40),
            keys in prop::collection::vec(string(), 1..20),
            step in 1..9_usize,
        ) {
            strings.sort();
            let words = SampledWords::of(strings.len(), step, |i| &strings[i]);
            for key in keys.iter().chain(&strings) {
                let wanted = strings.partition_point(|string| string < key);
                let found = words.candidates(key);
                prop_assert!(found.start <= wanted && wanted <= found.end, "{:?} {}", found, wanted);
                prop_assert!(found.end <= strings.len());
                // Strings that the first eight bytes tell apart leave at most a step.
                if strings.iter().chain([key]).all(|string| string.len() <= words.shared.len() + 7)
                    && key.starts_with(&words.shared)
                {
                    let alike = strings.iter().filter(|string| padded(string) == padded(key));
                    prop_assert!(found.len() <= alike.count() + 2 * step);
                }
            }
        }
    }
}
