//! Reads the postings of a full-text index.

use crate::storage::access_path::StoredPath;
use base::{Batch, Column, KeyRange, KeyRef, Keys, Projection};
use model::{Value, decode_next, encode_str};
use search::{Analyzer, PostingList, PostingSource, Totals, decode_positions};
use store::{Error, ErrorKind, Read, Result};

/// Postings that are read at a time.
const CHUNK_ROWS: usize = 16_384;

/// Columns of postings after their key: how often a word is in a document, the words of the
/// document, the positions of the word.
const FREQUENCY: usize = 0;
const LENGTH: usize = 1;
const POSITIONS: usize = 2;

/// A full-text index that can be searched.
#[derive(Debug)]
pub struct TextIndex {
    /// `{word, key of a row => frequency, total_length, positions}`
    pub postings: StoredPath,
    /// `{word => documents, occurrences}`
    pub terms: StoredPath,
    /// Makes the words.
    pub analyzer: Analyzer,
}

/// Key of a row of the indexed relation, encoded: it follows the word in the keys of postings.
pub type DocumentKey = Box<[u8]>;

impl TextIndex {
    /// Counts over all documents.
    ///
    /// # Errors
    /// Those of the store.
    pub fn totals(&self, read: &dyn Read) -> Result<Totals> {
        let mut key = Vec::new();
        encode_str("", &mut key);
        let mut rows = Batch::new(&self.terms.shape);
        let (id, all) = (self.terms.keyspace, Projection { keys: 0, ..Projection::ALL });
        if !read.get(id, KeyRef::Bytes(&key), all, &mut rows)? {
            return Ok(Totals::default());
        }
        let count = |column: usize| {
            let word = word_of(&rows, column, 0);
            u64::try_from(base::shape::word_to_int(word)).unwrap_or(0)
        };
        Ok(Totals { documents: count(0), tokens: count(1) })
    }

    /// The values of the key of a document.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if the bytes are not a key.
    pub fn key_values(&self, document: &DocumentKey) -> Result<Vec<Value>> {
        let values = model::decode_tuple(document);
        let values = values.map_err(|error| self.corrupt(&error.to_string()))?;
        match values.len() + 1 == self.postings.schema.keys.len() {
            true => Ok(values),
            false => Err(self.corrupt("a key has the wrong number of columns")),
        }
    }

    fn corrupt(&self, why: &str) -> Error {
        let what =
            format!("stored bytes are not a posting of {:?}: {why}", self.postings.schema.name);
        Error::new(ErrorKind::Corruption, what)
    }
}

fn word_of(rows: &Batch, column: usize, row: usize) -> u64 {
    match rows.values.get(column) {
        Some(Column::Words(words)) => words.words.get(row).copied().unwrap_or(0),
        _ => 0,
    }
}

/// Receives the key of a posting, and the batch with its row.
type Visit<'v> = &'v mut dyn FnMut(&[u8], &Batch, usize) -> Result<()>;

/// The postings of an index as one snapshot has them.
pub(crate) struct StoredPostings<'r, E> {
    pub(crate) index: &'r TextIndex,
    pub(crate) read: &'r dyn Read,
    /// Checks the limits, with the bytes that are held.
    pub(crate) check: &'r dyn Fn(u64) -> std::result::Result<(), E>,
    /// Bytes of the postings that were read.
    pub(crate) bytes: u64,
}

impl<E: From<Error>> StoredPostings<'_, E> {
    /// Passes the postings whose key begins with `prefix` to `visit`.
    fn each(
        &mut self,
        prefix: &[u8],
        positions: bool,
        visit: Visit<'_>,
    ) -> std::result::Result<(), E> {
        let path = &self.index.postings;
        let mut projection = Projection::COUNT;
        projection.keys = 1;
        projection.want_value(FREQUENCY);
        projection.want_value(LENGTH);
        if positions {
            projection.want_value(POSITIONS);
        }
        let range = KeyRange::prefix_bytes(prefix);
        let mut scan = self.read.scan(path.keyspace, range, projection)?;
        let mut rows = Batch::new(&path.shape);
        while scan.next_batch(CHUNK_ROWS, &mut rows)? {
            let Keys::Bytes(keys) = &rows.keys else { break };
            for row in 0..rows.rows {
                visit(keys.get(row), &rows, row)?;
            }
            self.bytes += (rows.heap_bytes() + 64 * rows.rows) as u64;
            (self.check)(self.bytes)?;
            rows.clear();
        }
        Ok(())
    }

    /// Adds a row to the postings of its word.
    fn add(
        index: &TextIndex,
        list: &mut PostingList<DocumentKey>,
        document: &[u8],
        (rows, row): (&Batch, usize),
        positions: bool,
    ) -> Result<()> {
        list.documents.push(document.into());
        let count = |column: usize| {
            u32::try_from(base::shape::word_to_int(word_of(rows, column, row))).unwrap_or(0)
        };
        list.frequencies.push(count(FREQUENCY));
        list.lengths.push(count(LENGTH));
        if positions {
            let bytes = match rows.values.get(POSITIONS) {
                Some(Column::Bytes(column)) => column.get(row),
                _ => &[],
            };
            let wrong = || index.corrupt("positions cannot be read");
            list.positions.push(decode_positions(bytes).ok_or_else(wrong)?);
        }
        Ok(())
    }
}

impl<E: From<Error>> PostingSource<DocumentKey> for StoredPostings<'_, E> {
    type Error = E;

    fn word(
        &mut self,
        word: &str,
        positions: bool,
    ) -> std::result::Result<PostingList<DocumentKey>, E> {
        let mut prefix = Vec::new();
        encode_str(word, &mut prefix);
        let (mut list, index) = (PostingList::default(), self.index);
        self.each(&prefix, positions, &mut |key, rows, row| {
            Self::add(index, &mut list, &key[prefix.len()..], (rows, row), positions)
        })?;
        Ok(list)
    }

    fn words_with(
        &mut self,
        prefix: &str,
        positions: bool,
    ) -> std::result::Result<Vec<PostingList<DocumentKey>>, E> {
        let mut bytes = Vec::new();
        encode_str(prefix, &mut bytes);
        // Without the two bytes that end a string.
        bytes.truncate(bytes.len().saturating_sub(2));
        let (mut lists, index) = (Vec::new(), self.index);
        let mut last: Vec<u8> = Vec::new();
        self.each(&bytes, positions, &mut |key, rows, row| {
            let mut document = key;
            decode_next(&mut document).map_err(|error| index.corrupt(&error.to_string()))?;
            let word = &key[..key.len() - document.len()];
            if lists.is_empty() || last != word {
                last = word.to_vec();
                lists.push(PostingList::default());
            }
            let Some(list) = lists.last_mut() else { return Ok(()) };
            Self::add(index, list, document, (rows, row), positions)
        })?;
        Ok(lists)
    }

    fn check(&mut self) -> std::result::Result<(), E> {
        (self.check)(self.bytes)
    }
}
