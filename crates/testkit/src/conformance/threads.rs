//! Promises about concurrent threads. No test waits: threads run as they come.
#![allow(clippy::disallowed_methods)] // real threads on a real engine

use super::Place;
use super::data::{Random, Rows, Space, counters, int};
use base::{Key, Kind};
use std::sync::atomic::{AtomicBool, Ordering};
use store::{ErrorKind, Isolation, Store, Transaction, WriteBatch};

/// Threads of each test.
const THREADS: u64 = 4;
/// Transactions of each thread.
const ROUNDS: u64 = 25;

/// Retries until the transaction commits; others' commits are the only reason to fail.
fn retry(store: &dyn Store, isolation: Isolation, run: impl Fn(&dyn Transaction) -> bool) -> bool {
    loop {
        let transaction = store.begin(isolation);
        if !run(&*transaction) {
            return false;
        }
        match transaction.commit() {
            Ok(_) => return true,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
        }
    }
}

fn accounts(store: &dyn Store, count: u64, each: i64) -> Space {
    let space = counters(store, "accounts");
    let rows: Rows = (0..count).map(|k| (Key::words(&[k]), vec![int(each)])).collect();
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    space
}

fn sum(space: &Space, read: &dyn store::Read) -> i64 {
    space.counts(read).iter().map(|(_, count)| count).sum()
}

/// Read, compute, write, with retries: no update is lost. Every snapshot has the same sum.
pub fn transfers_of_threads_keep_the_sum(place: &dyn Place) {
    let store = place.open();
    let space = accounts(&*store, 8, 100);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(sum(&space, &*store.snapshot()), 800);
            }
        });
        let movers: Vec<_> = (0..THREADS)
            .map(|seed| {
                let (store, space) = (&store, &space);
                scope.spawn(move || {
                    let mut random = Random(seed);
                    for _ in 0..ROUNDS {
                        let (from, to) = (random.below(8), random.below(7));
                        let to = if to < from { to } else { to + 1 };
                        retry(&**store, Isolation::Snapshot, |transaction| {
                            let left = space.counter(transaction, from).unwrap() - 1;
                            let more = space.counter(transaction, to).unwrap() + 1;
                            transaction.write(&space.count(Kind::Put, from, left)).unwrap();
                            transaction.write(&space.count(Kind::Put, to, more)).unwrap();
                            true
                        });
                    }
                })
            })
            .collect();
        movers.into_iter().for_each(|mover| mover.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(sum(&space, &*store), 800);
    store.close().unwrap();
}

/// Merges need no retry.
pub fn increments_of_threads_are_all_counted(place: &dyn Place) {
    let store = place.open();
    let space = counters(&*store, "hits");
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let (store, space) = (&store, &space);
            scope.spawn(move || {
                let mut random = Random(seed);
                for round in 0..ROUNDS {
                    let batch = space.count(Kind::Merge, random.below(3), 1);
                    if round % 2 == 0 {
                        store.write(&batch, None).unwrap();
                    } else {
                        let transaction = store.begin(Isolation::Snapshot);
                        transaction.write(&batch).unwrap();
                        transaction.commit().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(sum(&space, &*store), (THREADS * ROUNDS) as i64);
    store.close().unwrap();
}

/// At least one doctor stays on call: the example of write skew in Cahill et al., *Serializable
/// isolation for snapshot databases*, 2008.
pub fn serializable_threads_keep_an_invariant(place: &dyn Place) {
    let store = place.open();
    let space = accounts(&*store, THREADS, 1);
    std::thread::scope(|scope| {
        for doctor in 0..THREADS {
            let (store, space) = (&store, &space);
            scope.spawn(move || {
                for _ in 0..ROUNDS / 2 {
                    let left = retry(&**store, Isolation::Serializable, |transaction| {
                        let others = sum(space, transaction) > 1;
                        transaction.write(&space.count(Kind::Put, doctor, 0)).unwrap();
                        others
                    });
                    assert!(sum(space, &*store.snapshot()) >= 1, "nobody is on call");
                    if left {
                        store.write(&space.count(Kind::Put, doctor, 1), None).unwrap();
                    }
                }
            });
        }
    });
    assert!(sum(&space, &*store) >= 1);
    store.close().unwrap();
}

/// Never one keyspace without the other.
pub fn readers_see_whole_commits(place: &dyn Place) {
    let store = place.open();
    let (a, b) = (counters(&*store, "a"), counters(&*store, "b"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut newest = 0;
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let found = (a.counts(&*snapshot), b.counts(&*snapshot));
                    assert_eq!(found.0, found.1);
                    let count = found.0.first().map_or(0, |(_, count)| *count);
                    assert!(count >= newest, "a later snapshot is older");
                    newest = count;
                }
            });
        }
        for count in 1..=50 {
            let rows = [(Key::words(&[1]), vec![int(count)])];
            let tables = vec![a.writes(Kind::Put, &rows), b.writes(Kind::Put, &rows)];
            store.write(&WriteBatch { tables }, None).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(a.counts(&*store), [(1, 50)]);
    store.close().unwrap();
}
