//! Versions of rows in columns: the unit that flushes, compactions and merges pass on.

use base::{Batch, Column, KeyRef, Keys, SeqNo, Shape, WORDS_MAX};

/// Most bytes of a column's strings that [`Rows::release_long`] keeps allocated.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// Rows with their sequence numbers and kinds, in (key ascending, sequence number descending)
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Key columns, all present.
    pub keys: Keys,
    /// Sequence number of each row, as it is encoded. **Empty: all are 0** (rows of a bulk load, or
    /// older than every snapshot).
    pub seqs: Vec<u64>,
    /// [`base::Kind`] of each row as its number. **Empty: all are puts.**
    pub kinds: Vec<u8>,
    /// Value columns, one for each of the shape; a delete's row holds a filler without validity.
    /// Under a projection the columns left out are empty.
    pub values: Vec<Column>,
}

impl Rows {
    /// No rows of this shape.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        let Batch { keys, values, .. } = Batch::new(shape);
        Self { keys, seqs: Vec::new(), kinds: Vec::new(), values }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sequence number of row `i`.
    #[must_use]
    pub fn seq(&self, i: usize) -> SeqNo {
        SeqNo(self.seqs.get(i).copied().unwrap_or(0))
    }

    /// Kind of row `i` as its number.
    #[must_use]
    pub fn kind(&self, i: usize) -> u8 {
        self.kinds.get(i).copied().unwrap_or(base::Kind::Put as u8)
    }

    /// Appends row `i` of `other`, which has the same shape and all columns.
    pub fn push_from(&mut self, other: &Self, i: usize) {
        let rows = self.len();
        self.keys.push(key_at(&other.keys, i, &mut [0; WORDS_MAX]));
        if !self.seqs.is_empty() || other.seq(i) != SeqNo::ZERO {
            self.seqs.resize(rows, 0);
            self.seqs.push(other.seq(i).0);
        }
        if !self.kinds.is_empty() || other.kind(i) != base::Kind::Put as u8 {
            self.kinds.resize(rows, base::Kind::Put as u8);
            self.kinds.push(other.kind(i));
        }
        for (to, from) in self.values.iter_mut().zip(&other.values) {
            to.push_from(from, i);
        }
    }

    /// Removes all rows, and frees the memory of columns with more string bytes than
    /// [`KEPT_BYTES_MAX`].
    pub(crate) fn release_long(&mut self) {
        self.clear();
        let keys = match &mut self.keys {
            Keys::Words(_) => None,
            Keys::Bytes(column) => Some(column),
        };
        let values = self.values.iter_mut().filter_map(|column| match column {
            Column::Words(_) => None,
            Column::Bytes(column) => Some(column),
        });
        for column in keys.into_iter().chain(values) {
            if column.heap.capacity() > KEPT_BYTES_MAX {
                column.heap = Vec::new();
            }
        }
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.seqs.clear();
        self.kinds.clear();
        self.values.iter_mut().for_each(Column::clear);
    }
}

/// Key of row `i`; words go through `buffer`.
#[inline]
pub(crate) fn key_at<'a>(keys: &'a Keys, i: usize, buffer: &'a mut [u64; WORDS_MAX]) -> KeyRef<'a> {
    match keys {
        Keys::Words(columns) if columns.len() == 1 => {
            KeyRef::Words(std::slice::from_ref(&columns[0][i]))
        }
        Keys::Words(columns) => {
            for (word, column) in buffer.iter_mut().zip(columns) {
                *word = column[i];
            }
            KeyRef::Words(&buffer[..columns.len()])
        }
        Keys::Bytes(column) => KeyRef::Bytes(column.get(i)),
    }
}

/// Whether two rows have one key.
pub(crate) fn same_key(keys: &Keys, a: usize, b: usize) -> bool {
    match keys {
        Keys::Words(columns) => columns.iter().all(|column| column[a] == column[b]),
        Keys::Bytes(column) => column.get(a) == column.get(b),
    }
}
