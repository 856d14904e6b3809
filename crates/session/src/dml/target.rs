//! A relation that rows are written to: its columns as the writer sees them, and where they are
//! stored.

use crate::catalog_view::{dictionary, stored_paths};
use exec::storage::access_path::StoredPath;
use relation::{Catalog, Dictionary, Entry, Schema};
use store::Read;

/// A relation that rows are written to.
pub(crate) struct Target {
    /// Its columns as scripts see them.
    pub schema: Schema,
    /// The orders in which it is stored, its own first. Their columns hold numbers where texts have
    /// numbers.
    pub paths: Vec<StoredPath>,
    /// The numbers of its key columns' texts: of a graph with text for vertices.
    pub dictionary: Option<Dictionary>,
}

impl Target {
    /// Where an entry's rows are written.
    ///
    /// # Errors
    /// A definition that is not to be read.
    pub(crate) fn of(catalog: &Catalog, read: &dyn Read, entry: &Entry) -> store::Result<Self> {
        let paths = stored_paths(catalog, read, entry)?;
        let dictionary = dictionary(catalog, entry)?;
        Ok(Self { schema: entry.shown_schema(), paths, dictionary })
    }

    /// Calls it as whoever writes does, whatever its keyspace is called.
    pub(crate) fn call(&mut self, name: &str) {
        name.clone_into(&mut self.schema.name);
        if let Some(path) = self.paths.first_mut() {
            name.clone_into(&mut path.schema.name);
        }
    }

    /// Whether one of its orders is found by a value: a row that is replaced must go from there.
    pub(crate) fn has_value_index(&self) -> bool {
        let keys = self.schema.keys.len();
        let is_by_value = |path: &StoredPath| {
            path.columns[..path.schema.keys.len()].iter().any(|&column| column >= keys)
        };
        self.paths[1..].iter().any(is_by_value)
    }
}
