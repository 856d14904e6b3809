//! The rows of a vector index: changed with the rows of its relation.
//!
//! # How
//! The parts of the graph that a change touches are read, the graph is changed in memory
//! ([`search::hnsw`]), and the links that differ are written.
//!
//! # Conflicts
//! 1. Transactions that change the same link conflict; one of them is retried.
//! 2. A writer that changes links of a vertex merges a number into the row of the vertex. So
//!    writers near each other do not conflict, but each of them does with one that removes or
//!    replaces the vertex: no link leads to a vertex that is gone.
//! 3. The first vectors of an empty index would not know of each other. Their writers delete a row
//!    that is never there, and so conflict.

use crate::dml::extract::{RowCells, RowChange, failed, part_writes};
use crate::search_storage::expression;
use crate::vector_index::vector_index;
use base::{Batch, KeyRef, KeyspaceId, Kind};
use exec::error::{Error, Result};
use exec::expr::Computer;
use exec::storage::vector_cache::estimated_bytes;
use exec::storage::vector_index::{StoredVectors, VectorIndex};
use exec::value::cell::Interner;
use function::FunctionContext;
use hashbrown::HashMap;
use model::{Value, decode_tuple};
use relation::{Schema, SearchDef};
use search::hnsw::{Changes, Editor, Graph, GraphView, LinkRow, VertexId};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Kinds, Read, TableWrites};
use syntax::Span;

/// The id of the row that is deleted with the first vectors of an empty index. No vertex has it.
const FIRST_VECTOR: u64 = u64::MAX;

/// The parts of a graph that are read to change it may take the memory of a query divided by this.
const MEMORY_SHARE: u64 = 4;

/// Vertices that are read for the first time with a candidate of a search, about.
const READ_OF_CANDIDATE: usize = 16;

/// A vector index of a relation, ready to be written.
pub(crate) struct VectorRows {
    /// Its definition.
    pub def: SearchDef,
    /// Where its rows are, and how they are made.
    pub index: Arc<VectorIndex>,
    /// Whether a row is indexed, over the relation's columns.
    filter: Option<plan::Expr>,
}

/// The vectors of a row, by name.
pub(crate) type RowVectors = BTreeMap<Vec<u8>, Vec<f32>>;

impl VectorRows {
    /// An index of a relation with this schema; `ids` are the keyspaces of its parts.
    ///
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn open(
        def: SearchDef,
        ids: &[KeyspaceId],
        schema: &Schema,
        main: KeyspaceId,
    ) -> store::Result<Self> {
        let index = Arc::new(vector_index(&def, ids, schema, main)?);
        let filter = expression(&def, "filter", schema)?;
        Ok(Self { def, index, filter })
    }

    /// The vectors of a row that are indexed.
    ///
    /// # Errors
    /// A filter that fails, and values that are not such vectors.
    pub(crate) fn vectors(
        &self,
        row: &[Value],
        ambient: &dyn FunctionContext,
        span: Span,
    ) -> Result<RowVectors> {
        let mut vectors = RowVectors::new();
        if let Some(filter) = &self.filter {
            let interner = Interner::default();
            let computer = Computer::new(&interner, &[], ambient);
            let cells = RowCells(row.iter().map(|value| interner.cell(value)).collect());
            let is_true = computer.compile(filter).and_then(|filter| {
                let cell = computer.compute(&filter, &cells, 0)?;
                computer.truth(cell, "`filter`", span)
            });
            if !is_true.map_err(|error| failed(&self.def.name, error, span))? {
                return Ok(vectors);
            }
        }
        let key = &row[..self.index.relation.schema.keys.len()];
        for (place, &field) in self.index.fields.iter().enumerate() {
            let found = self
                .index
                .vectors_of(&row[field])
                .map_err(|why| Error::value(format!("index `{}` {why}", self.def.name), span))?;
            for (sub_idx, vector) in found {
                vectors.insert(self.index.name(key, place, sub_idx), vector);
            }
        }
        Ok(vectors)
    }

