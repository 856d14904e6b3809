//! Definition of a set of counters: a relation `{key => count}` whose value has a merge operator.
//! The catalog knows only the relation: [`CountersDef::of_schema`] recognizes it by its columns.

use crate::blobs_def::{KeyType, key_type};
use crate::schema::{KeyColumn, Schema, ValueColumn};
use base::Merge;
use model::Type;
use std::fmt;

/// How a counter combines the numbers that are written to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Their sum.
    #[default]
    Sum,
    /// The smallest of them.
    Min,
    /// The largest of them.
    Max,
}

/// Type of a counter's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NumberType {
    /// A signed 64-bit integer. A sum out of its range is an error when it is read.
    #[default]
    Int,
    /// A 64-bit float.
    Float,
}

/// A set of counters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CountersDef {
    /// Name of the set and of the relation `{key => count}`.
    pub name: String,
    /// Type of the keys.
    pub key: KeyType,
    /// Type of the values.
    pub number: NumberType,
    /// How writes combine.
    pub combine: Combine,
}

impl CountersDef {
    /// Merge operator of the column `count`.
    #[must_use]
    pub fn merge(&self) -> Merge {
        match (self.combine, self.number) {
            (Combine::Sum, NumberType::Int) => Merge::AddInt,
            (Combine::Sum, NumberType::Float) => Merge::AddFloat,
            (Combine::Min, _) => Merge::Min,
            (Combine::Max, _) => Merge::Max,
        }
    }

    /// The relation that stores the counters.
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

    /// Recognizes a relation that can be opened as counters, by its columns.
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
