//! Real threads on one store whose memtables are so small that it flushes and compacts all the
//! time.
// The tests create threads themselves, past `env`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use base::{KeyspaceId, Kind};
use common::disk::FaultyEnv;
use common::{Random, both, create, delete_range, load, options, scan, weight};
use env::{Env, MemoryEnv, RealEnv, RealOptions};
use quipu_kv::{Kv, KvOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use store::{Durability, ErrorKind, Isolation, Read, Store};

const WRITERS: u64 = 4;
const COMMITS: u64 = 100;

/// Runs on both disks with two keyspaces each, and once more after reopening.
fn each(
    durability: Durability,
    run: impl Fn(&Kv, &[KeyspaceId]),
    after: impl Fn(&Kv, &[KeyspaceId]),
) {
    let folder = tempfile::tempdir().unwrap();
    let real = RealOptions { threads: 2, ..RealOptions::default() };
    let disks: [(Arc<dyn Env>, _); 2] = [
        (Arc::new(MemoryEnv::new(2)), Path::new("/db").to_owned()),
        (Arc::new(RealEnv::new(real)), folder.path().join("db")),
    ];
    for (env, folder) in disks {
        let open = || Kv::open(Arc::clone(&env), &folder, options(durability, 6 << 10)).unwrap();
        let kv = open();
        let ids = create(&kv, &["out", "in"]).unwrap();
        run(&kv, &ids);
        after(&kv, &ids);
        kv.check(&|_, _| true).unwrap();
        kv.close().unwrap();
        drop(kv);
        after(&open(), &ids);
    }
}

/// Checks that both directions hold the same edges.
fn agree(read: &dyn Read, ids: &[KeyspaceId]) -> Vec<(u64, u64, u64)> {
    let out = scan(read, ids[0]).unwrap();
    let mut reverse: Vec<_> =
        scan(read, ids[1]).unwrap().into_iter().map(|(b, a, w)| (a, b, w)).collect();
    reverse.sort_unstable();
    assert_eq!(out, reverse, "one commit wrote both directions");
    out
}

/// Counts running writers down, also when one fails.
struct Gone<'a>(&'a AtomicU64);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Found by reading: keys were looked up under the lock of all commits, and each lookup could read
/// the device.
#[test]
fn keys_are_looked_up_while_others_commit_and_what_these_change_counts() {
    let env = Arc::new(FaultyEnv::new());
    let quiet = KvOptions { auto_compaction: false, ..options(Durability::Os, 1 << 20) };
    let kv = Kv::open(Arc::<FaultyEnv>::clone(&env), Path::new("/db"), quiet);
    let kv = Arc::new(kv.unwrap());
    let ids = create(&*kv, &["out", "in"]).unwrap();
    let edges: Vec<_> = (0..20).map(|i| (i, i, 1)).collect();
    kv.write(&both(&ids, Kind::Put, &edges), None).unwrap();
    kv.compact().unwrap();
    let committed = Arc::new(AtomicBool::new(false));
    env.before_read({
        let (kv, ids, committed) = (Arc::clone(&kv), ids.clone(), Arc::clone(&committed));
        move || {
            // A commit under the lock would wait forever.
            assert!(kv.commit_would_not_block(), "the lock is held around a read");
            kv.write(&both(&ids, Kind::Put, &[(30, 30, 1)]), None).unwrap();
            kv.write(&both(&ids, Kind::Delete, &[(3, 3, 0)]), None).unwrap();
            for id in &ids {
                kv.write(&delete_range(*id, 7, 8), None).unwrap();
            }
            committed.store(true, Ordering::Release);
        }
    });
    let asked = [5, 3, 30, 31, 5, 7].map(|i| (i, i, 0));
    let mut existed = Vec::new();
    kv.write(&both(&ids, Kind::Delete, &asked), Some(&mut existed)).unwrap();
    assert!(committed.load(Ordering::Acquire), "something was read");
    assert_eq!(existed[..6], [true, false, true, false, true, false]);
    assert_eq!(existed[6..], [false, true, true, false, true, false], "in the order of the rows");
    let left = agree(&*kv, &ids);
    assert_eq!(left.len(), 17, "{left:?}");
}

