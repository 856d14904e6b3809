//! Typed access to the arguments of a call, with uniform error messages.

use crate::failure::Failure;
use model::{Decimal, Value, Vector};
use std::fmt::{self, Write};

/// Maximum number of characters of a value in a message.
const SHOWN_MAX: usize = 40;

/// Maximum number of items in a list that is built from a shorter input: ranges, windows, bits.
pub const ITEMS_MAX: usize = 1 << 24;

/// The name of a function and its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    name: &'static str,
    args: &'a [Value],
}

/// A number without loss of precision.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
    Decimal(Decimal),
}

impl Number {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match *value {
            Value::Int(int) => Some(Self::Int(i128::from(int))),
            Value::Id(id) => Some(Self::Int(i128::from(id))),
            Value::Float(float) => Some(Self::Float(float)),
            Value::Decimal(decimal) => Some(Self::Decimal(decimal)),
            _ => None,
        }
    }

    pub(crate) fn to_float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
            Self::Decimal(decimal) => decimal.to_float(),
        }
    }

    /// The decimal of an integer or a decimal; `None` for a float and a long integer.
    pub(crate) fn to_decimal(self) -> Option<Decimal> {
        match self {
            Self::Int(int) => Decimal::of_int(int),
            Self::Float(_) => None,
            Self::Decimal(decimal) => Some(decimal),
        }
    }
}

impl<'a> Call<'a> {
    pub(crate) fn new(name: &'static str, args: &'a [Value]) -> Self {
        Self { name, args }
    }

    /// A call of the same function with other arguments.
    pub(crate) fn with(self, args: &[Value]) -> Call<'_> {
        Call { name: self.name, args }
    }

    pub(crate) fn args(self) -> &'a [Value] {
        self.args
    }

    /// Argument `i`, counted from 0; null if it is missing.
    pub(crate) fn value(self, i: usize) -> &'a Value {
        self.args.get(i).unwrap_or(&Value::Null)
    }

    pub(crate) fn number(self, i: usize) -> Result<Number, Failure> {
        Number::of(self.value(i)).ok_or_else(|| self.refuse(i, "a number"))
    }

    pub(crate) fn float(self, i: usize) -> Result<f64, Failure> {
        self.number(i).map(Number::to_float)
    }

    /// Argument `i` as an integer. Accepts floats and decimals that are whole numbers.
    pub(crate) fn int(self, i: usize) -> Result<i64, Failure> {
        let int = match self.value(i) {
            Value::Int(int) => Some(*int),
            Value::Float(float) => whole(*float),
            Value::Decimal(decimal) => decimal.to_int().and_then(|int| int.try_into().ok()),
            _ => None,
        };
        int.ok_or_else(|| self.refuse(i, "an integer"))
    }

    pub(crate) fn bool(self, i: usize) -> Result<bool, Failure> {
        match self.value(i) {
            Value::Bool(value) => Ok(*value),
            _ => Err(self.refuse(i, "true or false")),
        }
    }

    pub(crate) fn text(self, i: usize) -> Result<&'a str, Failure> {
        match self.value(i) {
            Value::Str(text) => Ok(text),
            _ => Err(self.refuse(i, "a string")),
        }
    }

    pub(crate) fn bytes(self, i: usize) -> Result<&'a [u8], Failure> {
        match self.value(i) {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.refuse(i, "bytes")),
        }
    }

    pub(crate) fn list(self, i: usize) -> Result<&'a [Value], Failure> {
        match self.value(i) {
            Value::List(items) => Ok(items),
            _ => Err(self.refuse(i, "a list")),
        }
    }

    pub(crate) fn vector(self, i: usize) -> Result<&'a Vector, Failure> {
        match self.value(i) {
            Value::Vector(vector) => Ok(vector),
            _ => Err(self.refuse(i, "a vector")),
        }
    }

    /// Argument `i` as an index into `len` items. Negative indexes count from the end. `len` itself
    /// is allowed only if `end` is set.
    pub(crate) fn index(self, i: usize, len: usize, end: bool) -> Result<usize, Failure> {
        let given = self.int(i)?;
        let from_start = if given < 0 { given.saturating_add_unsigned(len as u64) } else { given };
        let found = usize::try_from(from_start).ok().filter(|&at| at < len || (end && at == len));
        found.ok_or_else(|| {
            let noun = if len == 1 { "item" } else { "items" };
            self.fail(format_args!("index {given} is outside the list of {len} {noun}"))
        })
    }

    /// The error of an argument of the wrong kind.
    pub(crate) fn refuse(self, i: usize, wanted: &str) -> Failure {
        let place =
            if self.args.len() > 1 { format!(" as argument {}", i + 1) } else { String::new() };
        let found = describe(self.value(i));
        let failure = self.fail(format_args!("expected {wanted}{place}, found {found}"));
        match self.value(i) {
            Value::Json(_) => failure.hint("json_to_scalar takes the value out of JSON"),
            _ => failure,
        }
    }

    /// The error of an operand of the wrong kind.
    pub(crate) fn refuse_operand(self, operand: &Value, wanted: &str) -> Failure {
        let failure = self.fail(format_args!("expected {wanted}, found {}", describe(operand)));
        match (self.name, operand) {
            ("add", Value::Str(_) | Value::List(_)) => failure.hint("`++` joins texts and lists"),
            _ => failure,
        }
    }

    pub(crate) fn fail(self, why: impl fmt::Display) -> Failure {
        Failure::new(format!("{}: {why}", self.name))
    }

    /// Fails if a result would have more than [`ITEMS_MAX`] items.
    pub(crate) fn check_items(self, items: u128) -> Result<(), Failure> {
        if items <= ITEMS_MAX as u128 {
            return Ok(());
        }
        Err(self
            .fail(format_args!("the result would have {items} items, the limit is {ITEMS_MAX}")))
    }
}

/// The integer that a float is equal to, if any.
pub(crate) fn whole(float: f64) -> Option<i64> {
    let fits = (-(2_f64.powi(63))..2_f64.powi(63)).contains(&float);
    (fits && float.fract() == 0.0).then_some(float as i64)
}

/// Kind and value of an operand, shortened for a message.
pub(crate) fn describe(value: &Value) -> String {
    if matches!(value, Value::Null) {
        return "null".to_owned();
    }
    let mut short = Short { text: String::new(), room: SHOWN_MAX, cut: false };
    // Fails when the text is full. Long values are thus not formatted completely.
    let _ = write!(short, "{value}");
    let more = if short.cut { "…" } else { "" };
    format!("{} ({}{more})", value.kind(), short.text)
}

struct Short {
    text: String,
    room: usize,
    cut: bool,
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.room == 0 {
                self.cut = true;
                return Err(fmt::Error);
            }
            self.room -= 1;
            self.text.push(c);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::testing::context;

    #[test]
    fn what_was_found_is_cut_short_in_a_message() {
        let args = [Value::List(vec![Value::Int(1); 100_000])];
        let failure = lookup("trim").unwrap().apply(&args, &context()).unwrap_err();
        let shown = "1, ".repeat(13);
        assert_eq!(failure.message, format!("trim: expected a string, found a list ([{shown}…)"));
    }
}
