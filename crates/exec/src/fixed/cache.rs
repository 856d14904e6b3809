//! Projections that are kept from query to query while what they were made of stays as it is.
//!
//! # Why by the moment of the whole store
//! The store numbers its commits. A snapshot of the same number sees the same rows, so a projection made at it is right without
//! looking at one row. Any commit, of any relation, ends that: a graph that is asked again and again between changes gains, and one
//! under a stream of writes loses nothing but the moment in which its projection is put here.
//!
//! # Invariants
//! 1. No cell of an interner is kept: interners live as long as a query. Where vertices are not words, their values are kept.
//! 2. What is kept takes at most `bytes_max` bytes; what was not asked for longest goes first.

use super::projection::{Names, Projection};
use crate::cell::Interner;
use algo::Csr;
use base::{KeyspaceId, SeqNo};
use env::sync::Mutex;
use std::sync::Arc;

/// Graphs with fewer edges are made anew: that is as quick as finding them.
const EDGES_MIN: u64 = 1024;

/// What a projection is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The relation.
    pub keyspace: KeyspaceId,
    /// Its columns: source, target, and weight if there is one.
    pub columns: Vec<usize>,
}

/// The projections of an engine.
#[derive(Debug)]
pub(crate) struct Projections {
    kept: Mutex<Vec<Kept>>,
    bytes_max: u64,
}

/// What is kept; the last of its list was asked for last.
#[derive(Debug)]
struct Kept {
    key: Key,
    moment: SeqNo,
    names: Arc<Names>,
    graph: Arc<Csr>,
    bytes: u64,
}

impl Projections {
    /// Keeps nothing yet, and at most so many bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { kept: Mutex::default(), bytes_max }
    }

    /// The projection made of this at this moment.
    pub(crate) fn get<'i>(
        &self,
        key: &Key,
        moment: SeqNo,
        interner: &'i Interner,
    ) -> Option<Projection<'i>> {
        let mut kept = self.kept.lock();
        let place = kept.iter().position(|one| one.key == *key && one.moment == moment)?;
        let found = kept.remove(place);
        let (names, graph) = (Arc::clone(&found.names), Arc::clone(&found.graph));
        kept.push(found);
        Some(Projection::of_parts(names, graph, interner))
    }

    /// Keeps a projection made of this at a moment, and gives it back.
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
        let bytes = lasting.bytes();
        if bytes > self.bytes_max {
            return projection;
        }
        let mut kept = self.kept.lock();
        // What is older is of no use to queries that begin now; one that runs since then has what it wants.
        kept.retain(|one| one.key != key || one.moment > moment);
        kept.push(Kept { key, moment, names, graph, bytes });
        let mut all: u64 = kept.iter().map(|one| one.bytes).sum();
        let mut gone = 0;
        while all > self.bytes_max {
            all -= kept[gone].bytes;
            gone += 1;
        }
        kept.drain(..gone);
        projection
    }
}

#[cfg(test)]
mod tests {
    use super::super::projection::Edges;
    use super::*;
    use crate::cell::Cell;
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
        Key { keyspace: KeyspaceId(keyspace), columns: vec![0, 1] }
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

    #[test]
    fn a_newer_moment_takes_the_place_of_an_older_one_and_never_the_other_way() {
        let interner = Interner::default();
        let kept = Projections::new(1 << 30);
        let made = projection(&words(), &interner);
        kept.put(key(1), SeqNo(7), made.clone(), &interner);
        kept.put(key(1), SeqNo(8), made.clone(), &interner);
        assert!(kept.get(&key(1), SeqNo(7), &interner).is_none());
        kept.put(key(1), SeqNo(7), made.clone(), &interner);
        assert!(kept.get(&key(1), SeqNo(8), &interner).is_some());
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let interner = Interner::default();
        let made = projection(&(0..2000).map(Value::Int).collect::<Vec<_>>(), &interner);
        let kept = Projections::new(made.bytes() * 2);
        kept.put(key(1), SeqNo(1), made.clone(), &interner);
        kept.put(key(2), SeqNo(1), made.clone(), &interner);
        kept.get(&key(1), SeqNo(1), &interner).unwrap();
        kept.put(key(3), SeqNo(1), made.clone(), &interner);
        let is_there = |number| kept.get(&key(number), SeqNo(1), &interner).is_some();
        assert_eq!([1, 2, 3].map(is_there), [true, false, true]);
    }
}
