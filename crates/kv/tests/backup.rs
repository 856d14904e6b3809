//! Backups: a snapshot while everything runs, complete in itself, and never accepted when
//! unfinished. Restores: the old database or the new one is whole, whatever fails.
// The tests create threads and files themselves, past `env`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

mod common;

use base::{Batch, Column, ColumnShape, Key, KeyRange, KeyShape, Kind, Projection, Shape};
use common::disk::{Fault, FaultyEnv};
use common::{Random, both, create, dump, load, options};
use env::{Env, MemoryEnv, RealEnv, RealOptions};
use quipu_kv::{
    BackupOptions, BackupReport, Kv, KvOptions, RestoreOptions, RestoreReport, restore,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use store::{
    Durability, ErrorKind, Kinds, NewKeyspace, Read, Result, Store, TableWrites, WriteBatch,
};
use testkit::ModelStore;

const REPLACE: RestoreOptions = RestoreOptions { replace: true };

fn settings() -> KvOptions {
    KvOptions { auto_compaction: false, ..options(Durability::Os, 1 << 20) }
}

fn open(env: &Arc<dyn Env>, folder: &Path) -> Kv {
    Kv::open(Arc::clone(env), folder, settings()).unwrap()
}

fn look(env: &Arc<dyn Env>, folder: &Path) -> Kv {
    Kv::open(Arc::clone(env), folder, KvOptions { read_only: true, ..settings() }).unwrap()
}

fn memory() -> Arc<dyn Env> {
    Arc::new(MemoryEnv::new(2))
}

fn each_env(run: impl Fn(Arc<dyn Env>, &Path)) {
    let env = memory();
    run(env, Path::new("/"));
    let folder = tempfile::tempdir().unwrap();
    let options = RealOptions { threads: 2, ..RealOptions::default() };
    run(Arc::new(RealEnv::new(options)), folder.path());
}

fn back_up(kv: &Kv, env: &Arc<dyn Env>, target: &Path) -> Result<BackupReport> {
    kv.backup(env, target, &BackupOptions::default(), &|_, _| true)
}

fn back_up_after(
    kv: &Kv,
    env: &Arc<dyn Env>,
    target: &Path,
    earlier: &Path,
) -> Result<BackupReport> {
    let options = BackupOptions { earlier: Some(earlier.to_owned()), ..BackupOptions::default() };
    kv.backup(env, target, &options, &|_, _| true)
}

fn bring_back(env: &Arc<dyn Env>, backup: &Path, target: &Path) -> Result<RestoreReport> {
    restore(env, backup, target, RestoreOptions::default(), &|_, _| true)
}

fn replace(env: &Arc<dyn Env>, backup: &Path, target: &Path) -> Result<RestoreReport> {
    restore(env, backup, target, REPLACE, &|_, _| true)
}

fn edges(from: u64, count: u64) -> Vec<(u64, u64, i64)> {
    (0..count).map(|i| (from, from + i, 1)).collect()
}

/// Writes three generations of tables, and some rows that are only in the log.
fn fill(kv: &Kv) -> common::State {
    let ids = create(kv, &["out", "in", "empty"]).unwrap();
    load(kv, &ids, &edges(3, 60)).unwrap();
    for from in 10..30 {
        kv.write(&both(&ids, Kind::Merge, &edges(from % 13, 7)), None).unwrap();
        if from == 20 {
            kv.flush().unwrap();
        }
    }
    kv.write(&common::delete_square(&ids, 1, 6), None).unwrap();
    kv.write(&common::delete_range(ids[0], 7, 8), None).unwrap();
    dump(kv).unwrap()
}

/// Makes the `n`th commit of a sequence that is the same each time.
fn commit(store: &dyn Store, ids: &[base::KeyspaceId], n: u64) -> Result<()> {
    let mut random = Random(n);
    let from = random.below(50);
    let batch = match random.below(4) {
        0 => both(ids, Kind::Put, &edges(from, 6)),
        1 => common::delete_square(ids, from, from + 3),
        2 => return load(store, ids, &edges(from, 9)),
        _ => both(ids, Kind::Merge, &edges(from, 6)),
    };
    store.write(&batch, None).map(drop)
}

/// The state after this many commits. A batch commits even where it changes nothing, so the
/// sequence number counts the commits.
fn state_after(commits: u64) -> common::State {
    let model = ModelStore::new();
    let ids = create(&model, &["out", "in"]).unwrap();
    (1..=commits).for_each(|n| commit(&model, &ids, n).unwrap());
    dump(&model).unwrap()
}

#[test]
fn a_backup_is_the_database_at_one_moment_while_it_is_written_flushed_and_compacted() {
    each_env(|env, folder| {
        let at = folder.join("db");
        let busy = KvOptions { auto_compaction: true, ..options(Durability::Os, 4 << 10) };
        let kv = Kv::open(Arc::clone(&env), &at, busy).unwrap();
        let ids = create(&kv, &["out", "in"]).unwrap();
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        struct Stops<'a>(&'a AtomicBool);
        impl Drop for Stops<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        std::thread::scope(|threads| {
            // Also where an assertion fails: the threads would run forever.
            let _stops = Stops(&stop);
            threads.spawn(|| {
                for n in 1..3000 {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    commit(&kv, &ids, n).unwrap();
                    done.store(n, Ordering::Release);
                }
            });
            threads.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    kv.flush().unwrap();
                    kv.compact().unwrap();
                }
            });
            let beside = look(&env, &at);
            for (i, from) in [&kv, &beside].into_iter().cycle().take(8).enumerate() {
                let ending = if i < 4 { "" } else { ".qbak" };
                let backup = folder.join(format!("backup{i}{ending}"));
                let acknowledged = done.load(Ordering::Acquire);
                let report = back_up(from, &env, &backup).unwrap();
                assert!(report.seq.0 >= acknowledged, "backup {i}");
                let again = folder.join(format!("again{i}"));
                let restored = bring_back(&env, &backup, &again).unwrap();
                assert_eq!(restored.seq, report.seq);
                let found = dump(&open(&env, &again)).unwrap();
                assert_eq!(found, state_after(report.seq.0), "backup {i}");
            }
        });
        let commits = done.load(Ordering::Acquire);
        assert_eq!(dump(&kv).unwrap(), state_after(commits), "the database is what it would be");
    });
}

