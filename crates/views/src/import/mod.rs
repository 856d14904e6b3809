//! Bulk import: from a file or columns to finished tables, around the log and the memtables.
//!
//! # How it goes
//! Workers parse pieces of the input and keep the rows packed in memory, in input order, with a
//! sample of their keys. When everything is read, splitters are chosen from the sample, every piece
//! is scattered by them in place, and bucket by bucket the rows are gathered, sorted in the cache
//! and handed to the store's bulk load: first by source, then by target. Rows that outgrow the
//! memory are written as sorted runs and gathered from there.
//!
//! # Why everything is read before anything is split
//! Ids often grow through a file, so splitters chosen from its start would put the rest in one
//! bucket. Keeping the rows unsorted for a moment costs one pass over 8 bytes a row, about a
//! nanosecond, and then the sample is one of all rows.
//!
//! # Invariants
//! 1. Nothing is visible before the bulk load commits; an error or a cancellation leaves the
//!    database as it was and no temporary file.
//! 2. Where a pair occurs more than once, the last row of the input wins, in both directions.
//! 3. Rows held in memory stay below the limit; without a folder to spill to, passing it is an
//!    error.

mod entry;
mod feed;
mod names;
mod progress;
mod report;
mod rows;
mod run;
mod sink;
mod sorter;
mod spill;
mod splitters;

pub use progress::{ImportProgress, Phase, ProgressFn};
pub use report::{ImportOptions, ImportReport};
pub use spill::remove_stale_runs;

#[doc(hidden)]
pub mod bench {
    //! The sorter alone, for `examples/sort_speed.rs`.
    pub use super::sorter::sort_pairs;
}
