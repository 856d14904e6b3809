//! SSTables: immutable files of columnar blocks, sorted by key.
//!
//! # Why columns, and why large blocks
//! Rows are read either one by one or by the thousand. A block's key column is searched without
//! being decoded, and any value of a column is found by arithmetic, so a big block does not make a
//! single lookup slower. Batches of rows are returned as whole columns.
//!
//! # Code map
//! [`TableBuilder`] cuts rows into blocks (`encode`; `pending` holds the end of an input) and
//! collects their fences (`index`) and the filters. `layout` is everything behind the blocks, and
//! `docs/formats/sstable.md` documents it. [`Table`] opens that again. It hands out [`Block`]s
//! through the [`BlockCache`], whole or as headers whose long values are separated (`apart`;
//! `guess` reads both together). `verify` reads a whole table, `salvage` what is left of a damaged
//! one. `statistics` has bounds of the values in each block. Scans skip blocks by them.
//! `sampled_words` shortens the searches among strings, in fences and in blocks. `shared_file`
//! has tables of several trees in one file.
//!
//! # Invariants
//! 1. Rows are in (key ascending, sequence number descending) order; all versions of one key are in
//!    one table of a run (a builder's caller never splits them), but may span blocks.
//! 2. A block in the cache was checked; nothing decodes unchecked bytes.
//! 3. A file is written once, synced, and never changed.
//! 4. A block whose rows are all puts with sequence number 0 stores neither numbers nor kinds. In a
//!    table with a `global_seq`, a stored 0 reads as that.
//!
//! # Filters
//! `bottom` tells the builder that no deeper level exists below the output. Then it writes no
//! whole-key filter for keys of two or more words, only the first-word filter: a whole-key filter
//! would cost more than the rows, and lookups at the bottom mostly hit. Above the bottom it writes
//! both.

mod apart;
mod block;
mod builder;
mod cache;
mod encode;
mod guess;
mod index;
mod layout;
mod open_files;
mod pending;
mod reader;
mod run_buffer;
mod salvage;
mod sampled_words;
mod shared_file;
mod statistics;
mod verify;

pub(crate) use apart::{Found, read_values};
pub use block::Block;
pub use builder::{ROW_BYTES_MAX, TableBuilder};
pub use cache::{BlockCache, Fill, Reservation};
pub use layout::FORMAT_VERSION;
pub use open_files::OpenFiles;
pub use reader::Table;
pub use salvage::{LostBlock, Remains};
pub(crate) use shared_file::Section;
pub use shared_file::{SharedFiles, SharedPlace, SharedWriter, whole_file};

use base::{Key, TableId};
use std::sync::Arc;

/// Choices for writing a table.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Rows in a block, at most.
    pub block_rows_max: usize,
    /// Bytes of values in a block, at most (a single row may exceed it).
    pub block_bytes_max: usize,
    /// Most bytes of strings in a block (a single row may exceed it). Less than the bytes of all
    /// values, because a lookup of one long value reads its whole block.
    pub block_string_bytes_max: usize,
    /// Most bytes of values in a block with separated strings (a single row may exceed it). A
    /// lookup of one value reads the block's header and that value alone.
    pub apart_bytes_max: usize,
    /// Strings that compression does not shrink are separated if they have this many bytes per row
    /// of the block.
    pub apart_value_bytes_min: u64,
    /// Bits a key in filters; 0 writes none.
    pub filter_bits: u8,
    /// Compress heaps of byte strings with LZ4 where it saves at least an eighth.
    pub compress: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            block_rows_max: 4096,
            block_bytes_max: 32 << 10,
            block_string_bytes_max: 8 << 10,
            apart_bytes_max: 64 << 10,
            apart_value_bytes_min: 512,
            filter_bits: 10,
            compress: true,
        }
    }
}

/// Deletes every key in `lower..upper` older than `seq`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// The deleted keys.
    pub range: base::KeyRange,
    /// Rows with a smaller sequence number are gone.
    pub seq: u64,
}

/// A finished table, as its builder describes it.
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
    /// Its id, which names its file, unless it shares one.
    pub id: TableId,
    /// Index into [`crate::context::Context::folders`].
    pub folder: u16,
    /// Not 0 for a bulk-loaded table: every stored sequence number 0 reads as this one.
    pub global_seq: u64,
    /// Its place in a file with other tables; `None` if it has a file of its own.
    pub shared: Option<SharedPlace>,
    /// The builder's counts. Shared by all copies: the keys in it may be long.
    pub summary: Arc<TableSummary>,
}

impl TableMeta {
    /// Names the file that the table is in.
    #[must_use]
    pub fn file_id(&self) -> TableId {
        self.shared.map_or(self.id, |place| place.file)
    }

    /// Largest sequence number a row of the table has as read.
    #[must_use]
    pub fn seq_max(&self) -> u64 {
        self.summary.seq_max.max(self.global_seq)
    }
}

#[cfg(test)]
mod apart_tests;
#[cfg(test)]
mod tests;
