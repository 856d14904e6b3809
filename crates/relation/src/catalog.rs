//! The catalog: relations, graphs and blobs of a store, by name. It is a view of the keyspaces of
//! the store and their definitions (`definition.rs`). `views`, `session` and `quipu` use it.

use crate::blobs_def::{BlobsDef, BlobsPart};
use crate::definition::Definition;
use crate::error::invalid;
use crate::graph_def::{GraphDef, GraphPart, VertexType};
use crate::schema::Schema;
use base::{KeyRange, KeyspaceId};
use model::Type;
use std::ops::Range;
use std::sync::Arc;
use store::{ErrorKind, KeyspaceInfo, NewKeyspace, Result, Store};

/// Maximum number of retries in [`Catalog::with_entry`] for an entry that is dropped and
/// re-created.
const AGAIN_MAX: usize = 100;

/// An entry of the catalog. Each has a unique name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A relation and the keyspace of its rows.
    Relation(Schema, KeyspaceId),
    /// A graph and the keyspace of its edges by source.
    Graph(GraphDef, KeyspaceId),
    /// The vertices of a graph with properties: the relation `NAME:nodes`, its graph, and its
    /// keyspace.
    Nodes(Schema, GraphDef, KeyspaceId),
    /// A set of blobs and the keyspace of its rows.
    Blobs(BlobsDef, KeyspaceId),
}

impl Entry {
    /// Its name, unique among all entries.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Relation(schema, _) | Self::Nodes(schema, ..) => &schema.name,
            Self::Graph(def, _) => &def.name,
            Self::Blobs(def, _) => &def.name,
        }
    }

    /// Its columns; for a graph those of `{src, dst => weight, …}`.
    #[must_use]
    pub fn schema(&self) -> Schema {
        match self {
            Self::Relation(schema, _) | Self::Nodes(schema, ..) => schema.clone(),
            Self::Graph(def, _) => def.schema(),
            Self::Blobs(def, _) => def.part_schema(BlobsPart::Rows),
        }
    }

    /// The graph whose edges or vertices it has, if the vertices are strings. Its rows hold their
    /// ids.
    #[must_use]
    pub fn string_graph(&self) -> Option<&GraphDef> {
        match self {
            Self::Graph(def, _) | Self::Nodes(_, def, _) if def.vertex == VertexType::Str => {
                Some(def)
            }
            _ => None,
        }
    }

    /// Its columns as scripts see them: string vertices have type [`Type::String`] here, and are
    /// ids in [`Entry::schema`].
    #[must_use]
    pub fn shown_schema(&self) -> Schema {
        let mut schema = self.schema();
        for place in self.string_columns() {
            schema.keys[place].column_type = Type::String;
        }
        schema
    }

    /// The key columns that hold ids of strings: the vertices of a graph of strings.
    #[must_use]
    pub fn string_columns(&self) -> Range<usize> {
        match self {
            Self::Graph(..) if self.string_graph().is_some() => 0..2,
            Self::Nodes(..) if self.string_graph().is_some() => 0..1,
            _ => 0..0,
        }
    }

    /// The range of all its keys.
    #[must_use]
    pub fn all_rows(&self) -> KeyRange {
        KeyRange::all(&self.schema().shape().key)
    }

    /// The keyspace that stores the rows of [`Entry::schema`].
    #[must_use]
    pub fn keyspace(&self) -> KeyspaceId {
        match self {
            Self::Relation(_, id)
            | Self::Graph(_, id)
            | Self::Nodes(_, _, id)
            | Self::Blobs(_, id) => *id,
        }
    }
}

/// The relations, graphs and blobs of a store. It caches nothing: each call asks the store.
#[derive(Clone)]
pub struct Catalog {
    store: Arc<dyn Store>,
}

