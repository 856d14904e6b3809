//! Which bucket a pair belongs to.
//!
//! # Why a table in front of the search
//! A search by halves among a thousand splitters is ten steps a row. The table cuts the range of
//! first ends into equal granules; nearly all granules hold no splitter, and then the granule
//! alone says the bucket.
//!
//! # Invariants
//! 1. A bucket holds either rows of one pair only, or about as many rows as the others: a pair so
//!    frequent that it would fill a bucket has one of its own.

use super::rows::{Pair, Span};

/// Granules of the table: 128 KiB, so it stays in the second cache.
const GRANULES: u64 = 1 << 16;

/// Buckets at most, so that a row's bucket fits 16 bits.
pub(super) const BUCKETS_MAX: usize = 1 << 15;

/// Ascending pairs that part buckets; the bucket of a pair is the number of splitters at or below.
#[derive(Clone, Debug)]
pub(super) struct Splitters {
    pairs: Vec<Pair>,
    base: u64,
    shift: u32,
    /// For each granule the number of splitters below it, and one more.
    below: Vec<u16>,
}

/// The pairs of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// First pair inside.
    pub(super) lower: Pair,
    /// First pair outside; `None` for the last bucket.
    pub(super) upper: Option<Pair>,
}

impl Splitters {
    /// Chooses splitters for about `buckets` buckets from samples, each standing for some rows.
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
    /// Whether a single pair fits.
    pub(super) fn is_one_pair(self) -> bool {
        self.upper.is_some() && self.upper == successor(self.lower)
    }

    pub(super) fn contains(self, pair: Pair) -> bool {
        self.lower <= pair && self.upper.is_none_or(|upper| pair < upper)
    }
}

/// The pair after this one.
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