#[test]
fn a_backup_folder_is_itself_a_database_and_stays_a_backup_when_it_is_read() {
    each_env(|env, folder| {
        let kv = open(&env, &folder.join("db"));
        let want = fill(&kv);
        let backup = folder.join("backup");
        back_up(&kv, &env, &backup).unwrap();
        assert_eq!(dump(&look(&env, &backup)).unwrap(), want);
        bring_back(&env, &backup, &folder.join("again")).unwrap();
        let again = open(&env, &folder.join("again"));
        assert_eq!(dump(&again).unwrap(), want);
        // The restored database accepts writes.
        let ids: Vec<_> = again.keyspaces().iter().map(|keyspace| keyspace.id).collect();
        again.write(&both(&ids, Kind::Put, &edges(70, 5)), None).unwrap();
        load(&again, &ids, &edges(90, 5)).unwrap();
        let more = dump(&again).unwrap();
        drop(again);
        assert_eq!(dump(&open(&env, &folder.join("again"))).unwrap(), more);
        // Opened for writing, it is an ordinary database and not a backup any more.
        let changed = open(&env, &backup);
        assert_eq!(dump(&changed).unwrap(), want);
        changed.write(&both(&ids, Kind::Put, &edges(80, 5)), None).unwrap();
        drop(changed);
        let error = bring_back(&env, &backup, &folder.join("not")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains("opened for writing"), "{error}");
        assert!(!env.exists(&folder.join("not")));
    });
}

