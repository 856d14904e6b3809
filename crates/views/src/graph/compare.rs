//! Compares the two directions of a graph of any size in bounded memory.
//!
//! # Why hash sums in buckets
//! The directions are sorted by different keys, so they cannot be merged. But a sum of hashes does
//! not depend on the order: each edge adds its hash to the bucket that its ends select, and
//! directions with the same edges end with the same sums. Only the edges of buckets that differ are
//! collected and compared one by one.
//!
//! The hashes have 128 bits, so about one difference in 2^128 is missed; of differences in
//! properties, one in 2^64.

use super::{Core, Graph, GraphPart, Source, damaged};
use base::{Batch, Column, KeyRange, KeyspaceId, Projection};
use env::Env;
use std::borrow::Cow;
use std::sync::Arc;
use store::{Error, ErrorKind, Read, Result, Scan};

/// Number of buckets. The two ends of an edge select its bucket.
const BUCKETS: usize = 4096;
/// Rows read in one batch.
const ROWS: usize = 8192;
/// Rows of a direction between two calls of the progress function.
const ROWS_A_STEP: u64 = 2 << 20;
/// Maximum number of edges of one direction that are held for comparison one by one.
const EDGES_MAX: u64 = 1 << 21;

/// Called with the rows read so far, of both directions together. Returning false stops.
pub type RowProgress<'a> = &'a (dyn Fn(u64) -> bool + Send + Sync);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket {
    edges: u64,
    sum: u128,
}

/// The buckets of both directions after one pass.
pub(super) struct Sums {
    forward: Vec<Bucket>,
    reverse: Vec<Bucket>,
    /// An edge of an undirected graph whose source is above its target.
    pub(super) misplaced: Option<(u64, u64)>,
}

/// An edge on which the directions disagree, with a word for its values in each direction that has
/// it (see [`value_words`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) src: u64,
    pub(super) dst: u64,
    /// Its key as a word; 0 without keys.
    pub(super) key: u64,
    pub(super) forward: Option<u64>,
    pub(super) reverse: Option<u64>,
}

/// State of the pass over one direction.
struct Side {
    scan: Box<dyn Scan>,
    rows: Batch,
    order: [usize; 2],
    buckets: Vec<Bucket>,
    done: bool,
    /// Whether it looks for an edge whose source is above its target. Only the forward direction
    /// does: the other one has the same edges, or they differ.
    seeks_misplaced: bool,
    misplaced: Option<(u64, u64)>,
}

impl Sums {
    /// Number of edges of each direction.
    pub(super) fn edges(&self) -> (u64, u64) {
        let edges = |buckets: &[Bucket]| buckets.iter().map(|bucket| bucket.edges).sum();
        (edges(&self.forward), edges(&self.reverse))
    }

    /// Buckets that differ, in groups small enough to be compared edge by edge.
    pub(super) fn different(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut edges = u64::MAX;
        for i in (0..BUCKETS).filter(|&i| self.forward[i] != self.reverse[i]) {
            let more = self.forward[i].edges.max(self.reverse[i].edges);
            if edges.saturating_add(more) > EDGES_MAX {
                groups.push(Vec::new());
                edges = 0;
            }
            edges += more;
            if let Some(group) = groups.last_mut() {
                group.push(i);
            }
        }
        groups
    }
}

impl Side {
    fn open(core: &Core, read: &dyn Read, keyspace: KeyspaceId, order: [usize; 2]) -> Result<Self> {
        Ok(Self {
            scan: read.scan(keyspace, KeyRange::all_words(), Projection::ALL)?,
            rows: Batch::new(&core.def.shape(GraphPart::Forward)),
            order,
            buckets: vec![Bucket::default(); BUCKETS],
            done: false,
            seeks_misplaced: core.def.is_undirected && keyspace == core.forward,
            misplaced: None,
        })
    }

    /// Adds a few million rows to the buckets; returns their number.
    fn step(mut self) -> Result<(Self, u64)> {
        let [src, dst] = self.order;
        let mut rows = 0;
        while rows < ROWS_A_STEP && !self.done {
            self.rows.clear();
            if !self.scan.next_batch(ROWS, &mut self.rows)? {
                self.done = true;
                break;
            }
            rows += self.rows.rows as u64;
            let (srcs, dsts) = (self.rows.key_words(src), self.rows.key_words(dst));
            let pairs = srcs.iter().copied().zip(dsts.iter().copied());
            if self.seeks_misplaced && self.misplaced.is_none() {
                self.misplaced = pairs.clone().find(|(src, dst)| dst < src);
            }
            let (values, keys) = (value_words(&self.rows), self.rows.key_words(2));
            for (i, (src, dst)) in pairs.enumerate() {
                let value = values.get(i).copied().unwrap_or_default();
                let hash = match keys.get(i) {
                    None => mix([src, dst, value]),
                    Some(&key) => mix([src, dst, value, key]),
                };
                let bucket = &mut self.buckets[bucket_of(src, dst)];
                bucket.edges += 1;
                bucket.sum = bucket.sum.wrapping_add(hash);
            }
        }
        Ok((self, rows))
    }
}

