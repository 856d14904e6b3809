//! Documents as BSON, whose further types are relaxed Extended JSON.

use super::{Format, Place};
use crate::error::DocumentError;
use bson::raw::{CStr, CString, RawDocumentBuf};
use bson::spec::ElementType;
use bson::{Bson, RawArray, RawBson, RawBsonRef, RawDocument, RawJavaScriptCodeWithScopeRef};
use model::Json;
use serde_json::{Map, Value};

/// Length of a document's own length, at its beginning: 32 bits, little-endian.
const LENGTH_BYTES: usize = 4;

/// The shortest document: its length and the zero byte at its end.
const SHORTEST_BYTES: usize = 5;

/// Reads one document.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, DocumentError> {
    let raw = RawDocument::from_bytes(bytes).map_err(|error| Format::Bson.wrong(error))?;
    object_of(raw, &Place::TOP)
}

/// Length of the first document in `bytes`; `None` if it goes on after them.
pub(super) fn first_len(bytes: &[u8]) -> Result<Option<usize>, DocumentError> {
    let Some(length) = bytes.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = i32::from_le_bytes(*length);
    match usize::try_from(length) {
        Ok(length) if length >= SHORTEST_BYTES => Ok((length <= bytes.len()).then_some(length)),
        _ => Err(Format::Bson.wrong(format!("a document of {length} bytes"))),
    }
}

#[inline(never)]
fn object_of(raw: &RawDocument, place: &Place<'_>) -> Result<Value, DocumentError> {
    place.check_levels()?;
    let mut object = Map::new();
    for field in raw {
        let (name, value) = field.map_err(|error| Format::Bson.wrong(error))?;
        let name = name.as_str();
        object.insert(name.to_owned(), tree_of(value, &place.below(name))?);
    }
    Ok(Value::Object(object))
}

#[inline(never)]
fn list_of(raw: &RawArray, place: &Place<'_>) -> Result<Value, DocumentError> {
    place.check_levels()?;
    let items = raw.into_iter().enumerate().map(|(at, item)| {
        let item = item.map_err(|error| Format::Bson.wrong(error))?;
        let token = at.to_string();
        tree_of(item, &place.below(&token))
    });
    Ok(Value::Array(items.collect::<Result<_, _>>()?))
}

fn tree_of(value: RawBsonRef<'_>, place: &Place<'_>) -> Result<Value, DocumentError> {
    match value {
        // Not left to the library, whose recursion has no limit.
        RawBsonRef::Document(raw) => object_of(raw, place),
        RawBsonRef::Array(raw) => list_of(raw, place),
        RawBsonRef::JavaScriptCodeWithScope(code) => code_of(code, place),
        leaf => leaf_tree_of(leaf, place),
    }
}

#[inline(never)]
fn code_of(
    code: RawJavaScriptCodeWithScopeRef<'_>,
    place: &Place<'_>,
) -> Result<Value, DocumentError> {
    place.check_levels()?;
    let scope = object_of(code.scope, &place.below("$scope"))?;
    let code = ("$code".to_owned(), code.code.into());
    Ok(Value::Object([code, ("$scope".to_owned(), scope)].into_iter().collect()))
}

#[inline(never)]
fn leaf_tree_of(value: RawBsonRef<'_>, place: &Place<'_>) -> Result<Value, DocumentError> {
    let value = Bson::try_from(value).map_err(|error| place.wrong(error))?;
    Ok(value.into_relaxed_extjson())
}

/// Writes a document.
pub(super) fn append(document: &Value, out: &mut Vec<u8>) -> Result<(), DocumentError> {
    match document {
        Value::Object(fields) => write_object(fields, &Place::TOP, out),
        _ => Err(DocumentError::new("BSON has objects at the top, and no other values")),
    }
}

/// Maximum nesting of objects in the Extended JSON of a value. Code with its scope does not count:
/// it is written as an ordinary object.
const EXTENDED_LEVELS: usize = 2;

// As in reading, the library gets scalars and Extended JSON alone, never lists or other objects.
// Its recursion, and a recursion that holds its values, need more stack than a thread may have.
fn write_object(
    fields: &Map<String, Value>,
    place: &Place<'_>,
    bytes: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    let begin = bytes.len();
    bytes.extend([0; LENGTH_BYTES]);
    for (name, value) in fields {
        write_field(name, value, &place.below(name), bytes)?;
    }
    close(begin, place, bytes)
}

fn write_list(
    items: &[Value],
    place: &Place<'_>,
    bytes: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    let begin = bytes.len();
    bytes.extend([0; LENGTH_BYTES]);
    for (at, item) in items.iter().enumerate() {
        let name = at.to_string();
        write_field(&name, item, &place.below(&name), bytes)?;
    }
    close(begin, place, bytes)
}

/// Ends the list or object that begins at `begin` with its length.
fn close(begin: usize, place: &Place<'_>, bytes: &mut Vec<u8>) -> Result<(), DocumentError> {
    bytes.push(0);
    let length = i32::try_from(bytes.len() - begin).map_err(|error| place.no_bson(error))?;
    bytes[begin..begin + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

fn write_field(
    name: &str,
    value: &Value,
    place: &Place<'_>,
    bytes: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    match value {
        Value::Array(items) => {
            write_name(ElementType::Array, name, place, bytes)?;
            write_list(items, place, bytes)
        }
        Value::Object(fields) if !is_extended(fields) => {
            write_name(ElementType::EmbeddedDocument, name, place, bytes)?;
            write_object(fields, place, bytes)
        }
        leaf => write_leaf(name, leaf, place, bytes),
    }
}

#[inline(never)]
fn write_name(
    element: ElementType,
    name: &str,
    place: &Place<'_>,
    bytes: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    let name: &CStr = name.try_into().map_err(|error| place.no_bson(error))?;
    bytes.push(element as u8);
    bytes.extend_from_slice(name.as_str().as_bytes());
    bytes.push(0);
    Ok(())
}

/// Whether an object may be the Extended JSON of a value.
fn is_extended(fields: &Map<String, Value>) -> bool {
    fields.keys().any(|name| name.starts_with('$'))
        && fields.values().all(|value| Json::nests_within(value, EXTENDED_LEVELS - 1))
}

#[inline(never)]
fn write_leaf(
    name: &str,
    value: &Value,
    place: &Place<'_>,
    bytes: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    match value {
        // The library makes a float of it.
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            return Err(place.no_bson(format!("{number} exceeds 64 signed bits")));
        }
        _ => {}
    }
    let value = Bson::try_from(value.clone()).map_err(|error| place.no_bson(error))?;
    let value = RawBson::try_from(value).map_err(|error| place.no_bson(error))?;
    let name = CString::try_from(name).map_err(|error| place.no_bson(error))?;
    let mut alone = RawDocumentBuf::new();
    alone.append(name, value);
    let alone = alone.as_bytes();
    bytes.extend_from_slice(&alone[LENGTH_BYTES..alone.len() - 1]);
    Ok(())
}

impl Place<'_> {
    fn no_bson(&self, why: impl std::fmt::Display) -> DocumentError {
        self.wrong(format!("a value without a form in BSON: {why}"))
    }
}
