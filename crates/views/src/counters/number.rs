//! The values of counters, and their conversion to stored words. The encoding is that of
//! `base::shape`, so that scripts and counters read the same values.

use super::CountersDef;
use crate::keys::shown;
use crate::write_buffer::Accumulate;
use base::shape::{float_to_word, int_to_word, word_to_float, word_to_int};
use base::{KeyRef, Merge, Total};
use relation::{NumberType, invalid};
use store::{Error, ErrorKind, Result};

/// A number added to a counter, or the value of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

/// Numbers passed to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberList<'a> {
    /// A 1 for each key.
    Ones,
    /// Integers.
    Int(&'a [i64]),
    /// Floats.
    Float(&'a [f64]),
}

/// Numbers returned by a call.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberColumn {
    /// Integers.
    Int(Vec<i64>),
    /// Floats.
    Float(Vec<f64>),
}

impl NumberColumn {
    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Int(numbers) => numbers.len(),
            Self::Float(numbers) => numbers.len(),
        }
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number `i`.
    ///
    /// # Panics
    /// If `i` is out of bounds.
    #[must_use]
    pub fn get(&self, i: usize) -> Number {
        match self {
            Self::Int(numbers) => Number::Int(numbers[i]),
            Self::Float(numbers) => Number::Float(numbers[i]),
        }
    }
}

/// The word of a number for counters of this definition. Counters of floats accept integers that a
/// float represents exactly. All counters refuse NaN: it would stay the sum, the minimum or the
/// maximum whatever is added later.
pub(super) fn word_of(def: &CountersDef, number: Number) -> Result<u64> {
    match (def.number, number) {
        (NumberType::Int, Number::Int(int)) => {
            let word = int_to_word(int);
            if def.merge().is_past(word) {
                return Err(invalid(format!(
                    "{int} cannot be counted: the ends of the range of int64 say that a sum is past it"
                )));
            }
            Ok(word)
        }
        (NumberType::Float, Number::Float(float)) if float.is_nan() => Err(invalid(
            "NaN cannot be counted: nothing that is added later would take it out of the counter",
        )),
        (NumberType::Float, Number::Float(float)) => Ok(float_to_word(float)),
        (NumberType::Float, Number::Int(int)) if (int as f64) as i64 == int => {
            Ok(float_to_word(int as f64))
        }
        (of, number) => Err(invalid(format!("the counters are {of}, {number:?} was given"))),
    }
}

/// Appends the words of `numbers`, which must be `count`.
pub(super) fn words_of(
    def: &CountersDef,
    numbers: NumberList<'_>,
    count: usize,
    out: &mut Vec<u64>,
) -> Result<()> {
    let given = match numbers {
        NumberList::Ones => count,
        NumberList::Int(list) => list.len(),
        NumberList::Float(list) => list.len(),
    };
    if given != count {
        return Err(invalid(format!("{count} keys, but {given} numbers")));
    }
    out.reserve(count);
    match numbers {
        NumberList::Ones => out.resize(out.len() + count, word_of(def, Number::Int(1))?),
        NumberList::Int(list) => {
            for &int in list {
                out.push(word_of(def, Number::Int(int))?);
            }
        }
        NumberList::Float(list) => {
            for &float in list {
                out.push(word_of(def, Number::Float(float))?);
            }
        }
    }
    Ok(())
}

/// The number of a word stored for `key`; an error if its sum is out of range.
pub(super) fn number_of(def: &CountersDef, key: KeyRef<'_>, word: u64) -> Result<Number> {
    if def.merge().is_past(word) {
        return Err(past(def, key));
    }
    Ok(match def.number {
        NumberType::Int => Number::Int(word_to_int(word)),
        NumberType::Float => Number::Float(word_to_float(word)),
    })
}

/// The numbers of stored words. A sum out of range is returned as the end of the range, which no
/// other sum equals. So one such key does not make a read of others fail.
pub(super) fn numbers_of(def: &CountersDef, words: &[u64]) -> NumberColumn {
    match def.number {
        NumberType::Int => NumberColumn::Int(words.iter().map(|&word| word_to_int(word)).collect()),
        NumberType::Float => {
            NumberColumn::Float(words.iter().map(|&word| word_to_float(word)).collect())
        }
    }
}

/// Combines a stored word and a buffered one; `None` if the result is not known from the two.
pub(super) fn both(merge: Merge, stored: u64, buffered: u64) -> Option<u64> {
    // A stored sum out of range is only a mark: its exact value is not known here.
    let is_end = match merge {
        Merge::AddFloat => word_to_float(stored).is_infinite(),
        _ => merge.is_past(stored),
    };
    if is_end { None } else { merge.apply(stored, buffered) }
}

/// The value of an absent counter.
pub(super) fn nothing(def: &CountersDef) -> Number {
    match def.number {
        NumberType::Int => Number::Int(0),
        NumberType::Float => Number::Float(0.0),
    }
}

/// The word of the number 0.
pub(super) fn zero(def: &CountersDef) -> u64 {
    match def.number {
        NumberType::Int => int_to_word(0),
        NumberType::Float => float_to_word(0.0),
    }
}

fn past(def: &CountersDef, key: KeyRef<'_>) -> Error {
    let what = format!(
        "the sum of the counter {} of {:?} is past the range of int64",
        shown(def.key, key),
        def.name
    );
    let hint = "nothing is lost: add the opposite, set the counter anew, or count in float64";
    Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}"))
}

impl Accumulate for Merge {
    type Sum = u64;
    type Delta<'a> = u64;

    fn first(&self, delta: u64) -> Result<u64> {
        if fits_buffer(*self, delta) { Ok(delta) } else { Err(too_large_to_buffer()) }
    }

    fn add(&self, _: KeyRef<'_>, sum: &mut u64, delta: u64) -> Result<()> {
        match self.apply(*sum, delta) {
            Some(both) if fits_buffer(*self, both) => {
                *sum = both;
                Ok(())
            }
            _ => Err(too_large_to_buffer()),
        }
    }

    fn bytes(_: &u64) -> u64 {
        0
    }

    fn both(&self, older: &u64, newer: &u64) -> u64 {
        let mut total = Total::of(*self, *newer);
        total.add_older(*self, *older);
        total.word()
    }
}

/// Maximum absolute value of a buffered sum of integers. The sums of a sealed and an open table
/// then fit a word together, even after several hundred failed writes that reopened a sealed table.
const BUFFERED_INT_MAX: u64 = 1 << 55;

/// As [`BUFFERED_INT_MAX`], for finite floats.
const BUFFERED_FLOAT_MAX: f64 = 1e300;

/// Whether a sum may be buffered. Larger ones are written immediately: the store keeps separate the
/// operands whose sum does not fit a word.
fn fits_buffer(merge: Merge, word: u64) -> bool {
    match merge {
        Merge::AddInt => word_to_int(word).unsigned_abs() <= BUFFERED_INT_MAX,
        Merge::AddFloat => {
            let float = word_to_float(word).abs();
            float <= BUFFERED_FLOAT_MAX || !float.is_finite()
        }
        Merge::Min | Merge::Max => true,
    }
}

/// Never returned to a user: the caller writes the increment to the store instead.
fn too_large_to_buffer() -> Error {
    Error::new(ErrorKind::Limit, "too large to wait".to_owned())
}
