//! Several processes write one database at once. An independent checker judges the history of
//! their transactions (`adya`, after Elle): random appends to lists and reads of lists. One process
//! dies in a commit.
//!
//! The processes append lines to one file: the steps of a transaction before it begins, and its
//! result after it has ended. So the lines are in real-time order.
//!
//! Tests of engines that several processes may write include this file.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)] // processes

use adya::history::{Interner, Mop, Op, OpType, ReadValue, Scalar};
use adya::{History, Opts, Valid, Workload};
use base::{Batch, Column, ColumnShape, Key, KeyShape, KeyspaceId, Kind, Projection, Shape};
use ordered::OrderedStore;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;
use store::{ErrorKind, Isolation, Kinds, NewKeyspace, Read, Store, TableWrites, WriteBatch};

/// A database of a server that several processes may write.
pub(crate) trait Shared {
    /// A new one, removed when it is dropped.
    fn create() -> Self;
    /// One of another process.
    fn named(name: &str) -> Self;
    fn name(&self) -> String;
    fn open(&self) -> OrderedStore;
}

const PROCESSES: u64 = 4;
/// The variable that makes this program a child process: its arguments.
const CHILD: &str = "QUIPU_CHILD";
const TRANSACTIONS: u64 = 60;
/// Lists in use at a time, and transactions of a process after which it goes on to others.
const LISTS: u64 = 3;
const TRANSACTIONS_A_LIST: u64 = 20;

#[derive(Clone, Copy)]
enum Step {
    Append(u64, i64),
    Read(u64),
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

fn shape() -> Shape {
    Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] }
}

/// A list is one value: its elements, eight bytes each.
fn list(read: &dyn Read, id: KeyspaceId, list: u64) -> store::Result<Vec<i64>> {
    let mut out = Batch::new(&shape());
    let key = Key::words(&[list]);
    if !read.get(id, key.as_ref(), Projection::ALL, &mut out)? {
        return Ok(Vec::new());
    }
    let bytes = out.values[0].as_bytes().unwrap();
    let elements = bytes.get(0).chunks_exact(8);
    Ok(elements.map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap())).collect())
}

fn put(id: KeyspaceId, list: u64, elements: &[i64]) -> WriteBatch {
    let mut rows = Batch::new(&shape());
    rows.keys.push(Key::words(&[list]).as_ref());
    let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
    let Column::Bytes(column) = &mut rows.values[0] else { panic!("the shape has bytes") };
    column.push(Some(&bytes));
    rows.rows = 1;
    let kinds = Kinds::Uniform(Kind::Put);
    WriteBatch { tables: vec![TableWrites { keyspace: id, kinds, rows, delete_ranges: vec![] }] }
}

/// The reads of a transaction that committed.
fn transaction(
    store: &OrderedStore,
    id: KeyspaceId,
    level: Isolation,
    steps: &[Step],
) -> store::Result<Vec<Vec<i64>>> {
    let transaction = store.begin(level);
    let mut reads = Vec::new();
    for step in steps {
        match *step {
            Step::Read(number) => reads.push(list(&*transaction, id, number)?),
            Step::Append(number, element) => {
                let mut elements = list(&*transaction, id, number)?;
                elements.push(element);
                transaction.write(&put(id, number, &elements))?;
            }
        }
    }
    transaction.commit()?;
    Ok(reads)
}

/// A line of the history: kind, process, and steps; a read has its elements.
fn line(kind: &str, process: u64, steps: &[Step], reads: &[Vec<i64>]) -> String {
    let mut reads = reads.iter();
    let mut text = format!("{kind} {process}");
    for step in steps {
        text += &match *step {
            Step::Append(list, element) => format!(" a:{list}:{element}"),
            Step::Read(list) => match reads.next() {
                Some(found) => {
                    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
                    format!(" r:{list}:{}", found.join(","))
                }
                None => format!(" r:{list}:?"),
            },
        };
    }
    text + "\n"
}

