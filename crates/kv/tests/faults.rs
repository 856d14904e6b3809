//! Every failure of the disk at every operation of a short workload: acknowledged commits stay,
//! others are there whole or not at all.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // the threads are the test's own

mod common;

use base::Kind;
use common::disk::{Fault, FaultyEnv};
use common::{both, create, delete_range, delete_square, dump, load, options};
use env::Env;
use quipu_kv::{Kv, KvOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::{Durability, Error, ErrorKind, Result, Store};
use testkit::ModelStore;

#[derive(Clone, Copy, Debug)]
enum Step {
    Create(&'static [&'static str]),
    Drop(usize),
    Put(u64),
    Count(u64),
    DeleteSquare(u64, u64),
    DeleteRange(u64, u64),
    Load(u64),
    Flush,
    Compact,
    Reopen,
}

const LIFE: &[Step] = &[
    Step::Create(&["out", "in", "other"]),
    Step::Put(1),
    Step::Count(2),
    Step::Flush,
    Step::Count(2),
    Step::Load(40),
    Step::Put(3),
    Step::DeleteRange(2, 3),
    Step::Reopen,
    Step::Count(3),
    Step::Drop(2),
    Step::Create(&["late"]),
    Step::Flush,
    Step::DeleteSquare(1, 3),
    Step::Compact,
    Step::Put(5),
    Step::Load(50),
    Step::Count(41),
    Step::Put(7),
];

fn run(store: &dyn Store, step: Step) -> Result<()> {
    let ids: Vec<_> = store.keyspaces().iter().map(|keyspace| keyspace.id).collect();
    let edges = |from: u64| -> Vec<_> { (0..12).map(|i| (from, from + i, 1)).collect() };
    match step {
        Step::Create(names) => create(store, names).map(drop),
        Step::Drop(index) => store.drop_keyspaces(&ids[index..=index]),
        Step::Put(from) => store.write(&both(&ids, Kind::Put, &edges(from)), None).map(drop),
        Step::Count(from) => store.write(&both(&ids, Kind::Merge, &edges(from)), None).map(drop),
        Step::DeleteSquare(from, to) => store.write(&delete_square(&ids, from, to), None).map(drop),
        Step::DeleteRange(from, to) => store.write(&delete_range(ids[0], from, to), None).map(drop),
        Step::Load(from) => load(store, &ids, &edges(from)),
        Step::Flush => store.flush(),
        Step::Compact => store.compact(),
        Step::Reopen => Ok(()),
    }
}

fn settings(durability: Durability) -> KvOptions {
    // The tests choose when flushes and compactions run.
    KvOptions { auto_compaction: false, ..options(durability, 1 << 20) }
}

fn open(env: &Arc<FaultyEnv>, durability: Durability) -> Result<Kv> {
    let env: Arc<dyn Env> = Arc::<FaultyEnv>::clone(env);
    Kv::open(env, Path::new("/db"), settings(durability))
}

/// The states that reopening may find, and the store if it could be opened.
struct End {
    allowed: Vec<common::State>,
    stopped: Option<(Step, Error)>,
    kv: Option<Kv>,
    /// Every state so far.
    history: Vec<common::State>,
}

/// Runs the steps up to the first error.
fn live(env: &Arc<FaultyEnv>, durability: Durability) -> End {
    let model = ModelStore::new();
    let mut now = dump(&model).unwrap();
    let mut history = vec![now.clone()];
    let mut kv = match open(env, durability) {
        Ok(kv) => kv,
        Err(error) => {
            let stopped = Some((Step::Reopen, error));
            return End { allowed: vec![now], stopped, kv: None, history };
        }
    };
    for &step in LIFE {
        run(&model, step).unwrap();
        let next = dump(&model).unwrap();
        let done = match step {
            Step::Reopen => kv.close().and_then(|()| open(env, durability)).map(|new| kv = new),
            step => run(&kv, step),
        };
        history.push(next.clone());
        if let Err(error) = done {
            let stopped = Some((step, error));
            return End { allowed: vec![now, next], stopped, kv: Some(kv), history };
        }
        assert_eq!(dump(&kv).unwrap(), next, "after {step:?}");
        now = next;
    }
    End { allowed: vec![now], stopped: None, kv: Some(kv), history }
}

