//! Checks whether an index matches its relation.
//!
//! # How
//! Both are read once, from one snapshot: the keys that the relation's rows imply, and the keys of
//! the index. Two sums of key hashes tell whether both are the same set, without an order and
//! without storing them. An index that differs in many rows passes with a probability of 2⁻¹²⁸; one
//! that differs in one row never does, unless two of its keys agree in both hashes. The rows of a
//! unique index are also compared with their neighbors.

use crate::admin::Admin;
use crate::catalog_view::stored_paths;
use crate::search_check::SearchCheck;
use crate::unique_index::{Repeat, UniqueIndex};
use base::{Batch, KeyRef, Keys, KeyspaceId, Projection};
use exec::error::Error;
use exec::limits::QueryLimits;
use exec::storage::access_path::StoredPath;
use relation::{Entry, IndexColumn, Schema};
use std::hash::{BuildHasher, Hasher};
use store::{ErrorKind, Read, Result};
use syntax::{Ident, Span};

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 65_536;

/// The number and the hash sums of a set of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    rows: u64,
    hashes: [u64; 2],
}

/// The result of rebuilding indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairedIndexes {
    /// Names of the rebuilt indexes, as `relation:index`.
    pub rebuilt: Vec<String>,
    /// Unique indexes that are ordinary ones now, because rows of their relations are equal in
    /// their columns: the name, and which rows.
    pub not_unique: Vec<(String, String)>,
}

/// An index beside its relation.
struct Compared {
    path: StoredPath,
    /// Sums of the keys that the relation implies.
    wanted: Sums,
    /// Sums of the keys of the index.
    found: Sums,
    /// Two rows that a unique index must not have both.
    repeat: Option<Repeat>,
}

/// A sound index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexCheck {
    /// Its name, `relation:index`.
    pub name: String,
    /// Number of rows.
    pub rows: u64,
}

impl Admin<'_> {
    /// Compares the indexes of all relations with their relations. Returns the sound ones, and
    /// messages about the others.
    ///
    /// # Errors
    /// Failures of the store.
    pub(crate) fn check_indexes(
        &self,
        limits: &QueryLimits<'_>,
    ) -> Result<(Vec<IndexCheck>, Vec<String>)> {
        let (mut sound, mut problems) = (Vec::new(), Vec::new());
        self.compare_indexes(&mut |_, Compared { path, wanted, found, repeat }| {
            let name = path.schema.name;
            if found == wanted {
                match repeat {
                    None => sound.push(IndexCheck { name, rows: found.rows }),
                    Some(repeat) => problems.push(format!(
                        "index {name:?} is unique, but {}\nhint: change one of the rows",
                        repeat.of_rows()
                    )),
                }
                return;
            }
            let rows = match found.rows == wanted.rows {
                true => format!("{} rows, and so does the relation, but others", found.rows),
                false => format!("{} rows, the relation {}", found.rows, wanted.rows),
            };
            let hint = format!(
                "::index drop {name}, then ::index create, makes it anew from the relation"
            );
            problems.push(format!("index {name:?} holds {rows}\nhint: {hint}"));
        })?;
        self.compare_search_indexes(limits, &mut |_, checked| {
            let name = checked.def.name;
            match checked.problem {
                None => sound.push(IndexCheck { name, rows: checked.rows }),
                Some(problem) => problems.push(format!(
                    "index {name:?} holds {problem}\nhint: `quipu repair` makes it anew from the \
                     relation"
                )),
            }
        })?;
        Ok((sound, problems))
    }

    /// Rebuilds the indexes that do not match their relations, and makes unique ones ordinary whose
    /// relations repeat values. Relations must not be changed meanwhile.
    ///
    /// # Errors
    /// Failures of the store.
    pub(crate) fn mend_indexes(&self, limits: &QueryLimits<'_>) -> Result<RepairedIndexes> {
        let mut wrong = Vec::new();
        self.compare_indexes(&mut |entry, Compared { path, wanted, found, repeat }| {
            if found != wanted || repeat.is_some() {
                wrong.push((entry.clone(), path.schema));
            }
        })?;
        let RepairedIndexes { mut rebuilt, mut not_unique } = RepairedIndexes::default();
        let ident = |text: &str| Ident { text: text.to_owned(), span: Span::default() };
        for (entry, index) in wrong {
            let Some((relation, name)) = index.name.split_once(':') else { continue };
            let is_unique = index.unique_columns() > 0;
            let columns: Vec<_> =
                index.distinct_columns().iter().map(IndexColumn::of_key).collect();
            crate::index::remove(self, &ident(relation), &ident(name)).map_err(of_store)?;
            let name = ident(name);
            let create = |is_unique| {
                crate::index::create(self, &entry, &name, (&columns, is_unique), limits)
            };
            match create(is_unique) {
                Err(refused @ Error::Value(_)) if is_unique => {
                    create(false).map_err(of_store)?;
                    not_unique.push((index.name.clone(), refused.to_string()));
                }
                created => drop(created.map_err(of_store)?),
            }
            rebuilt.push(index.name);
        }
        let mut wrong = Vec::new();
        self.compare_search_indexes(limits, &mut |entry, checked| {
            if checked.problem.is_some() {
                wrong.push((entry.clone(), checked.def));
            }
        })?;
        for (entry, def) in wrong {
            rebuilt.push(def.name.clone());
            crate::search_check::rebuild(self, &entry, def, limits).map_err(of_store)?;
        }
        Ok(RepairedIndexes { rebuilt, not_unique })
    }

    /// Calls `tell` with the result of checking each search index. Relations dropped meanwhile are
    /// skipped.
    fn compare_search_indexes(
        &self,
        limits: &QueryLimits<'_>,
        tell: &mut dyn FnMut(&Entry, SearchCheck),
    ) -> Result<()> {
        for entry in self.catalog.list()? {
            let compared = self.catalog.with_entry(entry.name(), |now| {
                let all = crate::search_check::check(self, now, limits).map_err(of_store)?;
                Ok((now.clone(), all))
            })?;
            let Some((entry, all)) = compared else { continue };
            all.into_iter().for_each(|checked| tell(&entry, checked));
        }
        Ok(())
    }

    /// Calls `tell` for each index. Relations dropped meanwhile are skipped.
    fn compare_indexes(&self, tell: &mut dyn FnMut(&Entry, Compared)) -> Result<()> {
        for entry in self.catalog.list()? {
            let compared = self
                .catalog
                .with_entry(entry.name(), |now| Ok((now.clone(), self.compared(now)?)))?;
            let Some((entry, all)) = compared else { continue };
            all.into_iter().for_each(|compared| tell(&entry, compared));
        }
        Ok(())
    }

    /// The indexes of a relation.
    fn compared(&self, entry: &Entry) -> Result<Vec<Compared>> {
        let Entry::Relation(schema, keyspace) = entry else { return Ok(Vec::new()) };
        if schema.name.contains(':') {
            return Ok(Vec::new());
        }
        let snapshot = self.store.snapshot();
        let paths = stored_paths(self.catalog, &*snapshot, entry)?;
        let indexes = &paths[1..];
        if indexes.is_empty() {
            return Ok(Vec::new());
        }
        let (wanted, found) = (Sums::default(), Sums::default());
        let new = |path: &StoredPath| Compared { path: path.clone(), wanted, found, repeat: None };
        let mut all: Vec<Compared> = indexes.iter().map(new).collect();
        each_batch(&*snapshot, *keyspace, &paths[0], &mut |rows| {
            for Compared { path, wanted, .. } in &mut all {
                wanted.add(&index_rows(schema, rows, path)?);
            }
            Ok(())
        })?;
        for Compared { path, found, repeat, .. } in &mut all {
            each_batch(&*snapshot, path.keyspace, path, &mut |rows| {
                found.add(rows);
                Ok(())
            })?;
            if let Some(index) = UniqueIndex::of(path, schema.keys.len()) {
                *repeat = index.first_repeat(&*snapshot, || Ok::<_, store::Error>(()))?;
            }
        }
        Ok(all)
    }
}

