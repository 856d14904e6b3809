//! Graphs of vector indexes in memory, cached across queries.
//!
//! # Why
//! A search reads the links of some hundred vertices and compares thousands of vectors. From rows
//! that takes milliseconds, from memory some ten microseconds.
//!
//! # How it follows changes
//! The store tells which vertices changed since the graph was read
//! ([`store::Snapshot::changed_since`]): keys of the index begin with the vertex. Only these are
//! read again. Where too many changed, the graph is read as a whole.

use crate::snapshot_cache::{Key, SnapshotCache};
use crate::storage::access_path::StoredPath;
use crate::storage::vector_index::{CheckBytes, VectorIndex, layer_word};
use base::{Batch, KeyRange, Projection, SeqNo};
use env::sync::Mutex;
use hashbrown::HashMap;
use model::Value;
use search::hnsw::{Graph, Link, VertexId};
use std::sync::Arc;
use store::{Error, Read, Snapshot};

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 4096;

/// Bytes of a vertex besides its vector and its links, about.
const VERTEX_BYTES: u64 = 250;

/// Bytes of a link, about: lists have room for more.
const LINK_BYTES: u64 = 12;

/// A graph is patched where at most this share of its vertices, 1 / n, changed.
const PATCHED_SHARE: usize = 4;

/// A whole graph, with the names of its vertices.
#[derive(Clone, Debug)]
pub struct VectorGraph {
    /// The graph. It has no pruned links.
    pub graph: Graph,
    /// By number of the vertex.
    names: Vec<Box<[u8]>>,
}

impl VectorGraph {
    /// The name of a vertex (see `vector_index.rs`).
    pub(crate) fn name(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Approximate size in bytes. Reads the whole graph.
    fn bytes(&self) -> u64 {
        let names: usize = self.names.iter().map(|name| name.len() + 24).sum();
        self.graph.bytes() + names as u64
    }

    fn set_name(&mut self, number: u32, name: Vec<u8>) {
        if self.names.len() <= number as usize {
            self.names.resize(number as usize + 1, Box::default());
        }
        self.names[number as usize] = name.into();
    }
}

/// The cached graphs of an engine.
#[derive(Debug)]
pub struct VectorCache {
    kept: SnapshotCache<Arc<VectorGraph>>,
    /// Held while a graph is read, so that other queries wait for it and do not read it too.
    reading: Mutex<()>,
    bytes_max: u64,
}

impl VectorCache {
    /// An empty cache of at most `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        Self { kept: SnapshotCache::new(bytes_max), reading: Mutex::default(), bytes_max }
    }

    /// The graph of an index as a snapshot has it; `None` where it takes too much memory.
    ///
    /// # Errors
    /// Those of the store and of `check`.
    pub(crate) fn graph<E: From<Error>>(
        &self,
        snapshot: &dyn Snapshot,
        index: &VectorIndex,
        check: CheckBytes<'_, E>,
    ) -> Result<Option<Arc<VectorGraph>>, E> {
        let (links, vertices) = (index.links.keyspace, index.vertices.keyspace);
        let keyspace = index.relation.keyspace;
        let key = Key { keyspace, path: links, columns: index.fields.clone() };
        let moment = snapshot.changed_at(links)?.max(snapshot.changed_at(vertices)?);
        if let Some(graph) = self.kept.get(&key, moment) {
            return Ok(Some(graph));
        }
        let _reading = self.reading.lock();
        if let Some(graph) = self.kept.get(&key, moment) {
            return Ok(Some(graph));
        }
        let patched = self.patched(snapshot, index, &key, moment, check)?;
        let graph = match patched {
            Some(graph) => graph,
            None => {
                if estimated_bytes(snapshot, index)? > self.bytes_max {
                    return Ok(None);
                }
                // From now on the store must track the changes.
                snapshot.changed_since(links, moment)?;
                snapshot.changed_since(vertices, moment)?;
                Arc::new(read_whole(snapshot, index, check)?)
            }
        };
        self.kept.remove_dropped(snapshot);
        self.kept.put(key, moment, Arc::clone(&graph), graph.bytes());
        Ok(Some(graph))
    }

