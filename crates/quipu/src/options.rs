//! Options of databases, graphs, blobs, counters and combined values.

use crate::slow_query::SlowQueries;
use model::Type;
use relation::ValueColumn;
use session::Files;
use std::path::PathBuf;
use store::Durability;
use views::counters::{Combine, NumberType};
use views::graph::{GraphDef, VertexType, WeightType};
use views::keys::KeyType;
use views::write_buffer::Buffering;

/// How a database is opened. All other settings are derived from these.
#[derive(Clone, Debug)]
pub struct Options {
    /// The failures that acknowledged commits survive. Default: [`Durability::Sync`].
    pub durability: Durability,
    /// Memory for cached blocks, filters and indexes, in bytes, limited to half of the memory
    /// limit without a reserve of at most 24 MiB. Filters get a quarter of it; further tables are
    /// read without a filter. Default: 512 MiB.
    pub cache_bytes: u64,
    /// Memory limit of the whole database in bytes: cache, memtables, imports, transactions,
    /// queries, and 24 MiB for the program itself. Limits below 64 MiB are not kept. An import also
    /// uses three quarters of the cache; if it needs more, it spills to disk. Default: 1 GiB.
    pub memory_limit_bytes: u64,
    /// Number of worker threads, which also run parts of large queries. 0 (the default): one for
    /// each core.
    pub threads: usize,
    /// Open read-only, possibly while another process writes. Default: false.
    pub read_only: bool,
    /// Create the database if the folder holds none. Default: true.
    pub create: bool,
    /// Further folders for tables, for example on other disks. Tables are distributed evenly, by
    /// bytes.
    pub table_folders: Vec<PathBuf>,
    /// Read and write tables without the operating system's page cache. For data far larger than
    /// memory, together with a large `cache_bytes`.
    pub direct_io: bool,
    /// Files of the machine that scripts may read. Default: [`Files::Any`], since the scripts of a
    /// program may usually read what the program may. Use [`Files::None`] or a folder if you run
    /// scripts of others.
    pub files: Files,
    /// Reports scripts that take long. Default: none. Scripts of
    /// [`try_run`](crate::Database::try_run) are not timed: they take microseconds.
    pub on_slow_query: Option<SlowQueries>,
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
            on_slow_query: None,
        }
    }
}

/// Part of the limit for the program's code, thread stacks and buffers, and for memory that the
/// allocator keeps between uses. Measured.
const OWN_BYTES: u64 = 24 << 20;

impl Options {
    /// The shared part of the limit: all but [`OWN_BYTES`], or five eighths if that is more.
    fn shared_bytes(&self) -> u64 {
        self.memory_limit_bytes - OWN_BYTES.min(self.memory_limit_bytes / 8 * 3)
    }

    /// Size of a memtable: a sixteenth of the shared part, between 64 KiB and 64 MiB. Up to twice
    /// this is in memory during a flush.
    pub(crate) fn memtable_bytes(&self) -> u64 {
        (self.shared_bytes() / 16).clamp(64 << 10, 64 << 20)
    }

    /// The cache's share of the limit.
    pub(crate) fn cache_bytes(&self) -> u64 {
        self.cache_bytes.min(self.shared_bytes() / 2)
    }

    /// Part of the cache that an import borrows. The rest is enough for filters and indexes.
    pub(crate) fn cache_lent_bytes(&self) -> u64 {
        self.cache_bytes() / 4 * 3
    }

    /// Target size of a table. While it is written, the hashes of its keys take about twice as
    /// much, so a small limit needs small tables.
    pub(crate) fn table_bytes(&self) -> u64 {
        (self.shared_bytes() / 16).clamp(1 << 20, 32 << 20)
    }

    /// Memory of an import: the limit without two generations of memtables, the rest of the cache,
    /// the tables that `workers` write, and a sixteenth for memory that the allocator keeps. At
    /// least a quarter of the limit.
    pub(crate) fn import_bytes(&self, workers: u64) -> u64 {
        let cache = self.cache_bytes() - self.cache_lent_bytes();
        let others = 2 * self.memtable_bytes() + cache + 2 * workers * self.table_bytes();
        let limit = self.shared_bytes();
        limit.saturating_sub(others + limit / 16).max(limit / 4)
    }

