//! The numbers that counters hold.

use super::CountersDef;
use crate::keys::shown;
use crate::waiting::Sums;
use base::shape::{float_to_word, int_to_word, word_to_float, word_to_int};
use base::{KeyRef, Merge, Total};
use relation::{NumberType, invalid};
use store::{Error, ErrorKind, Result};

/// One number.
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

/// Numbers handed in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberList<'a> {
    /// A 1 for each key.
    Ones,
    /// Integers.
    Int(&'a [i64]),
    /// Floats.
    Float(&'a [f64]),
}

/// Numbers handed out.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberColumn {
    /// Integers.
    Int(Vec<i64>),
    /// Floats.
    Float(Vec<f64>),
}

impl NumberColumn {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Int(numbers) => numbers.len(),
            Self::Float(numbers) => numbers.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number `i`.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn get(&self, i: usize) -> Number {
        match self {
            Self::Int(numbers) => Number::Int(numbers[i]),
            Self::Float(numbers) => Number::Float(numbers[i]),
        }
    }
}

/// The word of a number given to counters. An integer is taken by counters of floats where it is
/// one exactly; NaN by none: it would be the sum, the least or the greatest from then on, whatever
/// came.
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

/// Appends the words of `count` numbers.
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

/// The number of a word that is stored for `key`.
pub(super) fn number_of(def: &CountersDef, key: KeyRef<'_>, word: u64) -> Result<Number> {
    if def.merge().is_past(word) {
        return Err(past(def, key));
    }
    Ok(match def.number {
        NumberType::Int => Number::Int(word_to_int(word)),
        NumberType::Float => Number::Float(word_to_float(word)),
    })
}

/// The numbers of words that are stored. A sum past the range is the end of it, which no other sum
/// is: one key does not hide the others.
pub(super) fn numbers_of(def: &CountersDef, words: &[u64]) -> NumberColumn {
    match def.number {
        NumberType::Int => NumberColumn::Int(words.iter().map(|&word| word_to_int(word)).collect()),
        NumberType::Float => {
            NumberColumn::Float(words.iter().map(|&word| word_to_float(word)).collect())
        }
    }
}

/// What a stored word and one that waits come to; `None` where that cannot be told from the two.
pub(super) fn both(merge: Merge, stored: u64, waiting: u64) -> Option<u64> {
    // What is stored of a sum past the range says no more than that.
    let is_end = match merge {
        Merge::AddFloat => word_to_float(stored).is_infinite(),
        _ => merge.is_past(stored),
    };
    if is_end { None } else { merge.apply(stored, waiting) }
}

/// What a counter has where nothing was counted.
pub(super) fn nothing(def: &CountersDef) -> Number {
    match def.number {
        NumberType::Int => Number::Int(0),
        NumberType::Float => Number::Float(0.0),
    }
}

/// The word of 0.
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

impl Sums for Merge {
    type Sum = u64;
    type Delta<'a> = u64;

    fn first(&self, delta: u64) -> Result<u64> {
        if waits(*self, delta) { Ok(delta) } else { Err(too_large_to_wait()) }
    }

    fn add(&self, _: KeyRef<'_>, sum: &mut u64, delta: u64) -> Result<()> {
        match self.apply(*sum, delta) {
            Some(both) if waits(*self, both) => {
                *sum = both;
                Ok(())
            }
            _ => Err(too_large_to_wait()),
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

/// A sum of integers waits up to here, plus and minus. One that is sealed and one that is open then
/// are a word together, also after they were opened again some hundred times because writing
/// failed.
const WAITING_INT_MAX: u64 = 1 << 55;

/// As [`WAITING_INT_MAX`] for finite floats.
const WAITING_FLOAT_MAX: f64 = 1e300;

/// Whether a sum may wait. What is larger is written at once: the store keeps apart what no word
/// holds.
fn waits(merge: Merge, word: u64) -> bool {
    match merge {
        Merge::AddInt => word_to_int(word).unsigned_abs() <= WAITING_INT_MAX,
        Merge::AddFloat => {
            let float = word_to_float(word).abs();
            float <= WAITING_FLOAT_MAX || !float.is_finite()
        }
        Merge::Min | Merge::Max => true,
    }
}

/// Never shown: who adds writes the increment to the store instead.
fn too_large_to_wait() -> Error {
    Error::new(ErrorKind::Limit, "too large to wait".to_owned())
}
