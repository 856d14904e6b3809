//! Reads of a graph: edges, neighbors and degrees, of one vertex or many.
//!
//! # Why almost every read is a `prefix_many`
//! One vertex is a batch of one. So the store has a single path to optimize, and each operation is
//! implemented once: the `_many` call is the operation, the single call is its first row.

use super::edges::sum_words;
use super::scratch::{self, key_vec};
use super::side::{Side, both_ascending, dedup_from, dedup_groups, unite};
use super::{Core, Edges, Graph, Weight, WeightType, Weights, damaged};
use base::shape::{int_to_word, word_to_int};
use base::{KeyRange, KeyRef, Keys, KeyspaceId, Projection};
use relation::invalid;
use std::mem::swap;
use store::{Read, Result};

/// Which end of its edges a vertex is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// The source.
    Out,
    /// The target.
    In,
}

/// Projection bit of the key word that holds the other end.
const OTHER: u8 = 0b10;

/// Projection bit of the third key word, where edges have one.
const KEY: u8 = 0b100;

impl Graph {
    /// The weight of the edge from `u` to `v`; `None` if there is no such edge.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] in a graph of parallel edges: see [`Graph::keyed_edge`].
    pub fn edge(&self, u: u64, v: u64) -> Result<Option<Weight>> {
        self.refuse_keyed("give its key too")?;
        let (u, v) = self.core.def.in_order(u, v);
        self.weight_of(&[u, v])
    }

    /// The weight of the edge from `u` to `v` with this key; `None` if there is no such edge.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if edges have no keys.
    pub fn keyed_edge(&self, u: u64, v: u64, key: i64) -> Result<Option<Weight>> {
        self.refuse_keys()?;
        let (u, v) = self.core.def.in_order(u, v);
        self.weight_of(&[u, v, int_to_word(key)])
    }

    fn weight_of(&self, key: &[u64]) -> Result<Option<Weight>> {
        scratch::with(&self.core.layout, |scratch| {
            let rows = &mut scratch.rows[0];
            let key = KeyRef::Words(key);
            let projection = Projection { keys: 0, values: u64::from(self.weighted()) };
            if !self.read(|read| read.get(self.core.forward, key, projection, rows))? {
                return Ok(None);
            }
            let word = rows.value_words(0).first().copied();
            match (self.core.def.weight, word) {
                (WeightType::None, _) => Ok(Some(Weight::None)),
                (WeightType::Float, Some(word)) => {
                    Ok(Some(Weight::Float(base::shape::word_to_float(word))))
                }
                (WeightType::Int, Some(word)) => {
                    Ok(Some(Weight::Int(base::shape::word_to_int(word))))
                }
                (_, None) => Err(damaged("an edge has no weight")),
            }
        })
    }

    /// Whether there is an edge from `u` to `v`, with any key.
    pub fn has_edge(&self, u: u64, v: u64) -> Result<bool> {
        let (u, v) = self.core.def.in_order(u, v);
        if self.is_keyed() {
            return self.read(|read| self.is_linked(read, u, v));
        }
        scratch::with(&self.core.layout, |scratch| {
            let rows = &mut scratch.rows[0];
            let key = KeyRef::Words(&[u, v]);
            self.read(|read| read.get(self.core.forward, key, Projection::COUNT, rows))
        })
    }

    /// The keys of the edges from `u` to `v`, ascending. `out` is replaced.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if edges have no keys.
    pub fn edge_keys(&self, u: u64, v: u64, out: &mut Vec<i64>) -> Result<()> {
        self.refuse_keys()?;
        out.clear();
        let (u, v) = self.core.def.in_order(u, v);
        scratch::with(&self.core.layout, |scratch| {
            let rows = &mut scratch.rows[0];
            let range = KeyRange::prefix_words(&[u, v]);
            let keys = Projection { keys: KEY, values: 0 };
            self.read(|read| read.scan_into(self.core.forward, &range, keys, usize::MAX, rows))?;
            out.extend(rows.key_words(2).iter().map(|&word| word_to_int(word)));
            Ok(())
        })
    }

    /// Whether there is an edge between these ends in stored order, in a graph of parallel edges.
    fn is_linked(&self, read: &dyn Read, u: u64, v: u64) -> Result<bool> {
        scratch::with(&self.core.layout, |scratch| {
            let rows = &mut scratch.rows[0];
            let range = KeyRange::prefix_words(&[u, v]);
            read.scan_into(self.core.forward, &range, Projection::COUNT, 1, rows)?;
            Ok(rows.rows > 0)
        })
    }

