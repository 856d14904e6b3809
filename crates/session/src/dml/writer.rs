//! Writes the rows of a query to a stored relation.
//!
//! # Invariants
//! 1. Everything is written through the script's transaction: other readers see all of it or
//!    nothing.
//! 2. A graph's two directions get the same rows.
//! 3. Rows hold strings until they are encoded, also where a dictionary has ids for them.

use crate::dml::bulk_change::{BULK_ROWS, BulkChange, Refused, table, takes_columns};
use crate::dml::changed_rows::{InputRows, ReturnedRows};
use crate::dml::coerce::coerced;
use crate::dml::dictionary_ids::DictionaryIds;
use crate::dml::encode;
use crate::dml::encode::CHUNK_ROWS;
use crate::dml::extract::RowChange;
use crate::dml::refusal::{refusal, row_error};
use crate::dml::sources::{Source, Sources};
use crate::dml::spec::find;
use crate::dml::target::Target;
use crate::dml::unique_check::UniqueCheck;
use base::{Batch, Kind, STEPS};
use exec::error::{Error, Result};
use exec::expr::Computer;
use exec::query_result::QueryResult;
use exec::storage::access_path::StoredPath;
use exec::value::cell::{Cell, Interner};
use hashbrown::HashMap;
use model::{Series, Type, Value};
use plan::ColumnInfo;
use relation::{ColumnError, Schema, ValueColumn};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;
use store::{Kinds, TableWrites, Transaction, WriteBatch};
use syntax::{Mutation, MutationOp, Span};

/// Approximate size in bytes.
fn bytes_of_returned((_, row): &(&'static str, Vec<Value>)) -> u64 {
    row.iter().map(exec::value::cell::bytes_of).sum::<u64>() + size_of::<Vec<Value>>() as u64
}

/// The result of `:returning`.
pub(crate) fn returned_output(columns: &[ColumnInfo], returned: ReturnedRows) -> QueryResult {
    let names: Vec<&str> =
        std::iter::once("_kind").chain(columns.iter().map(|column| column.name.as_str())).collect();
    let rows = returned
        .into_iter()
        .map(|(kind, row)| std::iter::once(Value::Str(kind.to_owned())).chain(row).collect());
    QueryResult::of_values(&names, rows.collect())
}

/// The change of a key.
struct Change {
    /// The previous row.
    old: Option<Vec<Value>>,
    /// The row to put, or else the row to delete.
    new: std::result::Result<Vec<Value>, Vec<Value>>,
}

/// Applies a mutation to a relation that is there.
pub(crate) struct Writer<'w> {
    /// The transaction.
    pub transaction: &'w dyn Transaction,
    /// Interner of the query.
    pub interner: &'w Interner,
    /// Evaluates defaults.
    pub computer: Computer<'w>,
    /// The relation.
    pub target: &'w Target,
    /// Defaults of the relation's columns, by name.
    pub defaults: &'w [(String, plan::Expr)],
    /// Sources of the columns for this mutation, once known.
    pub sources: &'w OnceLock<Sources>,
    /// Whether the changed rows are needed, by `:returning` or by a trigger.
    pub returning: bool,
    /// Most bytes that this may take.
    pub memory_bytes_max: u64,
}

/// Rows written at a time, with the rows that they replace, may take the memory limit divided by
/// this. A single row may take more.
const CHUNK_SHARE: u64 = 16;

/// Most rows at a time whose previous rows are interned with the query's values.
const CELLS_KEPT_ROWS_MAX: usize = 1024;

