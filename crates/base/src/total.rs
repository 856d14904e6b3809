//! Merges all operands of one value: the versions of one key in a column with a merge operator.
//! `lsm`, `kv` and `views` use it.
//!
//! # Why wider than a word
//! Storage does not combine operands whose sum does not fit in a word ([`Merge::apply`]). A result
//! must not depend on which versions were already flushed. So readers add up operands in a type
//! that holds every partial sum, and check only the range of the final sum.

use crate::shape::{Merge, float_to_word, int_to_word, word_to_float, word_to_int};

/// Scale at which sums of floats cannot overflow. A power of two, so it rounds only subnormal
/// results.
const SHRUNK: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// A partial result without overflow.
#[derive(Clone, Copy, Debug)]
pub enum Total {
    /// A sum of integers. 2^64 words add up to less than 2^127. [`i128::MAX`] and [`i128::MIN`]
    /// stand for lost sums: stored out-of-range marks ([`Merge::is_past`]), whose sum is unknown.
    Int(i128),
    /// A sum of floats, and the scaled sum in case it overflows.
    Float {
        /// The sum; valid if finite.
        sum: f64,
        /// The sum times 2^-64.
        shrunk: f64,
    },
    /// The minimum or maximum.
    Word(u64),
}

impl Total {
    /// Starts with the newest operand.
    #[must_use]
    pub fn of(merge: Merge, word: u64) -> Self {
        match merge {
            Merge::AddInt => Self::Int(match word {
                u64::MAX => i128::MAX,
                0 => i128::MIN,
                word => word_to_int(word).into(),
            }),
            Merge::AddFloat => {
                let sum = word_to_float(word);
                Self::Float { sum, shrunk: sum * SHRUNK }
            }
            Merge::Min | Merge::Max => Self::Word(word),
        }
    }

    /// Merges the next older operand. A lost sum stays lost.
    pub fn add_older(&mut self, merge: Merge, word: u64) {
        match (self, Self::of(merge, word)) {
            (Self::Int(sum), Self::Int(_)) if *sum == i128::MAX || *sum == i128::MIN => {}
            (Self::Int(sum), Self::Int(lost @ (i128::MAX | i128::MIN))) => *sum = lost,
            (Self::Int(sum), Self::Int(older)) => *sum += older,
            (Self::Float { sum, shrunk }, Self::Float { sum: older, shrunk: smaller }) => {
                *sum += older;
                *shrunk += smaller;
            }
            (Self::Word(newer), Self::Word(older)) => match merge {
                Merge::Min => *newer = older.min(*newer),
                _ => *newer = older.max(*newer),
            },
            _ => unreachable!("one operator a column"),
        }
    }

    /// The word that a read returns: an out-of-range mark ([`Merge::is_past`]) or an infinity if
    /// the sum is out of range.
    #[must_use]
    pub fn word(self) -> u64 {
        match self {
            Self::Int(sum) if sum >= i64::MAX.into() => u64::MAX,
            Self::Int(sum) if sum <= i64::MIN.into() => 0,
            Self::Int(sum) => int_to_word(sum as i64),
            Self::Float { sum, .. } if sum.is_finite() => float_to_word(sum),
            Self::Float { shrunk, .. } => float_to_word(shrunk / SHRUNK),
            Self::Word(word) => word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(merge: Merge, words: &[u64]) -> u64 {
        let mut total = Total::of(merge, words[words.len() - 1]);
        words.iter().rev().skip(1).for_each(|&word| total.add_older(merge, word));
        total.word()
    }

    /// A history as a store keeps it: some adjacent operands are combined, if possible.
    fn grouped(merge: Merge, words: &[u64], at: &[usize]) -> Vec<u64> {
        let mut words = words.to_vec();
        for at in at {
            let at = at % words.len();
            if at + 1 < words.len()
                && let Some(both) = merge.apply(words[at], words[at + 1])
            {
                words.splice(at..at + 2, [both]);
            }
        }
        words
    }

    fn ints() -> impl Strategy<Value = i64> {
        let ends = (i64::MAX - 4..i64::MAX).prop_union(i64::MIN + 1..i64::MIN + 4);
        prop_oneof![ends, -9_i64..9, (1_i64 << 62) - 3..(1 << 62) + 3]
    }

    proptest! {
        #[test]
        fn only_the_end_of_a_sum_is_judged_whatever_was_combined_before(
            history in prop::collection::vec(ints(), 1..12),
            at in prop::collection::vec(0_usize..12, 0..30),
        ) {
            let words: Vec<u64> = history.iter().map(|&int| int_to_word(int)).collect();
            let sum: i128 = history.iter().map(|&int| i128::from(int)).sum();
            let wanted = match i64::try_from(sum) {
                Ok(sum) => int_to_word(sum),
                Err(_) => if sum > 0 { u64::MAX } else { 0 },
            };
            prop_assert_eq!(total(Merge::AddInt, &grouped(Merge::AddInt, &words, &at)), wanted);
        }

        #[test]
        fn a_sum_of_floats_is_infinite_only_if_its_end_is(
            history in prop::collection::vec(-6_i32..7, 1..12),
            at in prop::collection::vec(0_usize..12, 0..30),
        ) {
            // Multiples of a power of two, so that no sum is rounded.
            let unit = f64::powi(2.0, 1021);
            let words: Vec<u64> =
                history.iter().map(|&times| float_to_word(f64::from(times) * unit)).collect();
            let times = history.iter().sum::<i32>();
            let wanted = match times {
                8.. => f64::INFINITY,
                ..=-8 => f64::NEG_INFINITY,
                times => f64::from(times) * unit,
            };
            let got = word_to_float(total(Merge::AddFloat, &grouped(Merge::AddFloat, &words, &at)));
            prop_assert_eq!(got, wanted);
        }
    }

    #[test]
    fn infinities_stay_and_opposite_ones_are_no_number() {
        let sum = |floats: &[f64]| {
            let words: Vec<u64> = floats.iter().map(|&float| float_to_word(float)).collect();
            word_to_float(total(Merge::AddFloat, &words))
        };
        assert_eq!(sum(&[f64::INFINITY, -1e308]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, 1.0, f64::NEG_INFINITY]).is_nan());
        assert_eq!(sum(&[5e-324, -0.0]), 5e-324);
    }

    #[test]
    fn a_sum_that_an_older_version_lost_stays_lost() {
        assert_eq!(total(Merge::AddInt, &[u64::MAX, int_to_word(-5)]), u64::MAX);
        assert_eq!(total(Merge::AddInt, &[int_to_word(9), 0, int_to_word(5)]), 0);
    }
}