    /// Most rows that may be changed together: the vertices that are read for all of them stay in
    /// memory.
    ///
    /// # Errors
    /// Failures of the store.
    pub(crate) fn rows_max(&self, read: &dyn Read, memory_bytes_max: u64) -> store::Result<usize> {
        let bytes_max = memory_bytes_max / MEMORY_SHARE;
        if estimated_bytes(read, &self.index)? <= bytes_max {
            return Ok(usize::MAX);
        }
        let settings = &self.index.settings;
        let vertices = (settings.ef_construction.max(settings.m) * READ_OF_CANDIDATE) as u64;
        let rows = bytes_max / (vertices * StoredVectors::<Error>::vertex_bytes(&self.index));
        Ok(usize::try_from(rows).unwrap_or(usize::MAX).max(1))
    }

    /// The writes to all parts of the index for changed rows, which are not written yet.
    ///
    /// # Errors
    /// As [`VectorRows::vectors`]; what stops the script; failures of the store.
    pub(crate) fn writes(
        &self,
        read: &dyn Read,
        changes: &[RowChange<'_>],
        ambient: &dyn FunctionContext,
        span: Span,
    ) -> Result<Vec<TableWrites>> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for &(old, new) in changes {
            let vectors = |row: Option<&[Value]>| match row {
                Some(row) => self.vectors(row, ambient, span),
                None => Ok(RowVectors::new()),
            };
            let (old, new) = (vectors(old)?, vectors(new)?);
            let is_gone = |(name, old): &(&Vec<u8>, &Vec<f32>)| !is_same(old, new.get(*name));
            removed.extend(old.iter().filter(is_gone).map(|(name, _)| name.clone()));
            added.extend(new.into_iter().filter(|(name, new)| !is_same(new, old.get(name))));
        }
        if removed.is_empty() && added.is_empty() {
            return Ok(Vec::new());
        }
        let check = |bytes: u64| -> Result<()> {
            ambient.request_memory(bytes).map_err(|failure| Error::failed(failure, span))
        };
        let mut graph = Graph::new(self.index.settings.clone(), true);
        let mut source = StoredVectors::<Error>::new(&self.index, read, &check);
        let is_first = !added.is_empty()
            && Editor { graph: &mut graph, source: &mut source }.entry()?.is_none();
        for name in removed {
            // One that a damaged index does not have: a check reports that.
            let Some(number) = source.find(&mut graph, &name)? else { continue };
            Editor { graph: &mut graph, source: &mut source }.remove(number)?;
        }
        for (name, vector) in added {
            let id = source.new_id(&graph, &name)?;
            Editor { graph: &mut graph, source: &mut source }.insert(id, &vector)?;
            if let Some(number) = graph.number(id) {
                source.set_name(number, name);
            }
        }
        let name_of = |id: VertexId| graph.number(id).map(|number| source.name(number));
        let mut tables = self.tables(&graph.changes(), &name_of)?;
        if is_first {
            let path = &self.index.vertices;
            let mut rows = Batch::new(&path.shape);
            append_deleted(&[FIRST_VECTOR], &mut rows);
            tables.push(part_writes(path, Kinds::PerRow(vec![Kind::Delete]), rows));
        }
        Ok(tables)
    }

