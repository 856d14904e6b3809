//! Typed columns of a batch as the store decoded it, and single values that are not interned.

use crate::error::Result as ExecResult;
use crate::expr::Made;
use crate::storage::access_path::{Place, StoredPath};
use crate::value::cell::{Cell, fits_cells};
use crate::vector::column::{Texts, TypedColumn, Values};
use crate::vector::selection::Selection;
use base::{Batch, BytesColumn, Column, KeyShape, Keys, Validity, word_to_float, word_to_int};
use model::{BorrowedValue, ListItem, Type, Value, decode_next};
use std::borrow::Cow;
use std::cell::OnceCell;
use store::{Error, ErrorKind, Result};

/// The text of a heap, and whether it has only ASCII characters; `None` if it is not UTF-8.
type Heap<'b> = Option<(&'b str, bool)>;

/// A batch of a stored order.
pub(crate) struct StoredColumns<'b> {
    path: &'b StoredPath,
    batch: &'b Batch,
    /// The heaps of value columns, once checked.
    heaps: Vec<OnceCell<Heap<'b>>>,
    /// The heap of keys that are texts, once checked.
    key_heap: OnceCell<Heap<'b>>,
    /// The key columns of encoded keys, once decoded; `None` if one does not fit.
    keys: OnceCell<Option<Vec<TypedColumn<'static>>>>,
}

impl StoredPath {
    /// Whether a column has a kind that typed columns have.
    pub(crate) fn is_typed(&self, place: Place) -> bool {
        match place {
            Place::Key(key) => {
                let of = self.schema.keys[key].column_type.without_null();
                fits_cells(of) && !(*of == Type::Id && self.shape.key == KeyShape::Bytes)
                    || *of == Type::String
            }
            Place::Value(value) => {
                let of = &self.schema.values[value];
                let is_typed = fits_cells(&of.column_type) || of.column_type == Type::String;
                is_typed && of.merge.is_none() && self.kept_elsewhere != Some(value)
            }
        }
    }

    /// The value of a word, which is not interned.
    pub(crate) fn word_made(&self, of: &Type, word: u64) -> Result<Made> {
        Ok(match of {
            Type::Int => Made::of(Value::Int(word_to_int(word))),
            Type::Id => Made::of(Value::id(word)),
            Type::Float => Made::of(Value::Float(word_to_float(word))),
            Type::Bool if word <= 1 => Made::Cell(Cell::bool(word == 1)),
            _ => match model::value_of_word(of, word) {
                Some(value) if of.is_temporal() => Made::of(value),
                _ => return Err(self.wrong("not a word of its type")),
            },
        })
    }

    /// The value of a row of a value column, which is not interned.
    ///
    /// # Errors
    /// A value that does not fit its column, or is out of reach.
    pub(crate) fn value_made(&self, column: &Column, value: usize, i: usize) -> Result<Made> {
        let of = &self.schema.values[value];
        match column {
            Column::Words(words) => match words.get(i) {
                Some(word) => {
                    if of.merge.is_some_and(|merge| merge.is_past(word)) {
                        let what = format!(
                            "a sum in column {:?} of relation {:?} is past the range of Int",
                            of.name, self.schema.name
                        );
                        return Err(Error::new(ErrorKind::Limit, what));
                    }
                    self.word_made(&of.column_type, word)
                }
                None => Ok(Made::Cell(Cell::NULL)),
            },
            Column::Bytes(bytes) if !bytes.validity.is_valid(i) => {
                if self.kept_elsewhere == Some(value) {
                    let what = format!(
                        "a value of {:?} is too long for scripts\nhint: read it by its key as a blob",
                        self.schema.name
                    );
                    return Err(Error::new(ErrorKind::Limit, what));
                }
                Ok(Made::Cell(Cell::NULL))
            }
            Column::Bytes(bytes) => {
                let stored = bytes.get(i);
                Ok(match of.column_type {
                    Type::String => Made::of_text(self.text(stored)?),
                    Type::Bytes => Made::Value(Value::Bytes(stored.to_vec())),
                    _ => {
                        let mut rest = stored;
                        let value = model::decode_value(&mut rest);
                        Made::of(value.map_err(|error| self.wrong(&error.to_string()))?)
                    }
                })
            }
        }
    }

    /// Whether a value column is stored in the encoding that lists have.
    fn may_be_list(&self, value: usize) -> bool {
        !matches!(self.schema.values[value].column_type, Type::String | Type::Bytes)
    }

    /// The value of key column number `column` in a row with an encoded key, which is not interned.
    fn key_made(&self, keys: &BytesColumn, column: usize, i: usize) -> Result<Made> {
        let mut key = keys.get(i);
        if self.has_raw_keys {
            return Ok(Made::of_text(self.text(key)?));
        }
        let mut last = Made::Cell(Cell::NULL);
        for _ in 0..=column {
            if key.is_empty() {
                return Err(self.wrong("the key has another number of columns"));
            }
            let value = decode_next(&mut key).map_err(|error| self.wrong(&error.to_string()))?;
            last = match value {
                BorrowedValue::Str(text) => Made::of_text(text),
                BorrowedValue::Value(value) => Made::of(value),
            };
        }
        Ok(last)
    }
}

