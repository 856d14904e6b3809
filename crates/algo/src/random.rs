//! Random numbers from a seed, and choices that are made with them.
//!
//! A stream depends on a seed and a number alone, so that each walk or vertex has its own,
//! whichever thread computes it.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The step of SplitMix64, from the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The numbers of `seed` itself.
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of stream `stream` of `seed`.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // Mixing the seed first keeps streams of neighboring seeds apart.
        Self(mix(seed.wrapping_add(STEP)) ^ mix(stream.wrapping_mul(STEP)))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// See [`below`].
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        below(self.bits(), bound)
    }

    /// See [`unit`].
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.bits())
    }
}

/// A number less than `bound`, which must not be 0, from 64 random bits. The bias is less than
/// `bound / 2^64`.
pub(crate) fn below(bits: u64, bound: usize) -> usize {
    ((u128::from(bits) * bound as u128) >> 64) as usize
}

/// A number from 0, less than 1, from 64 random bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// An index chosen with probability proportional to its weight. `None` if all weights are zero;
/// then `bits` is not called. It returns 64 random bits.
pub(crate) fn weighted(weights: &[f64], bits: impl FnOnce() -> u64) -> Option<usize> {
    let most = weights.iter().copied().fold(0.0, f64::max);
    if most == 0.0 {
        return None;
    }
    // Relative to the greatest weight, so that the sum of very large weights stays finite.
    let total: f64 = weights.iter().map(|weight| weight / most).sum();
    let mut rest = unit(bits()) * total;
    let mut last = None;
    for (place, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = Some(place);
        rest -= weight / most;
        if rest < 0.0 {
            break;
        }
    }
    last
}

/// The numbers below `n` in an order that `seed` decides (Fisher and Yates).
pub(crate) fn shuffled(n: usize, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut random = Random::from_seed(seed);
    for i in (1..n).rev() {
        order.swap(i, random.below(i + 1));
    }
    order
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_evenly_over_streams_and_bounds() {
        let mut counts = [0; 10];
        for stream in 0..10_000 {
            let mut random = Random::new(7, stream);
            assert!((0.0..1.0).contains(&random.unit()));
            counts[random.below(10)] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
