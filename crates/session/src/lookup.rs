//! Reads rows of a stored relation by their keys. `quipu` calls it.

use crate::catalog_view::dictionary;
use crate::dml::dictionary_ids::DictionaryIds;
use crate::engine::Engine;
use crate::frames::frame;
use base::{Batch, Keys, Projection};
use exec::error::{Error, Result};
use exec::storage::access_path::StoredPath;
use model::{Frame, Series, Type, Value};
use relation::{ColumnError, NameOverlay};
use store::Read;
use syntax::Span;

impl Engine {
    /// The rows with these keys, as `read` sees them. `keys` has a column for each key column of
    /// the relation. Returns whether each key exists, and the rows of those that do, in the order
    /// of the keys.
    ///
    /// # Errors
    /// There is no such relation, or its access level forbids it; a missing key column; a value
    /// that does not fit its column.
    pub fn rows_of_keys(
        &self,
        read: &dyn Read,
        names: &NameOverlay,
        name: &str,
        keys: &Frame,
    ) -> Result<(Vec<bool>, Frame)> {
        let (entry, path) = self.readable(read, names, name)?;
        let dictionary = dictionary(&self.catalog, &entry)?;
        let columns = path.schema.keys.iter().map(|key| {
            keys.column(&key.name).ok_or_else(|| {
                let what = format!("the keys for relation `{name}` have no column `{}`", key.name);
                Error::value(what, Span::default())
            })
        });
        let columns = columns.collect::<Result<Vec<&Series>>>()?;
        let coerce = |of: &Type, value: Value| of.coerce(value).map_err(|why| why.to_string());
        // Keys with a string that has no dictionary id do not exist.
        let mut known: Vec<u32> = (0..keys.len() as u32).collect();
        let ids = match dictionary {
            Some(dictionary) => {
                let types = entry.shown_schema().keys;
                let text = |row: usize| {
                    let text = |(column, series): (usize, &&Series)| {
                        coerce(&types[column].column_type, series.value(row))
                            .map_err(|why| wrong(name, &ColumnError { row, column, why }))
                    };
                    columns.iter().enumerate().map(text).collect()
                };
                let texts = (0..keys.len()).map(text).collect::<Result<Vec<Vec<Value>>>>()?;
                let ids = DictionaryIds::of(dictionary, read, texts.iter().flatten())?;
                let ids: Vec<Option<Vec<Value>>> = texts.iter().map(|key| ids.key(key)).collect();
                known.retain(|&row| ids[row as usize].is_some());
                let of_column = |column: usize| -> Vec<Value> {
                    ids.iter().flatten().map(|key| key[column].clone()).collect()
                };
                (0..columns.len()).map(|column| Series::from(of_column(column))).collect()
            }
            None => Vec::new(),
        };
        let columns: Vec<Option<&Series>> = match dictionary {
            Some(_) => ids.iter().map(Some).collect(),
            None => columns.into_iter().map(Some).collect(),
        };
        let mut encoded = Batch::new(&path.shape);
        path.schema
            .append_columns(&columns, 0..known.len(), &coerce, &mut encoded)
            .map_err(|refused| wrong(name, &refused))?;
        path.order_ends(&mut encoded);
        let (places, rows) = rows_found(read, &path, &encoded.keys)?;
        let mut present = vec![false; keys.len()];
        for place in places {
            present[known[place as usize] as usize] = true;
        }
        let spelled_by = dictionary.map(|dictionary| (dictionary, read));
        Ok((present, frame(&path, spelled_by, entry.string_columns(), Projection::ALL, rows)?))
    }
}

/// A key that is refused, with its place.
fn wrong(name: &str, refused: &ColumnError) -> Error {
    let ColumnError { row, column, why } = refused;
    let what = format!("relation `{name}`, key {row}, key column {column}: {why}");
    Error::hinted(what, Span::default(), "keys and their columns are counted from 0")
}

/// Looks keys up: the places in `keys` of those that exist, and their rows.
fn rows_found(read: &dyn Read, path: &StoredPath, keys: &Keys) -> Result<(Vec<u32>, Batch)> {
    let (mut found, mut rows) = (Vec::new(), Batch::new(&path.shape));
    let projection = Projection { keys: 0, ..Projection::ALL };
    read.get_many(path.keyspace, keys, projection, &mut found, &mut rows)?;
    let there = found.iter().enumerate().filter(|(_, found)| **found);
    let there: Vec<u32> = there.map(|(place, _)| place as u32).collect();
    let gathered = |words: &Vec<u64>| there.iter().map(|&row| words[row as usize]).collect();
    let rows = Batch {
        rows: there.len(),
        keys: match keys {
            Keys::Words(words) => Keys::Words(words.iter().map(gathered).collect()),
            Keys::Bytes(bytes) => Keys::Bytes(bytes.gather(&there)),
        },
        values: rows.values.iter().map(|column| column.gather(&there)).collect(),
    };
    Ok((there, rows))
}
