//! Definition of a graph, and the keyspaces that store it. `views` creates and opens graphs by it.
//! Names and shapes of the keyspaces are on disk.

use crate::error::invalid;
use crate::schema::{KeyColumn, Schema, ValueColumn};
use base::{ColumnShape, KeyShape, Shape};
use model::Type;
use std::fmt;
use store::Result;

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphDef {
    /// Name of the graph and of the relation `{src, dst => weight, …}`.
    pub name: String,
    /// Type of the vertices.
    pub vertex: VertexType,
    /// Type of the weights.
    pub weight: WeightType,
    /// Properties of edges besides the weight: columns of the relation after it.
    pub edges: Vec<ValueColumn>,
    /// Properties of vertices, the value columns of the relation `NAME:nodes`. Without such a
    /// relation (`None`) a vertex exists as long as it is an end of an edge.
    pub nodes: Option<Vec<ValueColumn>>,
    /// Whether an edge has no direction: it is stored once, with its smaller end as the source
    /// (see [`GraphDef::in_order`]).
    pub is_undirected: bool,
    /// Whether several edges may lead from one vertex to another: each has a key, an integer, which
    /// is the third key column `key`.
    pub is_keyed: bool,
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
    /// `NAME:nodes {vertex => …}`: properties of vertices, if the graph was created with them.
    Nodes,
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
            Self::Nodes => ":nodes",
        }
    }
}

/// Names of columns that a property of an edge cannot have.
const EDGE_COLUMNS: [&str; 4] = ["src", "dst", "weight", "key"];

/// Name of the key column of [`GraphPart::Nodes`].
const VERTEX: &str = "vertex";

impl GraphDef {
    /// A graph without properties, with vertices and weights of these types.
    #[must_use]
    pub fn new(name: impl Into<String>, vertex: VertexType, weight: WeightType) -> Self {
        Self { name: name.into(), vertex, weight, ..Self::default() }
    }

    /// Whether it has more columns than a weight, or a relation of vertices.
    #[must_use]
    pub fn has_properties(&self) -> bool {
        !self.edges.is_empty() || self.nodes.is_some()
    }

    /// Whether it is a graph that programs of plain graphs and properties do not know.
    pub(crate) fn is_special(&self) -> bool {
        self.is_undirected || self.is_keyed
    }

    /// Whether an edge is more than two ends and a weight, so that whole rows are written and read.
    #[must_use]
    pub fn has_edge_rows(&self) -> bool {
        self.is_keyed || !self.edges.is_empty()
    }

    /// Number of key columns of its edges.
    #[must_use]
    pub fn edge_key_columns(&self) -> usize {
        2 + usize::from(self.is_keyed)
    }

    /// The ends of an edge as they are stored: in an undirected graph the smaller word first. The
    /// order of words is that of numbers, and of string vertices that of their ids.
    #[must_use]
    #[inline]
    pub fn in_order(&self, u: u64, v: u64) -> (u64, u64) {
        if self.is_undirected && v < u { (v, u) } else { (u, v) }
    }

    /// Checks that its properties can be stored.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: a property has a reserved or invalid name, a default or
    /// a merge operator, or [`Schema::check`] refuses the columns.
    pub fn check(&self) -> Result<()> {
        let of = &self.name;
        for (what, reserved, columns) in [
            ("an edge", &EDGE_COLUMNS[..], self.edges.as_slice()),
            ("a vertex", &[VERTEX][..], self.nodes.as_deref().unwrap_or_default()),
        ] {
            for ValueColumn { name, default, merge, .. } in columns {
                if reserved.contains(&name.as_str()) {
                    return Err(invalid(format!(
                        "graph {of:?}: a property of {what} cannot be named {name:?}\n\
                         hint: the relation has a column of this name"
                    )));
                }
                if !is_column_name(name) {
                    return Err(invalid(format!(
                        "graph {of:?}: {name:?} cannot be the name of a property\n\
                         hint: a letter, then letters, digits and `_`"
                    )));
                }
                if default.is_some() || merge.is_some() {
                    return Err(invalid(format!(
                        "graph {of:?}: the property {name:?} has a default or a merge operator\n\
                         hint: give each row a value, or let the property be null"
                    )));
                }
            }
        }
        self.part_schema(GraphPart::Forward).check()?;
        self.part_schema(GraphPart::Nodes).check()
    }

    /// Its keyspaces, the forward one first.
    #[must_use]
    pub fn parts(&self) -> &'static [GraphPart] {
        use GraphPart::{Forward, Ids, Names, Nodes, Reverse};
        match (self.vertex, &self.nodes) {
            (VertexType::Str, None) => &[Forward, Reverse, Ids, Names],
            (VertexType::Str, Some(_)) => &[Forward, Reverse, Ids, Names, Nodes],
            (VertexType::U64 | VertexType::I64, None) => &[Forward, Reverse],
            (VertexType::U64 | VertexType::I64, Some(_)) => &[Forward, Reverse, Nodes],
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
            GraphPart::Forward | GraphPart::Reverse if self.edges.is_empty() => Shape {
                key: KeyShape::Words(self.edge_key_columns() as u8),
                values: if self.weight == WeightType::None { vec![] } else { vec![word] },
            },
            GraphPart::Forward | GraphPart::Reverse | GraphPart::Nodes => {
                self.part_schema(part).shape()
            }
            GraphPart::Ids => Shape { key: KeyShape::Bytes, values: vec![word] },
            GraphPart::Names => Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] },
        }
    }
}

/// Whether scripts can write the name of a column as a word.
fn is_column_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(unicode_ident::is_xid_start)
        && letters.all(unicode_ident::is_xid_continue)
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
        let edge = |first, second| {
            let key = self.is_keyed.then_some(("key", Type::Int));
            [(first, vertex()), (second, vertex())].into_iter().chain(key).collect()
        };
        let (keys, values): (Vec<_>, Vec<_>) = match part {
            GraphPart::Forward => (edge("src", "dst"), self.edge_columns()),
            GraphPart::Reverse => (edge("dst", "src"), self.edge_columns()),
            GraphPart::Ids => {
                (vec![("name", Type::String)], vec![ValueColumn::new("id", Type::Id)])
            }
            GraphPart::Names => {
                (vec![("id", Type::Id)], vec![ValueColumn::new("name", Type::String)])
            }
            GraphPart::Nodes => (vec![(VERTEX, vertex())], self.nodes.clone().unwrap_or_default()),
        };
        let keys = keys.into_iter().map(|(name, of)| KeyColumn::new(name, of)).collect();
        Schema { name: self.keyspace_name(part), keys, values }
    }

    /// The value columns of its edges: the weight, if there is one, and the other properties.
    fn edge_columns(&self) -> Vec<ValueColumn> {
        let weight = match self.weight {
            WeightType::None => None,
            WeightType::Float => Some(Type::Float),
            WeightType::Int => Some(Type::Int),
        };
        let weight = weight.map(|of| ValueColumn::new("weight", of));
        weight.into_iter().chain(self.edges.iter().cloned()).collect()
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
