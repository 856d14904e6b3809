//! Converts the cells of a result into columns of one type.

use crate::column_kind::{Item, Kind, Seen};
#[cfg(feature = "arrow")]
use crate::typed_column::Digits;
use crate::typed_column::{ColumnValues, TypedColumn};
use base::{BytesColumn, Validity as ValidRows};
use model::{Decimal, Series, Type, Value, Values, Vector, VectorKind};
use session::{Cell, Interner};

/// A column whose values are all of this kind, or null if `has_null`.
pub(crate) fn column_of(
    cells: &[Cell],
    interner: &Interner,
    kind: Kind,
    has_null: bool,
) -> TypedColumn {
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

impl TypedColumn {
    /// Converts a column of a relation with the type `of`. Values of types without a variant in
    /// [`ColumnValues`] become literals. A column of type `Any` is converted as a column of a
    /// result is.
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
                    let kind = match (seen.kind(), of.without_null()) {
                        // Only nulls.
                        (Kind::Null, Type::Decimal) => Kind::of(of),
                        (kind, _) => kind,
                    };
                    (kind, seen.null)
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
    if let Some(int) = cell.as_small_int() {
        return int.cast_unsigned();
    }
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
