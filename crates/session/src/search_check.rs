//! Checks whether a search index matches its relation. Vector indexes are in `vector_check.rs`.
//!
//! The rows of the index that the rows of the relation imply are compared with the stored ones by
//! sums of hashes, as `index_check.rs` compares other indexes. They are encoded value by value, so
//! the check shares no code with the writer but the words of texts, and signatures. Counts of words
//! are compared with the stored postings, whose words come in order.

use crate::admin::Admin;
use crate::ambient::EnvAmbient;
use crate::dml::band_rows::SignedRow;
use crate::dml::extract::Extract;
use crate::dml::posting_rows::Document;
use crate::dml::search_rows::SearchIndex;
use crate::dml::search_writes::SearchWriter;
use base::{Batch, KeyspaceId, Projection};
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::storage::access_path::StoredPath;
use exec::storage::band_index::BandIndex;
use exec::storage::search_index::SearchIndex as Storage;
use exec::storage::text_index::TextIndex;
use exec::value::cell::Interner;
use model::Value;
use relation::{Entry, Schema, SearchDef};
use search::{decode_positions, encode_positions};
use std::hash::{BuildHasher, Hasher};
use store::Read;
use syntax::Span;

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 4096;

/// The result of checking a search index.
pub(crate) struct SearchCheck {
    /// Its definition.
    pub def: SearchDef,
    /// Rows of its main part: postings, bands or links.
    pub rows: u64,
    /// A mismatch, if any.
    pub problem: Option<String>,
}

/// The number and the hash sums of rows.
#[derive(Clone, Copy, Default, PartialEq)]
struct Sums {
    rows: u64,
    hashes: [u64; 2],
}

/// Compares the search indexes of a relation with its rows.
///
/// # Errors
/// Failures of the store, and what stops it.
pub(crate) fn check(
    admin: &Admin<'_>,
    entry: &Entry,
    limits: &QueryLimits<'_>,
) -> Result<Vec<SearchCheck>> {
    let Entry::Relation(schema, main) = entry else { return Ok(Vec::new()) };
    if schema.name.contains(':') {
        return Ok(Vec::new());
    }
    let snapshot = admin.store.snapshot();
    let indexes = SearchWriter::all_of(admin.catalog, &*snapshot, schema, *main)?;
    let mut all = Vec::with_capacity(indexes.len());
    for index in indexes {
        let index = match index {
            SearchWriter::Extracted(index) => index,
            SearchWriter::Vectors(index) => {
                let (rows, problem) = crate::vector_check::check(&*snapshot, &index, limits)?;
                all.push(SearchCheck { def: index.def, rows, problem });
                continue;
            }
        };
        let relation = Indexed { read: &*snapshot, schema, main: *main, index: &index, limits };
        let (rows, problem) = match &index.storage {
            Storage::Text(text) => compare_text(&relation, text)?,
            Storage::Bands(bands) => compare_bands(&relation, bands)?,
            Storage::Vector(_) => unreachable!("`SearchWriter` keeps them apart"),
        };
        all.push(SearchCheck { def: index.def, rows, problem });
    }
    Ok(all)
}

/// A relation with one of its search indexes, at a snapshot.
struct Indexed<'c> {
    read: &'c dyn Read,
    schema: &'c Schema,
    main: KeyspaceId,
    index: &'c SearchIndex,
    limits: &'c QueryLimits<'c>,
}

impl Indexed<'_> {
    /// Passes the rows of the relation to `visit`.
    fn each_row(&self, visit: &mut dyn FnMut(&Extract<'_>, &[Value]) -> Result<()>) -> Result<()> {
        let path = StoredPath::of(self.schema.clone(), self.main);
        each_row(self.read, &path, self.limits, &mut |row| {
            let (interner, ambient) = (Interner::default(), EnvAmbient(self.limits));
            let extract = self.index.extractor.extract(&interner, &ambient, Span::default())?;
            visit(&extract, &row)
        })
    }
}

/// The number of postings, and what does not match.
fn compare_text(relation: &Indexed<'_>, text: &TextIndex) -> Result<(u64, Option<String>)> {
    let (wanted, wanted_counts) = wanted_postings(relation, text)?;
    let (found, counts, problem) = stored_postings(relation, text)?;
    let problem = problem.or_else(|| found.difference(&wanted)).or_else(|| {
        (counts != wanted_counts).then(|| {
            format!(
                "counts of {} documents and {} words, the relation {} and {}",
                counts.documents, counts.words, wanted_counts.documents, wanted_counts.words
            )
        })
    });
    Ok((found.rows, problem))
}

/// Documents and words altogether.
#[derive(Default, PartialEq)]
struct TextCounts {
    documents: i64,
    words: i64,
}

fn wanted_postings(relation: &Indexed<'_>, text: &TextIndex) -> Result<(Sums, TextCounts)> {
    let (mut sums, mut counts) = (Sums::default(), TextCounts::default());
    let keys = relation.schema.keys.len();
    relation.each_row(&mut |extract, row| {
        let Some(document) = Document::of(text, extract, row)? else { return Ok(()) };
        counts.documents += 1;
        counts.words += i64::from(document.length);
        let Document { words, length, .. } = document;
        for (word, positions) in words {
            let key = row[..keys].iter().cloned();
            let counts = [positions.len() as i64, i64::from(length)].map(Value::Int);
            let positions = Value::Bytes(encode_positions(&positions));
            let posting = std::iter::once(Value::Str(word)).chain(key).chain(counts);
            sums.add(&posting.chain([positions]).collect::<Vec<_>>());
        }
        Ok(())
    })?;
    Ok((sums, counts))
}

