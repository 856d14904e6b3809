//! Chooses the tree to compact next, by compaction score.
//!
//! # Why not the first tree in which something is due
//! One compaction runs at a time. A tree with constant writes has something due whenever one ends,
//! and later trees would never have a turn: their level 0 would grow until all writers are
//! throttled.
//!
//! # Invariants
//! 1. A tree above its size target comes before one that only has stale rows to drop; of two above
//!    it, the one with the larger score.
//! 2. Among trees with equal scores, none has a second turn before all have had one.

use crate::trees::Entry;
use base::KeyspaceId;
use lsm::compaction::DUE;
use std::cmp::Reverse;
use std::sync::Arc;

/// Sorts the trees by turns; `last` was compacted before.
pub(crate) fn in_order<'a>(
    trees: impl Iterator<Item = &'a Arc<Entry>>,
    last: KeyspaceId,
) -> Vec<&'a Arc<Entry>> {
    let scored = |entry: &'a Arc<Entry>| {
        let score = entry.tree.compaction_score();
        // A merge of level 0 that scan debt asked for is due, whether level 0 is full or not.
        let score = if entry.tree.merges_level0_next() { score.max(DUE) } else { score };
        (place(score, entry.info.id, last), entry)
    };
    let mut trees: Vec<_> = trees.map(scored).collect();
    trees.sort_unstable_by_key(|(place, _)| *place);
    trees.into_iter().map(|(_, entry)| entry).collect()
}

/// Sort key: the largest score first, equal scores by turns.
fn place(score: u64, id: KeyspaceId, last: KeyspaceId) -> (Reverse<u64>, bool, KeyspaceId) {
    (Reverse(if score < DUE { 0 } else { score }), id <= last, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kv, KvOptions};
    use base::{Batch, ColumnShape, Key, KeyShape, Kind, Shape};
    use env::MemoryEnv;
    use lsm::context::TreeOptions;
    use std::path::Path;
    use store::{Durability, Kinds, NewKeyspace, Store, TableWrites, WriteBatch};

    #[track_caller]
    fn check(scores: &[u64], last: u32, want: &[u32]) {
        let ids = (1..).map(KeyspaceId);
        let mut places: Vec<_> =
            scores.iter().zip(ids).map(|(&score, id)| place(score, id, KeyspaceId(last))).collect();
        places.sort_unstable();
        assert_eq!(places.iter().map(|(.., id)| id.0).collect::<Vec<_>>(), want);
    }

    #[test]
    fn the_fullest_comes_first_and_of_equals_the_next_one() {
        check(&[1000, 3000, 2000], 0, &[2, 3, 1]);
        check(&[2000, 2000, 2000], 2, &[3, 1, 2]);
        check(&[2000, 2000, 3000], 3, &[3, 1, 2]);
        // Scores below the limit count as equal.
        check(&[900, 0, 1000, 500], 1, &[3, 2, 4, 1]);
    }

    /// Writes to a keyspace until level 0 has this many runs.
    fn fill(kv: &Kv, keyspace: KeyspaceId, runs: usize) {
        while kv.inner.trees.load().get(keyspace).unwrap().tree.level0_runs() < runs {
            let mut rows = Batch::new(&shape());
            rows.keys.push(Key::words(&[7]).as_ref());
            rows.values[0].push_null();
            rows.rows = 1;
            let kinds = Kinds::Uniform(Kind::Put);
            let table = TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() };
            kv.write(&WriteBatch { tables: vec![table] }, None).unwrap();
            kv.flush().unwrap();
        }
    }

    fn shape() -> Shape {
        Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Word { merge: None }] }
    }

    /// Found by reading: the first tree by number that had anything due was taken.
    #[test]
    fn a_tree_that_always_has_something_due_does_not_keep_the_others_waiting() {
        let options = KvOptions {
            durability: Durability::None,
            auto_compaction: false,
            // Small trees are compacted together.
            tree: TreeOptions { shared_bytes_max: 0, ..TreeOptions::default() },
            ..KvOptions::default()
        };
        let kv = Kv::open(Arc::new(MemoryEnv::new(1)), Path::new("/db"), options).unwrap();
        let new =
            |name: &str| NewKeyspace { name: name.into(), shape: shape(), definition: Vec::new() };
        let ids = kv.create_keyspaces(&[new("busy"), new("other"), new("third")]).unwrap();
        let runs = |id| kv.inner.trees.load().get(id).unwrap().tree.level0_runs();
        fill(&kv, ids[0], 4);
        fill(&kv, ids[1], 5);
        fill(&kv, ids[2], 4);
        let mut steps = Vec::new();
        while runs(ids[1]) + runs(ids[2]) > 0 {
            assert!(kv.inner.compact_step().unwrap(), "something is due");
            fill(&kv, ids[0], 4);
            steps.push([runs(ids[1]), runs(ids[2])]);
            assert!(steps.len() < 5, "{steps:?}");
        }
        // The tree with the longest level 0 first, then by turns.
        assert_eq!(steps, [[0, 4], [0, 0]]);
    }
}
