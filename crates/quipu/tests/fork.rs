//! A database belongs to the process that opened it: calls in children that inherit it by `fork`
//! are refused and do not affect the parent.
//!
//! # Why unsafe
//! The tests kill processes, wait for them and close descriptors; the standard library has no safe
//! form of these.
#![cfg(unix)]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

mod forking;

use forking::{End, Side, alone, fork, in_child};
use quipu::{
    BackupOptions, BlobOptions, BlobRows, BytesColumn, CombinedOptions, CounterOptions, Database,
    Durability, Edges, ErrorKind, FixedRule, Frame, GraphOptions, Isolation, KeyList, KeyOf,
    Number, NumberList, Options, Parameters, RuleCall, RunOptions, Value, VertexList,
};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

const DURABILITIES: [Durability; 3] = [Durability::Sync, Durability::Os, Durability::None];

fn options(durability: Durability) -> Options {
    Options { durability, threads: 2, ..Options::default() }
}

fn open(folder: &Path, durability: Durability) -> Database {
    Database::open(folder, options(durability)).unwrap()
}

fn append(_: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> quipu::Result<()> {
    out.extend_from_slice(old);
    out.extend_from_slice(new);
    Ok(())
}

fn rows(keys: &[i64]) -> Frame {
    let row = |&key: &i64| vec![Value::Int(key), Value::Int(key)];
    Frame::of_rows(vec!["k".into(), "v".into()], keys.iter().map(row).collect()).unwrap()
}

/// Calls that a child may make on the inherited database, one after another. Results are ignored.
fn everything(db: &Database, folder: &Path) {
    let blobs = db.blobs("blobs", BlobOptions::default());
    let _ = blobs.map(|blobs| {
        let _ = blobs.put(999_u64, b"the child's");
        let _ = blobs.clear();
        let _ = blobs.collect_garbage();
    });
    let _ = db.run("?[k, v] <- [[1, 2]] :create child {k => v}", &Parameters::new());
    let _ = db.transaction(Isolation::Serializable).commit();
    let _ = db.backup(folder.join("backup"), &BackupOptions::default(), &|_, _| true);
    let _ = db.check(&|_, _| true);
    let _ = db.flush();
    let _ = db.compact();
    let _ = db.close();
}

type Attack = (&'static str, fn(Database, &Handles, &Path));

/// Actions of a child, each in a new child.
const ATTACKS: [Attack; 12] = [
    ("nothing", |db, _, _| std::mem::forget(db)),
    ("drop", |db, _, _| drop(db)),
    ("close", |db, _, _| db.close().unwrap()),
    ("flush", |db, _, _| drop(db.flush())),
    ("compact", |db, _, _| drop(db.compact())),
    ("put", |_, handles, _| drop(handles.blobs.put(1_u64, b"the child's"))),
    ("clear", |_, handles, _| drop(handles.blobs.clear())),
    ("count", |_, handles, _| drop(handles.counters.add(1_u64, 1))),
    ("upsert", |_, handles, _| drop(handles.graph.upsert(1, 2, None))),
    ("import", |db, handles, _| {
        let (us, vs) = (VertexList::U64(&[1]), VertexList::U64(&[2]));
        let options = db.import_options();
        drop(handles.graph.import_columns(db.env(), us, vs, None, &options, &|_| true));
    }),
    ("commit", |_, handles, _| drop(handles.tx.commit())),
    ("everything", |db, _, folder| everything(&db, folder)),
];

/// Handles that the parent has open when it forks.
struct Handles {
    graph: quipu::Graph,
    blobs: quipu::Blobs,
    counters: quipu::Counters,
    tx: quipu::Tx,
}

impl Handles {
    fn new(db: &Database) -> Self {
        Self {
            graph: db.graph("graph", GraphOptions::default()).unwrap(),
            blobs: db.blobs("blobs", BlobOptions::default()).unwrap(),
            counters: db.counters("counters", CounterOptions::default()).unwrap(),
            tx: db.transaction(Isolation::Snapshot),
        }
    }
}

/// Writes while children try everything; returns the number of acknowledged rows. Does not close
/// the database.
fn write_beside_children(folder: &Path, durability: Durability) -> u64 {
    let db = open(&folder.join("db"), durability);
    let handles = Handles::new(&db);
    handles.tx.blobs("blobs").unwrap().put(u64::MAX, b"the transaction's").unwrap();
    let mut next = 0_u64;
    let mut put_some = |count: u64| {
        for key in next..next + count {
            handles.blobs.put(key, &key.to_le_bytes()).unwrap();
            handles.graph.upsert(key, key + 1, None).unwrap();
            handles.counters.add(key % 7, 1).unwrap();
        }
        next += count;
    };
    put_some(100);
    for (name, attack) in ATTACKS {
        for end in [End::AtOnce, End::Exit, End::Killed] {
            let child = fork(end, |_| attack(db.clone(), &handles, folder));
            // Write while the child runs, and after it has ended.
            put_some(2);
            let (said, status) = child.end();
            let expected = if end == End::Killed { libc::SIGKILL } else { 0 };
            assert_eq!(status, expected, "{name}: the child said {said:?}");
            put_some(3);
        }
    }
    handles.tx.commit().unwrap();
    db.check(&|_, _| true).unwrap();
    if durability == Durability::None {
        db.flush().unwrap();
    }
    std::mem::forget((db.clone(), handles));
    next
}

fn children_cost_their_parent_nothing(durability: Durability) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // The process is killed, so acknowledged rows must already be in the files.
    let written = in_child(End::Killed, |side| {
        side.say(&write_beside_children(folder.path(), durability).to_string());
    });
    let written: u64 = written.parse().unwrap();
    let db = open(&folder.path().join("db"), durability);
    let blobs = db.require_blobs("blobs").unwrap();
    let mut value = Vec::new();
    for key in 0..written {
        assert!(blobs.get(key, &mut value).unwrap(), "{key} of {written} is lost");
        assert_eq!(value, key.to_le_bytes());
    }
    assert_eq!(blobs.len().unwrap(), written + 1);
    assert!(blobs.contains(u64::MAX).unwrap());
    assert_eq!(db.require_graph("graph").unwrap().number_of_edges().unwrap(), written);
    assert_eq!(sum(&db.require_counters("counters").unwrap()), written);
    db.check(&|_, _| true).unwrap();
    assert!(!folder.path().join("backup").exists());
}

fn sum(counters: &quipu::Counters) -> u64 {
    let rows = counters.scan(None, 1000).unwrap();
    let number = |i| match rows.numbers.get(i) {
        Number::Int(number) => number as u64,
        Number::Float(_) => panic!("integers are counted"),
    };
    (0..rows.len()).map(number).sum()
}

#[test]
fn children_cost_their_parent_no_commit_under_sync() {
    children_cost_their_parent_nothing(Durability::Sync);
}

#[test]
fn children_cost_their_parent_no_commit_under_os() {
    children_cost_their_parent_nothing(Durability::Os);
}

#[test]
fn children_cost_their_parent_no_commit_under_none() {
    children_cost_their_parent_nothing(Durability::None);
}

/// Collects the calls that did not fail as required, by name.
#[derive(Default)]
struct Asked {
    wrong: Vec<String>,
    calls: usize,
}

impl Asked {
    fn ask<T>(&mut self, name: &str, call: impl FnOnce() -> quipu::Result<T>) {
        self.calls += 1;
        match call() {
            Err(error) if error.kind() == ErrorKind::Forked => {}
            Err(error) => self.wrong.push(format!("{name}: {:?} {error}", error.kind())),
            Ok(_) => self.wrong.push(format!("{name}: no error")),
        }
    }
}

/// Calls the method of each handle with the arguments, and collects those that do not return
/// `Forked`.
macro_rules! ask {
    ($asked:ident: $($on:ident.$method:ident($($argument:expr),*);)*) => {
        $($asked.ask(
            concat!(stringify!($on), ".", stringify!($method)),
            || $on.$method($($argument),*),
        );)*
    };
}

/// Makes every call of the Rust API that can fail, in a child: on an open database, in a
/// transaction, and on readers that are already open.
fn every_call_says_so(db: &Database, folder: &Path) {
    let graph = db.graph("graph", GraphOptions::default()).unwrap();
    let blobs = db.blobs("blobs", BlobOptions::default()).unwrap();
    let counters = db.counters("counters", CounterOptions::default()).unwrap();
    let combined = db.combined("combined", CombinedOptions::default(), Arc::new(append)).unwrap();
    let relation = db.create_relation("relation", "{k: Int => v: Int}").unwrap();
    relation.put(&rows(&[1, 2, 3])).unwrap();
    blobs.put(1_u64, b"one").unwrap();
    blobs.put(2_u64, &vec![7; 1 << 20]).unwrap();
    counters.add(1_u64, 1).unwrap();
    combined.add(1_u64, b"one").unwrap();
    graph.upsert(1, 2, None).unwrap();
    let tx = db.transaction(Isolation::Serializable);
    let (tx_graph, tx_blobs) = (tx.graph("graph").unwrap(), tx.blobs("blobs").unwrap());
    let (tx_counters, tx_combined) =
        (tx.counters("counters").unwrap(), tx.combined("combined").unwrap());
    let tx_relation = tx.relation("relation").unwrap();
    let mut edge_scan = graph.scan_edges().unwrap();
    let mut blob_scan = blobs.range(None, None).unwrap();
    let mut key_scan = blobs.keys(None, None).unwrap();
    let mut counter_scan = counters.range(None, None).unwrap();
    let mut combined_scan = combined.range(None, None).unwrap();
    let mut row_scan = relation.scan().unwrap();
    let mut tx_row_scan = tx_relation.scan().unwrap();
    let mut short = blobs.reader(1_u64).unwrap().unwrap();
    let mut long = blobs.reader(2_u64).unwrap().unwrap();
    let mut writer = blobs.writer(3_u64).unwrap();
    let other = blobs.writer(4_u64).unwrap();
    let parameters = Parameters::new();
    let said = in_child(End::Exit, |side| {
        let mut asked = Asked::default();
        let (run_options, isolation) = (RunOptions::default(), Isolation::Snapshot);
        let none: [&str; 0] = [];
        let late = db.transaction(isolation);
        let script = "?[a] <- [[1]]";
        let import = db.import_options();
        let (env, mut some) = (db.env(), Vec::new());
        ask! { asked:
            db.graph("graph", GraphOptions::default());
            db.existing_graph("graph");
            db.require_graph("graph");
            db.graphs();
            db.drop_entry("relation");
            db.drop_graph("graph");
            db.blobs("blobs", BlobOptions::default());
            db.existing_blobs("blobs");
            db.require_blobs("blobs");
            db.counters("counters", CounterOptions::default());
            db.existing_counters("counters");
            db.require_counters("counters");
            db.combined("combined", CombinedOptions::default(), Arc::new(append));
            db.list();
            db.flush();
            db.compact();
            db.compact_while(&|| true);
            db.refresh();
            db.stats();
            db.check(&|_, _| true);
            db.check_process();
            db.backup(folder.join("backup"), &BackupOptions::default(), &|_, _| true);
            db.run(script, &parameters);
            db.run_with(script, &parameters, &run_options);
            db.try_run(script, &parameters, &run_options);
            db.stream(script, &parameters, &run_options, |_| Ok(true));
            db.relation("relation");
            db.columns_of("relation");
            db.create_relation("other", "{k}");
            db.create_relation_of("other", &[]);
            db.export_relations(&none);
            db.import_relations(&Default::default());
            db.import_relations_with(&Default::default(), &run_options);
            db.register_callback("relation", |_| {});
            db.unregister_callback(1);
            db.register_fixed_rule("Rule", Nothing);
            db.unregister_fixed_rule("Rule");
            db.register_aggregate("agg", 0, |_| Err(quipu::Failure::new("no")));
            db.unregister_aggregate("agg");
            tx.graph("graph");
            tx.blobs("blobs");
            tx.counters("counters");
            tx.combined("combined");
            tx.relation("relation");
            tx.run(script, &parameters);
            tx.run_with(script, &parameters, &run_options);
            tx.export_relations(&none);
            tx.import_relations(&Default::default());
            tx.import_relations_with(&Default::default(), &run_options);
            tx.commit();
            late.run(script, &parameters);
            late.commit();
            edge_scan.next_edges(1, &mut Edges::default());
            blob_scan.next_rows(1, &mut BlobRows::default());
            key_scan.next_keys(1);
            counter_scan.next_rows(1);
            combined_scan.next_rows(1);
            row_scan.next_rows(1);
            tx_row_scan.next_rows(1);
            short.take_bytes(1, &mut some);
            long.take_bytes(1, &mut some);
            writer.append(b"more");
            other.finish();
            graph.import_columns(env, VertexList::U64(&[]), VertexList::U64(&[]), None, &import, &|_| true);
            graph.import_csv(env, Path::new("/dev/null"), &import, &|_| true);
            graph.import_reader(env, Box::new(std::io::empty()), "empty", &import, &|_| true);
            graph.import_parquet(env, Path::new("/dev/null"), &import, &|_| true);
        }
        for (graph, blobs) in [(&graph, &blobs), (&tx_graph, &tx_blobs)] {
            let mut value = Vec::new();
            let (mut offsets, mut ids) = (Vec::new(), Vec::new());
            ask! { asked:
                graph.edge(1, 2);
                graph.has_edge(1, 2);
                graph.has_edge_many(&[1], &[2], &mut Vec::new());
                graph.out_edges(1, &mut Edges::default());
                graph.in_edges(1, &mut Edges::default());
                graph.edges(1, &mut Edges::default());
                graph.successors(1, &mut ids);
                graph.predecessors(1, &mut ids);
                graph.neighbors(1, &mut ids);
                graph.neighbors_many(&[1], &mut offsets, &mut ids);
                graph.degree(1);
                graph.number_of_edges();
                graph.number_of_vertices();
                graph.has_vertex(1);
                graph.vertices(&mut |_| {});
                graph.scan_edges();
                graph.check();
                graph.upsert(1, 2, None);
                graph.upsert_list(VertexList::U64(&[1]), VertexList::U64(&[2]), None);
                graph.upsert_many(&[1], &[2], None);
                graph.remove(1, 2);
                graph.remove_many(&[1], &[2], &mut Vec::new());
                graph.remove_vertex(1);
                graph.clear();
                blobs.with_value(1_u64, |_| ());
                blobs.get(1_u64, &mut value);
                blobs.contains(1_u64);
                blobs.get_many(KeyList::U64(&[1]), &mut Vec::new(), &mut BytesColumn::default());
                blobs.contains_many(KeyList::U64(&[1]), &mut Vec::new());
                blobs.scan(None, 1, &mut BlobRows::default());
                blobs.scan_back(None, 1, &mut BlobRows::default());
                blobs.sample(1, 1, &mut BlobRows::default());
                blobs.range(None, None);
                blobs.keys(None, None);
                blobs.len();
                blobs.is_empty();
                blobs.measure(None, None);
                blobs.check();
                blobs.put(1_u64, b"new");
                blobs.delete(1_u64);
                blobs.delete_many(KeyList::U64(&[1]), &mut Vec::new());
                blobs.discard(1_u64);
                blobs.discard_many(KeyList::U64(&[1]));
                blobs.clear();
                blobs.writer(1_u64);
                blobs.reader(1_u64);
            }
        }
        ask! { asked: blobs.load(|_| Ok(false)); blobs.collect_garbage(); }
        for (counters, combined) in [(&counters, &combined), (&tx_counters, &tx_combined)] {
            let mut value = Vec::new();
            let (keys, one) = (KeyList::U64(&[1]), NumberList::Ones);
            ask! { asked:
                counters.add(1_u64, 1);
                counters.add_many(keys, one);
                counters.set(1_u64, 1);
                counters.remove(1_u64);
                counters.reset();
                counters.flush();
                counters.get(1_u64);
                counters.find(1_u64);
                counters.get_many(keys);
                counters.scan(None, 1);
                counters.scan_back(None, 1);
                counters.range(None, None);
                counters.len();
                counters.is_empty();
                counters.top(1);
                combined.add(1_u64, b"new");
                combined.put(1_u64, b"new");
                combined.remove(1_u64);
                combined.flush();
                combined.get(1_u64, &mut value);
                combined.get_many(keys, &mut Vec::new(), &mut BytesColumn::default());
                combined.scan(None, 1);
                combined.scan_back(None, 1);
                combined.range(None, None);
                combined.len();
                combined.is_empty();
            }
        }
        for relation in [&relation, &tx_relation] {
            let rows = rows(&[1]);
            ask! { asked:
                relation.len();
                relation.is_empty();
                relation.scan();
                relation.to_frame();
                relation.put(&rows);
                relation.insert(&rows);
                relation.update(&rows);
                relation.rm(&rows);
                relation.delete(&rows);
            }
        }
        let (a, b, c) = (graph.clone(), counters.clone(), combined.clone());
        ask! { asked: a.drop_graph(); b.drop_counters(); c.drop_combined(); }
        let d = blobs.clone();
        ask! { asked: d.drop_blobs(); }
        // Calls that cannot fail do nothing.
        assert!(!tx.is_open() && !db.commit_would_not_block());
        tx.rollback();
        db.close().unwrap();
        side.say(&format!("{} asked, wrong: {:#?}", asked.calls, asked.wrong));
    });
    assert!(said.ends_with("asked, wrong: []"), "{said}");
    drop((writer, short, long));
    // The parent's handles are unaffected.
    tx.rollback();
    assert_eq!((blobs.len().unwrap(), graph.number_of_edges().unwrap()), (2, 1));
    assert_eq!(relation.len().unwrap(), 3);
    assert_eq!(counters.get(1_u64).unwrap(), Number::Int(1));
}

struct Nothing;

impl FixedRule for Nothing {
    fn columns(&self) -> usize {
        1
    }

    fn run(&self, _: &RuleCall<'_>) -> Result<Vec<Vec<Value>>, quipu::Failure> {
        Ok(Vec::new())
    }
}

#[test]
fn every_call_in_a_child_is_an_error_of_its_own_kind() {
    let _alone = alone();
    for durability in DURABILITIES {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder.path().join("db"), durability);
        every_call_says_so(&db, folder.path());
    }
    every_call_says_so(&Database::in_memory(Options::default()).unwrap(), Path::new("/nowhere"));
}