    /// For each pair `us[i]`, `vs[i]`: whether the edge exists, and its weight (NaN or 0 if it does
    /// not). Both results are replaced.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if `us` and `vs` differ in length, and in a graph of
    /// parallel edges: see [`Graph::keyed_edge_many`].
    pub fn edge_many(
        &self,
        us: &[u64],
        vs: &[u64],
        present: &mut Vec<bool>,
        weights: &mut Weights,
    ) -> Result<()> {
        self.refuse_keyed("give their keys too")?;
        self.look_up_weights(us, vs, &[], present, weights)
    }

    /// As [`Graph::edge_many`], for the edges with the keys `keys[i]`.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if edges have no keys, or the columns differ in length.
    pub fn keyed_edge_many(
        &self,
        us: &[u64],
        vs: &[u64],
        keys: &[i64],
        present: &mut Vec<bool>,
        weights: &mut Weights,
    ) -> Result<()> {
        self.refuse_keys()?;
        check_keys(us, keys)?;
        self.look_up_weights(us, vs, keys, present, weights)
    }

    fn look_up_weights(
        &self,
        us: &[u64],
        vs: &[u64],
        keys: &[i64],
        present: &mut Vec<bool>,
        weights: &mut Weights,
    ) -> Result<()> {
        weights.reset(self.core.def.weight);
        let take = |words: &[u64]| weights.extend_from_words(words);
        self.look_up(us, vs, keys, self.weighted(), present, take)?;
        if self.weighted() {
            if weights.len() != present.len() {
                return Err(damaged("edges have no weights"));
            }
            for (i, _) in present.iter().enumerate().filter(|(_, present)| !**present) {
                weights.set_absent(i);
            }
        }
        Ok(())
    }

    /// For each pair `us[i]`, `vs[i]`: whether the edge exists. `present` is replaced.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if `us` and `vs` differ in length.
    pub fn has_edge_many(&self, us: &[u64], vs: &[u64], present: &mut Vec<bool>) -> Result<()> {
        if self.is_keyed() {
            check_pairs(us, vs)?;
            present.clear();
            return self.read_snapshot(|read| {
                for (&u, &v) in us.iter().zip(vs) {
                    let (u, v) = self.core.def.in_order(u, v);
                    present.push(self.is_linked(read, u, v)?);
                }
                Ok(())
            });
        }
        self.look_up(us, vs, &[], false, present, |_| ())
    }

    /// As [`Graph::has_edge_many`], for the edges with the keys `keys[i]`.
    ///
    /// # Errors
    /// As [`Graph::keyed_edge_many`].
    pub fn has_keyed_edge_many(
        &self,
        us: &[u64],
        vs: &[u64],
        keys: &[i64],
        present: &mut Vec<bool>,
    ) -> Result<()> {
        self.refuse_keys()?;
        check_keys(us, keys)?;
        self.look_up(us, vs, keys, false, present, |_| ())
    }

    fn look_up(
        &self,
        us: &[u64],
        vs: &[u64],
        keys: &[i64],
        values: bool,
        present: &mut Vec<bool>,
        take: impl FnOnce(&[u64]),
    ) -> Result<()> {
        check_pairs(us, vs)?;
        present.clear();
        scratch::with(&self.core.layout, |scratch| {
            if let Keys::Words(columns) = &mut scratch.keys {
                self.fill_keys(columns, us, vs, keys);
            }
            let projection = Projection { keys: 0, values: u64::from(values) };
            let (keys, rows) = (&scratch.keys, &mut scratch.rows[0]);
            self.read(|read| read.get_many(self.core.forward, keys, projection, present, rows))?;
            take(rows.value_words(0));
            Ok(())
        })
    }

    /// The outgoing edges of `v`, by target. `out` is replaced.
    pub fn out_edges(&self, v: u64, out: &mut Edges) -> Result<()> {
        self.directed(Direction::Out, &[v], None, out)
    }

    /// The incoming edges of `v`, by source. `out` is replaced.
    pub fn in_edges(&self, v: u64, out: &mut Edges) -> Result<()> {
        self.directed(Direction::In, &[v], None, out)
    }