/// The rows that an index has for rows of its relation. It decodes each value, and so shares no
/// code with the conversion of columns that fills and changes indexes ([`Schema::other_order`]).
///
/// # Errors
/// Stored bytes that are not a row.
fn index_rows(schema: &Schema, rows: &Batch, path: &StoredPath) -> Result<Batch> {
    let mut other = Batch::new(&path.shape);
    for row in 0..rows.rows {
        let values = schema.row(rows, row)?;
        path.schema.append(path.row_of(&values), &mut other)?;
    }
    Ok(other)
}

fn each_batch(
    read: &dyn Read,
    keyspace: KeyspaceId,
    path: &StoredPath,
    visit: &mut dyn FnMut(&Batch) -> Result<()>,
) -> Result<()> {
    let mut scan = read.scan(keyspace, path.all(), Projection::ALL)?;
    let mut rows = Batch::new(&path.shape);
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        visit(&rows)?;
        rows.clear();
    }
    Ok(())
}

fn of_store(error: Error) -> store::Error {
    match error {
        Error::Store(error) => error,
        Error::Limit(what) => store::Error::new(ErrorKind::Limit, what),
        Error::Stopped(why) => store::Error::new(ErrorKind::Cancelled, why.to_string()),
        other => store::Error::new(ErrorKind::Corruption, other.to_string()),
    }
}

impl Sums {
    fn add(&mut self, rows: &Batch) {
        self.rows += rows.rows as u64;
        let seeds = [0x51_49_50_55, 0x6b_6e_6f_74].map(foldhash::fast::FixedState::with_seed);
        for row in 0..rows.rows {
            for (sum, seed) in self.hashes.iter_mut().zip(&seeds) {
                *sum = sum.wrapping_add(hash(&rows.keys, row, seed));
            }
        }
    }
}

fn hash(keys: &Keys, row: usize, seed: &foldhash::fast::FixedState) -> u64 {
    let mut state = seed.build_hasher();
    match keys.get(row).as_ref() {
        KeyRef::Words(words) => words.iter().for_each(|&word| state.write_u64(word)),
        KeyRef::Bytes(bytes) => state.write(bytes),
    }
    state.finish()
}
