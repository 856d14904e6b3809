//! Definition of a search index, and the keyspaces that store it.
//!
//! # Why its data are ordinary rows
//! They are written in the commit of the relation that the index belongs to. So snapshots,
//! rollback, backup and crash safety need nothing of their own, and scripts can read the index.

use crate::{KeyColumn, Schema, ValueColumn};
use base::{Merge, Shape};
use model::{Type, Value};

/// How an index searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchMethod {
    /// Words of texts, `::fts`.
    FullText,
}

impl SearchMethod {
    /// Its name in scripts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FullText => "fts",
        }
    }

    /// The keyspaces of an index.
    #[must_use]
    pub fn parts(self) -> &'static [SearchPart] {
        match self {
            Self::FullText => &[SearchPart::Postings, SearchPart::Terms],
        }
    }
}

/// The keyspaces of a search index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchPart {
    /// `NAME {word, src_… => frequency, total_length, positions}`: a row for each word of each row
    /// of the relation. `src_…` are the relation's key columns. The positions are encoded.
    Postings,
    /// `NAME:terms {word => documents, occurrences}`: counts of each word, and in the row of the
    /// empty word those of all documents. Both counts are added to, so writers do not conflict.
    Terms,
}

impl SearchPart {
    /// Suffix of the keyspace's name after the name of the index.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Postings => "",
            Self::Terms => ":terms",
        }
    }
}

/// A search index.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchDef {
    /// Its name, `relation:index`.
    pub name: String,
    /// How it searches.
    pub method: SearchMethod,
    /// The relation's key columns.
    pub keys: Vec<KeyColumn>,
    /// The settings of its creation, by name.
    pub settings: Vec<(String, Value)>,
}

impl SearchDef {
    /// The value of a setting.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Value> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Name of one of the keyspaces.
    #[must_use]
    pub fn keyspace_name(&self, part: SearchPart) -> String {
        format!("{}{}", self.name, part.suffix())
    }

    /// Schema of one of the keyspaces as a relation.
    #[must_use]
    pub fn part_schema(&self, part: SearchPart) -> Schema {
        let word = KeyColumn::new("word", Type::String);
        let added =
            |name| ValueColumn { merge: Some(Merge::AddInt), ..ValueColumn::new(name, Type::Int) };
        let (keys, values) = match part {
            SearchPart::Postings => {
                let source = |key: &KeyColumn| {
                    KeyColumn::new(format!("src_{}", key.name), key.column_type.clone())
                };
                let values = vec![
                    ValueColumn::new("frequency", Type::Int),
                    ValueColumn::new("total_length", Type::Int),
                    ValueColumn::new("positions", Type::Bytes),
                ];
                (std::iter::once(word).chain(self.keys.iter().map(source)).collect(), values)
            }
            SearchPart::Terms => (vec![word], vec![added("documents"), added("occurrences")]),
        };
        Schema { name: self.keyspace_name(part), keys, values }
    }

    /// Shape of one of the keyspaces.
    #[must_use]
    pub fn shape(&self, part: SearchPart) -> Shape {
        self.part_schema(part).shape()
    }
}