#[test]
fn a_follower_belongs_to_its_process_too() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let writer = open(folder.path(), Durability::Sync);
    let blobs = writer.blobs("blobs", BlobOptions::default()).unwrap();
    blobs.put(1_u64, b"one").unwrap();
    let options = Options { read_only: true, ..Options::default() };
    let db = Database::open(folder.path(), options).unwrap();
    let read = db.require_blobs("blobs").unwrap();
    let said = in_child(End::Exit, |side| {
        let mut asked = Asked::default();
        ask! { asked: db.refresh(); db.stats(); db.list(); read.contains(1_u64); }
        db.close().unwrap();
        side.say(&format!("{:?}", asked.wrong));
    });
    assert_eq!(said, "[]");
    blobs.put(2_u64, b"two").unwrap();
    db.refresh().unwrap();
    assert!(read.contains(2_u64).unwrap());
}

#[test]
fn the_error_names_both_processes_and_says_what_to_do() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path(), Durability::Sync);
    let child = fork(End::AtOnce, |side| side.say(&db.flush().unwrap_err().to_string()));
    let (parent, process) = (std::process::id(), child.process);
    let (said, _) = child.end();
    assert_eq!(
        said,
        format!(
            "this database was opened in process {parent}; this is process {process}, which inherited it by fork\n\
             hint: open it again here, read-only or after process {parent} has closed it"
        )
    );
}

