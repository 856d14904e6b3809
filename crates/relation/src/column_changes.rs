//! Changes of the columns of a relation: columns are renamed in place, or all rows are rewritten.
//!
//! The caller keeps writers of the relation away meanwhile. Each change becomes visible in one
//! durable step of the store. Until then, a rewritten relation has a hidden name. If the process
//! ends before that step, its keyspace is dropped when the database is opened again.

use crate::Schema;
use crate::catalog::{Catalog, new_keyspace};
use crate::definition::invalid;
use base::KeyspaceId;
use store::{KeyspaceChange, Read, Result};

impl Catalog {
    /// Renames columns of a relation and of its indexes: from the first to the second name of each
    /// pair, all at once. `schema` is the relation's.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if a column does not exist, or if a new name is that of
    /// another column.
    pub fn rename_columns(
        &self,
        read: &dyn Read,
        schema: &Schema,
        keyspace: KeyspaceId,
        pairs: &[(String, String)],
    ) -> Result<()> {
        let has = |name: &String| {
            schema.keys.iter().any(|key| key.name == *name)
                || schema.values.iter().any(|value| value.name == *name)
        };
        if let Some((missing, _)) = pairs.iter().find(|(from, _)| !has(from)) {
            let what = format!("relation {:?} has no column {missing:?}", schema.name);
            return Err(invalid(what));
        }
        let mut changes = vec![change(keyspace, &renamed(schema, pairs)?)];
        for (index, id) in self.indexes_of(read, &schema.name)? {
            changes.push(change(id, &renamed(&index, pairs)?));
        }
        self.store().change_keyspaces(&changes, &[])
    }

    /// Creates the keyspace for a relation whose rows are rewritten. Its definition has the columns
    /// of `schema`.
    ///
    /// # Errors
    /// The columns cannot be stored ([`Schema::check`]).
    pub fn begin_rewrite(&self, schema: &Schema) -> Result<KeyspaceId> {
        schema.check()?;
        Ok(self.create_hidden(schema)?.1)
    }

    /// Replaces a relation by the keyspace of [`Catalog::begin_rewrite`], with its rows. The
    /// relation's indexes stay.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if one of the keyspaces was dropped.
    pub fn finish_rewrite(&self, schema: &Schema, new: KeyspaceId, old: KeyspaceId) -> Result<()> {
        self.store().change_keyspaces(&[change(new, schema)], &[old])
    }
}

/// The schema with other names of columns.
fn renamed(schema: &Schema, pairs: &[(String, String)]) -> Result<Schema> {
    let new_name = |name: &mut String| {
        if let Some((_, to)) = pairs.iter().find(|(from, _)| from == name) {
            name.clone_from(to);
        }
    };
    let mut schema = schema.clone();
    schema.keys.iter_mut().for_each(|key| new_name(&mut key.name));
    schema.values.iter_mut().for_each(|value| new_name(&mut value.name));
    schema.check()?;
    Ok(schema)
}

/// Gives a keyspace the name and the definition of a relation.
fn change(id: KeyspaceId, schema: &Schema) -> KeyspaceChange {
    let new = new_keyspace(schema);
    KeyspaceChange { id, name: new.name, definition: new.definition }
}