    /// Memory of one query: the limit without two generations of memtables, the cache, and a
    /// sixteenth for the allocator. At least a quarter of the limit. Each of several concurrent
    /// queries may use this much.
    pub(crate) fn query_bytes(&self) -> u64 {
        let limit = self.shared_bytes();
        let others = 2 * self.memtable_bytes() + self.cache_bytes();
        limit.saturating_sub(others + limit / 16).max(limit / 4)
    }

    /// Maximum number of counters in the write buffer: a sixteenth of the limit, at about 48 bytes
    /// a key, 16 of them for writing it. A long string counts as several.
    pub(crate) fn increments_buffered_max(&self) -> u64 {
        (self.memory_limit_bytes / 16 / Buffering::BYTES_A_ROW).max(1 << 10)
    }

    /// Maximum size of the write buffer of combined values, with keys: a sixteenth of the limit.
    pub(crate) fn combined_buffered_bytes(&self) -> u64 {
        (self.memory_limit_bytes / 16).max(64 << 10)
    }

    /// Size of a log segment: as a memtable, so that a small memory limit needs little disk space.
    pub(crate) fn wal_segment_bytes(&self) -> u64 {
        self.memtable_bytes()
    }
}

/// Options to create blobs with. Existing blobs must have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobOptions {
    /// Type of the keys. Default: `u64`.
    pub key: KeyType,
}

/// Options to create counters with. Existing counters must have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterOptions {
    /// Type of the keys. Default: `u64`.
    pub key: KeyType,
    /// Type of the values. Default: integers.
    pub number: NumberType,
    /// How a counter combines the numbers that are added. Default: their sum.
    pub combine: Combine,
}

/// Options to create combined values with. Existing ones must have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CombinedOptions {
    /// Type of the keys. Default: `u64`.
    pub key: KeyType,
}

/// Options to create a graph with. An existing graph must have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphOptions {
    /// Type of the vertices. Default: `u64`.
    pub vertex: VertexType,
    /// Type of the weights. Default: none.
    pub weight: WeightType,
    /// Properties of edges besides the weight: columns of the graph's relation. Default: none.
    pub edges: Properties,
    /// Properties of vertices: columns of the relation `NAME:nodes`, keyed by vertex. With an empty
    /// list, vertices without edges can still be stored. Default: no such relation.
    pub nodes: Option<Properties>,
    /// Whether an edge has no direction: it is stored once, and found from both its ends. Default:
    /// it has one.
    pub is_undirected: bool,
    /// Whether several edges may lead from one vertex to another, told apart by integer keys: the
    /// key column `key` of the graph's relation. Default: at most one.
    pub is_keyed: bool,
}

/// Names and types of properties. One with a [`Type::Nullable`] may be null.
pub type Properties = Vec<(String, Type)>;

impl GraphOptions {
    /// The options that an existing graph was created with.
    #[must_use]
    pub fn of(def: &GraphDef) -> Self {
        let property = |column: &ValueColumn| {
            let of = column.column_type.clone();
            let of = if column.nullable { Type::Nullable(Box::new(of)) } else { of };
            (column.name.clone(), of)
        };
        let properties = |columns: &Vec<ValueColumn>| columns.iter().map(property).collect();
        Self {
            vertex: def.vertex,
            weight: def.weight,
            edges: properties(&def.edges),
            nodes: def.nodes.as_ref().map(properties),
            is_undirected: def.is_undirected,
            is_keyed: def.is_keyed,
        }
    }

    /// The definition of a graph with these options.
    pub(crate) fn into_def(self, name: &str) -> GraphDef {
        let column = |(name, of)| match of {
            Type::Nullable(of) => ValueColumn { nullable: true, ..ValueColumn::new(name, *of) },
            of => ValueColumn::new(name, of),
        };
        let columns = |properties: Properties| properties.into_iter().map(column).collect();
        GraphDef {
            edges: columns(self.edges),
            nodes: self.nodes.map(columns),
            is_undirected: self.is_undirected,
            is_keyed: self.is_keyed,
            ..GraphDef::new(name, self.vertex, self.weight)
        }
    }
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
                // An import also uses a part of the cache.
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
