//! Values of one row, and the effect of puts, merges and deletes on them.

use base::{Batch, Column, ColumnShape, Keys, Kind, Merge, Projection, Shape, Total};
use base::{float_to_word, int_to_word};

/// A value of one column of a row.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Null,
    Word(u64),
    /// A sum that does not fit into a word. Later operands may bring it back.
    Sum(Total),
    Bytes(Vec<u8>),
}

/// The values of a row.
pub(crate) type Row = Vec<Cell>;

impl Cell {
    /// The word that a reader gets.
    fn word(&self) -> Option<u64> {
        match self {
            Self::Word(word) => Some(*word),
            Self::Sum(total) => Some(total.word()),
            Self::Null | Self::Bytes(_) => None,
        }
    }

    /// The word of a sum if it fits, else the sum.
    fn of_total(total: Total) -> Self {
        match total {
            Total::Int(sum) => match i64::try_from(sum) {
                Ok(sum) if sum != i64::MAX && sum != i64::MIN => Self::Word(int_to_word(sum)),
                _ => Self::Sum(total),
            },
            Total::Float { sum, shrunk } => {
                match sum.is_finite() || !shrunk.is_finite() || sum.is_nan() {
                    true => Self::Word(float_to_word(sum)),
                    false => Self::Sum(total),
                }
            }
            Total::Word(word) => Self::Word(word),
        }
    }

    fn total(&self, merge: Merge) -> Option<Total> {
        match self {
            Self::Sum(total) => Some(*total),
            cell => cell.word().map(|word| Total::of(merge, word)),
        }
    }

    /// Bytes of memory, about.
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }
}

/// Adds two sums. A lost one stays lost.
fn add(older: Total, newer: Total) -> Total {
    match (older, newer) {
        (Total::Int(lost @ (i128::MAX | i128::MIN)), _)
        | (_, Total::Int(lost @ (i128::MAX | i128::MIN))) => Total::Int(lost),
        (Total::Int(a), Total::Int(b)) => Total::Int(a.saturating_add(b)),
        (Total::Float { sum, shrunk }, Total::Float { sum: more, shrunk: smaller }) => {
            Total::Float { sum: sum + more, shrunk: shrunk + smaller }
        }
        (_, newer) => newer,
    }
}

/// Combines two writes of a column with this operator.
fn combine(merge: Merge, older: &Cell, newer: &Cell) -> Cell {
    match (merge, older.word(), newer.word()) {
        (Merge::Min, Some(a), Some(b)) => Cell::Word(a.min(b)),
        (Merge::Max, Some(a), Some(b)) => Cell::Word(a.max(b)),
        _ => match (older.total(merge), newer.total(merge)) {
            (Some(older), Some(newer)) => Cell::of_total(add(older, newer)),
            _ => newer.clone(),
        },
    }
}

/// Applies a merge to a row.
fn merge(shape: &Shape, older: &Row, newer: &Row) -> Row {
    let cell = |(i, newer): (usize, &Cell)| {
        let older = &older[i];
        match (shape.values[i], newer) {
            // A merge with null changes nothing.
            (ColumnShape::Word { merge: Some(_) }, Cell::Null) => older.clone(),
            (ColumnShape::Word { merge: Some(merge) }, newer) if !matches!(older, Cell::Null) => {
                combine(merge, older, newer)
            }
            _ => newer.clone(),
        }
    };
    newer.iter().enumerate().map(cell).collect()
}

/// The effect of a write on a key.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Delete,
    Put(Row),
    Merge(Row),
}

impl Change {
    pub(crate) fn new(kind: Kind, rows: &Batch, i: usize) -> Self {
        match kind {
            Kind::Delete => Self::Delete,
            Kind::Put => Self::Put(row_at(rows, i)),
            Kind::Merge => Self::Merge(row_at(rows, i)),
        }
    }

    /// The row after the change; `None` where it is deleted.
    pub(crate) fn apply(&self, shape: &Shape, before: Option<&Row>) -> Option<Row> {
        match (self, before) {
            (Self::Delete, _) => None,
            (Self::Put(row), _) | (Self::Merge(row), None) => Some(row.clone()),
            (Self::Merge(operands), Some(row)) => Some(merge(shape, row, operands)),
        }
    }

    /// Combines this change with a newer one.
    pub(crate) fn then(self, shape: &Shape, newer: Self) -> Self {
        match (self, newer) {
            (Self::Delete, Self::Merge(operands)) => Self::Put(operands),
            (Self::Put(row), Self::Merge(operands)) => Self::Put(merge(shape, &row, &operands)),
            (Self::Merge(older), Self::Merge(operands)) => {
                Self::Merge(merge(shape, &older, &operands))
            }
            (_, newer) => newer,
        }
    }

    /// Whether it has a sum that does not fit into a word.
    pub(crate) fn is_past(&self, shape: &Shape) -> bool {
        let (Self::Put(row) | Self::Merge(row)) = self else { return false };
        shape.values.iter().zip(row).any(|(column, cell)| match (column, cell) {
            (ColumnShape::Word { merge: Some(merge) }, Cell::Word(word)) => merge.is_past(*word),
            (_, cell) => matches!(cell, Cell::Sum(_)),
        })
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Delete => 0,
            Self::Put(row) | Self::Merge(row) => {
                row.iter().map(|cell| size_of::<Cell>() + cell.heap_bytes()).sum()
            }
        }
    }
}

/// The values of row `i` of a batch with all columns.
fn row_at(rows: &Batch, i: usize) -> Row {
    let cell = |column: &Column| match column {
        Column::Words(words) => words.get(i).map_or(Cell::Null, Cell::Word),
        Column::Bytes(bytes) if bytes.validity.is_valid(i) => Cell::Bytes(bytes.get(i).to_vec()),
        Column::Bytes(_) => Cell::Null,
    };
    rows.values.iter().map(cell).collect()
}

/// Appends the projected columns of a row to `out`; without a row, fillers. Keys are appended
/// apart.
pub(crate) fn append_values(out: &mut Batch, row: Option<&Row>, projection: Projection) {
    for (i, column) in out.values.iter_mut().enumerate().filter(|(i, _)| projection.value(*i)) {
        match (column, row.map(|row| &row[i])) {
            (Column::Words(words), Some(cell)) => words.push(cell.word()),
            (Column::Bytes(column), Some(Cell::Bytes(bytes))) => column.push(Some(bytes)),
            (column, _) => column.push_null(),
        }
    }
    out.rows += 1;
}

/// Appends the projected words of an encoded key, without the prefix of its keyspace.
pub(crate) fn append_key(out: &mut Keys, key: &[u8], projection: Projection) {
    match out {
        Keys::Words(columns) => {
            for (i, (column, word)) in columns.iter_mut().zip(key.chunks_exact(8)).enumerate() {
                if projection.key(i) {
                    column.push(base::leading_word(word));
                }
            }
        }
        Keys::Bytes(column) if projection.key(0) => column.push(Some(key)),
        Keys::Bytes(_) => {}
    }
}