/// The sums of an index, its counts, and mismatches within it.
fn stored_postings(
    relation: &Indexed<'_>,
    text: &TextIndex,
) -> Result<(Sums, TextCounts, Option<String>)> {
    let (read, limits) = (relation.read, relation.limits);
    let (mut sums, mut counts, mut problem) = (Sums::default(), TextCounts::default(), None);
    let mut of_words: Vec<(String, i64, i64)> = Vec::new();
    each_row(read, &text.terms, limits, &mut |row| {
        if let [Value::Str(word), Value::Int(documents), Value::Int(words)] = &row[..] {
            if word.is_empty() {
                (counts.documents, counts.words) = (*documents, *words);
            } else if (*documents, *words) != (0, 0) {
                // Counts that went back to zero stay.
                of_words.push((word.clone(), *documents, *words));
            }
        }
        Ok(())
    })?;
    let mut counted: Vec<(String, i64, i64)> = Vec::new();
    each_row(read, &text.postings, limits, &mut |row| {
        sums.add(&row);
        let [.., Value::Int(frequency), _, Value::Bytes(positions)] = &row[..] else {
            return Ok(());
        };
        let decoded = decode_positions(positions).map(|positions| positions.len() as i64);
        if decoded != Some(*frequency) {
            problem = Some("positions that do not match their number".to_owned());
        }
        if let Some(Value::Str(word)) = row.first() {
            match counted.last_mut() {
                Some((last, documents, words)) if last == word => {
                    *documents += 1;
                    *words += frequency;
                }
                _ => counted.push((word.clone(), 1, *frequency)),
            }
        }
        Ok(())
    })?;
    if problem.is_none() && counted != of_words {
        problem = Some("counts of words that do not match its rows".to_owned());
    }
    Ok((sums, counts, problem))
}

/// The number of bands, and what does not match.
fn compare_bands(relation: &Indexed<'_>, index: &BandIndex) -> Result<(u64, Option<String>)> {
    let (mut bands, mut signatures) = (Sums::default(), Sums::default());
    relation.each_row(&mut |extract, row| {
        let Some(signed) = SignedRow::of(index, extract, row)? else { return Ok(()) };
        let keys = &row[..relation.schema.keys.len()];
        for band in signed.signature.band_keys(index.division) {
            bands.add(&[&[Value::Bytes(band.to_vec())], keys].concat());
        }
        signatures.add(&[keys, &[Value::Bytes(signed.signature.to_bytes())]].concat());
        Ok(())
    })?;
    let stored = |path: &StoredPath| -> Result<Sums> {
        let mut sums = Sums::default();
        each_row(relation.read, path, relation.limits, &mut |row| {
            sums.add(&row);
            Ok(())
        })?;
        Ok(sums)
    };
    let found = stored(&index.bands)?;
    let problem = match found.difference(&bands) {
        None => stored(&index.signatures)?
            .difference(&signatures)
            .map(|problem| format!("signatures that do not match: {problem}")),
        problem => problem,
    };
    Ok((found.rows, problem))
}

/// Passes the rows of a keyspace to `visit`.
fn each_row(
    read: &dyn Read,
    path: &StoredPath,
    limits: &QueryLimits<'_>,
    visit: &mut dyn FnMut(Vec<Value>) -> Result<()>,
) -> Result<()> {
    let mut scan = read.scan(path.keyspace, path.all(), Projection::ALL)?;
    let mut rows = Batch::new(&path.shape);
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        limits.check(0)?;
        for row in 0..rows.rows {
            visit(path.schema.row(&rows, row)?)?;
        }
        rows.clear();
    }
    Ok(())
}

impl Sums {
    /// The message about stored rows with these sums, if those of the relation differ.
    fn difference(&self, wanted: &Self) -> Option<String> {
        if self.rows != wanted.rows {
            return Some(format!("{} rows, the relation {}", self.rows, wanted.rows));
        }
        (self.hashes != wanted.hashes)
            .then(|| format!("{} rows, and so does the relation, but others", self.rows))
    }

    fn add(&mut self, row: &[Value]) {
        self.rows += 1;
        let mut encoded = Vec::new();
        model::encode_tuple(row, &mut encoded);
        let seeds = [0x51_49_50_55, 0x6b_6e_6f_74].map(foldhash::fast::FixedState::with_seed);
        for (sum, seed) in self.hashes.iter_mut().zip(seeds) {
            let mut state = seed.build_hasher();
            state.write(&encoded);
            *sum = sum.wrapping_add(state.finish());
        }
    }
}

/// Makes a search index anew from its relation.
///
/// # Errors
/// As [`crate::search_index::make`].
pub(crate) fn rebuild(
    admin: &Admin<'_>,
    entry: &Entry,
    def: SearchDef,
    limits: &QueryLimits<'_>,
) -> Result<()> {
    let Entry::Relation(schema, main) = entry else { return Ok(()) };
    admin.catalog.drop_index(&def.name).map_err(Error::from)?;
    crate::search_index::make(admin, (schema, *main), def, limits, Span::default())?;
    Ok(())
}