    /// The outgoing edges of each of `vs`: those of `vs[i]` are `offsets[i]..offsets[i + 1]` of
    /// `out`. Both results are replaced.
    pub fn out_edges_many(
        &self,
        vs: &[u64],
        offsets: &mut Vec<u64>,
        out: &mut Edges,
    ) -> Result<()> {
        self.directed(Direction::Out, vs, Some(offsets), out)
    }

    /// The incoming edges of each of `vs`, in the form of [`Graph::out_edges_many`].
    pub fn in_edges_many(&self, vs: &[u64], offsets: &mut Vec<u64>, out: &mut Edges) -> Result<()> {
        self.directed(Direction::In, vs, Some(offsets), out)
    }

    fn directed(
        &self,
        direction: Direction,
        vs: &[u64],
        offsets: Option<&mut Vec<u64>>,
        out: &mut Edges,
    ) -> Result<()> {
        if self.is_undirected() {
            return self.incident(direction, vs, offsets, out);
        }
        out.reset(self.core.def.weight);
        scratch::with(&self.core.layout, |scratch| {
            let rows = &mut scratch.rows[0];
            let offsets = offsets.unwrap_or(&mut scratch.offsets[0]);
            offsets.clear();
            let (fixed, other) = match direction {
                Direction::Out => (&mut out.src, &mut out.dst),
                Direction::In => (&mut out.dst, &mut out.src),
            };
            // Swapped in, so that the store appends to the caller's own vector.
            swap(key_vec(rows, 1), other);
            let keyspace = self.keyspace_of(direction);
            let projection = self.ends_and_weights();
            let result =
                self.read(|read| read.prefix_many(keyspace, vs, projection, offsets, rows));
            swap(key_vec(rows, 1), other);
            result?;
            out.key.extend(rows.key_words(2).iter().map(|&word| word_to_int(word)));
            for (&v, &end) in vs.iter().zip(&offsets[1..]) {
                fixed.resize(end as usize, v);
            }
            out.weight.extend_from_words(rows.value_words(0));
            Ok(())
        })
    }

    /// All edges of `v`: the outgoing ones by target, then the incoming ones by source. A self-loop
    /// occurs once, among the outgoing edges. `out` is replaced.
    pub fn edges(&self, v: u64, out: &mut Edges) -> Result<()> {
        self.edges_of(&[v], None, out)
    }

    /// All edges of each of `vs`, as [`Graph::edges`]: those of `vs[i]` are
    /// `offsets[i]..offsets[i + 1]` of `out`. Both results are replaced.
    pub fn edges_many(&self, vs: &[u64], offsets: &mut Vec<u64>, out: &mut Edges) -> Result<()> {
        self.edges_of(vs, Some(offsets), out)
    }

    fn edges_of(
        &self,
        vs: &[u64],
        mut offsets: Option<&mut Vec<u64>>,
        out: &mut Edges,
    ) -> Result<()> {
        if self.is_undirected() {
            return self.incident(Direction::Out, vs, offsets, out);
        }
        out.reset(self.core.def.weight);
        if let Some(offsets) = offsets.as_deref_mut() {
            offsets.clear();
            offsets.push(0);
        }
        self.both(vs, [self.ends_and_weights(); 2], |v, sides| {
            let [leaving, arriving] = sides;
            out.dst.extend_from_slice(leaving.others);
            out.src.resize(out.dst.len(), v);
            out.weight.extend_from_words(leaving.weights);
            leaving.add_keys(&mut out.key);
            // A self-loop splits the incoming side into the parts before and after it.
            for part in arriving.without(v) {
                out.src.extend_from_slice(part.others);
                out.dst.resize(out.src.len(), v);
                out.weight.extend_from_words(part.weights);
                part.add_keys(&mut out.key);
            }
            if let Some(offsets) = offsets.as_deref_mut() {
                offsets.push(out.src.len() as u64);
            }
        })
    }

