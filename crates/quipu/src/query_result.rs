//! The result of a script: rows of values, and the same as typed columns.

use crate::column_kind::{Digits, Item, Kind, Seen};
use base::{BytesColumn, Validity as ValidRows};
use model::{Decimal, Series, Type, Value, Values, Vector, VectorKind};
use session::{Cell, Interner, ShortText};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Maximum number of characters of a cell in a text table.
const CELL_CHARACTERS_MAX: usize = 60;

/// The rows that a script returned, at the snapshot it read.
#[derive(Clone)]
pub struct QueryResult {
    rows: session::QueryResult,
    /// The kind of each column over all parts of one result; `None` if this is the whole result.
    kinds: Option<Arc<[Kind]>>,
}

/// A column of one type.
///
/// Values of several types become strings, with some exceptions. Integers mixed with floats become
/// floats (above 2^53 rounded to the nearest). Integers mixed with ids above `i64::MAX` become ids
/// if none is negative. Vectors of equal length stay vectors, and lists whose items have one type
/// (by the same rules) stay lists; UUIDs in lists become strings.
#[derive(Clone, Debug)]
pub struct TypedColumn {
    /// The values, with fillers for nulls.
    pub values: ColumnValues,
    /// Which rows are not null.
    pub valid: ValidRows,
}

/// Values of one type.
#[derive(Clone, Debug)]
pub enum ColumnValues {
    /// Only nulls: their number.
    Null(usize),
    /// Booleans.
    Bool(Vec<bool>),
    /// Integers.
    Int(Vec<i64>),
    /// Unsigned integers, some of them above `i64::MAX`.
    Id(Vec<u64>),
    /// Floats.
    Float(Vec<f64>),
    /// UTF-8 strings.
    Str(BytesColumn),
    /// Byte strings.
    Bytes(BytesColumn),
    /// Vectors of 32-bit floats: their length, and all floats in order.
    Vector32(usize, Vec<f32>),
    /// Vectors of 64-bit floats: their length, and all floats in order.
    Vector64(usize, Vec<f64>),
    /// Lists: the offset of each list in the items plus the end of the last, and the items.
    List(Vec<u64>, Box<TypedColumn>),
    /// JSON text.
    Json(BytesColumn),
    /// Validities: times in microseconds since 1970-01-01 UTC, and whether the row holds from then
    /// on.
    Validity(Vec<i64>, Vec<bool>),
    /// Dates: days since 1970-01-01.
    Date(Vec<i32>),
    /// Timestamps: microseconds since 1970-01-01 UTC.
    Timestamp(Vec<i64>),
    /// Durations in microseconds.
    Duration(Vec<i64>),
    /// UUIDs.
    Uuid(Vec<[u8; 16]>),
    /// Decimals, and the digits that they have at most.
    Decimal(Vec<Decimal>, Digits),
    /// Values of any other or of mixed types, as literals of the query language.
    Literal(BytesColumn),
}

impl QueryResult {
    pub(crate) fn new(rows: session::QueryResult) -> Self {
        Self { rows, kinds: None }
    }

    /// One part of a result, with columns of these kinds, which are those of all parts.
    ///
    /// # Errors
    /// A column with a value that its kind does not include.
    pub(crate) fn part(self, kinds: &Arc<[Kind]>) -> Result<Self> {
        for (column, kind) in kinds.iter().enumerate() {
            let seen = self.seen(column);
            if !kind.takes(&seen) {
                let (name, found) = (&self.columns()[column], seen.kind());
                let what = format!("column `{name}` holds {found} here, and was to hold {kind}");
                let hint =
                    "to_int(…), to_float(…), to_string(…) and to_bool(…) make all of one type";
                let what = format!("{what}\nhint: {hint}");
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
        }
        Ok(Self { kinds: Some(Arc::clone(kinds)), ..self })
    }

    /// Some of its rows, with columns of these kinds, which are those of all rows.
    pub(crate) fn slice(&self, rows: Range<usize>, kinds: &Arc<[Kind]>) -> Self {
        Self { rows: self.rows.slice(rows), kinds: Some(Arc::clone(kinds)) }
    }

    /// The kind of each column.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        (0..self.columns().len()).map(|column| self.kind(column, &self.seen(column))).collect()
    }

    /// The kind of a column with these values; without rows, the kind of its known type.
    fn kind(&self, column: usize, seen: &Seen) -> Kind {
        match self.rows.types.get(column) {
            Some(Some(of)) if self.is_empty() => Kind::of(of),
            _ => seen.kind(),
        }
    }

