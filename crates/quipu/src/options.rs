//! The few things a user sets.

use session::Files;
use std::path::PathBuf;
use store::Durability;
use views::counters::{Combine, NumberType};
use views::graph::{VertexType, WeightType};
use views::keys::KeyType;
use views::waiting::Buffering;

/// How a database is opened. Everything else is found out or follows from these.
#[derive(Clone, Debug)]
pub struct Options {
    /// What an acknowledged commit survives. Default: [`Durability::Sync`].
    pub durability: Durability,
    /// Memory for cached blocks, filters and indexes, in bytes; at most half of the memory limit is
    /// used. Filters get a quarter of it; tables past that are read without. Default: 512 MiB.
    pub cache_bytes: u64,
    /// Memory that the database may use in all, in bytes: cache, memtables, imports, transactions, queries, and
    /// 24 MiB for the program itself. Smaller limits than 64 MiB are not held.
    /// While an import runs it has three quarters of the cache too; one that needs more spills to
    /// disk. Default: 1 GiB.
    pub memory_limit_bytes: u64,
    /// Worker threads, which also help queries that make many rows; 0 (the default) is one for each core.
    pub threads: usize,
    /// Open beside a writer in another process, without the right to write.
    pub read_only: bool,
    /// Create the database where the folder holds none. Default: true.
    pub create: bool,
    /// Further folders that hold tables, on other disks perhaps; filled evenly, by bytes.
    pub table_folders: Vec<PathBuf>,
    /// Read and write tables around the page cache: for data far larger than memory, and a cache of its own.
    pub direct_io: bool,
    /// Which files of the machine scripts may read. Default: [`Files::Any`], for a program runs scripts of its own, and what it may
    /// read they may. One that runs scripts of others says [`Files::None`], or a folder.
    pub files: Files,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            cache_bytes: 512 << 20,
            memory_limit_bytes: 1 << 30,
            threads: 0,
            read_only: false,
            create: true,
            table_folders: Vec::new(),
            direct_io: false,
            files: Files::Any,
        }
    }
}

/// The program's own pages, stacks and buffers of its threads, and what the allocator keeps between two uses are in
/// the limit too: as measured.
const OWN_BYTES: u64 = 24 << 20;

impl Options {
    /// What of the limit is shared out.
    fn shared_bytes(&self) -> u64 {
        self.memory_limit_bytes - OWN_BYTES.min(self.memory_limit_bytes / 8 * 3)
    }

    /// Memtables get a sixteenth of the memory limit, between 64 KiB and 64 MiB: twice that much is
    /// held while a generation is flushed.
    pub(crate) fn memtable_bytes(&self) -> u64 {
        (self.shared_bytes() / 16).clamp(64 << 10, 64 << 20)
    }

    /// The cache's part of the limit.
    pub(crate) fn cache_bytes(&self) -> u64 {
        self.cache_bytes.min(self.shared_bytes() / 2)
    }

    /// What of the cache an import has for its time: enough is left for filters and indexes.
    pub(crate) fn cache_lent_bytes(&self) -> u64 {
        self.cache_bytes() / 4 * 3
    }

    /// A table is closed at about this size. While it is written, the hashes of its keys take about twice
    /// as much, so a small limit needs small tables.
    pub(crate) fn table_bytes(&self) -> u64 {
        (self.shared_bytes() / 16).clamp(1 << 20, 32 << 20)
    }

    /// What an import may hold: all but two generations of memtables, what is left of the cache, the
    /// tables that `workers` write, and a sixteenth that the allocator holds between what is freed and what is
    /// asked for next. At least a quarter of the limit.
    pub(crate) fn import_bytes(&self, workers: u64) -> u64 {
        let cache = self.cache_bytes() - self.cache_lent_bytes();
        let others = 2 * self.memtable_bytes() + cache + 2 * workers * self.table_bytes();
        let limit = self.shared_bytes();
        limit.saturating_sub(others + limit / 16).max(limit / 4)
    }

    /// What one query may hold: all but two generations of memtables, the cache, and a sixteenth for the allocator; at
    /// least a quarter of the limit. Of queries that run at once each has this much.
    pub(crate) fn query_bytes(&self) -> u64 {
        let limit = self.shared_bytes();
        let others = 2 * self.memtable_bytes() + self.cache_bytes();
        limit.saturating_sub(others + limit / 16).max(limit / 4)
    }

    /// Counters whose increments may wait in memory: a sixteenth of the limit, at about 48 bytes a key,
    /// of which 16 are needed while they are written. A long text counts as several.
    pub(crate) fn increments_waiting_max(&self) -> u64 {
        (self.memory_limit_bytes / 16 / Buffering::BYTES_A_ROW).max(1 << 10)
    }

    /// Bytes of combined values and their keys that may wait in memory: a sixteenth of the limit.
    pub(crate) fn combined_waiting_bytes(&self) -> u64 {
        (self.memory_limit_bytes / 16).max(64 << 10)
    }

    /// Segments of the log: what memtables take, so that a small limit needs a small disk too.
    pub(crate) fn wal_segment_bytes(&self) -> u64 {
        self.memtable_bytes()
    }
}

/// How blobs are created, and what they must be when they are there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobOptions {
    /// What names a blob. Default: `u64`.
    pub key: KeyType,
}

/// How counters are created, and what they must be when they are there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterOptions {
    /// What names a counter. Default: `u64`.
    pub key: KeyType,
    /// What a counter holds. Default: integers.
    pub number: NumberType,
    /// How it grows. Default: by sums.
    pub combine: Combine,
}

/// How combined values are created, and what they must be when they are there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CombinedOptions {
    /// What names a value. Default: `u64`.
    pub key: KeyType,
}

/// How a graph is created, and what it must be when it is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphOptions {
    /// What names its vertices. Default: `u64`.
    pub vertex: VertexType,
    /// What its edges weigh. Default: nothing.
    pub weight: WeightType,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_limit_contains_the_cache_and_all_other_shares() {
        for limit_mb in [64_u64, 100, 256, 512, 1024, 4096, 65536] {
            for cache_mb in [0_u64, 1, 32, 512, 1 << 20] {
                let options = Options {
                    cache_bytes: cache_mb << 20,
                    memory_limit_bytes: limit_mb << 20,
                    ..Options::default()
                };
                let (cache, memtables) = (options.cache_bytes(), 2 * options.memtable_bytes());
                assert!(cache <= options.memory_limit_bytes / 2);
                // While an import runs it has a part of the cache.
                let import = options.import_bytes(2) - options.cache_lent_bytes().min(cache);
                for share in [options.query_bytes(), import] {
                    let all = cache + memtables + share;
                    assert!(
                        all <= options.memory_limit_bytes,
                        "{limit_mb} MB, cache {cache_mb} MB"
                    );
                }
            }
        }
    }
}
