//! Whether the keyspaces of a graph agree.

use super::{Graph, GraphPart, damaged};
use base::{Batch, KeyRange, KeyspaceId, Projection};
use store::{Read, Result};

/// What [`Graph::check`] found sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphCheck {
    /// Edges found in both directions.
    pub edges: u64,
    /// Names found in both directions; 0 where vertices are numbers.
    pub names: u64,
}

/// Rows read at once.
const ROWS: usize = 8192;

impl Graph {
    /// Reads the whole graph and compares its directions, and the dictionary's.
    ///
    /// Each side is summed up in 64 bits of a strong mix, so that memory stays bounded: a
    /// difference goes unseen once in 2^64.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] says what disagrees.
    pub fn check(&self) -> Result<GraphCheck> {
        self.read_moment(|read| {
            let forward = self.sum_edges(read, self.core.forward, [0, 1])?;
            let reverse = self.sum_edges(read, self.core.reverse, [1, 0])?;
            if forward != reverse {
                return Err(damaged(format!(
                    "the directions of graph {:?} disagree: {} edges forward, {} in reverse",
                    self.name(),
                    forward.0,
                    reverse.0
                )));
            }
            let names = self.check_names(read)?;
            Ok(GraphCheck { edges: forward.0, names })
        })
    }

    /// Rows, and the sum of the mixes of source, target and weight.
    fn sum_edges(
        &self,
        read: &dyn Read,
        keyspace: KeyspaceId,
        [src, dst]: [usize; 2],
    ) -> Result<(u64, u64)> {
        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Forward));
        let mut scan = read.scan(keyspace, KeyRange::all_words(), Projection::ALL)?;
        let (mut count, mut sum) = (0, 0_u64);
        while scan.next_batch(ROWS, &mut rows)? {
            let (srcs, dsts) = (rows.key_words(src), rows.key_words(dst));
            let weights = rows.value_words(0);
            for (i, (&src, &dst)) in srcs.iter().zip(dsts).enumerate() {
                let weight = weights.get(i).copied().unwrap_or_default();
                sum = sum.wrapping_add(mix(&[src, dst, weight], &[]));
            }
            count += rows.rows as u64;
            rows.clear();
        }
        Ok((count, sum))
    }

    fn check_names(&self, read: &dyn Read) -> Result<u64> {
        let Some(dictionary) = &self.core.dictionary else { return Ok(0) };
        let disagree = |what: &str| damaged(format!("the names of graph {:?} {what}", self.name()));
        let mut sums = [(0_u64, 0_u64); 2];
        let mut known = Vec::new();

        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Names));
        let mut scan = read.scan(dictionary.names, KeyRange::all_words(), Projection::ALL)?;
        while scan.next_batch(ROWS, &mut rows)? {
            let names = rows.values.first().and_then(|column| column.as_bytes());
            for (i, &id) in rows.key_words(0).iter().enumerate() {
                let name = names.map_or(&[][..], |names| names.get(i));
                sums[0].1 = sums[0].1.wrapping_add(mix(&[id], name));
            }
            known.extend_from_slice(rows.key_words(0));
            sums[0].0 += rows.rows as u64;
            rows.clear();
        }

        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Ids));
        let mut scan = read.scan(dictionary.ids, KeyRange::all_bytes(), Projection::ALL)?;
        while scan.next_batch(ROWS, &mut rows)? {
            if let base::Keys::Bytes(names) = &rows.keys {
                for (i, &id) in rows.value_words(0).iter().enumerate() {
                    sums[1].1 = sums[1].1.wrapping_add(mix(&[id], names.get(i)));
                }
            }
            sums[1].0 += rows.rows as u64;
            rows.clear();
        }
        if sums[0] != sums[1] {
            return Err(disagree("and their ids disagree"));
        }

        for keyspace in [self.core.forward, self.core.reverse] {
            let mut rest = known.as_slice();
            let mut unnamed = false;
            read.first_words(keyspace, &mut |words| {
                for &word in words {
                    while rest.first().is_some_and(|&id| id < word) {
                        rest = &rest[1..];
                    }
                    unnamed |= rest.first() != Some(&word);
                }
            })?;
            if unnamed {
                return Err(disagree("do not cover all vertices"));
            }
        }
        Ok(sums[0].0)
    }
}

/// A strong mix of words and bytes.
fn mix(words: &[u64], bytes: &[u8]) -> u64 {
    if bytes.is_empty() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for &word in words {
            state = (state ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
            state = (state ^ state >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            state ^= state >> 29;
        }
        return state;
    }
    mix(&[mix(words, &[]), base::checksum(bytes), bytes.len() as u64], &[])
}
