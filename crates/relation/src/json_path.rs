//! Paths into JSON columns. An index can have them as columns.

use model::{JsonStep, Value};
use std::fmt;
use unicode_ident::{is_xid_continue, is_xid_start};

/// A path into a column of JSON: `doc->'addr'->'city'`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonPath {
    /// Name of the column.
    pub column: String,
    /// Steps from its value; at least one.
    pub steps: Vec<JsonStep>,
}

impl JsonPath {
    /// The value at the path; null where there is nothing.
    #[must_use]
    pub fn value_in(&self, document: &Value) -> Value {
        match document {
            Value::Json(json) => json.at(&self.steps),
            _ => Value::Null,
        }
    }
}

impl fmt::Display for JsonPath {
    /// Writes it as an expression of the query language.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.column.chars();
        let is_plain = letters.next().is_some_and(|c| is_xid_start(c) || c == '_')
            && letters.all(is_xid_continue);
        match is_plain {
            true => f.write_str(&self.column)?,
            false => write!(f, "`{}`", self.column)?,
        }
        self.steps.iter().try_for_each(|step| write!(f, "->{step}"))
    }
}
