//! JSON Merge Patches (RFC 7396, which replaces RFC 7386).

use serde_json::{Map, Value};

/// Merges changes into a document: fields of `changes` replace those of the same name, objects are
/// merged field by field, and null removes a field. Changes other than an object replace the whole
/// document.
#[must_use]
pub fn merge(document: Value, changes: &Value) -> Value {
    let Value::Object(changes) = changes else { return changes.clone() };
    let mut fields = match document {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    for (name, change) in changes {
        match change {
            Value::Null => drop(fields.remove(name)),
            change => {
                let before = fields.remove(name).unwrap_or(Value::Null);
                fields.insert(name.clone(), merge(before, change));
            }
        }
    }
    Value::Object(fields)
}
