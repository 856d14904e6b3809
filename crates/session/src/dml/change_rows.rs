//! Changes stored relations by rows of the caller, without a script: imports, and puts of frames.
//!
//! # Three paths
//! Rows are converted column by column to the store's words and byte strings. Rows that are put or
//! removed regardless of existing ones, as in imports, are written as they are. Where existing rows
//! matter (an insertion, an index on values), they are looked up (`bulk_change.rs`). Where changed
//! rows are wanted (a trigger, a callback), they take the path of a script's rows. All process a
//! limited number of rows at a time, so that memory does not grow with the import. Very many rows
//! that are put are bulk-loaded (`bulk_load.rs`), because a transaction may only hold a share of
//! the memory. String vertices get their dictionary ids before that (`vertex_names.rs`).

use crate::ambient::EnvAmbient;
use crate::catalog_view::columns_of;
use crate::dml::bulk_change::{BULK_ROWS, BulkChange, Refused, takes_columns};
use crate::dml::bulk_load::{LOADED_ROWS_MIN, Rows};
use crate::dml::changed_rows::InputRows;
use crate::dml::coerce::coerced;
use crate::dml::encode;
use crate::dml::encode::CHUNK_ROWS;
use crate::dml::refusal::row_error;
use crate::dml::target::Target;
use crate::dml::unique_check::UniqueCheck;
use crate::dml::vertex_names;
use crate::engine::Engine;
use crate::plan_cache::cached_script::{CachedScript, WriteTarget};
use crate::run_options::Run;
use crate::script::Blocks;
use crate::session::Session;
use crate::transaction_state::TransactionState;
use base::Kind;
use exec::error::{Error, Result};
use exec::table::owned::OwnedCells;
use exec::value::cell::{Cell, Interner};
use model::{Frame, Series, Type, Value, Values};
use relation::{ColumnError, Schema};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Transaction, WriteBatch};
use syntax::{Ident, Mutation, MutationOp, Script, Span};

/// What to do with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Put them, whether their keys exist or not.
    Put,
    /// Put them; no key may exist.
    Insert,
    /// Put some of their columns; each key must exist.
    Update,
    /// Remove those that exist.
    Rm,
    /// Remove them; each key must exist.
    Delete,
}

/// A change of a relation by rows.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    /// The relation's name.
    pub relation: &'c str,
    /// What to do with the rows.
    pub kind: ChangeKind,
    /// The rows: the key columns and, unless they are removed, the value columns, in any order. A
    /// missing column gets its default.
    pub rows: &'c Frame,
    /// Whether this is an import: no triggers run, and columns that the relation lacks are ignored.
    pub is_import: bool,
}

impl ChangeKind {
    fn op(self) -> MutationOp {
        match self {
            Self::Put => MutationOp::Put,
            Self::Insert => MutationOp::Insert,
            Self::Update => MutationOp::Update,
            Self::Rm => MutationOp::Rm,
            Self::Delete => MutationOp::Delete,
        }
    }

    fn is_removal(self) -> bool {
        matches!(self, Self::Rm | Self::Delete)
    }
}

