//! Checks whether a search index matches its relation.
//!
//! The postings that the rows of the relation imply are compared with the stored ones by sums of
//! hashes, as `index_check.rs` compares other indexes. They are encoded value by value here, so the
//! check shares no code with the writer but the words of texts. Counts are compared with the stored
//! postings, whose words come in order.

use crate::admin::Admin;
use crate::ambient::EnvAmbient;
use crate::dml::search_rows::{Document, SearchIndex};
use base::{Batch, KeyspaceId, Projection};
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::storage::access_path::StoredPath;
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
    /// Its postings.
    pub rows: u64,
    /// A mismatch, if any.
    pub problem: Option<String>,
}

/// The number and the hash sums of rows, and the expected counts.
#[derive(Default, PartialEq)]
struct Sums {
    rows: u64,
    hashes: [u64; 2],
    documents: i64,
    words: i64,
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
    let indexes = SearchIndex::all_of(admin.catalog, &*snapshot, schema)?;
    let mut all = Vec::with_capacity(indexes.len());
    for index in indexes {
        let wanted = sums_of_relation(&*snapshot, schema, *main, &index, limits)?;
        let (found, problem) = sums_of_index(&*snapshot, &index, limits)?;
        let problem = match problem {
            None if found.rows != wanted.rows => {
                Some(format!("{} rows, the relation {}", found.rows, wanted.rows))
            }
            None if found.hashes != wanted.hashes => {
                Some(format!("{} rows, and so does the relation, but others", found.rows))
            }
            None if found != wanted => Some(format!(
                "counts of {} documents and {} words, the relation {} and {}",
                found.documents, found.words, wanted.documents, wanted.words
            )),
            problem => problem,
        };
        all.push(SearchCheck { def: index.def, rows: found.rows, problem });
    }
    Ok(all)
}

fn sums_of_relation(
    read: &dyn Read,
    schema: &Schema,
    main: KeyspaceId,
    index: &SearchIndex,
    limits: &QueryLimits<'_>,
) -> Result<Sums> {
    let mut sums = Sums::default();
    let path = StoredPath::of(schema.clone(), main);
    each_row(read, &path, limits, &mut |row| {
        let (interner, ambient) = (Interner::default(), EnvAmbient(limits));
        let extract = index.extract(&interner, &ambient, Span::default())?;
        let Some(document) = extract.document(&row)? else { return Ok(()) };
        sums.documents += 1;
        sums.words += i64::from(document.length);
        let Document { words, length, .. } = document;
        for (word, positions) in words {
            let key = row[..schema.keys.len()].iter().cloned();
            let counts = [positions.len() as i64, i64::from(length)].map(Value::Int);
            let positions = Value::Bytes(encode_positions(&positions));
            let posting = std::iter::once(Value::Str(word)).chain(key).chain(counts);
            sums.add(&posting.chain([positions]).collect::<Vec<_>>());
        }
        Ok(())
    })?;
    Ok(sums)
}

/// The sums of an index, and mismatches within it.
fn sums_of_index(
    read: &dyn Read,
    index: &SearchIndex,
    limits: &QueryLimits<'_>,
) -> Result<(Sums, Option<String>)> {
    let (mut sums, mut problem) = (Sums::default(), None);
    let mut of_words: Vec<(String, i64, i64)> = Vec::new();
    each_row(read, &index.text.terms, limits, &mut |row| {
        if let [Value::Str(word), Value::Int(documents), Value::Int(words)] = &row[..] {
            if word.is_empty() {
                (sums.documents, sums.words) = (*documents, *words);
            } else if (*documents, *words) != (0, 0) {
                // Counts that went back to zero stay.
                of_words.push((word.clone(), *documents, *words));
            }
        }
        Ok(())
    })?;
    let mut counted: Vec<(String, i64, i64)> = Vec::new();
    each_row(read, &index.text.postings, limits, &mut |row| {
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
    Ok((sums, problem))
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
    let Entry::Relation(schema, _) = entry else { return Ok(()) };
    admin.catalog.drop_index(&def.name).map_err(Error::from)?;
    crate::search_index::make(admin, schema, def, limits, Span::default())?;
    Ok(())
}
