//! Search indexes: created and filled. The writer maintains them (`dml::search_rows`).
//!
//! They are filled as other indexes are (`index.rs`): rows are bulk-loaded in portions of a query's
//! memory, and the last load also writes the row that marks the index as complete.

use crate::admin::Admin;
use crate::ambient::EnvAmbient;
use crate::catalog_view::columns_of;
use crate::dml::bulk_load::{Rows, load};
use crate::dml::search_rows::{SearchIndex, TermCounts, count_rows};
use crate::text_index::analyzer_of;
use base::{Batch, Kind, Projection};
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::output::Output;
use exec::value::cell::Interner;
use model::Value;
use relation::{CombinedDef, CountersDef, Entry, Schema, SearchDef, SearchMethod};
use store::Read;
use syntax::{Expr, Ident, Span};

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 4096;

/// Most bytes of postings that are loaded together.
const LOAD_BYTES_MAX: u64 = 256 << 20;

/// Settings of a full-text index.
const SETTINGS: [&str; 4] = ["extractor", "extract_filter", "tokenizer", "filters"];

/// Creates a search index and fills it.
///
/// # Errors
/// Settings that are not valid, an index with this name, a row whose text cannot be made, failures
/// of the store, and what stops it: then there is no index.
pub(crate) fn create(
    admin: &Admin<'_>,
    entry: &Entry,
    name: &Ident,
    settings: &[(Ident, Expr)],
    limits: &QueryLimits<'_>,
) -> Result<Output> {
    let Entry::Relation(schema, _) = entry else {
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
        method: SearchMethod::FullText,
        keys: schema.keys.clone(),
        settings: settings_of(name, settings, schema)?,
    };
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
    make(admin, schema, def, limits, name.span)
}

/// Drops a search index.
///
/// # Errors
/// There is no such index.
pub(crate) fn remove(admin: &Admin<'_>, relation: &Ident, name: &Ident) -> Result<Output> {
    let full = format!("{}:{}", relation.text, name.text);
    let is_there = admin.catalog.search_index(&full)?.is_some();
    match is_there && admin.catalog.drop_index(&full)? {
        true => Ok(Output::status("OK")),
        false => Err(Error::value(format!("no full-text index `{full}`"), name.span)),
    }
}

/// Creates the index with this definition and fills it.
///
/// # Errors
/// As [`create`].
pub(crate) fn make(
    admin: &Admin<'_>,
    schema: &Schema,
    def: SearchDef,
    limits: &QueryLimits<'_>,
    span: Span,
) -> Result<Output> {
    let ids = admin.catalog.create_search_index(&def);
    let ids = ids.map_err(|error| Error::refused(error, span))?;
    let parts = ids[..def.method.parts().len()].to_vec();
    let filled = SearchIndex::open(def, &parts, schema)
        .map_err(Error::from)
        .and_then(|index| fill(admin, schema, &index, limits, span));
    if filled.is_err() {
        // The first error is reported, not one of the cleanup.
        let _ = admin.store.drop_keyspaces(&parts);
    }
    filled
}

/// Loads the rows of an index; the last load marks it as complete.
fn fill(
    admin: &Admin<'_>,
    schema: &Schema,
    index: &SearchIndex,
    limits: &QueryLimits<'_>,
    span: Span,
) -> Result<Output> {
    let snapshot = admin.store.snapshot();
    let Some(Entry::Relation(_, main)) = admin.catalog.find(&schema.name)? else {
        return Err(Error::value(format!("no relation `{}`", schema.name), span));
    };
    let all = Projection::ALL;
    let mut scan = snapshot.scan(main, base::KeyRange::all(&schema.shape().key), all)?;
    let mut rows = Batch::new(&schema.shape());
    let path = &index.text.postings;
    let mut postings = Batch::new(&path.shape);
    let mut counts = TermCounts::new();
    let bytes_max = LOAD_BYTES_MAX.min(limits.memory_bytes_max() / 4);
    let check = || limits.check(0);
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        check()?;
        let (interner, ambient) = (Interner::default(), EnvAmbient(limits));
        let extract = index.extract(&interner, &ambient, span)?;
        for row in 0..rows.rows {
            if let Some(document) = extract.document(&schema.row(&rows, row)?)? {
                document.count(1, &mut counts);
                for (word, positions) in &document.words {
                    document.append_posting(word, positions, &mut postings);
                }
            }
        }
        rows.clear();
        if postings.heap_bytes() as u64 > bytes_max {
            let full = std::mem::replace(&mut postings, Batch::new(&path.shape));
            load(&**admin.store, vec![Rows { keyspace: path.keyspace, rows: full }], &check)?;
        }
    }
    drop(scan);
    let terms = &index.text.terms;
    let ready = admin.catalog.ready_row(&index.def.name, Kind::Put)?;
    let tables = vec![
        Rows { keyspace: path.keyspace, rows: postings },
        Rows { keyspace: terms.keyspace, rows: count_rows(terms, &counts) },
        Rows { keyspace: ready.keyspace, rows: ready.rows },
    ];
    load(&**admin.store, tables, &check)?;
    Ok(Output::status("OK"))
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
        vec![
            Value::Str(name.to_owned()),
            Value::Str(def.method.name().to_owned()),
            Value::List(vec![Value::Str(def.name.clone())]),
            Value::List(settings.collect()),
        ]
    };
    Ok(found.into_iter().map(row).collect())
}