impl Engine {
    /// Applies changes, in order, in a new transaction.
    ///
    /// # Errors
    /// No such relation, its access level, missing columns, a value that a column does not accept
    /// (reported with relation, row and column), rows that must exist or must not. Nothing was
    /// changed then.
    pub fn change(&self, changes: &[Change<'_>], run: &Run<'_>) -> Result<()> {
        self.store.check_open()?;
        if let Some(host) = &self.host {
            host.flush_buffered(None)?;
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        let _running = self.register(&said(changes).into(), &cancelled);
        let parsed = changes.first().and_then(|change| self.equal_script(change));
        self.in_transaction(parsed.as_deref(), run, &cancelled, |session| {
            session.change_all(changes)
        })
    }

    /// A script that makes such a change. Its cache has the target for the next rows of this
    /// relation, as for a script that runs again: to find it takes longer than to write a row.
    fn equal_script(&self, change: &Change<'_>) -> Option<Arc<CachedScript>> {
        let op = match change.kind {
            ChangeKind::Put => "put",
            ChangeKind::Insert => "insert",
            ChangeKind::Update => "update",
            ChangeKind::Rm => "rm",
            ChangeKind::Delete => "delete",
        };
        // A relation with a name that scripts cannot write has no such script.
        self.plan_cache.parse(&format!("?[x] <- [] :{op} {}", change.relation)).ok()
    }

    /// Applies changes in the caller's transaction; see [`Engine::run_in`].
    ///
    /// # Errors
    /// As [`Engine::change`]. Nothing of them is left in the transaction then.
    pub fn change_in(
        &self,
        transaction: &dyn Transaction,
        changes: &[Change<'_>],
        run: &Run<'_>,
        state: &mut TransactionState,
    ) -> Result<()> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let _running = self.register(&said(changes).into(), &cancelled);
        self.in_callers_transaction(transaction, run, &cancelled, state, |session| {
            session.change_all(changes)
        })
    }
}

/// Whether there are neither rows nor columns, as in an empty frame of pandas.
fn is_nothing(rows: &Frame) -> bool {
    rows.is_empty() && rows.names().is_empty()
}

/// The description of changes that `::running` shows.
fn said(changes: &[Change<'_>]) -> String {
    let names: Vec<&str> = changes.iter().map(|change| change.relation).collect();
    format!("rows for {}", names.join(", "))
}

/// Where a column of a relation gets its values.
enum Source<'f> {
    Given(&'f Series),
    /// Computed for this change.
    Made(Series),
    /// Nothing is written to it.
    Missing,
}

impl Source<'_> {
    fn series(&self) -> Option<&Series> {
        match self {
            Self::Given(series) => Some(series),
            Self::Made(series) => Some(series),
            Self::Missing => None,
        }
    }
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WritePath {
    /// Column by column; existing rows do not matter.
    Blind,
    /// Column by column; existing rows are looked up.
    Columns,
    /// As the rows of a script, because changed rows are wanted or have dictionary ids.
    Rows,
}

/// A change after its checks.
struct Prepared<'f> {
    kind: ChangeKind,
    rows: usize,
    mutation: Mutation,
    write_target: Arc<WriteTarget>,
    sources: Vec<Source<'f>>,
    triggers: Vec<String>,
    path: WritePath,
    /// Whether its rows may be bulk-loaded.
    is_loadable: bool,
}

impl Session<'_> {
    fn change_all(&mut self, changes: &[Change<'_>]) -> Result<()> {
        let prepared = changes.iter().filter(|change| !is_nothing(change.rows));
        let changes: Vec<Change<'_>> = prepared.copied().collect();
        let is_single = changes.len() == 1;
        let prepared = changes.iter().map(|change| self.prepare(change, is_single));
        let prepared: Vec<Prepared<'_>> = prepared.collect::<Result<_>>()?;
        let rows: usize = changes.iter().map(|change| change.rows.len()).sum();
        let is_twice = |place: usize| {
            changes[..place].iter().any(|other| other.relation == changes[place].relation)
        };
        let is_load = !self.is_callers
            && rows >= LOADED_ROWS_MIN
            && prepared.iter().all(|prepared| prepared.is_loadable)
            && !(0..changes.len()).any(is_twice);
        if is_load {
            return self.load(&prepared);
        }
        prepared.iter().try_for_each(|prepared| self.change(prepared))
    }

    /// Checks a change. The target of a single one may be cached.
    fn prepare<'f>(&self, change: &Change<'f>, is_single: bool) -> Result<Prepared<'f>> {
        let engine = self.engine;
        if engine.store.is_read_only() {
            let what = "the database was opened read-only";
            return Err(Error::read_only(what, Span::default()));
        }
        let name = Ident { text: change.relation.to_owned(), span: Span::default() };
        crate::access::refuse_unwritable_part(&engine.catalog, &self.names, &name)?;
        let mutation = Mutation { op: change.kind.op(), relation: name, spec: None };
        let query = self.parsed.filter(|_| is_single).and_then(|parsed| match &parsed.script {
            Script::Query(query) => Some(query.span),
            _ => None,
        });
        let write_target = match query {
            Some(query) => self.write_target(query, &mutation, false)?,
            None => Arc::new(self.find_write_target(&mutation)?),
        };
        let triggers = match change.is_import {
            true => Vec::new(),
            false => crate::dml::trigger::of(&write_target.settings, mutation.op).to_vec(),
        };
        let target = &write_target.target;
        let schema = &target.schema;
        let sources = self.sources(change, &write_target)?;
        let is_wanted = !triggers.is_empty() || engine.callbacks.wants(change.relation);
        let is_blind = matches!(change.kind, ChangeKind::Put | ChangeKind::Rm)
            && target.dictionary.is_none()
            && !target.has_value_index()
            && !target.has_unique_index();
        let path = match takes_columns(target, mutation.op) && !is_wanted {
            true if is_blind => WritePath::Blind,
            true => WritePath::Columns,
            false => WritePath::Rows,
        };
        // A load gives string vertices their ids itself.
        let is_of_strings = target.dictionary.is_some() && !is_wanted && !target.has_value_index();
        // Columns with a merge operator are written by merging.
        let is_loadable = (path == WritePath::Blind || is_of_strings)
            && change.kind == ChangeKind::Put
            && schema.values.iter().all(|value| value.merge.is_none());
        let (kind, rows) = (change.kind, change.rows.len());
        Ok(Prepared { kind, rows, mutation, write_target, sources, triggers, path, is_loadable })
    }

