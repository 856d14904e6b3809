//! What all trees of a database share.

use crate::table::{BlockCache, TableOptions};
use base::TableId;
use env::Env;
use env::sync::atomic::{AtomicU64, Ordering};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bounds and choices of a tree. Tests make them tiny so that rare branches run.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// Blocks, filters, compression of the tables written.
    pub table: TableOptions,
    /// A table is closed at about this many bytes.
    pub table_bytes: u64,
    /// Runs in level 0 that make a compaction due.
    pub level0_runs: usize,
    /// Bytes of level 1; each deeper level holds `level_factor` times more.
    pub level1_bytes: u64,
    /// Growth from level to level.
    pub level_factor: u64,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            table: TableOptions::default(),
            table_bytes: 32 << 20,
            level0_runs: 4,
            level1_bytes: 128 << 20,
            level_factor: 10,
        }
    }
}

/// Shared by all trees: the environment, the block cache, table ids and table folders.
#[derive(Debug)]
pub struct Context {
    /// The door to the machine.
    pub env: Arc<dyn Env>,
    /// Blocks in memory, one budget for all trees.
    pub cache: Arc<BlockCache>,
    /// Folders that hold tables; a table's `folder` field is an index into this list.
    pub folders: Vec<PathBuf>,
    /// Bounds and choices.
    pub options: TreeOptions,
    /// Reads of tables go around the page cache.
    pub direct_reads: bool,
    next_table_id: AtomicU64,
}

impl Context {
    /// Table ids start at `next_table_id`.
    #[must_use]
    pub fn new(
        env: Arc<dyn Env>,
        cache: Arc<BlockCache>,
        folders: Vec<PathBuf>,
        options: TreeOptions,
        direct_reads: bool,
        next_table_id: u64,
    ) -> Self {
        Self { env, cache, folders, options, direct_reads, next_table_id: next_table_id.into() }
    }

    /// A fresh id; the folder for it is chosen round robin, so that several folders fill evenly.
    pub fn new_table(&self) -> (TableId, u16, PathBuf) {
        let id = self.next_table_id.fetch_add(1, Ordering::Relaxed);
        let folder = (id % self.folders.len() as u64) as u16;
        (TableId(id), folder, self.table_path(TableId(id), folder))
    }

    /// First id not given out yet.
    #[must_use]
    pub fn next_table_id(&self) -> u64 {
        self.next_table_id.load(Ordering::Relaxed)
    }

    /// Makes sure that ids up to and including `used` are not given out again.
    pub fn note_table_id(&self, used: TableId) {
        self.next_table_id.fetch_max(used.0 + 1, Ordering::Relaxed);
    }

    /// Path of a table's file.
    #[must_use]
    pub fn table_path(&self, id: TableId, folder: u16) -> PathBuf {
        self.folders[folder as usize].join(table_file_name(id))
    }
}

/// File name of a table.
#[must_use]
pub fn table_file_name(id: TableId) -> String {
    format!("{id}.sst")
}

/// The id in a table's file name, if it is one.
#[must_use]
pub fn parse_table_file_name(path: &Path) -> Option<TableId> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".sst")?;
    stem.parse().ok().map(TableId)
}