    /// An older graph after its changed vertices were read again.
    fn patched<E: From<Error>>(
        &self,
        snapshot: &dyn Snapshot,
        index: &VectorIndex,
        key: &Key,
        moment: SeqNo,
        check: CheckBytes<'_, E>,
    ) -> Result<Option<Arc<VectorGraph>>, E> {
        let Some((since, graph)) = self.kept.up_to(key, moment) else { return Ok(None) };
        let mut changed = Vec::new();
        for path in [&index.links, &index.vertices] {
            let Some(words) = snapshot.changed_since(path.keyspace, since)? else {
                return Ok(None);
            };
            changed.extend(words.into_iter().filter_map(VertexId::of_number));
        }
        changed.sort_unstable();
        changed.dedup();
        if changed.len() > graph.graph.len() / PATCHED_SHARE {
            return Ok(None);
        }
        // Without this reference the graph need not be copied, unless another query has it.
        drop(graph);
        let Some((at, graph)) = self.kept.take(key, moment) else { return Ok(None) };
        if at < since {
            return Ok(None);
        }
        let mut graph = Arc::unwrap_or_clone(graph);
        patch(snapshot, index, &mut graph, &changed, check)?;
        Ok(Some(Arc::new(graph)))
    }
}

/// The size of the graph of an index in memory, about.
///
/// # Errors
/// Those of the store.
pub fn estimated_bytes(read: &dyn Read, index: &VectorIndex) -> store::Result<u64> {
    let rows = |path: &StoredPath| -> store::Result<u64> {
        Ok(read.estimate(path.keyspace, &path.all())?.rows)
    };
    let vertex_bytes = 4 * index.settings.dim as u64 + VERTEX_BYTES;
    let vertices = rows(&index.vertices)?.saturating_mul(vertex_bytes);
    Ok(vertices.saturating_add(rows(&index.links)?.saturating_mul(LINK_BYTES)))
}

/// Reads vertices again, with their links.
fn patch<E: From<Error>>(
    read: &dyn Read,
    index: &VectorIndex,
    whole: &mut VectorGraph,
    changed: &[VertexId],
    check: CheckBytes<'_, E>,
) -> Result<(), E> {
    for ids in changed.chunks(CHUNK_ROWS) {
        check(0)?;
        let mut there = Vec::new();
        for (&id, name) in ids.iter().zip(index.names(read, ids)?) {
            match (name, whole.graph.number(id)) {
                (Some(name), _) => there.push((id, name)),
                (None, Some(number)) => whole.graph.remove_vertex(number),
                (None, None) => {}
            }
        }
        let names: Vec<&[u8]> = there.iter().map(|(_, name)| name.as_slice()).collect();
        let vectors = index.vectors(read, &names)?;
        for ((id, name), vector) in there.into_iter().zip(vectors) {
            let number = match whole.graph.number(id) {
                Some(number) => {
                    whole.graph.set_vector(number, &vector);
                    number
                }
                None => whole.graph.add_vertex(id, &vector, true),
            };
            whole.set_name(number, name);
        }
    }
    let path = &index.links;
    let mut rows = Batch::new(&path.shape);
    for &id in changed {
        let Some(number) = whole.graph.number(id) else { continue };
        check(0)?;
        for layer in 0..=id.layer() {
            rows.clear();
            let range = KeyRange::prefix_words(&[id.number(), layer_word(layer)]);
            let projection = index.link_projection(false);
            read.scan_into(path.keyspace, &range, projection, usize::MAX, &mut rows)?;
            let mut links = Vec::new();
            index.each_link::<E>(&rows, &mut |_, _, to, distance, is_ignored| {
                if !is_ignored {
                    let to = whole.graph.number(to);
                    let to = to.ok_or_else(|| index.corrupt("a link leads nowhere"))?;
                    links.push(Link { to, distance });
                }
                Ok(())
            })?;
            whole.graph.set_links(number, layer, links, Vec::new());
        }
    }
    Ok(())
}

