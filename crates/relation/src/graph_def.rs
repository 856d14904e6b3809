//! What a graph is made of, and the keyspaces behind it.

use crate::{KeyColumn, Schema, ValueColumn};
use base::{ColumnShape, KeyShape, Shape};
use model::Type;
use std::fmt;

/// What names a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VertexType {
    /// Unsigned integers, 0 to 2^64 - 1.
    #[default]
    U64,
    /// Signed 64-bit integers; inside, words with the sign bit flipped.
    I64,
    /// Text; inside, ids that a dictionary hands out.
    Str,
}

/// What an edge weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WeightType {
    /// Nothing: the edge is there or it is not, and counts as 1.
    #[default]
    None,
    /// A 64-bit float.
    Float,
    /// A signed 64-bit integer.
    Int,
}

/// A graph as the catalog knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GraphDef {
    /// Its name, also that of the relation `{src, dst => weight}`.
    pub name: String,
    /// What names its vertices.
    pub vertex: VertexType,
    /// What its edges weigh.
    pub weight: WeightType,
}

/// Which keyspace of a graph one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphPart {
    /// `NAME {src, dst => weight}`.
    Forward,
    /// `NAME:rev {dst, src => weight}`.
    Reverse,
    /// `NAME:ids {text => id}`, where vertices are text.
    Ids,
    /// `NAME:names {id => text}`, where vertices are text.
    Names,
}

impl GraphPart {
    /// What is appended to the graph's name.
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
    /// A graph of this name with vertices and weights of these types.
    #[must_use]
    pub fn new(name: impl Into<String>, vertex: VertexType, weight: WeightType) -> Self {
        Self { name: name.into(), vertex, weight }
    }

    /// The keyspaces it is made of, the forward one first.
    #[must_use]
    pub fn parts(&self) -> &'static [GraphPart] {
        use GraphPart::{Forward, Ids, Names, Reverse};
        match self.vertex {
            VertexType::Str => &[Forward, Reverse, Ids, Names],
            VertexType::U64 | VertexType::I64 => &[Forward, Reverse],
        }
    }

    /// The name of one of its keyspaces.
    #[must_use]
    pub fn keyspace_name(&self, part: GraphPart) -> String {
        format!("{}{}", self.name, part.suffix())
    }

    /// The shape of one of its keyspaces.
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
    /// The graph as a relation of edges.
    #[must_use]
    pub fn schema(&self) -> Schema {
        self.part_schema(GraphPart::Forward)
    }

    /// One of its keyspaces as a relation. Vertices that are text show as their ids.
    ///
    /// Rows of [`GraphPart::Ids`] have raw bytes for keys, which [`Schema::row`] does not read.
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
