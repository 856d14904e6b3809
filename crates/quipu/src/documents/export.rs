//! Documents as the bytes of a format.

use super::{CHUNK_ROWS, Documents, invalid};
use crate::export::{in_the_database, write_output};
use document::{Format, Pointer};
use std::io::Write;
use std::path::Path;
use store::{Error, ErrorKind, Result};
use views::keys::KeyColumn;

impl Documents {
    /// Writes each document in a format, in key order, JSON a line each; returns their number.
    /// Reads one snapshot, or the transaction with its own changes. With `key` that field of each
    /// document is its key. `progress` gets the number of documents written and returns false to
    /// stop.
    ///
    /// # Errors
    /// See [`Documents`]; [`ErrorKind::InvalidInput`] if a document cannot have the field, or has
    /// no form in the format; [`ErrorKind::Io`] if `out` fails; [`ErrorKind::Cancelled`].
    pub fn export(
        &self,
        format: Format,
        key: Option<&Pointer>,
        out: &mut dyn Write,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<u64> {
        let (mut scan, mut count) = (self.all()?, 0);
        let mut bytes = Vec::new();
        while let Some(rows) = scan.next_rows(CHUNK_ROWS)? {
            if !progress(count) {
                return Err(Error::new(ErrorKind::Cancelled, "the export was stopped"));
            }
            bytes.clear();
            for (row, document) in rows.documents.iter().enumerate() {
                let appended = match key {
                    None => format.append(document, &mut bytes),
                    Some(field) => {
                        let mut tree = document.to_tree();
                        let set = field.set(&mut tree, key_value(&rows.keys, row));
                        set.and_then(|()| format.append_tree(tree, &mut bytes))
                    }
                };
                appended.map_err(|error| {
                    let key = key_value(&rows.keys, row);
                    invalid(format!("document {key} of {:?}: {error}", self.name()))
                })?;
                if format == Format::Json {
                    bytes.push(b'\n');
                }
                count += 1;
            }
            out.write_all(&bytes).map_err(|error| Error::caused(ErrorKind::Io, error))?;
        }
        Ok(count)
    }

    /// As [`Documents::export`], to a file that the user chose; see [`write_output`].
    ///
    /// # Errors
    /// As [`Documents::export`]; [`ErrorKind::InvalidInput`] if `path` lies in the folder of the
    /// database. An existing file is then unchanged.
    pub fn export_file(
        &self,
        format: Format,
        key: Option<&Pointer>,
        path: &Path,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<u64> {
        if self.database.holds(path) {
            return Err(in_the_database(path));
        }
        write_output(path, &|| progress(0), |out| self.export(format, key, out, progress))
    }
}

fn key_value(keys: &KeyColumn, row: usize) -> serde_json::Value {
    match keys {
        KeyColumn::U64(keys) => keys[row].into(),
        KeyColumn::I64(keys) => keys[row].into(),
        KeyColumn::Str(keys) => String::from_utf8_lossy(keys.get(row)).into_owned().into(),
    }
}
