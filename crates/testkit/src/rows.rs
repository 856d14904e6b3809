//! Rows as values, and their conversion from and to column batches.

use base::{Batch, Column, ColumnShape, KeyRef, Keys, Kind, Merge, Projection, Shape};
use base::{int_to_word, word_to_int};

/// A value of one column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Word(u64),
    /// A sum of integers that does not fit into 64 bits.
    Sum(i128),
    Bytes(Vec<u8>),
}

impl Cell {
    /// The value that readers see; a sum out of range is saturated.
    fn word(&self) -> Option<u64> {
        match self {
            Self::Word(word) => Some(*word),
            Self::Sum(sum) => Some(if *sum > 0 { u64::MAX } else { 0 }),
            Self::Null | Self::Bytes(_) => None,
        }
    }
}

/// Combines two writes of a column by its merge function.
fn combine(merge: Merge, older: &Cell, newer: &Cell) -> Cell {
    let int = |cell: &Cell| match cell {
        Cell::Sum(sum) => *sum,
        cell => cell.word().map_or(0, |word| word_to_int(word).into()),
    };
    match (merge, older.word(), newer.word()) {
        (Merge::AddInt, ..) => {
            let sum = int(older) + int(newer);
            let word = i64::try_from(sum).ok().map(int_to_word);
            word.filter(|&word| !merge.is_past(word)).map_or(Cell::Sum(sum), Cell::Word)
        }
        (_, Some(older), Some(newer)) => {
            Cell::Word(merge.apply(older, newer).expect("floats of tests are small"))
        }
        _ => panic!("words are combined"),
    }
}

/// The values of a row, without its key.
pub(crate) type Row = Vec<Cell>;

/// The values of row `i` of a batch that has all columns.
pub(crate) fn row_at(rows: &Batch, i: usize) -> Row {
    let cell = |column: &Column| match column {
        Column::Words(words) => words.get(i).map_or(Cell::Null, Cell::Word),
        Column::Bytes(bytes) if bytes.validity.is_valid(i) => Cell::Bytes(bytes.get(i).to_vec()),
        Column::Bytes(_) => Cell::Null,
    };
    rows.values.iter().map(cell).collect()
}

/// Appends the projected columns of a row to `out`; without a row, appends fillers.
pub(crate) fn append(
    out: &mut Batch,
    key: Option<KeyRef<'_>>,
    row: Option<&Row>,
    projection: Projection,
) {
    match (&mut out.keys, key) {
        (_, None) => {}
        (Keys::Words(columns), Some(KeyRef::Words(words))) => {
            for (i, (column, word)) in columns.iter_mut().zip(words).enumerate() {
                if projection.key(i) {
                    column.push(*word);
                }
            }
        }
        (Keys::Bytes(column), Some(KeyRef::Bytes(bytes))) => {
            if projection.key(0) {
                column.push(Some(bytes));
            }
        }
        _ => panic!("the batch was made for another shape"),
    }
    for (i, column) in out.values.iter_mut().enumerate().filter(|(i, _)| projection.value(*i)) {
        match (column, row.map(|row| &row[i])) {
            (column, None | Some(Cell::Null)) => column.push_null(),
            (Column::Words(words), Some(cell @ (Cell::Word(_) | Cell::Sum(_)))) => {
                words.push(cell.word());
            }
            (Column::Bytes(column), Some(Cell::Bytes(bytes))) => column.push(Some(bytes)),
            _ => panic!("the batch was made for another shape"),
        }
    }
    out.rows += 1;
}

/// Applies `newer`, a merge, to `older`.
pub(crate) fn merge(shape: &Shape, older: &Row, newer: &Row) -> Row {
    let columns = shape.values.iter().zip(older.iter().zip(newer));
    let cell = |(shape, (older, newer)): (&ColumnShape, (&Cell, &Cell))| match (shape, older, newer)
    {
        // A merge with null changes nothing.
        (ColumnShape::Word { merge: Some(_) }, older, Cell::Null) => older.clone(),
        (ColumnShape::Word { merge: Some(merge) }, older, newer) if *older != Cell::Null => {
            combine(*merge, older, newer)
        }
        _ => newer.clone(),
    };
    columns.map(cell).collect()
}

/// The effect of a write on a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Delete,
    Put(Row),
    Merge(Row),
}

impl Change {
    pub(crate) fn new(kind: Kind, row: Row) -> Self {
        match kind {
            Kind::Delete => Self::Delete,
            Kind::Put => Self::Put(row),
            Kind::Merge => Self::Merge(row),
        }
    }

    /// Whether it has a sum of integers that does not fit into 64 bits.
    pub(crate) fn is_past(&self, shape: &Shape) -> bool {
        let (Self::Put(row) | Self::Merge(row)) = self else { return false };
        shape.values.iter().zip(row).any(|(column, cell)| match (column, cell) {
            (ColumnShape::Word { merge: Some(merge) }, Cell::Word(word)) => merge.is_past(*word),
            (_, cell) => matches!(cell, Cell::Sum(_)),
        })
    }

    /// The row after the change; `None` where it is deleted.
    pub(crate) fn apply(&self, shape: &Shape, before: Option<&Row>) -> Option<Row> {
        match (self, before) {
            (Self::Delete, _) => None,
            (Self::Put(row), _) | (Self::Merge(row), None) => Some(row.clone()),
            (Self::Merge(delta), Some(row)) => Some(merge(shape, row, delta)),
        }
    }

    /// Combines this change with a newer one.
    pub(crate) fn then(self, shape: &Shape, newer: Self) -> Self {
        match (self, newer) {
            (Self::Delete, Self::Merge(delta)) => Self::Put(delta),
            (Self::Put(row), Self::Merge(delta)) => Self::Put(merge(shape, &row, &delta)),
            (Self::Merge(older), Self::Merge(delta)) => Self::Merge(merge(shape, &older, &delta)),
            (_, newer) => newer,
        }
    }
}