fn op(index: u64, line: &str, names: &mut Interner) -> Op {
    let mut parts = line.split(' ');
    let kind = match parts.next() {
        Some("invoke") => OpType::Invoke,
        Some("ok") => OpType::Ok,
        _ => OpType::Fail,
    };
    let process = parts.next().and_then(|process| process.parse().ok());
    let mut name = |text: &str| names.intern(Scalar::Int(text.parse().unwrap()));
    let step = |text: &str| {
        let (what, rest) = text.split_once(':').unwrap();
        let (list, value) = rest.split_once(':').unwrap();
        let key = name(list);
        match (what, value) {
            ("a", element) => Mop::Append { key, value: name(element) },
            (_, "?") => Mop::Read { key, value: ReadValue::Nil },
            (_, "") => Mop::Read { key, value: ReadValue::List(vec![]) },
            (_, elements) => {
                let elements: Vec<_> = elements.split(',').map(&mut name).collect();
                Mop::Read { key, value: ReadValue::List(elements) }
            }
        }
    };
    Op { index, kind, process, value: parts.map(step).collect(), time: None }
}

/// Runs the transactions of a child process, until it dies or is done.
fn run_child<S: Shared>(arguments: &str) {
    let [name, file, me, serializable, seed, dies] =
        arguments.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let me: u64 = me.parse().unwrap();
    let level = if serializable == "true" { Isolation::Serializable } else { Isolation::Snapshot };
    let store = S::named(name).open();
    let id = store.keyspace_named("lists").unwrap().id;
    let mut log = OpenOptions::new().append(true).open(file).unwrap();
    let mut random = Random(seed.parse::<u64>().unwrap() * 1000 + me);
    let mut next = me as i64 * 1_000_000;
    for nth in 0..TRANSACTIONS {
        let first = nth / TRANSACTIONS_A_LIST * LISTS;
        let steps: Vec<_> = (0..=random.below(4))
            .map(|_| {
                let list = first + random.below(LISTS);
                next += 1;
                if random.below(2) == 0 { Step::Read(list) } else { Step::Append(list, next) }
            })
            .collect();
        log.write_all(line("invoke", me, &steps, &[]).as_bytes()).unwrap();
        if dies == "true" && nth == TRANSACTIONS / 2 {
            // At some point of the transaction that follows.
            std::thread::spawn(std::process::abort);
        }
        let done = match transaction(&store, id, level, &steps) {
            Ok(reads) => line("ok", me, &steps, &reads),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                line("fail", me, &steps, &[])
            }
        };
        log.write_all(done.as_bytes()).unwrap();
    }
}