#[test]
fn a_child_opens_the_folder_itself_once_its_parent_has_closed_it() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path(), Durability::Sync);
    db.blobs("blobs", BlobOptions::default()).unwrap().put(1_u64, b"one").unwrap();
    let mut child = fork(End::Exit, |side| {
        let try_open = |read_only| {
            let options = Options { read_only, ..options(Durability::Sync) };
            let db = Database::open(folder.path(), options)?;
            let blobs = db.require_blobs("blobs")?;
            if !read_only {
                blobs.put(2_u64, b"two")?;
            }
            blobs.len()
        };
        let say = |opened: quipu::Result<u64>| match opened {
            Ok(rows) => format!("{rows} rows"),
            Err(error) => format!("{:?} {error}", error.kind()),
        };
        side.say(&say(try_open(false)));
        side.say(&format!("; {}\n", say(try_open(true))));
        side.wait();
        side.say(&say(try_open(false)));
    });
    let mut said = String::new();
    while !said.ends_with('\n') {
        said += &child.next();
    }
    let holder = format!("is locked by process {} ", std::process::id());
    assert!(said.starts_with("Locked ") && said.contains(&holder), "{said}");
    assert!(said.ends_with("; 1 rows\n"), "{said}");
    db.close().unwrap();
    assert_eq!(child.end(), ("2 rows".to_owned(), 0));
    let db = open(folder.path(), Durability::Sync);
    assert_eq!(db.require_blobs("blobs").unwrap().len().unwrap(), 2);
    db.check(&|_, _| true).unwrap();
}

