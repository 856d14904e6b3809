//! Documents as bytes of a format, and the documents of a file one after another.
//!
//! # What each format says of the others
//! A document is JSON. MessagePack's values without a form in JSON (binary data, extensions, keys
//! that are not text, NaN and infinities) are errors with their place. BSON's further types
//! (object ids, dates, binary data, decimals) are JSON objects with names such as `$oid`, as
//! MongoDB's [relaxed Extended JSON] has them, in both directions.
//!
//! [relaxed Extended JSON]: https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/

#[cfg(feature = "bson")]
mod bson;
mod messagepack;
mod splitter;
#[cfg(test)]
mod tests;

pub use splitter::Splitter;

use crate::error::DocumentError;
use crate::pointer::Pointer;
use model::Json;
use serde_json::Value;
use std::fmt;

/// How a document is written as bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text. In a file, a line each.
    #[default]
    Json,
    /// [BSON](https://bsonspec.org), an object each.
    #[cfg(feature = "bson")]
    Bson,
    /// [MessagePack](https://github.com/msgpack/msgpack/blob/master/spec.md).
    MessagePack,
}

impl Format {
    /// The formats of this build.
    pub const ALL: &[Self] = &[
        Self::Json,
        #[cfg(feature = "bson")]
        Self::Bson,
        Self::MessagePack,
    ];

    /// Its name: `json`, `bson` or `msgpack`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            #[cfg(feature = "bson")]
            Self::Bson => "bson",
            Self::MessagePack => "msgpack",
        }
    }

    /// The format with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// Reads one document, which takes all the bytes.
    ///
    /// # Errors
    /// The bytes are not a document of the format, or a value at the named place has no form in
    /// JSON, or more than [`Json::LEVELS_MAX`] lists and objects are nested.
    pub fn decode(self, bytes: &[u8]) -> Result<Json, DocumentError> {
        json_of(self.decode_tree(bytes)?)
    }

    /// As [`Self::decode`], as a tree.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_tree(self, bytes: &[u8]) -> Result<Value, DocumentError> {
        match self {
            Self::Json => {
                let wrong = |error: &dyn fmt::Display| DocumentError::new(error.to_string());
                let text = std::str::from_utf8(bytes).map_err(|error| wrong(&error))?;
                serde_json::from_str(text).map_err(|error| wrong(&error))
            }
            #[cfg(feature = "bson")]
            Self::Bson => bson::decode(bytes),
            Self::MessagePack => messagepack::decode(bytes),
        }
    }

    /// Writes a document.
    ///
    /// # Errors
    /// The document has no form in the format: BSON has objects at the top only, integers of 64
    /// signed bits, and names without zero bytes.
    pub fn encode(self, document: &Json) -> Result<Vec<u8>, DocumentError> {
        let mut bytes = Vec::new();
        self.append(document, &mut bytes)?;
        Ok(bytes)
    }

    /// As [`Self::encode`], behind other bytes.
    ///
    /// # Errors
    /// As [`Self::encode`]; a part of the document may then be there.
    pub fn append(self, document: &Json, out: &mut Vec<u8>) -> Result<(), DocumentError> {
        match self {
            Self::Json => {
                out.extend_from_slice(document.as_str().as_bytes());
                Ok(())
            }
            _ => self.append_tree(document.to_tree(), out),
        }
    }

    /// As [`Self::append`], of a tree.
    ///
    /// # Errors
    /// As [`Self::append`]; more than [`Json::LEVELS_MAX`] lists and objects are nested.
    pub fn append_tree(self, tree: Value, out: &mut Vec<u8>) -> Result<(), DocumentError> {
        match self {
            Self::Json => self.append(&json_of(tree)?, out),
            #[cfg(feature = "bson")]
            Self::Bson => bson::append(&tree, out),
            Self::MessagePack => {
                messagepack::append(tree, out);
                Ok(())
            }
        }
    }

    /// An error about bytes that are not of this format.
    #[cold]
    #[inline(never)]
    fn wrong(self, why: impl fmt::Display) -> DocumentError {
        let name = match self {
            Self::Json => "JSON",
            #[cfg(feature = "bson")]
            Self::Bson => "BSON",
            Self::MessagePack => "MessagePack",
        };
        DocumentError::new(format!("this is not {name}: {why}"))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn json_of(tree: Value) -> Result<Json, DocumentError> {
    Json::of_tree(tree).map_err(|error| DocumentError::new(error.to_string()))
}

#[cold]
#[inline(never)]
fn too_deep() -> DocumentError {
    DocumentError::new(format!("more than {} lists and objects are nested", Json::LEVELS_MAX))
}

/// Where a decoder is in a document.
struct Place<'a> {
    above: Option<(&'a Place<'a>, &'a str)>,
    /// How many lists and objects may be nested in this one.
    levels: usize,
}

impl Place<'_> {
    /// The whole document.
    const TOP: Place<'static> = Place { above: None, levels: Json::LEVELS_MAX };

    /// The place of a field or an item below. The value here passed [`Self::check_levels`].
    fn below<'a>(&'a self, token: &'a str) -> Place<'a> {
        Place { above: Some((self, token)), levels: self.levels.saturating_sub(1) }
    }

    /// Fails if a list or an object here would be nested too deep.
    fn check_levels(&self) -> Result<(), DocumentError> {
        match self.levels {
            0 => Err(too_deep()),
            _ => Ok(()),
        }
    }

    /// An error about the value at this place.
    #[cold]
    #[inline(never)]
    fn wrong(&self, what: impl fmt::Display) -> DocumentError {
        let mut tokens = Vec::new();
        let mut place = self;
        while let Some((above, token)) = place.above {
            tokens.push(token);
            place = above;
        }
        let pointer = tokens.iter().rev().fold(Pointer::default(), |at, token| at.child(token));
        match tokens.is_empty() {
            true => DocumentError::new(what.to_string()),
            false => DocumentError::new(format!("{what} at {:?}", pointer.to_string())),
        }
    }
}
