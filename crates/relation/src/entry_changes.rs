//! Creates and drops entries outside of transactions. A relation is dropped with its settings and
//! its indexes, a graph or a set of blobs with all its parts.

use crate::blobs_def::BlobsDef;
use crate::catalog::{Catalog, Entry};
use crate::names::check_name;
use crate::schema::Schema;
use crate::settings::Settings;
use base::KeyspaceId;
use store::{Result, WriteBatch};

impl Catalog {
    /// Creates a relation.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: the name is invalid or taken, or the columns cannot be
    /// stored (see [`Schema::check`]).
    pub fn create(&self, schema: &Schema) -> Result<KeyspaceId> {
        check_name(&schema.name)?;
        schema.check()?;
        self.forget_settings(&schema.name)?;
        self.create_internal(schema)
    }

    /// Drops a relation with its indexes, a graph or a set of blobs. Returns false if there is no
    /// such entry.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn drop_entry(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        let names: Vec<String> = match self.find(name)? {
            None => return Ok(false),
            Some(Entry::Relation(schema, _)) => {
                let indexes = self.indexes_of(&**self.store(), &schema.name)?;
                for (index, _) in &indexes {
                    self.drop_index(&index.name)?;
                }
                for (index, _) in self.search_indexes_of(&**self.store(), &schema.name)? {
                    self.drop_index(&index.name)?;
                }
                vec![schema.name]
            }
            Some(Entry::Graph(def, _) | Entry::Nodes(_, def, _)) => {
                def.parts().iter().map(|&part| def.keyspace_name(part)).collect()
            }
            Some(Entry::Blobs(def, _)) => {
                BlobsDef::PARTS.iter().map(|&part| def.keyspace_name(part)).collect()
            }
        };
        let ids: Vec<_> = names.iter().filter_map(|name| self.keyspace_named(name)).collect();
        self.store().drop_keyspaces(&ids)?;
        self.forget_settings(name)?;
        Ok(true)
    }

    /// Deletes settings left by an earlier relation with the same name, durably: keyspaces are made
    /// durably, and a crash must not give a new one the triggers and the access level of another.
    fn forget_settings(&self, name: &str) -> Result<()> {
        if self.settings(&**self.store(), name)? != Settings::default() {
            let tables = vec![self.settings_row(name, &Settings::default())?];
            self.store().write(&WriteBatch { tables }, None)?;
            self.store().make_durable()?;
        }
        Ok(())
    }
}
