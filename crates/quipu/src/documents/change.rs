//! Changes that read a document before they write it.

use super::{Documents, frame, invalid, key_frame, read};
use crate::database::{Tx, retried};
use document::{DocumentError, Patch, Pointer, merge};
use model::{Json, Value, encode_tuple};
use std::collections::BTreeMap;
use store::{ErrorKind, Isolation, Result};
use views::keys::{KeyList, KeyOf};

/// A document in memory.
type Tree = serde_json::Value;

/// What happens to a field that is there, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldChange {
    /// It must not be there; an item of a list is inserted before the one at its place.
    Insert,
    /// It must be there.
    Update,
    /// Both are fine. Objects above it that are missing are made.
    Upsert,
}

/// A change of the document with a number: it gets the document, and returns another one or none.
type Change<'c> =
    &'c dyn Fn(usize, Option<Tree>) -> std::result::Result<Option<Tree>, DocumentError>;

impl Documents {
    /// Changes a document by a JSON Patch (RFC 6902).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: there is no document, or an operation fails, or what results
    /// nests too deep. Then nothing is changed.
    pub fn patch(&self, key: KeyOf<'_>, patch: &Patch) -> Result<()> {
        self.patch_all(&[self.key(key)?], std::slice::from_ref(patch))
    }

    /// Changes documents, each by its patch. A key that occurs again is patched again.
    ///
    /// # Errors
    /// As [`Documents::patch`]. Then no document is changed.
    pub fn patch_many(&self, keys: KeyList<'_>, patches: &[Patch]) -> Result<()> {
        self.patch_all(&self.keys(keys)?, patches)
    }

    fn patch_all(&self, keys: &[Value], patches: &[Patch]) -> Result<()> {
        same_number(keys, patches.len(), "patches")?;
        self.change(keys, &|number, document| {
            let document = document.ok_or_else(nothing_there)?;
            patches[number].apply(&document).map(Some)
        })
    }

    /// Merges changes into a document, by a JSON Merge Patch (RFC 7386). A document that is not
    /// there is made.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn merge(&self, key: KeyOf<'_>, changes: &Json) -> Result<()> {
        self.merge_all(&[self.key(key)?], std::slice::from_ref(changes))
    }

    /// Merges changes into documents. A key that occurs again is merged again.
    ///
    /// # Errors
    /// As [`Documents::merge`]. Then no document is changed.
    pub fn merge_many(&self, keys: KeyList<'_>, changes: &[Json]) -> Result<()> {
        self.merge_all(&self.keys(keys)?, changes)
    }

    fn merge_all(&self, keys: &[Value], changes: &[Json]) -> Result<()> {
        same_number(keys, changes.len(), "merge patches")?;
        let changes: Vec<Tree> = changes.iter().map(Json::to_tree).collect();
        self.change(keys, &|number, document| {
            Ok(Some(merge(document.unwrap_or(Tree::Null), &changes[number])))
        })
    }

    /// Sets one field of each document.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: there is no document, or the field is there or not, as
    /// `change` says, or what would contain it is not there. Then no document is changed.
    pub fn set_field(
        &self,
        keys: KeyList<'_>,
        field: &Pointer,
        values: &[Json],
        change: FieldChange,
    ) -> Result<()> {
        let keys = self.keys(keys)?;
        same_number(&keys, values.len(), "values")?;
        self.change(&keys, &|number, document| {
            let mut document = document.ok_or_else(nothing_there)?;
            let value = values[number].to_tree();
            match change {
                FieldChange::Insert => field.insert(&mut document, value)?,
                FieldChange::Update => drop(field.replace(&mut document, value)?),
                FieldChange::Upsert => field.set(&mut document, value)?,
            }
            Ok(Some(document))
        })
    }

    /// Removes one field of each document.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: there is no document or no such field. Then no document is
    /// changed.
    pub fn remove_field(&self, keys: KeyList<'_>, field: &Pointer) -> Result<()> {
        self.change(&self.keys(keys)?, &|_, document| {
            let mut document = document.ok_or_else(nothing_there)?;
            field.remove(&mut document)?;
            Ok(Some(document))
        })
    }

    /// Deletes documents; returns for each key whether it had one. A key that occurs again has
    /// none then.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn delete_many(&self, keys: KeyList<'_>) -> Result<Vec<bool>> {
        let keys = self.keys(keys)?;
        let had = std::cell::RefCell::new(vec![false; keys.len()]);
        self.change(&keys, &|number, document| {
            had.borrow_mut()[number] = document.is_some();
            Ok(None)
        })?;
        Ok(had.into_inner())
    }

    /// Changes the documents with these keys in one transaction; tries again where another
    /// transaction changed one of them meanwhile.
    fn change(&self, keys: &[Value], change: Change<'_>) -> Result<()> {
        if let Some(transaction) = &self.transaction {
            return self.change_in(transaction, keys, change);
        }
        retried(|| {
            let transaction = self.database.transaction(Isolation::Snapshot);
            self.change_in(&transaction, keys, change)?;
            transaction.commit()
        })
    }

    /// Computes all changes before it writes the first, so that one that fails changes nothing.
    fn change_in(&self, transaction: &Tx, keys: &[Value], change: Change<'_>) -> Result<()> {
        let relation = self.relation_in(Some(transaction))?;
        let mut states: BTreeMap<Vec<u8>, State> = BTreeMap::new();
        for (number, (key, there)) in keys.iter().zip(read(&relation, keys)?).enumerate() {
            let mut encoded = Vec::new();
            encode_tuple(std::slice::from_ref(key), &mut encoded);
            let state = states.entry(encoded).or_insert_with(|| State {
                key: key.clone(),
                was_there: there.is_some(),
                document: there.map(|document| document.to_tree()),
            });
            let changed = change(number, state.document.take());
            state.document = changed.map_err(|error| {
                let name = self.name();
                invalid(format!("document {key} of {name:?}: {error}"))
            })?;
        }
        let (mut put_keys, mut documents, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        for State { key, was_there, document } in states.into_values() {
            match document {
                Some(document) => {
                    let document = Json::of_tree(document).map_err(|error| {
                        invalid(format!("document {key} of {:?}: {error}", self.name()))
                    })?;
                    put_keys.push(key);
                    documents.push(document);
                }
                None if was_there => deleted.push(key),
                None => {}
            }
        }
        if !put_keys.is_empty() {
            relation.put(&frame(put_keys, documents)?)?;
        }
        if !deleted.is_empty() {
            relation.rm(&key_frame(&deleted)?)?;
        }
        Ok(())
    }
}

/// A document while it is changed.
struct State {
    key: Value,
    was_there: bool,
    document: Option<Tree>,
}

fn nothing_there() -> DocumentError {
    DocumentError::of_text("there is no such document")
}

fn same_number(keys: &[Value], others: usize, what: &str) -> Result<()> {
    match keys.len() == others {
        true => Ok(()),
        false => Err(invalid(format!("{} keys, but {others} {what}", keys.len()))),
    }
}
