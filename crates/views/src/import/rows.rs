//! Packed rows in memory: one word for an edge if its two ends fit 64 bits together.
//!
//! # Why each piece is packed by itself
//! A piece of input contains few vertices compared with 2^64. Relative to the smallest of their
//! column, both ends nearly always fit one word: half the memory and half the traffic of every
//! pass.

use super::splitters::Splitters;
use base::shape::{float_to_word, int_to_word};
use ingest::EdgeChunk;

/// One row in this many is a sample of its piece.
const SAMPLE_STRIDE: usize = 64;

/// A pair of vertices. Rows are sorted by the first one.
pub(super) type Pair = (u64, u64);

/// The pairs of a piece.
#[derive(Clone, Debug)]
pub(super) enum Pairs {
    /// Both ends relative to a base, in one word, with the first end in the upper bits.
    Packed { base: Pair, second_bits: u32, words: Vec<u64> },
    /// Both ends as they are, if they do not fit one word.
    Wide(Vec<Pair>),
}

/// The weights of a piece, as stored words.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WeightWords {
    /// The graph has no weights.
    None,
    /// All weights are equal.
    Constant(u64),
    /// One weight for each row.
    Words(Vec<u64>),
}

/// The rows of a piece of input, in input order or scattered by bucket.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) pairs: Pairs,
    pub(super) weights: WeightWords,
}

/// Smallest and largest word of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Span {
    pub(super) const EMPTY: Self = Self { min: u64::MAX, max: 0 };

    pub(super) fn of(words: &[u64]) -> Self {
        words.iter().fold(Self::EMPTY, |span, &word| Self {
            min: span.min.min(word),
            max: span.max.max(word),
        })
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Bits of the difference between the largest and the smallest word.
    pub(super) fn bits(self) -> u32 {
        u64::BITS - self.max.saturating_sub(self.min).leading_zeros()
    }
}

/// A left shift that allows all 64 bits.
pub(super) fn shl(word: u64, bits: u32) -> u64 {
    word.checked_shl(bits).unwrap_or(0)
}

/// A right shift that allows all 64 bits.
pub(super) fn shr(word: u64, bits: u32) -> u64 {
    word.checked_shr(bits).unwrap_or(0)
}

/// A mask of the lowest `bits` bits.
pub(super) fn mask(bits: u32) -> u64 {
    shl(1, bits).wrapping_sub(1)
}

impl Rows {
    /// Packs two columns of equal length; also returns their spans.
    pub(super) fn pack(src: &[u64], dst: &[u64], weights: WeightWords) -> (Self, [Span; 2]) {
        let (first, second) = (Span::of(src), Span::of(dst));
        let second_bits = second.bits();
        let pairs = if first.bits() + second_bits <= u64::BITS {
            let base = (first.min, second.min);
            let pack = |(&s, &d): (&u64, &u64)| shl(s - base.0, second_bits) | (d - base.1);
            let words = src.iter().zip(dst).map(pack).collect();
            Pairs::Packed { base, second_bits, words }
        } else {
            Pairs::Wide(src.iter().copied().zip(dst.iter().copied()).collect())
        };
        (Self { pairs, weights }, [first, second])
    }

    pub(super) fn len(&self) -> usize {
        match &self.pairs {
            Pairs::Packed { words, .. } => words.len(),
            Pairs::Wide(pairs) => pairs.len(),
        }
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let pairs = match &self.pairs {
            Pairs::Packed { words, .. } => words.capacity() * 8,
            Pairs::Wide(pairs) => pairs.capacity() * 16,
        };
        let weights = match &self.weights {
            WeightWords::Words(words) => words.capacity() * 8,
            WeightWords::None | WeightWords::Constant(_) => 0,
        };
        (pairs + weights) as u64
    }

    pub(super) fn pair(&self, i: usize) -> Pair {
        match &self.pairs {
            Pairs::Packed { base, second_bits, words } => unpack(words[i], *base, *second_bits),
            Pairs::Wide(pairs) => pairs[i],
        }
    }