impl Writer<'_> {
    /// Applies a mutation; returns the rows for `:returning`.
    ///
    /// # Errors
    /// Missing columns, values of the wrong type, rows that exist and must not, or the other way
    /// round.
    pub(crate) fn apply(&self, mutation: &Mutation, given: &InputRows<'_>) -> Result<ReturnedRows> {
        let sources = self.sources(mutation, given)?;
        let has_indexes = self.target.has_value_index();
        let is_new = matches!(mutation.op, MutationOp::Create | MutationOp::Replace);
        let is_blind = is_new || matches!(mutation.op, MutationOp::Put | MutationOp::Rm);
        let looks = has_indexes || self.target.has_unique_index() || !is_blind || self.returning;
        let mut unique = UniqueCheck::of(self.target);
        let span = mutation.relation.span;
        if !self.returning && takes_columns(self.target, mutation.op) {
            self.write_columns(mutation, &sources.of, given, looks, &mut unique)?;
            unique.finish(self.transaction, span)?;
            return Ok(ReturnedRows::new());
        }
        let mut returned = ReturnedRows::new();
        let (mut returned_bytes, mut from) = (0, 0);
        while from < given.rows {
            let told = returned.len();
            let rows = self.rows(mutation, &sources.of, given, from)?;
            from += rows.len();
            self.write_rows(mutation, rows, looks, &mut returned, &mut unique)?;
            returned_bytes += returned[told..].iter().map(bytes_of_returned).sum::<u64>();
            self.holds(returned_bytes)?;
        }
        unique.finish(self.transaction, span)?;
        returned.sort_by_key(|(kind, _)| match *kind {
            "inserted" | "requested" => 0,
            _ => 1,
        });
        Ok(returned)
    }

    /// Reads the next input rows and converts them: as many as are written at a time, at least one.
    fn rows(
        &self,
        mutation: &Mutation,
        sources: &[Source],
        given: &InputRows<'_>,
        from: usize,
    ) -> Result<Vec<Vec<Option<Value>>>> {
        let mut rows_max = CHUNK_ROWS;
        if given.rows - from > 1 {
            for index in &self.target.search {
                let of_index = index.rows_max(self.transaction, self.memory_bytes_max)?;
                rows_max = rows_max.min(of_index);
            }
        }
        let to = from.saturating_add(rows_max).min(given.rows);
        let mut rows = Vec::with_capacity(to - from);
        let (mut bytes, bytes_max) = (0, self.memory_bytes_max / CHUNK_SHARE);
        for number in from..to {
            self.go_on(number)?;
            let row = self.row(mutation, sources, given, number)?;
            bytes += row.iter().flatten().map(exec::value::cell::bytes_of).sum::<u64>();
            rows.push(row);
            if bytes > bytes_max {
                break;
            }
        }
        Ok(rows)
    }

    /// Writes some rows, which see the effect of earlier ones; appends to the returned rows.
    fn write_rows(
        &self,
        mutation: &Mutation,
        mut rows: Vec<Vec<Option<Value>>>,
        looks: bool,
        returned: &mut ReturnedRows,
        unique: &mut UniqueCheck<'_>,
    ) -> Result<()> {
        let keys = self.target.schema.keys.len();
        let has_indexes = self.target.has_value_index();
        let ids = match self.target.dictionary {
            Some(dictionary) => {
                let texts = rows.iter().flat_map(|row| row[..keys].iter().flatten());
                Some(DictionaryIds::of(dictionary, self.transaction, texts)?)
            }
            None => None,
        };
        if self.target.paths[0].ordered_ends.is_some() {
            order_ends(&mut rows, ids.as_ref());
        }
        if !looks {
            let changes = self.blind_changes(mutation, rows)?;
            return self.write_changes(changes, ids, has_indexes, mutation, unique);
        }
        // The previous rows of many rows are freed with a separate interner.
        let own = (rows.len() > CELLS_KEPT_ROWS_MAX).then(Interner::default);
        let interner = own.as_ref().unwrap_or(self.interner);
        let old = self.old_rows(&rows, ids.as_ref(), interner)?;
        let changes = self.changes(mutation, &rows, old, interner, returned)?;
        self.write_changes(changes, ids, has_indexes, mutation, unique)
    }

    /// The change of each key, for mutations that need no existing rows.
    fn blind_changes(
        &self,
        mutation: &Mutation,
        rows: Vec<Vec<Option<Value>>>,
    ) -> Result<Vec<Change>> {
        let change = |row: Vec<Option<Value>>| {
            let new = match mutation.op {
                MutationOp::Rm => Err(self.filler(&row)?),
                _ => Ok(row.into_iter().map(|value| value.unwrap_or(Value::Null)).collect()),
            };
            Ok(Change { old: None, new })
        };
        rows.into_iter().map(change).collect()
    }

    /// The change of each key. The rows are applied in their order, and each sees the earlier rows
    /// of its key; only the last row of a key is written.
    fn changes(
        &self,
        mutation: &Mutation,
        rows: &[Vec<Option<Value>>],
        old: Vec<Option<Vec<Value>>>,
        interner: &Interner,
        returned: &mut ReturnedRows,
    ) -> Result<Vec<Change>> {
        let keys = self.target.schema.keys.len();
        let mut changes: Vec<Change> = Vec::with_capacity(rows.len());
        let mut changed: HashMap<Vec<Cell>, usize> = HashMap::new();
        for (number, (row, old)) in rows.iter().zip(old).enumerate() {
            self.go_on(number)?;
            let key = row[..keys].iter().flatten().map(|value| interner.cell(value));
            let place = *changed.entry(key.collect()).or_insert(changes.len());
            let before = (place < changes.len()).then_some(place);
            let first = before.map_or_else(|| old.clone(), |place| changes[place].old.clone());
            let old = match before {
                Some(place) => changes[place].new.clone().ok(),
                None => old,
            };
            if let Some(why) = refusal(mutation.op, old.is_some()) {
                return Err(self.refused_row(mutation, row, why));
            }
            let new = match mutation.op {
                MutationOp::Rm | MutationOp::Delete | MutationOp::EnsureNot => {
                    Err(self.deleted_row(row, old.as_ref(), returned)?)
                }
                _ => Ok(self.put_row(mutation, row, old, returned)?),
            };
            let change = Change { old: first, new };
            match before {
                Some(place) => changes[place] = change,
                None => changes.push(change),
            }
        }
        Ok(changes)
    }

    /// The row that is deleted: the existing one, or one of its key. Adds to the returned rows.
    fn deleted_row(
        &self,
        row: &[Option<Value>],
        old: Option<&Vec<Value>>,
        returned: &mut ReturnedRows,
    ) -> Result<Vec<Value>> {
        let keys = self.target.schema.keys.len();
        let mut full = self.filler(row)?;
        if let Some(old) = old {
            full.clone_from(old);
        }
        if self.returning {
            let asked = row.iter().enumerate().map(|(place, value)| match value {
                Some(value) if place < keys => value.clone(),
                _ => Value::Null,
            });
            returned.push(("requested", asked.collect()));
            if let Some(old) = old {
                returned.push(("deleted", old.clone()));
            }
        }
        Ok(full)
    }

    /// The row that is put. Adds to the returned rows.
    ///
    /// # Errors
    /// The row that is there is not the one that `:ensure` says.
    fn put_row(
        &self,
        mutation: &Mutation,
        row: &[Option<Value>],
        old: Option<Vec<Value>>,
        returned: &mut ReturnedRows,
    ) -> Result<Vec<Value>> {
        let full: Vec<Value> = match &old {
            // Columns that an update does not name keep their values.
            Some(old) if mutation.op == MutationOp::Update => row
                .iter()
                .zip(old)
                .map(|(new, old)| new.clone().unwrap_or_else(|| old.clone()))
                .collect(),
            _ => row.iter().map(|v| v.clone().unwrap_or(Value::Null)).collect(),
        };
        if mutation.op == MutationOp::Ensure && old.as_ref().is_some_and(|old| *old != full) {
            return Err(self.refused_row(mutation, row, "has other values"));
        }
        if self.returning {
            returned.push(("inserted", full.clone()));
            returned.extend(old.map(|old| ("replaced", old)));
        }
        Ok(full)
    }

    fn refused_row(&self, mutation: &Mutation, row: &[Option<Value>], why: &str) -> Error {
        let schema = &self.target.schema;
        let key = row[..schema.keys.len()].iter().flatten();
        row_error(&schema.name, key.map(ToString::to_string), why, mutation.relation.span)
    }

    /// Writes rows column by column; existing rows matter if `looks`.
    fn write_columns(
        &self,
        mutation: &Mutation,
        sources: &[Source],
        given: &InputRows<'_>,
        looks: bool,
        unique: &mut UniqueCheck<'_>,
    ) -> Result<()> {
        let kind = if mutation.op == MutationOp::Rm { Kind::Delete } else { Kind::Put };
        let mut from = 0;
        while from < given.rows {
            let to = match looks {
                true => self.chunk_end(sources, given, from)?,
                false => from.saturating_add(CHUNK_ROWS).min(given.rows),
            };
            let columns = self.columns(sources, given, from..to)?;
            let columns: Vec<Option<&Series>> = columns.iter().map(Option::as_ref).collect();
            let (rows, ambient) = (0..to - from, self.computer.ambient);
            if looks {
                let Self { transaction, target, .. } = *self;
                let change = BulkChange { transaction, target, op: mutation.op, ambient };
                change.write(&columns, &rows, unique).map_err(|refused| {
                    self.refused_change(mutation, sources, given, from, refused)
                })?;
            } else {
                let tables = encode::writes(self.target, kind, &columns, &rows, ambient)
                    .map_err(|refused| self.refused(mutation, &refused))?;
                self.transaction.write(&WriteBatch { tables })?;
            }
            from = to;
        }
        Ok(())
    }

    /// The columns of some rows; `None` for those that get no values.
    fn columns(
        &self,
        sources: &[Source],
        given: &InputRows<'_>,
        rows: Range<usize>,
    ) -> Result<Vec<Option<Series>>> {
        let schema = &self.target.schema;
        let types = schema.keys.iter().map(|key| &key.column_type);
        let types = types.chain(schema.values.iter().map(|value| &value.column_type));
        let column = |(source, of): (&Source, &Type)| -> Result<Option<Series>> {
            self.ask()?;
            Ok(match source {
                Source::Column(column) => {
                    let cells = &given.cells.columns()[*column][rows.clone()];
                    Some(encode::series(of, cells, given.cells.interner()))
                }
                // Evaluated for each row: a default may be random.
                Source::Default(expr) => {
                    let values = rows.clone().map(|_| self.computer.known(expr));
                    Some(values.collect::<Result<Vec<_>>>()?.into())
                }
                Source::Kept => None,
            })
        };
        sources.iter().zip(types).map(column).collect()
    }

    /// Where the rows end that are written together: as many as memory allows, at least one.
    fn chunk_end(&self, sources: &[Source], given: &InputRows<'_>, from: usize) -> Result<usize> {
        let to = from.saturating_add(BULK_ROWS).min(given.rows);
        let bytes_max = self.memory_bytes_max / CHUNK_SHARE;
        let given_columns = sources.iter().filter_map(|source| match source {
            Source::Column(column) => Some(given.cells.columns()[*column].as_slice()),
            _ => None,
        });
        let given_columns: Vec<&[Cell]> = given_columns.collect();
        let interner = given.cells.interner();
        let mut bytes = 0;
        for row in from..to {
            self.go_on(row)?;
            bytes += 8 * sources.len() as u64;
            let cells = given_columns.iter().map(|cells| cells[row]);
            for cell in cells.filter(|cell| !cell.is_word()) {
                bytes += interner.with(cell, exec::value::cell::bytes_of);
            }
            if bytes > bytes_max {
                return Ok(row + 1);
            }
        }
        Ok(to)
    }

    /// The error for rows from number `from` on that are not changed.
    fn refused_change(
        &self,
        mutation: &Mutation,
        sources: &[Source],
        given: &InputRows<'_>,
        from: usize,
        refused: Refused,
    ) -> Error {
        match refused {
            // Rows are checked one after the other: the first with a wrong value is reported, not
            // the first column.
            Refused::Column(refused) => match self.rows(mutation, sources, given, from) {
                Err(error) => error,
                Ok(_) => self.refused(mutation, &refused),
            },
            Refused::Row(row, why) => match self.row(mutation, sources, given, from + row) {
                Err(error) => error,
                Ok(row) => self.refused_row(mutation, &row, why),
            },
            Refused::Store(error) => error.into(),
        }
    }

    /// Checks the memory limit for the returned rows.
    fn holds(&self, bytes: u64) -> Result<()> {
        if bytes <= self.memory_bytes_max {
            return Ok(());
        }
        Err(Error::Limit(format!(
            "the returned rows hold {bytes} bytes, more than the query's limit of {}",
            self.memory_bytes_max
        )))
    }

    /// Checks the limits once in many rows.
    fn go_on(&self, row: usize) -> Result<()> {
        if row % STEPS != STEPS - 1 {
            return Ok(());
        }
        self.ask()
    }

    /// Checks the limits.
    fn ask(&self) -> Result<()> {
        let asked = self.computer.ambient.check_cancelled();
        asked.map_err(|failure| Error::failed(failure, Span::default()))
    }

    fn write_changes(
        &self,
        changes: Vec<Change>,
        mut ids: Option<DictionaryIds>,
        has_indexes: bool,
        mutation: &Mutation,
        unique: &mut UniqueCheck<'_>,
    ) -> Result<()> {
        let keys = self.target.schema.keys.len();
        if let Some(ids) = &mut ids {
            let put = changes.iter().filter_map(|change| change.new.as_ref().ok());
            ids.assign_ids(self.transaction, put.flat_map(|row| &row[..keys]))?;
            if mutation.op == MutationOp::EnsureNot {
                let absent = changes.iter().filter_map(|change| change.new.as_ref().err());
                ids.hold_absent(self.transaction, absent.flat_map(|row| &row[..keys]))?;
            }
        }
        let (main, others) = self.target.paths.split_first().expect("a relation is stored");
        let (mut puts, mut deletes) = (Batch::new(&main.shape), Batch::new(&main.shape));
        let other = |path: &StoredPath| (Vec::new(), Batch::new(&path.shape));
        let mut in_others: Vec<(Vec<Kind>, Batch)> = others.iter().map(other).collect();
        let refused = |error| Error::refused(error, mutation.relation.span);
        let searched = self.search_writes(&changes, mutation)?;
        for (number, Change { old, new }) in changes.into_iter().enumerate() {
            self.go_on(number)?;
            let old = old.filter(|_| has_indexes).and_then(|row| with_ids(row, ids.as_ref(), keys));
            let (is_put, new) = match new {
                Ok(row) => (true, row),
                Err(row) => (false, row),
            };
            // A row with a string without dictionary id does not exist. Rows that are put have got
            // ids before.
            let Some(new) = with_ids(new, ids.as_ref(), keys) else { continue };
            for (path, out) in others.iter().zip(&mut in_others) {
                let put = is_put.then_some(&new);
                let deleted = match self.target.is_by_value(path) {
                    true => old.as_ref(),
                    false => Some(&new).filter(|_| !is_put),
                };
                change_other(path, deleted, put, out).map_err(refused)?;
            }
            let out = if is_put { &mut puts } else { &mut deletes };
            main.schema.append(new, out).map_err(refused)?;
        }
        let mut tables = searched;
        for (number, (path, (kinds, rows))) in others.iter().zip(in_others).enumerate() {
            let kinds = Kinds::PerRow(kinds);
            let (kinds, rows) = unique.claimed(self.transaction, number, kinds, rows)?;
            tables.push(table(path, kinds, rows));
        }
        // A row that `:ensure` found is written unchanged, so that another commit that changes it
        // conflicts.
        debug_assert!(puts.rows == 0 || deletes.rows == 0, "a mutation puts or deletes");
        tables.push(match deletes.rows {
            0 => table(main, Kinds::Uniform(Kind::Put), puts),
            _ => table(main, Kinds::Uniform(Kind::Delete), deletes),
        });
        self.transaction.write(&WriteBatch { tables })?;
        Ok(())
    }

    /// The writes to search indexes for changed rows.
    fn search_writes(&self, changes: &[Change], mutation: &Mutation) -> Result<Vec<TableWrites>> {
        let changed: Vec<RowChange<'_>> = match self.target.search.is_empty() {
            true => return Ok(Vec::new()),
            false => changes
                .iter()
                .map(|change| (change.old.as_deref(), change.new.as_deref().ok()))
                .collect(),
        };
        let (ambient, span) = (self.computer.ambient, mutation.relation.span);
        let mut tables = Vec::new();
        for index in &self.target.search {
            let read: &dyn store::Read = self.transaction;
            tables.append(&mut index.writes(read, &changed, ambient, span)?);
        }
        Ok(tables)
    }

    /// The sources of the columns, computed once for rows with the same headers.
    fn sources(&self, mutation: &Mutation, given: &InputRows<'_>) -> Result<Cow<'_, Sources>> {
        if let Some(kept) = self.sources.get().filter(|kept| kept.headers == given.headers) {
            return Ok(Cow::Borrowed(kept));
        }
        let found = Sources::find(mutation, &self.target.schema, self.defaults, given.headers)?;
        Ok(match self.sources.set(found) {
            Ok(()) => self.sources.get().map(Cow::Borrowed).expect("it was set"),
            Err(found) => Cow::Owned(found),
        })
    }

    fn row(
        &self,
        mutation: &Mutation,
        sources: &[Source],
        given: &InputRows<'_>,
        row: usize,
    ) -> Result<Vec<Option<Value>>> {
        let schema = &self.target.schema;
        let value = |(place, source): (usize, &Source)| {
            let value = match source {
                Source::Column(column) => {
                    given.cells.interner().value(given.cells.columns()[*column][row])
                }
                // Evaluated for each row: a default may be random.
                Source::Default(expr) => self.computer.known(expr)?,
                Source::Kept => return Ok(None),
            };
            match place.checked_sub(schema.keys.len()) {
                None => {
                    let key = &schema.keys[place];
                    self.coerce(mutation, &key.column_type, &key.name, value).map(Some)
                }
                Some(place) if schema.values[place].nullable && value == Value::Null => {
                    Ok(Some(Value::Null))
                }
                Some(place) => {
                    let column = &schema.values[place];
                    self.coerce(mutation, &column.column_type, &column.name, value).map(Some)
                }
            }
        };
        sources.iter().enumerate().map(value).collect()
    }

    fn coerce(&self, mutation: &Mutation, of: &Type, name: &str, value: Value) -> Result<Value> {
        coerced(of, value, self.computer.ambient)
            .map_err(|why| self.refused_in(mutation, name, &why))
    }

    /// The error for a value that its column does not accept.
    fn refused(&self, mutation: &Mutation, refused: &ColumnError) -> Error {
        let Schema { keys, values, .. } = &self.target.schema;
        let name = match refused.column.checked_sub(keys.len()) {
            None => &keys[refused.column].name,
            Some(value) => &values[value].name,
        };
        self.refused_in(mutation, name, &refused.why)
    }

    fn refused_in(&self, mutation: &Mutation, name: &str, why: &str) -> Error {
        let what = format!("column `{name}` of relation `{}`: {why}", self.target.schema.name);
        // The place of the column in the script, or else of the relation.
        let column = mutation.spec.as_ref().and_then(|spec| find(spec, name));
        Error::value(what, column.map_or(mutation.relation.span, |column| column.name.span))
    }

    /// Placeholders for columns that a delete does not name.
    fn filler(&self, row: &[Option<Value>]) -> Result<Vec<Value>> {
        let schema = &self.target.schema;
        let keys = schema.keys.len();
        let filler = |value: &ValueColumn| match value.nullable {
            true => Value::Null,
            false => filler(&value.column_type),
        };
        let keys = row[..keys].iter().map(|value| value.clone().unwrap_or(Value::Null));
        Ok(keys.chain(schema.values.iter().map(filler)).collect())
    }

    /// The existing rows with these keys.
    fn old_rows(
        &self,
        rows: &[Vec<Option<Value>>],
        ids: Option<&DictionaryIds>,
        interner: &Interner,
    ) -> Result<Vec<Option<Vec<Value>>>> {
        let path = &self.target.paths[0];
        let keys = path.schema.keys.len();
        let mut columns: Vec<Vec<Cell>> = vec![Vec::with_capacity(rows.len()); keys];
        let mut asked = Vec::with_capacity(rows.len());
        let key_of = |row: &[Option<Value>]| -> Vec<Value> {
            row[..keys].iter().map(|value| value.clone().unwrap_or(Value::Null)).collect()
        };
        for (place, row) in rows.iter().enumerate() {
            let key = match ids {
                Some(ids) => ids.key(&key_of(row)),
                None => Some(key_of(row)),
            };
            let Some(key) = key else { continue };
            asked.push(place);
            let cells = key.iter().map(|value| interner.cell(value));
            columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        }
        let slices: Vec<&[Cell]> = columns.iter().map(Vec::as_slice).collect();
        let mut old = vec![None; rows.len()];
        let wanted: Vec<usize> = (0..path.schema.columns()).collect();
        let mut found = Vec::new();
        let read: &dyn store::Read = self.transaction;
        let there = path.probe(read, &slices, asked.len(), &wanted, interner, &mut found)?;
        for (place, &row) in found.iter().enumerate() {
            let row = asked[row as usize];
            let values = there.columns.iter().map(|column| interner.value(column[place]));
            let mut values: Vec<Value> = values.collect();
            if ids.is_some() {
                values.splice(..keys, key_of(&rows[row]));
            }
            old[row] = Some(values);
        }
        Ok(old)
    }
}

