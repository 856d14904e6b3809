//! sum, mean, product, variance, std_dev: floats, whatever the numbers.
//!
//! Integers are added and multiplied exactly, and become a float once, at the end: the sum of
//! `2^53`, `1` and `-2^53` is 1.

use super::Accumulate;
use crate::Failure;
use crate::call::{Call, Number};
use model::Value;

fn number(name: &'static str, value: &Value) -> Result<Number, Failure> {
    Number::of(value).ok_or_else(|| Call::new(name, &[]).refuse_operand(value, "numbers"))
}

/// The mean of `count` numbers, given the sum of the integers and the sum of the floats among them.
/// NaN if there are none.
#[must_use]
pub fn mean(ints: i128, floats: f64, count: u64) -> f64 {
    if count == 0 {
        return f64::NAN;
    }
    // A large sum would lose digits as a float, and its quotient others.
    let (whole, rest) = (ints / i128::from(count), ints % i128::from(count));
    whole as f64 + (rest as f64 + floats) / count as f64
}

/// sum and mean.
pub(super) struct Sum {
    name: &'static str,
    ints: i128,
    floats: f64,
    count: u64,
}

impl Sum {
    pub(super) fn total() -> Self {
        Self { name: "sum", ints: 0, floats: 0.0, count: 0 }
    }

    pub(super) fn mean() -> Self {
        Self { name: "mean", ..Self::total() }
    }
}

impl Accumulate for Sum {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        match number(self.name, value)? {
            // 2^63 numbers of 64 bits do not fill it.
            Number::Int(int) => self.ints += int,
            Number::Float(float) => self.floats += float,
        }
        self.count += 1;
        Ok(())
    }

    /// Over no rows the sum is 0, and the mean NaN.
    fn finish(&mut self) -> Result<Value, Failure> {
        Ok(Value::Float(match self.name {
            "mean" => mean(self.ints, self.floats, self.count),
            _ => self.ints as f64 + self.floats,
        }))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// product.
pub(super) struct Product {
    ints: i128,
    floats: f64,
}

impl Default for Product {
    fn default() -> Self {
        Self { ints: 1, floats: 1.0 }
    }
}

impl Accumulate for Product {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        match number("product", value)? {
            Number::Float(float) => self.floats *= float,
            Number::Int(int) => match self.ints.checked_mul(int) {
                Some(product) => self.ints = product,
                None => {
                    self.floats *= self.ints as f64;
                    self.ints = int;
                }
            },
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        Ok(Value::Float(self.ints as f64 * self.floats))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// Sample variance and standard deviation (over n - 1) by Welford's method (1962), which does not
/// cancel when the mean is large. Integers are shifted by the first one before they become floats:
/// the differences are exact, while integers past 2^53 would lose their low digits.
pub(super) struct Spread {
    name: &'static str,
    /// The first number, where it is an integer.
    origin: i128,
    count: f64,
    /// Of the distances from the origin.
    mean: f64,
    squares: f64,
}

impl Spread {
    pub(super) fn variance() -> Self {
        Self { name: "variance", origin: 0, count: 0.0, mean: 0.0, squares: 0.0 }
    }

    pub(super) fn std_dev() -> Self {
        Self { name: "std_dev", ..Self::variance() }
    }
}

impl Accumulate for Spread {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        let number = match number(self.name, value)? {
            Number::Int(int) => {
                if self.count == 0.0 {
                    self.origin = int;
                }
                (int - self.origin) as f64
            }
            Number::Float(float) => float - self.origin as f64,
        };
        self.count += 1.0;
        let distance = number - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (number - self.mean);
        Ok(())
    }

    /// NaN of less than two numbers.
    fn finish(&mut self) -> Result<Value, Failure> {
        let variance = if self.count < 2.0 { f64::NAN } else { self.squares / (self.count - 1.0) };
        Ok(Value::Float(if self.name == "std_dev" { variance.sqrt() } else { variance }))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
