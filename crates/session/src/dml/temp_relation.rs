//! Changes of a script's temporary relations.
//!
//! # Invariants
//! 1. A change that fails leaves the relation unchanged.

use crate::ambient::EnvAmbient;
use crate::catalog_view::TempRelation;
use crate::dml::changed_rows::{InputRows, ReturnedRows};
use crate::dml::coerce::coerced;
use crate::dml::writer::{check_spec, find, given_column, schema_of};
use crate::session::Session;
use base::STEPS;
use exec::error::{Error, Result};
use exec::expr::Computer;
use exec::limits::Check;
use exec::output::Output;
use exec::table::Table;
use exec::table::owned::OwnedTable;
use exec::value::cell::{Cell, Interner};
use model::{Type, Value};
use plan::ColumnInfo;
use std::borrow::Cow;
use std::sync::Arc;
use syntax::{Mutation, MutationOp, Span};

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
    ) -> Result<Output> {
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
        let mut changed = returning.then(Changed::default);
        match (mutation.op, self.temp_relations.get_mut(name)) {
            (MutationOp::Create, Some(_)) => {
                return Err(Error::value(format!("relation `{name}` is there already"), span));
            }
            (MutationOp::Create | MutationOp::Replace, _) => {
                let Some(schema) = schema else { return Ok(Output::status("OK")) };
                let columns = crate::catalog_view::columns_of(&schema);
                let keys = schema.keys.len();
                let table = OwnedTable::new(Table::new(columns.len(), keys), interner);
                let mut fresh = TempRelation { columns, defaults: said, keys, table };
                fresh.change(
                    mutation,
                    given,
                    &[],
                    interner,
                    &computer,
                    &check,
                    changed.as_mut(),
                )?;
                self.temp_relations.insert(name.clone(), fresh);
            }
            (_, Some(kept)) => {
                kept.change(mutation, given, &said, interner, &computer, &check, changed.as_mut())?;
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
            _ => Ok(Output::status("OK")),
        }
    }
}

/// Changed rows, for `:returning`.
#[derive(Default)]
struct Changed {
    /// The requested rows.
    asked: Vec<Vec<Cell>>,
    /// The previous rows.
    old: Vec<Vec<Cell>>,
    removes: bool,
}

impl Changed {
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
    #[expect(clippy::too_many_arguments, reason = "a change, and what it is computed with")]
    fn change(
        &mut self,
        mutation: &Mutation,
        given: &InputRows<'_>,
        said: &[(String, plan::Expr)],
        interner: &Arc<Interner>,
        computer: &Computer<'_>,
        check: Check<'_>,
        mut changed: Option<&mut Changed>,
    ) -> Result<()> {
        let (name, span) = (&mutation.relation.text, mutation.relation.span);
        let fail = |key: &[Cell], why: &str| {
            let shown: Vec<String> =
                key.iter().map(|&cell| interner.value(cell).to_string()).collect();
            let what = format!("row [{}] of relation `{name}` {why}", shown.join(", "));
            Err(Error::value(what, span))
        };
        let columns = self.given(mutation, given, said, computer)?;
        let keys = self.keys;
        let never_fails =
            matches!(mutation.op, MutationOp::Create | MutationOp::Replace | MutationOp::Put);
        let table = match never_fails {
            // Put in a loop, so that nothing is copied.
            true => self.table.take_for(interner, check)?,
            false => self.table.table_for(interner, check)?,
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
            let there = table.find(&key).filter(|_| !gone.contains(&key_columns, 0));
            match (mutation.op, there) {
                (MutationOp::Insert, Some(_)) => return fail(&key, "is there already"),
                (MutationOp::EnsureNot, Some(_)) => return fail(&key, "is there"),
                (MutationOp::Update | MutationOp::Delete | MutationOp::Ensure, None) => {
                    return fail(&key, "is not there");
                }
                _ => {}
            }
            if matches!(mutation.op, MutationOp::Rm | MutationOp::Delete) {
                gone.insert(&key_columns, 0);
                if let Some(changed) = &mut changed {
                    let nulls = std::iter::repeat_n(Cell::NULL, table.arity() - keys);
                    changed.asked.push(key.iter().copied().chain(nulls).collect());
                    changed.old.extend(there.map(|there| row_of(&table, there)));
                    changed.removes = true;
                }
                continue;
            }
            let full = columns.iter().enumerate().map(|(place, column)| {
                let old = there.map(|there| table.column(place)[there]);
                cell(column).or(old).unwrap_or(Cell::NULL)
            });
            let full: Vec<Cell> = full.collect();
            let only_asks = matches!(mutation.op, MutationOp::Ensure | MutationOp::EnsureNot);
            if let Some(changed) = changed.as_mut().filter(|_| !only_asks) {
                changed.asked.push(full.clone());
                changed.old.extend(there.map(|there| row_of(&table, there)));
            }
            match (mutation.op, there) {
                (MutationOp::EnsureNot, _) => {}
                (MutationOp::Ensure, Some(there)) => {
                    if (0..full.len()).any(|place| table.column(place)[there] != full[place]) {
                        return fail(&key, "has other values");
                    }
                }
                (_, Some(there)) => table.replace(there, &full),
                (_, None) => {
                    let full: Vec<&[Cell]> = full.iter().map(std::slice::from_ref).collect();
                    table.insert(&full, 0);
                }
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