#[test]
fn tables_on_the_same_file_system_are_linked_and_the_links_outlive_the_database() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let env: Arc<dyn Env> = Arc::new(RealEnv::default());
    let at = folder.path().join("db");
    let kv = open(&env, &at);
    let want = fill(&kv);
    let backup = folder.path().join("backup");
    let report = back_up(&kv, &env, &backup).unwrap();
    assert!(report.linked > 3, "{report:?}");
    assert_eq!((report.copied, report.reused), (0, 0));
    assert_eq!(report.files, report.linked + 2);
    assert!(report.bytes_written < report.bytes_total);
    for table in std::fs::read_dir(backup.join("tables")).unwrap() {
        assert_eq!(table.unwrap().metadata().unwrap().nlink(), 2);
    }
    kv.compact().unwrap();
    kv.drop_keyspaces(&[kv.keyspaces()[1].id]).unwrap();
    drop(kv);
    std::fs::remove_dir_all(&at).unwrap();
    let again = folder.path().join("again");
    bring_back(&env, &backup, &again).unwrap();
    assert_eq!(dump(&open(&env, &again)).unwrap(), want);
    // A restored database shares no file with its backup.
    for table in std::fs::read_dir(again.join("tables")).unwrap() {
        assert_eq!(table.unwrap().metadata().unwrap().nlink(), 1);
    }
}

#[test]
fn tables_spread_over_several_folders_are_gathered_in_one() {
    each_env(|env, folder| {
        let outer = [folder.join("disk1"), folder.join("disk2")];
        let spread = KvOptions { table_folders: outer.to_vec(), ..settings() };
        let at = folder.join("db");
        let kv = Kv::open(Arc::clone(&env), &at, spread.clone()).unwrap();
        let want = fill(&kv);
        for name in ["backup", "backup.qbak"] {
            let backup = folder.join(name);
            back_up(&kv, &env, &backup).unwrap();
            bring_back(&env, &backup, &folder.join(format!("{name}-again"))).unwrap();
            assert_eq!(dump(&open(&env, &folder.join(format!("{name}-again")))).unwrap(), want);
        }
        assert!(env.list(&folder.join("backup/tables")).unwrap().len() > 3);
        // Replacing a database removes its tables in the outer folders.
        drop(kv);
        replace(&env, &folder.join("backup"), &at).unwrap();
        for disk in &outer {
            assert_eq!(env.list(disk).unwrap(), [""; 0], "{}", disk.display());
        }
        assert_eq!(dump(&Kv::open(env, &at, spread).unwrap()).unwrap(), want);
    });
}

#[test]
fn an_incremental_backup_copies_only_what_is_new_and_is_complete_in_itself() {
    // Two machines, so that nothing can be linked from the database.
    let (home, away) = (memory(), memory());
    let kv = open(&home, Path::new("/db"));
    fill(&kv);
    let path = |n: u64| PathBuf::from(format!("/backup{n}"));
    let first = back_up(&kv, &away, &path(0)).unwrap();
    assert_eq!((first.linked, first.reused), (0, 0));
    assert!(first.copied > 3 && first.bytes_written > first.bytes_total);
    let ids: Vec<_> = kv.keyspaces().iter().map(|keyspace| keyspace.id).collect();
    for n in 1..4 {
        kv.write(&both(&ids, Kind::Put, &edges(100 * n, 5)), None).unwrap();
        let next = back_up_after(&kv, &away, &path(n), &path(n - 1)).unwrap();
        // The two new tables share a file.
        assert_eq!((next.reused, next.copied), (first.copied + n - 1, 1), "{next:?}");
        let small = next.bytes_written - next.copied * 1000;
        assert!(small < first.bytes_written, "{next:?}");
        for name in away.list(&path(n - 1).join("tables")).unwrap() {
            away.remove(&path(n - 1).join("tables").join(name)).unwrap();
        }
        bring_back(&away, &path(n), &PathBuf::from(format!("/again{n}"))).unwrap();
        let again = open(&away, &PathBuf::from(format!("/again{n}")));
        assert_eq!(dump(&again).unwrap(), dump(&kv).unwrap());
    }
    // After a compaction no table is unchanged.
    kv.compact().unwrap();
    let last = back_up_after(&kv, &away, &path(4), &path(3)).unwrap();
    assert_eq!(last.reused, 0);
    assert_eq!(dump(&look(&away, &path(4))).unwrap(), dump(&kv).unwrap());
}

