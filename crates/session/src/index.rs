//! Secondary indexes: created and filled, and dropped. The writer maintains them.
//!
//! # How an index is filled
//! Its keyspace is created empty, and no reader uses it. Its rows are bulk-loaded, a quarter of a
//! query's memory at a time; the last load also writes the row that marks the index as complete.
//! Scripts that change relations do not run meanwhile (a lock of the engine), so the index misses
//! no change.

use crate::admin::Admin;
use crate::catalog_view::stored_paths;
use crate::unique_index::UniqueIndex;
use base::{Batch, Key, KeyspaceId, Kind, Projection};
use exec::error::{Error, Result};
use exec::limits::{Check, QueryLimits};
use exec::query_result::QueryResult;
use exec::storage::access_path::StoredPath;
use model::{JsonStep, Value};
use relation::{CombinedDef, CountersDef, Entry, IndexColumn, JsonPath, Schema};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use store::{Read, SortedRows, TableWrites};
use syntax::{Expr, Ident};

/// Rows that are read and converted at a time.
const CHUNK_ROWS: usize = 65_536;

/// The columns that a script names for an index.
///
/// # Errors
/// An expression that is no path into a column.
pub(crate) fn columns(columns: &[syntax::IndexColumn]) -> Result<Vec<IndexColumn>> {
    let column = |column: &syntax::IndexColumn| match column {
        syntax::IndexColumn::Column(name) => Ok(IndexColumn::Column(name.text.clone())),
        syntax::IndexColumn::Expression(name, expr) => {
            let mut steps = Vec::new();
            let column = path(expr, &mut steps).filter(|_| !steps.is_empty()).ok_or_else(|| {
                let what = "an index is on columns and on paths into JSON";
                let hint = "write a path with constants: doc->'addr'->'city'";
                Error::hinted(what, expr.span(), hint)
            })?;
            let path = JsonPath { column: column.to_owned(), steps };
            Ok(IndexColumn::Path(name.as_ref().map(|name| name.text.clone()), path))
        }
    };
    columns.iter().map(column).collect()
}

/// The column into which a path goes; appends its steps.
fn path<'e>(expr: &'e Expr, steps: &mut Vec<JsonStep>) -> Option<&'e str> {
    match expr {
        Expr::Variable(column) => Some(&column.text),
        Expr::Call { name, args, .. } if name.text == "maybe_get" => {
            let [of, key] = args.as_slice() else { return None };
            let column = path(of, steps)?;
            let keys = match key {
                Expr::List(keys, _) => keys.as_slice(),
                key => std::slice::from_ref(key),
            };
            for key in keys {
                let Expr::Literal(value, _) = key else { return None };
                steps.push(JsonStep::of_value(value)?);
            }
            Some(column)
        }
        _ => None,
    }
}

/// Creates an index and fills it.
///
/// # Errors
/// An index with this name, unknown columns, failures of the store, and what stops it: then there
/// is no index.
pub(crate) fn create(
    admin: &Admin<'_>,
    entry: &Entry,
    name: &Ident,
    (columns, is_unique): (&[IndexColumn], bool),
    limits: &QueryLimits<'_>,
) -> Result<QueryResult> {
    let Entry::Relation(schema, keyspace) = entry else {
        let what = format!("`{}` is no relation of scripts, so it has no indexes", entry.name());
        let hint = "a graph is found from both ends without one";
        return Err(Error::hinted(what, name.span, hint));
    };
    if CountersDef::of_schema(schema).is_some() || CombinedDef::of_schema(schema).is_some() {
        let what = format!("the rows of `{}` may change beside scripts", schema.name);
        let hint = "counters and combined values would leave an index behind";
        return Err(Error::hinted(what, name.span, hint));
    }
    if is_unique && schema.is_historical() {
        let what = format!("the rows of `{}` are a history, which repeats values", schema.name);
        let hint = "a unique index is for a relation whose rows have no times of validity";
        return Err(Error::hinted(what, name.span, hint));
    }
    let refused = |error: store::Error| Error::refused(error, name.span);
    let catalog = admin.catalog;
    let (index, id) =
        catalog.create_index(schema, &name.text, columns, is_unique).map_err(refused)?;
    let main = StoredPath::of(schema.clone(), *keyspace);
    let filled = match StoredPath::of_index(schema, index, id, &mut Vec::new()) {
        Some(path) => fill(admin, (schema, name), &main, &path, limits),
        None => Err(Error::value("the columns of the index are gone", name.span)),
    };
    if filled.is_err() {
        // An incomplete index has no readers, and must not stay. The first error is reported, not
        // one of the cleanup.
        let _ = admin.store.drop_keyspaces(&[id]);
    }
    filled
}