impl<'b> StoredColumns<'b> {
    /// The columns of a batch of this path.
    pub(crate) fn new(path: &'b StoredPath, batch: &'b Batch) -> Self {
        let heaps = batch.values.iter().map(|_| OnceCell::new()).collect();
        Self { path, batch, heaps, key_heap: OnceCell::new(), keys: OnceCell::new() }
    }

    /// The values of a column that [`StoredPath::is_typed`]. The rows are counted from `start` on.
    /// `None` where values have to be read one by one.
    pub(crate) fn column(
        &self,
        place: Place,
        start: usize,
        rows: &Selection<'_>,
    ) -> Option<TypedColumn<'_>> {
        match place {
            Place::Key(key) => match &self.batch.keys {
                Keys::Words(words) => {
                    let of = self.path.column_type(place);
                    typed_words(of, &words[key], &Validity::default(), start, rows)
                }
                Keys::Bytes(keys) => self.key_column(keys, key, start, rows),
            },
            Place::Value(value) => match &self.batch.values[value] {
                Column::Words(words) => {
                    let of = &self.path.schema.values[value].column_type;
                    typed_words(of, &words.words, &words.validity, start, rows)
                }
                Column::Bytes(bytes) => {
                    let (heap, is_ascii) =
                        (*self.heaps[value].get_or_init(|| checked_heap(bytes)))?;
                    let spans = spans(bytes, start, rows);
                    let texts = Texts { heap: Cow::Borrowed(heap), spans, is_ascii };
                    let nulls = nulls(&bytes.validity, start, rows);
                    Some(TypedColumn { values: Values::Texts(texts), nulls })
                }
            },
        }
    }

    /// The value of a column in a row of the batch, which is not interned.
    ///
    /// # Errors
    /// A value that does not fit its column, or is out of reach.
    pub(crate) fn made(&self, place: Place, row: usize) -> ExecResult<Made> {
        Ok(match place {
            Place::Key(key) => match &self.batch.keys {
                Keys::Words(words) => {
                    self.path.word_made(self.path.column_type(place), words[key][row])?
                }
                Keys::Bytes(keys) => self.path.key_made(keys, key, row)?,
            },
            Place::Value(value) => self.path.value_made(&self.batch.values[value], value, row)?,
        })
    }

    /// The item at an index of the list that a value column has in a row of the batch, without the
    /// other items. `None` if the column has no list there.
    ///
    /// # Errors
    /// A value that cannot be decoded.
    pub(crate) fn list_item(
        &self,
        place: Place,
        row: usize,
        index: i64,
    ) -> ExecResult<Option<ListItem>> {
        let Place::Value(value) = place else { return Ok(None) };
        match &self.batch.values[value] {
            Column::Bytes(bytes)
                if self.path.may_be_list(value) && bytes.validity.is_valid(row) =>
            {
                let item = model::decode_list_item(bytes.get(row), index);
                Ok(Some(item.map_err(|error| self.path.wrong(&error.to_string()))?))
            }
            _ => Ok(None),
        }
    }

    fn key_column(
        &self,
        keys: &'b BytesColumn,
        key: usize,
        start: usize,
        rows: &Selection<'_>,
    ) -> Option<TypedColumn<'_>> {
        if self.path.has_raw_keys {
            let (heap, is_ascii) = (*self.key_heap.get_or_init(|| checked_heap(keys)))?;
            let spans = spans(keys, start, rows);
            let texts = Texts { heap: Cow::Borrowed(heap), spans, is_ascii };
            return Some(TypedColumn::of(Values::Texts(texts)));
        }
        let decoded = self.keys.get_or_init(|| self.decoded_keys(keys)).as_ref()?;
        let places: Vec<u32> =
            (0..rows.len()).map(|position| start as u32 + rows.row(position)).collect();
        Some(decoded.get(key)?.gathered(&places))
    }

    /// The key columns of all rows. Those of other kinds have only nulls.
    fn decoded_keys(&self, keys: &BytesColumn) -> Option<Vec<TypedColumn<'static>>> {
        let rows = self.batch.rows;
        let columns = (0..self.path.keys()).map(Place::Key).map(|place| {
            let of = self.path.column_type(place).without_null();
            Some(match of {
                _ if !self.path.is_typed(place) => None,
                Type::Bool => Some(Values::Bools(Vec::with_capacity(rows))),
                Type::Int => Some(Values::Ints(Cow::Owned(Vec::with_capacity(rows)))),
                Type::Float => Some(Values::Floats(Cow::Owned(Vec::with_capacity(rows)))),
                _ => Some(Values::Texts(Texts::new(rows))),
            })
        });
        let mut columns = columns.collect::<Option<Vec<Option<Values<'static>>>>>()?;
        let mut nulls = vec![vec![false; rows]; columns.len()];
        for row in 0..rows {
            let mut key = keys.get(row);
            for (values, nulls) in columns.iter_mut().zip(&mut nulls) {
                let value = decode_next(&mut key).ok()?;
                if let Some(values) = values {
                    nulls[row] = !push(values, &value)?;
                }
            }
            if !key.is_empty() {
                return None;
            }
        }
        let column = |(values, nulls): (Option<Values<'static>>, Vec<bool>)| match values {
            Some(values) => TypedColumn { values, nulls: nulls.contains(&true).then_some(nulls) },
            None => TypedColumn::known(crate::vector::column::Known::Null),
        };
        Some(columns.into_iter().zip(nulls).map(column).collect())
    }
}

