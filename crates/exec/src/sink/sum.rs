//! Sums and means of numbers, of decimals and of durations.

use crate::error::{Error, Result};
use crate::expr::one_nan;
use crate::value::cell::{Cell, Interner};
use model::{Decimal, DecimalSum, Value};
use syntax::Span;

/// A sum, with integers and decimals exact and floats separate.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    /// The sum of the integers, the decimals, and the microseconds of durations.
    exact: DecimalSum,
    pub floats: f64,
    pub has_floats: bool,
    has_decimals: bool,
    pub rows: u64,
    /// How many of the rows are durations.
    durations: u64,
}

const _: () = assert!(size_of::<Sum>() == 64, "each group of a query has one");

impl Sum {
    #[inline]
    pub(super) fn add(
        &mut self,
        cell: Cell,
        weight: u64,
        interner: &Interner,
        of: &str,
        span: Span,
    ) -> Result<()> {
        self.rows = self.rows.saturating_add(weight);
        match cell.as_small_int() {
            Some(int) => self.add_ints(i128::from(int), weight, of, span),
            None => match number(cell, interner, of, span)? {
                Number::Int(int) => self.add_ints(int, weight, of, span),
                Number::Float(float) => {
                    self.floats += float * weight as f64;
                    self.has_floats = true;
                    Ok(())
                }
                Number::Decimal(decimal) => {
                    self.has_decimals = true;
                    let exact = self.exact.plus(decimal, weight);
                    self.exact = exact.ok_or_else(|| too_large(of, span))?;
                    Ok(())
                }
                Number::Duration(us) => {
                    self.durations = self.durations.saturating_add(weight);
                    self.add_ints(us, weight, of, span)
                }
            },
        }
    }

    #[inline]
    pub(super) fn add_ints(&mut self, int: i128, weight: u64, of: &str, span: Span) -> Result<()> {
        // A checked product of 128 bits is a function call.
        let more = if weight == 1 { Some(int) } else { int.checked_mul(i128::from(weight)) };
        match more.and_then(|more| self.exact.plus_int(more)) {
            Some(exact) => {
                self.exact = exact;
                Ok(())
            }
            None => Err(out_of_range(of, span)),
        }
    }

    pub(super) fn join(&mut self, other: Self, of: &str, span: Span) -> Result<()> {
        self.rows = self.rows.saturating_add(other.rows);
        self.durations = self.durations.saturating_add(other.durations);
        if other.has_floats {
            self.floats += other.floats;
            self.has_floats = true;
        }
        self.has_decimals |= other.has_decimals;
        match self.exact.join(other.exact) {
            Some(exact) => {
                self.exact = exact;
                Ok(())
            }
            None if self.has_decimals => Err(too_large(of, span)),
            None => Err(out_of_range(of, span)),
        }
    }

    /// The sum of the integers and that of the floats. With decimals, all numbers are floats.
    fn ints_and_floats(&self) -> (i128, f64) {
        match self.has_decimals {
            true => (0, self.exact.to_float() + self.floats),
            false => (self.exact.floor(), self.floats),
        }
    }

    fn whole(&self) -> f64 {
        let (ints, floats) = self.ints_and_floats();
        if self.has_floats { ints as f64 + floats } else { ints as f64 }
    }

    /// The cell of the sum.
    ///
    /// # Errors
    /// Numbers beside durations, or a sum of durations that is too long.
    pub(super) fn total(&self, interner: &Interner, span: Span) -> Result<Cell> {
        let us = || self.exact.floor();
        self.cell("sum", us, || self.whole(), interner, span)
    }

    /// The cell of the mean.
    ///
    /// # Errors
    /// As [`Sum::total`].
    pub(super) fn mean(&self, interner: &Interner, span: Span) -> Result<Cell> {
        let us = || function::rounded_div(self.exact.floor(), self.rows);
        let float = || {
            let (ints, floats) = self.ints_and_floats();
            function::mean(ints, floats, self.rows)
        };
        self.cell("mean", us, float, interner, span)
    }

    /// The cell of a result: a duration of `us` if the rows are durations, a decimal if some are
    /// decimals and none are floats, otherwise a float.
    fn cell(
        &self,
        of: &str,
        us: impl FnOnce() -> i128,
        float: impl FnOnce() -> f64,
        interner: &Interner,
        span: Span,
    ) -> Result<Cell> {
        match function::duration_of_rows(self.durations, self.rows, us) {
            Ok(Some(duration)) => return Ok(interner.take(duration)),
            Ok(None) => {}
            Err(why) => return Err(Error::value(format!("{of}: {why}"), span)),
        }
        if !self.has_decimals || self.has_floats {
            return Ok(interner.float(one_nan(float())));
        }
        match function::decimal_of_rows(of, self.exact, self.rows) {
            Ok(decimal) => Ok(interner.take(Value::Decimal(decimal))),
            Err(why) => Err(Error::value(format!("{of}: {why}"), span)),
        }
    }
}

enum Number {
    Int(i128),
    Float(f64),
    Duration(i128),
    Decimal(Decimal),
}

fn number(cell: Cell, interner: &Interner, of: &str, span: Span) -> Result<Number> {
    interner.with(cell, |value| match *value {
        Value::Int(int) => Ok(Number::Int(i128::from(int))),
        Value::Id(id) => Ok(Number::Int(i128::from(id))),
        Value::Float(float) => Ok(Number::Float(float)),
        Value::Duration(us) => Ok(Number::Duration(i128::from(us))),
        Value::Decimal(decimal) => Ok(Number::Decimal(decimal)),
        ref other => Err(not_a_number(other, of, span)),
    })
}

fn too_large(of: &str, span: Span) -> Error {
    Error::value(format!("{of}: {}", function::SUM_TOO_LARGE), span)
}

fn out_of_range(of: &str, span: Span) -> Error {
    Error::value(format!("{of}: the sum leaves the range of 128 bits"), span)
}

fn not_a_number(value: &Value, of: &str, span: Span) -> Error {
    let found = match value {
        Value::Null => "null".to_owned(),
        other => format!("{} ({other})", other.kind()),
    };
    Error::value(format!("{of}: expected numbers, found {found}"), span)
}