/// Puts the ends of edges of an undirected graph in their stored order: that of the words, which
/// are ids of strings. A new string gets a larger id than those before it.
fn order_ends(rows: &mut [Vec<Option<Value>>], ids: Option<&DictionaryIds>) {
    let Some(ids) = ids else {
        // The values have the type of the column, so their order is that of their words.
        let swapped = rows.iter_mut().filter(|row| row[1] < row[0]);
        swapped.for_each(|row| row.swap(0, 1));
        return;
    };
    let mut new: HashMap<String, u64> = HashMap::new();
    for row in rows {
        let [source, target, ..] = row.as_mut_slice() else { continue };
        let mut rank = |end: &Option<Value>| match (end, ids.id(end.as_ref())) {
            (_, Some(id)) => (0, id),
            (Some(Value::Str(text)), None) => {
                let next = new.len() as u64;
                (1, *new.entry_ref(text.as_str()).or_insert(next))
            }
            _ => (1, u64::MAX),
        };
        if let (of_source, of_target) = (rank(source), rank(target))
            && of_target < of_source
        {
            std::mem::swap(source, target);
        }
    }
}

/// A row with dictionary ids in place of the strings in its key; `None` where a string has none.
fn with_ids(mut row: Vec<Value>, ids: Option<&DictionaryIds>, keys: usize) -> Option<Vec<Value>> {
    if let Some(ids) = ids {
        let key = ids.key(&row[..keys])?;
        row.splice(..keys, key);
    }
    Some(row)
}

