//! Changes of a graph: upserts, removals, clear. Each call writes both directions in one batch.

use super::edges::{weight_word, weight_words};
use super::properties::fill_nulls;
use super::read::{check_keys, check_pairs};
use super::scratch::{self, value_vec};
use super::{Edges, Graph, VertexType, Weight, WeightsRef};
use crate::source::Source;
use crate::transaction::retry;
use base::fault_switch::{Switch, is_on};
use base::{KeyRange, Keys, Kind};
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use relation::{GraphPart, invalid};
use store::{Error, Isolation, Kinds, Result, TableWrites, WriteBatch};

/// Hint of calls that write ends and weights where edges have keys.
pub(super) const HINT_ROWS: &str = "put rows with src, dst and key into its relation of edges";

impl Graph {
    /// Inserts the edge from `u` to `v`, or updates its weight. `None` is weight 1. The row is
    /// replaced: other properties of the edge become null.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: the weight is not of the graph's type, its vertices are
    /// strings (see [`Graph::upsert_list`]), or edges have keys, or properties that cannot be null:
    /// then whole rows are put into the relation of edges.
    pub fn upsert(&self, u: u64, v: u64, weight: Option<Weight>) -> Result<()> {
        self.refuse_words_of_text()?;
        self.refuse_keyed(HINT_ROWS)?;
        let word = weight_word(self.core.def.weight, weight)?;
        scratch::with(&self.core.layout, |scratch| {
            let batch = self.edge_batch(scratch, Kind::Put, &[u], &[v], &[], |words| {
                words.extend(word);
                Ok(())
            })?;
            self.apply(batch)
        })
    }

    /// Inserts the edges from `us[i]` to `vs[i]`, or updates their weights, in one commit. If a
    /// pair occurs twice, its last weight wins. Without weights each edge gets weight 1. Other
    /// properties become null, as in [`Graph::upsert`].
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: columns of different lengths, weights that are not of
    /// the graph's type, a graph with string vertices (see [`Graph::upsert_list`]), or properties
    /// that cannot be null.
    /// [`store::ErrorKind::Limit`]: more than a transaction may hold, a quarter of the memory
    /// limit. An import has no such limit.
    pub fn upsert_many(
        &self,
        us: &[u64],
        vs: &[u64],
        weights: Option<WeightsRef<'_>>,
    ) -> Result<()> {
        self.refuse_words_of_text()?;
        self.refuse_keyed(HINT_ROWS)?;
        check_pairs(us, vs)?;
        scratch::with(&self.core.layout, |scratch| {
            let weight = self.core.def.weight;
            let batch = self.edge_batch(scratch, Kind::Put, us, vs, &[], |words| {
                weight_words(weight, weights, us.len(), words)
            })?;
            self.apply(batch)
        })
    }

    /// Removes the edge from `u` to `v`; returns whether it existed.
    ///
    /// # Errors
    /// As [`Graph::remove_many`].
    pub fn remove(&self, u: u64, v: u64) -> Result<bool> {
        let mut removed = Vec::with_capacity(1);
        self.remove_many(&[u], &[v], &mut removed)?;
        Ok(removed.first() == Some(&true))
    }

    /// Removes the edge from `u` to `v` with this key; returns whether it existed.
    ///
    /// # Errors
    /// As [`Graph::remove_keyed_many`].
    pub fn remove_keyed(&self, u: u64, v: u64, key: i64) -> Result<bool> {
        let mut removed = Vec::with_capacity(1);
        self.remove_keyed_many(&[u], &[v], &[key], &mut removed)?;
        Ok(removed.first() == Some(&true))
    }

    /// Removes the edges from `us[i]` to `vs[i]` in one commit. `removed` is replaced by whether
    /// each existed. If a pair occurs twice, its second flag is false.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if `us` and `vs` differ in length, and in a graph of
    /// parallel edges: see [`Graph::remove_keyed_many`].
    pub fn remove_many(&self, us: &[u64], vs: &[u64], removed: &mut Vec<bool>) -> Result<()> {
        self.refuse_keyed("give their keys too")?;
        self.remove_all(us, vs, &[], removed)
    }

    /// As [`Graph::remove_many`], for the edges with the keys `keys[i]`.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if edges have no keys, or the columns differ in length.
    pub fn remove_keyed_many(
        &self,
        us: &[u64],
        vs: &[u64],
        keys: &[i64],
        removed: &mut Vec<bool>,
    ) -> Result<()> {
        self.refuse_keys()?;
        check_keys(us, keys)?;
        self.remove_all(us, vs, keys, removed)
    }

    fn remove_all(
        &self,
        us: &[u64],
        vs: &[u64],
        keys: &[i64],
        removed: &mut Vec<bool>,
    ) -> Result<()> {
        check_pairs(us, vs)?;
        removed.clear();
        if let Source::Store(store) = &self.source {
            scratch::with(&self.core.layout, |scratch| {
                let mut flags = std::mem::take(&mut scratch.flags);
                let batch = self.edge_batch(scratch, Kind::Delete, us, vs, keys, |words| {
                    words.resize(us.len(), 0);
                    Ok(())
                })?;
                store.write(batch, Some(&mut flags))?;
                // The flags of the forward direction come first; those of the reverse repeat them.
                removed.extend_from_slice(&flags[..us.len()]);
                scratch.flags = flags;
                Ok::<_, Error>(())
            })?;
            self.forget_repeats(us, vs, keys, removed);
            return Ok(());
        }
        match self.is_keyed() {
            true => self.has_keyed_edge_many(us, vs, keys, removed)?,
            false => self.has_edge_many(us, vs, removed)?,
        }
        self.forget_repeats(us, vs, keys, removed);
        self.delete_pairs(&there(us, removed), &there(vs, removed), &there(keys, removed))
    }

