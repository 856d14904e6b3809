//! One block as it is read: checked bytes and where its columns lie.

use base::{Batch, Key, KeyRange, KeyRef, Projection};
use std::cmp::Ordering;
use std::ops::Range;

use crate::rows::Rows;

/// Some thousand rows in columns. Row indexes run from 0 to [`Block::rows`].
#[derive(Debug)]
pub struct Block {}

impl Block {
    /// Number of row versions.
    #[must_use]
    pub fn rows(&self) -> usize {
        unimplemented!()
    }

    /// Whether all rows are puts, no key is there twice, and all have one sequence number.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        unimplemented!()
    }

    /// Sequence number of a row, the table's global one applied.
    #[must_use]
    pub fn seq(&self, row: usize) -> u64 {
        let _ = row;
        unimplemented!()
    }

    /// Kind of a row as its number.
    #[must_use]
    pub fn kind(&self, row: usize) -> u8 {
        let _ = row;
        unimplemented!()
    }

    /// No row has a larger sequence number; where one number is for all, it is this.
    #[must_use]
    pub fn seq_max(&self) -> u64 {
        unimplemented!()
    }

    /// First row whose key is at least `key`, which may be a prefix.
    #[must_use]
    pub fn lower_bound(&self, key: KeyRef<'_>) -> usize {
        let _ = key;
        unimplemented!()
    }

    /// Rows whose keys lie in `range`.
    #[must_use]
    pub fn rows_in(&self, range: &KeyRange) -> Range<usize> {
        let _ = range;
        unimplemented!()
    }

    /// Newest version of exactly this key in this block.
    #[must_use]
    pub fn find(&self, key: KeyRef<'_>) -> Option<usize> {
        let _ = key;
        unimplemented!()
    }

    /// Key of a row.
    #[must_use]
    pub fn key(&self, row: usize) -> Key {
        let _ = row;
        unimplemented!()
    }

    /// Whether the row has exactly this key.
    #[must_use]
    pub fn key_eq(&self, row: usize, key: KeyRef<'_>) -> bool {
        self.compare_key(row, key) == Ordering::Equal
    }

    /// The row's key compared with `key`.
    #[must_use]
    pub fn compare_key(&self, row: usize, key: KeyRef<'_>) -> Ordering {
        let _ = (row, key);
        unimplemented!()
    }

    /// Word of value column `column`; `None` where the row holds none.
    #[must_use]
    pub fn word(&self, column: usize, row: usize) -> Option<u64> {
        let _ = (column, row);
        unimplemented!()
    }

    /// Byte string of value column `column`; `None` where the row holds none. Borrows from the
    /// block or, if the string does not lie there in one piece, from `scratch`.
    #[must_use]
    pub fn bytes<'a>(
        &'a self,
        column: usize,
        row: usize,
        scratch: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        let _ = (column, row, scratch);
        unimplemented!()
    }

    /// Appends keys and values of the rows under a projection; neither numbers nor kinds.
    pub fn append_to(&self, rows: Range<usize>, projection: Projection, out: &mut Batch) {
        let _ = (rows, projection, out);
        unimplemented!()
    }

    /// Appends keys (always), sequence numbers, kinds and the projected values of the rows.
    /// `out.seqs` and `out.kinds` stay empty as long as all are 0 and puts.
    pub fn append_versions(&self, rows: Range<usize>, projection: Projection, out: &mut Rows) {
        let _ = (rows, projection, out);
        unimplemented!()
    }

    /// Appends the distinct first words, ascending; nothing for byte-string keys.
    pub fn first_words(&self, out: &mut Vec<u64>) {
        let _ = out;
        unimplemented!()
    }
}
