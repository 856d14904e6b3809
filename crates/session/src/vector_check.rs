//! Checks whether a vector index matches its relation.
//!
//! # What is compared
//! 1. The vectors of the relation and the vertices of the graph are the same.
//! 2. A link leads between two vertices in a layer that both have, it names their vectors, and its
//!    distance is theirs.
//! 3. Both ends of a link have a row of it. Sums of hashes of the rows and of the reversed rows
//!    tell that without an order.
//! 4. The number of links in the row of a vertex is right.
//! 5. Almost all vectors can be reached from the entry of searches. Transactions that run at the
//!    same time may each remove one of the last links that lead to a vector, so a few may not.

use crate::ambient::EnvAmbient;
use crate::dml::vector_rows::VectorRows;
use base::{Batch, Projection};
use exec::error::Result;
use exec::limits::QueryLimits;
use exec::storage::access_path::StoredPath;
use hashbrown::HashMap;
use model::Value;
use search::hnsw::VertexId;
use std::hash::BuildHasher;
use store::Read;
use syntax::Span;

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 4096;

/// This share of the vectors, 1 / n, may be out of reach.
const UNREACHED_SHARE: usize = 100;

/// A vertex, with its vector in the relation.
struct Vertex {
    id: VertexId,
    name: Vec<u8>,
    vector: Vec<f32>,
    /// Links in its row, less those that were found.
    links: i64,
    /// Where its links in layer 0 lead.
    successors: Vec<u32>,
}

/// The graph of an index, as it is read.
struct Checked<'c> {
    rows: &'c VectorRows,
    vertices: Vec<Vertex>,
    numbers: HashMap<VertexId, u32>,
}

/// The number of links, and what does not match, if anything.
///
/// # Errors
/// Failures of the store, and what stops it.
pub(crate) fn check(
    read: &dyn Read,
    rows: &VectorRows,
    limits: &QueryLimits<'_>,
) -> Result<(u64, Option<String>)> {
    let mut wanted = vectors_of_relation(read, rows, limits)?;
    let total = wanted.len();
    let mut checked = Checked { rows, vertices: Vec::new(), numbers: HashMap::new() };
    let mut problem = None;
    let mut report = |what: String| {
        problem.get_or_insert(what);
    };
    let index = &rows.index;
    let mut found = 0;
    each_batch(read, &index.vertices, limits, &mut |batch| {
        for (row, id) in index.vertex_ids(batch)?.into_iter().enumerate() {
            found += 1;
            let name = index.name_of_vertex(batch, row)?;
            let columns = index.vertices.schema.values.len();
            let links = match index.vertices.schema.value(batch, columns - 1, row)? {
                Value::Int(links) => links,
                _ => 0,
            };
            if !index.ids(&name).any(|one| one == id) {
                report("a vertex whose id is not that of its vector".to_owned());
            }
            if let Some(vector) = wanted.remove(&name) {
                checked.numbers.insert(id, checked.vertices.len() as u32);
                let successors = Vec::new();
                checked.vertices.push(Vertex { id, name, vector, links, successors });
            }
        }
        Ok(())
    })?;
    if found != total {
        report(format!("{found} vectors, the relation {total}"));
    } else if !wanted.is_empty() {
        report(format!("{found} vectors, and so does the relation, but others"));
    }
    let links = checked.check_links(read, limits, &mut report)?;
    if checked.vertices.iter().any(|vertex| vertex.links != 0) {
        report("counts of links that do not match its rows".to_owned());
    }
    let unreached = checked.unreached();
    if unreached > total / UNREACHED_SHARE {
        report(format!("{unreached} of {total} vectors that searches do not reach"));
    }
    Ok((links, problem))
}

