//! Rows of a result in the typed columns of a scan. They are exported to Arrow without becoming
//! cells.
//!
//! A list sink fills it, and [`QueryResult`](crate::query_result::QueryResult) holds it.
//!
//! # Why
//! As a cell, each string of a result is copied into the interner and out of it again, in two
//! allocations. Here it is copied once, beside its neighbors.
//!
//! # Invariants
//! 1. Each part has a column of one kind, or of nulls and one kind, for each column of the result.
//! 2. Parts are not changed. A list that an operator or a sort needs becomes cells as a whole.

use crate::value::cell::Interner;
use crate::value::columns::Columns;
use crate::vector::column::{Known, Texts, TypedColumn, Values};
use crate::vector::evaluate::TypedRows;
use crate::vector::selection::Selection;
use base::{BytesColumn, Validity};
use model::{Series, Value};
use plan::VarId;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// Rows in typed columns.
#[derive(Clone, Debug, Default)]
pub struct ColumnList {
    parts: Vec<Part>,
    /// The number of rows up to the end of each part.
    ends: Vec<usize>,
    bytes: u64,
    /// Columns whose values are never compared.
    not_compared: Vec<usize>,
}

/// Rows of one batch.
#[derive(Clone, Debug)]
struct Part {
    rows: usize,
    columns: Vec<TypedColumn<'static>>,
}

impl ColumnList {
    /// A list without rows.
    pub(crate) fn new(not_compared: Vec<usize>) -> Self {
        Self { not_compared, ..Self::default() }
    }

    /// A list without rows for the same columns.
    pub(crate) fn fork(&self) -> Self {
        Self::new(self.not_compared.clone())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends rows of a scan, whose head has these variables. Returns whether it did: not where a
    /// column is of several kinds, all null, or only readable as cells.
    pub(crate) fn take(
        &mut self,
        head: &[VarId],
        columns: &dyn TypedRows,
        rows: &Selection<'_>,
    ) -> bool {
        let column = |var: &VarId| owned(columns.column(*var, rows)?, rows.len());
        let taken: Option<Vec<_>> = head.iter().map(column).collect();
        let is_taken = taken.is_some();
        taken.into_iter().for_each(|taken| self.push(rows.len(), taken));
        is_taken
    }

    /// Appends rows, whose columns [`owned`] made.
    fn push(&mut self, rows: usize, columns: Vec<TypedColumn<'static>>) {
        self.add(Part { rows, columns });
    }

    /// Appends the rows of another list.
    pub(crate) fn append(&mut self, other: Self) {
        other.parts.into_iter().for_each(|part| self.add(part));
    }

    fn add(&mut self, part: Part) {
        self.bytes += part.columns.iter().map(|column| bytes_of(column, part.rows)).sum::<u64>();
        self.ends.push(self.rows() + part.rows);
        self.parts.push(part);
    }

    /// The parts in the order of their first `keys` columns.
    ///
    /// # Errors
    /// The list itself, if rows are not in that order.
    pub(crate) fn in_order(self, keys: usize) -> std::result::Result<Self, Self> {
        if !self.are_comparable(keys) {
            return Err(self);
        }
        let mut list = self.fork();
        let mut parts = self.parts;
        parts.sort_by(|a, b| compared((a, 0), (b, 0), keys).unwrap_or(Ordering::Equal));
        let is_before = |a: (&Part, usize), b: (&Part, usize)| {
            matches!(compared(a, b, keys), Some(Ordering::Less | Ordering::Equal))
        };
        let is_sorted = parts.iter().all(|part| part.is_in_order(keys))
            && parts.windows(2).all(|two| is_before((&two[0], two[0].rows - 1), (&two[1], 0)));
        parts.into_iter().for_each(|part| list.add(part));
        if is_sorted { Ok(list) } else { Err(list) }
    }

    /// Whether all rows have values of one kind in each of their first columns.
    fn are_comparable(&self, keys: usize) -> bool {
        let Some(first) = self.parts.first() else { return true };
        let is_like = |(column, first): (&TypedColumn<'_>, &TypedColumn<'_>)| {
            let kind = std::mem::discriminant(&column.values);
            column.nulls.is_none() && kind == std::mem::discriminant(&first.values)
        };
        let are_like =
            |part: &Part| part.columns.iter().zip(&first.columns).take(keys).all(is_like);
        self.parts.iter().all(are_like)
    }

    /// Whether the last rows that came are in the order of their first `keys` columns.
    pub(crate) fn is_last_in_order(&self, keys: usize) -> bool {
        self.parts.last().is_none_or(|part| part.is_in_order(keys))
    }

    /// The rows as cells.
    pub(crate) fn into_cells(self, interner: &Interner) -> Columns {
        let width = self.parts.first().map_or(0, |part| part.columns.len());
        let mut cells = Columns::of(width);
        for part in self.parts {
            for (place, column) in part.columns.into_iter().enumerate() {
                let is_compared = !self.not_compared.contains(&place);
                let column = column.into_cells(part.rows, is_compared, interner);
                cells.columns[place].extend(column);
            }
            cells.rows += part.rows;
        }
        cells
    }

    /// The rows of a range.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let mut list = self.fork();
        for (part, &end) in self.parts.iter().zip(&self.ends) {
            let start = end - part.rows;
            let (from, to) = (rows.start.max(start), rows.end.min(end));
            if from >= to {
                continue;
            }
            let places: Vec<u32> = (from - start..to - start).map(|row| row as u32).collect();
            let columns = part.columns.iter().map(|column| match to - from == part.rows {
                true => column.clone(),
                // The columns of a list are of kinds that have an owned form.
                false => owned(column.gathered(&places), places.len())
                    .unwrap_or(TypedColumn::known(Known::Null)),
            });
            list.push(to - from, columns.collect());
        }
        list
    }

