//! The rows of a search index: made of a relation's rows, and changed with them.
//!
//! # How a change stays exact
//! The words of the old row are made anew from the row that is there, so nothing of it stays
//! behind. Only postings that differ are written. Counts are merged, so two transactions that
//! change different rows do not conflict.

use crate::text_index::{expression, text_index};
use base::{Batch, Column, KeyRef, Kind, int_to_word};
use exec::error::{Error, Result};
use exec::expr::batch::Rows;
use exec::expr::{Compiled, Computer};
use exec::storage::access_path::StoredPath;
use exec::storage::text_index::TextIndex;
use exec::value::cell::{Cell, Interner};
use function::FunctionContext;
use model::{Value, encode_str, encode_tuple};
use relation::{Catalog, Schema, SearchDef};
use search::encode_positions;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Kinds, Read, TableWrites};
use syntax::Span;

/// A search index of a relation, ready to be written.
pub(crate) struct SearchIndex {
    /// Its definition.
    pub def: SearchDef,
    /// Where its rows are, and how texts become words.
    pub text: Arc<TextIndex>,
    /// Whether a row is indexed, over the relation's columns.
    extract_filter: Option<plan::Expr>,
    /// Number of key columns.
    keys: usize,
}

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

/// A row before and after a change.
pub(crate) type RowChange<'r> = (Option<&'r [Value]>, Option<&'r [Value]>);

/// Documents and occurrences of words; those of the empty word are documents and words altogether.
pub(crate) type TermCounts = BTreeMap<String, (i64, i64)>;

impl SearchIndex {
    /// The search indexes of a relation.
    ///
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn all_of(
        catalog: &Catalog,
        read: &dyn Read,
        schema: &Schema,
    ) -> store::Result<Vec<Self>> {
        let found = catalog.search_indexes_of(read, &schema.name)?;
        found.into_iter().map(|(def, ids)| Self::open(def, &ids, schema)).collect()
    }

    /// An index of a relation with this schema; `ids` are the keyspaces of its parts.
    ///
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn open(
        def: SearchDef,
        ids: &[base::KeyspaceId],
        schema: &Schema,
    ) -> store::Result<Self> {
        let text = Arc::new(text_index(&def, ids, schema)?);
        let extract_filter = expression(&def, "extract_filter", schema)?;
        Ok(Self { extract_filter, text, keys: schema.keys.len(), def })
    }

    /// Ready to make documents. The interner holds values only while it does.
    ///
    /// # Errors
    /// A constant expression that fails.
    pub(crate) fn extract<'i>(
        &'i self,
        interner: &'i Interner,
        ambient: &'i dyn FunctionContext,
        span: Span,
    ) -> Result<Extract<'i>> {
        let computer = Computer::new(interner, &[], ambient);
        let extractor =
            computer.compile(&self.text.extractor).map_err(|error| self.failed(error, span))?;
        let filter = self.extract_filter.as_ref().map(|filter| computer.compile(filter));
        let filter = filter.transpose().map_err(|error| self.failed(error, span))?;
        Ok(Extract { index: self, computer, interner, extractor, filter, span })
    }

    /// The writes to all parts of the index for changed rows.
    ///
    /// # Errors
    /// A text that cannot be made; what stops the script.
    pub(crate) fn writes(
        &self,
        changes: &[RowChange<'_>],
        ambient: &dyn FunctionContext,
        span: Span,
    ) -> Result<Vec<TableWrites>> {
        let interner = Interner::default();
        let extract = self.extract(&interner, ambient, span)?;
        let (mut kinds, mut postings) = (Vec::new(), Batch::new(&self.text.postings.shape));
        let mut counts = TermCounts::new();
        for &(old, new) in changes {
            let failed = |failure| Error::failed(failure, span);
            ambient.check_cancelled().map_err(failed)?;
            let document = |row: Option<&[Value]>| row.map(|row| extract.document(row)).transpose();
            let (old, new) = (document(old)?.flatten(), document(new)?.flatten());
            if old == new {
                continue;
            }
            old.iter().for_each(|old| old.count(-1, &mut counts));
            new.iter().for_each(|new| new.count(1, &mut counts));
            change_postings(old.as_ref(), new.as_ref(), &mut kinds, &mut postings);
        }
        counts.retain(|_, counts| *counts != (0, 0));
        let table = |path: &StoredPath, kinds, rows| TableWrites {
            keyspace: path.keyspace,
            kinds,
            rows,
            delete_ranges: Vec::new(),
        };
        let counts = count_rows(&self.text.terms, &counts);
        Ok(vec![
            table(&self.text.postings, Kinds::PerRow(kinds), postings),
            table(&self.text.terms, Kinds::Uniform(Kind::Merge), counts),
        ])
    }

    /// An error in the settings of the index, reported where rows are changed.
    fn failed(&self, error: Error, span: Span) -> Error {
        match error {
            Error::Value(problem) => {
                let what = format!("index `{}`: {}", self.def.name, problem.message);
                Error::Value(syntax::Diagnostic { message: what, span, ..problem })
            }
            other => other,
        }
    }
}

