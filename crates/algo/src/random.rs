//! Random numbers that depend on a seed and a number alone, so that each walk or vertex has its
//! own, whichever thread computes it.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The step of SplitMix64, from the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The numbers of stream `stream` of `seed`.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // Mixing the seed first keeps streams of neighboring seeds apart.
        Self(mix(seed.wrapping_add(STEP)) ^ mix(stream.wrapping_mul(STEP)))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number less than `bound`, which must not be 0. The bias is less than `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// At least 0 and less than 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
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