fn operations(durability: Durability) -> u64 {
    let env = Arc::new(FaultyEnv::new());
    let end = live(&env, durability);
    assert!(end.stopped.is_none());
    drop(end);
    env.operations()
}

#[test]
fn after_any_one_failure_what_was_acknowledged_is_there_when_opened_again() {
    for durability in [Durability::Sync, Durability::Os] {
        for done in [false, true] {
            for at in 1..=operations(durability) {
                let env = Arc::new(FaultyEnv::new());
                env.fail_at(at, Fault::Once { done });
                let mut end = live(&env, durability);
                let failed = env.failed();
                let about = format!("operation {at}, {failed:?}, done: {done}, {durability:?}");
                if let (Some(kv), Some((step, error))) = (&end.kv, &end.stopped) {
                    let is_write = !matches!(
                        step,
                        Step::Reopen
                            | Step::Load(_)
                            | Step::Compact
                            | Step::Create(_)
                            | Step::Drop(_)
                    );
                    if is_write {
                        assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::Poisoned));
                        for again in
                            [Step::Put(90), Step::Flush, Step::Load(90), Step::Create(&["x"])]
                        {
                            let kind = run(kv, again).map_err(|error| error.kind());
                            assert_eq!(kind, Err(ErrorKind::Poisoned), "{about}: {again:?}");
                        }
                    }
                }
                drop(end.kv.take());
                let kv = open(&env, durability).unwrap_or_else(|error| panic!("{about}: {error}"));
                let found = dump(&kv).unwrap();
                assert!(end.allowed.contains(&found), "{about}, {:?}: {found:?}", end.stopped);
                kv.check(&|_, _| true).unwrap();
                let _ = create(&kv, &["out", "in"]);
                run(&kv, Step::Put(60)).unwrap();
                run(&kv, Step::Flush).unwrap();
            }
        }
    }
}

/// Found by simulation: a failed flush did not wake the writers that waited for room, and they
/// waited forever.
#[test]
fn a_failed_flush_wakes_the_writers_that_wait_for_room() {
    let env = Arc::new(FaultyEnv::new());
    let kv = {
        let env: Arc<dyn Env> = Arc::<FaultyEnv>::clone(&env);
        let options = KvOptions { auto_compaction: false, ..options(Durability::Os, 6 << 10) };
        Arc::new(Kv::open(env, Path::new("/db"), options).unwrap())
    };
    create(&*kv, &["out", "in"]).unwrap();
    run(&*kv, Step::Put(1)).unwrap();
    // While the flush creates its first table, a writer fills the next memtables and waits. Then
    // the creation of the table fails.
    let (sender, ended) = std::sync::mpsc::channel();
    let (writer, waiting) = (Arc::clone(&kv), env.waiting());
    env.fail_next_table(move || {
        let (kv, sender) = (Arc::clone(&writer), sender.clone());
        std::thread::spawn(move || {
            let failed = (2..).find_map(|from| run(&*kv, Step::Put(from)).err());
            let _ = sender.send(failed.map(|error| error.kind()));
        });
        while waiting.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
    });
    assert_eq!(kv.flush().map_err(|error| error.kind()), Err(ErrorKind::Io));
    // The timeout ends a test that would hang; it measures nothing.
    let failed = ended.recv_timeout(Duration::from_secs(120)).expect("the writer still waits");
    assert_eq!(failed, Some(ErrorKind::Poisoned));
}

