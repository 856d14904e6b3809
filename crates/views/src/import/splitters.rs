//! Splitters: map a pair to its bucket.
//!
//! # Why a lookup table before the search
//! A binary search among a thousand splitters takes ten steps a row. The table divides the range of
//! first ends into equal granules. Nearly all granules contain no splitter, and then the granule
//! alone determines the bucket.
//!
//! # Invariants
//! 1. A bucket holds either the rows of one pair, or about as many rows as other buckets: a pair
//!    frequent enough to fill a bucket gets its own.

use super::rows::{Pair, Span};

/// Maximum number of granules of the table: 128 KiB, which fits the L2 cache.
const GRANULES: u64 = 1 << 16;

/// Maximum number of buckets, so that a bucket's number fits 16 bits.
pub(super) const BUCKETS_MAX: usize = 1 << 15;

/// Ascending pairs between buckets. The bucket of a pair is the number of splitters at or below it.
#[derive(Clone, Debug)]
pub(super) struct Splitters {
    pairs: Vec<Pair>,
    base: u64,
    shift: u32,
    /// The number of splitters below each granule, with one more entry at the end.
    below: Vec<u16>,
}

/// The range of pairs in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// First pair inside.
    pub(super) lower: Pair,
    /// First pair outside; `None` for the last bucket.
    pub(super) upper: Option<Pair>,
}

impl Splitters {
    /// Chooses splitters for about `buckets` buckets. Each sample has the number of rows that it
    /// represents.
    pub(super) fn choose(mut samples: Vec<(Pair, u64)>, buckets: usize) -> Self {
        samples.sort_unstable();
        let rows: u64 = samples.iter().map(|(_, rows)| rows).sum();
        // A frequent pair takes two splitters.
        let step = (rows / buckets.clamp(1, BUCKETS_MAX / 4) as u64).max(1);
        let mut pairs: Vec<Pair> = Vec::new();
        let mut push = |pair: Pair| {
            if pairs.last() != Some(&pair) {
                pairs.push(pair);
            }
        };
        let mut since = 0;
        for group in samples.chunk_by(|a, b| a.0 == b.0) {
            let pair = group[0].0;
            let weight: u64 = group.iter().map(|(_, rows)| rows).sum();
            if buckets > 1 && group.len() > 1 && weight >= step {
                push(pair);
                successor(pair).into_iter().for_each(&mut push);
                since = 0;
            } else {
                if buckets > 1 && since > 0 && since + weight > step {
                    push(pair);
                    since = 0;
                }
                since += weight;
            }
        }
        Self::new(pairs)
    }

    fn new(pairs: Vec<Pair>) -> Self {
        let span = Span {
            min: pairs.first().map_or(0, |pair| pair.0),
            max: pairs.last().map_or(0, |pair| pair.0),
        };
        let shift = span.bits().saturating_sub(GRANULES.trailing_zeros());
        let granules = ((span.max - span.min) >> shift) + 1;
        let granule = |pair: &Pair| (pair.0 - span.min) >> shift;
        let mut below = Vec::with_capacity(granules as usize + 1);
        for g in 0..=granules {
            below.push(pairs.partition_point(|pair| granule(pair) < g) as u16);
        }
        Self { pairs, base: span.min, shift, below }
    }

    pub(super) fn buckets(&self) -> usize {
        self.pairs.len() + 1
    }

    #[inline]
    pub(super) fn find(&self, first: u64, second: u64) -> u16 {
        let last = self.below.len() - 2;
        let granule = ((first.saturating_sub(self.base) >> self.shift) as usize).min(last);
        let (from, to) = (self.below[granule], self.below[granule + 1]);
        if from == to {
            return from;
        }
        let inside = &self.pairs[from as usize..to as usize];
        from + inside.partition_point(|&pair| pair <= (first, second)) as u16
    }

    pub(super) fn bounds(&self, bucket: usize) -> Bounds {
        let lower = if bucket == 0 { (0, 0) } else { self.pairs[bucket - 1] };
        Bounds { lower, upper: self.pairs.get(bucket).copied() }
    }
}

impl Bounds {
    /// Whether the range contains a single pair.
    pub(super) fn is_one_pair(self) -> bool {
        self.upper.is_some() && self.upper == successor(self.lower)
    }

    pub(super) fn contains(self, pair: Pair) -> bool {
        self.lower <= pair && self.upper.is_none_or(|upper| pair < upper)
    }
}

/// The next pair in order; `None` after the last.
fn successor((first, second): Pair) -> Option<Pair> {
    match second.checked_add(1) {
        Some(second) => Some((first, second)),
        None => Some((first.checked_add(1)?, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair() -> impl Strategy<Value = Pair> {
        let word = prop_oneof![0..20_u64, Just(u64::MAX), u64::MAX - 5..=u64::MAX, any::<u64>()];
        (word.clone(), word)
    }

    proptest! {
        #[test]
        fn a_pair_is_in_the_bucket_whose_bounds_hold_it(
            samples in prop::collection::vec(pair(), 0..200),
            pairs in prop::collection::vec(pair(), 1..50),
            buckets in 1..40_usize,
        ) {
            let samples: Vec<_> = samples.into_iter().map(|pair| (pair, 3)).collect();
            let splitters = Splitters::choose(samples, buckets);
            prop_assert!(splitters.pairs.is_sorted_by(|a, b| a < b));
            for pair in pairs {
                let bucket = splitters.find(pair.0, pair.1) as usize;
                prop_assert!(bucket < splitters.buckets());
                prop_assert!(splitters.bounds(bucket).contains(pair));
            }
        }
    }

    #[test]
    fn a_frequent_pair_has_a_bucket_of_its_own() {
        let mut samples: Vec<_> = (0..100).map(|i| ((i, i), 1)).collect();
        samples.extend(std::iter::repeat_n(((50, 7), 1), 1000));
        let splitters = Splitters::choose(samples, 8);
        let bucket = splitters.find(50, 7) as usize;
        assert!(splitters.bounds(bucket).is_one_pair());
    }
}
