//! Statistics of a database, its graphs and its relations.

use super::Database;
use relation::{BlobsPart, Entry};
use store::{Activity, KeyspaceStats, Result, StoreStats, WrittenBytes};
use views::combined::CombinedDef;
use views::counters::CountersDef;
use views::graph::GraphDef;

/// Statistics of a database.
#[derive(Clone, Debug)]
pub struct DatabaseStats {
    /// Bytes of all tables.
    pub disk_bytes: u64,
    /// Bytes of the log that recovery would read.
    pub log_bytes: u64,
    /// Bytes written since it was opened.
    pub written: WrittenBytes,
    /// Bytes of cached blocks, filters and indexes.
    pub cache_bytes: u64,
    /// Background jobs and waits since it was opened.
    pub activity: Activity,
    /// Sequence number of the newest commit.
    pub commits: u64,
    /// Graphs, ordered by name.
    pub graphs: Vec<GraphStats>,
    /// Relations, ordered by name.
    pub relations: Vec<RelationStats>,
    /// Indexes of relations, ordered by name; a name is `relation:index`.
    pub indexes: Vec<RelationStats>,
    /// Blobs, ordered by name.
    pub blobs: Vec<RelationStats>,
    /// Counters, ordered by name.
    pub counters: Vec<RelationStats>,
    /// Combined values, ordered by name.
    pub combined: Vec<RelationStats>,
}

/// Statistics of blobs, counters or combined values.
#[derive(Clone, Debug)]
pub struct RelationStats {
    /// Its name.
    pub name: String,
    /// Number of rows, or of keys.
    pub rows: u64,
    /// Bytes of its tables, long values included.
    pub disk_bytes: u64,
    /// Bytes of its memtables.
    pub memory_bytes: u64,
    /// Number of tables.
    pub tables: u64,
}

/// Statistics of a graph.
#[derive(Clone, Debug)]
pub struct GraphStats {
    /// Name and types.
    pub def: GraphDef,
    /// Number of edges.
    pub edges: u64,
    /// Number of vertices that have an edge or properties.
    pub vertices: u64,
    /// Bytes of its tables: both directions, the dictionary, and the properties of vertices.
    pub disk_bytes: u64,
    /// Bytes of its memtables.
    pub memory_bytes: u64,
    /// Number of tables.
    pub tables: u64,
}

impl Database {
    /// Statistics of the database and of each graph, relation, index, blobs, counters and combined
    /// values.
    ///
    /// # Errors
    /// Counting reads; see [`Graph::number_of_edges`](views::graph::Graph::number_of_edges).
    pub fn stats(&self) -> Result<DatabaseStats> {
        self.check_open()?;
        self.flush_buffers()?;
        let store = self.parts()?.store.stats();
        let graphs = self.graphs()?.into_iter().map(|def| self.graph_stats(def, &store));
        let graphs = graphs.collect::<Result<_>>()?;
        let (mut blobs, mut counters, mut combined) = (Vec::new(), Vec::new(), Vec::new());
        let (mut relations, mut indexes) = (Vec::new(), Vec::new());
        for entry in self.list()? {
            let into = match &entry {
                Entry::Blobs(..) => &mut blobs,
                Entry::Relation(schema, _) if CountersDef::of_schema(schema).is_some() => {
                    &mut counters
                }
                Entry::Relation(schema, _) if CombinedDef::of_schema(schema).is_some() => {
                    &mut combined
                }
                Entry::Relation(schema, _) if schema.name.contains(':') => &mut indexes,
                Entry::Relation(..) => &mut relations,
                Entry::Graph(..) | Entry::Nodes(..) => continue,
            };
            into.push(self.relation_stats(&entry, &store)?);
        }
        Ok(DatabaseStats {
            relations,
            indexes,
            blobs,
            counters,
            combined,
            disk_bytes: store.keyspaces.iter().map(|(_, stats)| stats.disk_bytes).sum(),
            log_bytes: store.log_bytes,
            written: store.written,
            cache_bytes: store.cache_bytes,
            activity: store.activity,
            commits: store.seq.0,
            graphs,
        })
    }

    fn graph_stats(&self, def: GraphDef, store: &StoreStats) -> Result<GraphStats> {
        let graph = self.require_graph(&def.name)?;
        let parts: Vec<_> = def.parts().iter().map(|&part| def.keyspace_name(part)).collect();
        let keyspaces: Vec<_> =
            store.keyspaces.iter().filter(|(info, _)| parts.contains(&info.name)).collect();
        let tables = |stats: &KeyspaceStats| stats.tables_per_level.iter().sum::<u64>();
        Ok(GraphStats {
            edges: graph.number_of_edges()?,
            vertices: graph.number_of_vertices()?,
            disk_bytes: keyspaces.iter().map(|(_, stats)| stats.disk_bytes).sum(),
            memory_bytes: keyspaces.iter().map(|(_, stats)| stats.memory_bytes).sum(),
            tables: keyspaces.iter().map(|(_, stats)| tables(stats)).sum(),
            def,
        })
    }

    fn relation_stats(&self, entry: &Entry, store: &StoreStats) -> Result<RelationStats> {
        let name = entry.name().to_owned();
        let large = format!("{name}{}", BlobsPart::Large.suffix());
        let parts: Vec<_> = store
            .keyspaces
            .iter()
            .filter(|(info, _)| info.name == name || info.name == large)
            .map(|(_, stats)| stats)
            .collect();
        Ok(RelationStats {
            rows: self.store().count(entry.keyspace())?,
            disk_bytes: parts.iter().map(|stats| stats.disk_bytes).sum(),
            memory_bytes: parts.iter().map(|stats| stats.memory_bytes).sum(),
            tables: parts.iter().map(|stats| stats.tables_per_level.iter().sum::<u64>()).sum(),
            name,
        })
    }
}
