//! Indexes in the catalog: those on columns and paths, and search indexes.
//!
//! # Invariant
//! An index counts once its row in the relation `:indexes` is written, in the commit of its own
//! rows. One without this row is being built or was interrupted; creating it again replaces it.

use crate::catalog::{Catalog, new_keyspace};
use crate::definition::Definition;
use crate::error::invalid;
use crate::index_columns::{IndexColumn, index_schema};
use crate::names::check_name;
use crate::schema::{KeyColumn, Schema};
use crate::search_def::SearchDef;
use base::{Batch, KeyRef, KeyspaceId, Kind, Projection};
use model::{Type, Value};
use store::{ErrorKind, Kinds, NewKeyspace, Read, Result, TableWrites, WriteBatch};

/// The relation `{name}` that lists complete indexes.
const INDEXES: &str = ":indexes";

fn indexes_schema() -> Schema {
    let keys = vec![KeyColumn::new("name", Type::String)];
    Schema { name: INDEXES.to_owned(), keys, values: Vec::new() }
}

impl Catalog {
    /// Creates the keyspace of an index, a relation `relation:index`. Its key columns are `columns`
    /// and then the relation's other key columns. In a unique index no two rows are equal in
    /// `columns`, unless one of them is null: writers of the relation see to it.
    ///
    /// Writers of the relation write the index in the same commit. [`Catalog::indexes_of`] lists
    /// the index once its rows and the row of [`Catalog::ready_row`] are written, in one commit.
    /// So an index whose build was interrupted does not count; creating it again replaces it.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: the name is invalid or taken, there are no columns, one
    /// of them does not exist, or a path goes into a column of another type than JSON.
    pub fn create_index(
        &self,
        of: &Schema,
        name: &str,
        columns: &[IndexColumn],
        is_unique: bool,
    ) -> Result<(Schema, KeyspaceId)> {
        check_name(name)?;
        let schema = index_schema(of, name, columns, is_unique)?;
        let ids = self.create_parts(&schema.name, vec![new_keyspace(&schema)])?;
        let id = ids.first().copied().ok_or_else(|| invalid("the store created nothing"))?;
        Ok((schema, id))
    }

    /// As [`Catalog::create_index`] for a search index; returns the keyspaces of its parts, in the
    /// order of [`crate::SearchMethod::parts`].
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: the name is invalid or taken, or the relation's keys
    /// cannot follow a word in a key.
    pub fn create_search_index(&self, def: &SearchDef) -> Result<Vec<KeyspaceId>> {
        let name = def.name.split_once(':').map_or(def.name.as_str(), |(_, name)| name);
        check_name(name)?;
        let mut new = Vec::new();
        for &part in def.method.parts() {
            let schema = def.part_schema(part);
            schema.check()?;
            let definition = Definition::Search(def.clone(), part).encode();
            new.push(NewKeyspace { definition, ..new_keyspace(&schema) });
        }
        self.create_parts(&def.name, new)
    }

    /// Creates the keyspaces of an index, its own first, in place of those of an incomplete one.
    fn create_parts(&self, name: &str, mut new: Vec<NewKeyspace>) -> Result<Vec<KeyspaceId>> {
        let there = self.parts_of_index(name);
        let is_ready = self.is_ready(&**self.store(), name)?;
        if self.info(name).is_none() && is_ready {
            // Left by an index that a killed process had renamed or dropped.
            self.remove_ready_row(name)?;
        } else if is_ready {
            return Err(invalid(format!("index {name:?} already exists")));
        }
        if !there.is_empty() {
            self.store().drop_keyspaces(&there)?;
        }
        if self.info(INDEXES).is_none() {
            new.push(new_keyspace(&indexes_schema()));
        }
        // Keyspaces are made durably: a crash that took back the removal of an earlier mark would
        // make this index count while it is being built.
        self.store().make_durable()?;
        self.store().create_keyspaces(&new)
    }

    /// The keyspaces of an index.
    fn parts_of_index(&self, name: &str) -> Vec<KeyspaceId> {
        let part = format!("{name}:");
        let parts = self.store().keyspaces_starting(&part).into_iter().map(|info| info.id);
        self.info(name).map(|info| info.id).into_iter().chain(parts).collect()
    }

