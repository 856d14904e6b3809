//! Reopening after each kind of end, and after damage to each byte.
#![allow(clippy::unwrap_used)]

mod common;

use base::{Corruption, Kind};
use common::disk::FaultyEnv;
use common::{both, create, dump, load, options, rows, weight};
use env::{Env, MemoryEnv, ReadOptions};
use quipu_kv::{Kv, KvOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Durability, ErrorKind, Isolation, KeyspaceChange, Store};
use testkit::OneBatch;

const DB: &str = "/db";

fn quiet(durability: Durability) -> KvOptions {
    KvOptions { auto_compaction: false, ..options(durability, 1 << 20) }
}

fn open(env: &Arc<dyn Env>, durability: Durability) -> Kv {
    Kv::open(Arc::clone(env), Path::new(DB), quiet(durability)).unwrap()
}

fn files(env: &dyn Env, folder: &Path) -> Vec<PathBuf> {
    let paths = env.list(folder).unwrap().into_iter().map(|name| folder.join(name));
    paths
        .flat_map(|path| if env.list(&path).is_ok() { files(env, &path) } else { vec![path] })
        .collect()
}

/// Copies the files to another machine, as a killed process leaves them.
fn copy(env: &dyn Env) -> Arc<dyn Env> {
    let new = MemoryEnv::new(1);
    for path in files(env, Path::new(DB)) {
        new.create_folder(path.parent().unwrap()).unwrap();
        new.create(&path).unwrap().append(&env.read_file(&path).unwrap()).unwrap();
    }
    Arc::new(new)
}

fn memory() -> Arc<dyn Env> {
    Arc::new(MemoryEnv::new(1))
}

#[test]
fn what_is_not_synced_is_durable_and_there_with_the_next_commit_that_is() {
    let env = Arc::new(FaultyEnv::new());
    let kv = open(&(Arc::clone(&env) as Arc<dyn Env>), Durability::Sync);
    let ids = create(&kv, &["out", "in"]).unwrap();
    let before = env.file_syncs();
    // More commits than several segments of the log can hold.
    for i in 0..300 {
        kv.write_unsynced(&both(&ids, Kind::Put, &[(1, i, 1)])).unwrap();
    }
    let segments = env.file_syncs() - before;
    assert!(segments < 20, "{segments} syncs, one for the file of each segment");
    assert_eq!(weight(&kv, ids[0], 1, 7), None, "a power cut could lose it");
    let lost = Arc::new(env.after_power_cut(1)) as Arc<dyn Env>;
    open(&lost, Durability::Sync).check(&|_, _| true).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(2, 2, 1)]), None).unwrap();
    let synced = env.file_syncs() - before - segments;
    assert!((segments..segments + 3).contains(&synced), "{synced} syncs of {segments} segments");
    for read in [kv, open(&(Arc::new(env.after_power_cut(2)) as Arc<dyn Env>), Durability::Sync)] {
        assert!((0..300).all(|i| weight(&read, ids[0], 1, i) == Some(1)));
        assert_eq!(weight(&read, ids[1], 2, 2), Some(1));
    }
}

/// Found by simulation: a block of the manifest was written to the wrong place. The import in its
/// edit was lost without an error.
#[test]
fn an_edit_of_the_manifest_that_is_lost_behind_a_later_commit_is_corruption() {
    let env = memory();
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["out", "in"]).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(1, 2, 1)]), None).unwrap();
    let is_manifest = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name == "CURRENT" || name.starts_with("MANIFEST-")
    };
    let mut manifest = files(&*env, Path::new(DB));
    manifest.retain(is_manifest);
    assert_eq!(manifest.len(), 2);
    let old: Vec<_> = manifest.iter().map(|path| env.read_file(path).unwrap()).collect();
    load(&kv, &ids, &[(3, 4, 1)]).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(5, 6, 1)]), None).unwrap();
    let killed = copy(&*env);
    for (path, bytes) in manifest.iter().zip(&old) {
        killed.remove(path).unwrap();
        killed.create(path).unwrap().append(bytes).unwrap();
    }
    for read_only in [true, false] {
        let options = KvOptions { read_only, ..quiet(Durability::Os) };
        let opened = Kv::open(Arc::clone(&killed), Path::new(DB), options).map(|kv| dump(&kv));
        let error = opened.expect_err("an import is missing");
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains("commit 3 follows commit 1"), "{error}");
    }
}