/// The kernel's lock belongs to the open file, which children share. It must not survive in them.
#[test]
fn a_child_that_outlives_its_killed_parent_does_not_hold_the_folder() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // This test's parent is itself a child, so that it can be killed.
    let mut parent = fork(End::Killed, |side| {
        let db = open(folder.path(), Durability::Sync);
        db.blobs("blobs", BlobOptions::default()).unwrap().put(1_u64, b"one").unwrap();
        let mut inner = fork(End::Exit, |inner: &mut Side| {
            inner.say("inherited");
            // Waits for the test, which closes its end of the pipe below.
            side.wait();
            drop(db.close());
        });
        assert_eq!(inner.next(), "inherited");
        side.say("killed");
        // SAFETY: ends this process; nothing of it is dropped, and nothing unlocked.
        unsafe {
            libc::kill(libc::getpid(), libc::SIGKILL);
        }
    });
    assert_eq!(parent.next(), "killed");
    let mut status = 0;
    // SAFETY: a child of this process that was not waited for; we own the status that is written.
    let waited = unsafe { libc::waitpid(parent.process, &raw mut status, 0) };
    assert_eq!((waited, status), (parent.process, libc::SIGKILL));
    let db = open(folder.path(), Durability::Sync);
    assert!(db.require_blobs("blobs").unwrap().contains(1_u64).unwrap());
    db.require_blobs("blobs").unwrap().put(2_u64, b"two").unwrap();
    // Now the child of the killed process continues, and closes its database.
    drop(parent);
    db.require_blobs("blobs").unwrap().put(3_u64, b"three").unwrap();
    db.check(&|_, _| true).unwrap();
    db.close().unwrap();
    let db = open(folder.path(), Durability::Sync);
    assert_eq!(db.require_blobs("blobs").unwrap().len().unwrap(), 3);
}