    /// The value in a row and a column.
    ///
    /// # Panics
    /// If the row or column does not exist.
    pub fn value(&self, row: usize, column: usize) -> Value {
        let (column, row) = self.place(row, column);
        column.plain_value(row)
    }

    /// The integer in a row and a column, if it is one.
    ///
    /// # Panics
    /// As [`ColumnList::value`].
    pub fn int(&self, row: usize, column: usize) -> Option<i64> {
        match self.place(row, column) {
            (TypedColumn { values: Values::Ints(ints), nulls }, row) => {
                let is_null = nulls.as_ref().is_some_and(|nulls| nulls[row]);
                (!is_null).then_some(ints[row])
            }
            _ => None,
        }
    }

    /// The part of a column that has a row, and the row's place in it.
    fn place(&self, row: usize, column: usize) -> (&TypedColumn<'static>, usize) {
        let part = self.ends.partition_point(|&end| end <= row);
        let of = &self.parts[part];
        (&of.columns[column], row - (self.ends[part] - of.rows))
    }

    /// A few values of a column: of each kind that it has, a negative number if it has one, and
    /// null if it has nulls.
    pub fn examples(&self, column: usize) -> Vec<Value> {
        let mut examples = Vec::new();
        for column in self.parts.iter().map(|part| &part.columns[column]) {
            let nulls = column.nulls.as_deref().unwrap_or_default();
            let mut valid = (0..).zip(nulls.iter()).filter(|(_, is_null)| !**is_null);
            let first = if nulls.is_empty() { Some(0) } else { valid.next().map(|(row, _)| row) };
            let negative = match &column.values {
                Values::Ints(ints) => {
                    let is_null = |row: usize| nulls.get(row).copied().unwrap_or(false);
                    (0..ints.len()).find(|&row| ints[row] < 0 && !is_null(row))
                }
                _ => None,
            };
            let null = nulls.iter().position(|is_null| *is_null);
            for row in [first, negative, null].into_iter().flatten() {
                let value = column.plain_value(row);
                let is_like = |other: &Value| match (other, &value) {
                    (Value::Int(a), Value::Int(b)) => (*a < 0) == (*b < 0),
                    (a, b) => a.kind() == b.kind(),
                };
                if !examples.iter().any(is_like) {
                    examples.push(value);
                }
            }
        }
        examples
    }

    /// The values of a column, if all have one kind.
    pub fn series(&self, column: usize) -> Option<Series> {
        let columns = || self.parts.iter().map(|part| (&part.columns[column], part.rows));
        let values = match &columns().next()?.0.values {
            Values::Bools(_) => model::Values::Bool(joined(columns(), |values| match values {
                Values::Bools(bools) => Some(bools),
                _ => None,
            })?),
            Values::Ints(_) => model::Values::Int(joined(columns(), |values| match values {
                Values::Ints(ints) => Some(ints),
                _ => None,
            })?),
            Values::Floats(_) => model::Values::Float(joined(columns(), |values| match values {
                Values::Floats(floats) => Some(floats),
                _ => None,
            })?),
            Values::Texts(_) => model::Values::Str(joined_texts(columns())?),
            Values::Known(_) | Values::Mixed(_) => return None,
        };
        let mut valid = Validity::default();
        if columns().any(|(column, _)| column.nulls.is_some()) {
            let mut row = 0;
            for (column, rows) in columns() {
                for place in 0..rows {
                    valid.push(row, !column.is_null(place));
                    row += 1;
                }
            }
        }
        Some(Series { values, valid })
    }
}

impl Part {
    fn is_in_order(&self, keys: usize) -> bool {
        let first = self.columns.first().filter(|column| keys > 0 && column.nulls.is_none());
        if let Some(Values::Ints(ints)) = first.map(|column| &column.values)
            && ints.windows(2).all(|pair| pair[0] < pair[1])
        {
            return true;
        }
        (1..self.rows).all(|row| {
            let order = compared((self, row - 1), (self, row), keys);
            matches!(order, Some(Ordering::Less | Ordering::Equal))
        })
    }
}

