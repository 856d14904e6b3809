//! Bulk import of edges: from a file or from columns to finished tables, without the log and the
//! memtables.
//!
//! # Overview
//! Workers parse pieces of the input and keep the rows packed in memory, in input order, with a
//! sample of their keys. After all input is read, splitters are chosen from the sample, and each
//! piece is scattered into buckets. Bucket by bucket, rows are gathered, sorted in the processor's
//! cache and passed to the store's bulk load: first by source, then by target. If rows exceed the
//! memory limit, they are written as sorted runs and gathered from these. Names of string vertices
//! that exceed it are written as sorted runs, too, and merged after all input is read.
//!
//! # Why splitters are chosen after everything is read
//! Ids often grow through a file, so with splitters from its start most rows would fall into one
//! bucket. Keeping the rows unsorted costs one pass over 8 bytes a row, about a nanosecond, and the
//! sample covers all rows.
//!
//! # Invariants
//! 1. Nothing is visible before the bulk load commits. An error or a cancellation leaves the
//!    database as it was, without temporary files.
//! 2. If a pair occurs more than once, the last row of the input wins, in both directions.
//! 3. Rows in memory stay below the limit. Without a folder to spill to, exceeding it is an error.

mod block_file;
mod entry;
mod feed;
mod final_ids;
mod name_runs;
mod names;
mod progress;
mod report;
mod row_collector;
mod rows;
mod run;
mod sorter;
mod spill;
mod splitters;

pub use entry::ImportInput;
pub use progress::{ImportProgress, Phase, ProgressFn};
pub use report::{ImportOptions, ImportReport, OnlyVertices};
pub use spill::remove_stale_runs;

#[doc(hidden)]
pub mod bench {
    //! The sorter without an import, for `examples/sort_speed.rs`.
    pub use crate::import::sorter::sort_pairs;
}
