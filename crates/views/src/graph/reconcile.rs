//! Makes the directions of a graph agree again after a repair lost rows of one.
//!
//! # Which direction decides
//! An edge is stored in both directions, each in its own tables. If they disagree, the direction
//! whose key lies in no lost range is right: the edges it holds existed, and the edges it does not
//! hold did not. If both are in doubt, an edge that one of them holds stays: it was written once,
//! although it may have been removed since.
//!
//! # Invariants
//! 1. No edge, property or name is written that is not in one of the directions.
//! 2. Afterwards [`Graph::check`] succeeds.

use super::compare::{Difference, RowProgress};
use super::{Graph, GraphPart, damaged, fill_nulls};
use base::{
    Batch, BytesColumn, Column, KeyRange, KeyRef, Keys, KeyspaceId, Kind, Projection, WordColumn,
};
use std::collections::{BTreeMap, BTreeSet};
use store::{Kinds, Read, Result, Store, TableWrites, WriteBatch};

/// Rows of a direction read in one batch.
const ROWS: usize = 8192;
/// Maximum number of rows in one commit.
const COMMIT_ROWS: usize = 64 << 10;
/// Maximum number of vertices without a name that one round handles.
const UNNAMED_MAX: usize = 64 << 10;

/// Returns whether the row of a key may be lost or stale.
pub type InDoubt<'a> = &'a dyn Fn(KeyRef<'_>) -> bool;

/// The rows of a graph that may be lost or stale, by part.
pub struct GraphDoubts<'a> {
    /// Rows of `NAME {src, dst}`.
    pub forward: InDoubt<'a>,
    /// Rows of `NAME:rev {dst, src}`.
    pub reverse: InDoubt<'a>,
    /// Whether any edge is in doubt.
    pub any: bool,
}

/// Report of [`Graph::reconcile`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Edges that the graph has afterwards.
    pub edges: u64,
    /// Edges of the forward direction that were restored, or got the properties of the reverse.
    pub rebuilt_forward: u64,
    /// Edges of the reverse direction that were restored, or got the properties of the forward one.
    pub rebuilt_reverse: u64,
    /// Edges removed from one direction, because the other proves that they had been removed.
    pub removed: u64,
    /// Edges that may be stale: both directions lost rows around them.
    pub in_doubt: u64,
    /// Edges and rows of vertices lost because a vertex has lost its name.
    pub unnamed: u64,
    /// Names restored from the other side of the dictionary.
    pub names_rebuilt: u64,
}

impl Graph {
    /// Makes both directions hold the same edges, and both sides of the dictionary the same names.
    /// An undirected edge with its larger end first, which no lost row leads to, stays as it is.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] for a graph in a transaction or at a snapshot; failed
    /// reads and writes; [`store::ErrorKind::Cancelled`].
    pub fn reconcile(
        &self,
        doubts: &GraphDoubts<'_>,
        progress: RowProgress<'_>,
    ) -> Result<Reconciled> {
        let Some(store) = self.store() else {
            return Err(relation::invalid("a graph is reconciled through the store alone"));
        };
        let mut done = Reconciled::default();
        self.reconcile_names(&**store, &mut done)?;
        let sums = self.sum_directions(None, progress)?;
        for group in sums.different() {
            let different = self.differences(&**store, &group)?;
            self.settle(&**store, &different, doubts, &mut done)?;
        }
        self.drop_unnamed(&**store, &mut done)?;
        done.edges = self.number_of_edges()?;
        if doubts.any {
            done.in_doubt = self.count_doubts(&**store, doubts)?;
        }
        Ok(done)
    }

    /// Resolves differences between the directions.
    fn settle(
        &self,
        store: &dyn Store,
        different: &[Difference],
        doubts: &GraphDoubts<'_>,
        done: &mut Reconciled,
    ) -> Result<()> {
        let mut forward = Changes::new(self.core.forward, [0, 1]);
        let mut reverse = Changes::new(self.core.reverse, [1, 0]);
        for edge in different {
            let &Difference { src, dst, key, .. } = edge;
            let keys = self.core.layout.keys;
            let doubts_forward = (doubts.forward)(KeyRef::Words(&[src, dst, key][..keys]));
            let doubts_reverse = (doubts.reverse)(KeyRef::Words(&[dst, src, key][..keys]));
            let truth = match (doubts_forward, doubts_reverse) {
                (false, true) => edge.forward,
                (true, false) => edge.reverse,
                _ => edge.forward.or(edge.reverse),
            };
            done.removed += u64::from(truth.is_none());
            if edge.forward != truth {
                done.rebuilt_forward += u64::from(truth.is_some());
                forward.set([src, dst, key], truth.is_some());
            }
            if edge.reverse != truth {
                done.rebuilt_reverse += u64::from(truth.is_some());
                reverse.set([src, dst, key], truth.is_some());
            }
        }
        // The edges missing in one direction are read from the other before that is changed. No
        // edge is put into both.
        let shape = self.core.def.shape(GraphPart::Forward);
        forward.write(store, &reverse, &shape)?;
        reverse.write(store, &forward, &shape)
    }

