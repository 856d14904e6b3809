//! The checks of isolation, apart from what is asserted of them: the sound engine must pass each,
//! and an engine with a switch of `base::sabotage` on must not (`tests/sabotage.rs`).
// Each test binary uses a part of it; threads and files are the tests' own.
#![allow(dead_code, clippy::unwrap_used, clippy::disallowed_methods)]

pub(crate) mod append;
pub(crate) mod hermitage;
pub(crate) mod ldbc;
pub(crate) mod storage;

use quipu::{Database, ErrorKind, Graph, GraphOptions, Tx, Weight, WeightType};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a check with threads is repeated before it is taken to be blind. Most need one run of
/// some milliseconds; how soon threads meet is the machine's affair, so the bound is far off and
/// counts no runs.
const PATIENCE: Duration = Duration::from_secs(240);

/// Numbers of runs to try, until patience ends: at least one.
pub(crate) fn attempts() -> impl Iterator<Item = u64> {
    let end = Instant::now() + PATIENCE;
    (0..).take_while(move |&run| run == 0 || Instant::now() < end)
}

/// Counts one thread in and waits for the others, so that none is through before the last begins.
pub(crate) fn meet(missing: &AtomicU64) {
    missing.fetch_sub(1, Ordering::AcqRel);
    while missing.load(Ordering::Acquire) > 0 {
        std::thread::yield_now();
    }
}

/// A graph whose edges weigh an integer: a table of rows `(u, v) => weight`.
pub(crate) fn table(db: &Database, name: &str) -> Graph {
    let options = GraphOptions { weight: WeightType::Int, ..GraphOptions::default() };
    db.graph(name, options).unwrap()
}

/// Weight of an edge; 0 where it is not there.
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

/// Commits; false where another transaction won.
pub(crate) fn commit(tx: &Tx) -> bool {
    match tx.commit() {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::Conflict => false,
        Err(error) => panic!("a commit failed: {error}"),
    }
}
