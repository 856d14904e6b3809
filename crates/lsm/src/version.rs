//! Which tables make up a tree: levels of sorted runs, immutable once built.
//!
//! # Invariants
//! 1. Tables of one run never overlap and are in key order.
//! 2. A key's versions in an upper level (smaller number) are newer than in every deeper one; in
//!    level 0 the runs are newest first.
//! 3. Levels 1 and deeper hold one run each.
//! 4. A version never changes: an edit makes a new one, and readers of the old keep its tables alive.

use crate::table::{Table, TableMeta};
use base::TableId;
use std::sync::Arc;

/// Number of the deepest level.
pub const LEVEL_MAX: usize = 6;

/// Tables in key order that do not overlap.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The tables.
    pub tables: Vec<Arc<Table>>,
}

/// All tables of a tree at one moment.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// Level 0: runs newest first, each with the number that orders it (larger is newer).
    pub level0: Vec<(u64, Run)>,
    /// Levels 1 to [`LEVEL_MAX`], index 0 being level 1.
    pub levels: Vec<Run>,
}

/// A change of one tree's tables, as the manifest records it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeEdit {
    /// Tables that join: level (0 with the run's number, which is larger than all before).
    pub added: Vec<AddedTable>,
    /// Tables that leave.
    pub removed: Vec<TableId>,
}

/// A table and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedTable {
    /// 0 to [`LEVEL_MAX`].
    pub level: u8,
    /// Run number within level 0 (larger is newer); 0 in deeper levels.
    pub run: u64,
    /// The table.
    pub meta: TableMeta,
}
