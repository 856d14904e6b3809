//! Reads the graph of a vector index.
//!
//! # Names
//! A vector is identified by the key of its row, the number of its field among the settings, and
//! its place in a list, encoded as a tuple. The id of its vertex is a hash of that name.

use crate::storage::access_path::StoredPath;
use base::{Batch, Column, KeyRange, KeyRef, KeyShape, Keys, Projection, int_to_word, word_to_int};
use model::{Value, Vector, VectorKind, decode_tuple, encode_tuple};
use relation::Schema;
use search::hnsw::{Graph, GraphSettings, Link, Source, VertexId};
use store::{Error, ErrorKind, Read, Result};

/// Maximum number of ids of one name, for names whose ids are equal.
pub const ATTEMPTS: u64 = 4;

/// The place in a list of a vector that is in no list.
pub const NO_LIST: i64 = -1;

/// First rows of the vertices that are read to find the entry.
const ENTRY_ROWS: usize = 16;

/// Bytes of a vertex that was read, besides its vector, about.
const VERTEX_BYTES: u64 = 512;

/// Columns of links after those of both ends, counted from there.
const DISTANCE: usize = 0;
const IS_IGNORED: usize = 1;

/// A vector index that can be searched.
#[derive(Debug)]
pub struct VectorIndex {
    /// `{fr__vertex, layer, to__vertex => …}`, see `relation::SearchPart::Links`.
    pub links: StoredPath,
    /// `{vertex => …}`, see `relation::SearchPart::Vertices`.
    pub vertices: StoredPath,
    /// The relation, whose rows have the vectors.
    pub relation: StoredPath,
    /// How the graph is made.
    pub settings: GraphSettings,
    /// The width of the vectors' floats.
    pub kind: VectorKind,
    /// Columns of the relation that are indexed.
    pub fields: Vec<usize>,
}

/// The stored word of a layer. Higher layers come first: they are negative, as in `CozoDB`.
#[must_use]
pub fn layer_word(layer: usize) -> u64 {
    int_to_word(-(layer as i64))
}

/// The layer of a stored word.
#[must_use]
pub fn layer_of_word(word: u64) -> Option<usize> {
    usize::try_from(word_to_int(word).checked_neg()?).ok()
}

impl VectorIndex {
    /// Number of key columns of the relation.
    fn keys(&self) -> usize {
        self.relation.schema.keys.len()
    }

    /// Number of columns that identify a vector.
    fn name_columns(&self) -> usize {
        self.keys() + 2
    }

    /// The name of a vector.
    #[must_use]
    pub fn name(&self, key: &[Value], field: usize, sub_idx: i64) -> Vec<u8> {
        let mut name = Vec::new();
        encode_tuple(key, &mut name);
        encode_tuple(&[Value::Int(field as i64), Value::Int(sub_idx)], &mut name);
        name
    }

    /// The key of the row, the number of the field, and the place in a list.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if the bytes are not a name.
    pub fn parts_of_name(&self, name: &[u8]) -> Result<(Vec<Value>, usize, i64)> {
        let mut values = decode_tuple(name).map_err(|error| self.corrupt(&error.to_string()))?;
        let ends = (values.pop(), values.pop());
        match ends {
            (Some(Value::Int(sub_idx)), Some(Value::Int(field)))
                if values.len() == self.keys()
                    && (0..self.fields.len() as i64).contains(&field) =>
            {
                Ok((values, field as usize, sub_idx))
            }
            _ => Err(self.corrupt("a name has the wrong columns")),
        }
    }

    /// The ids that a vertex of this name may have.
    pub fn ids(&self, name: &[u8]) -> impl Iterator<Item = VertexId> {
        let m = self.settings.m;
        (0..ATTEMPTS).map(move |attempt| VertexId::of_name(name, attempt, m))
    }

    /// The error of rows that are not those of an index.
    #[must_use]
    pub fn corrupt(&self, why: &str) -> Error {
        let name = &self.links.schema.name;
        let what = format!(
            "stored rows are not those of index {name:?}: {why}\n\
             hint: `quipu check` compares indexes, `quipu repair` makes one anew"
        );
        Error::new(ErrorKind::Corruption, what)
    }