impl Checked<'_> {
    /// Checks all links; returns their number.
    fn check_links(
        &mut self,
        read: &dyn Read,
        limits: &QueryLimits<'_>,
        report: &mut dyn FnMut(String),
    ) -> Result<u64> {
        let index = &self.rows.index;
        let ends = index.links.schema.values.len() / 2 - 1;
        let hasher = foldhash::fast::FixedState::with_seed(0x71_75_69_70_75);
        let (mut links, mut sums) = (0, [0_u64; 2]);
        each_batch(read, &index.links, limits, &mut |batch| {
            let mut row = 0;
            index.each_link::<exec::error::Error>(
                batch,
                &mut |from, layer, to, distance, ignored| {
                    let values = (0..2 * ends)
                        .map(|column| index.links.schema.value(batch, column, row))
                        .collect::<store::Result<Vec<Value>>>()?;
                    row += 1;
                    links += 1;
                    let numbers = (self.numbers.get(&from), self.numbers.get(&to));
                    let (Some(&a), Some(&b)) = numbers else {
                        report("a link that leads to no vector".to_owned());
                        return Ok(());
                    };
                    for (sum, pair) in sums.iter_mut().zip([(a, layer, b), (b, layer, a)]) {
                        *sum = sum.wrapping_add(hasher.hash_one(pair));
                    }
                    let (start, end) = (&self.vertices[a as usize], &self.vertices[b as usize]);
                    let metric = index.settings.metric;
                    let is_right = metric.steering_distance(&start.vector, &end.vector).to_bits()
                        == distance.to_bits();
                    if a == b || !is_right {
                        report("a link with a distance that is not that of its vectors".to_owned());
                    }
                    if encoded(&values[..ends]) != start.name
                        || encoded(&values[ends..]) != end.name
                    {
                        report("a link that names other vectors than it links".to_owned());
                    }
                    let start = &mut self.vertices[a as usize];
                    start.links -= 1;
                    if layer == 0 && !ignored {
                        start.successors.push(b);
                    }
                    Ok(())
                },
            )
        })?;
        if sums[0] != sums[1] {
            report("a link that only one of its ends has".to_owned());
        }
        Ok(links)
    }

    /// The number of vertices that are not reached from the first one in layer 0.
    fn unreached(&self) -> usize {
        let first = self.vertices.iter().enumerate().min_by_key(|(_, vertex)| vertex.id);
        let Some((first, _)) = first else { return 0 };
        let mut is_reached = vec![false; self.vertices.len()];
        is_reached[first] = true;
        let mut open = vec![first as u32];
        while let Some(number) = open.pop() {
            for &to in &self.vertices[number as usize].successors {
                if !std::mem::replace(&mut is_reached[to as usize], true) {
                    open.push(to);
                }
            }
        }
        is_reached.iter().filter(|is_reached| !**is_reached).count()
    }
}

fn encoded(values: &[Value]) -> Vec<u8> {
    let mut name = Vec::new();
    model::encode_tuple(values, &mut name);
    name
}

/// The vectors that the rows of the relation imply, by name.
fn vectors_of_relation(
    read: &dyn Read,
    rows: &VectorRows,
    limits: &QueryLimits<'_>,
) -> Result<HashMap<Vec<u8>, Vec<f32>>> {
    let mut vectors = HashMap::new();
    let path = &rows.index.relation;
    let ambient = EnvAmbient(limits);
    each_batch(read, path, limits, &mut |batch| {
        for row in 0..batch.rows {
            let row = path.schema.row(batch, row)?;
            vectors.extend(rows.vectors(&row, &ambient, Span::default())?);
        }
        limits.check((vectors.len() * (4 * rows.index.settings.dim + 128)) as u64)
    })?;
    Ok(vectors)
}

/// Passes the rows of a keyspace to `visit`.
fn each_batch(
    read: &dyn Read,
    path: &StoredPath,
    limits: &QueryLimits<'_>,
    visit: &mut dyn FnMut(&Batch) -> Result<()>,
) -> Result<()> {
    let mut scan = read.scan(path.keyspace, path.all(), Projection::ALL)?;
    let mut rows = Batch::new(&path.shape);
    while scan.next_batch(CHUNK_ROWS, &mut rows)? {
        limits.check(0)?;
        visit(&rows)?;
        rows.clear();
    }
    Ok(())
}