    /// Bulk-loads all changes.
    fn load(&self, all: &[Prepared<'_>]) -> Result<()> {
        let mut tables = Vec::new();
        for Prepared { write_target, sources, rows, .. } in all {
            let target = &write_target.target;
            let named = self.named(target, sources)?;
            for path in &target.paths {
                self.check()?;
                let mut columns: Vec<_> = sources.iter().map(Source::series).collect();
                for (column, ids) in columns.iter_mut().zip(&named) {
                    *column = Some(ids);
                }
                let rows = encode::encode(path, &columns, 0..*rows, &EnvAmbient(&self.limits))
                    .map_err(|refused| wrong(&target.schema, &refused))?;
                tables.push(Rows { keyspace: path.keyspace, rows });
            }
        }
        crate::dml::bulk_load::load(&*self.engine.store, tables, &|| self.check())
    }

    /// The key columns of a graph with string vertices as dictionary ids, new ones included; none
    /// for other relations.
    fn named(&self, target: &Target, sources: &[Source<'_>]) -> Result<Vec<Series>> {
        let Some(dictionary) = target.dictionary else { return Ok(Vec::new()) };
        let (schema, ambient) = (&target.schema, EnvAmbient(&self.limits));
        let mut keys = Vec::new();
        for (place, source) in sources.iter().take(target.strings.end).enumerate() {
            let Some(series) = source.series() else { continue };
            let is_plain = matches!(series.values, Values::Str(_)) && series.valid.0.is_none();
            let key = match is_plain {
                true => series.clone(),
                false => {
                    // All values are strings or refused.
                    let mut texts = Series::of_type(&Type::String);
                    let values = self.coerce(schema, place, series, &ambient)?;
                    (0..values.len()).for_each(|row| texts.push(values.value(row)));
                    texts
                }
            };
            keys.push(key);
        }
        let columns: Vec<&Series> = keys.iter().collect();
        let ids = vertex_names::ids_of(self.engine, dictionary, &columns, &|| self.check())?;
        Ok(ids.into_iter().map(|ids| Values::Id(ids).into()).collect())
    }

    fn change(&mut self, prepared: &Prepared<'_>) -> Result<()> {
        let Prepared { kind, rows, mutation, write_target, sources, triggers, path, .. } = prepared;
        let rows = *rows;
        let target = &write_target.target;
        let step = match path {
            WritePath::Columns => BULK_ROWS,
            // A trigger sees all changed rows together, and a unique index is checked at the end.
            WritePath::Rows if !triggers.is_empty() || target.has_unique_index() => usize::MAX,
            _ => CHUNK_ROWS,
        };
        let mut unique = UniqueCheck::of(target);
        let told = self.changed.len();
        let mut from = 0;
        while from < rows {
            let to = from.saturating_add(step).min(rows);
            self.check()?;
            match path {
                WritePath::Blind => self.write_columns(*kind, target, sources, from..to)?,
                WritePath::Columns => {
                    self.change_columns(mutation, sources, from..to, target, &mut unique)?;
                }
                WritePath::Rows => {
                    self.write_rows(mutation, write_target, sources, triggers, from..to)?;
                }
            }
            from = to;
        }
        unique.finish(self.transaction, Span::default())?;
        // Callbacks get one change. Triggers may have changed other relations in between, but then
        // there was only one chunk.
        if triggers.is_empty() {
            let mut changed = self.changed.drain(told..);
            let first = changed.next();
            let all = changed.fold(first, |all, more| {
                all.map(|mut all| {
                    all.append(more);
                    all
                })
            });
            self.changed.extend(all);
        }
        Ok(())
    }

    /// The source of each column.
    fn sources<'f>(
        &self,
        change: &Change<'f>,
        write_target: &WriteTarget,
    ) -> Result<Vec<Source<'f>>> {
        let schema = &write_target.target.schema;
        let columns = columns_of(schema);
        if !change.is_import {
            let unknown =
                change.rows.names().iter().find(|name| !columns.iter().any(|c| c.name == **name));
            if let Some(unknown) = unknown {
                let names = columns.iter().map(|column| column.name.as_str());
                let near = syntax::closest(unknown, names);
                let what = format!("relation `{}` has no column `{unknown}`", schema.name);
                return Err(Error::unknown(what, Span::default(), near));
            }
        }
        let ambient = EnvAmbient(&self.limits);
        let mut sources = Vec::with_capacity(columns.len());
        for (place, column) in columns.iter().enumerate() {
            let is_value = place >= schema.keys.len();
            if is_value && change.kind.is_removal() {
                sources.push(Source::Missing);
                continue;
            }
            if let Some(series) = change.rows.column(&column.name) {
                // A time may be `NOW`, which must be the same in every index.
                sources.push(match column.column_type.without_null() {
                    Type::Validity => Source::Made(self.coerce(schema, place, series, &ambient)?),
                    _ => Source::Given(series),
                });
                continue;
            }
            if is_value && change.kind == ChangeKind::Update {
                sources.push(Source::Missing);
                continue;
            }
            let default = write_target.defaults.iter().find(|(name, _)| *name == column.name);
            let Some((_, default)) = default else {
                return Err(no_column(schema, &column.name, change.rows));
            };
            let series = self.default_values(default, change.rows.len(), &ambient)?;
            sources.push(Source::Made(self.coerce(schema, place, &series, &ambient)?));
        }
        Ok(sources)
    }

