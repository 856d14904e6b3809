//! `::column`: adds, drops and renames columns of a stored relation.
//!
//! Renaming changes definitions only. To add or drop columns, all rows are copied to a new keyspace
//! by a bulk load, which then takes the relation's name. Indexes stay: their rows do not depend on
//! columns that they do not have. Scripts that change rows do not run meanwhile (a lock of the
//! engine). A process that is killed in between leaves the relation as it was.

use crate::admin::Admin;
use crate::dml::spec::value_column;
use base::{Batch, Column, Projection};
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::query_result::QueryResult;
use model::{Type, Value};
use relation::{CombinedDef, CountersDef, Entry, KeyColumn, Schema, index_leaves_names};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use store::{Scan, SortedRows};
use syntax::{Ident, Spec, SystemOp};

/// Rows that are copied at a time.
const CHUNK_ROWS: usize = 16_384;

/// A change of definitions that queries must not be planned during.
pub(crate) type Publish<'p> = &'p mut dyn FnMut() -> Result<()>;

/// Where the values of a column of the new relation come from.
enum ColumnSource {
    /// A value column of the old relation.
    Old(usize),
    /// One value for all rows.
    Constant(Column),
}

/// Runs an op that changes columns. `defaults` are the values of the columns that it adds;
/// `publish` runs the change of definitions after the rows are copied.
///
/// # Errors
/// No such relation or column, or one that may not be changed; failures of the store, and what
/// stops it. The relation is then as it was.
pub(crate) fn change(
    admin: &Admin<'_>,
    op: &SystemOp,
    defaults: Vec<Option<Value>>,
    limits: &QueryLimits<'_>,
    publish: &dyn Fn(Publish<'_>) -> Result<()>,
) -> Result<QueryResult> {
    let (SystemOp::ColumnAdd(relation, _)
    | SystemOp::ColumnDrop(relation, _)
    | SystemOp::ColumnRename(relation, _)) = op
    else {
        return Ok(QueryResult::status("OK"));
    };
    let entry = crate::system::indexable(admin, relation)?;
    let Entry::Relation(schema, keyspace) = &entry else {
        let what =
            format!("`{}` is no relation of scripts, so its columns are fixed", entry.name());
        return Err(Error::value(what, relation.span));
    };
    if CountersDef::of_schema(schema).is_some() || CombinedDef::of_schema(schema).is_some() {
        let what = format!(
            "the columns of `{}` are fixed: it has counters or combined values",
            schema.name
        );
        return Err(Error::value(what, relation.span));
    }
    let search = admin.catalog.search_indexes_of(&**admin.store, &schema.name)?;
    if let (Some((def, _)), false) = (search.first(), matches!(op, SystemOp::ColumnAdd(..))) {
        // Its settings name columns.
        let what = format!("the search index `{}` depends on columns", def.name);
        let hint = format!("drop it first: ::{} drop {}", def.method.name(), def.name);
        return Err(Error::hinted(what, relation.span, hint));
    }
    match op {
        SystemOp::ColumnAdd(_, spec) => {
            let (new, from) = with_columns(admin, &entry, spec, defaults)?;
            rewrite(admin, &entry, (&new, relation), from, limits, publish)?;
        }
        SystemOp::ColumnDrop(_, names) => {
            let (new, from) = without_columns(admin, schema, names)?;
            rewrite(admin, &entry, (&new, relation), from, limits, publish)?;
        }
        SystemOp::ColumnRename(_, pairs) => {
            for (from, to) in pairs {
                find(schema, from)?;
                check_new_name(to)?;
            }
            let names = pairs.iter().map(|(from, to)| (from.text.clone(), to.text.clone()));
            let names: Vec<_> = names.collect();
            publish(&mut || {
                let done = admin.catalog.rename_columns(&**admin.store, schema, *keyspace, &names);
                done.map_err(|error| Error::refused(error, relation.span))
            })?;
        }
        _ => {}
    }
    Ok(QueryResult::status("OK"))
}

/// The index of a value column; `None` for a key column.
///
/// # Errors
/// There is no such column.
fn find(schema: &Schema, name: &Ident) -> Result<Option<usize>> {
    if schema.keys.iter().any(|key| key.name == name.text) {
        return Ok(None);
    }
    let place = schema.values.iter().position(|value| value.name == name.text);
    place.map(Some).ok_or_else(|| {
        let all = schema.names().map(String::as_str);
        let what = format!("relation `{}` has no column `{}`", schema.name, name.text);
        Error::unknown(what, name.span, syntax::closest(&name.text, all))
    })
}

fn check_new_name(name: &Ident) -> Result<()> {
    match name.text.starts_with('_') {
        true => {
            let what = format!("the name of a column does not begin with `_`: `{}`", name.text);
            Err(Error::value(what, name.span))
        }
        false => Ok(()),
    }
}

/// The schema with more value columns, and where all of them come from.
fn with_columns(
    admin: &Admin<'_>,
    entry: &Entry,
    spec: &Spec,
    defaults: Vec<Option<Value>>,
) -> Result<(Schema, Vec<ColumnSource>)> {
    let mut schema = entry.schema();
    let has_rows = admin.store.count(entry.keyspace())? > 0;
    if !spec.values.is_empty() {
        let what = "added columns are values, so `=>` is not allowed here";
        return Err(Error::value(what, spec.span));
    }
    let (mut added, mut values) = (Vec::new(), vec![Value::Int(0)]);
    for (column, value) in spec.keys.iter().zip(defaults) {
        let name = &column.name;
        if find(&schema, name).is_ok() {
            let what = format!("relation `{}` already has a column `{}`", schema.name, name.text);
            return Err(Error::value(what, name.span));
        }
        if column.binding.is_some() {
            let what = "an added column gets its default in all rows";
            return Err(Error::hinted(what, name.span, "write `default` instead of `=`"));
        }
        let new = value_column(column);
        if value.is_none() && !new.nullable && has_rows {
            let what = format!(
                "relation `{}` has rows, so column `{}` needs a default or must allow null",
                schema.name, name.text
            );
            let (name, of) = (&new.name, &new.column_type);
            let hint = format!("write `{name}: {of} default …`, or `{name}: {of}?` for null");
            return Err(Error::hinted(what, column.name.span, hint));
        }
        values.push(value.unwrap_or(Value::Null));
        added.push(new);
    }
    for (index, _) in admin.catalog.indexes_of(&**admin.store, &schema.name)? {
        let new = Schema { values: added.clone(), ..schema.clone() };
        index_leaves_names(&index, &new).map_err(|error| Error::refused(error, spec.span))?;
    }
    let one = Schema {
        name: schema.name.clone(),
        keys: vec![KeyColumn::new("row", Type::Int)],
        values: added.clone(),
    };
    let mut constants = Batch::new(&one.shape());
    if has_rows {
        one.append(values, &mut constants).map_err(|error| Error::refused(error, spec.span))?;
    }
    let old = (0..schema.values.len()).map(ColumnSource::Old);
    let from = old.chain(constants.values.into_iter().map(ColumnSource::Constant)).collect();
    schema.values.extend(added);
    Ok((schema, from))
}

/// The schema with fewer value columns, and where the others come from.
fn without_columns(
    admin: &Admin<'_>,
    schema: &Schema,
    names: &[Ident],
) -> Result<(Schema, Vec<ColumnSource>)> {
    let mut dropped = vec![false; schema.values.len()];
    for name in names {
        let Some(place) = find(schema, name)? else {
            let what = format!("`{}` is a key column: without it rows may be equal", name.text);
            let hint = "make another relation of the rows: ?[…] := … :create …";
            return Err(Error::hinted(what, name.span, hint));
        };
        dropped[place] = true;
        for (index, _) in admin.catalog.indexes_of(&**admin.store, &schema.name)? {
            let has = |key: &KeyColumn| match &key.path {
                None => key.name == name.text,
                Some(path) => path.column == name.text,
            };
            if index.keys.iter().any(has) {
                let what = format!("the index `{}` has the column `{}`", index.name, name.text);
                let hint = format!("drop it first: ::index drop {}", index.name);
                return Err(Error::hinted(what, name.span, hint));
            }
        }
    }
    let kept = (0..schema.values.len()).filter(|&place| !dropped[place]);
    let from = kept.map(ColumnSource::Old).collect();
    let mut places = dropped.iter();
    let mut schema = schema.clone();
    schema.values.retain(|_| places.next() == Some(&false));
    Ok((schema, from))
}

/// Copies the rows to a new keyspace, and lets it take the relation's place.
fn rewrite(
    admin: &Admin<'_>,
    entry: &Entry,
    (schema, relation): (&Schema, &Ident),
    from: Vec<ColumnSource>,
    limits: &QueryLimits<'_>,
    publish: &dyn Fn(Publish<'_>) -> Result<()>,
) -> Result<()> {
    let new = admin.catalog.begin_rewrite(schema);
    let new = new.map_err(|error| Error::refused(error, relation.span))?;
    let done = copy(admin, entry, new, from, limits).and_then(|()| {
        publish(&mut || Ok(admin.catalog.finish_rewrite(schema, new, entry.keyspace())?))
    });
    if done.is_err() {
        // The first error is reported, not one of the cleanup.
        let _ = admin.store.drop_keyspaces(&[new]);
    }
    done
}

fn copy(
    admin: &Admin<'_>,
    entry: &Entry,
    new: base::KeyspaceId,
    from: Vec<ColumnSource>,
    limits: &QueryLimits<'_>,
) -> Result<()> {
    let snapshot = admin.store.snapshot();
    let scan = snapshot.scan(entry.keyspace(), entry.all_rows(), Projection::ALL)?;
    let cancelled = Arc::clone(limits.cancelled());
    let input = Batch::new(&entry.schema().shape());
    let mut bulk = admin.store.begin_bulk()?;
    let written = bulk.write(new, vec![Box::new(Copied { scan, input, from, cancelled })]);
    // A stopped load reports what stopped it.
    limits.check(0)?;
    written?;
    bulk.commit()?;
    Ok(())
}

/// The rows of a scan, with other columns.
struct Copied {
    scan: Box<dyn Scan>,
    input: Batch,
    from: Vec<ColumnSource>,
    cancelled: Arc<AtomicBool>,
}

impl SortedRows for Copied {
    fn next_rows(&mut self, out: &mut Batch) -> store::Result<bool> {
        if self.cancelled.load(Relaxed) {
            let what = "the change of columns was stopped";
            return Err(store::Error::new(store::ErrorKind::Cancelled, what));
        }
        self.input.clear();
        if !self.scan.next_batch(CHUNK_ROWS, &mut self.input)? {
            return Ok(false);
        }
        let rows = self.input.rows;
        for row in 0..rows {
            out.keys.push(self.input.keys.get(row).as_ref());
        }
        for (out, from) in out.values.iter_mut().zip(&self.from) {
            for row in 0..rows {
                match from {
                    ColumnSource::Old(place) => out.push_from(&self.input.values[*place], row),
                    ColumnSource::Constant(one) => out.push_from(one, 0),
                }
            }
        }
        out.rows += rows;
        Ok(true)
    }
}
