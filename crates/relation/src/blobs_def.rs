//! What a set of blobs is made of, and the keyspaces behind it.

use crate::{KeyColumn, Schema, ValueColumn, VertexType};
use base::Shape;
use model::Type;

/// What keys of blobs and counters are: the types that vertices have.
pub type KeyType = VertexType;

/// Blobs as the catalog knows them: byte strings by key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlobsDef {
    /// Their name, also that of the relation `{key => value, large, bytes}`.
    pub name: String,
    /// What names a blob.
    pub key: KeyType,
}

/// Which keyspace of a set of blobs one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlobsPart {
    /// `NAME {key => value, large, bytes}`: a value, or the id of its chunks and its length in
    /// bytes.
    Rows,
    /// `NAME:large {id, chunk => bytes}`: values too long to be rewritten whenever tables are
    /// merged.
    Large,
}

impl BlobsPart {
    /// What is appended to the name.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Rows => "",
            Self::Large => ":large",
        }
    }
}

impl BlobsDef {
    /// The keyspaces they are made of.
    pub const PARTS: [BlobsPart; 2] = [BlobsPart::Rows, BlobsPart::Large];

    /// The name of one of the keyspaces.
    #[must_use]
    pub fn keyspace_name(&self, part: BlobsPart) -> String {
        format!("{}{}", self.name, part.suffix())
    }

    /// One of the keyspaces as a relation.
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

    /// The shape of one of the keyspaces.
    #[must_use]
    pub fn shape(&self, part: BlobsPart) -> Shape {
        self.part_schema(part).shape()
    }
}

/// The column type of keys.
pub(crate) fn key_type(of: KeyType) -> Type {
    match of {
        KeyType::U64 => Type::Id,
        KeyType::I64 => Type::Int,
        KeyType::Str => Type::String,
    }
}
