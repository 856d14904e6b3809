//! Writes the rows of a query to a stored relation.
//!
//! # Invariants
//! 1. Everything is written through the script's transaction: other readers see all of it or
//!    nothing.
//! 2. A graph's two directions get the same rows.
//! 3. Rows hold strings until they are encoded, also where a dictionary has ids for them.

use crate::catalog_view::columns_of;
use crate::dml::changed_rows::{InputRows, ReturnedRows};
use crate::dml::coerce::coerced;
use crate::dml::dictionary_ids::DictionaryIds;
use crate::dml::encode;
use crate::dml::encode::CHUNK_ROWS;
use crate::dml::target::Target;
use base::{Batch, Kind, STEPS};
use exec::error::{Error, Result};
use exec::expr::Computer;
use exec::output::Output;
use exec::storage::access_path::StoredPath;
use exec::value::cell::{Cell, Interner};
use hashbrown::HashMap;
use model::{Series, Type, Value};
use plan::ColumnInfo;
use relation::{ColumnError, KeyColumn, Schema, ValueColumn};
use std::borrow::Cow;
use std::sync::OnceLock;
use store::{Kinds, TableWrites, Transaction, WriteBatch};
use syntax::{Mutation, MutationOp, Span, Spec, SpecColumn};

/// Checks the columns in a mutation's spec against the relation's: names, and types where given.
///
/// # Errors
/// A column that the relation lacks, or one of another type.
pub(crate) fn check_spec(
    mutation: &Mutation,
    columns: &[ColumnInfo],
    headers: &[String],
) -> Result<()> {
    let relation = &mutation.relation;
    let known = |name: &str, span: Span| {
        columns.iter().find(|known| known.name == name).ok_or_else(|| {
            let near = syntax::closest(name, columns.iter().map(|known| known.name.as_str()));
            let what = format!("relation `{}` has no column `{name}`", relation.text);
            Error::unknown(what, span, near)
        })
    };
    let Some(spec) = &mutation.spec else {
        // Without a spec, all columns of the head are meant.
        return headers.iter().try_for_each(|header| {
            known(variable_of(header), relation.span)?;
            Ok(())
        });
    };
    for column in spec.columns() {
        let is = &known(&column.name.text, column.name.span)?.column_type;
        let Some(said) = &column.column_type else { continue };
        let is_id = *is.without_null() == Type::Id && *said.without_null() == Type::Int;
        if said != is && !is_id && *said != Type::Nullable(Box::new(Type::Any)) {
            let (name, relation) = (&column.name, &relation.text);
            let what = format!("column `{name}` of relation `{relation}` is {is}, not {said}");
            return Err(Error::value(what, name.span));
        }
    }
    Ok(())
}

