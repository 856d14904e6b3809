//! Changes of stored relations by rows that the caller has, without a script: imports, and puts of
//! whole tables.
//!
//! # Two ways
//! Rows that are put or removed whatever was there before, as an import's are, go from columns to
//! the store's words and bytes column after column. Where what was there matters (an insertion, an
//! index of values, a trigger), they go the way of a script's rows. Either takes so many rows at a
//! time that what it makes of them does not grow with the import. Very many rows that are put are
//! loaded as tables (`load.rs`): a transaction holds no more than its share of the memory.

use crate::ambient::EnvAmbient;
use crate::catalog_view::columns_of;
use crate::dml::bulk_load::{LOADED_ROWS_MIN, Rows};
use crate::dml::changed_rows::InputRows;
use crate::dml::coerce::coerced;
use crate::dml::encode;
use crate::dml::encode::CHUNK_ROWS;
use crate::dml::target::Target;
use crate::engine::Engine;
use crate::plan_cache::cached_script::WriteTarget;
use crate::run_options::Run;
use crate::script::Blocks;
use crate::session::Session;
use crate::transaction_state::TransactionState;
use base::Kind;
use exec::error::{Error, Result};
use exec::table::owned::OwnedCells;
use exec::value::cell::{Cell, Interner};
use model::{Frame, Series, Type, Value};
use relation::{ColumnError, Schema};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Transaction, WriteBatch};
use syntax::{Ident, Mutation, MutationOp, Span};

/// What is done with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// They are put, whatever their keys held before.
    Put,
    /// They are put; no key may be there.
    Insert,
    /// Some of their columns are put; each key must be there.
    Update,
    /// They are removed, where they are there.
    Rm,
    /// They are removed; each key must be there.
    Delete,
}

/// Rows that change a relation.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    /// Its name.
    pub relation: &'c str,
    /// What is done.
    pub kind: ChangeKind,
    /// The rows: the key columns, and unless they are removed the value columns, in any order. A
    /// column that is not there has its default.
    pub rows: &'c Frame,
    /// Whether it is an import: no trigger is fired, and columns that the relation does not have
    /// are passed over.
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
    /// Applies changes, one after the other, in a transaction of their own.
    ///
    /// # Errors
    /// No such relation, its access level, columns that are missing, a value that a column does not
    /// take (named with its relation, row and column), rows that must be there or must not. Nothing
    /// was changed then.
    pub fn change(&self, changes: &[Change<'_>], run: &Run<'_>) -> Result<()> {
        self.store.check_open()?;
        if let Some(host) = &self.host {
            host.write_waiting(None)?;
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        let _running = self.register(&said(changes).into(), &cancelled);
        self.in_transaction(None, run, &cancelled, |session| session.change_all(changes))
    }

    /// The same in a transaction of the caller's; see [`Engine::run_in`].
    ///
    /// # Errors
    /// As [`Engine::change`]. Nothing of it is left in the transaction then.
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

/// What `::running` shows of them.
fn said(changes: &[Change<'_>]) -> String {
    let names: Vec<&str> = changes.iter().map(|change| change.relation).collect();
    format!("rows for {}", names.join(", "))
}

/// Where a column of a relation gets its values.
enum Source<'f> {
    Given(&'f Series),
    /// Made for this change.
    Made(Series),
    /// Nothing is written.
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

/// A change that may be made.
struct Prepared<'f> {
    kind: ChangeKind,
    rows: usize,
    mutation: Mutation,
    write_target: WriteTarget,
    sources: Vec<Source<'f>>,
    triggers: Vec<String>,
    /// Whether what was there plays no part.
    is_blind: bool,
    /// Whether its rows may be loaded as tables.
    is_loadable: bool,
}

impl Session<'_> {
    fn change_all(&mut self, changes: &[Change<'_>]) -> Result<()> {
        let prepared = changes.iter().filter(|change| !is_nothing(change.rows));
        let changes: Vec<Change<'_>> = prepared.copied().collect();
        let prepared = changes.iter().map(|change| self.prepare(change));
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

    fn prepare<'f>(&self, change: &Change<'f>) -> Result<Prepared<'f>> {
        let engine = self.engine;
        if engine.store.is_read_only() {
            let what = "the database was opened read-only";
            return Err(Error::read_only(what, Span::default()));
        }
        let name = Ident { text: change.relation.to_owned(), span: Span::default() };
        crate::access::refuse_part(&name, "written by writing")?;
        let mutation = Mutation { op: change.kind.op(), relation: name, spec: None };
        let write_target = self.find_write_target(&mutation)?;
        let triggers = match change.is_import {
            true => Vec::new(),
            false => crate::dml::trigger::of(&write_target.settings, mutation.op).to_vec(),
        };
        let target = &write_target.target;
        let schema = &target.schema;
        let sources = self.sources(change, &write_target)?;
        let is_blind = matches!(change.kind, ChangeKind::Put | ChangeKind::Rm)
            && triggers.is_empty()
            && !engine.callbacks.wants(change.relation)
            && target.dictionary.is_none()
            && !target.has_value_index();
        // What is added to is written by adding.
        let is_loadable = is_blind
            && change.kind == ChangeKind::Put
            && schema.values.iter().all(|value| value.merge.is_none());
        let (kind, rows) = (change.kind, change.rows.len());
        Ok(Prepared {
            kind,
            rows,
            mutation,
            write_target,
            sources,
            triggers,
            is_blind,
            is_loadable,
        })
    }

    /// Writes all of them as tables.
    fn load(&self, all: &[Prepared<'_>]) -> Result<()> {
        let mut tables = Vec::new();
        for Prepared { write_target: WriteTarget { target, .. }, sources, rows, .. } in all {
            for path in &target.paths {
                self.check()?;
                let columns: Vec<_> = sources.iter().map(Source::series).collect();
                let rows = encode::encode(path, &columns, 0..*rows, &EnvAmbient(&self.limits))
                    .map_err(|refused| wrong(&target.schema, &refused))?;
                tables.push(Rows { keyspace: path.keyspace, rows });
            }
        }
        crate::dml::bulk_load::load(&*self.engine.store, tables, &|| self.check())
    }

    fn change(&mut self, prepared: &Prepared<'_>) -> Result<()> {
        let Prepared { kind, rows, mutation, write_target, sources, triggers, is_blind, .. } =
            prepared;
        let rows = *rows;
        // A trigger sees all that changed at once.
        let step = if triggers.is_empty() { CHUNK_ROWS } else { usize::MAX };
        let told = self.changed.len();
        let mut from = 0;
        while from < rows {
            let to = from.saturating_add(step).min(rows);
            self.check()?;
            match is_blind {
                true => self.write_columns(*kind, &write_target.target, sources, from..to)?,
                false => self.write_rows(mutation, write_target, sources, triggers, from..to)?,
            }
            from = to;
        }
        // Whoever wants to know is told once. Where there are triggers, which may have changed
        // others, there was one chunk.
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

    /// Of each column, what it gets.
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
                // A time may be `NOW`, which is to be the same in every index.
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

    /// The values of a default in so many rows. It is computed for each: it may be random.
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

    /// Writes rows whatever was there.
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
        // The values of one chunk are forgotten with it.
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