fn write_and_read(kv: &Kv, ids: &[KeyspaceId]) {
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let writing = AtomicU64::new(WRITERS);
    std::thread::scope(|scope| {
        for me in 0..WRITERS {
            let (acknowledged, writing) = (&acknowledged, &writing);
            scope.spawn(move || {
                let _gone = Gone(writing);
                for i in 1..=COMMITS {
                    // A counter for this writer, one for all, and a separate edge.
                    let edges = [(0, 0, 1), (1, me, 1), (2 + me, i, i as i64)];
                    kv.write(&both(ids, Kind::Merge, &edges), None).unwrap();
                    acknowledged[me as usize].store(i, Ordering::Release);
                    assert_eq!(weight(kv, ids[0], 1, me), Some(i as i64), "own writes are seen");
                    match i % 100 {
                        33 if me == 0 => kv.compact().unwrap(),
                        66 if me == 1 => load(kv, ids, &[(100 + i, 1, 1)]).unwrap(),
                        99 if me == 2 => kv.flush().unwrap(),
                        50 if me == 3 => {
                            let name = format!("passing{i}");
                            let passing = create(kv, &[&name]).unwrap();
                            let edges = [(1, 1, 1)];
                            let batch = both(&[passing[0], passing[0]], Kind::Put, &edges);
                            let batch = store::WriteBatch { tables: batch.tables[..1].to_vec() };
                            kv.write(&batch, None).unwrap();
                            kv.drop_keyspaces(&passing).unwrap();
                        }
                        _ => {}
                    }
                }
            });
        }
        for _ in 0..4 {
            let (acknowledged, writing) = (&acknowledged, &writing);
            scope.spawn(move || {
                let mut last = vec![0; WRITERS as usize];
                while writing.load(Ordering::Acquire) > 0 {
                    let floor: Vec<_> =
                        acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect();
                    let moment = kv.snapshot();
                    let edges = agree(&*moment, ids);
                    assert_eq!(edges, agree(&*moment, ids), "a snapshot does not change");
                    let mut all = 0;
                    for me in 0..WRITERS {
                        let count = weight(&*moment, ids[0], 1, me).unwrap_or(0) as u64;
                        assert!(count >= floor[me as usize], "what was acknowledged is seen");
                        assert!(count >= last[me as usize], "counters only grow");
                        last[me as usize] = count;
                        let own = edges.iter().filter(|edge| edge.0 == 2 + me).count() as u64;
                        assert_eq!(own, count, "a commit is there whole");
                        all += count;
                    }
                    assert_eq!(weight(&*moment, ids[0], 0, 0).unwrap_or(0) as u64, all);
                }
            });
        }
    });
}

#[test]
fn readers_see_whole_commits_in_order_while_everything_runs() {
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        each(durability, write_and_read, |kv, ids| {
            agree(kv, ids);
            assert_eq!(weight(kv, ids[0], 0, 0), Some((WRITERS * COMMITS) as i64));
        });
    }
}

const ACCOUNTS: u64 = 6;
const START: i64 = 100;

fn sum(read: &dyn Read, id: KeyspaceId) -> i64 {
    (0..ACCOUNTS).map(|account| weight(read, id, account, 0).unwrap()).sum()
}

#[test]
fn transfers_with_retries_keep_the_sum() {
    let run = |kv: &Kv, ids: &[KeyspaceId]| {
        let start: Vec<_> = (0..ACCOUNTS).map(|account| (account, 0, START)).collect();
        kv.write(&both(ids, Kind::Put, &start), None).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let movers: Vec<_> = (0..4)
                .map(|me| {
                    scope.spawn(move || {
                        let mut random = Random(me);
                        let mut moved = 0;
                        for _ in 0..100 {
                            let from = random.below(ACCOUNTS);
                            let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
                            // First committer wins, so one writer succeeds in each round.
                            for _ in 0..10_000 {
                                let tx = kv.begin(Isolation::Snapshot);
                                let a = weight(&*tx, ids[0], from, 0).unwrap();
                                let b = weight(&*tx, ids[0], to, 0).unwrap();
                                let mut edges = [(from, 0, a - 1), (to, 0, b + 1)];
                                edges.sort_unstable();
                                tx.write(&both(ids, Kind::Put, &edges)).unwrap();
                                match tx.commit() {
                                    Ok(_) => {
                                        moved += 1;
                                        break;
                                    }
                                    Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                                }
                            }
                        }
                        moved
                    })
                })
                .collect();
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    let moment = kv.snapshot();
                    assert_eq!(sum(&*moment, ids[0]), ACCOUNTS as i64 * START);
                    agree(&*moment, ids);
                }
            });
            let moved: Vec<_> = movers.into_iter().map(|mover| mover.join()).collect();
            // Also where a writer failed: the reader would run forever.
            done.store(true, Ordering::Release);
            let moved: u64 = moved.into_iter().map(Result::unwrap).sum();
            assert_eq!(moved, 400);
        });
    };
    each(Durability::Os, run, |kv, ids| {
        assert_eq!(sum(kv, ids[0]), ACCOUNTS as i64 * START);
        agree(kv, ids);
    });
}

