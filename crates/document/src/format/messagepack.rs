//! Documents as MessagePack.

use super::{Format, Place, too_deep};
use crate::error::DocumentError;
use model::Json;
use rmpv::Value;
use rmpv::decode::{Error, read_value_ref_with_max_depth, read_value_with_max_depth};
use serde_json::{Map, Number};
use std::io::ErrorKind;

/// The library counts two for each list and object, and up to three for a value in the innermost.
const DEPTH_MAX: usize = 2 * Json::LEVELS_MAX + 3;

/// Reads one document.
pub(super) fn decode(bytes: &[u8]) -> Result<serde_json::Value, DocumentError> {
    let mut rest = bytes;
    let value = read_value_with_max_depth(&mut rest, DEPTH_MAX).map_err(wrong)?;
    if !rest.is_empty() {
        let many = rest.len();
        return Err(Format::MessagePack.wrong(format!("{many} bytes follow the document")));
    }
    tree_of(value, &Place::TOP)
}

/// Length of the first document in `bytes`; `None` if it goes on after them.
pub(super) fn first_len(bytes: &[u8]) -> Result<Option<usize>, DocumentError> {
    let mut rest = bytes;
    // Without a copy of strings and binary data.
    match read_value_ref_with_max_depth(&mut rest, DEPTH_MAX) {
        Ok(_) => Ok(Some(bytes.len() - rest.len())),
        Err(Error::InvalidMarkerRead(error) | Error::InvalidDataRead(error))
            if error.kind() == ErrorKind::UnexpectedEof =>
        {
            Ok(None)
        }
        Err(error) => Err(wrong(error)),
    }
}

fn wrong(error: Error) -> DocumentError {
    match error {
        Error::DepthLimitExceeded => too_deep(),
        error => Format::MessagePack.wrong(error),
    }
}

fn tree_of(value: Value, place: &Place<'_>) -> Result<serde_json::Value, DocumentError> {
    Ok(match value {
        Value::Nil => serde_json::Value::Null,
        Value::Boolean(value) => value.into(),
        Value::Integer(value) => match (value.as_i64(), value.as_u64()) {
            (Some(value), _) => value.into(),
            (None, Some(value)) => value.into(),
            (None, None) => return Err(place.wrong("an integer beyond 64 bits")),
        },
        Value::F32(value) => float(f64::from(value), place)?,
        Value::F64(value) => float(value, place)?,
        Value::String(text) => match text.into_str() {
            Some(text) => text.into(),
            None => return Err(place.wrong("text that is not UTF-8")),
        },
        Value::Array(items) => {
            place.check_levels()?;
            let items = items.into_iter().enumerate().map(|(at, item)| {
                let token = at.to_string();
                tree_of(item, &place.below(&token))
            });
            serde_json::Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Map(fields) => {
            place.check_levels()?;
            let mut object = Map::new();
            for (name, value) in fields {
                let Some(name) = name.as_str() else {
                    return Err(place.wrong(format!("a field whose name is {name}, not text")));
                };
                let value = tree_of(value, &place.below(name))?;
                object.insert(name.to_owned(), value);
            }
            serde_json::Value::Object(object)
        }
        Value::Binary(_) => return Err(place.wrong("binary data, which JSON does not have")),
        Value::Ext(kind, _) => {
            let what = format!("a value of the extension {kind}, which JSON does not have");
            return Err(place.wrong(what));
        }
    })
}

fn float(value: f64, place: &Place<'_>) -> Result<serde_json::Value, DocumentError> {
    let number = Number::from_f64(value).map(serde_json::Value::Number);
    number.ok_or_else(|| place.wrong(format!("the number {value}, which JSON does not have")))
}

/// Writes a document: integers and text in their shortest forms, other numbers with 64 bits.
pub(super) fn append(document: serde_json::Value, out: &mut Vec<u8>) {
    // A vector takes all bytes.
    let _ = rmpv::encode::write_value(out, &value_of(document));
}

fn value_of(tree: serde_json::Value) -> Value {
    match tree {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(value) => value.into(),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => value.into(),
            (None, Some(value)) => value.into(),
            (None, None) => Value::F64(number.as_f64().unwrap_or_default()),
        },
        serde_json::Value::String(text) => text.into(),
        serde_json::Value::Array(items) => Value::Array(items.into_iter().map(value_of).collect()),
        serde_json::Value::Object(fields) => {
            let field = |(name, value): (String, _)| (name.into(), value_of(value));
            Value::Map(fields.into_iter().map(field).collect())
        }
    }
}
