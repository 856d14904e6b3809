//! Changes that read a document before they write it.

use super::{Documents, frame, invalid, key_frame, read};
use crate::database::Tx;
use document::{DocumentError, Patch, Pointer, merge};
use model::{Json, Value, encode_tuple};
use std::collections::{BTreeMap, BTreeSet};
use store::Result;
use views::keys::{KeyList, KeyOf};

/// A document in memory.
type Tree = serde_json::Value;

/// Whether a field must exist before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldChange {
    /// It must not exist; an item of a list is inserted before the one at its place.
    Insert,
    /// It must exist.
    Update,
    /// It may exist. Objects above it that are missing are created.
    Upsert,
}

/// A change of the document with a number: it gets the document, if there is one, and returns
/// another one.
type Change<'c> = &'c dyn Fn(usize, Option<Tree>) -> std::result::Result<Tree, DocumentError>;

impl Documents {
    /// Changes a document by a JSON Patch (RFC 6902).
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: there is no document, an operation fails, or the result
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
            let document = document.ok_or_else(no_document)?;
            patches[number].apply(&document)
        })
    }

    /// Merges changes into a document, by a JSON Merge Patch (RFC 7396). A missing document is
    /// created.
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
            Ok(merge(document.unwrap_or(Tree::Null), &changes[number]))
        })
    }

    /// Sets one field of each document.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: there is no document, the field exists or is missing
    /// against `change`, or its container is missing. Then no document is changed.
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
            let mut document = document.ok_or_else(no_document)?;
            let value = values[number].to_tree();
            match change {
                FieldChange::Insert => field.insert(&mut document, value)?,
                FieldChange::Update => drop(field.replace(&mut document, value)?),
                FieldChange::Upsert => field.set(&mut document, value)?,
            }
            Ok(document)
        })
    }

    /// Removes one field of each document.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: there is no document or no such field. Then no document
    /// is changed.
    pub fn remove_field(&self, keys: KeyList<'_>, field: &Pointer) -> Result<()> {
        self.change(&self.keys(keys)?, &|_, document| {
            let mut document = document.ok_or_else(no_document)?;
            field.remove(&mut document)?;
            Ok(document)
        })
    }

    /// Deletes documents; returns for each key whether there was one. Where a key occurs again,
    /// there is none.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn delete_many(&self, keys: KeyList<'_>) -> Result<Vec<bool>> {
        let keys = self.keys(keys)?;
        self.in_transaction(|transaction| {
            let relation = self.relation_in(Some(transaction))?;
            let (mut present, _) = relation.get_many(&key_frame(&keys)?)?;
            let (mut seen, mut deleted) = (BTreeSet::new(), Vec::new());
            for (key, is_present) in keys.iter().zip(&mut present) {
                *is_present = *is_present && seen.insert(encoded(key));
                if *is_present {
                    deleted.push(key.clone());
                }
            }
            if !deleted.is_empty() {
                relation.rm(&key_frame(&deleted)?)?;
            }
            Ok(present)
        })
    }

    /// Changes the documents with these keys in one transaction.
    fn change(&self, keys: &[Value], change: Change<'_>) -> Result<()> {
        self.in_transaction(|transaction| self.change_in(transaction, keys, change))
    }

    /// Calls `write` in the transaction of the documents, or in one of its own: again if another
    /// writer changed the same documents meanwhile.
    fn in_transaction<T>(&self, write: impl Fn(&Tx) -> Result<T>) -> Result<T> {
        match &self.transaction {
            Some(transaction) => write(transaction),
            None => self.database.retried(write),
        }
    }

    /// Computes all changes before it writes the first, so that one that fails changes nothing.
    fn change_in(&self, transaction: &Tx, keys: &[Value], change: Change<'_>) -> Result<()> {
        let relation = self.relation_in(Some(transaction))?;
        let wrong = |key: &Value, why: &dyn std::fmt::Display| {
            invalid(format!("document {key} of {:?}: {why}", self.name()))
        };
        let mut changed: BTreeMap<Vec<u8>, (Value, Tree)> = BTreeMap::new();
        for (number, (key, there)) in keys.iter().zip(read(&relation, keys)?).enumerate() {
            let encoded = encoded(key);
            // A key that occurs again sees the changes before it.
            let before = match changed.remove(&encoded) {
                Some((_, document)) => Some(document),
                None => there.map(|document| document.to_tree()),
            };
            let document = change(number, before).map_err(|error| wrong(key, &error))?;
            changed.insert(encoded, (key.clone(), document));
        }
        let (mut put, mut documents) = (Vec::new(), Vec::new());
        for (key, document) in changed.into_values() {
            documents.push(Json::of_tree(document).map_err(|error| wrong(&key, &error))?);
            put.push(key);
        }
        if put.is_empty() {
            return Ok(());
        }
        relation.put(&frame(put, documents)?)
    }
}

/// A key as bytes that are equal for equal keys.
fn encoded(key: &Value) -> Vec<u8> {
    let mut encoded = Vec::new();
    encode_tuple(std::slice::from_ref(key), &mut encoded);
    encoded
}

fn no_document() -> DocumentError {
    DocumentError::new("there is no such document")
}

fn same_number(keys: &[Value], others: usize, what: &str) -> Result<()> {
    match keys.len() == others {
        true => Ok(()),
        false => Err(invalid(format!("{} keys, but {others} {what}", keys.len()))),
    }
}
