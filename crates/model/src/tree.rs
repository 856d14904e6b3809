//! Values converted to JSON: for the type `Json` and for the JSON functions of `function`.

use crate::value::{Json, Validity, Value, Vector};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Tree;

impl Json {
    /// Maximum nesting of lists in a converted value. [`Json::LEVELS_MAX`] is higher.
    pub const DEPTH_MAX: usize = 120;

    /// Converts a value to a JSON tree. Bytes become base64; a UUID, a date, a timestamp, a
    /// duration and a decimal become their text; a vector becomes a list of numbers, and a validity
    /// `[microseconds, assert]`. Floats that are not finite become null. Returns `None` if lists
    /// nest deeper than [`Json::DEPTH_MAX`].
    #[must_use]
    pub fn tree_of(value: &Value) -> Option<Tree> {
        tree(value, Self::DEPTH_MAX)
    }
}

fn tree(value: &Value, depth: usize) -> Option<Tree> {
    Some(match value {
        Value::Null => Tree::Null,
        Value::Bool(value) => Tree::from(*value),
        Value::Int(value) => Tree::from(*value),
        Value::Id(value) => Tree::from(*value),
        Value::Float(value) => Tree::from(*value),
        Value::Str(text) => Tree::from(text.as_str()),
        Value::Bytes(bytes) => Tree::from(STANDARD.encode(bytes)),
        Value::Uuid(_)
        | Value::Date(_)
        | Value::Timestamp(_)
        | Value::Duration(_)
        | Value::Decimal(_) => Tree::from(value.to_string()),
        Value::List(items) => {
            let depth = depth.checked_sub(1)?;
            Tree::Array(items.iter().map(|item| tree(item, depth)).collect::<Option<_>>()?)
        }
        Value::Vector(Vector::F32(items)) => {
            items.iter().map(|&f| Tree::from(f64::from(f))).collect()
        }
        Value::Vector(Vector::F64(items)) => items.iter().copied().map(Tree::from).collect(),
        Value::Json(json) => json.to_tree(),
        Value::Validity(Validity { timestamp_us, assert }) => {
            Tree::Array(vec![Tree::from(*timestamp_us), Tree::from(*assert)])
        }
    })
}