/// Found by simulation: after a failed sync the page cache shows bytes that the disk does not have.
/// The next opening relied on them, and a power cut left a database that did not open.
#[test]
fn after_a_failed_sync_and_an_opening_without_a_reboot_a_power_cut_takes_nothing_acknowledged() {
    let mut syncs = 0;
    for durability in [Durability::Sync, Durability::Os] {
        for at in 1..=operations(durability) {
            let env = Arc::new(FaultyEnv::new());
            env.fail_at(at, Fault::Once { done: false });
            let mut end = live(&env, durability);
            let failed = env.failed().unwrap_or_default();
            if !failed.starts_with("sync /") {
                continue;
            }
            syncs += 1;
            drop(end.kv.take());
            let about = format!("operation {at}, {failed}, {durability:?}");
            let kv = open(&env, durability).unwrap_or_else(|error| panic!("{about}: {error}"));
            let found = dump(&kv).unwrap();
            assert!(end.allowed.contains(&found), "{about}, {:?}: {found:?}", end.stopped);
            let _ = create(&kv, &["out", "in"]);
            let unflushed = [dump(&kv).unwrap()];
            run(&kv, Step::Put(60)).unwrap();
            let kept = [dump(&kv).unwrap()];
            let cut = |allowed: &[common::State]| {
                for seed in 0..2 {
                    let disk = Arc::new(env.after_power_cut(seed));
                    let kv = open(&disk, durability).unwrap_or_else(|e| panic!("{about}: {e}"));
                    let found = dump(&kv).unwrap();
                    assert!(allowed.contains(&found), "{about}, seed {seed}: {found:?}");
                    kv.check(&|_, _| true).unwrap();
                }
            };
            match durability {
                Durability::Sync => cut(&kept),
                // Creating keyspaces is as durable as a commit.
                _ => cut(&[unflushed, kept.clone(), [common::State::default()]].concat()),
            }
            run(&kv, Step::Flush).unwrap();
            cut(&kept);
        }
    }
    assert!(syncs > 40, "{syncs} syncs failed");
}

/// Found by simulation: the second opening synced only the inner folder's name, and a power cut
/// lost both folders.
#[test]
fn a_new_folder_for_tables_is_durable_though_its_first_opening_failed() {
    let more = Path::new("/more/disk");
    let spread = || KvOptions { table_folders: vec![more.into()], ..settings(Durability::Sync) };
    let open = |env: &Arc<FaultyEnv>| {
        let env: Arc<dyn Env> = Arc::<FaultyEnv>::clone(env);
        Kv::open(env, Path::new("/db"), spread())
    };
    let env = Arc::new(FaultyEnv::new());
    drop(open(&env).unwrap());
    for at in 1..=env.operations() {
        let env = Arc::new(FaultyEnv::new());
        env.fail_at(at, Fault::Once { done: false });
        drop(open(&env));
        let kv = open(&env).unwrap_or_else(|error| panic!("operation {at}: {error}"));
        for from in 0..4 {
            // Tables are written to both folders.
            let _ = create(&kv, &["out", "in"]);
            run(&kv, Step::Put(10 * from)).unwrap();
            kv.flush().unwrap();
        }
        let before = dump(&kv).unwrap();
        for seed in 0..4 {
            let disk = Arc::new(env.after_power_cut(seed));
            let kv = open(&disk).unwrap_or_else(|e| panic!("operation {at}, seed {seed}: {e}"));
            assert_eq!(dump(&kv).unwrap(), before, "operation {at}, seed {seed}");
        }
    }
}