/// Found by simulation: each read of the log met a segment that the writer had just released.
#[test]
fn a_check_beside_a_writer_misses_no_segment_that_was_given_back() {
    let env = Arc::new(FaultyEnv::new());
    let door: Arc<dyn Env> = Arc::<FaultyEnv>::clone(&env);
    let kv = Arc::new(open(&door, Durability::Os));
    let ids = create(&*kv, &["out", "in"]).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(0, 0, 1)]), None).unwrap();
    // Records in the manifest the first segment that is needed.
    kv.flush().unwrap();
    let (writer, its, mut from) = (Arc::clone(&kv), ids.clone(), 0);
    env.before_list(&Path::new(DB).join("wal"), move || {
        // A released segment stays as a spare until its file is reused.
        for _ in 0..4 {
            if from < 40 {
                from += 1;
                writer.write(&both(&its, Kind::Put, &[(from, 1, 1)]), None).unwrap();
                writer.flush().unwrap();
            }
        }
    });
    let report = kv.check(&|_, _| true).unwrap();
    assert!(report.is_sound() && report.notes.is_empty(), "{report:?}");
    assert_eq!((weight(&*kv, ids[0], 40, 1), report.log_commits), (Some(1), 0));
}

#[test]
fn a_log_replayed_over_flushed_tables_applies_each_merge_once() {
    let env = memory();
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["out", "in"]).unwrap();
    for round in 1..=6 {
        kv.write(&both(&ids, Kind::Merge, &[(1, 2, 1)]), None).unwrap();
        if round == 3 {
            kv.flush().unwrap();
        }
        // Killed here, and opened twice: the second opening finds what the first wrote.
        let killed = copy(&*env);
        for _ in 0..2 {
            let again = open(&killed, Durability::Os);
            assert_eq!(weight(&again, ids[0], 1, 2), Some(round));
            assert_eq!(weight(&again, ids[1], 2, 1), Some(round));
        }
    }
}

#[test]
fn rows_in_the_log_of_a_dropped_keyspace_are_passed_over_and_its_name_is_free() {
    let env = memory();
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["out", "in"]).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(1, 2, 5)]), None).unwrap();
    kv.drop_keyspaces(&ids[1..]).unwrap();
    let new = create(&kv, &["in"]).unwrap();
    assert_ne!(new[0], ids[1], "a number is never used twice");
    kv.write(&both(&[ids[0], new[0]], Kind::Put, &[(3, 4, 7)]), None).unwrap();
    let again = open(&copy(&*env), Durability::Os);
    assert_eq!(dump(&again).unwrap(), dump(&kv).unwrap());
    assert_eq!(weight(&again, new[0], 2, 1), None);
    assert_eq!(weight(&again, new[0], 4, 3), Some(7));
}

