//! Chooses which tables to merge, and merges them.
//!
//! # Invariants
//! 1. Choosing is pure; merging installs nothing: both answer with a value, and the tree changes
//!    once the manifest has the edit.
//! 2. A tombstone is dropped only when no deeper level can hold its key.
//! 3. Inputs stay readable until the version that replaces them is in the manifest.

pub(crate) mod below;
mod choose;
pub(crate) mod keep;
mod merge;
pub(crate) mod rewrite;
mod settled;
pub(crate) mod snapshots;
pub(crate) mod tombstones;

pub use choose::{
    Choice, DUE, Levels, TableInfo, choose, choose_all, choose_level0, compaction_score,
    rows_with_level0,
};
pub(crate) use merge::{Output, compact};
pub(crate) use settled::Settled;
