//! The rows of full-text indexes. Counts are merged, so two transactions that change different rows
//! do not conflict.

use crate::dml::extract::{Extract, RowChange, part_writes};
use base::{Batch, Column, KeyRef, Kind, int_to_word};
use exec::error::Result;
use exec::storage::access_path::StoredPath;
use exec::storage::text_index::TextIndex;
use model::{Value, encode_str};
use search::{Token, encode_positions};
use std::collections::BTreeMap;
use store::{Kinds, TableWrites};

/// The words of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The key of the row, encoded.
    pub key: Vec<u8>,
    /// Positions of each word.
    pub words: BTreeMap<String, Vec<u32>>,
    /// Number of words, repeated ones included.
    pub length: u32,
}

/// Documents and occurrences of words; those of the empty word are documents and words altogether.
type TermCounts = BTreeMap<String, (i64, i64)>;

/// The writes to a full-text index for changed rows.
///
/// # Errors
/// A text that cannot be made; what stops the script.
pub(crate) fn posting_writes(
    index: &TextIndex,
    extract: &Extract<'_>,
    changes: &[RowChange<'_>],
) -> Result<Vec<TableWrites>> {
    let (mut kinds, mut postings) = (Vec::new(), Batch::new(&index.postings.shape));
    let mut counts = TermCounts::new();
    let make = |row: &[Value]| Document::of(index, extract, row);
    extract.each_change(changes, &make, &mut |old: Option<&Document>, new| {
        old.iter().for_each(|old| old.count(-1, &mut counts));
        new.iter().for_each(|new| new.count(1, &mut counts));
        change_postings(old, new, &mut kinds, &mut postings);
    })?;
    counts.retain(|_, counts| *counts != (0, 0));
    let counts = counts.iter().map(|(word, counts)| (word.as_str(), *counts));
    let counts = count_rows(&index.terms, counts);
    Ok(vec![
        part_writes(&index.postings, Kinds::PerRow(kinds), postings),
        part_writes(&index.terms, Kinds::Uniform(Kind::Merge), counts),
    ])
}

impl Document {
    /// The document of a row; `None` if the row is not indexed.
    ///
    /// # Errors
    /// The text cannot be made, or it is not a text.
    pub(crate) fn of(
        index: &TextIndex,
        extract: &Extract<'_>,
        row: &[Value],
    ) -> Result<Option<Self>> {
        let Some(tokens) = analyzed(index, extract, row)? else { return Ok(None) };
        let mut words = BTreeMap::<String, Vec<u32>>::new();
        let length = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        for token in tokens {
            words.entry(token.text).or_default().push(token.position);
        }
        // Filters may put several words at one place, in any order.
        words.values_mut().for_each(|positions| positions.sort_unstable());
        Ok(Some(Self { key: extract.key(row), words, length }))
    }

    /// Adds its counts, `sign` times.
    fn count(&self, sign: i64, counts: &mut TermCounts) {
        let mut add = |word: &str, occurrences: i64| {
            if !counts.contains_key(word) {
                counts.insert(word.to_owned(), (0, 0));
            }
            if let Some((documents, all)) = counts.get_mut(word) {
                *documents += sign;
                *all += sign * occurrences;
            }
        };
        add("", i64::from(self.length));
        for (word, positions) in &self.words {
            add(word, positions.len() as i64);
        }
    }

    /// Appends the posting of one of its words.
    fn append_posting(&self, word: &str, positions: &[u32], out: &mut Batch) {
        let counts = (positions.len() as u32, self.length);
        append_posting(word, &self.key, counts, &encode_positions(positions), out);
    }
}

/// The words of a row; `None` if the row is not indexed.
///
/// # Errors
/// As [`Document::of`].
pub(crate) fn analyzed(
    index: &TextIndex,
    extract: &Extract<'_>,
    row: &[Value],
) -> Result<Option<Vec<Token>>> {
    match extract.value(row)? {
        None => Ok(None),
        Some(Value::Str(text)) => Ok(Some(index.analyzer.tokens(&text))),
        Some(other) => {
            let hint = "its extractor makes the text of a row: to_string(…) makes one";
            Err(extract.refused(&other, "a String", hint))
        }
    }
}

/// Appends the posting of a word in a document with this key, the word's encoded positions, and
/// how often the document has the word and any word.
pub(crate) fn append_posting(
    word: &str,
    key: &[u8],
    (frequency, length): (u32, u32),
    positions: &[u8],
    out: &mut Batch,
) {
    let mut bytes = Vec::with_capacity(word.len() + 3 + key.len());
    encode_str(word, &mut bytes);
    bytes.extend_from_slice(key);
    out.keys.push(KeyRef::Bytes(&bytes));
    for (column, count) in out.values.iter_mut().zip([frequency, length]) {
        push_int(column, i64::from(count));
    }
    if let Some(Column::Bytes(column)) = out.values.get_mut(2) {
        column.push(Some(positions));
    }
    out.rows += 1;
}

fn push_int(column: &mut Column, int: i64) {
    if let Column::Words(words) = column {
        words.push(Some(int_to_word(int)));
    }
}

/// Appends the changes from one document to another with the same key.
fn change_postings(
    old: Option<&Document>,
    new: Option<&Document>,
    kinds: &mut Vec<Kind>,
    out: &mut Batch,
) {
    if let Some(old) = old {
        for (word, positions) in &old.words {
            if new.is_none_or(|new| !new.words.contains_key(word)) {
                old.append_posting(word, positions, out);
                kinds.push(Kind::Delete);
            }
        }
    }
    let Some(new) = new else { return };
    for (word, positions) in &new.words {
        let is_same = old
            .is_some_and(|old| old.length == new.length && old.words.get(word) == Some(positions));
        if !is_same {
            new.append_posting(word, positions, out);
            kinds.push(Kind::Put);
        }
    }
}

/// Rows of counts: words in order, each with its documents and occurrences.
pub(crate) fn count_rows<'w>(
    path: &StoredPath,
    counts: impl Iterator<Item = (&'w str, (i64, i64))>,
) -> Batch {
    let mut rows = Batch::new(&path.shape);
    let mut key = Vec::new();
    for (word, (documents, occurrences)) in counts {
        key.clear();
        encode_str(word, &mut key);
        rows.keys.push(KeyRef::Bytes(&key));
        for (column, count) in rows.values.iter_mut().zip([documents, occurrences]) {
            push_int(column, count);
        }
        rows.rows += 1;
    }
    rows
}