    /// The vectors of a value of a field, with their places in a list. Null has none, also in a
    /// list.
    ///
    /// # Errors
    /// A message: the value is neither a vector nor a list of vectors, or a vector has the wrong
    /// number of dimensions.
    pub fn vectors_of(&self, value: &Value) -> std::result::Result<Vec<(i64, Vec<f32>)>, String> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Vector(vector) => Ok(vec![(NO_LIST, self.floats(vector)?)]),
            Value::List(items) => {
                let vector = |(place, item): (usize, &Value)| match item {
                    Value::Vector(vector) => Ok((place as i64, self.floats(vector)?)),
                    other => Err(format!("expects vectors, not {}", other.kind())),
                };
                let items = items.iter().enumerate().filter(|(_, item)| **item != Value::Null);
                items.map(vector).collect()
            }
            other => Err(format!("expects vectors, not {}", other.kind())),
        }
    }

    /// The floats of a vector, rounded to 32 bits.
    ///
    /// # Errors
    /// A message: it has the wrong number of dimensions.
    pub fn floats(&self, vector: &Vector) -> std::result::Result<Vec<f32>, String> {
        let floats: Vec<f32> = match vector {
            Vector::F32(items) => items.clone(),
            Vector::F64(items) => items.iter().map(|&item| item as f32).collect(),
        };
        match floats.len() == self.settings.dim {
            true => Ok(floats),
            false => {
                let (found, dim) = (floats.len(), self.settings.dim);
                Err(format!("expects vectors of {dim} numbers, not {found}"))
            }
        }
    }

    /// The name in some rows of links (`from` is where its columns begin) or of vertices.
    fn name_in(&self, schema: &Schema, rows: &Batch, from: usize, row: usize) -> Result<Vec<u8>> {
        let columns = from..from + self.name_columns();
        let values: Vec<Value> =
            columns.map(|column| schema.value(rows, column, row)).collect::<Result<_>>()?;
        let mut name = Vec::new();
        encode_tuple(&values, &mut name);
        Ok(name)
    }

    /// The name in a row of vertices.
    ///
    /// # Errors
    /// Stored bytes that are not a value.
    pub fn name_of_vertex(&self, rows: &Batch, row: usize) -> Result<Vec<u8>> {
        self.name_in(&self.vertices.schema, rows, 0, row)
    }

    /// The columns of vertices that are read.
    #[must_use]
    pub fn vertex_projection(&self) -> Projection {
        let mut projection = Projection::KEYS;
        (0..self.name_columns()).for_each(|column| projection.want_value(column));
        projection
    }

    /// The columns of links that are read; with `names` also those that identify the end.
    #[must_use]
    pub fn link_projection(&self, names: bool) -> Projection {
        let mut projection = Projection::KEYS;
        let ends = 2 * self.name_columns();
        if names {
            (ends / 2..ends).for_each(|column| projection.want_value(column));
        }
        projection.want_value(ends + DISTANCE);
        projection.want_value(ends + IS_IGNORED);
        projection
    }

    /// The distance of a link, and whether it is ignored.
    fn link_in(&self, rows: &Batch, row: usize) -> (f32, bool) {
        let ends = 2 * self.name_columns();
        let word = |column: usize| match rows.values.get(ends + column) {
            Some(Column::Words(words)) => words.words.get(row).copied().unwrap_or(0),
            _ => 0,
        };
        (base::word_to_float(word(DISTANCE)) as f32, word(IS_IGNORED) != 0)
    }

    /// Passes each link of some rows to `visit`: both ends, the layer, the distance, and whether it
    /// is ignored.
    ///
    /// # Errors
    /// Keys that are not those of links, and errors of `visit`.
    pub fn each_link<E: From<Error>>(
        &self,
        rows: &Batch,
        visit: &mut dyn FnMut(VertexId, usize, VertexId, f32, bool) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for row in 0..rows.rows {
            let (from, layer, to) = self.link_key(rows, row)?;
            let (distance, is_ignored) = self.link_in(rows, row);
            visit(from, layer, to, distance, is_ignored)?;
        }
        Ok(())
    }

    fn link_key(&self, rows: &Batch, row: usize) -> Result<(VertexId, usize, VertexId)> {
        let wrong = || self.corrupt("a link has no such key");
        let Keys::Words(words) = &rows.keys else { return Err(wrong()) };
        let [from, layer, to] = &words[..] else { return Err(wrong()) };
        let id = |words: &[u64]| words.get(row).and_then(|&word| VertexId::of_number(word));
        let layer = layer.get(row).and_then(|&word| layer_of_word(word));
        match (id(from), layer, id(to)) {
            (Some(from), Some(layer), Some(to)) if layer <= from.layer().min(to.layer()) => {
                Ok((from, layer, to))
            }
            _ => Err(wrong()),
        }
    }

    /// The ids in some rows of vertices.
    ///
    /// # Errors
    /// Keys that are not those of vertices.
    pub fn vertex_ids(&self, rows: &Batch) -> Result<Vec<VertexId>> {
        let Keys::Words(words) = &rows.keys else { return Err(self.corrupt("no ids")) };
        let ids = words.first().map(Vec::as_slice).unwrap_or_default().iter();
        ids.map(|&word| {
            VertexId::of_number(word).ok_or_else(|| self.corrupt("a vertex has no such id"))
        })
        .collect()
    }

    /// The values of fields in the rows of these vectors; `None` where a row or a vector is not
    /// there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn values(&self, read: &dyn Read, names: &[&[u8]]) -> Result<Vec<Option<Value>>> {
        let path = &self.relation;
        let parts = names.iter().map(|name| self.parts_of_name(name));
        let parts: Vec<(Vec<Value>, usize, i64)> = parts.collect::<Result<_>>()?;
        let mut keys = Keys::new(path.shape.key);
        for (key, ..) in &parts {
            self.push_key(key, &mut keys);
        }
        let keys_len = self.keys();
        let mut projection = Projection::COUNT;
        for &field in &self.fields {
            projection.want_value(field - keys_len);
        }
        let (mut present, mut rows) = (Vec::new(), Batch::new(&path.shape));
        read.get_many(path.keyspace, &keys, projection, &mut present, &mut rows)?;
        let value = |(row, (_, field, sub_idx)): (usize, (Vec<Value>, usize, i64))| {
            if !present[row] {
                return Ok(None);
            }
            let value = path.schema.value(&rows, self.fields[field] - keys_len, row)?;
            Ok(match value {
                Value::List(mut items) => {
                    let place = usize::try_from(sub_idx).ok().filter(|place| *place < items.len());
                    place.map(|place| items.swap_remove(place))
                }
                Value::Vector(_) if sub_idx == NO_LIST => Some(value),
                _ => None,
            })
        };
        parts.into_iter().enumerate().map(value).collect()
    }

    /// Appends the stored key of a row of the relation.
    fn push_key(&self, key: &[Value], keys: &mut Keys) {
        let schema = &self.relation.schema;
        match keys {
            Keys::Words(columns) => {
                for ((words, value), column) in columns.iter_mut().zip(key).zip(&schema.keys) {
                    let of = &column.column_type;
                    // An id and an integer are encoded alike.
                    let value = of.coerce(value.clone()).unwrap_or_else(|_| value.clone());
                    words.push(model::word_of_value(of, &value).unwrap_or_default());
                }
            }
            Keys::Bytes(bytes) => {
                let mut encoded = Vec::new();
                encode_tuple(key, &mut encoded);
                bytes.push(Some(&encoded));
            }
        }
    }

    /// As [`VectorIndex::values`], as floats.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Corruption`] for a vector that is not there.
    pub fn vectors(&self, read: &dyn Read, names: &[&[u8]]) -> Result<Vec<Vec<f32>>> {
        let floats = |value: Option<Value>| match value {
            Some(Value::Vector(vector)) => self.floats(&vector).map_err(|why| self.corrupt(&why)),
            _ => Err(self.corrupt("it has a vector that the relation does not have")),
        };
        self.values(read, names)?.into_iter().map(floats).collect()
    }

    /// The stored names of vertices; `None` where there is no such vertex.
    ///
    /// # Errors
    /// Those of the store.
    pub fn names(&self, read: &dyn Read, ids: &[VertexId]) -> Result<Vec<Option<Vec<u8>>>> {
        let path = &self.vertices;
        let mut keys = Keys::new(KeyShape::Words(1));
        ids.iter().for_each(|id| keys.push(KeyRef::Words(&[id.number()])));
        let (mut present, mut rows) = (Vec::new(), Batch::new(&path.shape));
        let projection = Projection { keys: 0, ..self.vertex_projection() };
        read.get_many(path.keyspace, &keys, projection, &mut present, &mut rows)?;
        let name = |(row, present): (usize, bool)| {
            present.then(|| self.name_of_vertex(&rows, row)).transpose()
        };
        present.into_iter().enumerate().map(name).collect()
    }
}