    fn seen(&self, column: usize) -> Seen {
        let mut seen = Seen::default();
        if let Some(list) = self.rows.list() {
            let interner = Interner::default();
            let examples = list.examples(column);
            examples.iter().for_each(|value| seen.look(interner.cell(value), &interner));
            return seen;
        }
        let (cells, interner) = (self.rows.column(column), self.rows.interner());
        cells.iter().for_each(|&cell| seen.look(cell, interner));
        seen
    }

    /// Names of the columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.rows.headers
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in a row and a column, both from 0.
    ///
    /// # Panics
    /// If the row or the column is out of bounds.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Value {
        self.rows.value(row, column)
    }

    /// The integer in a row and a column, if it is stored inline; `None` for other values. Fast,
    /// since it needs no lookup.
    ///
    /// # Panics
    /// If the row or the column is out of bounds.
    #[must_use]
    #[inline]
    pub fn small_int(&self, row: usize, column: usize) -> Option<i64> {
        match self.rows.list() {
            Some(list) => list.int(row, column),
            None => self.rows.column(column)[row].as_small_int(),
        }
    }

    /// The string in a row and a column, if it is stored inline (a few bytes); `None` for other
    /// values. Fast, since it needs no lookup.
    ///
    /// # Panics
    /// If the row or the column is out of bounds.
    #[must_use]
    #[inline]
    pub fn short_text(&self, row: usize, column: usize) -> Option<ShortText> {
        self.rows.column(column)[row].as_short_text()
    }

    /// A word that identifies the value in a row and a column: equal words in one answer mean equal
    /// values.
    ///
    /// # Panics
    /// If the row or the column is out of bounds.
    #[must_use]
    #[inline]
    pub fn word(&self, row: usize, column: usize) -> u64 {
        self.rows.column(column)[row].word()
    }

    /// Calls `with` with the value in a row and a column, without copying it.
    ///
    /// # Panics
    /// If the row or the column is out of bounds.
    pub fn with_value<T>(&self, row: usize, column: usize, with: impl FnOnce(&Value) -> T) -> T {
        match self.rows.list() {
            Some(list) => with(&list.value(row, column)),
            None => self.rows.interner().with(self.rows.column(column)[row], with),
        }
    }

    /// The values of a row, one for each column.
    ///
    /// # Panics
    /// If the row is out of bounds.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.rows.row(row)
    }

    /// Iterates over all rows, as [`QueryResult::row`].
    pub fn rows(&self) -> impl Iterator<Item = Vec<Value>> {
        (0..self.len()).map(|row| self.row(row))
    }

    /// A column as the one type that fits all its values, see [`TypedColumn`].
    ///
    /// # Panics
    /// If the column is out of bounds.
    #[must_use]
    pub fn column(&self, column: usize) -> TypedColumn {
        if let Some(typed) = self.typed_column(column) {
            return typed;
        }
        let (cells, interner) = (self.rows.column(column), self.rows.interner());
        match &self.kinds {
            Some(kinds) => column_of(cells, interner, kinds[column], cells.contains(&Cell::NULL)),
            None => {
                let seen = self.seen(column);
                column_of(cells, interner, self.kind(column, &seen), seen.null)
            }
        }
    }
}

impl QueryResult {
    /// A column whose rows are typed, if they have the kind that it is to have.
    fn typed_column(&self, column: usize) -> Option<TypedColumn> {
        // First, because a result in cells has no series, and looking at all of them takes long.
        let Series { values, valid } = self.rows.series(column)?;
        let kind = match &self.kinds {
            Some(kinds) => kinds[column],
            None => self.kind(column, &self.seen(column)),
        };
        let values = match (values, kind) {
            (Values::Bool(values), Kind::Bool) => ColumnValues::Bool(values),
            (Values::Int(values), Kind::Int) => ColumnValues::Int(values),
            (Values::Float(values), Kind::Float) => ColumnValues::Float(values),
            (Values::Str(values), Kind::Str) => ColumnValues::Str(values),
            _ => return None,
        };
        Some(TypedColumn { values, valid })
    }
}

/// Output for humans.
impl QueryResult {
    /// A value as a table shows it: strings without quotes on one line, other values as literals.
    ///
    /// # Panics
    /// If the row or the column is out of bounds.
    #[must_use]
    pub fn shown(&self, row: usize, column: usize) -> String {
        self.with_value(row, column, |value| match value {
            Value::Str(text) => on_one_line(text),
            other => other.to_string(),
        })
    }

