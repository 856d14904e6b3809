//! What the user and the tests choose when a store is opened.

use lsm::context::TreeOptions;
use std::path::PathBuf;
use store::Durability;

/// Options of [`crate::Kv::open`].
#[derive(Clone, Debug)]
pub struct KvOptions {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Budget of the block cache, in bytes.
    pub cache_bytes: u64,
    /// All memtables together are moved into tables at about this many bytes; up to twice as much
    /// is held while they are being written.
    pub memtable_bytes: u64,
    /// Bytes of memory that the process should not pass: what the allocator keeps of freed memory is given back there.
    pub memory_limit_bytes: u64,
    /// Most bytes that one commit's writes may take in memory, a transaction's or others; some that take less than a mebibyte are always taken
    /// without a transaction.
    pub transaction_bytes_max: u64,
    /// Length of a segment of the write-ahead log, in bytes.
    pub wal_segment_bytes: u64,
    /// Further folders for tables, beside `tables/` in the database's own folder.
    pub table_folders: Vec<PathBuf>,
    /// Read tables around the page cache.
    pub direct_reads: bool,
    /// Open beside a writer, without the right to write.
    pub read_only: bool,
    /// Create the database where the folder holds none.
    pub create: bool,
    /// Bounds of the trees; tests make them tiny.
    pub tree: TreeOptions,
    /// Run compactions by themselves. Tests switch it off to choose the moment.
    pub auto_compaction: bool,
    /// Rows of memtables and of level 0 that scans pass before these are flushed and merged for their sake, at least: what the files alone cost,
    /// in rows that a scan passes.
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