/// Found by killing processes: between manifest and log, a reader could not open the database.
#[test]
fn a_creation_that_was_cut_short_reads_as_an_empty_database_or_as_none() {
    let env = Arc::new(FaultyEnv::new());
    drop(open(&env, Durability::Os).unwrap());
    for at in 1..=env.operations() {
        let env = Arc::new(FaultyEnv::new());
        env.fail_at(at, Fault::Once { done: false });
        let created = open(&env, Durability::Os);
        let whole = created.is_ok();
        drop(created);
        let options = KvOptions { read_only: true, ..settings(Durability::Os) };
        let door: Arc<dyn Env> = Arc::<FaultyEnv>::clone(&env);
        match Kv::open(door, Path::new("/db"), options) {
            Ok(kv) => assert!(dump(&kv).unwrap().is_empty(), "operation {at}"),
            Err(error) => {
                assert!(
                    !whole && error.kind() == ErrorKind::InvalidInput,
                    "operation {at}: {error}"
                );
            }
        }
    }
}

#[test]
fn after_a_power_cut_at_any_operation_acknowledged_commits_are_there_and_others_whole_or_absent() {
    for at in 1..=operations(Durability::Sync) + 1 {
        for seed in 0..4 {
            let env = Arc::new(FaultyEnv::new());
            env.fail_at(at, Fault::PowerCut);
            let mut end = live(&env, Durability::Sync);
            // The image is taken before the store is dropped; nothing is written after the power
            // cut anyway.
            let disk = Arc::new(env.after_power_cut(seed));
            drop(end.kv.take());
            let about =
                format!("operation {at}, seed {seed}, {:?}, {:?}", env.failed(), end.stopped);
            let kv =
                open(&disk, Durability::Sync).unwrap_or_else(|error| panic!("{about}: {error}"));
            let found = dump(&kv).unwrap();
            assert!(end.allowed.contains(&found), "{about}: {found:?}\nnot in {:?}", end.allowed);
            kv.check(&|_, _| true).unwrap();
        }
    }
}

#[test]
fn without_sync_a_power_cut_leaves_some_moment_of_the_past_whole() {
    for durability in [Durability::Os, Durability::None] {
        for at in 1..=operations(durability) + 1 {
            let env = Arc::new(FaultyEnv::new());
            env.fail_at(at, Fault::PowerCut);
            let mut end = live(&env, durability);
            let disk = Arc::new(env.after_power_cut(at));
            drop(end.kv.take());
            let about = format!("operation {at}, {:?}, {:?}", env.failed(), end.stopped);
            let kv = open(&disk, durability).unwrap_or_else(|error| panic!("{about}: {error}"));
            // Keyspace changes are durable at once, so only the rows may be older.
            let rows = |mut state: Vec<(String, _)>| {
                state.retain(|(name, _)| name == "out" || name == "in");
                state
            };
            let found = rows(dump(&kv).unwrap());
            let was = end.history.into_iter().map(rows).any(|state| state == found);
            assert!(was, "{about}: {found:?}");
        }
    }
}

/// Found by the simulator: nobody tried such a flush again, and writers waited for it forever.
#[test]
fn writing_goes_on_after_a_flush_that_found_no_descriptor() {
    let env = Arc::new(FaultyEnv::new());
    let settings = KvOptions { memtable_bytes: 20_000, ..settings(Durability::Os) };
    let own: Arc<dyn Env> = Arc::<FaultyEnv>::clone(&env);
    let kv = Kv::open(own, Path::new("/db"), settings).unwrap();
    let ids = create(&kv, &["out", "in"]).unwrap();
    let edges = |from: u64| (0..8).map(|to| (from, to, 1)).collect::<Vec<_>>();
    kv.write(&both(&ids, Kind::Put, &edges(0)), None).unwrap();
    env.lack_descriptor_once();
    let error = kv.flush().unwrap_err();
    assert!(error.cause::<env::EnvError>().unwrap().is_out_of_descriptors(), "{error}");
    let (done, ended) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        for from in 0..200 {
            kv.write(&both(&ids, Kind::Put, &edges(from)), None).unwrap();
        }
        done.send(dump(&kv).unwrap()).unwrap();
    });
    let held = ended.recv_timeout(std::time::Duration::from_secs(60));
    assert!(!held.expect("a writer waits forever").is_empty());
    writer.join().unwrap();
}
