//! The numbers that counters hold.

use super::CountersDef;
use crate::keys::shown;
use crate::waiting::Sums;
use base::shape::{float_to_word, int_to_word, word_to_float, word_to_int};
use base::{KeyRef, Keys, Merge};
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

/// The word of a number given to counters. An integer is taken by counters of floats where it is one exactly; NaN by none: it would
/// be the sum, the least or the greatest from then on, whatever came.
pub(super) fn word_of(def: &CountersDef, number: Number) -> Result<u64> {
    match (def.number, number) {
        (NumberType::Int, Number::Int(int)) => {
            let word = int_to_word(int);
            if def.merge().overflowed(word) {
                return Err(invalid(format!(
                    "{int} cannot be counted: the ends of the range of int64 say that a sum overflowed"
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
    if def.merge().overflowed(word) {
        return Err(overflowed(def, key));
    }
    Ok(match def.number {
        NumberType::Int => Number::Int(word_to_int(word)),
        NumberType::Float => Number::Float(word_to_float(word)),
    })
}

/// The numbers of words that are stored for `keys`.
pub(super) fn numbers_of(def: &CountersDef, keys: &Keys, words: &[u64]) -> Result<NumberColumn> {
    let merge = def.merge();
    if let Some(i) = words.iter().position(|&word| merge.overflowed(word)) {
        return Err(overflowed(def, keys.get(i).as_ref()));
    }
    Ok(match def.number {
        NumberType::Int => NumberColumn::Int(words.iter().map(|&word| word_to_int(word)).collect()),
        NumberType::Float => {
            NumberColumn::Float(words.iter().map(|&word| word_to_float(word)).collect())
        }
    })
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

fn overflowed(def: &CountersDef, key: KeyRef<'_>) -> Error {
    let what = format!(
        "the sum of the counter {} of {:?} is past the range of int64",
        shown(def.key, key),
        def.name
    );
    let hint = "the sum is lost; set the counter anew, or count in float64";
    Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}"))
}

impl Sums for Merge {
    type Sum = u64;
    type Delta<'a> = u64;

    fn first(&self, delta: u64) -> u64 {
        delta
    }

    fn add(&self, _: KeyRef<'_>, sum: &mut u64, delta: u64) -> Result<()> {
        *sum = self.apply(*sum, delta);
        Ok(())
    }

    fn bytes(_: &u64) -> u64 {
        0
    }

    fn both(&self, older: &u64, newer: &u64) -> u64 {
        self.apply(*older, *newer)
    }
}
