//! The only source of randomness: a small generator with a state of one word.

/// A million: chances in [`crate::Settings`] and [`crate::FaultPlan`] are in parts per million.
pub const MILLION: u32 = 1_000_000;

/// The splitmix64 sequence. Equal seeds give equal words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// The sequence for `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent sequence, seeded by this one.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.word())
    }

    /// The next word.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`; 0 where `end` is 0.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        // For the values of `end` in use, the bias of the multiplication is about one in 2^64.
        ((u128::from(self.word()) * u128::from(end)) >> 64) as u64
    }

    /// As [`Random::below`], for lengths and indexes.
    #[inline]
    pub fn index(&mut self, end: usize) -> usize {
        self.below(end as u64) as usize
    }

    /// True with chance `ppm` in a million. A chance of 0 draws nothing, so switching a fault off
    /// leaves the rest of the sequence as it was.
    #[inline]
    pub fn chance(&mut self, ppm: u32) -> bool {
        ppm != 0 && self.below(u64::from(MILLION)) < u64::from(ppm)
    }

    /// True half of the time.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.word() >> 63 == 1
    }
}
