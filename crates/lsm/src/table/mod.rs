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
//! `sampled_words` shortens the searches among strings, in fences and in blocks. `shared_writer`
//! writes tables of several trees into one file.
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
pub(crate) mod cache;
mod encode;
mod guess;
mod index;
mod layout;
pub(crate) mod meta;
pub(crate) mod open_files;
pub(crate) mod options;
mod pending;
mod reader;
mod run_buffer;
mod salvage;
mod sampled_words;
pub(crate) mod section;
pub(crate) mod shared_file;
mod shared_writer;
mod statistics;
mod value_batch;
mod verify;

pub use block::Block;
pub use builder::{ROW_BYTES_MAX, TableBuilder};
pub use cache::{BlockCache, Fill, Reservation};
pub use layout::FORMAT_VERSION;
pub use meta::{RangeTombstone, SharedPlace, TableMeta, TableSummary};
pub use open_files::OpenFiles;
pub use options::TableOptions;
pub use reader::Table;
pub use salvage::{LostBlock, Remains};
pub use section::whole_file;
pub use shared_file::SharedFiles;
pub use shared_writer::SharedWriter;
pub(crate) use value_batch::{Found, read_values};

#[cfg(test)]
mod apart_tests;
#[cfg(test)]
mod tests;