/// Approximate size in bytes.
fn bytes_of_returned((_, row): &(&'static str, Vec<Value>)) -> u64 {
    row.iter().map(exec::value::cell::bytes_of).sum::<u64>() + size_of::<Vec<Value>>() as u64
}

/// The result of `:returning`.
pub(crate) fn returned_output(columns: &[ColumnInfo], returned: ReturnedRows) -> Output {
    let names: Vec<&str> =
        std::iter::once("_kind").chain(columns.iter().map(|column| column.name.as_str())).collect();
    let rows = returned
        .into_iter()
        .map(|(kind, row)| std::iter::once(Value::Str(kind.to_owned())).chain(row).collect());
    Output::of_values(&names, rows.collect())
}

/// The schema in a mutation's spec; without one, all columns of the head are keys.
///
/// # Errors
/// Columns that cannot be stored.
pub(crate) fn schema_of(mutation: &Mutation, headers: &[String]) -> Result<Schema> {
    let name = mutation.relation.text.clone();
    let any = || Type::Nullable(Box::new(Type::Any));
    let (keys, values) = match &mutation.spec {
        None => {
            let key = |header: &String| {
                let column = variable_of(header);
                if is_column_name(column) {
                    return Ok(KeyColumn::new(column, any()));
                }
                let what = format!("`{column}` cannot be a column's name");
                let hint = "name the columns in the head of the query: ?[a, b] …";
                Err(Error::hinted(what, mutation.relation.span, hint))
            };
            (headers.iter().map(key).collect::<Result<_>>()?, Vec::new())
        }
        Some(spec) => {
            let default = |column: &SpecColumn| column.default.as_ref().map(ToString::to_string);
            let keys = spec.keys.iter().map(|column| {
                let of = column.column_type.clone().unwrap_or_else(any);
                KeyColumn { default: default(column), ..KeyColumn::new(&column.name.text, of) }
            });
            let values = spec.values.iter().map(|column| {
                let of = column.column_type.clone().unwrap_or_else(any);
                let nullable = matches!(of, Type::Nullable(_));
                let plain = ValueColumn::new(&column.name.text, of.without_null().clone());
                ValueColumn { nullable, default: default(column), ..plain }
            });
            (keys.collect(), values.collect())
        }
    };
    let schema = Schema { name, keys, values };
    schema.check().map_err(|error| Error::refused(error, mutation.relation.span))?;
    Ok(schema)
}

/// Whether scripts can read a column with this name: neither a wildcard nor a number.
pub(crate) fn is_column_name(name: &str) -> bool {
    let is_word = matches!(crate::nesting::parse_expression(name), Ok(syntax::Expr::Variable(ident)) if ident.text == name);
    is_word && !name.starts_with('_') && !name.contains('.')
}

/// The change of one key.
struct Change {
    /// The previous row.
    old: Option<Vec<Value>>,
    /// The row to put, or else the row to delete.
    new: std::result::Result<Vec<Value>, Vec<Value>>,
}

/// Where the columns of a relation get their values, for rows with these headers.
#[derive(Clone)]
pub(crate) struct Sources {
    headers: Vec<String>,
    of: Vec<Source>,
}

/// Where a column of a relation gets its values.
#[derive(Clone)]
enum Source {
    /// A column of the input rows.
    Column(usize),
    /// An expression, evaluated for each row.
    Default(plan::Expr),
    /// Not changed, or not needed.
    Kept,
}

/// Applies a mutation to an existing relation.
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
        let looks = has_indexes || !is_blind || self.returning;
        if !looks && self.target.dictionary.is_none() {
            self.write_columns(mutation, &sources.of, given)?;
            return Ok(ReturnedRows::new());
        }
        let mut returned = ReturnedRows::new();
        let (mut returned_bytes, mut from) = (0, 0);
        while from < given.rows {
            let told = returned.len();
            let rows = self.rows(mutation, &sources.of, given, from)?;
            from += rows.len();
            self.write_rows(mutation, rows, looks, &mut returned)?;
            returned_bytes += returned[told..].iter().map(bytes_of_returned).sum::<u64>();
            self.holds(returned_bytes)?;
        }
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
        let to = from.saturating_add(CHUNK_ROWS).min(given.rows);
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
        rows: Vec<Vec<Option<Value>>>,
        looks: bool,
        returned: &mut ReturnedRows,
    ) -> Result<()> {
        let schema = &self.target.schema;
        let keys = schema.keys.len();
        let has_indexes = self.target.has_value_index();
        let ids = match self.target.dictionary {
            Some(dictionary) => {
                let texts = rows.iter().flat_map(|row| row[..keys].iter().flatten());
                Some(DictionaryIds::of(dictionary, self.transaction, texts)?)
            }
            None => None,
        };
        if !looks {
            let change = |row: Vec<Option<Value>>| {
                let new = match mutation.op {
                    MutationOp::Rm => Err(self.filler(&row)?),
                    _ => Ok(row.into_iter().map(|value| value.unwrap_or(Value::Null)).collect()),
                };
                Ok(Change { old: None, new })
            };
            let changes = rows.into_iter().map(change).collect::<Result<_>>()?;
            return self.write_changes(changes, ids, has_indexes, mutation);
        }
        // The previous rows of many rows are freed with a separate interner.
        let own = (rows.len() > CELLS_KEPT_ROWS_MAX).then(Interner::default);
        let interner = own.as_ref().unwrap_or(self.interner);
        let old = self.old_rows(&rows, ids.as_ref(), interner)?;
        // Rows are applied in order, each seeing the effect of earlier rows with its key. Only the
        // last row of each key is written.
        let mut changes: Vec<Change> = Vec::with_capacity(rows.len());
        let mut changed: HashMap<Vec<Cell>, usize> = HashMap::new();
        let fail = |row: &[Option<Value>], why: &str| {
            let shown: Vec<String> =
                row[..keys].iter().flatten().map(ToString::to_string).collect();
            let what = format!("row [{}] of relation `{}` {why}", shown.join(", "), schema.name);
            Err(Error::value(what, mutation.relation.span))
        };
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
            match (mutation.op, &old) {
                (MutationOp::Insert, Some(_)) => return fail(row, "is there already"),
                (MutationOp::Update | MutationOp::Delete | MutationOp::Ensure, None) => {
                    return fail(row, "is not there");
                }
                (MutationOp::EnsureNot, Some(_)) => return fail(row, "is there"),
                _ => {}
            }
            let new = match mutation.op {
                MutationOp::Rm | MutationOp::Delete | MutationOp::EnsureNot => {
                    let mut full = self.filler(row)?;
                    if let Some(old) = &old {
                        full.clone_from(old);
                    }
                    if self.returning {
                        let asked = row.iter().enumerate().map(|(place, value)| match value {
                            Some(value) if place < keys => value.clone(),
                            _ => Value::Null,
                        });
                        returned.push(("requested", asked.collect()));
                        if let Some(old) = &old {
                            returned.push(("deleted", old.clone()));
                        }
                    }
                    Err(full)
                }
                _ => {
                    let full: Vec<Value> = match &old {
                        // An update keeps the columns that it does not name.
                        Some(old) if mutation.op == MutationOp::Update => row
                            .iter()
                            .zip(old)
                            .map(|(new, old)| new.clone().unwrap_or_else(|| old.clone()))
                            .collect(),
                        _ => row.iter().map(|v| v.clone().unwrap_or(Value::Null)).collect(),
                    };
                    if mutation.op == MutationOp::Ensure
                        && old.as_ref().is_some_and(|old| *old != full)
                    {
                        return fail(row, "has other values");
                    }
                    if self.returning {
                        returned.push(("inserted", full.clone()));
                        returned.extend(old.map(|old| ("replaced", old)));
                    }
                    Ok(full)
                }
            };
            let change = Change { old: first, new };
            match before {
                Some(place) => changes[place] = change,
                None => changes.push(change),
            }
        }
        self.write_changes(changes, ids, has_indexes, mutation)
    }

    /// Puts or deletes rows regardless of existing ones.
    fn write_columns(
        &self,
        mutation: &Mutation,
        sources: &[Source],
        given: &InputRows<'_>,
    ) -> Result<()> {
        let schema = &self.target.schema;
        let types = schema.keys.iter().map(|key| &key.column_type);
        let types = types.chain(schema.values.iter().map(|value| &value.column_type));
        let kind = if mutation.op == MutationOp::Rm { Kind::Delete } else { Kind::Put };
        let mut from = 0;
        while from < given.rows {
            let to = from.saturating_add(CHUNK_ROWS).min(given.rows);
            let column = |(source, of): (&Source, &Type)| -> Result<Option<Series>> {
                self.ask()?;
                Ok(match source {
                    Source::Column(column) => {
                        let cells = &given.cells.columns()[*column][from..to];
                        Some(encode::series(of, cells, given.cells.interner()))
                    }
                    // Evaluated for each row: a default may be random.
                    Source::Default(expr) => {
                        let values = (from..to).map(|_| self.computer.known(expr));
                        Some(values.collect::<Result<Vec<_>>>()?.into())
                    }
                    Source::Kept => None,
                })
            };
            let columns = sources.iter().zip(types.clone()).map(column);
            let columns: Vec<Option<Series>> = columns.collect::<Result<_>>()?;
            let columns: Vec<Option<&Series>> = columns.iter().map(Option::as_ref).collect();
            let rows = 0..to - from;
            let ambient = self.computer.ambient;
            let tables = encode::writes(self.target, kind, &columns, &rows, ambient)
                .map_err(|refused| self.refused(mutation, &refused))?;
            self.transaction.write(&WriteBatch { tables })?;
            from = to;
        }
        Ok(())
    }

    /// Checks the memory limit for the returned rows.
    fn holds(&self, bytes: u64) -> Result<()> {
        if bytes <= self.memory_bytes_max {
            return Ok(());
        }
        Err(Error::Limit(format!(
            "what the change returns holds {bytes} bytes, more than the query's limit of {}",
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
        let shape = &self.target.paths[0].shape;
        let (mut puts, mut deletes) = (Batch::new(shape), Batch::new(shape));
        let mut stale = Batch::new(shape);
        for (number, Change { old, new }) in changes.into_iter().enumerate() {
            self.go_on(number)?;
            if has_indexes && let Some(old) = old {
                self.append(old, ids.as_ref(), &mut stale, mutation)?;
            }
            match new {
                Ok(row) => self.append(row, ids.as_ref(), &mut puts, mutation)?,
                Err(row) => self.append(row, ids.as_ref(), &mut deletes, mutation)?,
            }
        }
        // A row that `:ensure` found is written unchanged, so that another commit that changes it
        // conflicts.
        self.write(false, Kind::Delete, stale)?;
        self.write(true, Kind::Put, puts)?;
        self.write(true, Kind::Delete, deletes)
    }

    /// The sources of the columns, computed once for rows with the same headers.
    fn sources(&self, mutation: &Mutation, given: &InputRows<'_>) -> Result<Cow<'_, Sources>> {
        if let Some(kept) = self.sources.get().filter(|kept| kept.headers == given.headers) {
            return Ok(Cow::Borrowed(kept));
        }
        let of = self.find_sources(mutation, given)?;
        let found = Sources { headers: given.headers.to_vec(), of };
        Ok(match self.sources.set(found) {
            Ok(()) => self.sources.get().map(Cow::Borrowed).expect("it was set"),
            Err(found) => Cow::Owned(found),
        })
    }

    fn find_sources(&self, mutation: &Mutation, given: &InputRows<'_>) -> Result<Vec<Source>> {
        let schema = &self.target.schema;
        let keys = schema.keys.len();
        let of_keys_only =
            matches!(mutation.op, MutationOp::Rm | MutationOp::Delete | MutationOp::EnsureNot);
        let columns = columns_of(schema);
        check_spec(mutation, &columns, given.headers)?;
        let mut sources = Vec::with_capacity(columns.len());
        for (place, column) in columns.iter().enumerate() {
            let said = mutation.spec.as_ref().and_then(|spec| find(spec, &column.name));
            let wanted = match (&mutation.spec, said) {
                (None, _) => Some(column.name.as_str()),
                (Some(_), Some(said)) => {
                    Some(said.binding.as_ref().map_or(column.name.as_str(), |b| b.text.as_str()))
                }
                (Some(_), None) => None,
            };
            let found = wanted.and_then(|wanted| given_column(given.headers, wanted));
            let default = self.defaults.iter().find(|(name, _)| *name == column.name);
            sources.push(match (found, default) {
                // A delete uses only the key; other columns are ignored.
                _ if place >= keys && of_keys_only => Source::Kept,
                (Some(found), _) => Source::Column(found),
                (None, _) if place >= keys && mutation.op == MutationOp::Update => Source::Kept,
                (None, Some((_, default))) => Source::Default(default.clone()),
                (None, None) => {
                    let span = said.map_or(mutation.relation.span, |said| said.name.span);
                    let what = format!("column `{}` gets no value", column.name);
                    let hint = format!(
                        "the rows have {}",
                        given
                            .headers
                            .iter()
                            .map(|h| format!("`{h}`"))
                            .collect::<Vec<_>>()
                            .join(", ")
                    );
                    return Err(Error::hinted(what, span, hint));
                }
            });
        }
        Ok(sources)
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

    /// What is said of a value that its column does not take.
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

    /// Encodes a row. A row with a string without dictionary id does not exist, and is left out;
    /// rows that are put have got ids before.
    fn append(
        &self,
        mut row: Vec<Value>,
        ids: Option<&DictionaryIds>,
        out: &mut Batch,
        mutation: &Mutation,
    ) -> Result<()> {
        if let Some(ids) = ids {
            let keys = self.target.schema.keys.len();
            let Some(key) = ids.key(&row[..keys]) else { return Ok(()) };
            row.splice(..keys, key);
        }
        let schema = &self.target.paths[0].schema;
        schema.append(row, out).map_err(|error| Error::refused(error, mutation.relation.span))
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

    /// Writes rows to the relation's other orders and, if `is_main`, to the relation itself.
    fn write(&self, is_main: bool, kind: Kind, rows: Batch) -> Result<()> {
        if rows.rows == 0 {
            return Ok(());
        }
        let Target { paths, .. } = self.target;
        let writes = |path: &StoredPath, rows| TableWrites {
            keyspace: path.keyspace,
            kinds: Kinds::Uniform(kind),
            rows,
            delete_ranges: Vec::new(),
        };
        let mut tables = Vec::with_capacity(paths.len());
        for path in &paths[1..] {
            tables.push(writes(path, index_rows(&paths[0].schema, &rows, path)?));
        }
        if is_main {
            tables.push(writes(&paths[0], rows));
        }
        self.transaction.write(&WriteBatch { tables })?;
        Ok(())
    }
}

/// The rows of another order, such as an index, for rows of a relation.
///
/// # Errors
/// Stored bytes that are not a row.
pub(crate) fn index_rows(schema: &Schema, rows: &Batch, path: &StoredPath) -> Result<Batch> {
    let mut other = Batch::new(&path.shape);
    for row in 0..rows.rows {
        let values = schema.row(rows, row)?;
        let values = path.columns.iter().map(|&column| values[column].clone()).collect();
        path.schema.append(values, &mut other)?;
    }
    Ok(other)
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
        Type::Nullable(_) => Value::Null,
    }
}

pub(crate) fn find<'s>(spec: &'s Spec, name: &str) -> Option<&'s SpecColumn> {
    spec.columns().find(|column| column.name.text == name)
}

/// Index of a header, by its full text or by the variable of an aggregate.
pub(crate) fn given_column(headers: &[String], wanted: &str) -> Option<usize> {
    let exact = headers.iter().position(|header| header == wanted);
    exact.or_else(|| headers.iter().position(|header| variable_of(header) == wanted))
}

/// `x` of `sum(x)`.
fn variable_of(header: &str) -> &str {
    match header.split_once('(') {
        Some((_, rest)) => rest.strip_suffix(')').unwrap_or(rest),
        None => header,
    }
}