/// Blocks its callers until it is opened.
struct Gate {
    arrived: Sender<()>,
    go_on: std::sync::Mutex<Receiver<()>>,
    is_open: AtomicBool,
}

impl Gate {
    fn new() -> (Arc<Self>, Receiver<()>, Sender<()>) {
        let ((arrived, arrives), (open, go_on)) = (channel(), channel());
        let go_on = std::sync::Mutex::new(go_on);
        (Arc::new(Self { arrived, go_on, is_open: AtomicBool::new(false) }), arrives, open)
    }

    fn pass(&self) {
        if !self.is_open.swap(true, Ordering::SeqCst) {
            self.arrived.send(()).unwrap();
            self.go_on.lock().unwrap().recv().unwrap();
        }
    }
}

struct Held(Arc<Gate>);

impl FixedRule for Held {
    fn columns(&self) -> usize {
        1
    }

    fn run(&self, _: &RuleCall<'_>) -> Result<Vec<Vec<Value>>, quipu::Failure> {
        self.0.pass();
        Ok(Vec::new())
    }
}

/// A thread of the parent is inside an increment, and another inside a script in a transaction.
/// They hold locks that nobody releases in the child.
#[test]
fn a_child_never_waits_for_locks_that_threads_of_its_parent_hold() {
    let _alone = alone();
    let db = Database::in_memory(Options::default()).unwrap();
    let (gate, arrives, open_gate) = Gate::new();
    let combiner = {
        let gate = Arc::clone(&gate);
        move |key: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>| {
            gate.pass();
            append(key, old, new, out)
        }
    };
    let combined = db.combined("c", CombinedOptions::default(), Arc::new(combiner)).unwrap();
    combined.add(1_u64, b"a").unwrap();
    let (script_gate, script_arrives, open_script) = Gate::new();
    db.register_fixed_rule("Held", Held(script_gate)).unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    std::thread::scope(|scope| {
        scope.spawn(|| combined.add(1_u64, b"b").unwrap());
        arrives.recv().unwrap();
        scope
            .spawn(|| tx.run("x[a] <~ Held() ?[a] := x[a]", &Parameters::new()).map(drop).unwrap());
        script_arrives.recv().unwrap();
        let said = in_child(End::AtOnce, |side| {
            let mut asked = Asked::default();
            let mut value = Vec::new();
            ask! { asked:
                combined.get(1_u64, &mut value);
                combined.add(1_u64, b"c");
                combined.flush();
                combined.len();
                tx.commit();
                db.flush();
                db.stats();
            }
            tx.rollback();
            drop((tx.clone(), combined.clone()));
            db.close().unwrap();
            side.say(&format!("{:?}", asked.wrong));
        });
        open_gate.send(()).unwrap();
        open_script.send(()).unwrap();
        assert_eq!(said, "[]");
    });
    let mut value = Vec::new();
    assert!(combined.get(1_u64, &mut value).unwrap());
    assert_eq!(value, b"ab");
}