/// Runs a history. Returns it, and the elements of acknowledged appends by list.
fn history<S: Shared>(test: &str, level: Isolation, seed: u64) -> (History, usize, usize) {
    let database = S::create();
    let store = database.open();
    let new = NewKeyspace { name: "lists".into(), shape: shape(), definition: vec![] };
    let id = store.create_keyspaces(&[new]).unwrap()[0];
    let file = tempfile::NamedTempFile::new().unwrap();
    let start = |me: u64| {
        let serializable = level == Isolation::Serializable;
        let (name, path, dies) = (database.name(), file.path().display(), me == PROCESSES);
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(CHILD, format!("{name} {path} {me} {serializable} {seed} {dies}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut children: Vec<_> = (1..=PROCESSES).map(start).collect();
    for (i, child) in children.iter_mut().enumerate() {
        let dies = i as u64 + 1 == PROCESSES;
        assert_eq!(child.wait().unwrap().success(), !dies, "process {i}");
    }
    let lists = TRANSACTIONS.div_ceil(TRANSACTIONS_A_LIST) * LISTS;
    let all: Vec<_> = (0..lists).map(Step::Read).collect();
    let reads = transaction(&store, id, level, &all).unwrap();
    let mut text = std::fs::read_to_string(file.path()).unwrap();
    text += &line("invoke", 0, &all, &[]);
    text += &line("ok", 0, &all, &reads);
    let acknowledged = text.lines().filter(|line| line.starts_with("ok "));
    for append in acknowledged.flat_map(|line| line.split(" a:").skip(1)) {
        let append = append.split(' ').next().unwrap();
        let (list, element) = append.split_once(':').unwrap();
        let found = &reads[list.parse::<usize>().unwrap()];
        let times = found.iter().filter(|found| found.to_string() == element).count();
        assert_eq!(times, 1, "element {element} of list {list}");
    }
    let mut names = Interner::default();
    let ops = text.lines().zip(0..).map(|(line, index)| op(index, line, &mut names)).collect();
    let count = |kind| text.lines().filter(|line| line.starts_with(kind)).count();
    (History::from_ops(ops, names), count("ok "), count("fail "))
}

/// Checks the promised level; returns the anomalies of the one above it.
#[track_caller]
fn check<S: Shared>(
    test: &str,
    level: Isolation,
    promised: &str,
    above: &str,
    seed: u64,
) -> Vec<String> {
    let (history, committed, aborted) = history::<S>(test, level, seed);
    let judge = |model: &str| {
        let (models, timeout) = (vec![model.to_owned()], Duration::from_secs(600));
        adya::check(&history, Workload::ListAppend, &Opts { models, timeout, ..Opts::default() })
    };
    let report = judge(promised);
    let said = format!(
        "{level:?}, seed {seed}: {PROCESSES} processes, {committed} committed, {aborted} aborted: \
         {promised}: {:?} {:?}",
        report.valid, report.anomaly_types
    );
    let _ = writeln!(std::io::stderr(), "{said}");
    assert_eq!(report.valid, Valid::True, "{said}");
    judge(above).anomaly_types
}

/// Histories at snapshot isolation. `test` is the name of the test that calls this.
pub(crate) fn snapshots_are_isolated<S: Shared>(test: &str) {
    if let Ok(arguments) = std::env::var(CHILD) {
        return run_child::<S>(&arguments);
    }
    let (promised, above) = ("strong-snapshot-isolation", "strict-serializable");
    let above = |seed| check::<S>(test, Isolation::Snapshot, promised, above, seed);
    // A checker that finds the write skew that the level allows would find worse.
    let is_skew = |anomalies: Vec<String>| anomalies.iter().any(|one| one.starts_with("G2-item"));
    assert!((1..20).any(|seed| is_skew(above(seed))), "no history shows write skew");
}

/// Histories of serializable transactions. `test` is the name of the test that calls this.
pub(crate) fn serializable_is_strict<S: Shared>(test: &str) {
    if let Ok(arguments) = std::env::var(CHILD) {
        return run_child::<S>(&arguments);
    }
    let level = "strict-serializable";
    (1..3).for_each(|seed| {
        check::<S>(test, Isolation::Serializable, level, level, seed);
    });
}

/// The tests of histories on the databases of a type, which has `new(Writers)`,
/// `named(&str, Writers)`, `name()` and `try_open(read_only)`.
macro_rules! histories {
    ($database:ty) => {
        impl processes::Shared for $database {
            fn create() -> Self {
                Self::new(ordered::Writers::Many)
            }

            fn named(name: &str) -> Self {
                Self::named(name, ordered::Writers::Many)
            }

            fn name(&self) -> String {
                self.name().to_owned()
            }

            fn open(&self) -> ordered::OrderedStore {
                self.try_open(false).unwrap()
            }
        }

        #[test]
        fn histories_of_snapshot_transactions_are_snapshot_isolated() {
            let name = "histories_of_snapshot_transactions_are_snapshot_isolated";
            processes::snapshots_are_isolated::<$database>(name);
        }

        #[test]
        fn histories_of_serializable_transactions_are_strictly_serializable() {
            let name = "histories_of_serializable_transactions_are_strictly_serializable";
            processes::serializable_is_strict::<$database>(name);
        }
    };
}

pub(crate) use histories;
