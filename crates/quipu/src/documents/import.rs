//! Documents from the bytes of a format.

use super::{CHUNK_ROWS, Documents, invalid};
use crate::database::Tx;
use document::{Format, Pointer, Splitter};
use model::Json;
use std::num::NonZeroU64;
use store::{Error, Isolation, Result};
use views::keys::{KeyList, KeyType};

/// An import of documents of a format. Outside of a transaction all become visible together with
/// [`Self::finish`], and without it none; with [`Self::with_commits_of`] some at a time. In a
/// transaction the documents of each call are in the transaction when it returns: an import that
/// fails later leaves them there.
#[derive(Debug)]
pub struct DocumentImport {
    /// In the transaction `own` where there is one.
    documents: Documents,
    /// `None` where the documents are already in a transaction.
    own: Option<Tx>,
    /// Documents of each commit.
    commit_of: Option<NonZeroU64>,
    format: Format,
    key: Pointer,
    splitter: Splitter,
    /// Documents read, or lines, empty ones included.
    read: u64,
    imported: u64,
    /// Of `imported`, those that are committed.
    committed: u64,
}

/// Keys of some documents.
enum Keys {
    U64(Vec<u64>),
    I64(Vec<i64>),
    Str(Vec<String>),
}

impl Documents {
    /// Begins an import of documents of a format. The field `key` of each document is its key, and
    /// stays in it. Documents of a transaction are imported into it.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn import(&self, format: Format, key: Pointer) -> Result<DocumentImport> {
        let mut import = DocumentImport {
            documents: self.clone(),
            own: None,
            commit_of: None,
            format,
            key,
            splitter: Splitter::new(format),
            read: 0,
            imported: 0,
            committed: 0,
        };
        if self.transaction.is_none() {
            import.begin();
        }
        Ok(import)
    }
}

impl DocumentImport {
    /// The import that commits after each `documents` of them, so that a file may have more than a
    /// transaction holds. What was committed stays if the import fails. No effect in a transaction.
    #[must_use]
    pub fn with_commits_of(self, documents: NonZeroU64) -> Self {
        Self { commit_of: self.own.is_some().then_some(documents), ..self }
    }

    /// Number of documents that are committed.
    #[must_use]
    pub const fn committed(&self) -> u64 {
        self.committed
    }

    /// Begins a transaction of the import's own.
    fn begin(&mut self) {
        let own = self.documents.database.transaction(Isolation::Snapshot);
        self.documents.transaction = Some(own.clone());
        self.own = Some(own);
    }

