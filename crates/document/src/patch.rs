//! JSON Patches (RFC 6902).

use crate::convert::int_of;
use crate::error::DocumentError;
use crate::pointer::Pointer;
use serde_json::{Number, Value};

/// A list of operations that change a document together.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    operations: Vec<Operation>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operation {
    Add(Pointer, Value),
    Remove(Pointer),
    Replace(Pointer, Value),
    /// From, to.
    Move(Pointer, Pointer),
    /// From, to.
    Copy(Pointer, Pointer),
    Test(Pointer, Value),
}

impl Patch {
    /// How many bytes of text the operations `copy` of a patch copy, at most. A document that is
    /// copied into itself doubles with each, so that thirty would fill the memory.
    pub const COPIED_BYTES_MAX: u64 = 64 << 20;

    /// Reads a patch: a list of objects with `op`, `path`, and `value` or `from`. Other fields are
    /// ignored, as the RFC says.
    ///
    /// # Errors
    /// It is not such a list; the error has the number of the operation.
    pub fn parse(patch: &Value) -> Result<Self, DocumentError> {
        let Value::Array(operations) = patch else {
            return Err(DocumentError::new("a patch is a list of operations"));
        };
        let operation = |(number, operation)| {
            Operation::parse(operation).map_err(|error: DocumentError| error.in_operation(number))
        };
        let operations = operations.iter().enumerate().map(operation).collect::<Result<_, _>>()?;
        Ok(Self { operations })
    }

    /// The changed document.
    ///
    /// # Errors
    /// The first operation that cannot be applied, or a `test` that fails; copies of more than
    /// [`Patch::COPIED_BYTES_MAX`].
    pub fn apply(&self, document: &Value) -> Result<Value, DocumentError> {
        let (mut changed, mut copied_bytes) = (document.clone(), 0);
        for (number, operation) in self.operations.iter().enumerate() {
            let applied = operation.apply(&mut changed, &mut copied_bytes);
            applied.map_err(|error| error.in_operation(number))?;
        }
        Ok(changed)
    }
}

impl Operation {
    fn parse(operation: &Value) -> Result<Self, DocumentError> {
        let Value::Object(fields) = operation else {
            return Err(DocumentError::new("an operation is an object"));
        };
        let text = |name: &str| match fields.get(name) {
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(DocumentError::new(format!("`{name}` is a string"))),
            None => Err(DocumentError::new(format!("`{name}` is missing"))),
        };
        let value = || {
            let value = fields.get("value").cloned();
            value.ok_or_else(|| DocumentError::new("`value` is missing"))
        };
        let op = text("op")?;
        let path = Pointer::parse(text("path")?)?;
        Ok(match op {
            "add" => Self::Add(path, value()?),
            "remove" => Self::Remove(path),
            "replace" => Self::Replace(path, value()?),
            "move" => Self::Move(Pointer::parse(text("from")?)?, path),
            "copy" => Self::Copy(Pointer::parse(text("from")?)?, path),
            "test" => Self::Test(path, value()?),
            other => {
                let known = "add, remove, replace, move, copy and test";
                let what = format!("unknown operation `{other}`\nhint: operations are {known}");
                return Err(DocumentError::new(what));
            }
        })
    }

    fn apply(&self, document: &mut Value, copied_bytes: &mut u64) -> Result<(), DocumentError> {
        match self {
            Self::Add(path, value) => path.add(document, value.clone()),
            Self::Remove(path) => path.remove(document).map(drop),
            Self::Replace(path, value) => path.replace(document, value.clone()).map(drop),
            Self::Move(from, path) if from == path => match from.get(document) {
                Some(_) => Ok(()),
                None => Err(from.nothing()),
            },
            Self::Move(from, path) => {
                if from.is_above(path) {
                    return Err(DocumentError::new("a value cannot be moved into itself"));
                }
                let value = from.remove(document)?;
                path.add(document, value)
            }
            Self::Copy(from, path) => {
                let value = from.get(document).ok_or_else(|| from.nothing())?;
                *copied_bytes += value.to_string().len() as u64;
                if *copied_bytes > Patch::COPIED_BYTES_MAX {
                    let limit = Patch::COPIED_BYTES_MAX >> 20;
                    return Err(DocumentError::new(format!("the copies exceed {limit} MiB")));
                }
                path.add(document, value.clone())
            }
            Self::Test(path, value) => {
                let there = path.get(document).ok_or_else(|| path.nothing())?;
                match are_equal(there, value) {
                    true => Ok(()),
                    false => {
                        let what = format!("the value at {:?} is different", path.to_string());
                        Err(DocumentError::new(what))
                    }
                }
            }
        }
    }
}

/// Whether two values are equal as the operation `test` says: numbers by their value, so that 1
/// equals 1.0; objects in any order of their fields.
fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => are_equal_numbers(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_in_b = |(name, a)| b.get(name).is_some_and(|b| are_equal(a, b));
            a.len() == b.len() && a.iter().all(is_in_b)
        }
        (a, b) => a == b,
    }
}

/// Integers are compared exactly, everything else as floats.
fn are_equal_numbers(a: &Number, b: &Number) -> bool {
    match (int_of(a), int_of(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.as_f64() == b.as_f64(),
        _ => false,
    }
}
