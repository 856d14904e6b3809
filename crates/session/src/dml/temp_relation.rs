//! Changes of a script's temporary relations.
//!
//! # Invariants
//! 1. A change that fails leaves the relation unchanged.

use crate::ambient::EnvAmbient;
use crate::catalog_view::TempRelation;
use crate::dml::changed_rows::{InputRows, ReturnedRows};
use crate::dml::coerce::coerced;
use crate::dml::refusal::{refusal, row_error};
use crate::dml::spec::{check_spec, find, given_column, schema_of};
use crate::session::Session;
use base::STEPS;
use exec::error::{Error, Result};
use exec::expr::Computer;
use exec::limits::Check;
use exec::query_result::QueryResult;
use exec::table::Table;
use exec::table::owned::OwnedTable;
use exec::value::cell::{Cell, Interner};
use model::{Type, Value};
use plan::ColumnInfo;
use std::borrow::Cow;
use std::sync::Arc;
use syntax::{Ident, Mutation, MutationOp, Span};

/// Dead rows that a table may have, in addition to as many as live ones, before it is rebuilt
/// without them.
const DEAD_ROWS_KEPT: usize = 1024;

impl Session<'_> {
    /// Changes a temporary relation.
    ///
    /// # Errors
    /// There is no such relation, or one already; a column gets no value; a row exists or is
    /// missing, contrary to the op.
    pub(crate) fn change_temp_relation(
        &mut self,
        mutation: &Mutation,
        given: &InputRows<'_>,
        returning: bool,
    ) -> Result<QueryResult> {
        let name = &mutation.relation.text;
        let span = mutation.relation.span;
        let is_new = matches!(mutation.op, MutationOp::Create | MutationOp::Replace);
        let schema = is_new.then(|| schema_of(mutation, given.headers)).transpose()?;
        // Defaults in this statement take precedence over those of the relation.
        let said = match (&schema, &mutation.spec) {
            (Some(schema), _) => self.defaults(mutation, schema)?,
            (None, Some(_)) => Self::said_defaults(mutation)?,
            (None, None) => Vec::new(),
        };
        let interner = &self.interner;
        let ambient = EnvAmbient(&self.limits);
        let computer = Computer::new(interner, &[], &ambient);
        let check = || self.limits.check(interner.bytes());
        let change = Change { mutation, given, interner, computer: &computer, check: &check };
        let mut changed = returning.then(Changed::default);
        match (mutation.op, self.temp_relations.get_mut(name)) {
            (MutationOp::Create, Some(_)) => {
                return Err(Error::value(format!("relation `{name}` already exists"), span));
            }
            (MutationOp::Create | MutationOp::Replace, _) => {
                let Some(schema) = schema else { return Ok(QueryResult::status("OK")) };
                let columns = crate::catalog_view::columns_of(&schema);
                let keys = schema.keys.len();
                let table = OwnedTable::new(Table::new(columns.len(), keys), interner);
                let mut fresh = TempRelation { columns, defaults: said, keys, table };
                fresh.change(&change, &[], changed.as_mut())?;
                self.temp_relations.insert(name.clone(), fresh);
            }
            (_, Some(kept)) => {
                kept.change(&change, &said, changed.as_mut())?;
            }
            (_, None) => {
                let near = syntax::closest(name, self.temp_relations.keys().map(String::as_str));
                return Err(Error::unknown(format!("no relation `{name}`"), span, near));
            }
        }
        match (changed, self.temp_relations.get(name)) {
            (Some(changed), Some(kept)) => {
                let returned = changed.into_returned(interner);
                Ok(crate::dml::writer::returned_output(&kept.columns, returned))
            }
            _ => Ok(QueryResult::status("OK")),
        }
    }
}

/// A change of a relation, and the context of its expressions.
struct Change<'c> {
    mutation: &'c Mutation,
    given: &'c InputRows<'c>,
    interner: &'c Arc<Interner>,
    computer: &'c Computer<'c>,
    check: Check<'c>,
}

impl Change<'_> {
    fn refused(&self, key: &[Cell], why: &str) -> Error {
        let Ident { text: name, span } = &self.mutation.relation;
        let key = key.iter().map(|&cell| self.interner.value(cell).to_string());
        row_error(name, key, why, *span)
    }
}

