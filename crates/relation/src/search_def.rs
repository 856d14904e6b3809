//! Definition of a search index, and the keyspaces that store it.
//!
//! # Why its data are ordinary rows
//! They are written in the commit of the relation that the index belongs to. So snapshots,
//! rollback, backup and crash safety need nothing of their own, and scripts can read the index.

use crate::schema::{KeyColumn, Schema, ValueColumn};
use base::{Merge, Shape};
use model::{Type, Value};

/// How an index searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchMethod {
    /// Words of texts, `::fts`.
    FullText,
    /// Texts and sets that are nearly equal, `::lsh`.
    NearDuplicates,
    /// Nearest neighbors of vectors, `::hnsw`.
    Vector,
}

impl SearchMethod {
    /// Its name in scripts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FullText => "fts",
            Self::NearDuplicates => "lsh",
            Self::Vector => "hnsw",
        }
    }

    /// Its noun in messages.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::FullText => "full-text index",
            Self::NearDuplicates => "index of near duplicates",
            Self::Vector => "vector index",
        }
    }

    /// The method with this name in scripts.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let all = [Self::FullText, Self::NearDuplicates, Self::Vector];
        all.into_iter().find(|method| method.name() == name)
    }

    /// The keyspaces of an index. The first has the name of the index.
    #[must_use]
    pub fn parts(self) -> &'static [SearchPart] {
        match self {
            Self::FullText => &[SearchPart::Postings, SearchPart::Terms],
            Self::NearDuplicates => &[SearchPart::Bands, SearchPart::Signatures],
            Self::Vector => &[SearchPart::Links, SearchPart::Vertices],
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
    /// `NAME {hash, src_…}`: a row for each band of each row of the relation. Rows with equal
    /// bands have equal hashes.
    Bands,
    /// `NAME:inv {key columns of the relation => minhash}`: the signature of each row.
    Signatures,
    /// `NAME {fr__vertex, layer, to__vertex => fr_…, fr__field, fr__sub_idx, to_…, to__field,
    /// to__sub_idx, dist, ignore_link}`: the links of a graph of vectors. `fr_…` and `to_…` are the
    /// relation's key columns. A link that is ignored is there because the other end has it.
    Links,
    /// `NAME:vertices {vertex => src_…, field, sub_idx, links}`: the vectors of the graph. `links`
    /// is added to by each writer that changes the links of a vertex. Such writers do not conflict
    /// with each other, but with one that removes the vertex.
    Vertices,
}

impl SearchPart {
    /// Whether its keyspace has the name of the index.
    #[must_use]
    pub fn is_main(self) -> bool {
        self.suffix().is_empty()
    }

    /// Suffix of the keyspace's name after the name of the index.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Postings | Self::Bands | Self::Links => "",
            Self::Terms => ":terms",
            Self::Signatures => ":inv",
            Self::Vertices => ":vertices",
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
        let added =
            |name| ValueColumn { merge: Some(Merge::AddInt), ..ValueColumn::new(name, Type::Int) };
        let with_sources = |first: KeyColumn| {
            let source = |key: &KeyColumn| {
                KeyColumn::new(format!("src_{}", key.name), key.column_type.clone())
            };
            std::iter::once(first).chain(self.keys.iter().map(source)).collect()
        };
        let word = KeyColumn::new("word", Type::String);
        let (keys, values) = match part {
            SearchPart::Postings => {
                let values = vec![
                    ValueColumn::new("frequency", Type::Int),
                    ValueColumn::new("total_length", Type::Int),
                    ValueColumn::new("positions", Type::Bytes),
                ];
                (with_sources(word), values)
            }
            SearchPart::Terms => (vec![word], vec![added("documents"), added("occurrences")]),
            SearchPart::Bands => (with_sources(KeyColumn::new("hash", Type::Bytes)), Vec::new()),
            SearchPart::Signatures => {
                (self.keys.clone(), vec![ValueColumn::new("minhash", Type::Bytes)])
            }
            SearchPart::Links => {
                let keys = vec![
                    KeyColumn::new("fr__vertex", Type::Id),
                    KeyColumn::new("layer", Type::Int),
                    KeyColumn::new("to__vertex", Type::Id),
                ];
                let mut values = self.end_columns("fr_", ["fr__field", "fr__sub_idx"]);
                values.append(&mut self.end_columns("to_", ["to__field", "to__sub_idx"]));
                values.push(ValueColumn::new("dist", Type::Float));
                values.push(ValueColumn::new("ignore_link", Type::Bool));
                (keys, values)
            }
            SearchPart::Vertices => {
                let mut values = self.end_columns("src_", ["field", "sub_idx"]);
                values.push(added("links"));
                (vec![KeyColumn::new("vertex", Type::Id)], values)
            }
        };
        Schema { name: self.keyspace_name(part), keys, values }
    }

    /// Columns that identify a vector: the relation's key, the number of the field in the settings,
    /// and the place in a list of vectors, -1 where there is no list.
    fn end_columns(&self, prefix: &str, names: [&str; 2]) -> Vec<ValueColumn> {
        let key = |key: &KeyColumn| ValueColumn {
            nullable: matches!(key.column_type, Type::Nullable(_)),
            ..ValueColumn::new(
                format!("{prefix}{}", key.name),
                key.column_type.without_null().clone(),
            )
        };
        let more = names.into_iter().map(|name| ValueColumn::new(name, Type::Int));
        self.keys.iter().map(key).chain(more).collect()
    }

    /// Shape of one of the keyspaces.
    #[must_use]
    pub fn shape(&self, part: SearchPart) -> Shape {
        self.part_schema(part).shape()
    }
}