/// Appends a value, or a filler for a null. Returns whether it is not null; `None` if it has
/// another kind.
fn push(values: &mut Values<'static>, value: &BorrowedValue<'_>) -> Option<bool> {
    let is_null = matches!(value, BorrowedValue::Value(Value::Null));
    match (values, value) {
        (Values::Bools(bools), BorrowedValue::Value(Value::Bool(bool))) => bools.push(*bool),
        (Values::Bools(bools), _) if is_null => bools.push(false),
        (Values::Ints(ints), BorrowedValue::Value(Value::Int(int))) => ints.to_mut().push(*int),
        (Values::Ints(ints), _) if is_null => ints.to_mut().push(0),
        (Values::Floats(floats), BorrowedValue::Value(Value::Float(float))) => {
            floats.to_mut().push(*float);
        }
        (Values::Floats(floats), _) if is_null => floats.to_mut().push(0.0),
        (Values::Texts(texts), BorrowedValue::Str(text)) => texts.push(text)?,
        (Values::Texts(texts), BorrowedValue::Value(Value::Str(text))) => texts.push(text)?,
        (Values::Texts(texts), _) if is_null => texts.push("")?,
        _ => return None,
    }
    Some(!is_null)
}

/// The heap as text; `None` if a string of it is not UTF-8, or it is too long for spans.
fn checked_heap(bytes: &BytesColumn) -> Heap<'_> {
    u32::try_from(bytes.heap.len()).ok()?;
    let heap = std::str::from_utf8(&bytes.heap).ok()?;
    let is_ascii = heap.is_ascii();
    let is_whole = |&offset: &u64| heap.is_char_boundary(offset as usize);
    (is_ascii || bytes.offsets.iter().all(is_whole)).then_some((heap, is_ascii))
}

fn spans(bytes: &BytesColumn, start: usize, rows: &Selection<'_>) -> Vec<(u32, u32)> {
    let span = |row: usize| (bytes.offsets[row] as u32, bytes.offsets[row + 1] as u32);
    match rows {
        Selection::All(rows) => {
            let offsets = &bytes.offsets[start..=start + rows];
            offsets.windows(2).map(|pair| (pair[0] as u32, pair[1] as u32)).collect()
        }
        Selection::Some(rows) => rows.iter().map(|&row| span(start + row as usize)).collect(),
    }
}

fn nulls(validity: &Validity, start: usize, rows: &Selection<'_>) -> Option<Vec<bool>> {
    validity.0.as_ref()?;
    let is_null = |position| !validity.is_valid(start + rows.row(position) as usize);
    Some((0..rows.len()).map(is_null).collect())
}

fn typed_words<'v>(
    of: &Type,
    words: &[u64],
    validity: &Validity,
    start: usize,
    rows: &Selection<'_>,
) -> Option<TypedColumn<'v>> {
    let nulls = nulls(validity, start, rows);
    let is_valid = |at: usize| nulls.as_ref().is_none_or(|nulls| !nulls[at]);
    let values = match of {
        Type::Int => Values::Ints(Cow::Owned(picked(words, start, rows, word_to_int))),
        Type::Float => Values::Floats(Cow::Owned(picked(words, start, rows, word_to_float))),
        Type::Id => {
            let ints = picked(words, start, rows, u64::cast_signed);
            if (0..).zip(&ints).any(|(at, &int)| int < 0 && is_valid(at)) {
                return None;
            }
            Values::Ints(Cow::Owned(ints))
        }
        Type::Bool => {
            let found = picked(words, start, rows, |word| word);
            if (0..).zip(&found).any(|(at, &word)| word > 1 && is_valid(at)) {
                return None;
            }
            Values::Bools(found.into_iter().map(|word| word == 1).collect())
        }
        _ => return None,
    };
    Some(TypedColumn { values, nulls })
}

fn picked<T>(words: &[u64], start: usize, rows: &Selection<'_>, of: impl Fn(u64) -> T) -> Vec<T> {
    let words = &words[start..];
    match rows {
        Selection::All(rows) => words[..*rows].iter().map(|&word| of(word)).collect(),
        Selection::Some(rows) => rows.iter().map(|&row| of(words[row as usize])).collect(),
    }
}