#[test]
fn an_earlier_backup_that_is_damaged_or_of_another_database_is_not_built_upon() {
    let (home, away) = (memory(), memory());
    let kv = open(&home, Path::new("/db"));
    let want = fill(&kv);
    let other = open(&home, Path::new("/other"));
    fill(&other);
    back_up(&kv, &away, Path::new("/first")).unwrap();
    let error = back_up_after(&other, &away, Path::new("/x"), Path::new("/first")).unwrap_err();
    assert!(error.to_string().contains("another database"), "{error}");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = back_up_after(&kv, &away, Path::new("/x"), Path::new("/db")).unwrap_err();
    assert!(error.to_string().contains("not a backup"), "{error}");
    let error = back_up_after(&kv, &away, Path::new("/x.qbak"), Path::new("/first")).unwrap_err();
    assert!(error.to_string().contains("one file"), "{error}");
    assert!(!away.exists(Path::new("/x")) && !away.exists(Path::new("/x.qbak")));
    let names = away.list(Path::new("/first/tables")).unwrap();
    flip(&*away, &Path::new("/first/tables").join(&names[0]), 20);
    cut(&*away, &Path::new("/first/tables").join(&names[1]), 20);
    away.remove(&Path::new("/first/tables").join(&names[2])).unwrap();
    let report = back_up_after(&kv, &away, Path::new("/next"), Path::new("/first")).unwrap();
    assert_eq!((report.copied, report.reused), (3, names.len() as u64 - 3));
    bring_back(&away, Path::new("/next"), Path::new("/again")).unwrap();
    assert_eq!(dump(&open(&away, Path::new("/again"))).unwrap(), want);
    // A restored database has the same identity, but its new tables reuse ids that the other one
    // used too.
    let again = open(&away, Path::new("/again"));
    let ids: Vec<_> = again.keyspaces().iter().map(|keyspace| keyspace.id).collect();
    again.write(&both(&ids, Kind::Put, &edges(500, 5)), None).unwrap();
    kv.write(&both(&ids, Kind::Put, &edges(600, 9)), None).unwrap();
    back_up(&kv, &away, Path::new("/theirs")).unwrap();
    back_up_after(&again, &away, Path::new("/ours"), Path::new("/theirs")).unwrap();
    bring_back(&away, Path::new("/ours"), Path::new("/ours-again")).unwrap();
    let ours = dump(&open(&away, Path::new("/ours-again"))).unwrap();
    assert_eq!(ours, dump(&again).unwrap());
}

fn content(env: &dyn Env, path: &Path) -> Vec<u8> {
    env.read_file(path).unwrap()
}

