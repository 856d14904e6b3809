//! Secondary indexes: made of what is there, kept by whoever writes, dropped.
//!
//! # How an index becomes whole
//! Its keyspace is created empty, which no reader takes notice of. Its rows and the row that says that it is whole are committed by one
//! bulk load. No script that changes relations runs meanwhile (the engine's lock), so no change can miss it.

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::mutate::index_rows;
use crate::output::Output;
use crate::stored::StoredPath;
use crate::view::{columns_of, stored_paths};
use base::{Batch, Kind, Projection};
use model::Value;
use relation::{CombinedDef, CountersDef, Entry};
use store::{Read, SortedRows};
use syntax::Ident;

/// Rows that are read and turned at once.
const CHUNK_ROWS: usize = 65_536;

/// Creates an index and fills it.
///
/// # Errors
/// An index of this name, unknown columns, and failures of the store.
pub(crate) fn create(
    engine: &Engine,
    entry: &Entry,
    name: &Ident,
    columns: &[Ident],
) -> Result<Output> {
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
    let names: Vec<String> = columns.iter().map(|column| column.text.clone()).collect();
    let refused = |error: store::Error| Error::value(error.to_string(), name.span);
    let catalog = engine.catalog();
    let (index, id) = catalog.create_index(schema, &name.text, &names).map_err(refused)?;
    let all = columns_of(schema);
    let place = |key: &relation::KeyColumn| all.iter().position(|column| column.name == key.name);
    let path = StoredPath::of(index.clone(), id);
    let path = StoredPath { columns: index.keys.iter().filter_map(place).collect(), ..path };
    let main = StoredPath::of(schema.clone(), *keyspace);
    let snapshot = engine.store().snapshot();
    let mut scan = snapshot.scan(*keyspace, main.all(), Projection::ALL)?;
    let mut rows = Batch::new(&main.shape);
    let mut keys = Vec::new();
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        let more = index_rows(schema, &rows, &path)?;
        keys.extend((0..more.rows).map(|row| more.keys.get(row)));
        rows.clear();
    }
    drop(scan);
    keys.sort_unstable();
    let ready = catalog.ready_row(&index.name, Kind::Put)?;
    let ready_keys: Vec<_> = (0..ready.rows.rows).map(|row| ready.rows.keys.get(row)).collect();
    let mut bulk = engine.store().begin_bulk()?;
    bulk.write(id, vec![Box::new(Sorted(keys.into_iter()))])?;
    bulk.write(ready.keyspace, vec![Box::new(Sorted(ready_keys.into_iter()))])?;
    bulk.commit()?;
    Ok(Output::status("OK"))
}

/// Drops an index.
///
/// # Errors
/// There is none of this name.
pub(crate) fn remove(engine: &Engine, relation: &Ident, name: &Ident) -> Result<Output> {
    let full = format!("{}:{}", relation.text, name.text);
    match engine.catalog().drop_index(&full)? {
        true => Ok(Output::status("OK")),
        false => Err(Error::value(format!("no index `{full}`"), name.span)),
    }
}

/// The indexes of a relation.
///
/// # Errors
/// Failures of the store.
pub(crate) fn list(engine: &Engine, read: &dyn Read, entry: &Entry) -> Result<Output> {
    let paths = stored_paths(engine.catalog(), read, entry)?;
    let names = columns_of(&paths[0].schema);
    let rows = paths[1..].iter().map(|path| {
        let full = path.schema.name.clone();
        let name = full.split_once(':').map_or(full.as_str(), |(_, name)| name).to_owned();
        let columns = path.columns.iter().map(|&column| Value::Str(names[column].name.clone()));
        let text = |text: &str| Value::Str(text.to_owned());
        let columns = Value::List(columns.collect());
        vec![Value::Str(name), text("normal"), Value::List(vec![Value::Str(full)]), columns]
    });
    Ok(Output::of_values(&["name", "type", "relations", "config"], rows.collect()))
}

/// Keys in order, as rows without values.
struct Sorted(std::vec::IntoIter<base::Key>);

impl SortedRows for Sorted {
    fn next_rows(&mut self, out: &mut Batch) -> store::Result<bool> {
        let before = out.rows;
        for key in self.0.by_ref().take(CHUNK_ROWS) {
            out.keys.push(key.as_ref());
            out.rows += 1;
        }
        Ok(out.rows > before)
    }
}
