//! SSTables: immutable files of columnar blocks, sorted by key.
//!
//! # Layout (page `docs/formats/sstable.md`)
//! blocks, filter blocks, range tombstones, index (fences), properties, footer. Every part carries
//! the checksum that is checked when it is read from the file.
//!
//! # Invariants
//! 1. Rows are in (key ascending, sequence number descending) order; all versions of one key are in
//!    one table of a run (a builder's caller never splits them), but may span blocks.
//! 2. A block in the cache was checked; nothing decodes unchecked bytes.
//! 3. A file is written once, synced, and never changed.
//!
//! # Interface the rest of the crate relies on
//! ```text
//! TableBuilder::new(file: Box<dyn AppendFile>, shape: Shape, options: TableOptions, bottom: bool) -> Self
//!     .add(&mut self, rows: &Rows, range: Range<usize>) -> Result<()>      // rows in order, after all earlier ones
//!     .add_range_tombstone(&mut self, tombstone: RangeTombstone) -> Result<()>
//!     .bytes_estimate(&self) -> u64                                        // what the file would be if closed now
//!     .finish(self) -> Result<TableSummary>                                // appends the rest, syncs the file
//! Table::open(context: &Context, meta: &TableMeta, shape: &Shape) -> Result<Arc<Table>>
//!     // reads footer, index, properties, filters; checks them against meta
//!     .meta() -> &TableMeta     .range_tombstones() -> &[RangeTombstone]
//!     .blocks() -> usize        .blocks_overlapping(&KeyRange) -> Range<usize>     // by fences
//!     .block_for(KeyRef) -> Option<usize>      // the first block that can hold the key's newest version
//!     .may_contain_key(KeyRef) -> bool         .may_contain_first_word(u64) -> bool   // filters; true where there is none
//!     .block(i, Fill) -> Result<Arc<Block>>    // through the cache; Fill::{Keep, Once}: a scan's block does not push out hot ones
//!     .prefetch(&[usize]) -> Result<()>        // reads the missing ones of these blocks in one batch (env read_batch)
//!     .verify(&self, progress) -> Result<()>   // reads and checks every part and the order of all rows
//!     .seqs_of(block, row) honours meta.global_seq (see below): through Block's methods given the table's global seq
//! Block (decoded lazily, row index in 0..rows):
//!     .rows()  .is_plain()                     // plain: all puts, no key twice, one sequence number for all (seq_const)
//!     .seq(row) .kind(row)                     // with global_seq already applied: where global_seq != 0 a stored 0 reads as it
//!     .seq_max()
//!     .lower_bound(KeyRef) -> usize            // first row with key >= the given key or prefix
//!     .rows_in(&KeyRange) -> Range<usize>      // fast path for a prefix of one word: run directory
//!     .find(KeyRef) -> Option<usize>           // newest version of exactly this key in this block
//!     .key(row) -> Key   .key_eq(row, KeyRef) -> bool   .compare_key(row, KeyRef) -> Ordering
//!     .word(column, row) -> Option<u64>        .bytes(column, row, &mut Vec<u8> scratch) -> Option<&[u8]>
//!     .append_to(range, Projection, &mut Batch)            // current rows: values and keys only
//!     .append_versions(range, Projection, &mut Rows)       // keys (always), seqs, kinds and projected values
//!     .first_words(&mut Vec<u64>)                          // the distinct first words, without decoding rows
//! ```
//! A block whose rows are all plain with sequence number 0 stores neither numbers nor kinds.
//! `bottom` tells the builder that no deeper level exists below the output: then no whole-key filter
//! is written for keys of two or more words (a filter would cost more than the rows; look-ups at the
//! bottom mostly hit), only the first-word filter. Above, both.

mod block;
mod builder;
mod cache;
mod encode;
mod index;
mod layout;
mod pending;
mod reader;
mod verify;

pub use block::Block;
pub use builder::{ROW_BYTES_MAX, TableBuilder};
pub use cache::{BlockCache, Fill};
pub use layout::FORMAT_VERSION;
pub use reader::Table;

use base::{Key, TableId};

/// Choices for writing a table.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Rows in a block, at most.
    pub block_rows_max: usize,
    /// Bytes of values in a block, at most (a single row may exceed it).
    pub block_bytes_max: usize,
    /// Bits a key in filters; 0 writes none.
    pub filter_bits: u8,
    /// Compress heaps of byte strings with LZ4 where it saves at least an eighth.
    pub compress: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { block_rows_max: 4096, block_bytes_max: 32 << 10, filter_bits: 10, compress: true }
    }
}

/// Deletes every key in `lower..upper` older than `seq`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// What it covers.
    pub range: base::KeyRange,
    /// Rows with a smaller sequence number are gone.
    pub seq: u64,
}

/// What a builder knows of the file it closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSummary {
    /// Length of the file.
    pub bytes: u64,
    /// Row versions in it.
    pub rows: u64,
    /// Of those, deletes.
    pub deletes: u64,
    /// Of those, merges.
    pub merges: u64,
    /// Rows that repeat the key of the row before (older versions).
    pub repeats: u64,
    /// Distinct first key words (0 for byte-string keys).
    pub first_words: u64,
    /// Smallest key of rows and range tombstones.
    pub first_key: Key,
    /// Largest key of rows; for a range tombstone its upper bound counts (inclusive, to be safe).
    pub last_key: Key,
    /// Smallest stored sequence number.
    pub seq_min: u64,
    /// Largest stored sequence number.
    pub seq_max: u64,
    /// Range tombstones in it.
    pub range_tombstones: u64,
    /// Checksum of the file's index and properties: binds the manifest's entry to the file.
    pub fingerprint: u64,
}

/// A table as the manifest records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMeta {
    /// Its id, which names the file.
    pub id: TableId,
    /// Index into [`crate::context::Context::folders`].
    pub folder: u16,
    /// Not 0 for a bulk-loaded table: every stored sequence number 0 reads as this one.
    pub global_seq: u64,
    /// What the builder counted.
    pub summary: TableSummary,
}

impl TableMeta {
    /// Largest sequence number a row of the table has as read.
    #[must_use]
    pub fn seq_max(&self) -> u64 {
        self.summary.seq_max.max(self.global_seq)
    }
}

#[cfg(test)]
mod tests;