    /// The edges of each of `vs` in an undirected graph, by the other end, with the vertex as their
    /// source (`Out`) or their target (`In`). A self-loop occurs once.
    fn incident(
        &self,
        direction: Direction,
        vs: &[u64],
        mut offsets: Option<&mut Vec<u64>>,
        out: &mut Edges,
    ) -> Result<()> {
        out.reset(self.core.def.weight);
        if let Some(offsets) = offsets.as_deref_mut() {
            offsets.clear();
            offsets.push(0);
        }
        let (fixed, other) = match direction {
            Direction::Out => (&mut out.src, &mut out.dst),
            Direction::In => (&mut out.dst, &mut out.src),
        };
        let projection = self.ends_and_weights();
        self.both(vs, [projection; 2], |v, sides| {
            for side in both_ascending(v, sides) {
                other.extend_from_slice(side.others);
                out.weight.extend_from_words(side.weights);
                side.add_keys(&mut out.key);
            }
            fixed.resize(other.len(), v);
            if let Some(offsets) = offsets.as_deref_mut() {
                offsets.push(other.len() as u64);
            }
        })
    }

    /// The columns of edges that reads of vertices return.
    fn ends_and_weights(&self) -> Projection {
        let keys = if self.is_keyed() { OTHER | KEY } else { OTHER };
        Projection { keys, values: u64::from(self.weighted()) }
    }

    /// The targets of the outgoing edges of `v`, ascending and distinct. `out` is replaced.
    pub fn successors(&self, v: u64, out: &mut Vec<u64>) -> Result<()> {
        self.others(Direction::Out, &[v], None, out)
    }

    /// The sources of the incoming edges of `v`, ascending and distinct. `out` is replaced.
    pub fn predecessors(&self, v: u64, out: &mut Vec<u64>) -> Result<()> {
        self.others(Direction::In, &[v], None, out)
    }

    /// The successors of each of `vs`: those of `vs[i]` are `offsets[i]..offsets[i + 1]` of `ids`.
    /// Both results are replaced.
    pub fn successors_many(
        &self,
        vs: &[u64],
        offsets: &mut Vec<u64>,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        self.others(Direction::Out, vs, Some(offsets), ids)
    }

    /// The predecessors of each of `vs`, in the form of [`Graph::successors_many`].
    pub fn predecessors_many(
        &self,
        vs: &[u64],
        offsets: &mut Vec<u64>,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        self.others(Direction::In, vs, Some(offsets), ids)
    }

    fn others(
        &self,
        direction: Direction,
        vs: &[u64],
        mut offsets: Option<&mut Vec<u64>>,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        ids.clear();
        if self.is_undirected() {
            if let Some(offsets) = offsets.as_deref_mut() {
                offsets.clear();
                offsets.push(0);
            }
            return self.both(vs, [Projection { keys: OTHER, values: 0 }; 2], |v, sides| {
                let start = ids.len();
                for side in both_ascending(v, sides) {
                    ids.extend_from_slice(side.others);
                }
                dedup_from(ids, start);
                if let Some(offsets) = offsets.as_deref_mut() {
                    offsets.push(ids.len() as u64);
                }
            });
        }
        scratch::with(&self.core.layout, |scratch| {
            let rows = &mut scratch.rows[0];
            let offsets = offsets.unwrap_or(&mut scratch.offsets[0]);
            offsets.clear();
            swap(key_vec(rows, 1), ids);
            let keyspace = self.keyspace_of(direction);
            let projection = Projection { keys: OTHER, values: 0 };
            let result =
                self.read(|read| read.prefix_many(keyspace, vs, projection, offsets, rows));
            swap(key_vec(rows, 1), ids);
            result?;
            if self.is_keyed() {
                dedup_groups(ids, offsets);
            }
            Ok(())
        })
    }

    /// The successors and predecessors of `v`, ascending and distinct, without `v` itself. `out` is
    /// replaced.
    pub fn neighbors(&self, v: u64, out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        self.both(&[v], [Projection { keys: OTHER, values: 0 }; 2], |v, sides| {
            unite(sides[0].others, sides[1].others, v, out);
            if self.is_keyed() {
                dedup_from(out, 0);
            }
        })
    }

    /// The neighbors of each of `vs`, as [`Graph::neighbors`]: those of `vs[i]` are
    /// `offsets[i]..offsets[i + 1]` of `ids`. Both results are replaced.
    pub fn neighbors_many(
        &self,
        vs: &[u64],
        offsets: &mut Vec<u64>,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        ids.clear();
        offsets.clear();
        offsets.push(0);
        self.both(vs, [Projection { keys: OTHER, values: 0 }; 2], |v, sides| {
            let start = ids.len();
            unite(sides[0].others, sides[1].others, v, ids);
            if self.is_keyed() {
                dedup_from(ids, start);
            }
            offsets.push(ids.len() as u64);
        })
    }

