//! Many small keyspaces: their tables share files, whatever is done with them.
#![allow(clippy::unwrap_used)]

mod common;

use base::{KeyspaceId, Kind};
use common::{create, dump, options, table};
use env::{Env, MemoryEnv};
use lsm::context::TreeOptions;
use quipu_kv::{
    BackupOptions, Kv, KvOptions, RestoreOptions, Salvaged, check_folder, restore, salvage,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Durability, Store, WriteBatch};

const COUNT: usize = 600;

fn env() -> Arc<dyn Env> {
    Arc::new(MemoryEnv::new(2))
}

fn open(env: &Arc<dyn Env>, auto_compaction: bool) -> Kv {
    let tiny = options(Durability::Os, 1 << 20);
    let tree = TreeOptions { table_bytes: 1 << 20, ..tiny.tree };
    let options = KvOptions { tree, auto_compaction, ..tiny };
    Kv::open(Arc::clone(env), Path::new("/db"), options).unwrap()
}

fn keyspaces(kv: &Kv) -> Vec<KeyspaceId> {
    let names: Vec<String> = (0..COUNT).map(|i| format!("g{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    create(kv, &names).unwrap()
}

/// Writes an edge to each keyspace, in one commit.
fn write(kv: &Kv, ids: &[KeyspaceId], edge: u64) {
    let edges = |at: usize| [(edge, at as u64, at as i64 + 1)];
    let tables = ids.iter().enumerate().map(|(at, id)| table(*id, Kind::Put, &edges(at)));
    kv.write(&WriteBatch { tables: tables.collect() }, None).unwrap();
}

/// A closed database whose keyspaces have an edge each, in one file, whose path is returned.
fn one_file(env: &Arc<dyn Env>) -> PathBuf {
    let kv = open(env, false);
    let ids = keyspaces(&kv);
    write(&kv, &ids, 1);
    kv.flush().unwrap();
    kv.close().unwrap();
    let folder = Path::new("/db/tables");
    let names = env.list(folder).unwrap();
    assert_eq!(names.len(), 1);
    folder.join(&names[0])
}

fn repaired(env: &Arc<dyn Env>) -> Salvaged {
    salvage(env, Path::new("/db"), Path::new("/saved"), 1 << 20, &|_, _| true).unwrap()
}

fn files(env: &Arc<dyn Env>, folder: &str) -> usize {
    env.list(&Path::new(folder).join("tables")).unwrap().len()
}

#[track_caller]
fn check(env: &Arc<dyn Env>, folder: &str) {
    let report = check_folder(env, Path::new(folder), &|_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

#[test]
fn a_flush_of_many_small_keyspaces_writes_one_file() {
    let env = env();
    let kv = open(&env, false);
    let ids = keyspaces(&kv);
    for edge in 1..=3 {
        write(&kv, &ids, edge);
        kv.flush().unwrap();
        assert_eq!(files(&env, "/db"), edge as usize);
    }
    let before = dump(&kv).unwrap();
    assert_eq!(before.iter().map(|(_, rows)| rows.len()).sum::<usize>(), 3 * COUNT);
    kv.close().unwrap();
    check(&env, "/db");
    assert_eq!(dump(&open(&env, false)).unwrap(), before);
}

#[test]
fn a_large_keyspace_has_a_file_of_its_own_beside_the_shared_one() {
    let env = env();
    let kv = open(&env, false);
    let ids = keyspaces(&kv);
    write(&kv, &ids, 1);
    let large: Vec<_> = (0..5_000).map(|i| (i, i, 1)).collect();
    let batch = WriteBatch { tables: vec![table(ids[7], Kind::Put, &large)] };
    kv.write(&batch, None).unwrap();
    kv.flush().unwrap();
    assert_eq!(files(&env, "/db"), 2);
}

#[test]
fn compactions_of_many_small_keyspaces_share_a_file() {
    for explicit in [false, true] {
        let env = env();
        let kv = open(&env, !explicit);
        let ids = keyspaces(&kv);
        for edge in 1..=4 {
            write(&kv, &ids, edge);
            kv.flush().unwrap();
        }
        if explicit {
            kv.compact().unwrap();
            assert_eq!(files(&env, "/db"), 1);
        }
        let before = dump(&kv).unwrap();
        kv.close().unwrap();
        assert!(files(&env, "/db") <= 5, "{}", files(&env, "/db"));
        check(&env, "/db");
        assert_eq!(dump(&open(&env, false)).unwrap(), before);
    }
}

#[test]
fn a_shared_file_goes_when_its_keyspaces_do_and_shrinks_before() {
    let env = env();
    let kv = open(&env, false);
    let ids = keyspaces(&kv);
    write(&kv, &ids, 1);
    kv.flush().unwrap();
    kv.drop_keyspaces(&ids[..COUNT / 2 - 10]).unwrap();
    kv.close().unwrap();
    drop(kv);
    // More than half of it is in use, then much less. No job holds what is dropped.
    let kv = open(&env, false);
    assert_eq!(files(&env, "/db"), 1);
    let file_bytes = |env: &Arc<dyn Env>| {
        let folder = Path::new("/db/tables");
        let name = env.list(folder).unwrap().remove(0);
        env.read_file(&folder.join(name)).unwrap().len()
    };
    let before = file_bytes(&env);
    kv.drop_keyspaces(&ids[COUNT / 2 - 10..COUNT - 20]).unwrap();
    let left = dump(&kv).unwrap();
    kv.compact().unwrap();
    kv.close().unwrap();
    drop(kv);
    let kv = open(&env, false);
    assert_eq!(dump(&kv).unwrap(), left);
    assert_eq!((left.len(), files(&env, "/db")), (20, 1));
    let after = file_bytes(&env);
    assert!(after < before / 4, "{after} of {before}");
    kv.drop_keyspaces(&ids[COUNT - 20..]).unwrap();
    assert_eq!(files(&env, "/db"), 0);
}

#[test]
fn backups_restores_and_repairs_of_shared_files_are_whole() {
    let env = env();
    let kv = open(&env, false);
    let ids = keyspaces(&kv);
    write(&kv, &ids, 1);
    kv.flush().unwrap();
    write(&kv, &ids[100..300], 2);
    let all = |_: u64, _: u64| true;
    let options = BackupOptions { verify: true, ..BackupOptions::default() };
    kv.backup(&env, Path::new("/first"), &options, &all).unwrap();
    let first = dump(&kv).unwrap();
    kv.drop_keyspaces(&ids[..200]).unwrap();
    write(&kv, &ids[200..], 3);
    let earlier = BackupOptions { earlier: Some("/first".into()), ..options.clone() };
    kv.backup(&env, Path::new("/second"), &earlier, &all).unwrap();
    kv.backup(&env, Path::new("/third.qbak"), &options, &all).unwrap();
    let second = dump(&kv).unwrap();
    // A follower writes what is only in the log as tables that share a file, too.
    write(&kv, &ids[200..], 4);
    let third = dump(&kv).unwrap();
    let reader = KvOptions { read_only: true, ..KvOptions::default() };
    let reader = Kv::open(Arc::clone(&env), Path::new("/db"), reader).unwrap();
    reader.backup(&env, Path::new("/fourth"), &options, &all).unwrap();
    drop(reader);
    kv.close().unwrap();
    drop(kv);
    for (backup, want) in
        [("/first", &first), ("/second", &second), ("/third.qbak", &second), ("/fourth", &third)]
    {
        let target = format!("/restored{}", backup.replace('/', "-"));
        let options = RestoreOptions::default();
        restore(&env, Path::new(backup), Path::new(&target), options, &all).unwrap();
        check(&env, &target);
        assert!(files(&env, &target) < 6);
        let kv = Kv::open(Arc::clone(&env), Path::new(&target), KvOptions::default()).unwrap();
        assert_eq!(&dump(&kv).unwrap(), want, "{backup}");
    }
    repaired(&env);
    let kv = Kv::open(Arc::clone(&env), Path::new("/saved"), KvOptions::default()).unwrap();
    assert_eq!(dump(&kv).unwrap(), third);
}

/// Damage to one table of a shared file costs its rows alone.
#[test]
fn a_damaged_table_in_a_shared_file_is_reported_and_the_others_are_repaired() {
    let env = env();
    let path = one_file(&env);
    let mut bytes = env.read_file(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    env.remove(&path).unwrap();
    let mut file = env.create(&path).unwrap();
    file.append(&bytes).unwrap();
    file.sync().unwrap();
    let error = check_folder(&env, Path::new("/db"), &|_, _| true).unwrap_err();
    let report = &error.cause::<store::CheckFailed>().unwrap().0;
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    let found = &report.problems[0];
    assert!(found.file == path && found.offset.abs_diff(middle as u64) < 1000, "{found}");
    let saved = repaired(&env);
    let lost: u64 = saved.keyspaces.iter().map(|keyspace| keyspace.rows_lost).sum();
    assert!(lost <= 1, "{lost}");
    let kv = Kv::open(Arc::clone(&env), Path::new("/saved"), KvOptions::default()).unwrap();
    let rows: usize = dump(&kv).unwrap().iter().map(|(_, rows)| rows.len()).sum();
    assert_eq!(rows as u64, COUNT as u64 - lost);
}

#[test]
fn a_shared_file_that_is_missing_is_named_once() {
    let env = env();
    let path = one_file(&env);
    env.remove(&path).unwrap();
    let saved = repaired(&env);
    assert_eq!((&saved.files_skipped, saved.damages.len()), (&vec![path], 1));
    assert!(saved.keyspaces.iter().all(|keyspace| keyspace.rows_lost == 1));
}