fn put(env: &dyn Env, path: &Path, bytes: &[u8]) {
    if env.exists(path) {
        env.remove(path).unwrap();
    }
    let mut file = env.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

fn flip(env: &dyn Env, path: &Path, at: usize) {
    let mut bytes = content(env, path);
    bytes[at] ^= 0x10;
    put(env, path, &bytes);
}

fn cut(env: &dyn Env, path: &Path, at: usize) {
    let bytes = content(env, path);
    put(env, path, &bytes[..at]);
}

#[test]
fn a_damaged_backup_is_refused_before_anything_is_replaced() {
    let env = memory();
    let kv = open(&env, Path::new("/db"));
    fill(&kv);
    back_up(&kv, &env, Path::new("/folder")).unwrap();
    back_up(&kv, &env, Path::new("/file.qbak")).unwrap();
    let target = Path::new("/target");
    let old = open(&env, target);
    create(&old, &["old"]).unwrap();
    let want = dump(&old).unwrap();
    drop(old);
    let mut files: Vec<PathBuf> = ["BACKUP", "CURRENT", "MANIFEST-000001"]
        .map(|name| Path::new("/folder").join(name))
        .to_vec();
    let tables = Path::new("/folder/tables");
    files.extend(env.list(tables).unwrap().into_iter().map(|name| tables.join(name)));
    files.push(PathBuf::from("/file.qbak"));
    let mut refusals = 0;
    for file in files {
        let whole = content(&*env, &file);
        let backup = if file.starts_with("/folder") { "/folder" } else { "/file.qbak" };
        let mut refused = |about: String| {
            let error = match replace(&env, Path::new(backup), target) {
                Ok(_) => panic!("{about} of {} went unnoticed", file.display()),
                Err(error) => error,
            };
            assert_eq!(error.kind(), ErrorKind::Corruption, "{about}: {error}");
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(error.to_string().contains(name), "{about}: {error}");
            assert_eq!(env.list(Path::new("/")).unwrap().len(), 4, "nothing is left beside");
            refusals += 1;
        };
        let step = (whole.len() / 7).max(1);
        for at in (0..whole.len()).step_by(step).chain([whole.len() - 1]) {
            flip(&*env, &file, at);
            refused(format!("a flip at {at}"));
            put(&*env, &file, &whole[..at]);
            refused(format!("a cut at {at}"));
            put(&*env, &file, &whole);
        }
        let mut longer = whole.clone();
        longer.push(0);
        put(&*env, &file, &longer);
        refused("a byte more".to_owned());
        put(&*env, &file, &whole);
    }
    assert!(refusals > 100);
    assert_eq!(dump(&open(&env, target)).unwrap(), want);
    replace(&env, Path::new("/folder"), target).unwrap();
    replace(&env, Path::new("/file.qbak"), target).unwrap();
    assert_eq!(dump(&open(&env, target)).unwrap(), dump(&kv).unwrap());
}

#[test]
fn a_damaged_table_of_the_database_is_found_when_it_is_backed_up() {
    let env = memory();
    let kv = open(&env, Path::new("/db"));
    fill(&kv);
    drop(kv);
    let tables = Path::new("/db/tables");
    let table = tables.join(&env.list(tables).unwrap()[0]);
    flip(&*env, &table, 10);
    let kv = open(&env, Path::new("/db"));
    for target in ["/backup", "/backup.qbak"] {
        let error = back_up(&kv, &env, Path::new(target)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains(table.to_str().unwrap()), "{error}");
        assert!(!env.exists(Path::new(target)));
    }
}

#[test]
fn one_file_holds_nothing_many_rows_and_long_byte_strings() {
    each_env(|env, folder| {
        let shape = Shape { key: KeyShape::Bytes, values: vec![ColumnShape::Bytes] };
        for (name, rows, bytes) in
            [("nothing", 0, 0), ("many", 30_000, 3), ("long", 9, 1_500_000), ("large", 3000, 900)]
        {
            let kv = Kv::open(Arc::clone(&env), &folder.join(name), KvOptions::default()).unwrap();
            let keyspace = NewKeyspace {
                name: "blobs".into(),
                shape: shape.clone(),
                definition: b"as it was".to_vec(),
            };
            let id = kv.create_keyspaces(&[keyspace]).unwrap()[0];
            let mut batch = Batch::new(&shape);
            let mut random = Random(3);
            for row in 0..rows {
                batch.keys.push(Key::Bytes(format!("{row:08}").into_bytes()).as_ref());
                let noise = random.below(256) as u8;
                let value: Vec<u8> = (0..bytes)
                    .map(|i| if i % 3 == 0 { noise } else { random.below(4) as u8 })
                    .collect();
                if let Column::Bytes(column) = &mut batch.values[0] {
                    column.push(Some(&value));
                }
                batch.rows += 1;
            }
            let kinds = Kinds::Uniform(Kind::Put);
            let rows = TableWrites { keyspace: id, kinds, rows: batch, delete_ranges: Vec::new() };
            kv.write(&WriteBatch { tables: vec![rows] }, None).unwrap();
            let backup = folder.join(format!("{name}.qbak"));
            let report = back_up(&kv, &env, &backup).unwrap();
            assert_eq!(report.bytes_written, content(&*env, &backup).len() as u64);
            assert!(report.bytes_written < report.bytes_total + 1000);
            let again = folder.join(format!("{name}-again"));
            bring_back(&env, &backup, &again).unwrap();
            let again = Kv::open(Arc::clone(&env), &again, KvOptions::default()).unwrap();
            assert_eq!(again.keyspaces(), kv.keyspaces());
            let all = |kv: &Kv| {
                let mut out = Batch::new(&shape);
                let range = KeyRange { lower: Key::Bytes(Vec::new()), upper: None };
                kv.scan_into(id, &range, Projection::ALL, usize::MAX, &mut out).unwrap();
                out
            };
            assert!(all(&again) == all(&kv), "{name}");
        }
    });
}

#[test]
fn what_is_in_the_way_is_told_and_left_alone() {
    each_env(|env, folder| {
        let at = folder.join("db");
        let kv = open(&env, &at);
        fill(&kv);
        let full = folder.join("full");
        env.create_folder(&full).unwrap();
        put(&*env, &full.join("letter"), b"dear");
        put(&*env, &folder.join("there.qbak"), b"dear");
        let told = |result: Result<()>, kind: ErrorKind, words: &str| {
            let error = result.expect_err(words);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(words), "{error} should say {words:?}");
        };
        use ErrorKind::{InvalidInput, Locked};
        let backup = |to: &Path| back_up(&kv, &env, to).map(drop);
        told(backup(&full), InvalidInput, "letter");
        told(backup(&folder.join("there.qbak")), InvalidInput, "already exists");
        told(backup(&at.join("inside")), InvalidInput, "itself");
        told(backup(&at), InvalidInput, "itself");
        let good = folder.join("good");
        env.create_folder(&good).unwrap();
        backup(&good).unwrap();
        told(backup(&good), InvalidInput, "not empty");

        let to = |target: &Path| bring_back(&env, &good, target).map(drop);
        let over = |target: &Path| replace(&env, &good, target).map(drop);
        told(to(&full), InvalidInput, "letter");
        told(over(&full), InvalidInput, "letter");
        told(over(&good), InvalidInput, "in each other");
        told(over(&good.join("inside")), InvalidInput, "in each other");
        told(to(&at), InvalidInput, "already exists");
        told(over(&at), Locked, "locked by");
        let from = |backup: &Path| bring_back(&env, backup, &folder.join("x")).map(drop);
        told(from(&folder.join("nowhere")), InvalidInput, "there is no backup");
        told(from(&at), InvalidInput, "is a database");
        told(from(&full), InvalidInput, "not a backup");
        told(from(&full.join("letter")), ErrorKind::Corruption, "letter");
        let half = folder.join("half");
        env.create_folder(&half).unwrap();
        put(&*env, &half.join("BACKUP.unfinished"), b"");
        told(from(&half), InvalidInput, "did not finish");
        told(backup(&half), InvalidInput, "did not finish");
        let opened = Kv::open(Arc::clone(&env), &half, settings()).map(drop);
        told(opened, InvalidInput, "BACKUP.unfinished");
        let letter = full.join("letter");
        told(to(&letter), InvalidInput, "is a file");
        told(backup(&letter), InvalidInput, "is a file");
        told(Kv::open(Arc::clone(&env), &letter, settings()).map(drop), InvalidInput, "is a file");
        let reader = KvOptions { read_only: true, ..settings() };
        told(Kv::open(Arc::clone(&env), &letter, reader).map(drop), InvalidInput, "is a file");
        let after = back_up_after(&kv, &env, &folder.join("y"), &letter).map(drop);
        told(after, InvalidInput, "is a file");
        // Folders of other databases and backups are refused like one's own.
        let other = folder.join("other");
        open(&env, &other).close().unwrap();
        for inside in [other.join("inside"), good.join("tables/inside")] {
            told(backup(&inside), InvalidInput, "is a database or a backup");
            told(to(&inside), InvalidInput, "in");
            let repaired = quipu_kv::salvage(&env, &at, &inside, 1 << 20, &|_, _| true).map(drop);
            told(repaired, InvalidInput, "is a database or a backup");
        }
        // The lock file of a restore into an empty folder that was killed early does not matter.
        let killed = folder.join("killed");
        env.create_folder(&killed).unwrap();
        put(&*env, &killed.join("LOCK"), b"");
        to(&killed).unwrap();
        assert_eq!(dump(&open(&env, &killed)).unwrap(), dump(&kv).unwrap());

        assert_eq!(content(&*env, &letter), b"dear");
        assert!(!env.exists(&folder.join("x")) && !env.exists(&folder.join("y")));
        let locks = |name: &String| name.ends_with(".restore-lock");
        let left: Vec<_> = env.list(folder).unwrap().into_iter().filter(locks).collect();
        assert!(left.is_empty(), "{left:?}");
        kv.close().unwrap();
        told(backup(&folder.join("late")), InvalidInput, "closed");
    });
}