/// Makes documents of rows.
pub(crate) struct Extract<'i> {
    index: &'i SearchIndex,
    computer: Computer<'i>,
    interner: &'i Interner,
    extractor: Compiled,
    filter: Option<Compiled>,
    span: Span,
}

/// The cells of one row.
struct RowCells(Vec<Cell>);

impl Rows for RowCells {
    fn cell(&self, var: usize, _: usize) -> Cell {
        self.0[var]
    }
}

impl Extract<'_> {
    /// The document of a row; `None` if the row is not indexed.
    ///
    /// # Errors
    /// The text cannot be made, or it is not a text.
    pub(crate) fn document(&self, row: &[Value]) -> Result<Option<Document>> {
        let index = self.index;
        if let (plan::Expr::Var(column), None) = (&index.text.extractor, &self.filter) {
            return self.of_value(&row[*column], row);
        }
        let cells = RowCells(row.iter().map(|value| self.interner.cell(value)).collect());
        let failed = |error| index.failed(error, self.span);
        if let Some(filter) = &self.filter {
            let is_true = self.computer.compute(filter, &cells, 0);
            let is_true =
                is_true.and_then(|cell| self.computer.truth(cell, "`extract_filter`", self.span));
            if !is_true.map_err(failed)? {
                return Ok(None);
            }
        }
        let text = self.computer.compute(&self.extractor, &cells, 0).map_err(failed)?;
        self.of_value(&self.interner.value(text), row)
    }

    fn of_value(&self, text: &Value, row: &[Value]) -> Result<Option<Document>> {
        let text = match text {
            Value::Str(text) => text,
            Value::Null => return Ok(None),
            other => {
                let name = &self.index.def.name;
                let what = format!("index `{name}` expects a String, not {}", other.kind());
                let hint = "its extractor makes the text of a row: to_string(…) makes one";
                return Err(Error::hinted(what, self.span, hint));
            }
        };
        let mut key = Vec::new();
        encode_tuple(&row[..self.index.keys], &mut key);
        let mut words = BTreeMap::<String, Vec<u32>>::new();
        let tokens = self.index.text.analyzer.tokens(text);
        let length = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        for token in tokens {
            words.entry(token.text).or_default().push(token.position);
        }
        // Filters may put several words at one place, in any order.
        words.values_mut().for_each(|positions| positions.sort_unstable());
        Ok(Some(Document { key, words, length }))
    }
}

impl Document {
    /// Adds its counts, `sign` times.
    pub(crate) fn count(&self, sign: i64, counts: &mut TermCounts) {
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
    pub(crate) fn append_posting(&self, word: &str, positions: &[u32], out: &mut Batch) {
        let mut key = Vec::with_capacity(word.len() + 3 + self.key.len());
        encode_str(word, &mut key);
        key.extend_from_slice(&self.key);
        out.keys.push(KeyRef::Bytes(&key));
        let frequency = positions.len() as i64;
        for (column, count) in out.values.iter_mut().zip([frequency, i64::from(self.length)]) {
            push_int(column, count);
        }
        if let Some(Column::Bytes(column)) = out.values.get_mut(2) {
            column.push(Some(&encode_positions(positions)));
        }
        out.rows += 1;
    }
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

/// Rows of counts.
pub(crate) fn count_rows(path: &StoredPath, counts: &TermCounts) -> Batch {
    let mut rows = Batch::new(&path.shape);
    let mut key = Vec::new();
    for (word, &(documents, occurrences)) in counts {
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
