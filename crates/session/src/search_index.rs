//! Search indexes: created and filled. The writer maintains them (`dml::search_writes`).
//!
//! They are filled as other indexes are (`index.rs`): rows are bulk-loaded in portions of a query's
//! memory, and the last load also writes the row that marks the index as complete.

use crate::admin::Admin;
use crate::ambient::EnvAmbient;
use crate::dml::bulk_load::{Rows, load};
use crate::dml::search_rows::SearchIndex;
use crate::dml::search_writes::SearchWriter;
use crate::search_settings::settings_of;
use crate::search_storage::analyzer_of;
use crate::vector_build;
use crate::vector_settings::vector_settings;
use base::{Batch, KeyspaceId, Kind, Projection};
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::query_result::QueryResult;
use exec::value::cell::Interner;
use model::Value;
use relation::{CombinedDef, CountersDef, Entry, Schema, SearchDef, SearchMethod, SearchPart};
use store::Read;
use syntax::{Expr, Ident, Span};

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 4096;

/// Most bytes of the index's rows that are loaded together.
const LOAD_BYTES_MAX: u64 = 256 << 20;

/// Creates a search index and fills it.
///
/// # Errors
/// Settings that are not valid, an index with this name, a row that cannot be indexed, failures
/// of the store, and what stops it: then there is no index.
pub(crate) fn create(
    admin: &Admin<'_>,
    entry: &Entry,
    (method, name): (SearchMethod, &Ident),
    settings: &[(Ident, Expr)],
    limits: &QueryLimits<'_>,
) -> Result<QueryResult> {
    let Entry::Relation(schema, main) = entry else {
        let what = format!("`{}` is no relation of scripts, so it has no indexes", entry.name());
        return Err(Error::value(what, name.span));
    };
    if CountersDef::of_schema(schema).is_some() || CombinedDef::of_schema(schema).is_some() {
        let what = format!("the rows of `{}` may change beside scripts", schema.name);
        let hint = "counters and combined values would leave an index behind";
        return Err(Error::hinted(what, name.span, hint));
    }
    let def = SearchDef {
        name: format!("{}:{}", schema.name, name.text),
        method,
        keys: schema.keys.clone(),
        settings: match method {
            SearchMethod::Vector => vector_settings(name, settings, schema)?,
            _ => settings_of(method, name, settings, schema)?,
        },
    };
    if method == SearchMethod::Vector {
        return make(admin, (schema, *main), def, limits, name.span);
    }
    if let Err(why) = analyzer_of(&def) {
        let component = |name: &str| settings.iter().find(|(setting, _)| setting.text == name);
        let span = component("tokenizer").map_or(name.span, |(_, value)| value.span());
        let span = match why.contains("tokenizer") || why.contains("ngram") {
            true => span,
            false => component("filters").map_or(span, |(_, value)| value.span()),
        };
        let (what, hint) = why.split_once("\nhint: ").unwrap_or((&why, ""));
        return Err(Error::hinted(what, span, hint));
    }
    make(admin, (schema, *main), def, limits, name.span)
}

/// Drops a search index.
///
/// # Errors
/// There is no such index.
pub(crate) fn remove(
    admin: &Admin<'_>,
    method: SearchMethod,
    relation: &Ident,
    name: &Ident,
) -> Result<QueryResult> {
    let full = format!("{}:{}", relation.text, name.text);
    let there = admin.catalog.search_index(&full)?;
    let is_there = there.is_some_and(|(def, _)| def.method == method);
    match is_there && admin.catalog.drop_index(&full)? {
        true => Ok(QueryResult::status("OK")),
        false => Err(Error::value(format!("no {} `{full}`", method.noun()), name.span)),
    }
}

/// Creates the index with this definition and fills it.
///
/// # Errors
/// As [`create`].
pub(crate) fn make(
    admin: &Admin<'_>,
    (schema, main): (&Schema, KeyspaceId),
    def: SearchDef,
    limits: &QueryLimits<'_>,
    span: Span,
) -> Result<QueryResult> {
    let ids = admin.catalog.create_search_index(&def);
    let ids = ids.map_err(|error| Error::refused(error, span))?;
    let parts = ids[..def.method.parts().len()].to_vec();
    let opened = SearchWriter::open(def, &parts, schema, main).map_err(Error::from);
    let filled = opened.and_then(|index| match &index {
        SearchWriter::Extracted(index) => fill(admin, (schema, main), index, limits, span),
        SearchWriter::Vectors(index) => vector_build::fill(admin, index, limits, span),
    });
    if filled.is_err() {
        // The first error is reported, not one of the cleanup.
        let _ = admin.store.drop_keyspaces(&parts);
    }
    filled
}

/// Loads the rows of an index; the last load marks it as complete.
fn fill(
    admin: &Admin<'_>,
    (schema, main): (&Schema, KeyspaceId),
    index: &SearchIndex,
    limits: &QueryLimits<'_>,
    span: Span,
) -> Result<QueryResult> {
    let snapshot = admin.store.snapshot();
    let all = Projection::ALL;
    let mut scan = snapshot.scan(main, base::KeyRange::all(&schema.shape().key), all)?;
    let mut rows = Batch::new(&schema.shape());
    let mut new = index.new_rows();
    let bytes_max = LOAD_BYTES_MAX.min(limits.memory_bytes_max() / 4);
    let check = || limits.check(0);
    let of_keyspace = |(keyspace, rows)| Rows { keyspace, rows };
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        check()?;
        let (interner, ambient) = (Interner::default(), EnvAmbient(limits));
        let extract = index.extractor.extract(&interner, &ambient, span)?;
        for row in 0..rows.rows {
            new.add(&extract, &schema.row(&rows, row)?)?;
        }
        rows.clear();
        if new.bytes() > bytes_max {
            load(&**admin.store, new.take(false).into_iter().map(of_keyspace).collect(), &check)?;
        }
    }
    drop(scan);
    let ready = admin.catalog.ready_row(&index.def.name, Kind::Put)?;
    let mut tables: Vec<Rows> = new.take(true).into_iter().map(of_keyspace).collect();
    tables.push(Rows { keyspace: ready.keyspace, rows: ready.rows });
    load(&**admin.store, tables, &check)?;
    Ok(QueryResult::status("OK"))
}

/// Rows of `::indices` for the search indexes of a relation.
///
/// # Errors
/// Failures of the store.
pub(crate) fn list(admin: &Admin<'_>, read: &dyn Read, entry: &Entry) -> Result<Vec<Vec<Value>>> {
    let found = admin.catalog.search_indexes_of(read, entry.name())?;
    let row = |(def, _): (SearchDef, Vec<base::KeyspaceId>)| {
        let name = def.name.split_once(':').map_or(def.name.as_str(), |(_, name)| name);
        let settings = def
            .settings
            .iter()
            .map(|(name, value)| Value::List(vec![Value::Str(name.clone()), value.clone()]));
        // As in CozoDB, whose indexes have no counts of words and no rows of vertices.
        let hidden = [SearchPart::Terms, SearchPart::Vertices];
        let shown = def.method.parts().iter().filter(|part| !hidden.contains(part));
        vec![
            Value::Str(name.to_owned()),
            Value::Str(def.method.name().to_owned()),
            Value::List(shown.map(|&part| Value::Str(def.keyspace_name(part))).collect()),
            Value::List(settings.collect()),
        ]
    };
    Ok(found.into_iter().map(row).collect())
}
