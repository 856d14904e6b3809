//! Reads the postings of a full-text index.

use crate::storage::access_path::StoredPath;
use crate::storage::search_index::corrupt;
use base::{Batch, Column, KeyRange, KeyRef, KeyShape, Keys, Projection};
use model::{Type, decode_next, encode_str};
use search::{Analyzer, PostingList, PostingSource, Totals, first_from};
use store::{Error, Read, Result};

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
    /// Makes the text of a row, over the relation's columns.
    pub extractor: plan::Expr,
}

/// Key of a row of the indexed relation, encoded: it follows the word in the keys of postings.
/// Searches compare it and copy it.
pub(crate) trait DocumentKey: Ord + Clone {
    /// The key with these bytes; `None` if it does not fit.
    fn of(bytes: &[u8]) -> Option<Self>;

    /// Appends its bytes.
    fn append_to(&self, out: &mut Vec<u8>);
}

/// A key of any length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LongKey(Box<[u8]>);

impl DocumentKey for LongKey {
    fn of(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.into()))
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

/// A key of at most 15 bytes, as of one number: its bytes, then zeros, then their number. No key is
/// the beginning of another one, so this has the order of the bytes. Nothing is allocated for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShortKey(u128);

impl DocumentKey for ShortKey {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut packed = [0; 16];
        packed[15] = u8::try_from(bytes.len()).ok().filter(|len| *len < 16)?;
        packed[..bytes.len()].copy_from_slice(bytes);
        Some(Self(u128::from_be_bytes(packed)))
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        let packed = self.0.to_be_bytes();
        out.extend_from_slice(&packed[..usize::from(packed[15])]);
    }
}

impl TextIndex {
    /// Counts over all documents.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn totals(&self, read: &dyn Read) -> Result<Totals> {
        let (documents, tokens) = self.counts("", read)?;
        Ok(Totals { documents, tokens })
    }

    /// Documents that have a word, and how often they have it altogether.
    fn counts(&self, word: &str, read: &dyn Read) -> Result<(u64, u64)> {
        let mut key = Vec::new();
        encode_str(word, &mut key);
        let mut rows = Batch::new(&self.terms.shape);
        let (id, all) = (self.terms.keyspace, Projection { keys: 0, ..Projection::ALL });
        if !read.get(id, KeyRef::Bytes(&key), all, &mut rows)? {
            return Ok((0, 0));
        }
        let count = |column: usize| {
            let word = word_of(&rows, column, 0);
            u64::try_from(base::shape::word_to_int(word)).unwrap_or(0)
        };
        Ok((count(0), count(1)))
    }

    /// Whether all keys are a [`ShortKey`].
    pub(crate) fn has_short_keys(&self) -> bool {
        let [_, key] = &self.postings.schema.keys[..] else { return false };
        matches!(key.column_type, Type::Int | Type::Id | Type::Float | Type::Bool)
            || key.column_type.is_temporal()
    }

    fn corrupt(&self, why: &str) -> Error {
        corrupt(&self.postings, why)
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
    /// The columns that are read of postings.
    fn projection(keys: u8, positions: bool) -> Projection {
        let mut projection = Projection { keys, ..Projection::COUNT };
        projection.want_value(FREQUENCY);
        projection.want_value(LENGTH);
        if positions {
            projection.want_value(POSITIONS);
        }
        projection
    }

    /// Passes the postings whose key begins with `prefix` to `visit`.
    fn each(
        &mut self,
        prefix: &[u8],
        positions: bool,
        visit: Visit<'_>,
    ) -> std::result::Result<(), E> {
        let path = &self.index.postings;
        let range = KeyRange::prefix_bytes(prefix);
        let mut scan = self.read.scan(path.keyspace, range, Self::projection(1, positions))?;
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
    fn add<D: DocumentKey>(
        index: &TextIndex,
        list: &mut PostingList<D>,
        document: D,
        (rows, row): (&Batch, usize),
        positions: bool,
    ) -> Result<()> {
        list.documents.push(document);
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
            list.positions.push_encoded(bytes).ok_or_else(wrong)?;
        }
        Ok(())
    }
}

fn document_of<D: DocumentKey>(index: &TextIndex, bytes: &[u8]) -> Result<D> {
    D::of(bytes).ok_or_else(|| index.corrupt("a key is too long"))
}

impl<D: DocumentKey, E: From<Error>> PostingSource<D> for StoredPostings<'_, E> {
    type Error = E;

    fn count(&mut self, word: &str) -> std::result::Result<usize, E> {
        let (documents, _) = self.index.counts(word, self.read)?;
        Ok(usize::try_from(documents).unwrap_or(usize::MAX))
    }

    fn word(
        &mut self,
        word: &str,
        among: Option<&[D]>,
        positions: bool,
    ) -> std::result::Result<PostingList<D>, E> {
        let mut prefix = Vec::new();
        encode_str(word, &mut prefix);
        let (mut list, index) = (PostingList::default(), self.index);
        let mut next = 0;
        self.each(&prefix, positions, &mut |key, rows, row| {
            let document = document_of(index, &key[prefix.len()..])?;
            if let Some(among) = among {
                next = first_from(among, next, |known| *known < document);
                if among.get(next) != Some(&document) {
                    return Ok(());
                }
            }
            Self::add(index, &mut list, document, (rows, row), positions)
        })?;
        Ok(list)
    }

    fn word_among(
        &mut self,
        word: &str,
        documents: &[D],
        positions: bool,
    ) -> std::result::Result<PostingList<D>, E> {
        let path = &self.index.postings;
        let mut list = PostingList::default();
        let mut key = Vec::new();
        for some in documents.chunks(CHUNK_ROWS) {
            let mut keys = Keys::new(KeyShape::Bytes);
            for document in some {
                key.clear();
                encode_str(word, &mut key);
                document.append_to(&mut key);
                keys.push(KeyRef::Bytes(&key));
            }
            let (mut rows, mut present) = (Batch::new(&path.shape), Vec::new());
            let wanted = Self::projection(0, positions);
            self.read.get_many(path.keyspace, &keys, wanted, &mut present, &mut rows)?;
            let found = some.iter().enumerate().zip(present).filter(|(_, present)| *present);
            for ((row, document), _) in found {
                Self::add(self.index, &mut list, document.clone(), (&rows, row), positions)?;
            }
            self.bytes += (rows.heap_bytes() + 64 * rows.rows) as u64;
            (self.check)(self.bytes)?;
        }
        Ok(list)
    }

    fn words_with(
        &mut self,
        prefix: &str,
        positions: bool,
    ) -> std::result::Result<Vec<PostingList<D>>, E> {
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
            Self::add(index, list, document_of(index, document)?, (rows, row), positions)
        })?;
        Ok(lists)
    }

    fn check(&mut self) -> std::result::Result<(), E> {
        (self.check)(self.bytes)
    }
}
