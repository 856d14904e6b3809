//! Scripts that begin with `::`.

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::output::Output;
use crate::view::columns_of;
use model::Value;
use relation::{Access, Catalog, Entry, Settings};
use store::{Read, Transaction, WriteBatch};
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
        SystemOp::Relations => relations(catalog, read),
        SystemOp::Columns(name) => columns(catalog, name),
        SystemOp::Remove(names) => {
            for name in names {
                let entry = find(catalog, name)?;
                let settings = catalog.settings(read, &name.text)?;
                relation::check_access(&name.text, &settings, Access::Protected)
                    .map_err(|error| Error::value(error.to_string(), name.span))?;
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
            let mut names = crate::fixed::names();
            names.append(&mut engine.own().rule_names());
            names.sort_unstable();
            let rows = names.into_iter().map(|name| vec![Value::Str(name)]);
            Ok(Output::of_values(&["rule"], rows.collect()))
        }
        SystemOp::Indices(name) => crate::index::list(engine, read, &find(catalog, name)?),
        SystemOp::SearchIndex(name, _) => Err(not_yet("search indexes", name.span)),
        // The session keeps new names until the script has succeeded.
        SystemOp::Rename(_) => Ok(Output::status("OK")),
        SystemOp::IndexCreate(name, ..) | SystemOp::IndexDrop(name, ..) => {
            let what = "indexes are made and dropped by a script of their own";
            Err(Error::value(what, name.span))
        }
        SystemOp::ShowTriggers(name) => {
            find(catalog, name)?;
            let Settings { on_put, on_rm, on_replace, .. } = catalog.settings(read, &name.text)?;
            let rows = [("put", on_put), ("rm", on_rm), ("replace", on_replace)];
            let rows = rows.into_iter().flat_map(|(kind, triggers)| {
                (0..).zip(triggers).map(move |(place, trigger)| {
                    vec![Value::Str(kind.to_owned()), Value::Int(place), Value::Str(trigger)]
                })
            });
            Ok(Output::of_values(&["type", "idx", "trigger"], rows.collect()))
        }
        // The session has done these.
        SystemOp::SetTriggers { .. }
        | SystemOp::AccessLevel(..)
        | SystemOp::Describe(..)
        | SystemOp::Analyze(_) => Ok(Output::status("OK")),
    }
}

/// Ops that set something of a relation, in the script's transaction; `None` for others.
///
/// # Errors
/// See [`Error`].
pub(crate) fn set(
    catalog: &Catalog,
    transaction: &dyn Transaction,
    op: &SystemOp,
) -> Result<Option<Output>> {
    let names: &[Ident] = match op {
        SystemOp::SetTriggers { relation, .. } | SystemOp::Describe(relation, _) => {
            std::slice::from_ref(relation)
        }
        SystemOp::AccessLevel(_, names) => names,
        _ => return Ok(None),
    };
    for name in names {
        find(catalog, name)?;
        let mut settings = catalog.settings(transaction, &name.text)?;
        match op {
            SystemOp::SetTriggers { put, rm, replace, .. } => {
                relation::check_access(&name.text, &settings, Access::Protected)
                    .map_err(|error| Error::value(error.to_string(), name.span))?;
                for text in put.iter().chain(rm).chain(replace) {
                    // A trigger that cannot be read is told now, not when rows change.
                    syntax::parse(text).map_err(|problems| {
                        let what = problems.first().map_or("", |problem| problem.message.as_str());
                        Error::value(format!("a trigger cannot be read: {what}"), name.span)
                    })?;
                }
                settings.on_put.clone_from(put);
                settings.on_rm.clone_from(rm);
                settings.on_replace.clone_from(replace);
            }
            SystemOp::Describe(_, text) => settings.description.clone_from(text),
            SystemOp::AccessLevel(level, _) => {
                settings.access = Access::of_name(&level.text).ok_or_else(|| {
                    let hint = "levels are normal, protected, read_only and hidden";
                    Error::hinted(format!("no access level `{}`", level.text), level.span, hint)
                })?;
            }
            _ => {}
        }
        let row = catalog.settings_row(&name.text, &settings)?;
        transaction.write(&WriteBatch { tables: vec![row] })?;
    }
    Ok(Some(Output::status("OK")))
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

/// Whether it changes what a transaction does not hold back: the catalog, or the files.
pub(crate) fn is_change(op: &SystemOp) -> bool {
    !matches!(
        op,
        SystemOp::Relations
            | SystemOp::Columns(_)
            | SystemOp::Explain(_)
            | SystemOp::Analyze(_)
            | SystemOp::Running
            | SystemOp::Kill(_)
            | SystemOp::FixedRules
            | SystemOp::Indices(_)
            | SystemOp::ShowTriggers(_)
    )
}

/// Why nothing is changed.
pub(crate) const READ_ONLY: &str = "the script is run for reading only";

/// # Errors
/// It changes something.
pub(crate) fn refuse_change(op: &SystemOp) -> Result<()> {
    match is_change(op) {
        true => Err(Error::value(READ_ONLY, Span::default())),
        false => Ok(()),
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
    find_as(catalog, name, &name.text)
}

/// The same, of what is stored under another name at present.
///
/// # Errors
/// There is nothing of this name.
pub(crate) fn find_as(catalog: &Catalog, name: &Ident, stored_name: &str) -> Result<Entry> {
    catalog.find(stored_name)?.ok_or_else(|| {
        let known = catalog.list().unwrap_or_default();
        let near = syntax::closest(&name.text, known.iter().map(Entry::name));
        Error::unknown(format!("no relation `{}`", name.text), name.span, near)
    })
}

fn relations(catalog: &Catalog, read: &dyn Read) -> Result<Output> {
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
    let mut rows = Vec::new();
    for entry in catalog.list()? {
        let schema = entry.schema();
        let settings = catalog.settings(read, entry.name())?;
        let text = |text: &str| Value::Str(text.to_owned());
        rows.push(vec![
            text(entry.name()),
            int(schema.columns()),
            text(settings.access.name()),
            int(schema.keys.len()),
            int(schema.values.len()),
            int(settings.on_put.len()),
            int(settings.on_rm.len()),
            int(settings.on_replace.len()),
            text(&settings.description),
        ]);
    }
    Ok(Output::of_values(&headers, rows))
}

fn columns(catalog: &Catalog, name: &Ident) -> Result<Output> {
    let schema = find(catalog, name)?.shown_schema();
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
