//! Definition of a set of blobs, and the keyspaces that store it.

use crate::graph_def::VertexType;
use crate::schema::{KeyColumn, Schema, ValueColumn};
use base::Shape;
use model::Type;

/// Type of the keys of blobs, counters and combined values: the same types as for vertices.
pub type KeyType = VertexType;

/// A set of blobs (byte strings by key) in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlobsDef {
    /// Name of the set and of the relation `{key => value, large, bytes}`.
    pub name: String,
    /// Type of the keys.
    pub key: KeyType,
}

/// The keyspaces of a set of blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlobsPart {
    /// `NAME {key => value, large, bytes}`: a short value, or the id of a long value's chunks and
    /// its length in bytes.
    Rows,
    /// `NAME:large {id, chunk => bytes}`: chunks of values that are too long to be rewritten by
    /// every compaction. Rows `{0, id}` are notes: the value with this id is not complete yet.
    Large,
}

impl BlobsPart {
    /// Suffix of the keyspace's name after the name of the set.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Rows => "",
            Self::Large => ":large",
        }
    }
}

impl BlobsDef {
    /// All keyspaces of a set.
    pub const PARTS: [BlobsPart; 2] = [BlobsPart::Rows, BlobsPart::Large];

    /// Name of one of the keyspaces.
    #[must_use]
    pub fn keyspace_name(&self, part: BlobsPart) -> String {
        format!("{}{}", self.name, part.suffix())
    }

    /// Schema of one of the keyspaces as a relation.
    #[must_use]
    pub fn part_schema(&self, part: BlobsPart) -> Schema {
        let nullable = |name, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
        let (keys, values) = match part {
            BlobsPart::Rows => (
                vec![KeyColumn::new("key", key_type(self.key))],
                vec![
                    nullable("value", Type::Bytes),
                    nullable("large", Type::Id),
                    nullable("bytes", Type::Id),
                ],
            ),
            BlobsPart::Large => (
                vec![KeyColumn::new("id", Type::Id), KeyColumn::new("chunk", Type::Id)],
                vec![ValueColumn::new("bytes", Type::Bytes)],
            ),
        };
        Schema { name: self.keyspace_name(part), keys, values }
    }

    /// Shape of one of the keyspaces.
    #[must_use]
    pub fn shape(&self, part: BlobsPart) -> Shape {
        self.part_schema(part).shape()
    }
}

/// The column type for a type of keys.
pub(crate) fn key_type(of: KeyType) -> Type {
    match of {
        KeyType::U64 => Type::Id,
        KeyType::I64 => Type::Int,
        KeyType::Str => Type::String,
    }
}
