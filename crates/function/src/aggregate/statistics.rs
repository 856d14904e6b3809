//! sum, mean, product, variance, std_dev: floats, whatever the numbers.
//!
//! Integers are added and multiplied exactly, and become a float once, at the end: the sum of `2^53`, `1` and `-2^53` is 1.

use super::Accumulate;
use crate::Failure;
use crate::call::{Call, Number};
use model::Value;

fn number(name: &'static str, value: &Value) -> Result<Number, Failure> {
    Number::of(value).ok_or_else(|| Call::new(name, &[]).refuse_operand(value, "numbers"))
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
        let sum = self.ints as f64 + self.floats;
        Ok(Value::Float(if self.name == "mean" { sum / self.count as f64 } else { sum }))
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

/// A number as the sum of both.
#[derive(Clone, Copy)]
struct Parts {
    whole: i128,
    rest: f64,
}

impl Parts {
    /// Floats below this have a whole part that fits, also as a difference.
    const WHOLE_MAX: f64 = (1_u128 << 100) as f64;

    fn of(number: Number) -> Self {
        match number {
            Number::Int(whole) => Self { whole, rest: 0.0 },
            Number::Float(float) if float.abs() < Self::WHOLE_MAX => {
                Self { whole: float.trunc() as i128, rest: float.fract() }
            }
            Number::Float(rest) => Self { whole: 0, rest },
        }
    }

    fn distance(self, from: Self) -> f64 {
        (self.whole - from.whole) as f64 + (self.rest - from.rest)
    }
}

/// variance and std_dev of a sample (over n - 1), by Welford's method, which does not cancel where the mean is large. It is
/// applied to the distances from the first number, which of integers are exact: as floats, those near `2^60` are multiples of 256.
pub(super) struct Spread {
    name: &'static str,
    first: Option<Parts>,
    count: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    pub(super) fn variance() -> Self {
        Self { name: "variance", first: None, count: 0.0, mean: 0.0, squares: 0.0 }
    }

    pub(super) fn std_dev() -> Self {
        Self { name: "std_dev", ..Self::variance() }
    }
}

impl Accumulate for Spread {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        let number = Parts::of(number(self.name, value)?);
        let number = number.distance(*self.first.get_or_insert(number));
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