#[test]
fn a_cancelled_backup_or_restore_leaves_nothing() {
    // Every call of the progress function on a disk in memory, some of them on a real one.
    cancel_at(&memory(), Path::new("/"), 1);
    let folder = tempfile::tempdir().unwrap();
    cancel_at(&(Arc::new(RealEnv::default()) as Arc<dyn Env>), folder.path(), 7);
}

fn cancel_at(env: &Arc<dyn Env>, folder: &Path, step: usize) {
    {
        let kv = open(env, &folder.join("db"));
        let want = fill(&kv);
        back_up(&kv, env, &folder.join("good")).unwrap();
        back_up(&kv, env, &folder.join("good.qbak")).unwrap();
        let target = folder.join("target");
        let before = env.list(folder).unwrap();
        for calls in (0..).step_by(step) {
            let left = AtomicU64::new(calls);
            let go_on = |done: u64, total: u64| {
                assert!(done <= total);
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                    .is_ok()
            };
            let options = BackupOptions::default();
            let mut ended = Vec::new();
            for name in ["target", "target.qbak"] {
                left.store(calls, Ordering::Relaxed);
                let result = kv.backup(env, &folder.join(name), &options, &go_on).map(drop);
                ended.push((folder.join(name), result));
            }
            for name in ["good", "good.qbak"] {
                left.store(calls, Ordering::Relaxed);
                let to = folder.join(format!("from-{name}"));
                let result =
                    restore(env, &folder.join(name), &to, RestoreOptions::default(), &go_on);
                ended.push((to, result.map(drop)));
            }
            let all = ended.iter().all(|(_, result)| result.is_ok());
            for (path, result) in ended {
                match result {
                    Ok(()) => remove_all(&**env, &path),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
                }
            }
            assert_eq!(env.list(folder).unwrap(), before, "after {calls} calls");
            if all {
                break;
            }
        }
        assert_eq!(dump(&kv).unwrap(), want);
        assert!(!env.exists(&target));
    }
}

