//! Values as JSON.

use crate::{Json, Validity, Value, Vector};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Tree;

impl Json {
    /// Most levels of lists and objects within each other that a value may become: [`Json::parse`]
    /// reads so many.
    pub const DEPTH_MAX: usize = 120;

    /// A value as the tree that is its JSON: bytes as base64, a UUID as its text, a vector as its
    /// numbers, a validity as `[microseconds, assert]`, a float that is not finite as null. `None`
    /// where lists nest deeper than [`Json::DEPTH_MAX`].
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
        Value::Uuid(_) => Tree::from(value.to_string()),
        Value::List(items) => {
            let depth = depth.checked_sub(1)?;
            Tree::Array(items.iter().map(|item| tree(item, depth)).collect::<Option<_>>()?)
        }
        Value::Vector(Vector::F32(items)) => {
            items.iter().map(|&f| Tree::from(f64::from(f))).collect()
        }
        Value::Vector(Vector::F64(items)) => items.iter().copied().map(Tree::from).collect(),
        Value::Json(json) => serde_json::from_str(json.as_str()).unwrap_or(Tree::Null),
        Value::Validity(Validity { timestamp_us, assert }) => {
            Tree::Array(vec![Tree::from(*timestamp_us), Tree::from(*assert)])
        }
    })
}
