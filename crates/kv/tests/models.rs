//! The whole engine under a model checker that chooses which thread runs: group commit, a failing
//! sync, flushes, compactions, snapshots and conflicts. `make models` runs them for longer.
#![cfg(feature = "shuttle")]
#![allow(clippy::unwrap_used)]

mod common;

use base::{KeyspaceId, Kind, SeqNo};
use common::{both, create, delete_range, options, scan, table, weight};
use env::Env;
use env::model::{ModelEnv, explore};
use env::sync::atomic::{AtomicBool, Ordering};
use quipu_kv::{Kv, KvOptions};
use shuttle::thread;
use std::path::Path;
use std::sync::Arc;
use store::{Durability, ErrorKind, Isolation, Store, WriteBatch};

/// A new store with two keyspaces. The log is long enough for one segment, so each commit is one
/// write to it.
fn open(memtable_bytes: u64) -> (Arc<ModelEnv>, Arc<Kv>, Arc<[KeyspaceId]>) {
    let env = Arc::new(ModelEnv::new());
    let options =
        KvOptions { wal_segment_bytes: 64 << 10, ..options(Durability::Sync, memtable_bytes) };
    let kv = Kv::open(Arc::clone(&env) as Arc<dyn Env>, Path::new("/db"), options).unwrap();
    let ids = create(&kv, &["out", "in"]).unwrap();
    (env, Arc::new(kv), ids.into())
}

/// Rows that a reader cached, and the sequence number they are from.
type Kept = (SeqNo, Vec<(u64, u64, u64)>);

/// Reads a keyspace, updates the cached rows with the later changes, and checks that both agree.
fn read_on(kv: &Kv, keyspace: KeyspaceId, kept: &mut Option<Kept>) {
    let snapshot = kv.snapshot();
    let now = snapshot.changed_at(keyspace).unwrap();
    let all = scan(&*snapshot, keyspace).unwrap();
    if let Some((at, rows)) = kept.take() {
        if at == now {
            assert_eq!(rows, all, "as it was at {at:?}");
        } else if let Some(changed) = snapshot.changed_since(keyspace, at).unwrap() {
            let is_changed = |row: &(u64, u64, u64)| changed.contains(&row.0);
            let unchanged = rows.into_iter().filter(|row| !is_changed(row));
            let mut patched: Vec<_> = all.iter().copied().filter(is_changed).collect();
            patched.extend(unchanged);
            patched.sort_unstable();
            assert_eq!(patched, all, "since {at:?}, now {now:?}: {changed:?}");
        }
    }
    *kept = Some((now, all));
}

#[test]
fn who_reads_anew_what_is_told_to_have_changed_has_all_there_is() {
    explore("changes since", || {
        let (_env, kv, ids) = open(1500);
        let mut threads: Vec<_> = (0..2_u64)
            .map(|me| {
                let (kv, ids) = (Arc::clone(&kv), Arc::clone(&ids));
                thread::spawn(move || {
                    kv.write(&both(&ids, Kind::Put, &[(me, 1, 1), (2, me, 1)]), None).unwrap();
                    kv.write(&both(&ids, Kind::Merge, &[(2, 2, 1)]), None).unwrap();
                    if me == 0 {
                        kv.write(&delete_range(ids[0], 1, 2), None).unwrap();
                        kv.flush().unwrap();
                    }
                    kv.write(&both(&ids, Kind::Delete, &[(me, 1, 0)]), None).unwrap();
                })
            })
            .collect();
        threads.extend((0..2).map(|_| {
            let (kv, ids) = (Arc::clone(&kv), Arc::clone(&ids));
            thread::spawn(move || {
                let mut kept = None;
                (0..5).for_each(|_| read_on(&kv, ids[0], &mut kept));
            })
        }));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let at = kv.snapshot().changed_at(ids[0]).unwrap();
        kv.snapshot().changed_since(ids[0], at).unwrap();
        kv.write(&both(&ids, Kind::Put, &[(7, 1, 1)]), None).unwrap();
        let told = kv.snapshot().changed_since(ids[0], at).unwrap();
        assert_eq!(told, Some(vec![7]), "it is not always unknown");
    });
}

/// Number of the log write that holds the first commit.
#[derive(Clone, Copy)]
struct FirstWrite(u64);

impl FirstWrite {
    fn of(env: &ModelEnv, kv: &Kv) -> Self {
        Self(env.log_writes() - kv.snapshot().seq().0)
    }

    fn is_durable(self, env: &ModelEnv, seq: u64) -> bool {
        env.is_durable(self.0 + seq - 1)
    }
}