fn remove_all(env: &dyn Env, path: &Path) {
    match env.list(path) {
        Err(_) => env.remove(path).unwrap(),
        Ok(names) => {
            names.iter().for_each(|name| remove_all(env, &path.join(name)));
            env.remove_folder(path).unwrap();
        }
    }
}

const DB: &str = "/db";
const TARGET: &str = "/target";
const FAULTS: [Fault; 3] =
    [Fault::Once { done: false }, Fault::Once { done: true }, Fault::PowerCut];

fn on(env: &Arc<FaultyEnv>) -> Arc<dyn Env> {
    Arc::<FaultyEnv>::clone(env)
}

#[test]
fn whatever_fails_during_a_backup_the_database_is_whole_and_half_a_backup_is_none() {
    for target in ["/deep/backup", "/backup.qbak"] {
        let target = Path::new(target);
        for fault in FAULTS {
            let mut refused = 0;
            for at in 1.. {
                let disk = Arc::new(FaultyEnv::new());
                let env = on(&disk);
                let kv = open(&env, Path::new(DB));
                let want = fill(&kv);
                kv.flush().unwrap(); // so that all operations of the backup are on the target
                disk.fail_at(disk.operations() + at, fault);
                let made = back_up(&kv, &env, target);
                let about = format!("operation {at}, {:?}, {fault:?}", disk.failed());
                if disk.failed().is_none() {
                    made.unwrap();
                    assert!(at > 10, "only {at} operations");
                    break;
                }
                assert_eq!(dump(&kv).unwrap(), want, "{about}");
                let env = if fault == Fault::PowerCut {
                    drop(kv);
                    on(&Arc::new(disk.after_power_cut(at)))
                } else {
                    // A failure of the target does not affect the database.
                    let ids: Vec<_> = kv.keyspaces().iter().map(|keyspace| keyspace.id).collect();
                    kv.write(&both(&ids, Kind::Put, &[]), None).unwrap();
                    drop(kv);
                    env
                };
                match bring_back(&env, target, Path::new(TARGET)) {
                    Ok(_) => {
                        assert_eq!(dump(&open(&env, Path::new(TARGET))).unwrap(), want, "{about}")
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{about}: {error}");
                        assert!(made.is_err(), "{about}: {error}");
                        refused += 1;
                    }
                }
                assert_eq!(dump(&open(&env, Path::new(DB))).unwrap(), want, "{about}");
            }
            assert!(refused > 5, "{fault:?}: {refused}");
        }
    }
}

