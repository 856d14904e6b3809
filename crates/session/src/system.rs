//! System ops: scripts that begin with `::`. `session.rs` calls [`run`] and [`set`], and
//! handles the ops that rename or remove relations itself. `run.rs` calls [`index`] to make and
//! remove indexes (`index.rs`, `search_index.rs`), and `columns.rs` to change columns: these run
//! alone. Names of columns in results are part of the language: `tests/spec/system.md`.

use crate::admin::Admin;
use crate::catalog_view::columns_of;
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::query_result::QueryResult;
use model::Value;
use relation::{Access, Catalog, Entry, NameOverlay, SearchMethod, Settings};
use store::{ErrorKind, Read, Transaction, WriteBatch};
use syntax::{Ident, SystemOp};

/// Runs a system op.
///
/// # Errors
/// See [`Error`].
pub(crate) fn run(
    admin: &Admin<'_>,
    names: &NameOverlay,
    read: &dyn Read,
    op: &SystemOp,
    limits: &QueryLimits<'_>,
    known: impl Fn(&syntax::Expr) -> Result<Value>,
) -> Result<QueryResult> {
    let catalog = admin.catalog;
    match op {
        SystemOp::Relations => relations(catalog, names, read),
        SystemOp::Columns(name) => columns(catalog, names, name),
        SystemOp::Running => Ok(running(admin)),
        SystemOp::Kill(id) => {
            let span = id.span();
            let Value::Int(id) = known(id)? else {
                return Err(Error::value("`::kill` expects the number of a script", span));
            };
            let was_there = u64::try_from(id).is_ok_and(|id| admin.running.kill(id));
            Ok(QueryResult::status(if was_there { "KILLING" } else { "NOT_FOUND" }))
        }
        SystemOp::Compact => compact(admin, limits),
        SystemOp::FixedRules => Ok(fixed_rules(admin)),
        SystemOp::Indices(name) => {
            crate::index::list(admin, read, &crate::access::find(catalog, names, name)?)
        }
        SystemOp::IndexCreate(name, ..)
        | SystemOp::IndexDrop(name, ..)
        | SystemOp::SearchCreate(_, name, ..)
        | SystemOp::SearchDrop(_, name, _) => {
            let what = "indexes are made and dropped by a script of their own";
            Err(Error::value(what, name.span))
        }
        SystemOp::ColumnAdd(name, _)
        | SystemOp::ColumnDrop(name, _)
        | SystemOp::ColumnRename(name, _) => {
            let what = "columns are added, dropped and renamed by a script of their own";
            Err(Error::value(what, name.span))
        }
        SystemOp::ShowTriggers(name) => {
            crate::access::find(catalog, names, name)?;
            Ok(triggers(catalog.settings(read, &name.text)?))
        }
        // Handled by the session.
        SystemOp::Rename(_)
        | SystemOp::Remove(_)
        | SystemOp::SetTriggers { .. }
        | SystemOp::AccessLevel(..)
        | SystemOp::Describe(..)
        | SystemOp::Explain(_)
        | SystemOp::Analyze(_) => Ok(QueryResult::status("OK")),
    }
}