#[test]
fn a_keyspace_takes_the_place_of_another_at_once() {
    let env = memory();
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["old", "new"]).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(1, 2, 5)]), None).unwrap();
    let held = kv.snapshot();
    let change = |id, name: &str| KeyspaceChange {
        id,
        name: name.to_owned(),
        definition: b"changed".to_vec(),
    };
    let taken = kv.change_keyspaces(&[change(ids[1], "old")], &[]).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::InvalidInput);
    assert!(kv.change_keyspaces(&[change(ids[0], "x")], &ids[..1]).is_err());
    assert_eq!(dump(&kv).unwrap().len(), 2, "a refused change changes nothing");

    kv.change_keyspaces(&[change(ids[1], "old")], &ids[..1]).unwrap();
    kv.write(&both(&[ids[1], ids[1]], Kind::Put, &[(3, 4, 7)]), None).unwrap();
    for kv in [&kv, &open(&copy(&*env), Durability::Os)] {
        let infos = kv.keyspaces();
        assert_eq!(infos.len(), 1);
        assert_eq!((infos[0].id, &*infos[0].name), (ids[1], "old"));
        assert_eq!(infos[0].definition, b"changed");
        assert_eq!(weight(kv, ids[1], 2, 1), Some(5));
        assert_eq!(weight(kv, ids[1], 3, 4), Some(7));
    }
    assert_eq!(weight(&*held, ids[0], 1, 2), Some(5), "the older snapshot sees both");
}

#[test]
fn opening_without_a_log_after_a_killed_life_with_one_keeps_what_the_log_held() {
    let env = memory();
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["out", "in"]).unwrap();
    kv.write(&both(&ids, Kind::Merge, &[(0, 0, 1)]), None).unwrap();
    kv.flush().unwrap();
    let many = |i: u64| (0..40).map(|j| (i, j, 1)).collect::<Vec<_>>();
    for i in 0..20 {
        kv.write(&both(&ids, Kind::Merge, &many(i)), None).unwrap();
    }
    let want = dump(&kv).unwrap();
    let killed = copy(&*env);
    let without = open(&killed, Durability::None);
    assert_eq!(dump(&without).unwrap(), want);
    // Killed again: the log's rows are in tables, and the log is not read any more.
    let killed = copy(&*killed);
    let again = open(&killed, Durability::Os);
    assert_eq!(dump(&again).unwrap(), want);
    again.write(&both(&ids, Kind::Merge, &[(7, 7, 1)]), None).unwrap();
    let want = dump(&again).unwrap();
    assert_eq!(dump(&open(&copy(&*killed), Durability::Sync)).unwrap(), want);
}

#[test]
fn a_load_dropped_after_closing_leaves_the_next_owners_tables_alone() {
    let env = memory();
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["out", "in"]).unwrap();
    let mut bulk = kv.begin_bulk().unwrap();
    bulk.write(ids[0], vec![Box::new(OneBatch(Some(rows(&[(1, 1, 1)]))))]).unwrap();
    kv.close().unwrap();
    let next = open(&env, Durability::Os);
    load(&next, &ids, &[(5, 6, 7)]).unwrap();
    let want = dump(&next).unwrap();
    let late = bulk.write(ids[1], vec![Box::new(OneBatch(Some(rows(&[(1, 1, 1)]))))]);
    assert!(late.is_err(), "a closed store writes no files");
    drop(bulk);
    next.close().unwrap();
    assert_eq!(dump(&open(&env, Durability::Os)).unwrap(), want);
}

#[test]
fn partitions_that_overlap_are_refused_and_the_database_stays_sound() {
    let env = memory();
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["out"]).unwrap();
    let mut bulk = kv.begin_bulk().unwrap();
    let partition = |edges: &[(u64, u64, i64)]| {
        Box::new(OneBatch(Some(rows(edges)))) as Box<dyn store::SortedRows>
    };
    let partitions = vec![partition(&[(1, 1, 1), (5, 5, 1)]), partition(&[(3, 3, 1)])];
    bulk.write(ids[0], partitions).unwrap();
    assert_eq!(bulk.commit().unwrap_err().kind(), ErrorKind::InvalidInput);
    kv.write(&both(&[ids[0], ids[0]], Kind::Put, &[]), None).unwrap();
    kv.close().unwrap();
    assert_eq!(dump(&open(&env, Durability::Os)).unwrap()[0].1, []);
}

