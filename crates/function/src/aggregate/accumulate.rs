//! The state of an aggregate for one group, and the estimated memory of its values.

use crate::failure::Failure;
use model::{Json, Value, Vector};

/// Creates an accumulator from the arguments after the variable. Fails if they are not valid.
pub type Start = fn(&[Value]) -> Result<Box<dyn Accumulate>, Failure>;

/// The state of an aggregate for one group.
pub trait Accumulate: Send {
    /// Adds a value.
    ///
    /// # Errors
    /// The aggregate is not defined for the value.
    fn add(&mut self, value: &Value) -> Result<(), Failure>;

    /// Returns the result. Nothing may be added afterwards.
    ///
    /// # Errors
    /// The aggregate is not defined for these values.
    fn finish(&mut self) -> Result<Value, Failure>;

    /// Estimated memory in bytes.
    fn bytes(&self) -> usize;

    /// Sets random bits before the first value. Only `choice_rand` uses them; without them it makes
    /// the same choice on every run.
    fn seed(&mut self, _random: u64) {}
}

/// Maximum depth of nested lists whose bytes are counted.
const COUNTED_DEPTH: usize = 32;

/// Estimated memory of a value in bytes, including itself.
pub(crate) fn value_bytes(value: &Value) -> usize {
    bytes_within(value, COUNTED_DEPTH)
}

fn bytes_within(value: &Value, depth: usize) -> usize {
    let heap = match value {
        Value::Str(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Json(json) => Json::as_str(json).len(),
        Value::Vector(Vector::F32(items)) => items.len() * 4,
        Value::Vector(Vector::F64(items)) => items.len() * 8,
        Value::List(items) => match depth.checked_sub(1) {
            Some(depth) => items.iter().map(|item| bytes_within(item, depth)).sum(),
            None => size_of_val(items.as_slice()),
        },
        _ => 0,
    };
    size_of::<Value>() + heap
}
