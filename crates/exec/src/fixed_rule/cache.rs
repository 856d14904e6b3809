//! A cache of graph projections that queries share. The engine in `session` owns it; `call.rs`
//! reads and fills it for algorithms whose input is a stored relation.
//!
//! # Invariants
//! 1. It contains no interned cells, which belong to one query. Vertices that are not words are
//!    stored as values.

use super::projection::{Names, Projection};
use crate::snapshot_cache::{Key, SnapshotCache};
use crate::value::cell::Interner;
use algo::Csr;
use base::SeqNo;
use std::sync::Arc;

/// Smaller graphs are not cached: building one is as fast as a lookup.
const EDGES_MIN: u64 = 1024;

/// The projection cache of an engine.
#[derive(Debug)]
pub struct Projections {
    kept: SnapshotCache<(Arc<Names>, Arc<Csr>)>,
}

impl Projections {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: u64) -> Self {
        Self { kept: SnapshotCache::new(bytes_max) }
    }

    /// The cached projection for `key` at snapshot `moment`. Its columns are source, target, and
    /// the weight if there is one.
    pub(crate) fn get<'i>(
        &self,
        key: &Key,
        moment: SeqNo,
        interner: &'i Interner,
    ) -> Option<Projection<'i>> {
        let (names, graph) = self.kept.get(key, moment)?;
        Some(Projection::of_parts(names, graph, interner))
    }

    /// Caches a projection for a key and a snapshot, and returns it.
    pub(crate) fn put<'i>(
        &self,
        key: Key,
        moment: SeqNo,
        projection: Projection<'i>,
        interner: &'i Interner,
    ) -> Projection<'i> {
        if projection.graph().edges() < EDGES_MIN {
            return projection;
        }
        let (names, graph) = projection.parts();
        let (names, graph) = (names.lasting(interner), Arc::clone(graph));
        let lasting = Projection::of_parts(Arc::clone(&names), Arc::clone(&graph), interner);
        self.kept.put(key, moment, (names, graph), lasting.bytes());
        projection
    }
}

#[cfg(test)]
mod tests {
    use super::super::projection::Edges;
    use super::*;
    use crate::value::cell::Cell;
    use base::KeyspaceId;
    use model::Value;

    fn projection<'i>(values: &[Value], interner: &'i Interner) -> Projection<'i> {
        let cells: Vec<Cell> = values.iter().map(|value| interner.cell(value)).collect();
        let around = cells.iter().cycle().skip(1).take(cells.len()).copied().collect();
        let edges = Edges { sources: cells, targets: around, ..Edges::default() };
        Projection::new(edges, interner, &|| true).unwrap()
    }

    fn words() -> Vec<Value> {
        (0..2000).map(|i| Value::Str(format!("vertex {i}"))).collect()
    }

    fn key(keyspace: u32) -> Key {
        Key { keyspace: KeyspaceId(keyspace), path: KeyspaceId(keyspace), columns: vec![0, 1] }
    }

    #[test]
    fn what_is_kept_is_found_at_its_moment_only_and_in_any_interner() {
        let (one, other) = (Interner::default(), Interner::default());
        let kept = Projections::new(1 << 30);
        for values in [words(), (0..2000).map(Value::Int).collect()] {
            let made = projection(&values, &one);
            kept.put(key(1), SeqNo(7), made.clone(), &one);
            assert!(kept.get(&key(1), SeqNo(8), &other).is_none());
            assert!(kept.get(&key(2), SeqNo(7), &other).is_none());
            let found = kept.get(&key(1), SeqNo(7), &other).unwrap();
            assert_eq!(found.graph(), made.graph());
            for v in 0..2000 {
                let value = one.value(made.cell(v));
                assert_eq!(other.value(found.cell(v)), value);
                assert_eq!(found.number(other.cell(&value)), Some(v));
            }
        }
    }
}
