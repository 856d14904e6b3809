//! The result of a script: rows of values, and the same as typed columns.

use crate::cell_columns::column_of;
use crate::column_kind::{Kind, Seen};
use crate::typed_column::{ColumnValues, TypedColumn};
use model::{Series, Value, Values};
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

    /// The kind of a column with these values: the one that fits them. The kind of its known type,
    /// if all are null, or if they are ids, which have the values of integers below 2^63.
    pub(crate) fn kind(&self, column: usize, seen: &Seen) -> Kind {
        let known = self.rows.types.get(column).and_then(Option::as_ref).map(Kind::of);
        match (seen.kind(), known) {
            (Kind::Null, Some(known)) => known,
            (Kind::Int, Some(Kind::Id)) if Kind::Id.takes(seen) => Kind::Id,
            (kind, _) => kind,
        }
    }

    /// The types of the values of a column.
    pub(crate) fn seen(&self, column: usize) -> Seen {
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
            (Values::Int(values), Kind::Id) => {
                ColumnValues::Id(values.into_iter().map(i64::cast_unsigned).collect())
            }
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