/// Reads a graph as a whole: the vertices, their vectors in the order of the relation, then the
/// links.
fn read_whole<E: From<Error>>(
    read: &dyn Read,
    index: &VectorIndex,
    check: CheckBytes<'_, E>,
) -> Result<VectorGraph, E> {
    let graph = Graph::new(index.settings.clone(), false);
    let mut whole = VectorGraph { graph, names: Vec::new() };
    let mut ids = read_ids(read, index, check)?;
    let mut bytes = 0;
    each_vector::<E>(read, index, &mut |name, vector| {
        if let Some(id) = ids.remove(&name) {
            let number = whole.graph.add_vertex(id, &vector, true);
            bytes += 4 * vector.len() as u64 + name.len() as u64 + VERTEX_BYTES;
            whole.set_name(number, name);
            if (number as usize).is_multiple_of(CHUNK_ROWS) {
                check(bytes)?;
            }
        }
        Ok(())
    })?;
    if !ids.is_empty() {
        return Err(index.corrupt("it has vectors that the relation does not have").into());
    }
    read_links(read, index, &mut whole.graph, check)?;
    Ok(whole)
}

/// The ids of all vertices, by name.
fn read_ids<E: From<Error>>(
    read: &dyn Read,
    index: &VectorIndex,
    check: CheckBytes<'_, E>,
) -> Result<HashMap<Vec<u8>, VertexId>, E> {
    let path = &index.vertices;
    let mut scan = read.scan(path.keyspace, path.all(), index.vertex_projection())?;
    let (mut rows, mut ids) = (Batch::new(&path.shape), HashMap::new());
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        check(ids.len() as u64 * 64)?;
        for (row, id) in index.vertex_ids(&rows)?.into_iter().enumerate() {
            ids.insert(index.name_of_vertex(&rows, row)?, id);
        }
        rows.clear();
    }
    Ok(ids)
}

/// Receives the name of a vector, and the vector.
type VisitVector<'v, E> = &'v mut dyn FnMut(Vec<u8>, Vec<f32>) -> Result<(), E>;

/// Passes the vectors of all rows of the relation to `visit`, those that are not indexed included.
fn each_vector<E: From<Error>>(
    read: &dyn Read,
    index: &VectorIndex,
    visit: VisitVector<'_, E>,
) -> Result<(), E> {
    let path = &index.relation;
    let keys = path.schema.keys.len();
    let mut projection = Projection::KEYS;
    index.fields.iter().for_each(|field| projection.want_value(field - keys));
    let mut scan = read.scan(path.keyspace, path.all(), projection)?;
    let mut rows = Batch::new(&path.shape);
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        for row in 0..rows.rows {
            let key: Vec<Value> = path.schema.key(&rows, row)?;
            for (place, field) in index.fields.iter().enumerate() {
                let value = path.schema.value(&rows, field - keys, row)?;
                // A row that the filter of the index leaves out may have any value.
                for (sub_idx, vector) in index.vectors_of(&value).unwrap_or_default() {
                    visit(index.name(&key, place, sub_idx), vector)?;
                }
            }
        }
        rows.clear();
    }
    Ok(())
}

/// Reads all links that are followed.
fn read_links<E: From<Error>>(
    read: &dyn Read,
    index: &VectorIndex,
    graph: &mut Graph,
    check: CheckBytes<'_, E>,
) -> Result<(), E> {
    let path = &index.links;
    let mut scan = read.scan(path.keyspace, path.all(), index.link_projection(false))?;
    let mut rows = Batch::new(&path.shape);
    let mut bytes = graph.bytes();
    // The vertex and the layer whose links are being read: their rows come together.
    let (mut of, mut links): (Option<(u32, usize)>, Vec<Link>) = (None, Vec::new());
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        bytes += rows.rows as u64 * LINK_BYTES;
        check(bytes)?;
        index.each_link::<E>(&rows, &mut |from, layer, to, distance, is_ignored| {
            let number = |id| graph.number(id).ok_or_else(|| index.corrupt("a link leads nowhere"));
            let (from, to) = (number(from)?, number(to)?);
            if of != Some((from, layer))
                && let Some((number, layer)) = of.replace((from, layer))
            {
                graph.set_links(number, layer, std::mem::take(&mut links), Vec::new());
            }
            if !is_ignored {
                links.push(Link { to, distance });
            }
            Ok(())
        })?;
        rows.clear();
    }
    if let Some((number, layer)) = of {
        graph.set_links(number, layer, links, Vec::new());
    }
    Ok(())
}