/// Loads the keys of an index; the last load marks it as complete. A unique one is complete once
/// its rows are loaded and compared.
fn fill(
    admin: &Admin<'_>,
    (schema, name): (&Schema, &Ident),
    main: &StoredPath,
    path: &StoredPath,
    limits: &QueryLimits<'_>,
) -> Result<QueryResult> {
    let origins = path.origins();
    let snapshot = admin.store.snapshot();
    let mut scan = snapshot.scan(main.keyspace, main.all(), Projection::ALL)?;
    let mut rows = Batch::new(&main.shape);
    let mut load = Load { admin, id: path.keyspace, limits, pieces: Vec::new(), bytes: 0 };
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        let all: Vec<u32> = (0..rows.rows as u32).collect();
        let more = schema.other_order(&rows, &all, &origins, &path.schema)?;
        load.add((0..more.rows).map(|row| more.keys.get(row)).collect())?;
        rows.clear();
    }
    drop(scan);
    let ready = admin.catalog.ready_row(&path.schema.name, Kind::Put)?;
    let Some(index) = UniqueIndex::of(path, schema.keys.len()) else {
        load.commit(Some(ready))?;
        return Ok(QueryResult::status("OK"));
    };
    load.commit(None)?;
    if let Some(repeat) = index.first_repeat(&*admin.store.snapshot(), || limits.check(0))? {
        let what = format!("`{}` cannot be unique: {}", path.schema.name, repeat.of_rows());
        return Err(Error::value(what, name.span));
    }
    load.commit(Some(ready))?;
    Ok(QueryResult::status("OK"))
}

/// Drops an index.
///
/// # Errors
/// There is no index with this name.
pub(crate) fn remove(admin: &Admin<'_>, relation: &Ident, name: &Ident) -> Result<QueryResult> {
    let full = format!("{}:{}", relation.text, name.text);
    match admin.catalog.drop_index(&full)? {
        true => Ok(QueryResult::status("OK")),
        false => Err(Error::value(format!("no index `{full}`"), name.span)),
    }
}

/// Lists the indexes of a relation: of a unique one the columns that it was made with, of others
/// all.
///
/// # Errors
/// Failures of the store.
pub(crate) fn list(admin: &Admin<'_>, read: &dyn Read, entry: &Entry) -> Result<QueryResult> {
    let paths = stored_paths(admin.catalog, read, entry)?;
    let rows = paths[1..].iter().map(|path| {
        let full = path.schema.name.clone();
        let name = full.split_once(':').map_or(full.as_str(), |(_, name)| name).to_owned();
        let kind = if path.schema.unique_columns() > 0 { "unique" } else { "normal" };
        let columns = path.schema.distinct_columns().iter();
        let columns = columns.map(|key| Value::Str(IndexColumn::of_key(key).to_string()));
        let text = |text: &str| Value::Str(text.to_owned());
        let columns = Value::List(columns.collect());
        vec![Value::Str(name), text(kind), Value::List(vec![Value::Str(full)]), columns]
    });
    let mut rows: Vec<Vec<Value>> = rows.collect();
    rows.append(&mut crate::search_index::list(admin, read, entry)?);
    rows.sort_by(|a, b| a[0].cmp(&b[0]));
    Ok(QueryResult::of_values(&["name", "type", "relations", "config"], rows))
}

/// Keys of an index that are being loaded.
struct Load<'e, 'w> {
    admin: &'e Admin<'e>,
    id: KeyspaceId,
    limits: &'e QueryLimits<'w>,
    /// Sorted pieces.
    pieces: Vec<Vec<Key>>,
    bytes: u64,
}

