//! Scripts that begin with `::`.

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::output::Output;
use crate::view::columns_of;
use model::Value;
use relation::{Catalog, Entry};
use store::Read;
use syntax::{Ident, Span, SystemOp};

/// Runs one; relations that are to go when the script succeeds are added to `dropped`.
///
/// # Errors
/// See [`Error`].
pub(crate) fn run(
    engine: &Engine,
    read: &dyn Read,
    op: &SystemOp,
    dropped: &mut Vec<String>,
    known: impl Fn(&syntax::Expr) -> Result<Value>,
) -> Result<Output> {
    let catalog = engine.catalog();
    match op {
        SystemOp::Relations => relations(catalog),
        SystemOp::Columns(name) => columns(catalog, name),
        SystemOp::Remove(names) => {
            for name in names {
                let entry = find(catalog, name)?;
                let indexes = catalog.indexes_of(read, entry.name())?;
                if let Some((index, _)) = indexes.first() {
                    let what = format!("relation `{}` has the index `{}`", name.text, index.name);
                    let hint = format!("drop it first: ::index drop {}", index.name);
                    return Err(Error::hinted(what, name.span, hint));
                }
                dropped.push(name.text.clone());
            }
            Ok(Output::status("OK"))
        }
        SystemOp::Explain(query) => engine.explain(query, read),
        SystemOp::Running => {
            let rows = engine.running().into_iter().map(|(id, started_us, text)| {
                let seconds = started_us as f64 / 1e6;
                vec![Value::Int(id as i64), Value::Float(seconds), Value::Str(text)]
            });
            Ok(Output::of_values(&["id", "started_at", "script"], rows.collect()))
        }
        SystemOp::Kill(id) => {
            let Value::Int(id) = known(id)? else {
                return Err(Error::value(
                    "`::kill` expects the number of a script",
                    Span::default(),
                ));
            };
            let was_there = u64::try_from(id).is_ok_and(|id| engine.kill(id));
            Ok(Output::status(if was_there { "KILLING" } else { "NOT_FOUND" }))
        }
        SystemOp::Compact => {
            engine.store().compact()?;
            Ok(Output::status("OK"))
        }
        SystemOp::FixedRules => {
            let rows = crate::fixed::names().into_iter().map(|name| vec![Value::Str(name)]);
            Ok(Output::of_values(&["rule"], rows.collect()))
        }
        SystemOp::Indices(name) => crate::index::list(engine, read, &find(catalog, name)?),
        SystemOp::SearchIndex(name, _) => Err(not_yet("search indexes", name.span)),
        // The session keeps new names until the script has succeeded.
        SystemOp::Rename(_) => Ok(Output::status("OK")),
        SystemOp::Describe(name, _) => Err(not_yet("descriptions", name.span)),
        SystemOp::IndexCreate(name, ..) | SystemOp::IndexDrop(name, ..) => {
            let what = "indexes are made and dropped by a script of their own";
            Err(Error::value(what, name.span))
        }
        SystemOp::ShowTriggers(name) | SystemOp::SetTriggers { relation: name, .. } => {
            Err(not_yet("triggers", name.span))
        }
        SystemOp::AccessLevel(level, _) => Err(not_yet("access levels", level.span)),
    }
}

/// Makes or drops an index; no script that changes rows may run.
///
/// # Errors
/// See [`Error`].
pub(crate) fn index(engine: &Engine, op: &SystemOp) -> Result<Output> {
    match op {
        SystemOp::IndexCreate(relation, name, columns) => {
            crate::index::create(engine, &find(engine.catalog(), relation)?, name, columns)
        }
        SystemOp::IndexDrop(relation, name) => crate::index::remove(engine, relation, name),
        _ => Ok(Output::status("OK")),
    }
}

fn not_yet(what: &str, span: Span) -> Error {
    Error::hinted(format!("{what}: not yet"), span, "a later version has this")
}

/// What is called so.
///
/// # Errors
/// There is nothing of this name.
pub(crate) fn find(catalog: &Catalog, name: &Ident) -> Result<Entry> {
    catalog.find(&name.text)?.ok_or_else(|| {
        let known = catalog.list().unwrap_or_default();
        let near = syntax::closest(&name.text, known.iter().map(Entry::name));
        Error::Value(syntax::Diagnostic {
            message: format!("no relation `{}`", name.text),
            span: name.span,
            hint: near.map(|near| format!("did you mean `{near}`?")),
        })
    })
}

fn relations(catalog: &Catalog) -> Result<Output> {
    let headers = [
        "name",
        "arity",
        "access_level",
        "n_keys",
        "n_non_keys",
        "n_put_triggers",
        "n_rm_triggers",
        "n_replace_triggers",
        "description",
    ];
    let int = |n: usize| Value::Int(n as i64);
    let rows = catalog.list()?.into_iter().map(|entry| {
        let schema = entry.schema();
        let text = |text: &str| Value::Str(text.to_owned());
        vec![
            text(entry.name()),
            int(schema.columns()),
            text("normal"),
            int(schema.keys.len()),
            int(schema.values.len()),
            int(0),
            int(0),
            int(0),
            text(""),
        ]
    });
    Ok(Output::of_values(&headers, rows.collect()))
}

fn columns(catalog: &Catalog, name: &Ident) -> Result<Output> {
    let schema = find(catalog, name)?.schema();
    let keys = schema.keys.len();
    let defaults: Vec<bool> = schema.defaults().map(|default| default.is_some()).collect();
    let rows = columns_of(&schema).into_iter().enumerate().map(|(place, column)| {
        vec![
            Value::Str(column.name),
            Value::Bool(place < keys),
            Value::Int(place as i64),
            Value::Str(column.column_type.to_string()),
            Value::Bool(defaults[place]),
        ]
    });
    let headers = ["column", "is_key", "index", "type", "has_default"];
    Ok(Output::of_values(&headers, rows.collect()))
}