    /// Number of edges with both rows in doubt.
    fn count_doubts(&self, read: &dyn Read, doubts: &GraphDoubts<'_>) -> Result<u64> {
        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
        let mut scan = read.scan(self.core.forward, KeyRange::all_words(), Projection::KEYS)?;
        let (keys, mut count) = (self.core.layout.keys, 0);
        while scan.next_batch(ROWS, &mut rows)? {
            for [src, dst, key] in names_of(&rows, [0, 1]) {
                let both = (doubts.forward)(KeyRef::Words(&[src, dst, key][..keys]))
                    && (doubts.reverse)(KeyRef::Words(&[dst, src, key][..keys]));
                count += u64::from(both);
            }
            rows.clear();
        }
        Ok(count)
    }

    /// Removes the edges of vertices whose name is lost on both sides of the dictionary.
    fn drop_unnamed(&self, store: &dyn Store, done: &mut Reconciled) -> Result<()> {
        loop {
            let unnamed = self.unnamed(store, UNNAMED_MAX)?;
            if unnamed.is_empty() {
                return Ok(());
            }
            let mut edges = BTreeSet::new();
            for (keyspace, ends) in [(self.core.forward, [0, 1]), (self.core.reverse, [1, 0])] {
                let mut rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
                let keys = Projection::KEYS;
                store.prefix_many(keyspace, &unnamed, keys, &mut Vec::new(), &mut rows)?;
                edges.extend(names_of(&rows, ends));
            }
            let nodes = self.delete_nodes(store, &unnamed)?;
            if edges.is_empty() && nodes == 0 {
                return Err(damaged("a vertex without edges has lost its name"));
            }
            done.unnamed += edges.len() as u64 + nodes;
            let mut forward = Changes::new(self.core.forward, [0, 1]);
            let mut reverse = Changes::new(self.core.reverse, [1, 0]);
            for edge in edges {
                forward.set(edge, false);
                reverse.set(edge, false);
            }
            let shape = self.core.def.shape(GraphPart::Forward);
            forward.write(store, &reverse, &shape)?;
            reverse.write(store, &forward, &shape)?;
        }
    }

    /// Deletes the properties of these vertices; returns how many had some.
    fn delete_nodes(&self, store: &dyn Store, vertices: &[u64]) -> Result<u64> {
        let Some(nodes) = self.core.nodes else { return Ok(0) };
        let shape = self.core.def.shape(GraphPart::Nodes);
        let keys = Keys::Words(vec![vertices.to_vec()]);
        let there = present(store, nodes, &keys, &shape)?;
        let mut rows = Batch::new(&shape);
        rows.keys = keys;
        rows.values.iter_mut().for_each(|column| fill_nulls(column, vertices.len()));
        rows.rows = vertices.len();
        let kinds = Kinds::Uniform(Kind::Delete);
        let table = TableWrites { keyspace: nodes, kinds, rows, delete_ranges: Vec::new() };
        store.write(&WriteBatch { tables: vec![table] }, None)?;
        Ok(there.iter().filter(|there| **there).count() as u64)
    }

    /// Writes names that only one side of the dictionary has. Names are never changed or removed,
    /// so a name on either side is right.
    fn reconcile_names(&self, store: &dyn Store, done: &mut Reconciled) -> Result<()> {
        let Some(dictionary) = &self.core.dictionary else { return Ok(()) };
        // Ids of one side that the other side may lack, looked up batch by batch.
        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Names));
        let mut scan =
            store.scan(dictionary.stored.names, KeyRange::all_words(), Projection::ALL)?;
        while scan.next_batch(ROWS, &mut rows)? {
            let names = rows.values.first().and_then(Column::as_bytes);
            let Some(names) = names else { return Err(damaged("names without texts")) };
            let keys = Keys::Bytes(names.clone());
            let present =
                present(store, dictionary.stored.ids, &keys, &self.core.def.shape(GraphPart::Ids))?;
            let mut missing = (BytesColumn::default(), Vec::new());
            for (i, &id) in rows.key_words(0).iter().enumerate().filter(|(i, _)| !present[*i]) {
                missing.0.push(Some(names.get(i)));
                missing.1.push(id);
            }
            let ids = WordColumn { words: missing.1, ..WordColumn::default() };
            done.names_rebuilt += ids.words.len() as u64;
            put(store, dictionary.stored.ids, Keys::Bytes(missing.0), Column::Words(ids))?;
            rows.clear();
        }
        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Ids));
        let mut scan = store.scan(dictionary.stored.ids, KeyRange::all_bytes(), Projection::ALL)?;
        while scan.next_batch(ROWS, &mut rows)? {
            let ids = rows.value_words(0).to_vec();
            let keys = Keys::Words(vec![ids.clone()]);
            let shape = self.core.def.shape(GraphPart::Names);
            let present = present(store, dictionary.stored.names, &keys, &shape)?;
            let mut missing: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            if let Keys::Bytes(names) = &rows.keys {
                for (i, &id) in ids.iter().enumerate().filter(|(i, _)| !present[*i]) {
                    missing.insert(id, names.get(i).to_vec());
                }
            }
            done.names_rebuilt += missing.len() as u64;
            let mut names = BytesColumn::default();
            missing.values().for_each(|name| names.push(Some(name)));
            let keys = Keys::Words(vec![missing.into_keys().collect()]);
            put(store, dictionary.stored.names, keys, Column::Bytes(names))?;
            rows.clear();
        }
        Ok(())
    }
}

