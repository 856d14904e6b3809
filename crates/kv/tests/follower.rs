//! A reader beside the writer: each refresh shows some state of the writer, never an older one.
// The tests create threads themselves, past `env`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use base::Kind;
use common::{Random, both, create, delete_square, dump, load, options};
use env::{Env, LogMode, MemoryEnv, RealEnv, RealOptions};
use quipu_kv::{Kv, KvOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Durability, KeyspaceChange, Read, Result, Snapshot, Store};

fn writer(env: &Arc<dyn Env>, folder: &Path) -> Kv {
    Kv::open(Arc::clone(env), folder, options(Durability::Os, 4 << 10)).unwrap()
}

fn follower(env: &Arc<dyn Env>, folder: &Path) -> Kv {
    let options = KvOptions { read_only: true, ..options(Durability::Os, 4 << 10) };
    Kv::open(Arc::clone(env), folder, options).unwrap()
}

fn each_env(run: impl Fn(Arc<dyn Env>, &Path)) {
    run(Arc::new(MemoryEnv::new(1)), Path::new("/db"));
    let folder = tempfile::tempdir().unwrap();
    let options = RealOptions { threads: 1, ..RealOptions::default() };
    run(Arc::new(RealEnv::new(options)), &folder.path().join("db"));
}

fn held_rows(held: &dyn Read, ids: &[base::KeyspaceId]) -> Vec<Vec<(u64, u64, u64)>> {
    ids.iter().map(|id| common::scan(held, *id).unwrap()).collect()
}

#[test]
fn after_each_refresh_a_follower_equals_the_writer_and_a_held_moment_stays() {
    each_env(|env, folder| {
        let mut random = Random(7);
        let mut kv = writer(&env, folder);
        let ids = create(&kv, &["out", "in"]).unwrap();
        let follower = follower(&env, folder);
        let mut held: Option<(Arc<dyn Snapshot>, _)> = None;
        for step in 0..120 {
            let from = random.below(30);
            let edges: Vec<_> = (0..random.below(20)).map(|i| (from, from + i, 1)).collect();
            match random.below(16) {
                0 => kv.flush().unwrap(),
                1 => kv.compact().unwrap(),
                2 => load(&kv, &ids, &edges).unwrap(),
                3 => {
                    kv.write(&delete_square(&ids, from, from + 3), None).unwrap();
                }
                6 => {
                    let name = format!("in{step}");
                    let change = KeyspaceChange { id: ids[1], name, definition: vec![step as u8] };
                    kv.change_keyspaces(&[change], &[]).unwrap();
                }
                4 => {
                    let name = format!("late{step}");
                    let late = create(&kv, &[&name]).unwrap();
                    kv.write(&both(&[ids[0], late[0]], Kind::Put, &[(1, 1, 1)]), None).unwrap();
                    kv.write(&both(&[late[0], ids[1]], Kind::Put, &[(1, 1, 1)]), None).unwrap();
                    if random.below(2) == 0 {
                        kv.drop_keyspaces(&late).unwrap();
                    }
                }
                5 => {
                    kv.close().unwrap();
                    if random.below(2) == 0 {
                        follower.refresh().unwrap();
                    }
                    kv = writer(&env, folder);
                }
                _ => {
                    kv.write(&both(&ids, Kind::Merge, &edges), None).unwrap();
                }
            }
            if random.below(3) == 0 {
                follower.refresh().unwrap();
                assert_eq!(dump(&follower).unwrap(), dump(&kv).unwrap(), "step {step}");
                if let Some((held, was)) = &held {
                    assert_eq!(&held_rows(&**held, &ids), was, "a snapshot at step {step}");
                }
                if random.below(4) == 0 {
                    let snapshot = follower.snapshot();
                    let rows = held_rows(&*snapshot, &ids);
                    held = Some((snapshot, rows));
                }
            }
        }
    });
}

#[test]
fn a_follower_goes_on_after_the_writer_gave_back_the_logs_space() {
    each_env(|env, folder| {
        let kv = writer(&env, folder);
        let ids = create(&kv, &["out", "in"]).unwrap();
        kv.write(&both(&ids, Kind::Put, &[(1, 2, 3)]), None).unwrap();
        kv.flush().unwrap();
        let follower = follower(&env, folder);
        kv.close().unwrap();
        follower.refresh().unwrap();
        assert_eq!(common::weight(&follower, ids[0], 1, 2), Some(3));
    });
}

