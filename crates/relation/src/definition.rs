//! The bytes a keyspace carries to say what it is.
//!
//! ```text
//! definition := version:u8 (1)  kind:u8  body
//! kind 0     := a relation; body = schema (see `schema.rs`)
//! kind 1..=4 := a graph's part: forward, reverse, ids, names; body = vertex:u8 weight:u8
//! vertex     := 0 u64 | 1 i64 | 2 str
//! weight     := 0 none | 1 float | 2 int
//! ```

use crate::{GraphDef, GraphPart, VertexType, WeightType};
use store::{Error, ErrorKind, KeyspaceInfo, Result};

/// Version of the format that is written and the only one that is read.
const VERSION: u8 = 1;

/// What a keyspace is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// One of the keyspaces of a graph.
    Graph(GraphDef, GraphPart),
}

/// An error of the caller's making.
#[must_use]
pub fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

/// Accepts names of letters, digits, `_`, `.` and `-` that start with a letter or `_`.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] names the rule that is broken.
pub fn check_name(name: &str) -> Result<()> {
    if name.contains(':') {
        return Err(invalid(format!(
            "the name {name:?} has a colon\nhint: `:` is kept for the system's own keyspaces"
        )));
    }
    let mut bytes = name.bytes();
    let starts = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let goes_on = bytes.all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
    if starts && goes_on && name.len() <= 255 {
        return Ok(());
    }
    Err(invalid(format!(
        "{name:?} cannot be a name\nhint: a letter or `_`, then letters, digits, `_`, `.` and `-`; \
         at most 255 characters"
    )))
}

impl Definition {
    /// The bytes kept with the keyspace.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Graph(def, part) => {
                let kind = match part {
                    GraphPart::Forward => 1,
                    GraphPart::Reverse => 2,
                    GraphPart::Ids => 3,
                    GraphPart::Names => 4,
                };
                let vertex = match def.vertex {
                    VertexType::U64 => 0,
                    VertexType::I64 => 1,
                    VertexType::Str => 2,
                };
                let weight = match def.weight {
                    WeightType::None => 0,
                    WeightType::Float => 1,
                    WeightType::Int => 2,
                };
                vec![VERSION, kind, vertex, weight]
            }
        }
    }

    /// What `info` says it is.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] where the bytes are none that [`Definition::encode`] makes or do
    /// not fit the keyspace's name and shape.
    pub fn decode(info: &KeyspaceInfo) -> Result<Self> {
        let wrong = |what: &str| {
            Error::new(
                ErrorKind::Corruption,
                format!("the definition of keyspace {:?} {what}", info.name),
            )
        };
        let (&version, rest) = info.definition.split_first().ok_or_else(|| wrong("is empty"))?;
        if version != VERSION {
            return Err(wrong(&format!("has version {version}, this program reads {VERSION}")));
        }
        let &[kind, vertex, weight] = rest else {
            return Err(wrong("has the wrong length"));
        };
        let part = match kind {
            1 => GraphPart::Forward,
            2 => GraphPart::Reverse,
            3 => GraphPart::Ids,
            4 => GraphPart::Names,
            _ => return Err(wrong(&format!("is of unknown kind {kind}"))),
        };
        let vertex = match vertex {
            0 => VertexType::U64,
            1 => VertexType::I64,
            2 => VertexType::Str,
            _ => return Err(wrong(&format!("names unknown vertex type {vertex}"))),
        };
        let weight = match weight {
            0 => WeightType::None,
            1 => WeightType::Float,
            2 => WeightType::Int,
            _ => return Err(wrong(&format!("names unknown weight type {weight}"))),
        };
        let name =
            info.name.strip_suffix(part.suffix()).ok_or_else(|| wrong("does not fit its name"))?;
        let def = GraphDef::new(name, vertex, weight);
        if def.shape(part) != info.shape {
            return Err(wrong("does not fit its shape"));
        }
        Ok(Self::Graph(def, part))
    }
}