    /// Removes `v`: all its edges, and its properties. Returns the number of edges.
    ///
    /// # Errors
    /// [`store::ErrorKind::Conflict`] if other writers keep changing the same edges.
    pub fn remove_vertex(&self, v: u64) -> Result<u64> {
        let Source::Store(store) = &self.source else {
            let mut edges = Edges::default();
            self.edges(v, &mut edges)?;
            self.delete_pairs(&edges.src, &edges.dst, &edges.key)?;
            self.remove_node(v)?;
            return Ok(edges.len() as u64);
        };
        retry(store, Isolation::Serializable, |transaction| {
            self.in_transaction(transaction).remove_vertex(v)
        })
    }

    /// Removes all edges, and all properties of vertices, in one commit. String vertices keep their
    /// ids, so that a transaction that began before can still use them.
    pub fn clear(&self) -> Result<()> {
        let table = |keyspace, part| TableWrites {
            keyspace,
            kinds: Kinds::Uniform(Kind::Delete),
            rows: base::Batch::new(&self.core.def.shape(part)),
            delete_ranges: vec![KeyRange::all_words()],
        };
        let mut tables = vec![
            table(self.core.forward, GraphPart::Forward),
            table(self.core.reverse, GraphPart::Reverse),
        ];
        tables.extend(self.core.nodes.map(|nodes| table(nodes, GraphPart::Nodes)));
        self.apply(&WriteBatch { tables })
    }

    /// Drops the graph with all its keyspaces, in one step. Other handles of it become invalid.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] inside a transaction, and for a graph at a snapshot.
    pub fn drop_graph(self) -> Result<()> {
        let Source::Store(store) = &self.source else {
            return Err(invalid("a graph cannot be dropped inside a transaction"));
        };
        let parts = self.core.def.parts().iter();
        let ids: Vec<_> = parts.filter_map(|&part| self.keyspace(part)).collect();
        store.drop_keyspaces(&ids)
    }

    fn delete_pairs(&self, us: &[u64], vs: &[u64], keys: &[i64]) -> Result<()> {
        scratch::with(&self.core.layout, |scratch| {
            let batch = self.edge_batch(scratch, Kind::Delete, us, vs, keys, |words| {
                words.resize(us.len(), 0);
                Ok(())
            })?;
            self.apply(batch)
        })
    }

    /// Builds rows of one kind for both directions, in the scratch. `fill` appends the weight words
    /// of the pairs. `keys` has a key for each pair where edges have keys.
    pub(super) fn edge_batch<'a>(
        &self,
        scratch: &'a mut scratch::Scratch,
        kind: Kind,
        us: &[u64],
        vs: &[u64],
        keys: &[i64],
        fill: impl FnOnce(&mut Vec<u64>) -> Result<()>,
    ) -> Result<&'a mut WriteBatch> {
        let directions = [self.core.forward, self.core.reverse];
        let batch = scratch.edge_writes(kind, directions, &self.core.layout);
        let [forward, reverse] = batch.tables.as_mut_slice() else {
            unreachable!("the scratch has a table for each direction");
        };
        if let (Keys::Words(columns), Keys::Words(reversed)) =
            (&mut forward.rows.keys, &mut reverse.rows.keys)
        {
            self.fill_keys(columns, us, vs, keys);
            for (column, from) in reversed.iter_mut().zip([1, 0, 2]) {
                column.extend_from_slice(&columns[from]);
            }
        }
        (forward.rows.rows, reverse.rows.rows) = (us.len(), us.len());
        match (value_vec(&mut forward.rows), value_vec(&mut reverse.rows)) {
            (Some(forward), Some(reverse)) if self.weighted() => {
                fill(forward)?;
                reverse.extend_from_slice(forward);
            }
            // Refuses weights for a graph without weights.
            _ if kind == Kind::Put => fill(&mut Vec::new())?,
            _ => {}
        }
        if self.has_properties() {
            if kind == Kind::Put {
                self.refuse_required_properties()?;
            }
            for rows in [&mut forward.rows, &mut reverse.rows] {
                let from = usize::from(self.weighted());
                rows.values[from..].iter_mut().for_each(|column| fill_nulls(column, us.len()));
            }
        }
        if is_on(Switch::ForgetReverseDirection) {
            reverse.rows.clear();
        }
        Ok(batch)
    }

    /// Clears the flag of every edge that occurs earlier in the list.
    fn forget_repeats(&self, us: &[u64], vs: &[u64], keys: &[i64], flags: &mut [bool]) {
        if us.len() < 2 {
            return;
        }
        let mut seen = HashSet::with_capacity_and_hasher(us.len(), RandomState::default());
        for (i, ((&u, &v), flag)) in us.iter().zip(vs).zip(flags).enumerate() {
            *flag &= seen.insert((self.core.def.in_order(u, v), keys.get(i)));
        }
    }

    /// Commits a batch to the store (the newest write wins), or adds it to the transaction.
    pub(super) fn apply(&self, batch: &WriteBatch) -> Result<()> {
        self.source.apply(batch)
    }

    fn refuse_words_of_text(&self) -> Result<()> {
        if self.core.def.vertex == VertexType::Str {
            return Err(invalid(format!(
                "the vertices of graph {:?} are text, numbers were given",
                self.name()
            )));
        }
        Ok(())
    }
}

/// Those of some items whose flag is set.
fn there<T: Copy>(items: &[T], flags: &[bool]) -> Vec<T> {
    items.iter().zip(flags).filter(|(_, there)| **there).map(|(&item, _)| item).collect()
}
