//! Batches of blobs with their keys: the result of scans, ranges and batch reads. The caller owns
//! and reuses a batch. Its key type must be that of the blobs it is used with.

use crate::keys::{KeyColumn, KeyType, column_of, empty_keys};
use base::{Batch, BytesColumn, Column, Keys, WordColumn};
use store::Result;

/// Blobs in the order of the call that returned them. The caller reuses the batch, so that a read
/// allocates nothing.
#[derive(Clone, Debug)]
pub struct BlobRows {
    pub(super) key: KeyType,
    pub(super) batch: Batch,
}

impl Default for BlobRows {
    fn default() -> Self {
        Self::new(KeyType::U64)
    }
}

impl BlobRows {
    /// An empty batch for keys of this type.
    #[must_use]
    pub fn new(key: KeyType) -> Self {
        Self { key, batch: empty_batch(key) }
    }

    /// Number of blobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.rows
    }

    /// Whether there are no blobs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i`.
    ///
    /// # Panics
    /// If `i` is out of bounds.
    #[must_use]
    pub fn value(&self, i: usize) -> &[u8] {
        self.values().get(i)
    }

    /// All values, in the order of the keys.
    #[must_use]
    pub fn values(&self) -> &BytesColumn {
        match &self.batch.values[0] {
            Column::Bytes(values) => values,
            Column::Words(_) => unreachable!("values of blobs are bytes"),
        }
    }

    /// All keys, if they are of type `u64`; otherwise empty.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        if self.key == KeyType::U64 { self.batch.key_words(0) } else { &[] }
    }

    /// All keys, copied.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] if a stored key is not a string.
    pub fn keys(&self) -> Result<KeyColumn> {
        column_of(self.key, self.batch.keys.clone())
    }

    /// All keys and values, moved out.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] if a stored key is not a string.
    pub fn into_columns(mut self) -> Result<(KeyColumn, BytesColumn)> {
        let keys = std::mem::replace(&mut self.batch.keys, empty_keys(self.key));
        let values = match self.batch.values.swap_remove(0) {
            Column::Bytes(values) => values,
            Column::Words(_) => unreachable!("values of blobs are bytes"),
        };
        Ok((column_of(self.key, keys)?, values))
    }

    /// Clears the batch, for keys of this type.
    pub(super) fn reset(&mut self, key: KeyType) {
        if self.key == key && self.batch.values.len() == 3 {
            self.batch.clear();
        } else {
            *self = Self::new(key);
        }
    }
}

/// An empty batch in the shape of rows.
pub(super) fn empty_batch(key: KeyType) -> Batch {
    Batch {
        rows: 0,
        keys: empty_keys(key),
        values: vec![
            Column::Bytes(BytesColumn::default()),
            Column::Words(WordColumn::default()),
            Column::Words(WordColumn::default()),
        ],
    }
}

/// The contents of a row.
pub(super) enum RowContents<'a> {
    /// A value.
    Value(&'a [u8]),
    /// The id of its chunks and their length in bytes.
    Large(u64, u64),
    /// Neither: the row is absent, or damaged.
    Nothing,
}

/// Contents of row `i` of a batch with all columns.
pub(super) fn contents(batch: &Batch, i: usize) -> RowContents<'_> {
    match batch.values.as_slice() {
        [Column::Bytes(values), Column::Words(large), Column::Words(bytes)] => {
            match (large.get(i), bytes.get(i)) {
                _ if values.validity.is_valid(i) => RowContents::Value(values.get(i)),
                (Some(id), Some(bytes)) => RowContents::Large(id, bytes),
                _ => RowContents::Nothing,
            }
        }
        _ => unreachable!("rows of blobs have three columns"),
    }
}

/// The ids in the column `large`.
pub(super) fn large_ids(batch: &Batch) -> impl Iterator<Item = u64> + '_ {
    let large = match batch.values.get(1) {
        Some(Column::Words(large)) => Some(large),
        _ => None,
    };
    large.into_iter().flat_map(|large| (0..large.words.len()).filter_map(|i| large.get(i)))
}

/// Sum of the column `bytes` over the first `rows` rows.
pub(super) fn large_bytes(batch: &Batch, rows: usize) -> u64 {
    match batch.values.get(2) {
        Some(Column::Words(bytes)) => (0..rows).filter_map(|i| bytes.get(i)).sum(),
        _ => 0,
    }
}

/// Appends a row without its key: a value, or id and length of its chunks, or neither for a
/// deletion.
pub(super) fn push_values(batch: &mut Batch, value: Option<&[u8]>, large: Option<(u64, u64)>) {
    match batch.values.as_mut_slice() {
        [Column::Bytes(values), Column::Words(ids), Column::Words(lengths)] => {
            values.push(value);
            ids.push(large.map(|(id, _)| id));
            lengths.push(large.map(|(_, bytes)| bytes));
        }
        _ => unreachable!("rows of blobs have three columns"),
    }
}

/// Appends rows with values that are not null, without their keys.
pub(super) fn append_values(batch: &mut Batch, values: &BytesColumn) {
    match batch.values.as_mut_slice() {
        [Column::Bytes(to), words @ ..] => {
            let (first, base) = (values.offsets[0], to.heap.len() as u64);
            to.heap.extend_from_slice(&values.heap[first as usize..]);
            to.offsets.extend(values.offsets[1..].iter().map(|offset| offset - first + base));
            for column in words {
                (0..values.len()).for_each(|_| column.push_null());
            }
        }
        _ => unreachable!("rows of blobs have three columns"),
    }
}

/// Appends key `i` of `from`.
pub(super) fn push_key(to: &mut Keys, from: &Keys, i: usize) {
    to.push(from.get(i).as_ref());
}