    /// The complete search indexes of a relation as `read` sees them, ordered by name, with the
    /// keyspaces of their parts.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] if a definition cannot be decoded, or a part is missing.
    pub fn search_indexes_of(
        &self,
        read: &dyn Read,
        relation: &str,
    ) -> Result<Vec<(SearchDef, Vec<KeyspaceId>)>> {
        let mut found = Vec::new();
        for info in self.store().keyspaces_starting(&format!("{relation}:")) {
            if let Definition::Search(def, part) = Definition::decode(&info)?
                && part.is_main()
                && self.is_ready(read, &info.name)?
            {
                let ids = self.parts_of_search_index(&def)?;
                found.push((def, ids));
            }
        }
        found.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        Ok(found)
    }

    /// The search index with this name, `relation:index`, and the keyspaces of its parts.
    ///
    /// # Errors
    /// As [`Catalog::search_indexes_of`].
    pub fn search_index(&self, name: &str) -> Result<Option<(SearchDef, Vec<KeyspaceId>)>> {
        let Some(info) = self.info(name) else { return Ok(None) };
        let Definition::Search(def, part) = Definition::decode(&info)? else { return Ok(None) };
        if !part.is_main() {
            return Ok(None);
        }
        let ids = self.parts_of_search_index(&def)?;
        Ok(Some((def, ids)))
    }

    fn parts_of_search_index(&self, def: &SearchDef) -> Result<Vec<KeyspaceId>> {
        let parts = def.method.parts().iter().map(|&part| {
            let name = def.keyspace_name(part);
            self.keyspace_named(&name).ok_or_else(|| {
                let what = format!("the index {:?} has no part {name:?}", def.name);
                // An index that is dropped meanwhile loses all parts together.
                let is_there = self.info(&def.name).is_some();
                let kind = if is_there { ErrorKind::Corruption } else { ErrorKind::InvalidInput };
                store::Error::new(kind, what)
            })
        });
        parts.collect()
    }

    /// The write that marks an index as complete, or, with [`Kind::Delete`], as incomplete.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if no index was ever created.
    pub fn ready_row(&self, index: &str, kind: Kind) -> Result<TableWrites> {
        let info = self.info(INDEXES).ok_or_else(|| invalid(format!("no index {index:?}")))?;
        let schema = indexes_schema();
        let mut rows = Batch::new(&schema.shape());
        schema.append(vec![Value::Str(index.to_owned())], &mut rows)?;
        let kinds = Kinds::Uniform(kind);
        Ok(TableWrites { keyspace: info.id, kinds, rows, delete_ranges: Vec::new() })
    }

    /// The complete indexes of a relation as `read` sees them, ordered by name.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] if a definition cannot be decoded.
    pub fn indexes_of(&self, read: &dyn Read, relation: &str) -> Result<Vec<(Schema, KeyspaceId)>> {
        let mut found = Vec::new();
        for info in self.store().keyspaces_starting(&format!("{relation}:")) {
            if let Definition::Relation(schema) = Definition::decode(&info)?
                && self.is_ready(read, &info.name)?
            {
                found.push((schema, info.id));
            }
        }
        found.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        Ok(found)
    }

    /// Drops an index, named `relation:index`. Returns false if there is none.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn drop_index(&self, name: &str) -> Result<bool> {
        if self.info(name).is_none() || !self.is_ready(&**self.store(), name)? {
            return Ok(false);
        }
        self.remove_ready_row(name)?;
        self.store().drop_keyspaces(&self.parts_of_index(name))?;
        Ok(true)
    }

    /// Marks an index as incomplete.
    fn remove_ready_row(&self, name: &str) -> Result<()> {
        let tables = vec![self.ready_row(name, Kind::Delete)?];
        self.store().write(&WriteBatch { tables }, None).map(drop)
    }

    /// Whether an index is marked as complete, see [`Catalog::ready_row`].
    ///
    /// # Errors
    /// Those of `read`.
    pub fn is_ready(&self, read: &dyn Read, index: &str) -> Result<bool> {
        let Some(info) = self.info(INDEXES) else { return Ok(false) };
        let mut key = Vec::new();
        model::encode_value(&Value::Str(index.to_owned()), &mut key);
        let mut found = Batch::new(&info.shape);
        read.get(info.id, KeyRef::Bytes(&key), Projection::COUNT, &mut found)
    }
}