/// Receives the bytes that are held, and returns an error once the work has to stop.
pub type CheckBytes<'c, E> = &'c dyn Fn(u64) -> std::result::Result<(), E>;

/// A stored graph; its parts are read on demand.
pub struct StoredVectors<'r, E> {
    /// The index.
    pub index: &'r VectorIndex,
    /// The snapshot or transaction.
    pub read: &'r dyn Read,
    /// Checks the limits.
    pub check: CheckBytes<'r, E>,
    /// Names of the vertices in memory, by number.
    names: Vec<Vec<u8>>,
}

impl<'r, E: From<Error>> StoredVectors<'r, E> {
    /// Nothing was read yet.
    pub fn new(index: &'r VectorIndex, read: &'r dyn Read, check: CheckBytes<'r, E>) -> Self {
        Self { index, read, check, names: Vec::new() }
    }

    /// Bytes of a vertex in memory, about.
    #[must_use]
    pub fn vertex_bytes(index: &VectorIndex) -> u64 {
        4 * index.settings.dim as u64 + VERTEX_BYTES
    }

    /// The name of a vertex in memory.
    #[must_use]
    pub fn name(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// Sets the name of a vertex that was added to the graph.
    pub fn set_name(&mut self, number: u32, name: Vec<u8>) {
        if self.names.len() <= number as usize {
            self.names.resize(number as usize + 1, Vec::new());
        }
        self.names[number as usize] = name;
    }

    /// Adds stored vertices to the graph, with their vectors.
    fn add(&mut self, graph: &mut Graph, vertices: Vec<(VertexId, Vec<u8>)>) -> Result<()> {
        let names: Vec<&[u8]> = vertices.iter().map(|(_, name)| name.as_slice()).collect();
        let vectors = self.index.vectors(self.read, &names)?;
        for ((id, name), vector) in vertices.into_iter().zip(vectors) {
            let number = graph.add_vertex(id, &vector, false);
            self.set_name(number, name);
        }
        Ok(())
    }

    /// The stored vertex with this name, after it was added to the graph.
    ///
    /// # Errors
    /// Those of the store.
    pub fn find(&mut self, graph: &mut Graph, name: &[u8]) -> Result<Option<u32>> {
        let ids: Vec<VertexId> = self.index.ids(name).collect();
        let known = ids.iter().filter_map(|id| graph.number(*id));
        if let Some(number) = known.into_iter().find(|number| self.name(*number) == name) {
            return Ok(Some(number));
        }
        let stored = self.index.names(self.read, &ids)?;
        let found = ids.into_iter().zip(stored).find(|(id, stored)| {
            stored.as_deref() == Some(name) && graph.number(*id).is_none() && !graph.is_removed(*id)
        });
        let Some((id, _)) = found else { return Ok(None) };
        self.add(graph, vec![(id, name.to_vec())])?;
        Ok(graph.number(id))
    }

    /// An id for a new vertex with this name.
    ///
    /// # Errors
    /// Those of the store; all ids of this name are taken.
    pub fn new_id(&self, graph: &Graph, name: &[u8]) -> Result<VertexId> {
        for id in self.index.ids(name) {
            if graph.number(id).is_some() {
                continue;
            }
            if graph.is_removed(id) || self.index.names(self.read, &[id])?[0].is_none() {
                return Ok(id);
            }
        }
        let what = format!("index {:?}: too many equal hashes", self.index.links.schema.name);
        Err(Error::new(ErrorKind::Limit, what))
    }
}

impl<E: From<Error>> Source for StoredVectors<'_, E> {
    type Error = E;