/// Runs ops that set something of a relation, in the script's transaction; `None` for others.
///
/// # Errors
/// See [`Error`].
pub(crate) fn set(
    catalog: &Catalog,
    names: &NameOverlay,
    transaction: &dyn Transaction,
    op: &SystemOp,
) -> Result<Option<QueryResult>> {
    let relations: &[Ident] = match op {
        SystemOp::SetTriggers { relation, .. } | SystemOp::Describe(relation, _) => {
            std::slice::from_ref(relation)
        }
        SystemOp::AccessLevel(_, relations) => relations,
        _ => return Ok(None),
    };
    for name in relations {
        crate::access::refuse_part(name, "set up with")?;
        let entry = crate::access::find(catalog, names, name)?;
        let forbidden = match op {
            SystemOp::SetTriggers { .. } => Some(Access::Protected),
            SystemOp::Describe(..) => Some(Access::ReadOnly),
            // Always allowed, so that a level can be lowered again.
            _ => None,
        };
        let mut settings = match forbidden {
            Some(level) => crate::access::check(catalog, transaction, &name.text, level)
                .map_err(|error| Error::refused(error, name.span))?,
            None => catalog.settings(transaction, &name.text)?,
        };
        match op {
            SystemOp::SetTriggers { put, rm, replace, .. } => {
                check_triggers(name, &entry, &[put, rm, replace])?;
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
    Ok(Some(QueryResult::status("OK")))
}

/// Checks the triggers that a relation gets.
///
/// # Errors
/// One cannot be read; or the relation is also changed by calls that set off none.
fn check_triggers(name: &Ident, entry: &Entry, triggers: &[&Vec<String>]) -> Result<()> {
    let is_set = triggers.iter().any(|triggers| !triggers.is_empty());
    if let (true, Some(kind)) = (is_set, crate::access::other_writers(entry)) {
        let what = format!("calls that change {kind} set off no trigger, and `{name}` is {kind}");
        let hint = "keep what sets off triggers in a relation of its own";
        return Err(Error::hinted(what, name.span, hint));
    }
    for text in triggers.iter().copied().flatten() {
        // Reports a trigger that does not parse now, not when rows change.
        crate::nesting::parse(text).map_err(|problems| {
            let what = problems.first().map_or("", |problem| problem.message.as_str());
            Error::value(format!("a trigger cannot be read: {what}"), name.span)
        })?;
    }
    Ok(())
}

/// Makes or drops an index; no script that changes rows may run.
///
/// # Errors
/// See [`Error`].
pub(crate) fn index(
    admin: &Admin<'_>,
    op: &SystemOp,
    limits: &QueryLimits<'_>,
) -> Result<QueryResult> {
    match op {
        SystemOp::IndexCreate(relation, name, columns, is_unique) => {
            let entry = indexable(admin, relation)?;
            let columns = crate::index::columns(columns)?;
            crate::index::create(admin, &entry, name, (&columns, *is_unique), limits)
        }
        SystemOp::IndexDrop(relation, name) => {
            indexable(admin, relation)?;
            crate::index::remove(admin, relation, name)
        }
        SystemOp::SearchCreate(method, relation, name, settings) => {
            let method = search_method(method)?;
            let entry = indexable(admin, relation)?;
            crate::search_index::create(admin, &entry, (method, name), settings, limits)
        }
        SystemOp::SearchDrop(method, relation, name) => {
            let method = search_method(method)?;
            indexable(admin, relation)?;
            crate::search_index::remove(admin, method, relation, name)
        }
        _ => Ok(QueryResult::status("OK")),
    }
}

/// How an index searches that a script names.
///
/// # Errors
/// There is no such kind of index yet.
fn search_method(name: &Ident) -> Result<SearchMethod> {
    SearchMethod::of_name(&name.text).ok_or_else(|| {
        Error::hinted(
            format!("no indexes `::{name}`"),
            name.span,
            "there are `::fts`, `::lsh` and `::hnsw`",
        )
    })
}

/// The relation, if its indexes and columns may be changed.
///
/// # Errors
/// There is no relation with this name, or its level forbids it.
pub(crate) fn indexable(admin: &Admin<'_>, relation: &Ident) -> Result<Entry> {
    let entry = crate::access::find(admin.catalog, &NameOverlay::default(), relation)?;
    crate::access::check(admin.catalog, &**admin.store, &relation.text, Access::Protected)
        .map_err(|error| Error::refused(error, relation.span))?;
    Ok(entry)
}

fn running(admin: &Admin<'_>) -> QueryResult {
    let rows = admin.running.list().into_iter().map(|(id, started_us, text)| {
        let seconds = started_us as f64 / 1e6;
        vec![Value::Int(id as i64), Value::Float(seconds), Value::Str(text)]
    });
    QueryResult::of_values(&["id", "started_at", "script"], rows.collect())
}

fn compact(admin: &Admin<'_>, limits: &QueryLimits<'_>) -> Result<QueryResult> {
    let go_on = || !limits.is_over();
    let done = match admin.host {
        Some(host) => host.compact_while(&go_on),
        None => admin.store.compact_while(&go_on),
    };
    match done {
        Err(error) if error.kind() == ErrorKind::Cancelled => {
            // Says who stopped it.
            limits.check(0)?;
            Err(error.into())
        }
        done => Ok(done.map(|()| QueryResult::status("OK"))?),
    }
}

fn fixed_rules(admin: &Admin<'_>) -> QueryResult {
    let mut rules = exec::fixed_rule::names();
    rules.append(&mut admin.user_defined.rule_names());
    rules.sort_unstable();
    let rows = rules.into_iter().map(|name| vec![Value::Str(name)]);
    QueryResult::of_values(&["rule"], rows.collect())
}

fn triggers(settings: Settings) -> QueryResult {
    let Settings { on_put, on_rm, on_replace, .. } = settings;
    let rows = [("put", on_put), ("rm", on_rm), ("replace", on_replace)];
    let rows = rows.into_iter().flat_map(|(kind, triggers)| {
        (0..).zip(triggers).map(move |(place, trigger)| {
            vec![Value::Str(kind.to_owned()), Value::Int(place), Value::Str(trigger)]
        })
    });
    QueryResult::of_values(&["type", "idx", "trigger"], rows.collect())
}

fn relations(catalog: &Catalog, names: &NameOverlay, read: &dyn Read) -> Result<QueryResult> {
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
        "estimated_rows",
        "estimated_bytes",
    ];
    let int = |n: usize| Value::Int(n as i64);
    let mut rows = Vec::new();
    for (name, entry) in catalog.list_in(names)? {
        let schema = entry.schema();
        let is_index = name.contains(':') && !matches!(entry, Entry::Nodes(..));
        let mut settings = catalog.settings(read, &name)?;
        if let Entry::Nodes(..) = entry {
            settings.access = catalog.settings(read, crate::access::owner(&name))?.access;
        }
        // Counting exactly would read all rows written since the last compaction.
        let size = read.estimate(entry.keyspace(), &entry.all_rows())?;
        let text = |text: &str| Value::Str(text.to_owned());
        rows.push(vec![
            text(&name),
            int(schema.columns()),
            text(if is_index { "index" } else { settings.access.name() }),
            int(schema.keys.len()),
            int(schema.values.len()),
            int(settings.on_put.len()),
            int(settings.on_rm.len()),
            int(settings.on_replace.len()),
            text(&settings.description),
            Value::Int(size.rows as i64),
            Value::Int(size.bytes as i64),
        ]);
    }
    Ok(QueryResult::of_values(&headers, rows))
}

fn columns(catalog: &Catalog, names: &NameOverlay, name: &Ident) -> Result<QueryResult> {
    let schema = crate::access::find(catalog, names, name)?.shown_schema();
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
    Ok(QueryResult::of_values(&headers, rows.collect()))
}