    /// Sampled pairs from pseudorandom positions, each with the number of rows that it represents.
    pub(super) fn sample(&self, out: &mut Vec<(Pair, u64)>) {
        let mut from = 0;
        while from < self.len() {
            let width = SAMPLE_STRIDE.min(self.len() - from);
            // The offset is a multiplicative hash of the position: samples at equal distances could
            // coincide with a period of the input.
            let offset = (from as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            out.push((self.pair(from + offset as usize % width), width as u64));
            from += width;
        }
    }

    /// Sorts the rows by bucket and keeps their order within a bucket. `flip` swaps the two ends
    /// first.
    pub(super) fn scatter(self, flip: bool, splitters: &Splitters) -> Scattered {
        let (buckets, mut ends) = self.buckets(flip, splitters);
        let mut at = 0;
        for end in &mut ends {
            at += std::mem::replace(end, at);
        }
        // `ends` holds the start of each bucket now, and the moves below advance it to its end.
        let weights = match self.weights {
            WeightWords::Words(words) => {
                WeightWords::Words(distribute(&words, &buckets, &mut ends.clone(), |word| word))
            }
            constant => constant,
        };
        let pairs = match self.pairs {
            Pairs::Packed { base, second_bits, words } if flip => {
                let first_bits = first_bits(&words, second_bits);
                let low = mask(second_bits);
                let swap = |word| shl(word & low, first_bits) | shr(word, second_bits);
                let words = distribute(&words, &buckets, &mut ends, swap);
                Pairs::Packed { base: (base.1, base.0), second_bits: first_bits, words }
            }
            Pairs::Packed { base, second_bits, words } => {
                let words = distribute(&words, &buckets, &mut ends, |word| word);
                Pairs::Packed { base, second_bits, words }
            }
            Pairs::Wide(pairs) => {
                let swap = |(a, b)| if flip { (b, a) } else { (a, b) };
                Pairs::Wide(distribute(&pairs, &buckets, &mut ends, swap))
            }
        };
        Scattered { rows: Self { pairs, weights }, ends }
    }

    /// The bucket of each row, and the number of rows of each bucket.
    fn buckets(&self, flip: bool, splitters: &Splitters) -> (Vec<u16>, Vec<u32>) {
        let mut counts = vec![0; splitters.buckets()];
        let mut find = |(a, b): Pair| {
            let bucket = if flip { splitters.find(b, a) } else { splitters.find(a, b) };
            counts[bucket as usize] += 1;
            bucket
        };
        let buckets = match &self.pairs {
            Pairs::Packed { base, second_bits, words } => {
                words.iter().map(|&word| find(unpack(word, *base, *second_bits))).collect()
            }
            Pairs::Wide(pairs) => pairs.iter().map(|&pair| find(pair)).collect(),
        };
        (buckets, counts)
    }
}

/// Bits of the largest first end. Computed from the words, so that a piece need not store its span.
fn first_bits(words: &[u64], second_bits: u32) -> u32 {
    let all = words.iter().fold(0, |all, &word| all | word);
    u64::BITS - shr(all, second_bits).leading_zeros()
}

pub(super) fn unpack(word: u64, base: Pair, second_bits: u32) -> Pair {
    (base.0 + shr(word, second_bits), base.1 + (word & mask(second_bits)))
}

fn distribute<T: Copy + Default>(
    from: &[T],
    buckets: &[u16],
    starts: &mut [u32],
    change: impl Fn(T) -> T,
) -> Vec<T> {
    let mut out = vec![T::default(); from.len()];
    for (&item, &bucket) in from.iter().zip(buckets) {
        let start = &mut starts[bucket as usize];
        out[*start as usize] = change(item);
        *start += 1;
    }
    out
}

/// The rows of a piece, grouped by bucket.
#[derive(Clone, Debug)]
pub(super) struct Scattered {
    pub(super) rows: Rows,
    /// End of each bucket.
    pub(super) ends: Vec<u32>,
}

impl Scattered {
    pub(super) fn bucket(&self, bucket: usize) -> std::ops::Range<usize> {
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        start as usize..self.ends[bucket] as usize
    }
}

/// The stored words of a chunk's weights.
pub(super) fn weight_words(chunk: &EdgeChunk) -> WeightWords {
    match &chunk.weights {
        ingest::Weights::None => WeightWords::None,
        ingest::Weights::Float(weights) => packed(weights, |&weight| float_to_word(weight)),
        ingest::Weights::Int(weights) => packed(weights, |&weight| int_to_word(weight)),
    }
}

fn packed<T>(weights: &[T], word: impl Fn(&T) -> u64) -> WeightWords {
    let Some(first) = weights.first().map(&word) else { return WeightWords::Words(Vec::new()) };
    if weights.iter().all(|weight| word(weight) == first) {
        return WeightWords::Constant(first);
    }
    WeightWords::Words(weights.iter().map(word).collect())
}
