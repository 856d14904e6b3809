//! The relation that rows are written to: its columns as the writer sees them, and the orders in
//! which it is stored.

use crate::catalog_view::{dictionary, stored_paths};
use crate::dml::search_writes::SearchWriter;
use exec::storage::access_path::StoredPath;
use relation::{Catalog, Dictionary, Entry, Schema};
use std::ops::Range;
use store::Read;

/// A relation that rows are written to.
pub(crate) struct Target {
    /// Its columns as scripts see them.
    pub schema: Schema,
    /// The orders in which it is stored, its own keyspace first. Their columns hold dictionary ids
    /// in place of strings.
    pub paths: Vec<StoredPath>,
    /// Its search indexes.
    pub search: Vec<SearchWriter>,
    /// The dictionary of its key columns, if it is a graph with string vertices.
    pub dictionary: Option<Dictionary>,
    /// The key columns that hold its ids.
    pub strings: Range<usize>,
}

impl Target {
    /// The target for an entry.
    ///
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn of(catalog: &Catalog, read: &dyn Read, entry: &Entry) -> store::Result<Self> {
        let paths = stored_paths(catalog, read, entry)?;
        let dictionary = dictionary(catalog, entry)?;
        let search = match entry {
            Entry::Relation(schema, main) if !schema.name.contains(':') => {
                SearchWriter::all_of(catalog, read, schema, *main)?
            }
            _ => Vec::new(),
        };
        let strings = entry.string_columns();
        Ok(Self { schema: entry.shown_schema(), paths, search, dictionary, strings })
    }

    /// Sets the name that the script uses for it, which may differ from that of its keyspace.
    pub(crate) fn call(&mut self, name: &str) {
        name.clone_into(&mut self.schema.name);
        if let Some(path) = self.paths.first_mut() {
            name.clone_into(&mut path.schema.name);
        }
    }

    /// Whether an index depends on value columns: replaced rows must be removed there.
    pub(crate) fn has_value_index(&self) -> bool {
        !self.search.is_empty() || self.paths[1..].iter().any(|path| self.is_by_value(path))
    }

    /// Whether it has an index in which some rows must not be equal.
    pub(crate) fn has_unique_index(&self) -> bool {
        self.paths[1..].iter().any(|path| path.schema.unique_columns() > 0)
    }

    /// Whether it has an index whose rows depend on other rows of the relation.
    pub(crate) fn has_vector_index(&self) -> bool {
        self.search.iter().any(|index| matches!(index, SearchWriter::Vectors(_)))
    }

    /// Whether a row's key in this order depends on its values.
    pub(crate) fn is_by_value(&self, path: &StoredPath) -> bool {
        let keys = self.schema.keys.len();
        path.columns[..path.schema.keys.len()].iter().any(|&column| column >= keys)
    }
}