#[test]
fn what_is_acknowledged_or_seen_is_durable() {
    explore("group commit", || commit_in_a_group(None));
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_or_seen_that_it_may_have_lost() {
    explore("failed sync", || (0..3).for_each(|syncs| commit_in_a_group(Some(syncs))));
}

fn commit_in_a_group(fails_after: Option<u64>) {
    let (env, kv, ids) = open(1 << 20);
    let first = FirstWrite::of(&env, &kv);
    if let Some(syncs) = fails_after {
        env.fail_sync_after(syncs);
    }
    let writers: Vec<_> = (0..3_u64)
        .map(|me| {
            let (env, kv, ids) = (Arc::clone(&env), Arc::clone(&kv), Arc::clone(&ids));
            thread::spawn(move || {
                for i in 1..=2 {
                    match kv.write(&both(&ids, Kind::Merge, &[(0, 0, 1), (me + 1, i, 1)]), None) {
                        Ok(seq) => {
                            assert!(first.is_durable(&env, seq.0), "acknowledged, so durable");
                            assert!(kv.snapshot().seq() >= seq, "acknowledged, so seen");
                            assert_eq!(weight(&*kv, ids[0], me + 1, i), Some(1));
                        }
                        Err(error) => {
                            assert!(fails_after.is_some(), "no reason to fail: {error}");
                            // Threads that waited for the failed sync get its error, later ones the
                            // poison.
                            let again = kv.write(&both(&ids, Kind::Put, &[(9, 9, 9)]), None);
                            assert_eq!(again.unwrap_err().kind(), ErrorKind::Poisoned);
                            return;
                        }
                    }
                }
            })
        })
        .collect();
    let reader = {
        let (env, kv, ids) = (Arc::clone(&env), Arc::clone(&kv), Arc::clone(&ids));
        thread::spawn(move || {
            for _ in 0..2 {
                let snapshot = kv.snapshot();
                let seq = snapshot.seq().0;
                assert!((1..=seq).all(|seq| first.is_durable(&env, seq)), "seen, so durable");
                // Each commit added one to the common sum, and one separate edge.
                let sum = weight(&*snapshot, ids[0], 0, 0).unwrap_or(0);
                let edges = scan(&*snapshot, ids[0]).unwrap().len() as i64 - i64::from(sum > 0);
                assert_eq!((sum, edges), (seq as i64, seq as i64), "a prefix of the commits");
                assert_eq!(weight(&*snapshot, ids[1], 0, 0).unwrap_or(0), sum, "both directions");
            }
        })
    };
    writers.into_iter().chain([reader]).for_each(|thread| thread.join().unwrap());
    if fails_after.is_none() {
        assert_eq!(weight(&*kv, ids[0], 0, 0), Some(6));
        assert!(env.log_writes() > 0);
    }
}

#[test]
fn snapshots_stay_whole_while_memtables_are_flushed_and_tables_merged() {
    explore("flush and compaction", || {
        // Each commit seals the memtables.
        let (_env, kv, ids) = open(1);
        let writer = {
            let (kv, ids) = (Arc::clone(&kv), Arc::clone(&ids));
            thread::spawn(move || {
                for i in 1..=4 {
                    kv.write(&both(&ids, Kind::Merge, &[(0, 0, 1), (1, i, 1)]), None).unwrap();
                }
            })
        };
        let reader = {
            let (kv, ids) = (Arc::clone(&kv), Arc::clone(&ids));
            thread::spawn(move || {
                let held = kv.snapshot();
                for _ in 0..2 {
                    for snapshot in [&held, &kv.snapshot()] {
                        let seq = snapshot.seq().0 as i64;
                        let sum = weight(&**snapshot, ids[0], 0, 0).unwrap_or(0);
                        assert_eq!(sum, seq, "as many as were published");
                        let out = scan(&**snapshot, ids[0]).unwrap();
                        let back = scan(&**snapshot, ids[1]).unwrap();
                        assert_eq!(out.len() as i64, seq + i64::from(seq > 0));
                        assert_eq!(out.len(), back.len(), "both directions");
                    }
                }
            })
        };
        writer.join().unwrap();
        reader.join().unwrap();
        kv.flush().unwrap();
        assert_eq!(weight(&*kv, ids[0], 0, 0), Some(4));
        kv.close().unwrap();
    });
}

#[test]
fn of_two_transactions_that_read_and_write_one_row_no_update_is_lost() {
    explore("conflicts", || {
        let (_env, kv, ids) = open(1 << 20);
        let adders: Vec<_> = (0..2)
            .map(|_| {
                let (kv, ids) = (Arc::clone(&kv), Arc::clone(&ids));
                thread::spawn(move || {
                    loop {
                        let transaction = kv.begin(Isolation::Snapshot);
                        let sum = weight(&*transaction, ids[0], 0, 0).unwrap_or(0);
                        let put = table(ids[0], Kind::Put, &[(0, 0, sum + 1)]);
                        transaction.write(&WriteBatch { tables: vec![put] }).unwrap();
                        match transaction.commit() {
                            Ok(_) => return,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                        }
                        // The other commit may not be synced yet, so that this one conflicts again.
                        thread::yield_now();
                    }
                })
            })
            .collect();
        adders.into_iter().for_each(|adder| adder.join().unwrap());
        assert_eq!(weight(&*kv, ids[0], 0, 0), Some(2));
    });
}

#[test]
fn under_serializable_one_of_two_that_read_what_the_other_writes_fails() {
    explore("write skew", || {
        let (_env, kv, ids) = open(1 << 20);
        let both_done = Arc::new(AtomicBool::new(true));
        let threads: Vec<_> = (0..2)
            .map(|me| {
                let (kv, ids) = (Arc::clone(&kv), Arc::clone(&ids));
                let both_done = Arc::clone(&both_done);
                thread::spawn(move || {
                    let transaction = kv.begin(Isolation::Serializable);
                    let other = weight(&*transaction, ids[0], 1 - me, 0).unwrap_or(0);
                    let put = table(ids[0], Kind::Put, &[(me, 0, 1)]);
                    transaction.write(&WriteBatch { tables: vec![put] }).unwrap();
                    if other == 0 && transaction.commit().is_ok() {
                        return;
                    }
                    both_done.store(false, Ordering::Release);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(!both_done.load(Ordering::Acquire), "only one may see the other's row missing");
    });
}
