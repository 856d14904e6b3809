//! Changes of the columns of a relation: columns are renamed in place, or all rows are rewritten.
//!
//! The caller keeps writers of the relation away meanwhile. Each change becomes visible in one
//! durable step of the store. Until then, a rewritten relation has a hidden name. If the process
//! ends before that step, its keyspace is dropped when the database is opened again.

use crate::catalog::{Catalog, new_keyspace};
use crate::error::invalid;
use crate::index_columns::IndexColumn;
use crate::schema::{KeyColumn, Schema};
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
        let has = |name: &String| schema.names().any(|own| own == name);
        if let Some((missing, _)) = pairs.iter().find(|(from, _)| !has(from)) {
            let what = format!("relation {:?} has no column {missing:?}", schema.name);
            return Err(invalid(what));
        }
        let new = renamed(schema, pairs)?;
        let mut changes = vec![change(keyspace, &new)];
        for (index, id) in self.indexes_of(read, &schema.name)? {
            index_leaves_names(&index, &new)?;
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

/// Checks that no column of a relation has the name that one of its indexes gives to a path.
///
/// # Errors
/// [`store::ErrorKind::InvalidInput`] with the name.
pub fn index_leaves_names(index: &Schema, relation: &Schema) -> Result<()> {
    let is_column =
        |key: &&KeyColumn| key.path.is_some() && relation.names().any(|name| *name == key.name);
    match index.keys.iter().find(is_column) {
        None => Ok(()),
        Some(key) => {
            let what = format!("the index {:?} has a column {:?}", index.name, key.name);
            Err(invalid(format!("{what}\nhint: give the relation's column another name")))
        }
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
    for key in &mut schema.keys {
        let made_with = IndexColumn::of_key(key);
        match (&mut key.path, made_with) {
            (None, _) => new_name(&mut key.name),
            (Some(path), made_with) => {
                new_name(&mut path.column);
                if let IndexColumn::Path(None, _) = made_with {
                    key.name = path.to_string();
                }
            }
        }
    }
    schema.values.iter_mut().for_each(|value| new_name(&mut value.name));
    schema.check()?;
    Ok(schema)
}

/// Gives a keyspace the name and the definition of a relation.
fn change(id: KeyspaceId, schema: &Schema) -> KeyspaceChange {
    let new = new_keyspace(schema);
    KeyspaceChange { id, name: new.name, definition: new.definition }
}
