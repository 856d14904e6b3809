//! Options of an open store. `quipu` fills them from its own; tests make the bounds tiny.

use lsm::context::TreeOptions;
use std::path::PathBuf;
use store::Durability;

/// Options of [`crate::Kv::open`].
#[derive(Clone, Debug)]
pub struct KvOptions {
    /// The failures that an acknowledged commit survives.
    pub durability: Durability,
    /// Budget of the block cache, in bytes.
    pub cache_bytes: u64,
    /// All memtables together are flushed at about this many bytes. Up to twice as many are held
    /// while a flush runs.
    pub memtable_bytes: u64,
    /// Memory that the process should not exceed, in bytes. Near it, memory that the allocator
    /// keeps after frees is returned to the system.
    pub memory_limit_bytes: u64,
    /// Most bytes that the writes of one commit may take in memory, with or without a transaction.
    /// Without a transaction, writes below a mebibyte are always accepted.
    pub transaction_bytes_max: u64,
    /// Length of a segment of the write-ahead log, in bytes.
    pub wal_segment_bytes: u64,
    /// Further folders for tables, besides `tables/` in the database's own folder.
    pub table_folders: Vec<PathBuf>,
    /// Read tables past the page cache of the operating system.
    pub direct_reads: bool,
    /// Open as a follower of a writer in another process, without the right to write.
    pub read_only: bool,
    /// Create the database where the folder holds none.
    pub create: bool,
    /// Bounds of the trees; tests make them tiny.
    pub tree: TreeOptions,
    /// Whether compactions start by themselves. Tests switch it off to choose when they run.
    pub auto_compaction: bool,
    /// Least scan debt, in rows of memtables and level 0 that scans passed, at which these are
    /// flushed and merged. It is the fixed cost of creating files, in rows passed by scans.
    pub read_flush_rows: u64,
}

impl Default for KvOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            cache_bytes: 512 << 20,
            memtable_bytes: 64 << 20,
            memory_limit_bytes: u64::MAX,
            transaction_bytes_max: 512 << 20,
            wal_segment_bytes: 64 << 20,
            table_folders: Vec::new(),
            direct_reads: false,
            read_only: false,
            create: true,
            tree: TreeOptions::default(),
            auto_compaction: true,
            read_flush_rows: 100_000,
        }
    }
}