    /// Up to `rows_max` rows as an aligned table with the names of the columns. Every line ends
    /// with a line break. Cells are shortened to 60 characters.
    #[must_use]
    pub fn to_table(&self, rows_max: usize) -> String {
        let rows = self.len().min(rows_max);
        let columns = self.columns().iter().enumerate();
        let columns: Vec<TextColumn> = columns
            .map(|(i, name)| {
                let of_row = |row| cut(self.shown(row, i));
                let is_number = |row| {
                    let number = |value: &Value| {
                        matches!(value, Value::Int(_) | Value::Id(_) | Value::Float(_))
                    };
                    self.with_value(row, i, number)
                };
                let to_right = rows > 0 && (0..rows).all(is_number);
                TextColumn::new(cut(on_one_line(name)), (0..rows).map(of_row).collect(), to_right)
            })
            .collect();
        let mut text = String::new();
        let mut line = |cell: &dyn Fn(&TextColumn) -> String, gap: &str| {
            let cells: Vec<String> = columns.iter().map(cell).collect();
            text.push_str(cells.join(gap).trim_end());
            text.push('\n');
        };
        line(&|column| column.aligned(&column.name), " │ ");
        line(&|column| "─".repeat(column.width), "─┼─");
        (0..rows).for_each(|row| line(&|column| column.aligned(&column.cells[row]), " │ "));
        text
    }
}

/// A column of a text table.
struct TextColumn {
    name: String,
    cells: Vec<String>,
    width: usize,
    to_right: bool,
}

impl TextColumn {
    fn new(name: String, cells: Vec<String>, to_right: bool) -> Self {
        let widths = cells.iter().map(|cell| cell.chars().count());
        let width = widths.fold(name.chars().count(), usize::max);
        Self { name, cells, width, to_right }
    }

    fn aligned(&self, cell: &str) -> String {
        let width = self.width;
        if self.to_right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    }
}

/// Escapes line breaks and other control characters, which could move a terminal's cursor.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

fn cut(text: String) -> String {
    match text.char_indices().nth(CELL_CHARACTERS_MAX) {
        None => text,
        Some(_) => text.chars().take(CELL_CHARACTERS_MAX - 1).chain(['…']).collect(),
    }
}

impl fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (columns, rows) = (self.columns(), self.len());
        f.debug_struct("QueryResult").field("columns", &columns).field("rows", &rows).finish()
    }
}

impl TypedColumn {
    /// Converts a column of a relation with the type `of`. Values of types without a variant in
    /// [`ColumnValues`] become literals. A column of type `Any` is converted as a column of an
    /// answer is.
    #[must_use]
    pub fn of(series: Series, of: &Type) -> Self {
        let values = match series.values {
            Values::Null(rows) => ColumnValues::Null(rows),
            Values::Bool(values) => ColumnValues::Bool(values),
            Values::Int(values) => ColumnValues::Int(values),
            Values::Id(values) => ColumnValues::Id(values),
            Values::Float(values) => ColumnValues::Float(values),
            Values::Str(values) => ColumnValues::Str(values),
            Values::Bytes(values) => ColumnValues::Bytes(values),
            Values::Any(values) => {
                let interner = Interner::default();
                let cells: Vec<Cell> = values.iter().map(|value| interner.cell(value)).collect();
                let (kind, has_null) = if matches!(of.without_null(), Type::Any | Type::Decimal) {
                    let mut seen = Seen::default();
                    cells.iter().for_each(|&cell| seen.look(cell, &interner));
                    let kind = match seen.kind() {
                        // Only nulls.
                        Kind::Null => Kind::of(of),
                        kind => kind,
                    };
                    (if *of.without_null() == Type::Any { seen.kind() } else { kind }, seen.null)
                } else {
                    let kind = match Kind::of(of) {
                        Kind::Null | Kind::Bool | Kind::Int | Kind::Id => Kind::Literal,
                        Kind::Float | Kind::Str | Kind::Bytes => Kind::Literal,
                        kind => kind,
                    };
                    (kind, cells.contains(&Cell::NULL))
                };
                return column_of(&cells, &interner, kind, has_null);
            }
        };
        Self { values, valid: series.valid }
    }
}