    fn read_entry(&mut self, graph: &mut Graph) -> std::result::Result<(), E> {
        let path = &self.index.vertices;
        let mut scan = self.read.scan(path.keyspace, path.all(), self.index.vertex_projection())?;
        let mut rows = Batch::new(&path.shape);
        while scan.next_batch(ENTRY_ROWS, &mut rows)? {
            for (row, id) in self.index.vertex_ids(&rows)?.into_iter().enumerate() {
                if graph.number(id).is_some() {
                    return Ok(());
                }
                if !graph.is_removed(id) {
                    let name = self.index.name_of_vertex(&rows, row)?;
                    return Ok(self.add(graph, vec![(id, name)])?);
                }
            }
            rows.clear();
        }
        Ok(())
    }

    fn read_links(
        &mut self,
        graph: &mut Graph,
        number: u32,
        layer: usize,
    ) -> std::result::Result<(), E> {
        let index = self.index;
        let Some(id) = graph.id(number) else { return Ok(()) };
        let range = KeyRange::prefix_words(&[id.number(), layer_word(layer)]);
        let path = &index.links;
        let mut rows = Batch::new(&path.shape);
        let projection = index.link_projection(true);
        self.read.scan_into(path.keyspace, &range, projection, usize::MAX, &mut rows)?;
        let (mut missing, mut ends) = (Vec::new(), Vec::with_capacity(rows.rows));
        for row in 0..rows.rows {
            let (_, _, to) = index.link_key(&rows, row)?;
            if graph.number(to).is_none() && !graph.is_removed(to) {
                let columns = index.name_columns();
                missing.push((to, index.name_in(&path.schema, &rows, columns, row)?));
            }
            ends.push(to);
        }
        self.add(graph, missing)?;
        let (mut links, mut pruned) = (Vec::new(), Vec::new());
        for (row, to) in ends.into_iter().enumerate() {
            let Some(to) = graph.number(to) else { continue };
            let (distance, is_ignored) = index.link_in(&rows, row);
            let link = Link { to, distance };
            if is_ignored { pruned.push(link) } else { links.push(link) }
        }
        graph.set_links(number, layer, links, pruned);
        Ok(())
    }

    fn check(&mut self, graph: &Graph) -> std::result::Result<(), E> {
        (self.check)(graph.len() as u64 * Self::vertex_bytes(self.index))
    }
}