    /// Number of edges of `v`, parallel ones too, and the sum of their weights (their number if the
    /// graph has no weights). A self-loop counts once.
    pub fn degree(&self, v: u64) -> Result<(u64, f64)> {
        let mut degree = (0, 0.0);
        self.degrees_of(&[v], |count, sum| degree = (count, sum))?;
        Ok(degree)
    }

    /// Number of outgoing edges of `v`, and the sum of their weights.
    pub fn out_degree(&self, v: u64) -> Result<(u64, f64)> {
        let mut degree = (0, 0.0);
        self.directed_degrees(Direction::Out, &[v], |count, sum| degree = (count, sum))?;
        Ok(degree)
    }

    /// Number of incoming edges of `v`, and the sum of their weights.
    pub fn in_degree(&self, v: u64) -> Result<(u64, f64)> {
        let mut degree = (0, 0.0);
        self.directed_degrees(Direction::In, &[v], |count, sum| degree = (count, sum))?;
        Ok(degree)
    }

    /// [`Graph::degree`] of each of `vs`. Both results are replaced.
    pub fn degree_many(
        &self,
        vs: &[u64],
        counts: &mut Vec<u64>,
        sums: &mut Vec<f64>,
    ) -> Result<()> {
        counts.clear();
        sums.clear();
        self.degrees_of(vs, |count, sum| {
            counts.push(count);
            sums.push(sum);
        })
    }

    /// [`Graph::out_degree`] of each of `vs`. Both results are replaced.
    pub fn out_degree_many(
        &self,
        vs: &[u64],
        counts: &mut Vec<u64>,
        sums: &mut Vec<f64>,
    ) -> Result<()> {
        counts.clear();
        sums.clear();
        self.directed_degrees(Direction::Out, vs, |count, sum| {
            counts.push(count);
            sums.push(sum);
        })
    }

    /// [`Graph::in_degree`] of each of `vs`. Both results are replaced.
    pub fn in_degree_many(
        &self,
        vs: &[u64],
        counts: &mut Vec<u64>,
        sums: &mut Vec<f64>,
    ) -> Result<()> {
        counts.clear();
        sums.clear();
        self.directed_degrees(Direction::In, vs, |count, sum| {
            counts.push(count);
            sums.push(sum);
        })
    }

    fn degrees_of(&self, vs: &[u64], mut take: impl FnMut(u64, f64)) -> Result<()> {
        let weight = self.core.def.weight;
        let values = u64::from(self.weighted());
        // A self-loop is on both sides, so the keys of one side suffice to find it.
        let projections = [Projection { keys: 0, values }, Projection { keys: OTHER, values }];
        self.both(vs, projections, |v, [leaving, arriving]| {
            let mut count = leaving.len as u64;
            let mut sum = leaving.sum(weight);
            for part in arriving.without(v) {
                count += part.len as u64;
                sum += part.sum(weight);
            }
            take(count, sum);
        })
    }

    fn directed_degrees(
        &self,
        direction: Direction,
        vs: &[u64],
        mut take: impl FnMut(u64, f64),
    ) -> Result<()> {
        if self.is_undirected() {
            return self.degrees_of(vs, take);
        }
        scratch::with(&self.core.layout, |scratch| {
            let (rows, offsets) = (&mut scratch.rows[0], &mut scratch.offsets[0]);
            let keyspace = self.keyspace_of(direction);
            let projection = Projection { keys: 0, values: u64::from(self.weighted()) };
            self.read(|read| read.prefix_many(keyspace, vs, projection, offsets, rows))?;
            for range in offsets.windows(2) {
                let count = range[1] - range[0];
                let sum = if self.weighted() {
                    let words = &rows.value_words(0)[range[0] as usize..range[1] as usize];
                    sum_words(self.core.def.weight, words)
                } else {
                    count as f64
                };
                take(count, sum);
            }
            Ok(())
        })
    }