/// The changed rows and how they changed, for `:returning`.
#[derive(Default)]
struct Changed {
    /// The requested rows.
    asked: Vec<Vec<Cell>>,
    /// The previous rows.
    old: Vec<Vec<Cell>>,
    removes: bool,
}

impl Changed {
    /// Notes a key that is removed from a table, and its row if it is there.
    fn note_removed(&mut self, key: &[Cell], table: &Table, there: Option<usize>) {
        let nulls = std::iter::repeat_n(Cell::NULL, table.arity() - key.len());
        self.asked.push(key.iter().copied().chain(nulls).collect());
        self.old.extend(there.map(|there| row_of(table, there)));
        self.removes = true;
    }

    /// Notes a row that is put into a table, and the row of its key that is there.
    fn note_put(&mut self, row: &[Cell], table: &Table, there: Option<usize>) {
        self.asked.push(row.to_vec());
        self.old.extend(there.map(|there| row_of(table, there)));
    }

    fn into_returned(self, interner: &Interner) -> ReturnedRows {
        let (asked, old) = match self.removes {
            true => ("requested", "deleted"),
            false => ("inserted", "replaced"),
        };
        let values = |row: Vec<Cell>| row.into_iter().map(|cell| interner.value(cell)).collect();
        let asked = self.asked.into_iter().map(|row| (asked, values(row)));
        asked.chain(self.old.into_iter().map(|row| (old, values(row)))).collect()
    }
}

impl TempRelation {
    /// Applies a change. `said`: defaults that the script says here.
    fn change(
        &mut self,
        change: &Change<'_>,
        said: &[(String, plan::Expr)],
        mut changed: Option<&mut Changed>,
    ) -> Result<()> {
        let &Change { mutation, given, interner, computer, check } = change;
        let op = mutation.op;
        let columns = self.given(mutation, given, said, computer)?;
        let keys = self.keys;
        let table = match op {
            // These never fail. Put by put in a loop, nothing is copied.
            MutationOp::Create | MutationOp::Replace | MutationOp::Put => {
                self.table.take_for(interner, check)?
            }
            _ => self.table.table_for(interner, check)?,
        };
        let mut table = Arc::unwrap_or_clone(table);
        let mut gone = Table::new(keys, keys);
        for row in 0..given.rows {
            // A stopped script does not need the relation any more.
            if row % STEPS == STEPS - 1 {
                check()?;
            }
            let cell = |column: &Option<Cow<'_, [Cell]>>| column.as_ref().map(|column| column[row]);
            let key: Vec<Cell> = columns[..keys].iter().filter_map(cell).collect();
            let key_columns: Vec<&[Cell]> = key.iter().map(std::slice::from_ref).collect();
            let there = table.find_row(&key_columns, 0).filter(|_| !gone.contains(&key_columns, 0));
            if let Some(why) = refusal(op, there.is_some()) {
                return Err(change.refused(&key, why));
            }
            if matches!(op, MutationOp::Rm | MutationOp::Delete) {
                gone.insert(&key_columns, 0);
                if let Some(changed) = &mut changed {
                    changed.note_removed(&key, &table, there);
                }
                continue;
            }
            let full = full_row(&columns, row, &table, there);
            let only_asks = matches!(op, MutationOp::Ensure | MutationOp::EnsureNot);
            if let Some(changed) = changed.as_mut().filter(|_| !only_asks) {
                changed.note_put(&full, &table, there);
            }
            match op {
                MutationOp::EnsureNot => {}
                MutationOp::Ensure => {
                    if there.is_some_and(|there| differs(&table, there, &full)) {
                        return Err(change.refused(&key, "has other values"));
                    }
                }
                _ => put(&mut table, there, &full),
            }
        }
        if gone.rows() > 0 || table.rows() > 2 * table.live_rows() + DEAD_ROWS_KEPT {
            table = without(&table, &gone, keys);
        }
        self.table = OwnedTable::new(table, interner);
        Ok(())
    }