    /// The rows that some changes of the graph write.
    fn tables<'n>(
        &self,
        changes: &Changes,
        name_of: &dyn Fn(VertexId) -> Option<&'n [u8]>,
    ) -> store::Result<Vec<TableWrites>> {
        let index = &self.index;
        let missing = || index.corrupt("a vertex has no name");
        let values = |id: VertexId| decoded(index, name_of(id).ok_or_else(missing)?);
        let mut links = Batch::new(&index.links.shape);
        let (mut kinds, mut counts) = (Vec::new(), HashMap::<VertexId, i64>::new());
        for (&(id, layer), (old, new)) in &changes.links {
            if old != new {
                *counts.entry(id).or_default() += new.len() as i64 - old.len() as i64;
            }
            for row in old.iter().filter(|row| new.binary_search_by_key(&row.to, to).is_err()) {
                append_deleted(&link_key(id, layer, row.to), &mut links);
                kinds.push(Kind::Delete);
            }
            let is_new = |row: &&LinkRow| match old.binary_search_by_key(&row.to, to) {
                Ok(place) => old[place] != **row,
                Err(_) => true,
            };
            for row in new.iter().filter(is_new) {
                append_link(index, (id, &values(id)?), layer, (row, &values(row.to)?), &mut links)?;
                kinds.push(Kind::Put);
            }
        }
        let mut vertices = Batch::new(&index.vertices.shape);
        let mut vertex_kinds = Vec::new();
        for &id in changes.added.iter().chain(&changes.replaced) {
            counts.remove(&id);
            let of_vertex = changes.links.range((id, 0)..=(id, id.layer()));
            let links: usize = of_vertex.map(|(_, (_, new))| new.len()).sum();
            append_vertex(index, id, &values(id)?, links as i64, &mut vertices)?;
            vertex_kinds.push(Kind::Put);
        }
        for &id in &changes.removed {
            counts.remove(&id);
            append_deleted(&[id.number()], &mut vertices);
            vertex_kinds.push(Kind::Delete);
        }
        let mut counts: Vec<(VertexId, i64)> = counts.into_iter().collect();
        counts.sort_unstable();
        // One that was added and removed again has no name, and no row.
        for (id, count) in counts.into_iter().filter(|(id, _)| name_of(*id).is_some()) {
            append_vertex(index, id, &values(id)?, count, &mut vertices)?;
            vertex_kinds.push(Kind::Merge);
        }
        Ok(vec![
            part_writes(&index.links, Kinds::PerRow(kinds), links),
            part_writes(&index.vertices, Kinds::PerRow(vertex_kinds), vertices),
        ])
    }
}

/// Whether a vector stays as it is.
fn is_same(vector: &[f32], other: Option<&Vec<f32>>) -> bool {
    let bits = |vector: &[f32]| vector.iter().map(|item| item.to_bits()).collect::<Vec<_>>();
    other.is_some_and(|other| bits(vector) == bits(other))
}

fn to(row: &LinkRow) -> VertexId {
    row.to
}

fn link_key(from: VertexId, layer: usize, to: VertexId) -> [u64; 3] {
    [from.number(), exec::storage::vector_index::layer_word(layer), to.number()]
}

/// Appends a key whose row is deleted.
fn append_deleted(key: &[u64], out: &mut Batch) {
    out.keys.push(KeyRef::Words(key));
    out.values.iter_mut().for_each(base::Column::push_null);
    out.rows += 1;
}

/// The values of the columns that identify a vector.
pub(crate) fn decoded(index: &VectorIndex, name: &[u8]) -> store::Result<Vec<Value>> {
    decode_tuple(name).map_err(|error| index.corrupt(&error.to_string()))
}

/// Appends a link. Of both ends the values of the columns that identify them are given.
///
/// # Errors
/// Values that do not fit.
pub(crate) fn append_link(
    index: &VectorIndex,
    (from, from_values): (VertexId, &[Value]),
    layer: usize,
    (link, to_values): (&LinkRow, &[Value]),
    out: &mut Batch,
) -> store::Result<()> {
    let mut row = Vec::with_capacity(from_values.len() + to_values.len() + 5);
    let layer = Value::Int(-(layer as i64));
    row.extend([Value::Id(from.number()), layer, Value::Id(link.to.number())]);
    row.extend_from_slice(from_values);
    row.extend_from_slice(to_values);
    row.extend([Value::Float(f64::from(link.distance)), Value::Bool(link.is_pruned)]);
    index.links.schema.append(row, out)
}

/// Appends a vertex.
///
/// # Errors
/// Values that do not fit.
pub(crate) fn append_vertex(
    index: &VectorIndex,
    id: VertexId,
    values: &[Value],
    links: i64,
    out: &mut Batch,
) -> store::Result<()> {
    let mut row = vec![Value::Id(id.number())];
    row.extend_from_slice(values);
    row.push(Value::Int(links));
    index.vertices.schema.append(row, out)
}
