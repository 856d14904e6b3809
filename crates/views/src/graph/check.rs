//! Checks that the keyspaces of a graph agree: both directions, both sides of the dictionary, and
//! vertices with properties. `Database::check` and the command `check` call it.

use super::compare::{Difference, RowProgress};
use super::{Graph, GraphPart, damaged};
use base::{Batch, KeyRange, Projection};
use env::Env;
use std::sync::Arc;
use store::{Read, Result, Scan};

/// Report of a successful [`Graph::check`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphCheck {
    /// Edges found in both directions.
    pub edges: u64,
    /// Names found on both sides of the dictionary; 0 if vertices are integers.
    pub names: u64,
    /// Ids below the largest one without a name; 0 unless the graph was repaired.
    pub ids_free: u64,
    /// Vertices with a row of properties.
    pub nodes: u64,
}

/// Rows read in one batch.
const ROWS: usize = 8192;
/// Maximum number of differences that an error lists.
const NAMED_MAX: usize = 5;

impl Graph {
    /// Reads the whole graph and compares both directions, and both sides of the dictionary. Edges
    /// of an undirected graph must have their smaller end first.
    ///
    /// Each side is reduced to sums of 128-bit hashes, so memory stays bounded.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] with the first edges that differ.
    pub fn check(&self) -> Result<GraphCheck> {
        self.check_with(None, &|_| true)
    }

    /// As [`Graph::check`], with the workers of `env`. `progress` gets the rows read, of both
    /// directions together.
    ///
    /// # Errors
    /// As [`Graph::check`], and [`store::ErrorKind::Cancelled`].
    pub fn check_with(
        &self,
        env: Option<&Arc<dyn Env>>,
        progress: RowProgress<'_>,
    ) -> Result<GraphCheck> {
        let graph = self.held();
        let sums = graph.sum_directions(env, progress)?;
        let (edges, reverse) = sums.edges();
        if let Some(group) = sums.different().first() {
            let different = graph.read_snapshot(|read| graph.differences(read, group))?;
            let mut what = format!(
                "the directions of graph {:?} disagree: {edges} edges forward, {reverse} in reverse",
                self.name(),
            );
            for difference in different.iter().take(NAMED_MAX) {
                what.push_str(&format!("\n  {}", graph.describe(difference)));
            }
            return Err(damaged(what));
        }
        if let Some((src, dst)) = sums.misplaced {
            let (name, ends) = (self.name(), [src, dst].map(|end| graph.vertex_text(end)));
            return Err(damaged(format!(
                "the undirected graph {name:?} has an edge from {} to {}, its larger end first",
                ends[0], ends[1]
            )));
        }
        let (names, ids_free) = graph.read_snapshot(|read| graph.check_names(read))?;
        let nodes = graph.number_of_nodes_stored()?;
        Ok(GraphCheck { edges, names, ids_free, nodes })
    }

    fn describe(&self, difference: &Difference) -> String {
        let Difference { src, dst, key, forward, reverse } = *difference;
        let key = match self.is_keyed() {
            true => format!(" with key {}", base::shape::word_to_int(key)),
            false => String::new(),
        };
        let ends = [src, dst].map(|end| self.vertex_text(end));
        let edge = format!("the edge from {} to {}{key}", ends[0], ends[1]);
        match (forward, reverse) {
            (Some(_), None) => format!("{edge} is not there in reverse"),
            (None, _) => format!("{edge} is there in reverse only"),
            (Some(_), Some(_)) if self.has_properties() => {
                format!("{edge} has other properties in reverse")
            }
            (Some(_), Some(_)) => format!("{edge} has another weight in reverse"),
        }
    }

    /// A vertex for a message.
    fn vertex_text(&self, word: u64) -> String {
        use super::VertexColumn::{I64, Str, U64};
        match self.to_vertices(&[word]) {
            Ok(U64(list)) if !list.is_empty() => list[0].to_string(),
            Ok(I64(list)) if !list.is_empty() => list[0].to_string(),
            Ok(Str(list)) if list.len() == 1 => {
                format!("{:?}", String::from_utf8_lossy(list.get(0)))
            }
            _ => format!("number {word}"),
        }
    }

