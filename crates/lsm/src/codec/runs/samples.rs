//! Every sixteenth key of a block whose keys are one word, in memory only. A lookup then decodes at
//! most sixteen gaps.
//!
//! # Why not on the first lookup, and why not in the file
//! Making samples decodes all gaps of a block, which pays when the block is searched about as often
//! as it has groups. Samples in the file would make a block larger that is read for one key.
//!
//! # Invariants
//! 1. Sample `i` is the key of row `STEP * i`, which is the row before slot `STEP * i`.
//! 2. The slots from one sample to the next lie in one group.

use super::super::gaps::GROUP_SLOTS;
use super::{KeyReader, Seek};
use base::prefetch::prefetch_value;
use env::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::OnceLock;

/// One row in this many is sampled, which costs half a byte of memory for each row.
const STEP: usize = 16;

const _: () = assert!(GROUP_SLOTS.is_multiple_of(STEP));

/// Lookups in a block before it is sampled. What they decode without samples costs about as much as
/// making the samples.
const LOOKUPS_BEFORE: usize = 16;

/// Blocks with fewer rows are not sampled: all of their gaps are in two groups at most.
const ROWS_MIN: usize = 2 * GROUP_SLOTS;

/// How far from the guessed position the binary search for the sample looks. If the sample is not
/// within this distance, the search covers all samples. It spans a few cache lines, and more than
/// evenly distributed keys, such as hashes, deviate from the guess in a block of usual size.
const STRAY: usize = 8;

/// Samples around a guess that are fetched.
const FETCHED: usize = 4;

/// The key of every `STEP`-th row.
#[derive(Debug)]
pub struct Samples {
    words: Box<[u64]>,
    /// The first of them.
    first: u64,
    /// Samples per distance of words, times 2^64: where a word would be if keys were distributed
    /// evenly.
    density: u64,
}

impl Samples {
    /// Those of a block with `slots + 1` rows, all of one run.
    fn of(keys: &KeyReader<'_>, slots: usize) -> Self {
        let mut samples = Vec::with_capacity(slots.div_ceil(STEP));
        let mut words = [0; GROUP_SLOTS];
        for start in (0..slots).step_by(GROUP_SLOTS) {
            let words = &mut words[..GROUP_SLOTS.min(slots - start)];
            let before = keys.entries.get(start / GROUP_SLOTS);
            keys.sums(start, before, words);
            samples.push(before);
            let later = words.iter().skip(STEP - 1).step_by(STEP);
            samples.extend(later.take((words.len() - 1) / STEP));
        }
        let distance = samples[samples.len() - 1].wrapping_sub(samples[0]);
        let density = ((samples.len() as u128 - 1) << 64) / (u128::from(distance) + 1);
        let density = u64::try_from(density).unwrap_or(u64::MAX);
        Self { first: samples[0], words: samples.into(), density }
    }

    /// About where the last sample below `word` is.
    #[inline(always)]
    fn guess(&self, word: u64) -> usize {
        let distance = u128::from(word.saturating_sub(self.first));
        let guess = (distance * u128::from(self.density)) >> 64;
        (guess as usize).min(self.words.len() - 1)
    }

    /// Fetches what [`Self::seek`] reads.
    #[inline]
    pub(super) fn prefetch(&self, word: u64) {
        let guess = self.guess(word);
        let near = guess.saturating_sub(FETCHED)..self.words.len().min(guess + FETCHED);
        prefetch_value(&self.words[near]);
    }

    /// Where a lookup of `word` begins, in a run with this number of slots.
    #[inline]
    pub(super) fn seek(&self, word: u64, slots: usize) -> Seek {
        let guess = self.guess(word);
        let near = guess.saturating_sub(STRAY)..self.words.len().min(guess + STRAY);
        let is_near = (near.start == 0 || self.words[near.start] < word)
            && (near.end == self.words.len() || self.words[near.end] >= word);
        let among = if is_near { near } else { 0..self.words.len() };
        let (mut low, mut len) = (among.start, among.len());
        // The last sample below the word, or the first sample. Uses conditional moves, because the
        // outcome cannot be predicted.
        while len > 1 {
            let half = len / 2;
            low = if self.words[low + half] < word { low + half } else { low };
            len -= half;
        }
        let slot = low * STEP;
        Seek { slot, value: self.words[low], end: (slot + STEP).min(slots) }
    }
}