#[test]
fn write_skew_passes_under_snapshot_and_is_refused_under_serializable() {
    for flush in [false, true] {
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
            let kv = Kv::open(env, Path::new("/db"), options(Durability::Os, 6 << 10)).unwrap();
            let ids = create(&kv, &["out", "in"]).unwrap();
            kv.write(&both(&ids, Kind::Put, &[(1, 0, 1), (2, 0, 1)]), None).unwrap();
            let (first, second) = (kv.begin(isolation), kv.begin(isolation));
            for (tx, mine, other) in [(&first, 1, 2), (&second, 2, 1)] {
                assert_eq!(weight(&**tx, ids[0], other, 0), Some(1));
                tx.write(&both(&ids, Kind::Put, &[(mine, 0, 0)])).unwrap();
            }
            first.commit().unwrap();
            if flush {
                kv.compact().unwrap();
            }
            let second = second.commit().map_err(|error| error.kind());
            match isolation {
                Isolation::Snapshot => assert!(second.is_ok()),
                Isolation::Serializable => assert_eq!(second, Err(ErrorKind::Conflict)),
            }
        }
    }
}

#[test]
fn closing_beside_writers_loses_nothing_that_was_acknowledged() {
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        for round in 0..20 {
            let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
            let open = || {
                Kv::open(Arc::clone(&env), Path::new("/db"), options(durability, 6 << 10)).unwrap()
            };
            let kv = open();
            let ids = create(&kv, &["out", "in"]).unwrap();
            let acknowledged = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for _ in 0..10_000 {
                            if kv.write(&both(&ids, Kind::Merge, &[(0, 0, 1)]), None).is_err() {
                                return;
                            }
                            acknowledged.fetch_add(1, Ordering::AcqRel);
                        }
                    });
                }
                while acknowledged.load(Ordering::Acquire) < 20 * round + 1 {
                    std::thread::yield_now();
                }
                kv.close().unwrap();
            });
            let again = open();
            let count = weight(&again, ids[0], 0, 0).unwrap_or(0) as u64;
            assert_eq!(count, acknowledged.load(Ordering::Acquire), "{durability:?}");
            agree(&again, &ids);
        }
    }
}

#[test]
fn a_transaction_writes_a_keyspace_that_was_created_after_it_began() {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let kv = Kv::open(env, Path::new("/db"), options(Durability::Os, 6 << 10)).unwrap();
    let transaction = kv.begin(Isolation::Snapshot);
    let ids = create(&kv, &["out", "in"]).unwrap();
    assert_eq!(weight(&*transaction, ids[0], 1, 2), None);
    transaction.write(&both(&ids, Kind::Put, &[(1, 2, 3)])).unwrap();
    assert_eq!(weight(&*transaction, ids[0], 1, 2), Some(3));
    assert_eq!(weight(&kv, ids[0], 1, 2), None);
    transaction.commit().unwrap();
    assert_eq!(agree(&kv, &ids), [(1, 2, base::int_to_word(3))]);

    // A write to it by another transaction, since this one began, is a conflict as in any keyspace.
    let late = kv.begin(Isolation::Snapshot);
    let more = create(&kv, &["out2", "in2"]).unwrap();
    kv.write(&both(&more, Kind::Put, &[(1, 2, 3)]), None).unwrap();
    assert_eq!(weight(&*late, more[0], 1, 2), None, "it is newer than the transaction");
    late.write(&both(&more, Kind::Put, &[(1, 2, 4)])).unwrap();
    assert_eq!(late.commit().unwrap_err().kind(), ErrorKind::Conflict);
}

/// A non-blocking write that failed is retried with blocking: it must not be applied twice or by
/// halves.
#[test]
fn a_write_that_would_wait_for_a_file_is_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let env: Arc<dyn Env> = Arc::new(RealEnv::default());
    let options = || options(Durability::Os, 1 << 20);
    let open = || Kv::open(Arc::clone(&env), &folder.path().join("db"), options()).unwrap();
    let edges: Vec<_> = (0..1000).map(|i| (i, i, 1)).collect();
    let kv = open();
    let ids = create(&kv, &["out", "in"]).unwrap();
    kv.write(&both(&ids, Kind::Put, &edges), None).unwrap();
    kv.close().unwrap();
    let kv = open();
    let mut existed = Vec::new();
    let delete = both(&ids, Kind::Delete, &edges[500..501]);
    assert!(env::try_without_blocking(|| kv.write(&delete, Some(&mut existed)).is_ok()).is_none());
    // A failed read also stops later writes of the call, even if its error was ignored.
    let add = both(&ids, Kind::Merge, &edges[700..701]);
    let mut added = None;
    let tried = env::try_without_blocking(|| {
        assert!(scan(&kv, ids[0]).is_err());
        added = Some(kv.write(&add, None).is_ok());
    });
    assert_eq!((tried, added), (None, Some(false)));
    assert_eq!(agree(&kv, &ids).len(), 1000);
    // With its rows in memory the write is done, and later calls of the same closure may block.
    existed.clear();
    kv.write(&add, None).unwrap();
    let done = env::try_without_blocking(|| {
        kv.write(&add, None).unwrap();
        kv.write(&delete, Some(&mut existed)).unwrap();
    });
    assert_eq!((done, existed), (Some(()), vec![true, true]));
    assert_eq!(weight(&kv, ids[0], 700, 700), Some(3));
    assert_eq!(agree(&kv, &ids).len(), 999);
}