impl Load<'_, '_> {
    fn add(&mut self, mut piece: Vec<Key>) -> Result<()> {
        piece.sort_unstable();
        self.bytes += piece.iter().map(bytes_of).sum::<u64>();
        self.pieces.push(piece);
        self.limits.check(0)?;
        // Merging takes as much memory again.
        match self.bytes > self.limits.memory_bytes_max() / 4 {
            true => self.commit(None),
            false => Ok(()),
        }
    }

    /// Loads the keys so far, and the given row if they were the last.
    fn commit(&mut self, last: Option<TableWrites>) -> Result<()> {
        let pieces = std::mem::take(&mut self.pieces);
        let keys = merged(pieces, &|| self.limits.check(0))?.into_iter();
        self.bytes = 0;
        let mut bulk = self.admin.store.begin_bulk()?;
        let cancelled = Some(Arc::clone(self.limits.cancelled()));
        let written = bulk.write(self.id, vec![Box::new(Sorted { keys, cancelled })]);
        // A stopped load reports what stopped it.
        self.limits.check(0)?;
        written?;
        if let Some(TableWrites { keyspace, rows, .. }) = last {
            let keys: Vec<Key> = (0..rows.rows).map(|row| rows.keys.get(row)).collect();
            let keys = keys.into_iter();
            bulk.write(keyspace, vec![Box::new(Sorted { keys, cancelled: None })])?;
        }
        bulk.commit()?;
        Ok(())
    }
}

/// Approximate memory of a key, in bytes.
fn bytes_of(key: &Key) -> u64 {
    let heap = match key {
        Key::Words { .. } => 0,
        Key::Bytes(bytes) => bytes.len(),
    };
    (size_of::<Key>() + heap) as u64
}

/// Merges sorted pieces in pairs, so that it can be stopped in between.
fn merged(mut pieces: Vec<Vec<Key>>, check: Check<'_>) -> Result<Vec<Key>> {
    while pieces.len() > 1 {
        let mut longer = Vec::with_capacity(pieces.len().div_ceil(2));
        let mut shorter = pieces.into_iter();
        while let Some(one) = shorter.next() {
            let Some(other) = shorter.next() else {
                longer.push(one);
                break;
            };
            let mut both = Vec::with_capacity(one.len() + other.len());
            let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
            while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
                if both.len().is_multiple_of(CHUNK_ROWS) {
                    check()?;
                }
                both.extend(if a <= b { one.next() } else { other.next() });
            }
            both.extend(one);
            both.extend(other);
            longer.push(both);
        }
        pieces = longer;
    }
    Ok(pieces.pop().unwrap_or_default())
}

/// Sorted keys as rows without values.
struct Sorted {
    keys: std::vec::IntoIter<Key>,
    cancelled: Option<Arc<AtomicBool>>,
}

impl SortedRows for Sorted {
    fn next_rows(&mut self, out: &mut Batch) -> store::Result<bool> {
        if self.cancelled.as_ref().is_some_and(|cancelled| cancelled.load(Relaxed)) {
            return Err(store::Error::new(store::ErrorKind::Cancelled, "the index was stopped"));
        }
        let before = out.rows;
        for key in self.keys.by_ref().take(CHUNK_ROWS) {
            out.keys.push(key.as_ref());
            out.rows += 1;
        }
        Ok(out.rows > before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn pieces_in_order_are_merged_in_order() {
        for pieces in 0..9_u64 {
            let key = |i: u64| Key::words(&[i * 7919 % 1009]);
            let piece = |p: u64| {
                let mut keys: Vec<Key> = (p * 100..p * 100 + 20 * p).map(key).collect();
                keys.sort_unstable();
                keys
            };
            let mut wanted: Vec<Key> = (0..pieces).flat_map(piece).collect();
            wanted.sort_unstable();
            let found = merged((0..pieces).map(piece).collect(), &|| Ok(()));
            assert!(found.is_ok_and(|found| found == wanted), "{pieces} pieces");
        }
        let checks = Cell::new(0);
        let stop = || {
            checks.set(checks.get() + 1);
            Err(exec::error::Error::Stopped(function::Stop::Killed))
        };
        let keys = || vec![Key::words(&[1])];
        assert!(merged(vec![keys(), keys(), keys()], &stop).is_err());
        assert_eq!(checks.get(), 1, "it stops where it is told to");
    }
}