#[cfg(feature = "arrow")]
impl TypedColumn {
    /// Converts a column of decimals, which have at most these digits.
    pub(crate) fn of_decimals(series: &Series, digits: Digits) -> Self {
        let (mut decimals, mut valid) = (Vec::with_capacity(series.len()), ValidRows::default());
        for row in 0..series.len() {
            let value = series.value(row);
            valid.push(row, value != Value::Null);
            decimals.push(if let Value::Decimal(one) = value { one } else { Decimal::ZERO });
        }
        Self { values: ColumnValues::Decimal(decimals, digits), valid }
    }
}

/// A column whose values are all of this kind, or null if `has_null`.
fn column_of(cells: &[Cell], interner: &Interner, kind: Kind, has_null: bool) -> TypedColumn {
    let mut valid = ValidRows::default();
    if has_null {
        cells.iter().enumerate().for_each(|(i, &cell)| valid.push(i, cell != Cell::NULL));
    }
    let values = match kind {
        Kind::Null => ColumnValues::Null(cells.len()),
        Kind::Bool => ColumnValues::Bool(cells.iter().map(|cell| *cell == Cell::TRUE).collect()),
        Kind::Int => ColumnValues::Int(words(cells, |cell| int(cell, interner))),
        Kind::Id => ColumnValues::Id(words(cells, |cell| id(cell, interner))),
        Kind::Float => ColumnValues::Float(words(cells, |cell| float(cell, interner))),
        Kind::Str => ColumnValues::Str(texts(cells, interner, true, |value| match value {
            Value::Str(text) => Some(text.as_bytes().into()),
            _ => None,
        })),
        Kind::Bytes => ColumnValues::Bytes(texts(cells, interner, false, |value| match value {
            Value::Bytes(bytes) => Some(bytes.as_slice().into()),
            _ => None,
        })),
        Kind::Vector(VectorKind::F32, len) => ColumnValues::Vector32(
            len,
            floats(cells, interner, len, |vector| match vector {
                Vector::F32(floats) => Some(floats),
                Vector::F64(_) => None,
            }),
        ),
        Kind::Vector(VectorKind::F64, len) => ColumnValues::Vector64(
            len,
            floats(cells, interner, len, |vector| match vector {
                Vector::F64(floats) => Some(floats),
                Vector::F32(_) => None,
            }),
        ),
        Kind::List(item) => lists(cells, interner, item),
        Kind::Json => ColumnValues::Json(texts(cells, interner, false, |value| match value {
            Value::Json(json) => Some(json.as_str().as_bytes().into()),
            _ => None,
        })),
        Kind::Validity => {
            let at = |&cell: &Cell| {
                interner.with(cell, |value| match value {
                    Value::Validity(at) => (at.timestamp_us, at.assert),
                    _ => (0, false),
                })
            };
            let (times, asserted) = cells.iter().map(at).unzip();
            ColumnValues::Validity(times, asserted)
        }
        Kind::Date => ColumnValues::Date(words(cells, |cell| {
            interner.with(cell, |value| if let Value::Date(days) = value { *days } else { 0 })
        })),
        Kind::Timestamp => ColumnValues::Timestamp(words(cells, |cell| us(cell, interner))),
        Kind::Duration => ColumnValues::Duration(words(cells, |cell| us(cell, interner))),
        Kind::Uuid => ColumnValues::Uuid(words(cells, |cell| {
            interner.with(cell, |value| if let Value::Uuid(uuid) = value { *uuid } else { [0; 16] })
        })),
        Kind::Decimal(digits) => {
            let decimal = |value: &Value| match value {
                Value::Decimal(decimal) => *decimal,
                _ => Decimal::ZERO,
            };
            ColumnValues::Decimal(words(cells, |cell| interner.with(cell, decimal)), digits)
        }
        Kind::Literal => ColumnValues::Literal(texts(cells, interner, false, |value| {
            Some(value.to_string().into_bytes().into())
        })),
    };
    TypedColumn { values, valid }
}

fn words<T>(cells: &[Cell], word: impl Fn(Cell) -> T) -> Vec<T> {
    cells.iter().map(|&cell| word(cell)).collect()
}

fn int(cell: Cell, interner: &Interner) -> i64 {
    cell.as_small_int().unwrap_or_else(|| {
        interner.with(cell, |value| match value {
            Value::Int(int) => *int,
            _ => 0,
        })
    })
}

/// Microseconds of a timestamp or a duration.
fn us(cell: Cell, interner: &Interner) -> i64 {
    interner.with(cell, |value| match value {
        Value::Timestamp(us) | Value::Duration(us) => *us,
        _ => 0,
    })
}

fn id(cell: Cell, interner: &Interner) -> u64 {
    interner.with(cell, |value| match value {
        Value::Int(int) => int.cast_unsigned(),
        Value::Id(id) => *id,
        _ => 0,
    })
}

