//! Chance, in the words in which a plan is drawn.

use crate::Random;

/// One seed, one sequence, the same on every machine for ever.
#[derive(Clone, Debug)]
pub struct Dice(Random);

impl Dice {
    /// A sequence of its own for every seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// Any word.
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

    /// True once in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.0.index(from.len())]
    }
}

/// A word that looks random and depends on every bit of `word`.
#[must_use]
pub fn mix(word: u64) -> u64 {
    Random::new(word).word()
}