/// Samples of a block that are made once it was searched often.
#[derive(Debug, Default)]
pub struct LazySamples {
    lookups: AtomicUsize,
    samples: OnceLock<Samples>,
}

impl LazySamples {
    /// Bytes that those of a block take, made or not.
    pub fn memory_bytes(keys: &KeyReader<'_>) -> usize {
        if is_sampled(keys) { keys.rows.div_ceil(STEP) * size_of::<u64>() } else { 0 }
    }

    /// Those of the block, if there are some by now.
    #[inline]
    pub fn get(&self) -> Option<&Samples> {
        self.samples.get()
    }

    /// The same for a lookup in the block, which has `keys`.
    #[inline]
    pub fn get_for(&self, keys: &KeyReader<'_>) -> Option<&Samples> {
        match self.samples.get() {
            Some(samples) => Some(samples),
            None if is_sampled(keys) => self.count(keys),
            None => None,
        }
    }

    #[cold]
    fn count(&self, keys: &KeyReader<'_>) -> Option<&Samples> {
        // Two threads that count as one only make them later.
        let lookups = self.lookups.load(Relaxed);
        if lookups < LOOKUPS_BEFORE {
            self.lookups.store(lookups + 1, Relaxed);
            return None;
        }
        Some(self.samples.get_or_init(|| Samples::of(keys, keys.rows - 1)))
    }
}

#[inline]
fn is_sampled(keys: &KeyReader<'_>) -> bool {
    keys.words == 1 && keys.rows >= ROWS_MIN
}

#[cfg(test)]
mod tests {
    use super::super::encode_keys;
    use super::*;
    use proptest::prelude::*;

    /// Ascending words with gaps of all sizes, equal ones among them.
    fn ascending() -> impl Strategy<Value = Vec<u64>> {
        let gap = prop_oneof![0..3_u64, 0..1000_u64, 0..1_u64 << 50];
        let even = 90..110_u64;
        let gaps = |gap: BoxedStrategy<u64>| prop::collection::vec(gap, 1..2000);
        let gaps = prop_oneof![gaps(gap.boxed()), gaps(even.boxed()), gaps(Just(0).boxed())];
        (any::<u32>(), gaps).prop_map(|(first, gaps): (u32, Vec<u64>)| {
            let first = u64::from(first);
            let words = gaps.iter().scan(first, |word, gap| {
                *word += gap;
                Some(*word)
            });
            std::iter::once(first).chain(words).collect()
        })
    }

    proptest! {
        #[test]
        fn a_look_up_by_samples_finds_the_first_row_of_a_key(words in ascending(), others: [u64; 8]) {
            let mut bytes = Vec::new();
            encode_keys(&[&words], 0..words.len(), &mut bytes);
            let keys = KeyReader::parse(&bytes, 1, words.len()).unwrap();
            let samples = Samples::of(&keys, words.len() - 1);
            let sampled: Vec<_> = words[..words.len() - 1].iter().copied().step_by(STEP).collect();
            prop_assert_eq!(&*samples.words, &sampled[..]);
            let near = words.iter().flat_map(|&word| [word.wrapping_sub(1), word, word + 1]);
            for word in near.chain(others) {
                let first = words.partition_point(|&other| other < word);
                let expected = (words.get(first) == Some(&word)).then_some(first);
                let seek = keys.seek(&[word], Some(&samples));
                prop_assert_eq!(keys.find_first_from(&[word], seek), expected, "{}", word);
            }
        }
    }

    #[test]
    fn samples_are_made_after_some_look_ups_of_a_large_block_of_single_words() {
        let words: Vec<u64> = (0..1000).map(|i| i * i).collect();
        let lazy_for = |columns: &[&[u64]], rows: usize| {
            let mut bytes = Vec::new();
            encode_keys(columns, 0..rows, &mut bytes);
            let keys = KeyReader::parse(&bytes, columns.len(), rows).unwrap();
            let lazy = LazySamples::default();
            let before = (0..LOOKUPS_BEFORE).all(|_| lazy.get_for(&keys).is_none());
            let after = lazy.get_for(&keys).map(|samples| size_of_val(&*samples.words));
            (before, after, LazySamples::memory_bytes(&keys))
        };
        assert_eq!(lazy_for(&[&words], 1000), (true, Some(504), 504));
        assert_eq!(lazy_for(&[&words], ROWS_MIN - 1), (true, None, 0));
        assert_eq!(lazy_for(&[&words, &words], 1000), (true, None, 0));
    }
}