    /// The cells of each column after conversion; `None` where the op does not need them. `said`
    /// are the defaults in this statement.
    fn given<'g>(
        &self,
        mutation: &Mutation,
        given: &InputRows<'g>,
        said: &[(String, plan::Expr)],
        computer: &Computer<'_>,
    ) -> Result<Vec<Option<Cow<'g, [Cell]>>>> {
        check_spec(mutation, &self.columns, given.headers)?;
        let of_keys_only =
            matches!(mutation.op, MutationOp::Rm | MutationOp::Delete | MutationOp::EnsureNot);
        let column = |(place, column): (usize, &ColumnInfo)| {
            let name = &column.name;
            let spec = mutation.spec.as_ref().and_then(|spec| find(spec, name));
            let wanted = spec.and_then(|said| said.binding.as_ref()).map_or(name, |b| &b.text);
            let is_kept = place >= self.keys && (of_keys_only || mutation.op == MutationOp::Update);
            let default = said.iter().chain(&self.defaults).find(|(of, _)| of == name);
            let span = spec.map_or(mutation.relation.span, |said| said.name.span);
            match (given_column(given.headers, wanted), default) {
                (Some(found), _) => {
                    let cells = given.cells.column_for(found, computer.interner);
                    if matches!(&column.column_type, Type::Nullable(of) if **of == Type::Any) {
                        return Ok(Some(cells));
                    }
                    let value = |&cell: &Cell| Ok(computer.interner.value(cell));
                    Self::fitting(cells.iter().map(value), mutation, column, span, computer)
                        .map(Some)
                }
                (None, _) if is_kept || given.rows == 0 => Ok(None),
                // Evaluated for each row: a default may be random.
                (None, Some((_, default))) => {
                    let values = (0..given.rows).map(|_| computer.known(default));
                    Self::fitting(values, mutation, column, span, computer).map(Some)
                }
                (None, None) => Err(Error::value(format!("column `{name}` gets no value"), span)),
            }
        };
        self.columns.iter().enumerate().map(column).collect()
    }

    /// Converts values to a column's type.
    fn fitting<'c>(
        values: impl Iterator<Item = Result<Value>>,
        mutation: &Mutation,
        column: &ColumnInfo,
        span: Span,
        computer: &Computer<'_>,
    ) -> Result<Cow<'c, [Cell]>> {
        let fit = |value: Result<Value>| {
            let fitting = coerced(&column.column_type, value?, computer.ambient);
            let refused = |why| {
                let (name, of) = (&column.name, &mutation.relation.text);
                Error::value(format!("column `{name}` of relation `{of}`: {why}"), span)
            };
            fitting.map(|value| computer.interner.take(value)).map_err(refused)
        };
        values.map(fit).collect::<Result<Vec<Cell>>>().map(Cow::Owned)
    }
}

/// A given row, with the cells of the row that is there in the columns that are not given.
#[inline]
fn full_row(
    columns: &[Option<Cow<'_, [Cell]>>],
    row: usize,
    table: &Table,
    there: Option<usize>,
) -> Vec<Cell> {
    let cell = |(place, column): (usize, &Option<Cow<'_, [Cell]>>)| {
        let old = there.map(|there| table.column(place)[there]);
        column.as_ref().map(|column| column[row]).or(old).unwrap_or(Cell::NULL)
    };
    columns.iter().enumerate().map(cell).collect()
}

/// Replaces the row of a key that is there, or else inserts one.
#[inline]
fn put(table: &mut Table, there: Option<usize>, row: &[Cell]) {
    match there {
        Some(there) => table.replace(there, row),
        None => {
            let row: Vec<&[Cell]> = row.iter().map(std::slice::from_ref).collect();
            table.insert(&row, 0);
        }
    }
}

fn differs(table: &Table, there: usize, row: &[Cell]) -> bool {
    row.iter().enumerate().any(|(place, &cell)| table.column(place)[there] != cell)
}

fn row_of(table: &Table, row: usize) -> Vec<Cell> {
    (0..table.arity()).map(|place| table.column(place)[row]).collect()
}

/// The live rows of a table, without those whose keys are in `gone`.
fn without(table: &Table, gone: &Table, keys: usize) -> Table {
    let mut left = Table::new(table.arity(), keys);
    let columns = table.columns();
    for row in (0..table.rows()).filter(|&row| table.is_live(row)) {
        if !gone.contains(&columns[..keys], row) {
            left.insert(&columns, row);
        }
    }
    left
}
