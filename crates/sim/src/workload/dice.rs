//! Random choices for the generator of plans.

use crate::random::Random;

/// A pseudo-random sequence: the same for equal seeds, on every machine and in every version.
#[derive(Clone, Debug)]
pub struct Dice(Random);

impl Dice {
    /// The sequence for `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.0.word()
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True with chance 1 in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A random element.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.0.index(from.len())]
    }
}

/// A pseudo-random word that depends on every bit of `word`.
#[must_use]
pub fn mix(word: u64) -> u64 {
    Random::new(word).word()
}