/// Adds the writes to another order for a row that is deleted, put or replaced. A row that stays as
/// it is there is not written.
fn change_other(
    path: &StoredPath,
    deleted: Option<&Vec<Value>>,
    put: Option<&Vec<Value>>,
    (kinds, rows): &mut (Vec<Kind>, Batch),
) -> store::Result<()> {
    let in_order = |row: Option<&Vec<Value>>| row.map(|row| path.row_of(row));
    let (deleted, put) = (in_order(deleted), in_order(put));
    if deleted == put {
        return Ok(());
    }
    for (kind, row) in [(Kind::Delete, deleted), (Kind::Put, put)] {
        if let Some(row) = row {
            path.schema.append(row, rows)?;
            kinds.push(kind);
        }
    }
    Ok(())
}

/// A valid value of a type.
fn filler(of: &Type) -> Value {
    match of {
        Type::Bool => Value::Bool(false),
        Type::Float => Value::Float(0.0),
        Type::String => Value::Str(String::new()),
        Type::Bytes => Value::Bytes(Vec::new()),
        Type::Int | Type::Id | Type::Any => Value::Int(0),
        Type::Json => Value::Int(0),
        Type::Uuid => Value::Uuid([0; 16]),
        Type::Validity => Value::Validity(model::Validity { timestamp_us: 0, assert: false }),
        Type::List(item, len) => Value::List(vec![filler(item); len.unwrap_or(0) as usize]),
        Type::Tuple(types) => Value::List(types.iter().map(filler).collect()),
        Type::Vector(_, len) => Value::List(vec![Value::Int(0); *len as usize]),
        Type::Date => Value::Date(0),
        Type::Timestamp => Value::Timestamp(0),
        Type::Duration => Value::Duration(0),
        Type::Decimal => Value::Decimal(model::Decimal::ZERO),
        Type::Nullable(_) => Value::Null,
    }
}