#[test]
fn whatever_fails_during_a_restore_the_old_database_or_the_new_one_is_whole() {
    let target = Path::new(TARGET);
    for backup in ["/backup", "/backup.qbak"] {
        for (replaces, is_empty) in [(true, false), (false, false), (false, true)] {
            for fault in FAULTS {
                let (mut olds, mut news) = (0, 0);
                for at in 1.. {
                    let disk = Arc::new(FaultyEnv::new());
                    let env = on(&disk);
                    let kv = open(&env, Path::new(DB));
                    let new = fill(&kv);
                    back_up(&kv, &env, Path::new(backup)).unwrap();
                    drop(kv);
                    let mut old = Vec::new();
                    if replaces {
                        let kv = open(&env, target);
                        let ids = create(&kv, &["out", "in"]).unwrap();
                        kv.write(&both(&ids, Kind::Put, &edges(1, 4)), None).unwrap();
                        old = dump(&kv).unwrap();
                    }
                    if is_empty {
                        env.create_folder(target).unwrap();
                        env.sync_folder(Path::new("/")).unwrap();
                    }
                    disk.fail_at(disk.operations() + at, fault);
                    let made = restore(
                        &env,
                        Path::new(backup),
                        target,
                        RestoreOptions { replace: replaces },
                        &|_, _| true,
                    );
                    let about = format!("operation {at}, {:?}, {fault:?}", disk.failed());
                    let failed = disk.failed().is_some();
                    disk.fail_at(u64::MAX, fault);
                    let env = match fault {
                        Fault::PowerCut if failed => on(&Arc::new(disk.after_power_cut(at))),
                        _ => env,
                    };
                    let found = dump(&open(&env, target)).unwrap();
                    if made.is_ok() {
                        assert_eq!(found, new, "{about}");
                        news += 1;
                    } else if found == new {
                        news += 1;
                    } else {
                        assert_eq!(found, old, "{about}");
                        olds += 1;
                    }
                    let left = env.list(Path::new("/")).unwrap();
                    let left: Vec<_> = left.iter().filter(|n| n.contains("restore-")).collect();
                    let lock = "target.restore-lock";
                    assert!(left.iter().all(|name| *name == lock), "{about}: {left:?}");
                    if !failed {
                        assert!(made.is_ok() && at > 10);
                        break;
                    }
                }
                assert!(olds > 5 && news > 0, "{fault:?}: {olds} old, {news} new");
            }
        }
    }
}