    /// Reads both directions of `vs` at one snapshot and calls `show` for each vertex.
    fn both(
        &self,
        vs: &[u64],
        projections: [Projection; 2],
        mut show: impl FnMut(u64, [Side<'_>; 2]),
    ) -> Result<()> {
        scratch::with(&self.core.layout, |scratch| {
            let [out_rows, in_rows] = &mut scratch.rows;
            let [out_offsets, in_offsets] = &mut scratch.offsets;
            let [leaving, arriving] = projections;
            self.read_snapshot(|read| {
                read.prefix_many(self.core.forward, vs, leaving, out_offsets, out_rows)?;
                read.prefix_many(self.core.reverse, vs, arriving, in_offsets, in_rows)
            })?;
            for (i, &v) in vs.iter().enumerate() {
                let leaving = Side::new(out_rows, out_offsets, i, leaving);
                let arriving = Side::new(in_rows, in_offsets, i, arriving);
                show(v, [leaving, arriving]);
            }
            Ok(())
        })
    }

    /// Number of edges. The cost grows with the writes since the last full compaction, not with the
    /// size of the graph.
    pub fn number_of_edges(&self) -> Result<u64> {
        self.read(|read| read.count(self.core.forward))
    }

    /// Number of vertices: those that are an end of an edge, and those with properties. Scans all
    /// ends and needs 8 bytes of memory for each source.
    pub fn number_of_vertices(&self) -> Result<u64> {
        let mut vertices = 0;
        self.vertices(&mut |ids| vertices += ids.len() as u64)?;
        Ok(vertices)
    }

    /// Whether `v` is an end of an edge, or has a row of properties.
    pub fn has_vertex(&self, v: u64) -> Result<bool> {
        scratch::with(&self.core.layout, |scratch| {
            let rows = &mut scratch.rows[0];
            let range = KeyRange::prefix_words(&[v]);
            self.read_snapshot(|read| {
                read.scan_into(self.core.forward, &range, Projection::COUNT, 1, rows)?;
                if rows.rows == 0 {
                    read.scan_into(self.core.reverse, &range, Projection::COUNT, 1, rows)?;
                }
                Ok(rows.rows > 0 || self.has_node(read, v)?)
            })
        })
    }

    /// Passes all vertices to `visit`, ascending and distinct, a slice at a time: those that are an
    /// end of an edge, and those with a row of properties. Needs 8 bytes of memory for each source
    /// and each such row.
    pub fn vertices(&self, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        let Core { forward, reverse, nodes, .. } = &*self.core;
        self.read_snapshot(|read| vertices(read, [Some(*forward), *nodes], *reverse, visit))
    }

    fn keyspace_of(&self, direction: Direction) -> KeyspaceId {
        match direction {
            Direction::Out => self.core.forward,
            Direction::In => self.core.reverse,
        }
    }
}

/// Maximum number of vertices in one slice.
const VERTEX_SLICE: usize = 8192;

fn vertices(
    read: &dyn Read,
    others: [Option<KeyspaceId>; 2],
    reverse: KeyspaceId,
    visit: &mut dyn FnMut(&[u64]),
) -> Result<()> {
    let mut sources = Vec::new();
    let mut runs = 0;
    for keyspace in others.into_iter().flatten() {
        read.first_words(keyspace, &mut |words| sources.extend_from_slice(words))?;
        runs += 1;
    }
    if runs > 1 {
        // Two sorted runs, which a stable sort finds and merges.
        sources.sort();
        sources.dedup();
    }
    let mut sources = sources.as_slice();
    let mut slice = Vec::with_capacity(VERTEX_SLICE);
    let mut push = |v: u64| {
        slice.push(v);
        if slice.len() == VERTEX_SLICE {
            visit(&slice);
            slice.clear();
        }
    };
    read.first_words(reverse, &mut |targets| {
        for &target in targets {
            while let Some((&source, rest)) = sources.split_first().filter(|(s, _)| **s <= target) {
                sources = rest;
                if source < target {
                    push(source);
                }
            }
            push(target);
        }
    })?;
    sources.iter().for_each(|&source| push(source));
    if !slice.is_empty() {
        visit(&slice);
    }
    Ok(())
}

/// Checks that there is a key for each pair.
pub(super) fn check_keys(us: &[u64], keys: &[i64]) -> Result<()> {
    if us.len() == keys.len() {
        return Ok(());
    }
    Err(invalid(format!("{} edges, but {} keys", us.len(), keys.len())))
}

/// Checks that two columns of pairs have one length.
pub(super) fn check_pairs(us: &[u64], vs: &[u64]) -> Result<()> {
    if us.len() == vs.len() {
        return Ok(());
    }
    Err(invalid(format!("{} sources, but {} targets", us.len(), vs.len())))
}