/// Threads that write all the time hold various locks whenever a child is forked.
#[test]
fn children_of_a_process_whose_threads_write_end_and_lose_nothing() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path(), Durability::Os);
    let counters = db.counters("counters", CounterOptions::default()).unwrap();
    let stop = AtomicBool::new(false);
    let written: u64 = std::thread::scope(|scope| {
        let write = || {
            let mut written = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                counters.add(written % 100, 1).unwrap();
                written += 1;
                if written.is_multiple_of(500) {
                    db.flush().unwrap();
                }
            }
            written
        };
        let writers = [scope.spawn(write), scope.spawn(write)];
        let forked = catch_unwind(AssertUnwindSafe(|| {
            for round in 0..60 {
                let end = [End::AtOnce, End::Exit, End::Killed][round % 3];
                in_child(end, |_| {
                    let (db, counters) = (db.clone(), counters.clone());
                    drop(counters.add(1_u64, 1));
                    drop(counters.get(1_u64));
                    drop(db.flush());
                    drop(db.close());
                });
            }
        }));
        stop.store(true, Ordering::Relaxed);
        let written = writers.map(|writer| writer.join().unwrap()).iter().sum();
        forked.unwrap();
        written
    });
    db.check(&|_, _| true).unwrap();
    drop((db, counters));
    let db = open(folder.path(), Durability::Os);
    assert_eq!(sum(&db.require_counters("counters").unwrap()), written);
}