impl Catalog {
    /// A catalog of this store. Reads nothing.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// All entries, ordered by name.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] if a keyspace's definition cannot be decoded.
    pub fn list(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for info in self.store.keyspaces() {
            if info.name.starts_with(':') {
                continue;
            }
            match Definition::decode(&info)? {
                Definition::Relation(schema) => entries.push(Entry::Relation(schema, info.id)),
                Definition::Graph(def, GraphPart::Forward) => {
                    entries.push(Entry::Graph(def, info.id));
                }
                Definition::Graph(def, GraphPart::Nodes) => {
                    let schema = def.part_schema(GraphPart::Nodes);
                    entries.push(Entry::Nodes(schema, def, info.id));
                }
                Definition::Blobs(def, BlobsPart::Rows) => {
                    entries.push(Entry::Blobs(def, info.id));
                }
                Definition::Search(def, part) if part.is_main() => {
                    entries.push(Entry::Relation(def.part_schema(part), info.id));
                }
                Definition::Graph(..) | Definition::Blobs(..) | Definition::Search(..) => {}
            }
        }
        entries.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(entries)
    }

    /// The entry with this name. The reverse of a graph is found as the relation `NAME:rev`, and
    /// other parts likewise.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] if its definition cannot be decoded.
    pub fn find(&self, name: &str) -> Result<Option<Entry>> {
        let Some(info) = self.info(name) else { return Ok(None) };
        Ok(Some(match Definition::decode(&info)? {
            Definition::Relation(schema) => Entry::Relation(schema, info.id),
            Definition::Graph(def, GraphPart::Forward) => Entry::Graph(def, info.id),
            Definition::Graph(def, GraphPart::Nodes) => {
                Entry::Nodes(def.part_schema(GraphPart::Nodes), def, info.id)
            }
            Definition::Graph(def, part) => Entry::Relation(def.part_schema(part), info.id),
            Definition::Blobs(def, BlobsPart::Rows) => Entry::Blobs(def, info.id),
            Definition::Blobs(def, part) => Entry::Relation(def.part_schema(part), info.id),
            Definition::Search(def, part) => Entry::Relation(def.part_schema(part), info.id),
        }))
    }

    /// Calls `look` with an entry and returns its result; `None` if there is no such entry. While
    /// `look` runs, others may drop the entry. Then `look` fails with
    /// [`store::ErrorKind::InvalidInput`], and the entry is looked up again: the result is that of
    /// a new entry with this name, or `None`.
    ///
    /// # Errors
    /// As [`Catalog::find`], and errors of `look`. [`store::ErrorKind::InvalidInput`] only if
    /// retries do not help.
    pub fn with_entry<T>(
        &self,
        name: &str,
        look: impl Fn(&Entry) -> Result<T>,
    ) -> Result<Option<T>> {
        for again in 0..=AGAIN_MAX {
            let Some(entry) = self.find(name)? else { break };
            match look(&entry) {
                Err(error) if error.kind() == ErrorKind::InvalidInput && again < AGAIN_MAX => {}
                done => return done.map(Some),
            }
        }
        Ok(None)
    }

    pub(crate) fn create_internal(&self, schema: &Schema) -> Result<KeyspaceId> {
        let ids = self.store.create_keyspaces(&[new_keyspace(schema)])?;
        ids.first().copied().ok_or_else(|| invalid("the store created nothing"))
    }

    pub(crate) fn keyspace_named(&self, name: &str) -> Option<KeyspaceId> {
        self.info(name).map(|info| info.id)
    }

    pub(crate) fn info(&self, name: &str) -> Option<KeyspaceInfo> {
        self.store.keyspace_named(name)
    }
}

/// The keyspace of a relation or an index, to be created.
#[must_use]
pub fn new_keyspace(schema: &Schema) -> NewKeyspace {
    NewKeyspace {
        name: schema.name.clone(),
        shape: schema.shape(),
        definition: Definition::Relation(schema.clone()).encode(),
    }
}

#[cfg(test)]
mod tests;