impl Graph {
    /// Reads both directions once, in parallel if `env` has workers for it.
    pub(super) fn sum_directions(
        &self,
        env: Option<&Arc<dyn Env>>,
        progress: RowProgress<'_>,
    ) -> Result<Sums> {
        let core = &self.core;
        let open = |read: &dyn Read| {
            let forward = Side::open(core, read, core.forward, [0, 1])?;
            Ok(vec![forward, Side::open(core, read, core.reverse, [1, 0])?])
        };
        let mut sides = self.read_snapshot(open)?;
        let mut done = 0;
        while sides.iter().any(|side| !side.done) {
            let stepped: Vec<Result<(Side, u64)>> = match env {
                Some(env) if !matches!(self.source, Source::Transaction(_)) => {
                    env::parallel(&**env, sides, Side::step)
                }
                _ => sides.into_iter().map(Side::step).collect(),
            };
            sides = Vec::new();
            for step in stepped {
                let (side, rows) = step?;
                done += rows;
                sides.push(side);
            }
            if !progress(done) {
                return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
            }
        }
        match <[Side; 2]>::try_from(sides) {
            Ok([forward, reverse]) => {
                let misplaced = forward.misplaced;
                Ok(Sums { forward: forward.buckets, reverse: reverse.buckets, misplaced })
            }
            Err(_) => Err(damaged("a direction was lost")),
        }
    }

    /// The edges of these buckets on which the directions disagree, by source and target.
    pub(super) fn differences(&self, read: &dyn Read, group: &[usize]) -> Result<Vec<Difference>> {
        let mut wanted = vec![false; BUCKETS];
        group.iter().for_each(|&bucket| wanted[bucket] = true);
        let forward = self.bucket_edges(read, self.core.forward, [0, 1], &wanted)?;
        let reverse = self.bucket_edges(read, self.core.reverse, [1, 0], &wanted)?;
        let (mut f, mut r) = (forward.into_iter().peekable(), reverse.into_iter().peekable());
        let mut out = Vec::new();
        loop {
            let name = |edge: &[u64; 4]| [edge[0], edge[1], edge[2]];
            let least = [f.peek().map(name), r.peek().map(name)].into_iter().flatten().min();
            let Some(least) = least else { return Ok(out) };
            let forward = f.next_if(|edge| name(edge) == least).map(|edge| edge[3]);
            let reverse = r.next_if(|edge| name(edge) == least).map(|edge| edge[3]);
            if forward != reverse {
                let [src, dst, key] = least;
                out.push(Difference { src, dst, key, forward, reverse });
            }
        }
    }

    /// The edges of a direction that belong to the buckets: source, target, key and a word for the
    /// values, sorted.
    fn bucket_edges(
        &self,
        read: &dyn Read,
        keyspace: KeyspaceId,
        [src, dst]: [usize; 2],
        wanted: &[bool],
    ) -> Result<Vec<[u64; 4]>> {
        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
        let mut scan = read.scan(keyspace, KeyRange::all_words(), Projection::ALL)?;
        let mut edges = Vec::new();
        while scan.next_batch(ROWS, &mut rows)? {
            let (values, keys) = (value_words(&rows), rows.key_words(2));
            for (i, (&src, &dst)) in rows.key_words(src).iter().zip(rows.key_words(dst)).enumerate()
            {
                if wanted[bucket_of(src, dst)] {
                    let word = |words: &[u64]| words.get(i).copied().unwrap_or_default();
                    edges.push([src, dst, word(keys), word(&values)]);
                }
            }
            rows.clear();
        }
        edges.sort_unstable();
        Ok(edges)
    }
}

/// A word for the values of each edge of a batch: its weight, or a hash of all its properties.
/// Empty if edges have no values.
fn value_words(rows: &Batch) -> Cow<'_, [u64]> {
    match rows.values.as_slice() {
        [] => Cow::Borrowed(&[]),
        [Column::Words(weights)] if weights.validity.0.is_none() => Cow::Borrowed(&weights.words),
        columns => Cow::Owned((0..rows.rows).map(|row| values_hash(columns, row)).collect()),
    }
}

/// A 64-bit hash of the values of a row: two edges with different values pass as equal once in
/// 2^64.
fn values_hash(columns: &[Column], row: usize) -> u64 {
    let step = |state: u64, word: u64| {
        let state = (state ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        state ^ state >> 32
    };
    columns.iter().fold(0x9e37_79b9_7f4a_7c15, |state, column| match column {
        Column::Words(words) => match words.get(row) {
            Some(word) => step(step(state, 1), word),
            None => step(state, 2),
        },
        Column::Bytes(bytes) if bytes.validity.is_valid(row) => {
            let bytes = bytes.get(row);
            step(step(step(state, 3), bytes.len() as u64), base::checksum(bytes))
        }
        Column::Bytes(_) => step(state, 4),
    })
}

fn bucket_of(src: u64, dst: u64) -> usize {
    let hash = (src ^ dst.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = (hash ^ hash >> 32 ^ dst).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (hash >> 52) as usize
}
const _: () = assert!(BUCKETS == 1 << 12, "bucket_of() takes 12 bits");

/// A 128-bit hash of an edge: its ends, a word for its values, and its key if it has one.
fn mix<const N: usize>(edge: [u64; N]) -> u128 {
    let half = |seed: u64| {
        let mut state = seed;
        for word in edge {
            state = (state ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
            state = (state ^ state >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            state ^= state >> 29;
        }
        u128::from(state)
    };
    half(0x9e37_79b9_7f4a_7c15) << 64 | half(0x2545_f491_4f6c_dd1d)
}