/// The order of two rows by their first `keys` columns; `None` where values are null or differ in
/// kind.
fn compared(a: (&Part, usize), b: (&Part, usize), keys: usize) -> Option<Ordering> {
    let ((a, x), (b, y)) = (a, b);
    for (a, b) in a.columns.iter().zip(&b.columns).take(keys) {
        if a.is_null(x) || b.is_null(y) {
            return None;
        }
        let order = match (&a.values, &b.values) {
            (Values::Bools(a), Values::Bools(b)) => a[x].cmp(&b[y]),
            (Values::Ints(a), Values::Ints(b)) => a[x].cmp(&b[y]),
            (Values::Floats(a), Values::Floats(b)) => a[x].total_cmp(&b[y]),
            (Values::Texts(a), Values::Texts(b)) => a.get(x).cmp(b.get(y)),
            _ => return None,
        };
        if order.is_ne() {
            return Some(order);
        }
    }
    Some(Ordering::Equal)
}

/// The same values in an owned form, without the strings of other rows; `None` if they are of
/// several kinds or all null.
fn owned(column: TypedColumn<'_>, rows: usize) -> Option<TypedColumn<'static>> {
    let values = match column.values {
        Values::Bools(bools) => Values::Bools(bools),
        Values::Ints(ints) => Values::Ints(Cow::Owned(ints.into_owned())),
        Values::Floats(floats) => Values::Floats(Cow::Owned(floats.into_owned())),
        Values::Texts(texts) => Values::Texts(owned_texts(&texts)?),
        Values::Known(Known::Bool(bool)) => Values::Bools(vec![bool; rows]),
        Values::Known(Known::Int(int)) => Values::Ints(Cow::Owned(vec![int; rows])),
        Values::Known(Known::Float(float)) => Values::Floats(Cow::Owned(vec![float; rows])),
        Values::Known(Known::Null | Known::Text(_)) | Values::Mixed(_) => return None,
    };
    Some(TypedColumn { values, nulls: column.nulls })
}

fn owned_texts(texts: &Texts<'_>) -> Option<Texts<'static>> {
    let is_dense = texts.spans.windows(2).all(|pair| pair[0].1 == pair[1].0);
    if let (true, Some(&(start, _)), Some(&(_, end))) =
        (is_dense, texts.spans.first(), texts.spans.last())
    {
        let heap = texts.heap[start as usize..end as usize].to_owned();
        let spans = texts.spans.iter().map(|&(from, to)| (from - start, to - start)).collect();
        return Some(Texts { heap: Cow::Owned(heap), spans, is_ascii: texts.is_ascii });
    }
    let bytes: usize = (0..texts.spans.len()).map(|row| texts.len(row)).sum();
    let mut owned = Texts::new(texts.spans.len());
    owned.heap.to_mut().reserve_exact(bytes);
    (0..texts.spans.len()).try_for_each(|row| owned.push(texts.get(row)))?;
    Some(owned)
}

fn bytes_of(column: &TypedColumn<'_>, rows: usize) -> u64 {
    let values = match &column.values {
        Values::Bools(_) => rows,
        Values::Texts(texts) => texts.heap.len() + 8 * rows,
        _ => 8 * rows,
    };
    (values + column.nulls.as_ref().map_or(0, Vec::len)) as u64
}

/// The values of all parts; `None` if one has another kind.
fn joined<'c, T: Copy + 'c>(
    columns: impl Iterator<Item = (&'c TypedColumn<'static>, usize)> + Clone,
    values: impl Fn(&'c Values<'static>) -> Option<&'c [T]>,
) -> Option<Vec<T>> {
    let mut all = Vec::with_capacity(columns.clone().map(|(_, rows)| rows).sum());
    for (column, _) in columns {
        all.extend_from_slice(values(&column.values)?);
    }
    Some(all)
}

fn joined_texts<'c>(
    columns: impl Iterator<Item = (&'c TypedColumn<'static>, usize)> + Clone,
) -> Option<BytesColumn> {
    let texts = |column: &'c TypedColumn<'static>| match &column.values {
        Values::Texts(texts) => Some(texts),
        _ => None,
    };
    let (mut rows, mut bytes) = (0, 0);
    for (column, of) in columns.clone() {
        rows += of;
        bytes += texts(column)?.heap.len();
    }
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0);
    let mut heap = Vec::with_capacity(bytes);
    for (column, _) in columns {
        let texts = texts(column)?;
        let first = heap.len() as u64;
        heap.extend_from_slice(texts.heap.as_bytes());
        // The strings of a list are contiguous.
        offsets.extend(texts.spans.iter().map(|&(_, end)| first + u64::from(end)));
    }
    Some(BytesColumn { offsets, heap, validity: Validity::default() })
}

impl TypedColumn<'_> {
    /// The value of a row of a column with one kind.
    fn plain_value(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        match &self.values {
            Values::Bools(bools) => Value::Bool(bools[row]),
            Values::Ints(ints) => Value::Int(ints[row]),
            Values::Floats(floats) => Value::Float(floats[row]),
            Values::Texts(texts) => Value::Str(texts.get(row).to_owned()),
            Values::Known(_) | Values::Mixed(_) => Value::Null,
        }
    }
}
