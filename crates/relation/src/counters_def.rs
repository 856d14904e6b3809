//! What a set of counters is made of: a relation `{key => count}` whose value merges.

use crate::blobs_def::{KeyType, key_type};
use crate::{KeyColumn, Schema, ValueColumn};
use base::Merge;
use model::Type;
use std::fmt;

/// How the numbers given to a counter become its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Their sum.
    #[default]
    Sum,
    /// The least of them.
    Min,
    /// The greatest of them.
    Max,
}

/// What a counter holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NumberType {
    /// A signed 64-bit integer. Sums past its range are an error.
    #[default]
    Int,
    /// A 64-bit float.
    Float,
}

/// Counters as the catalog knows them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CountersDef {
    /// Their name, also that of the relation `{key => count}`.
    pub name: String,
    /// What names a counter.
    pub key: KeyType,
    /// What a counter holds.
    pub number: NumberType,
    /// How it grows.
    pub combine: Combine,
}

impl CountersDef {
    /// The merge operator of the column `count`.
    #[must_use]
    pub fn merge(&self) -> Merge {
        match (self.combine, self.number) {
            (Combine::Sum, NumberType::Int) => Merge::AddInt,
            (Combine::Sum, NumberType::Float) => Merge::AddFloat,
            (Combine::Min, _) => Merge::Min,
            (Combine::Max, _) => Merge::Max,
        }
    }

    /// The relation they are.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let of = match self.number {
            NumberType::Int => Type::Int,
            NumberType::Float => Type::Float,
        };
        Schema {
            name: self.name.clone(),
            keys: vec![KeyColumn::new("key", key_type(self.key))],
            values: vec![ValueColumn {
                merge: Some(self.merge()),
                ..ValueColumn::new("count", of)
            }],
        }
    }

    /// The counters that a relation is, if its columns are those of counters.
    #[must_use]
    pub fn of_schema(schema: &Schema) -> Option<Self> {
        for key in [KeyType::U64, KeyType::I64, KeyType::Str] {
            for number in [NumberType::Int, NumberType::Float] {
                for combine in [Combine::Sum, Combine::Min, Combine::Max] {
                    let def = Self { name: schema.name.clone(), key, number, combine };
                    if def.schema() == *schema {
                        return Some(def);
                    }
                }
            }
        }
        None
    }
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
        })
    }
}

impl fmt::Display for NumberType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "int64",
            Self::Float => "float64",
        })
    }
}