#[test]
fn beside_a_busy_writer_both_directions_agree_and_nothing_goes_back() {
    each_env(|env, folder| {
        let kv = writer(&env, folder);
        let ids = create(&kv, &["out", "in"]).unwrap();
        let follower = follower(&env, folder);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let write = |i: u64| -> Result<()> {
                    let edges = [(0, 0, 1), (1, i % 50, 1)];
                    kv.write(&both(&ids, Kind::Merge, &edges), None)?;
                    if i.is_multiple_of(97) { load(&kv, &ids, &[(2 + i, 2, 1)]) } else { Ok(()) }
                };
                let written = (0..400).try_for_each(write);
                done.store(true, Ordering::Release);
                written.unwrap();
            });
            let mut last = 0;
            loop {
                let finished = done.load(Ordering::Acquire);
                follower.refresh().unwrap();
                let moment = follower.snapshot();
                let out = common::weight(&*moment, ids[0], 0, 0).unwrap_or(0);
                let reverse = common::weight(&*moment, ids[1], 0, 0).unwrap_or(0);
                assert_eq!(out, reverse, "both directions of one commit");
                assert!(out >= last, "{out} after {last}");
                last = out;
                if finished {
                    break;
                }
            }
            assert_eq!(last, 400);
        });
    });
}

/// Found by simulation: the follower kept its sequence number and lost rows, after their part of
/// the log was damaged.
#[test]
fn a_log_damaged_behind_a_follower_is_corruption_and_not_fewer_rows() {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let folder = Path::new("/db");
    let kv = writer(&env, folder);
    let ids = create(&kv, &["out", "in"]).unwrap();
    let follower = follower(&env, folder);
    kv.write(&both(&ids, Kind::Put, &[(1, 2, 3)]), None).unwrap();
    follower.refresh().unwrap();
    assert_eq!(common::scan(&follower, ids[0]).unwrap().len(), 1);
    let segment = folder.join("wal/000001.log");
    let records = env.read_file(&segment).unwrap();
    let end = records.iter().rposition(|byte| *byte != 0).unwrap();
    let mut log = env.open_log(&segment, LogMode::Write).unwrap();
    log.write_at(&[records[end] ^ 1], end as u64).unwrap();
    // A manifest edit makes the follower read the log from its beginning.
    create(&kv, &["late"]).unwrap();
    let refreshed = follower.refresh().map_err(|error| error.kind());
    assert_eq!(refreshed, Err(store::ErrorKind::Corruption));
    assert_eq!(common::scan(&follower, ids[0]).unwrap().len(), 1);
}

/// Nothing changes files meanwhile, so a missing file was not replaced.
#[test]
fn a_missing_file_is_corruption_for_a_follower_too() {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let folder = Path::new("/db");
    let kv = writer(&env, folder);
    let ids = create(&kv, &["out", "in"]).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(1, 2, 3)]), None).unwrap();
    kv.flush().unwrap();
    kv.write(&both(&ids, Kind::Put, &[(4, 5, 6)]), None).unwrap();
    let table = env.list(&folder.join("tables")).unwrap().remove(0);
    // The newest segment: earlier ones hold only rows that are in tables.
    let segments = env.list(&folder.join("wal")).unwrap();
    let segment = segments.into_iter().filter(|name| name.ends_with(".log")).max().unwrap();
    for name in ["CURRENT".to_owned(), format!("tables/{table}"), format!("wal/{segment}")] {
        let path = folder.join(name);
        let bytes = env.read_file(&path).unwrap();
        env.remove(&path).unwrap();
        let read_only = KvOptions { read_only: true, create: false, ..KvOptions::default() };
        let error = Kv::open(Arc::clone(&env), folder, read_only).unwrap_err();
        assert_eq!(error.kind(), store::ErrorKind::Corruption, "{error}");
        let damage: &base::Corruption = error.cause().unwrap();
        assert_eq!(damage.file, path, "{error}");
        env.create(&path).unwrap().append(&bytes).unwrap();
    }
}

/// Found by simulation: the follower called a segment of the log damaged. Recovery ends the log
/// there, too.
#[test]
fn for_a_follower_the_log_ends_before_a_keyspace_whose_creation_was_lost() {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let folder = Path::new("/db");
    let kv = writer(&env, folder);
    let ids = create(&kv, &["out", "in"]).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(1, 2, 3)]), None).unwrap();
    let manifest = env.list(folder).unwrap();
    let manifest = manifest.into_iter().find(|name| name.starts_with("MANIFEST")).unwrap();
    let manifest = folder.join(manifest);
    let before = env.read_file(&manifest).unwrap();
    let ahead = follower(&env, folder);
    let late = create(&kv, &["late", "later"]).unwrap();
    kv.write(&both(&late, Kind::Put, &[(4, 5, 6)]), None).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(7, 8, 9)]), None).unwrap();
    ahead.refresh().unwrap();
    assert_eq!(common::scan(&ahead, ids[0]).unwrap().len(), 2);

    // A sync that fails may take the edit back: without `sync` nobody waited for it.
    env.remove(&manifest).unwrap();
    env.create(&manifest).unwrap().append(&before).unwrap();
    let fresh = follower(&env, folder);
    for _ in 0..2 {
        assert_eq!(common::scan(&fresh, ids[0]).unwrap().len(), 1);
        fresh.refresh().unwrap();
    }
    // One that has shown later commits says so, and keeps them.
    let error = ahead.refresh().unwrap_err();
    assert_eq!(error.kind(), store::ErrorKind::Io, "{error}");
    assert_eq!(common::scan(&ahead, ids[0]).unwrap().len(), 2);
}
