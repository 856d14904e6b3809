//! Documents from and to lines of JSON.

use super::{CHUNK_ROWS, Documents, invalid};
use crate::database::Tx;
use crate::export::{in_the_database, write_output};
use document::Pointer;
use model::Json;
use std::io::Write;
use std::path::Path;
use store::{Error, ErrorKind, Isolation, Result};
use views::keys::{KeyColumn, KeyList, KeyType};

/// An import of lines, each a document. Outside of a transaction all become visible together with
/// [`Self::finish`], and without it none. In a transaction the documents of each [`Self::push`] are
/// in the transaction when it returns: an import that fails later leaves them there.
#[derive(Debug)]
pub struct DocumentImport {
    documents: Documents,
    /// `None` where the documents are already in a transaction.
    own: Option<Tx>,
    key: Pointer,
    /// Lines read, empty ones included.
    lines: u64,
    imported: u64,
}

/// Keys of some documents.
enum Keys {
    U64(Vec<u64>),
    I64(Vec<i64>),
    Str(Vec<String>),
}

impl Documents {
    /// Begins an import of lines. The field `key` of each document is its key, and stays in it.
    /// Documents of a transaction are imported into it.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn import_ndjson(&self, key: Pointer) -> Result<DocumentImport> {
        let (documents, own) = match &self.transaction {
            Some(_) => (self.clone(), None),
            None => {
                let own = self.database.transaction(Isolation::Snapshot);
                (Self { transaction: Some(own.clone()), ..self.clone() }, Some(own))
            }
        };
        Ok(DocumentImport { documents, own, key, lines: 0, imported: 0 })
    }

    /// Writes each document as a line of JSON, in key order; returns their number. Reads one
    /// snapshot, or the transaction with its own changes. With `key` that field of each document is
    /// its key. `progress` gets the number of documents written and returns false to stop.
    ///
    /// # Errors
    /// See [`Documents`]; [`ErrorKind::InvalidInput`] if a document cannot have the field;
    /// [`ErrorKind::Io`] if `out` fails; [`ErrorKind::Cancelled`].
    pub fn export_ndjson(
        &self,
        key: Option<&Pointer>,
        out: &mut dyn Write,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<u64> {
        let (mut scan, mut count) = (self.all()?, 0);
        let mut lines = Vec::new();
        while let Some(rows) = scan.next_rows(CHUNK_ROWS)? {
            if !progress(count) {
                return Err(Error::new(ErrorKind::Cancelled, "the export was stopped"));
            }
            lines.clear();
            for (row, document) in rows.documents.iter().enumerate() {
                match key {
                    None => lines.extend_from_slice(document.as_str().as_bytes()),
                    Some(field) => {
                        let mut tree = document.to_tree();
                        let key = key_value(&rows.keys, row);
                        field.set(&mut tree, key.clone()).map_err(|error| {
                            invalid(format!("document {key} of {:?}: {error}", self.name()))
                        })?;
                        lines.extend_from_slice(tree.to_string().as_bytes());
                    }
                }
                lines.push(b'\n');
                count += 1;
            }
            out.write_all(&lines).map_err(|error| Error::caused(ErrorKind::Io, error))?;
        }
        Ok(count)
    }

    /// As [`Documents::export_ndjson`], to a file that the user chose; see [`write_output`].
    ///
    /// # Errors
    /// As [`Documents::export_ndjson`]; [`ErrorKind::InvalidInput`] if `path` lies in the folder of
    /// the database. An existing file is then unchanged.
    pub fn export_ndjson_file(
        &self,
        key: Option<&Pointer>,
        path: &Path,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<u64> {
        if self.database.holds(path) {
            return Err(in_the_database(path));
        }
        write_output(path, &|| progress(0), |out| self.export_ndjson(key, out, progress))
    }
}

fn key_value(keys: &KeyColumn, row: usize) -> serde_json::Value {
    match keys {
        KeyColumn::U64(keys) => keys[row].into(),
        KeyColumn::I64(keys) => keys[row].into(),
        KeyColumn::Str(keys) => String::from_utf8_lossy(keys.get(row)).into_owned().into(),
    }
}

impl DocumentImport {
    /// Puts the documents of some lines; empty lines are skipped. Of several with one key the last
    /// stays.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the number of the line: it is no JSON, or has no key or one
    /// of another type; [`ErrorKind::Limit`] if the documents exceed a transaction's memory. Some
    /// lines before may have been put.
    pub fn push<L: AsRef<[u8]>>(&mut self, lines: &[L]) -> Result<()> {
        for some in lines.chunks(CHUNK_ROWS) {
            self.push_chunk(some)?;
        }
        Ok(())
    }

    fn push_chunk<L: AsRef<[u8]>>(&mut self, lines: &[L]) -> Result<()> {
        let mut keys = match self.documents.def.key {
            KeyType::U64 => Keys::U64(Vec::new()),
            KeyType::I64 => Keys::I64(Vec::new()),
            KeyType::Str => Keys::Str(Vec::new()),
        };
        let mut documents = Vec::with_capacity(lines.len());
        for line in lines {
            self.lines += 1;
            let line = line.as_ref().trim_ascii();
            if line.is_empty() {
                continue;
            }
            let number = self.lines;
            let wrong = |why: String| invalid(format!("line {number}: {why}"));
            let text = std::str::from_utf8(line).map_err(|error| wrong(error.to_string()))?;
            let document = Json::parse(text).map_err(|error| wrong(error.to_string()))?;
            let tree = document.to_tree();
            let key = self.key.get(&tree);
            if !key.is_some_and(|key| keys.push(key)) {
                let shown = key.map_or_else(|| "is missing".to_owned(), |key| format!("is {key}"));
                let of = self.documents.def.key;
                let what =
                    format!("the key at {:?} {shown}, not of type {of}", self.key.to_string());
                return Err(wrong(what));
            }
            documents.push(document);
        }
        self.imported += documents.len() as u64;
        match &keys {
            Keys::U64(keys) => self.documents.put_many(KeyList::U64(keys), documents),
            Keys::I64(keys) => self.documents.put_many(KeyList::I64(keys), documents),
            Keys::Str(keys) => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                self.documents.put_many(KeyList::Str(&keys), documents)
            }
        }
    }

    /// Commits the import; returns the number of documents read. In a transaction it commits
    /// nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if another transaction wrote one of the documents meanwhile.
    pub fn finish(self) -> Result<u64> {
        if let Some(own) = self.own {
            own.commit()?;
        }
        Ok(self.imported)
    }
}

impl Keys {
    /// Appends a key; false if it has another type.
    fn push(&mut self, key: &serde_json::Value) -> bool {
        match self {
            Self::U64(keys) => key.as_u64().map(|key| keys.push(key)).is_some(),
            Self::I64(keys) => key.as_i64().map(|key| keys.push(key)).is_some(),
            Self::Str(keys) => key.as_str().map(|key| keys.push(key.to_owned())).is_some(),
        }
    }
}
