//! Writes one table, front to back.

use super::{RangeTombstone, TableOptions, TableSummary};
use crate::Result;
use crate::rows::Rows;
use base::Shape;
use env::AppendFile;
use std::ops::Range;

/// Takes rows in order and writes them as a table.
#[derive(Debug)]
pub struct TableBuilder {}

impl TableBuilder {
    /// Writes to `file`, which is empty. `bottom`: no deeper level lies below the output.
    #[must_use]
    pub fn new(
        file: Box<dyn AppendFile>,
        shape: Shape,
        options: TableOptions,
        bottom: bool,
    ) -> Self {
        let _ = (file, shape, options, bottom);
        unimplemented!()
    }

    /// Adds rows, which come after all earlier ones in (key, sequence number descending) order.
    ///
    /// # Errors
    /// A failed write, or a row above 1 GiB.
    pub fn add(&mut self, rows: &Rows, range: Range<usize>) -> Result<()> {
        let _ = (rows, range);
        unimplemented!()
    }

    /// Adds a range tombstone; in any order.
    ///
    /// # Errors
    /// None yet.
    pub fn add_range_tombstone(&mut self, tombstone: RangeTombstone) -> Result<()> {
        let _ = tombstone;
        unimplemented!()
    }

    /// About how many bytes the file would have if closed now.
    #[must_use]
    pub fn bytes_estimate(&self) -> u64 {
        unimplemented!()
    }

    /// Rows added so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        unimplemented!()
    }

    /// Appends the rest of the table and syncs the file.
    ///
    /// # Errors
    /// A failed write or sync; the file is then useless.
    pub fn finish(self) -> Result<TableSummary> {
        unimplemented!()
    }
}
