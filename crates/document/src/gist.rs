//! The fields of documents, and the kinds of their values.

use crate::pointer::Pointer;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Kind of a value of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A 64-bit integer, written without fraction and exponent.
    Int,
    /// Another number.
    Float,
    /// A string.
    String,
    /// A list. Its items are not counted: there would be a pointer for each index.
    List,
    /// An object. Its fields are counted too.
    Object,
}

impl FieldKind {
    /// The kind of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) if number.is_i64() || number.is_u64() => Self::Int,
            Value::Number(_) => Self::Float,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::String => "string",
            Self::List => "list",
            Self::Object => "object",
        })
    }
}

/// The fields of some documents, with the number of documents for each kind of value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gist(BTreeMap<(String, FieldKind), u64>);

impl Gist {
    /// Counts the fields of a document.
    pub fn add(&mut self, document: &Value) {
        self.add_below(&Pointer::default(), document);
    }

    fn add_below(&mut self, at: &Pointer, value: &Value) {
        *self.0.entry((at.to_string(), FieldKind::of(value))).or_default() += 1;
        if let Value::Object(fields) = value {
            fields.iter().for_each(|(name, value)| self.add_below(&at.child(name), value));
        }
    }

    /// Pointer, kind and number of documents, in the order of the pointers. The empty pointer is
    /// the document itself.
    pub fn rows(&self) -> impl Iterator<Item = (&str, FieldKind, u64)> {
        self.0.iter().map(|((pointer, kind), count)| (pointer.as_str(), *kind, *count))
    }
}
