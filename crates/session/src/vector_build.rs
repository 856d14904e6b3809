//! Fills a vector index whose relation has rows: the graph is built in memory, then its rows are
//! loaded in their order, and the last load also writes the row that marks the index as complete.

use crate::admin::Admin;
use crate::ambient::EnvAmbient;
use crate::dml::bulk_load::{Rows, load};
use crate::dml::vector_rows::{VectorRows, append_link, append_vertex, decoded};
use base::{Batch, Kind, Projection};
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::query_result::QueryResult;
use exec::storage::vector_index::VectorIndex;
use search::hnsw::{Editor, Graph, WholeSource};
use store::{ErrorKind, Read};
use syntax::Span;

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 4096;

/// Most bytes of links that are loaded together.
const LOAD_BYTES_MAX: u64 = 256 << 20;

/// A graph with the names of its vertices, by number.
struct Built {
    graph: Graph,
    names: Vec<Vec<u8>>,
    /// Bytes of the names.
    name_bytes: u64,
}

impl Built {
    /// Approximate size in bytes. Reads the whole graph.
    fn bytes(&self) -> u64 {
        self.graph.bytes() + self.name_bytes
    }
}

/// Loads the rows of an index; the last load marks it as complete.
///
/// # Errors
/// A value that is not such a vector, failures of the store, and what stops it.
pub(crate) fn fill(
    admin: &Admin<'_>,
    rows: &VectorRows,
    limits: &QueryLimits<'_>,
    span: Span,
) -> Result<QueryResult> {
    let snapshot = admin.store.snapshot();
    let built = build(&*snapshot, rows, limits, span)?;
    drop(snapshot);
    let index = &rows.index;
    let bytes = built.bytes();
    let check = || limits.check(bytes);
    let bytes_max = LOAD_BYTES_MAX.min(limits.memory_bytes_max() / 4);
    let mut links = Batch::new(&index.links.shape);
    let mut vertices = Batch::new(&index.vertices.shape);
    for number in 0..built.graph.numbers_end() as u32 {
        append(index, &built, number, (&mut links, &mut vertices))?;
        if (number as usize).is_multiple_of(CHUNK_ROWS) {
            check()?;
        }
        if links.heap_bytes() as u64 > bytes_max {
            let full = std::mem::replace(&mut links, Batch::new(&index.links.shape));
            let keyspace = index.links.keyspace;
            load(&**admin.store, vec![Rows { keyspace, rows: full }], &check)?;
        }
    }
    let ready = admin.catalog.ready_row(&rows.def.name, Kind::Put)?;
    let tables = vec![
        Rows { keyspace: index.links.keyspace, rows: links },
        Rows { keyspace: index.vertices.keyspace, rows: vertices },
        Rows { keyspace: ready.keyspace, rows: ready.rows },
    ];
    load(&**admin.store, tables, &check)?;
    Ok(QueryResult::status("OK"))
}

/// Builds the graph of all rows of the relation.
fn build(
    read: &dyn Read,
    rows: &VectorRows,
    limits: &QueryLimits<'_>,
    span: Span,
) -> Result<Built> {
    let index = &rows.index;
    let graph = Graph::new(index.settings.clone(), false);
    let mut built = Built { graph, names: Vec::new(), name_bytes: 0 };
    let path = &index.relation;
    let mut scan = read.scan(path.keyspace, path.all(), Projection::ALL)?;
    let mut batch = Batch::new(&path.shape);
    let ambient = EnvAmbient(limits);
    let mut source = WholeSource(|_: &Graph| limits.check(0));
    while scan.next_batch(CHUNK_ROWS, &mut batch)? {
        for row in 0..batch.rows {
            let row = path.schema.row(&batch, row)?;
            for (name, vector) in rows.vectors(&row, &ambient, span)? {
                let graph = &mut built.graph;
                let id = index.ids(&name).find(|id| graph.number(*id).is_none());
                let id = id.ok_or_else(|| {
                    let what = format!("index {:?}: too many equal hashes", rows.def.name);
                    Error::from(store::Error::new(ErrorKind::Limit, what))
                })?;
                Editor { graph, source: &mut source }.insert(id, &vector)?;
                // Nothing is removed, so numbers ascend.
                built.name_bytes += (name.len() + size_of::<Vec<u8>>()) as u64;
                built.names.push(name);
            }
        }
        batch.clear();
        limits.check(built.bytes())?;
    }
    Ok(built)
}

/// Appends the rows of a vertex.
fn append(
    index: &VectorIndex,
    built: &Built,
    number: u32,
    (links, vertices): (&mut Batch, &mut Batch),
) -> store::Result<()> {
    let graph = &built.graph;
    let Some(id) = graph.id(number) else { return Ok(()) };
    let values = |number: u32| decoded(index, &built.names[number as usize]);
    let own = values(number)?;
    let mut count = 0;
    for layer in 0..=id.layer() {
        for link in graph.link_rows(number, layer) {
            let Some(to) = graph.number(link.to) else { continue };
            append_link(index, (id, &own), layer, (&link, &values(to)?), links)?;
            count += 1;
        }
    }
    append_vertex(index, id, &own, count, vertices)
}
