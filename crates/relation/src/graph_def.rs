//! Definition of a graph, and the keyspaces that store it. `views` creates and opens graphs by it.
//! Names and shapes of the keyspaces are on disk.

use crate::{KeyColumn, Schema, ValueColumn};
use base::{ColumnShape, KeyShape, Shape};
use model::Type;
use std::fmt;

/// Type of a graph's vertices, and of the keys of blobs and counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VertexType {
    /// Unsigned integers, 0 to 2^64 - 1.
    #[default]
    U64,
    /// Signed 64-bit integers; stored as words with the sign bit flipped.
    I64,
    /// Strings; edges store the ids that a dictionary assigns to them.
    Str,
}

/// Type of the edges' weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WeightType {
    /// No weights; every edge counts as 1.
    #[default]
    None,
    /// A 64-bit float.
    Float,
    /// A signed 64-bit integer.
    Int,
}

/// A graph in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GraphDef {
    /// Name of the graph and of the relation `{src, dst => weight}`.
    pub name: String,
    /// Type of the vertices.
    pub vertex: VertexType,
    /// Type of the weights.
    pub weight: WeightType,
}

/// The keyspaces of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphPart {
    /// `NAME {src, dst => weight}`: edges by source.
    Forward,
    /// `NAME:rev {dst, src => weight}`: edges by target.
    Reverse,
    /// `NAME:ids {string => id}`, if vertices are strings.
    Ids,
    /// `NAME:names {id => string}`, if vertices are strings.
    Names,
}

impl GraphPart {
    /// Suffix of the keyspace's name after the graph's name.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Forward => "",
            Self::Reverse => ":rev",
            Self::Ids => ":ids",
            Self::Names => ":names",
        }
    }
}

impl GraphDef {
    /// A graph with vertices and weights of these types.
    #[must_use]
    pub fn new(name: impl Into<String>, vertex: VertexType, weight: WeightType) -> Self {
        Self { name: name.into(), vertex, weight }
    }

    /// Its keyspaces, the forward one first.
    #[must_use]
    pub fn parts(&self) -> &'static [GraphPart] {
        use GraphPart::{Forward, Ids, Names, Reverse};
        match self.vertex {
            VertexType::Str => &[Forward, Reverse, Ids, Names],
            VertexType::U64 | VertexType::I64 => &[Forward, Reverse],
        }
    }

    /// Name of one of its keyspaces.
    #[must_use]
    pub fn keyspace_name(&self, part: GraphPart) -> String {
        format!("{}{}", self.name, part.suffix())
    }

    /// Shape of one of its keyspaces.
    #[must_use]
    pub fn shape(&self, part: GraphPart) -> Shape {
        let word = ColumnShape::Word { merge: None };
        match part {
            GraphPart::Forward | GraphPart::Reverse => Shape {
                key: KeyShape::Words(2),
                values: if self.weight == WeightType::None { vec![] } else { vec![word] },
            },
            GraphPart::Ids => Shape { key: KeyShape::Bytes, values: vec![word] },
            GraphPart::Names => Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] },
        }
    }
}

impl GraphDef {
    /// The relation of its edges, see [`GraphPart::Forward`].
    #[must_use]
    pub fn schema(&self) -> Schema {
        self.part_schema(GraphPart::Forward)
    }

    /// Schema of one of its keyspaces as a relation. String vertices appear as their ids.
    ///
    /// The keys of [`GraphPart::Ids`] are raw bytes, which [`Schema::row`] cannot decode.
    #[must_use]
    pub fn part_schema(&self, part: GraphPart) -> Schema {
        let vertex = || match self.vertex {
            VertexType::I64 => Type::Int,
            VertexType::U64 | VertexType::Str => Type::Id,
        };
        let weight = match self.weight {
            WeightType::None => None,
            WeightType::Float => Some(Type::Float),
            WeightType::Int => Some(Type::Int),
        };
        let weight = || weight.map(|of| ValueColumn::new("weight", of)).into_iter().collect();
        let (keys, values): (Vec<_>, Vec<_>) = match part {
            GraphPart::Forward => (vec![("src", vertex()), ("dst", vertex())], weight()),
            GraphPart::Reverse => (vec![("dst", vertex()), ("src", vertex())], weight()),
            GraphPart::Ids => {
                (vec![("name", Type::String)], vec![ValueColumn::new("id", Type::Id)])
            }
            GraphPart::Names => {
                (vec![("id", Type::Id)], vec![ValueColumn::new("name", Type::String)])
            }
        };
        let keys = keys.into_iter().map(|(name, of)| KeyColumn::new(name, of)).collect();
        Schema { name: self.keyspace_name(part), keys, values }
    }
}

impl fmt::Display for VertexType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::Str => "str",
        })
    }
}

impl fmt::Display for WeightType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Float => "float64",
            Self::Int => "int64",
        })
    }
}