    /// Compares both sides of the dictionary. Returns the number of names, and of ids below the
    /// largest one without a name.
    fn check_names(&self, read: &dyn Read) -> Result<(u64, u64)> {
        let Some(dictionary) = &self.core.dictionary else { return Ok((0, 0)) };
        let disagree = |what: &str| damaged(format!("the names of graph {:?} {what}", self.name()));
        let mut sums = [(0_u64, 0_u128); 2];
        let mut past = 0;

        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Names));
        let mut scan =
            read.scan(dictionary.stored.names, KeyRange::all_words(), Projection::ALL)?;
        while scan.next_batch(ROWS, &mut rows)? {
            let names = rows.values.first().and_then(|column| column.as_bytes());
            for (i, &id) in rows.key_words(0).iter().enumerate() {
                let name = names.map_or(&[][..], |names| names.get(i));
                sums[0].1 = sums[0].1.wrapping_add(mix_name(id, name));
                past = id.saturating_add(1);
            }
            sums[0].0 += rows.rows as u64;
            rows.clear();
        }

        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Ids));
        let mut scan = read.scan(dictionary.stored.ids, KeyRange::all_bytes(), Projection::ALL)?;
        while scan.next_batch(ROWS, &mut rows)? {
            if let base::Keys::Bytes(names) = &rows.keys {
                for (i, &id) in rows.value_words(0).iter().enumerate() {
                    sums[1].1 = sums[1].1.wrapping_add(mix_name(id, names.get(i)));
                }
            }
            sums[1].0 += rows.rows as u64;
            rows.clear();
        }
        if sums[0] != sums[1] {
            return Err(disagree("and their ids disagree"));
        }
        if !self.unnamed(read, 1)?.is_empty() {
            return Err(disagree("do not cover all vertices"));
        }
        Ok((sums[0].0, past - sums[0].0))
    }

    /// Up to `most` vertices that have edges or properties, and no name.
    pub(super) fn unnamed(&self, read: &dyn Read, most: usize) -> Result<Vec<u64>> {
        let Some(dictionary) = &self.core.dictionary else { return Ok(Vec::new()) };
        let mut unnamed = Vec::new();
        let parts = [Some(self.core.forward), Some(self.core.reverse), self.core.nodes];
        for keyspace in parts.into_iter().flatten() {
            let projection = Projection { keys: 1, values: 0 };
            let scan = read.scan(dictionary.stored.names, KeyRange::all_words(), projection)?;
            let rows = Batch::new(&self.core.def.shape(GraphPart::Names));
            let mut names = Names { scan, rows, at: 0, failed: Ok(()) };
            read.first_words(keyspace, &mut |words| {
                for &word in words {
                    if !names.has(word) && unnamed.len() < most {
                        unnamed.push(word);
                    }
                }
            })?;
            names.failed?;
        }
        unnamed.sort_unstable();
        unnamed.dedup();
        Ok(unnamed)
    }
}

/// The ids that have names, for lookups in ascending order.
struct Names {
    scan: Box<dyn Scan>,
    rows: Batch,
    at: usize,
    failed: Result<()>,
}

impl Names {
    /// Whether `id` has a name. `id` must not be below the previous one. True after a failed read.
    fn has(&mut self, id: u64) -> bool {
        loop {
            let ids = self.rows.key_words(0);
            if let Some(&here) = ids.get(self.at) {
                if here >= id {
                    return here == id;
                }
                self.at += 1 + ids[self.at + 1..].partition_point(|&other| other < id);
                continue;
            }
            if self.failed.is_err() {
                return true;
            }
            self.rows.clear();
            self.at = 0;
            match self.scan.next_batch(ROWS, &mut self.rows) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => self.failed = Err(error),
            }
        }
    }
}

/// A 128-bit hash of an id and its name.
fn mix_name(id: u64, name: &[u8]) -> u128 {
    let half = |seed: u64, word: u64| {
        let state = (seed ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let state = (state ^ state >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        state ^ state >> 29
    };
    let text = base::checksum(name) ^ (name.len() as u64).rotate_left(48);
    let low = half(half(0x9e37_79b9_7f4a_7c15, id), text);
    let high = half(half(0x2545_f491_4f6c_dd1d, text), id);
    u128::from(high) << 64 | u128::from(low)
}