fn float(cell: Cell, interner: &Interner) -> f64 {
    cell.as_plain_float().unwrap_or_else(|| {
        interner.with(cell, |value| match value {
            Value::Int(int) => *int as f64,
            Value::Id(id) => *id as f64,
            Value::Float(float) => *float,
            _ => 0.0,
        })
    })
}

/// The floats of all vectors in order, with zeros for rows without a vector.
fn floats<T: Copy + Default>(
    cells: &[Cell],
    interner: &Interner,
    len: usize,
    of: impl Fn(&Vector) -> Option<&Vec<T>>,
) -> Vec<T> {
    let mut all = Vec::with_capacity(cells.len() * len);
    for (row, &cell) in cells.iter().enumerate() {
        interner.with(cell, |value| {
            if let Value::Vector(vector) = value {
                all.extend(of(vector).into_iter().flatten());
            }
        });
        all.resize((row + 1) * len, T::default());
    }
    all
}

/// Lists with items of one kind; rows without a list become empty.
fn lists(cells: &[Cell], interner: &Interner, item: Item) -> ColumnValues {
    let mut offsets = vec![0];
    let mut items = item.column();
    let mut count = 0;
    for &cell in cells {
        interner.with(cell, |value| {
            if let Value::List(list) = value {
                list.iter().enumerate().for_each(|(i, item)| items.push(count + i, item));
                count += list.len();
            }
        });
        offsets.push(count as u64);
    }
    ColumnValues::List(offsets, Box::new(items))
}

impl TypedColumn {
    /// Appends item `i` of the lists. It must be of the column's kind or null.
    fn push(&mut self, i: usize, item: &Value) {
        match (&mut self.values, item) {
            (ColumnValues::Null(rows), _) => *rows += 1,
            (ColumnValues::Bool(values), item) => values.push(*item == Value::Bool(true)),
            (ColumnValues::Int(values), Value::Int(int)) => values.push(*int),
            (ColumnValues::Int(values), _) => values.push(0),
            (ColumnValues::Float(values), Value::Float(float)) => values.push(*float),
            (ColumnValues::Float(values), Value::Int(int)) => values.push(*int as f64),
            (ColumnValues::Float(values), _) => values.push(0.0),
            (ColumnValues::Str(values), Value::Str(text)) => values.push(Some(text.as_bytes())),
            (ColumnValues::Str(values), other @ (Value::Uuid(_) | Value::Decimal(_))) => {
                values.push(Some(other.to_string().as_bytes()));
            }
            (ColumnValues::Str(values), _) => values.push(None),
            (ColumnValues::Bytes(values), Value::Bytes(bytes)) => values.push(Some(bytes)),
            (ColumnValues::Bytes(values), _) => values.push(None),
            (ColumnValues::Date(values), Value::Date(days)) => values.push(*days),
            (ColumnValues::Date(values), _) => values.push(0),
            (ColumnValues::Timestamp(values), Value::Timestamp(us))
            | (ColumnValues::Duration(values), Value::Duration(us)) => values.push(*us),
            (ColumnValues::Timestamp(values) | ColumnValues::Duration(values), _) => values.push(0),
            (ColumnValues::List(offsets, items), item) => {
                let list = if let Value::List(list) = item { list.as_slice() } else { &[] };
                let from = offsets.last().map_or(0, |&end| end as usize);
                list.iter().enumerate().for_each(|(i, item)| items.push(from + i, item));
                offsets.push((from + list.len()) as u64);
            }
            _ => unreachable!("a column of items is of one of these kinds"),
        }
        self.valid.push(i, *item != Value::Null);
    }
}

/// Bytes, borrowed or owned.
type Text<'v> = std::borrow::Cow<'v, [u8]>;

/// The result of `text` for each value. With `as_they_are`, short strings are taken unchanged
/// without calling it.
fn texts(
    cells: &[Cell],
    interner: &Interner,
    as_they_are: bool,
    text: impl for<'v> Fn(&'v Value) -> Option<Text<'v>>,
) -> BytesColumn {
    let mut column = BytesColumn::default();
    for &cell in cells {
        match (cell, cell.as_short_text()) {
            (Cell::NULL, _) => column.push(None),
            (_, Some(short)) if as_they_are => column.push(Some(short.as_str().as_bytes())),
            _ => interner.with(cell, |value| column.push(text(value).as_deref())),
        }
    }
    column
}