fn present(
    read: &dyn Read,
    keyspace: KeyspaceId,
    keys: &Keys,
    shape: &base::Shape,
) -> Result<Vec<bool>> {
    let (mut present, mut rows) = (Vec::new(), Batch::new(shape));
    let projection = Projection { keys: 0, values: 0 };
    read.get_many(keyspace, keys, projection, &mut present, &mut rows)?;
    Ok(present)
}

fn put(store: &dyn Store, keyspace: KeyspaceId, keys: Keys, value: Column) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let rows = Batch { rows: keys.len(), keys, values: vec![value] };
    let kinds = Kinds::Uniform(Kind::Put);
    let table = TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() };
    store.write(&WriteBatch { tables: vec![table] }, None).map(drop)
}

/// Source, target and key of the edges of a batch; the key is 0 if they have none.
fn names_of(rows: &Batch, [src, dst]: [usize; 2]) -> impl Iterator<Item = [u64; 3]> {
    let keys = rows.key_words(2);
    let ends = rows.key_words(src).iter().zip(rows.key_words(dst)).enumerate();
    ends.map(move |(i, (&src, &dst))| [src, dst, keys.get(i).copied().unwrap_or_default()])
}

/// Rows to put into a direction, and rows to delete from it.
struct Changes {
    keyspace: KeyspaceId,
    order: [usize; 2],
    /// By key: whether the row is put or deleted.
    rows: BTreeMap<[u64; 3], bool>,
}

impl Changes {
    fn new(keyspace: KeyspaceId, order: [usize; 2]) -> Self {
        Self { keyspace, order, rows: BTreeMap::new() }
    }

    fn set(&mut self, [src, dst, third]: [u64; 3], is_put: bool) {
        let mut key = [0, 0, third];
        key[self.order[0]] = src;
        key[self.order[1]] = dst;
        self.rows.insert(key, is_put);
    }

    /// Writes the changes. The values of rows that are put are those of the `other` direction.
    fn write(&self, store: &dyn Store, other: &Self, shape: &base::Shape) -> Result<()> {
        let table = |kind, rows| TableWrites {
            keyspace: self.keyspace,
            kinds: Kinds::Uniform(kind),
            rows,
            delete_ranges: Vec::new(),
        };
        let words = shape.key_words();
        let chosen = |put: bool| -> Vec<[u64; 3]> {
            self.rows.iter().filter(|(_, is_put)| **is_put == put).map(|(&key, _)| key).collect()
        };
        let columns = |some: &[[u64; 3]], order: [usize; 3]| {
            let column = |&i: &usize| some.iter().map(|key| key[i]).collect();
            Keys::Words(order[..words].iter().map(column).collect())
        };
        for some in chosen(true).chunks(COMMIT_ROWS) {
            let keys = columns(some, [1, 0, 2]);
            let (mut present, mut rows) = (Vec::new(), Batch::new(shape));
            let projection = Projection { keys: 0, ..Projection::ALL };
            store.get_many(other.keyspace, &keys, projection, &mut present, &mut rows)?;
            if present.contains(&false) {
                return Err(damaged("an edge changed while its directions were compared"));
            }
            rows.keys = columns(some, [0, 1, 2]);
            rows.rows = some.len();
            store.write(&WriteBatch { tables: vec![table(Kind::Put, rows)] }, None)?;
        }
        for some in chosen(false).chunks(COMMIT_ROWS) {
            let mut rows = Batch::new(shape);
            rows.keys = columns(some, [0, 1, 2]);
            rows.values.iter_mut().for_each(|column| fill_nulls(column, some.len()));
            rows.rows = some.len();
            store.write(&WriteBatch { tables: vec![table(Kind::Delete, rows)] }, None)?;
        }
        Ok(())
    }
}