/// A child that closes all descriptors soon has other files under their numbers. Dropping what it
/// inherited must not close those files.
#[test]
fn what_a_child_drops_closes_no_file_that_it_has_opened_since() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path(), Durability::Os);
    let blobs = db.blobs("blobs", BlobOptions::default()).unwrap();
    for key in 0..100_u64 {
        blobs.put(key, &[7; 1000]).unwrap();
        if key % 10 == 0 {
            db.flush().unwrap();
        }
    }
    let mut scan = blobs.range(None, None).unwrap();
    scan.next_rows(1, &mut BlobRows::default()).unwrap();
    // The child owns all handles, and drops them.
    let mut all = Some((db, blobs, scan));
    let said = in_child(End::AtOnce, |side| {
        use std::os::fd::AsRawFd;
        let ours = 3..256;
        // Closes all descriptors but those of the report, as a daemon does.
        let open: Vec<i32> = ours.clone().filter(|&fd| !side.needs(fd)).collect();
        for fd in open {
            // SAFETY: nothing in this child uses them any more, and that is what is tested.
            unsafe {
                libc::close(fd);
            }
        }
        let files: Vec<File> = (0..100).map(|_| File::open("/dev/null").unwrap()).collect();
        drop(all.take());
        let closed = files.iter().filter(|file| file.metadata().is_err()).count();
        side.say(&format!("{closed} of {} closed", files.len()));
        files.iter().for_each(|file| assert!(file.as_raw_fd() > 2));
    });
    assert_eq!(said, "0 of 100 closed");
    let (db, ..) = all.unwrap();
    db.check(&|_, _| true).unwrap();
}
