//! Isolation checks, without assertions on their results: the sound engine must pass each, and an
//! engine with a fault switch on must not (`tests/mutants.rs`).
//!Each test binary uses some of them; threads and files belong to the tests.
#![allow(dead_code, clippy::unwrap_used, clippy::disallowed_methods)]

pub(crate) mod append;
pub(crate) mod hermitage;
pub(crate) mod ldbc;
pub(crate) mod storage;

use quipu::{Database, ErrorKind, Graph, GraphOptions, Tx, Weight, WeightType};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a check with threads is repeated until it is considered blind. Most need one run of a
/// few milliseconds. How soon threads interleave depends on the machine, so the limit is generous,
/// and is a time instead of a number of runs.
const PATIENCE: Duration = Duration::from_secs(240);

/// Numbers of attempts, until [`PATIENCE`] ends; at least one.
pub(crate) fn attempts() -> impl Iterator<Item = u64> {
    let end = Instant::now() + PATIENCE;
    (0..).take_while(move |&run| run == 0 || Instant::now() < end)
}

/// Waits until all threads have called it, so that none ends before the last one begins.
pub(crate) fn meet(missing: &AtomicU64) {
    missing.fetch_sub(1, Ordering::AcqRel);
    while missing.load(Ordering::Acquire) > 0 {
        std::thread::yield_now();
    }
}

/// A graph with integer weights, used as a table of rows `(u, v) => weight`.
pub(crate) fn table(db: &Database, name: &str) -> Graph {
    let options = GraphOptions { weight: WeightType::Int, ..GraphOptions::default() };
    db.graph(name, options).unwrap()
}

/// Weight of an edge; 0 if it does not exist.
pub(crate) fn int(graph: &Graph, u: u64, v: u64) -> i64 {
    match graph.edge(u, v).unwrap() {
        Some(Weight::Int(int)) => int,
        _ => 0,
    }
}

/// Writes an edge.
pub(crate) fn set(graph: &Graph, u: u64, v: u64, int: i64) {
    graph.upsert(u, v, Some(Weight::Int(int))).unwrap();
}

/// Commits; returns false if another transaction won.
pub(crate) fn commit(tx: &Tx) -> bool {
    match tx.commit() {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::Conflict => false,
        Err(error) => panic!("a commit failed: {error}"),
    }
}