    /// The values of a default in `rows` rows. It is computed for each, since it may be random.
    fn default_values(
        &self,
        default: &plan::Expr,
        rows: usize,
        ambient: &EnvAmbient<'_>,
    ) -> Result<Series> {
        let (interner, parameters) = (&*self.interner, &[][..]);
        let computer = exec::expr::Computer::new(interner, parameters, ambient);
        let compiled = computer.compile(default)?;
        let mut values = Vec::with_capacity(rows);
        for _ in 0..rows {
            let cell = computer.compute(&compiled, &exec::expr::batch::NoRows, 0)?;
            values.push(interner.value(cell));
        }
        Ok(Series::from(values))
    }

    /// All values of a column as it holds them.
    fn coerce(
        &self,
        schema: &Schema,
        column: usize,
        series: &Series,
        ambient: &EnvAmbient<'_>,
    ) -> Result<Series> {
        let of = &columns_of(schema)[column].column_type;
        let value = |row| {
            coerced(of, series.value(row), ambient)
                .map_err(|why| wrong(schema, &ColumnError { row, column, why }))
        };
        let values: Result<Vec<Value>> = (0..series.len()).map(value).collect();
        Ok(Series::from(values?))
    }

    /// Writes rows regardless of existing ones.
    fn write_columns(
        &self,
        kind: ChangeKind,
        target: &Target,
        sources: &[Source<'_>],
        rows: std::ops::Range<usize>,
    ) -> Result<()> {
        let kind = if kind.is_removal() { Kind::Delete } else { Kind::Put };
        let columns: Vec<_> = sources.iter().map(Source::series).collect();
        let tables = encode::writes(target, kind, &columns, &rows, &EnvAmbient(&self.limits))
            .map_err(|refused| wrong(&target.schema, &refused))?;
        self.transaction.write(&WriteBatch { tables })?;
        Ok(())
    }

    /// Writes rows that may exist.
    fn change_columns(
        &self,
        mutation: &Mutation,
        sources: &[Source<'_>],
        rows: std::ops::Range<usize>,
        target: &Target,
        unique: &mut UniqueCheck<'_>,
    ) -> Result<()> {
        let (transaction, op, schema) = (self.transaction, mutation.op, &target.schema);
        let ambient = EnvAmbient(&self.limits);
        let columns: Vec<_> = sources.iter().map(Source::series).collect();
        let change = BulkChange { transaction, target, op, ambient: &ambient };
        change.write(&columns, &rows, unique).map_err(|refused| match refused {
            Refused::Column(refused) => wrong(schema, &refused),
            Refused::Store(error) => error.into(),
            Refused::Row(row, why) => {
                let keys = columns.iter().take(schema.keys.len()).zip(&schema.keys);
                let key = keys.map(|(series, key)| {
                    let value = series.map_or(Value::Null, |series| series.value(row));
                    let value = coerced(&key.column_type, value.clone(), &ambient).unwrap_or(value);
                    value.to_string()
                });
                row_error(&schema.name, key, why, Span::default())
            }
        })
    }

    /// Writes rows as a script does.
    fn write_rows(
        &mut self,
        mutation: &Mutation,
        write_target: &WriteTarget,
        sources: &[Source<'_>],
        triggers: &[String],
        rows: std::ops::Range<usize>,
    ) -> Result<()> {
        let schema = &write_target.target.schema;
        let ambient = EnvAmbient(&self.limits);
        let all = columns_of(schema);
        let (mut headers, mut columns) = (Vec::new(), Vec::new());
        // The values of a chunk are freed with its interner.
        self.interner = Arc::<Interner>::default();
        for (place, (source, column)) in sources.iter().zip(&all).enumerate() {
            let Some(series) = source.series() else { continue };
            let cell = |row: usize| -> Result<Cell> {
                let value = coerced(&column.column_type, series.value(row), &ambient)
                    .map_err(|why| wrong(schema, &ColumnError { row, column: place, why }))?;
                Ok(self.interner.take(value))
            };
            columns.push(rows.clone().map(cell).collect::<Result<Vec<Cell>>>()?);
            headers.push(column.name.clone());
        }
        let cells = OwnedCells::new(columns, Arc::clone(&self.interner));
        let given = InputRows { headers: &headers, rows: rows.len(), cells: &cells };
        self.write(mutation, &given, write_target, triggers, false)?;
        Ok(())
    }
}

/// That a column gets no value from rows.
fn no_column(schema: &Schema, column: &str, rows: &Frame) -> Error {
    let what = format!("the rows for relation `{}` have no column `{column}`", schema.name);
    let given = rows.names().iter().map(|name| format!("`{name}`"));
    let given = given.collect::<Vec<_>>().join(", ");
    let hint = match given.as_str() {
        "" => "they have no columns".to_owned(),
        given => format!("they have {given}"),
    };
    Error::hinted(what, Span::default(), hint)
}

/// A value that is refused, with its place.
fn wrong(schema: &Schema, refused: &ColumnError) -> Error {
    let column = &columns_of(schema)[refused.column].name;
    let ColumnError { row, why, .. } = refused;
    let what = format!("relation `{}`, row {row}, column `{column}`: {why}", schema.name);
    Error::hinted(what, Span::default(), "rows are counted from 0")
}