    /// Puts the documents in the next bytes of a file. Those whose end is missing follow with the
    /// next call, or with [`Self::end`]. Of several with one key the last stays.
    ///
    /// # Errors
    /// As [`Self::push`]; [`store::ErrorKind::InvalidInput`] if the bytes are not of the format.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.splitter.push(bytes);
        self.push_split()
    }

    /// Puts the last documents of a file, once all its bytes were pushed.
    ///
    /// # Errors
    /// As [`Self::push`]; [`store::ErrorKind::InvalidInput`] if the file ends within a document.
    pub fn end(&mut self) -> Result<()> {
        self.splitter.end();
        self.push_split()
    }

    /// Puts the documents that the bytes so far hold.
    fn push_split(&mut self) -> Result<()> {
        loop {
            let mut chunk = Vec::new();
            let mut failed = None;
            let wanted = self.chunk_len();
            while chunk.len() < wanted {
                match self.splitter.next_document() {
                    Ok(Some(bytes)) => chunk.push(bytes.to_vec()),
                    Ok(None) => break,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            self.push_chunk(&chunk)?;
            match failed {
                Some(error) => return Err(self.kept(self.wrong(self.read + 1, error))),
                None if chunk.len() < wanted => return Ok(()),
                None => {}
            }
        }
    }

    /// Puts some documents, each its bytes alone; empty lines of JSON are skipped. Of several with
    /// one key the last stays.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] with the number of the document or line: it is not of the
    /// format, or has no key or one of another type; [`store::ErrorKind::Limit`] if the documents
    /// of a commit exceed a transaction's memory; [`store::ErrorKind::Conflict`] as for
    /// [`Self::finish`]. Some documents before may have been put.
    pub fn push<D: AsRef<[u8]>>(&mut self, documents: &[D]) -> Result<()> {
        let mut rest = documents;
        while !rest.is_empty() {
            let (some, after) = rest.split_at(self.chunk_len().min(rest.len()));
            self.push_chunk(some)?;
            rest = after;
        }
        Ok(())
    }

    /// How many documents are put at a time: no more than the next commit has.
    fn chunk_len(&self) -> usize {
        let next = |many: NonZeroU64| many.get() - (self.imported - self.committed);
        let next = self.commit_of.map(next).and_then(|next| usize::try_from(next).ok());
        next.unwrap_or(CHUNK_ROWS).min(CHUNK_ROWS)
    }

    /// An error about a document or a line.
    fn wrong(&self, number: u64, why: impl std::fmt::Display) -> Error {
        let what = match self.format {
            Format::Json => "line",
            _ => "document",
        };
        invalid(format!("{what} {number}: {why}"))
    }

    /// Adds to an error how much is committed before it.
    fn kept(&self, error: Error) -> Error {
        match self.committed {
            0 => error,
            kept => {
                let what = format!("{error}\nhint: {kept} documents before are committed");
                error.with_message(what)
            }
        }
    }

    fn push_chunk<D: AsRef<[u8]>>(&mut self, chunk: &[D]) -> Result<()> {
        let put = self.put_chunk(chunk);
        put.map_err(|error| self.kept(error))
    }

    fn put_chunk<D: AsRef<[u8]>>(&mut self, chunk: &[D]) -> Result<()> {
        let mut keys = match self.documents.def.key {
            KeyType::U64 => Keys::U64(Vec::new()),
            KeyType::I64 => Keys::I64(Vec::new()),
            KeyType::Str => Keys::Str(Vec::new()),
        };
        let mut documents = Vec::with_capacity(chunk.len());
        for bytes in chunk {
            self.read += 1;
            let bytes = match self.format {
                Format::Json => bytes.as_ref().trim_ascii(),
                _ => bytes.as_ref(),
            };
            if bytes.is_empty() && self.format == Format::Json {
                continue;
            }
            let number = self.read;
            let tree = self.format.decode_tree(bytes);
            let tree = tree.map_err(|error| self.wrong(number, error))?;
            let key = self.key.get(&tree);
            if !key.is_some_and(|key| keys.push(key)) {
                let shown = key.map_or_else(|| "is missing".to_owned(), |key| format!("is {key}"));
                let (at, of) = (self.key.to_string(), self.documents.def.key);
                let what = format!("the key at {at:?} {shown}, not of type {of}");
                return Err(self.wrong(number, what));
            }
            documents.push(Json::of_tree(tree).map_err(|error| self.wrong(number, error))?);
        }
        if documents.is_empty() {
            return Ok(());
        }
        let many = documents.len() as u64;
        match &keys {
            Keys::U64(keys) => self.documents.put_many(KeyList::U64(keys), documents),
            Keys::I64(keys) => self.documents.put_many(KeyList::I64(keys), documents),
            Keys::Str(keys) => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                self.documents.put_many(KeyList::Str(&keys), documents)
            }
        }?;
        self.imported += many;
        let full = self.commit_of.is_some_and(|many| self.imported - self.committed >= many.get());
        match full {
            true => self.commit(),
            false => Ok(()),
        }
    }

    /// Commits what was put since the last commit, and begins anew.
    fn commit(&mut self) -> Result<()> {
        if let Some(own) = self.own.take() {
            own.commit()?;
            self.committed = self.imported;
            self.begin();
        }
        Ok(())
    }

    /// Commits the import; returns the number of documents read. In a transaction it commits
    /// nothing.
    ///
    /// # Errors
    /// [`store::ErrorKind::Conflict`] if another transaction wrote one of the documents meanwhile.
    pub fn finish(mut self) -> Result<u64> {
        if let Some(own) = self.own.take() {
            own.commit().map_err(|error| self.kept(error))?;
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
            Self::Str(keys) => text_of(key).map(|key| keys.push(key.to_owned())).is_some(),
        }
    }
}

/// The text of a key: text, or MongoDB's object id, whose text is that of its hexadecimal digits.
fn text_of(key: &serde_json::Value) -> Option<&str> {
    let id = || key.as_object().filter(|id| id.len() == 1)?.get("$oid")?.as_str();
    key.as_str().or_else(id)
}