/// The settings of an index as they are stored.
fn settings_of(
    name: &Ident,
    settings: &[(Ident, Expr)],
    schema: &Schema,
) -> Result<Vec<(String, Value)>> {
    let mut found: Vec<(String, Value)> = Vec::new();
    for (setting, value) in settings {
        if found.iter().any(|(known, _)| *known == setting.text) {
            return Err(Error::value(format!("`{setting}` is given twice"), setting.span));
        }
        let value = match setting.text.as_str() {
            "extractor" | "extract_filter" => {
                check_expression(value, schema)?;
                Value::Str(value.to_string())
            }
            "tokenizer" => component(value)?,
            "filters" => match value {
                Expr::List(filters, _) => {
                    Value::List(filters.iter().map(component).collect::<Result<_>>()?)
                }
                other => {
                    let hint = "write filters: [Lowercase, Stemmer('english')]";
                    return Err(Error::hinted("`filters` is a list", other.span(), hint));
                }
            },
            other => {
                let near = syntax::closest(other, SETTINGS.into_iter());
                let what = format!("a full-text index has no setting `{other}`");
                return Err(match near {
                    Some(_) => Error::unknown(what, setting.span, near),
                    None => {
                        let hint = format!("there are {}", SETTINGS.join(", "));
                        Error::hinted(what, setting.span, hint)
                    }
                });
            }
        };
        found.push((setting.text.clone(), value));
    }
    for (needed, example) in [("extractor", "a column, or an expression"), ("tokenizer", "Simple")]
    {
        if !found.iter().any(|(known, _)| known == needed) {
            let what = format!("index `{name}` lacks the setting `{needed}`");
            return Err(Error::hinted(what, name.span, format!("write {needed}: {example}")));
        }
    }
    Ok(found)
}

/// Checks an expression over the columns of a relation.
fn check_expression(expr: &Expr, schema: &Schema) -> Result<()> {
    let hint = "the index also makes the texts of rows to come";
    if expr.has_parameters() {
        return Err(Error::hinted("an index has no parameters", expr.span(), hint));
    }
    let names: Vec<String> = columns_of(schema).into_iter().map(|column| column.name).collect();
    let resolved = plan::resolve_over(expr, &names, &mut Vec::new());
    match is_deterministic(&resolved.map_err(|problem| vec![problem])?) {
        true => Ok(()),
        false => {
            // The words of a row that is removed are made again.
            let what = "an index has no functions of time or chance";
            Err(Error::hinted(what, expr.span(), "the text of a row must stay the same"))
        }
    }
}

fn is_deterministic(expr: &plan::Expr) -> bool {
    match expr {
        plan::Expr::Call(function, args, _) => {
            function.deterministic && args.iter().all(is_deterministic)
        }
        _ => true,
    }
}

/// A tokenizer or a filter: `Simple`, or `Stemmer('english')`. It becomes a list of its name and
/// its arguments.
fn component(expr: &Expr) -> Result<Value> {
    let (name, args) = match expr {
        Expr::Variable(name) => (name, &[][..]),
        Expr::Call { name, args, .. } => (name, args.as_slice()),
        other => {
            let what = "a tokenizer or a filter has a name";
            let hint = "write Simple, or Stemmer('english')";
            return Err(Error::hinted(what, other.span(), hint));
        }
    };
    let args = args.iter().map(constant).collect::<Result<Vec<Value>>>()?;
    let name = Value::Str(name.text.clone());
    Ok(Value::List(std::iter::once(name).chain(args).collect()))
}

fn constant(expr: &Expr) -> Result<Value> {
    match expr {
        Expr::Literal(value, _) => Ok(value.clone()),
        Expr::List(items, _) => Ok(Value::List(items.iter().map(constant).collect::<Result<_>>()?)),
        other => Err(Error::value("an argument is a constant", other.span())),
    }
}
