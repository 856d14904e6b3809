//! sum, mean, product, variance and std_dev. The results are floats; sums and means of durations
//! are durations, those of decimals, and of decimals and integers, are decimals.
//!
//! Integers are added and multiplied exactly, and converted to a float once, at the end: the sum of
//! `2^53`, `1` and `-2^53` is 1.

use super::accumulate::Accumulate;
use crate::call::{Call, Number};
use crate::failure::Failure;
use crate::temporal::{duration_of_rows, rounded_div};
use model::{Decimal, DecimalSum, Value};

fn number(name: &'static str, value: &Value) -> Result<Number, Failure> {
    Number::of(value).ok_or_else(|| Call::new(name, &[]).refuse_operand(value, "numbers"))
}

/// The mean of `count` numbers, from the sum of the integers and the sum of the floats among them.
/// NaN without numbers.
#[must_use]
pub fn mean(ints: i128, floats: f64, count: u64) -> f64 {
    if count == 0 {
        return f64::NAN;
    }
    // Converting a large sum to a float would lose digits, so the quotient is computed in integers
    // first.
    let (whole, rest) = (ints / i128::from(count), ints % i128::from(count));
    whole as f64 + (rest as f64 + floats) / count as f64
}

/// The error of a sum of decimals with too many digits.
pub const SUM_TOO_LARGE: &str = "the sum does not fit a Decimal, which has 38 digits";

/// The sum, or for the name `mean` the mean, of this many decimals and integers.
///
/// # Errors
/// [`SUM_TOO_LARGE`].
pub fn decimal_of_rows(name: &str, sum: DecimalSum, rows: u64) -> Result<Decimal, &'static str> {
    let total = sum.total().ok_or(SUM_TOO_LARGE)?;
    let mean = || total.checked_div(Decimal::of_int(i128::from(rows))?);
    let found = if name == "mean" { mean() } else { Some(total) };
    found.ok_or(SUM_TOO_LARGE)
}

/// sum and mean.
pub(super) struct Sum {
    name: &'static str,
    /// The sum of the integers, the decimals, and the microseconds of durations.
    exact: DecimalSum,
    floats: f64,
    count: u64,
    /// How many of the values are durations.
    durations: u64,
    has_decimals: bool,
    has_floats: bool,
}

impl Sum {
    pub(super) fn total() -> Self {
        Self {
            name: "sum",
            exact: DecimalSum::default(),
            floats: 0.0,
            count: 0,
            durations: 0,
            has_decimals: false,
            has_floats: false,
        }
    }

    pub(super) fn mean() -> Self {
        Self { name: "mean", ..Self::total() }
    }

    fn fail(&self, why: &str) -> Failure {
        Call::new(self.name, &[]).fail(why)
    }
}

impl Accumulate for Sum {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        let exact = match value {
            Value::Duration(us) => {
                self.durations += 1;
                self.exact.plus_int(i128::from(*us))
            }
            value => match number(self.name, value)? {
                Number::Int(int) => self.exact.plus_int(int),
                Number::Decimal(decimal) => {
                    self.has_decimals = true;
                    self.exact.plus(decimal, 1)
                }
                Number::Float(float) => {
                    self.floats += float;
                    self.has_floats = true;
                    Some(self.exact)
                }
            },
        };
        // Only decimals can be too large: it would take 2^63 integers of 64 bits.
        self.exact = exact.ok_or_else(|| self.fail(SUM_TOO_LARGE))?;
        self.count += 1;
        Ok(())
    }

    /// Without rows the sum is 0 and the mean NaN.
    fn finish(&mut self) -> Result<Value, Failure> {
        let us = || match self.name {
            "mean" => rounded_div(self.exact.floor(), self.count),
            _ => self.exact.floor(),
        };
        let duration = duration_of_rows(self.durations, self.count, us);
        if let Some(duration) = duration.map_err(|why| self.fail(why))? {
            return Ok(duration);
        }
        if self.has_decimals && !self.has_floats {
            let decimal = decimal_of_rows(self.name, self.exact, self.count);
            return decimal.map(Value::Decimal).map_err(|why| self.fail(why));
        }
        let (ints, floats) = match self.has_decimals {
            true => (0, self.exact.to_float() + self.floats),
            false => (self.exact.floor(), self.floats),
        };
        Ok(Value::Float(match self.name {
            "mean" => mean(ints, floats, self.count),
            _ => ints as f64 + floats,
        }))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// The product. Switches to floats if the integers overflow.
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
            Number::Decimal(decimal) => self.floats *= decimal.to_float(),
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

/// Sample variance and standard deviation (divided by n - 1) with Welford's method (1962), which is
/// accurate even if the mean is large. The first integer is subtracted from all integers before
/// they become floats. The differences are exact, while integers above 2^53 would lose their low
/// digits.
pub(super) struct Variance {
    name: &'static str,
    /// The first number if it is an integer.
    origin: i128,
    count: f64,
    /// Mean of the differences from the origin.
    mean: f64,
    squares: f64,
}

impl Variance {
    pub(super) fn new() -> Self {
        Self { name: "variance", origin: 0, count: 0.0, mean: 0.0, squares: 0.0 }
    }

    pub(super) fn std_dev() -> Self {
        Self { name: "std_dev", ..Self::new() }
    }
}

impl Accumulate for Variance {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        let number = match number(self.name, value)? {
            Number::Int(int) => {
                if self.count == 0.0 {
                    self.origin = int;
                }
                (int - self.origin) as f64
            }
            Number::Float(float) => float - self.origin as f64,
            Number::Decimal(decimal) => decimal.to_float() - self.origin as f64,
        };
        self.count += 1.0;
        let distance = number - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (number - self.mean);
        Ok(())
    }

    /// NaN for fewer than two numbers.
    fn finish(&mut self) -> Result<Value, Failure> {
        let variance = if self.count < 2.0 { f64::NAN } else { self.squares / (self.count - 1.0) };
        Ok(Value::Float(if self.name == "std_dev" { variance.sqrt() } else { variance }))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