#[test]
fn a_transaction_whose_keyspace_was_dropped_is_refused_whole() {
    let env = memory();
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["out", "in"]).unwrap();
    kv.write(&both(&ids, Kind::Put, &[(1, 2, 5)]), None).unwrap();
    let tx = kv.begin(Isolation::Snapshot);
    tx.write(&both(&ids, Kind::Put, &[(1, 2, 6)])).unwrap();
    kv.drop_keyspaces(&ids[1..]).unwrap();
    assert_eq!(weight(&*tx, ids[1], 2, 1), Some(6), "its own snapshot stays readable");
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(weight(&kv, ids[0], 1, 2), Some(5));
}

#[test]
fn loaded_rows_conflict_with_transactions_begun_before_and_are_not_seen_by_them() {
    for flush in [false, true] {
        let env = memory();
        let kv = open(&env, Durability::Os);
        let ids = create(&kv, &["out", "in"]).unwrap();
        kv.write(&both(&ids, Kind::Put, &[(9, 9, 1)]), None).unwrap();
        let tx = |kind, edges: &[(u64, u64, i64)]| {
            let tx = kv.begin(Isolation::Snapshot);
            tx.write(&both(&ids, kind, edges)).unwrap();
            tx
        };
        let (clash, merge, apart) = (
            tx(Kind::Put, &[(1, 2, 0)]),
            tx(Kind::Merge, &[(1, 2, 1)]),
            tx(Kind::Put, &[(4, 5, 0)]),
        );
        let reader = kv.begin(Isolation::Serializable);
        assert_eq!(weight(&*reader, ids[0], 1, 2), None);
        reader.write(&both(&ids, Kind::Put, &[(8, 8, 1)])).unwrap();
        load(&kv, &ids, &[(1, 2, 3)]).unwrap();
        assert_eq!(weight(&*reader, ids[0], 1, 2), None);
        if flush {
            kv.compact().unwrap();
        }
        assert_eq!(clash.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(merge.commit().unwrap_err().kind(), ErrorKind::Conflict, "a put came between");
        assert_eq!(reader.commit().unwrap_err().kind(), ErrorKind::Conflict);
        apart.commit().unwrap();
    }
}

#[test]
fn a_second_open_is_told_who_holds_the_folder() {
    let env = memory();
    let _kv = open(&env, Durability::Os);
    let error = Kv::open(Arc::clone(&env), Path::new(DB), quiet(Durability::Os)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.to_string().contains(&env.process_line()), "{error}");
}

#[test]
fn a_closed_handle_hands_the_folder_over_and_refuses_commits() {
    let env = memory();
    let kv = open(&env, Durability::Sync);
    let ids = create(&kv, &["out", "in"]).unwrap();
    let tx = kv.begin(Isolation::Snapshot);
    tx.write(&both(&ids, Kind::Put, &[(1, 2, 6)])).unwrap();
    kv.close().unwrap();
    assert!(tx.commit().is_err());
    assert!(kv.write(&both(&ids, Kind::Put, &[(1, 2, 6)]), None).is_err());
    let next = open(&env, Durability::Sync);
    assert_eq!(weight(&next, ids[0], 1, 2), None);
}

/// A small database with files of all kinds, closed or killed.
fn specimen(closed: bool) -> (Arc<dyn Env>, common::State) {
    let env = memory();
    let small = KvOptions { wal_segment_bytes: 1 << 10, ..quiet(Durability::Sync) };
    let kv = Kv::open(Arc::clone(&env), Path::new(DB), small).unwrap();
    let ids = create(&kv, &["out", "in"]).unwrap();
    load(&kv, &ids, &[(1, 2, 3), (2, 3, 4)]).unwrap();
    kv.write(&both(&ids, Kind::Merge, &[(1, 2, 1), (5, 6, 1)]), None).unwrap();
    kv.flush().unwrap();
    kv.write(&both(&ids, Kind::Merge, &[(1, 2, 1)]), None).unwrap();
    kv.write(&common::delete_range(ids[0], 5, 6), None).unwrap();
    let want = dump(&kv).unwrap();
    if closed {
        kv.close().unwrap();
        (env, want)
    } else {
        (copy(&*env), want)
    }
}

#[test]
fn a_flipped_byte_anywhere_is_corruption_with_file_and_offset_or_changes_no_answer() {
    for closed in [true, false] {
        let (env, want) = specimen(closed);
        for path in files(&*env, Path::new(DB)) {
            let bytes = env.read_file(&path).unwrap();
            let is_log = path.extension().is_some_and(|ending| ending == "log");
            for at in 0..bytes.len() {
                let damaged = copy(&*env);
                let mut bytes = bytes.clone();
                bytes[at] ^= 0x41;
                damaged.remove(&path).unwrap();
                damaged.create(&path).unwrap().append(&bytes).unwrap();
                let opened = Kv::open(damaged, Path::new(DB), quiet(Durability::Sync));
                let found = opened.and_then(|kv| {
                    let found = dump(&kv)?;
                    kv.check(&|_, _| true)?;
                    Ok(found)
                });
                let about = format!("byte {at} of {}, closed: {closed}", path.display());
                match found {
                    // The last record of a killed process's log may never have been synced.
                    Ok(found) => assert!(found == want || is_log && !closed, "{about}: {found:?}"),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corruption, "{about}: {error}");
                        let said = error.cause::<Corruption>().unwrap().to_string();
                        let name = path.file_name().unwrap().to_str().unwrap();
                        // The manifest's last edit could be one that a crash interrupted. The log
                        // tells that it was not: it begins behind that edit.
                        let known = name.starts_with("MANIFEST") || said.contains(name);
                        assert!(known, "{about}: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_missing_file_is_a_clear_error() {
    for closed in [true, false] {
        let (env, want) = specimen(closed);
        for path in files(&*env, Path::new(DB)) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if name == "CURRENT" || name == "LOCK" {
                continue;
            }
            let damaged = copy(&*env);
            damaged.remove(&path).unwrap();
            match Kv::open(damaged, Path::new(DB), quiet(Durability::Sync)) {
                Ok(kv) => {
                    // A log segment that is not needed any more.
                    assert!(name.ends_with(".log"), "{name}");
                    assert_eq!(dump(&kv).unwrap(), want, "without {name}");
                }
                Err(error) => assert!(error.to_string().contains(name), "{name}: {error}"),
            }
        }
    }
}

#[test]
fn a_table_is_read_through_its_open_file_after_its_name_is_gone() {
    let env: Arc<dyn Env> = Arc::new(FaultyEnv::new());
    let kv = open(&env, Durability::Os);
    let ids = create(&kv, &["out", "in"]).unwrap();
    load(&kv, &ids, &[(1, 2, 3)]).unwrap();
    let held = kv.snapshot();
    kv.drop_keyspaces(&ids).unwrap();
    kv.flush().unwrap();
    assert_eq!(weight(&*held, ids[0], 1, 2), Some(3));
    drop(held);
    assert!(env.open_read(Path::new("/db/CURRENT"), ReadOptions::default()).is_ok());
}

#[test]
fn openings_without_a_log_leave_no_segments_behind() {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let segments = || env.list(&Path::new(DB).join("wal")).unwrap_or_default().len();
    {
        let kv = open(&env, Durability::Os);
        let ids = create(&kv, &["out", "in"]).unwrap();
        kv.write(&both(&ids, Kind::Put, &[(1, 2, 3)]), None).unwrap();
    }
    for round in 0..5 {
        let kv = open(&env, Durability::None);
        assert!(segments() <= 1, "{} segments in round {round}", segments());
        // Killed or closed: the next opening must find the same.
        if round % 2 == 0 {
            kv.close().unwrap();
        }
    }
    let kv = open(&env, Durability::Os);
    let edges: Vec<_> = dump(&kv).unwrap().into_iter().map(|(_, edges)| edges.len()).collect();
    assert_eq!(edges, [1, 1]);
}
