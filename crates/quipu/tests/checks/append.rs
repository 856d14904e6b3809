//! Random transactions that append to lists and read them, and the verdict of an independent
//! checker on the history. `list_append.rs` runs plans at both isolation levels, and the tests of
//! fault switches run them on broken engines.
//!
//! # Why lists
//! A read of a list shows the order of all earlier appends, so the reads alone reveal who
//! overwrote, read or missed whom. The checker (the crate `adya`, after Elle) knows nothing of the
//! engine: it gets the requests and results of the clients, builds their dependency graph, and
//! looks for the cycles that a level forbids.
//!
//! # How a list is stored
//! As out-edges of a vertex: `(list, position) => element`. Two transactions that append to one
//! list write the same row.

use super::{commit, meet, set, table};
use adya::history::{Interner, Mop, Op, OpType, ReadValue, Scalar};
use adya::{History, Opts, Valid, Workload};
use env::sync::Mutex;
use quipu::{Database, Edges, Graph, Isolation, Weight};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// The first number of a seed.
    pub(crate) fn pick(seed: u64, bound: u64) -> u64 {
        Self(seed).below(bound)
    }
}

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) level: Isolation,
    pub(crate) threads: u64,
    /// Transactions of each thread.
    pub(crate) transactions: u64,
    pub(crate) seed: u64,
    /// Whether the database is flushed and compacted all the time during the run.
    pub(crate) stirred: bool,
}

/// Number of lists in use at a time.
const LISTS: u64 = 4;
/// After this many transactions a thread continues with the next lists, so lists stay short.
const TRANSACTIONS_A_LIST: u64 = 40;

/// Result of a run.
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    /// Acknowledged appends that are missing in the final lists, or occur twice, and elements that
    /// nobody appended.
    pub(crate) wrong_at_the_end: Vec<String>,
    history: History,
}

/// Result of the checker.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) model: &'static str,
    pub(crate) valid: Valid,
    pub(crate) anomalies: Vec<String>,
    /// The checker's explanation of the first anomaly.
    pub(crate) explanation: String,
}

#[derive(Clone, Copy)]
enum Step {
    Append(u64, i64),
    Read(u64),
}

/// The history so far, in the order of real time: an invocation is recorded before its transaction
/// begins, a completion after it has ended.
#[derive(Default)]
struct Log {
    ops: Vec<Op>,
    interner: Interner,
}

impl Log {
    fn push(&mut self, kind: OpType, process: u64, steps: &[Step], reads: &[Vec<i64>]) {
        let mut reads = reads.iter();
        let mut value = Vec::new();
        for step in steps {
            value.push(match *step {
                Step::Append(list, element) => Mop::Append {
                    key: self.interner.intern(Scalar::Int(list as i64)),
                    value: self.interner.intern(Scalar::Int(element)),
                },
                Step::Read(list) => {
                    let key = self.interner.intern(Scalar::Int(list as i64));
                    let read = reads.next().map(|elements| {
                        let ids = elements.iter().map(|&e| self.interner.intern(Scalar::Int(e)));
                        ReadValue::List(ids.collect())
                    });
                    Mop::Read { key, value: read.unwrap_or(ReadValue::Nil) }
                }
            });
        }
        let index = self.ops.len() as u64;
        self.ops.push(Op { index, kind, process: Some(process as i64), value, time: None });
    }
}

fn elements(lists: &Graph, list: u64) -> Vec<i64> {
    let mut edges = Edges::default();
    lists.out_edges(list, &mut edges).unwrap();
    let element = |i| match edges.weight.get(i) {
        Weight::Int(int) => int,
        other => panic!("the lists hold integers, found {other:?}"),
    };
    (0..edges.len()).map(element).collect()
}

/// One to four steps on the current lists.
fn steps(random: &mut Random, nth: u64, next: &mut i64) -> Vec<Step> {
    let first = nth / TRANSACTIONS_A_LIST * LISTS;
    let count = 1 + random.below(4);
    let mut step = || {
        let list = first + random.below(LISTS);
        if random.below(2) == 0 {
            return Step::Read(list);
        }
        *next += 1;
        Step::Append(list, *next)
    };
    (0..count).map(|_| step()).collect()
}

/// Runs a plan on an open database.
pub(crate) fn run(db: &Database, plan: Plan) -> Run {
    table(db, "lists");
    let log = Mutex::new(Log::default());
    let left = AtomicU64::new(plan.threads);
    let missing = AtomicU64::new(plan.threads);
    let counts = [AtomicU64::new(0), AtomicU64::new(0)];
    std::thread::scope(|scope| {
        for me in 0..plan.threads {
            let (log, left, missing, counts) = (&log, &left, &missing, &counts);
            scope.spawn(move || {
                let _gone = Gone(left);
                meet(missing);
                let mut random = Random(plan.seed.wrapping_mul(1_000_003).wrapping_add(me));
                let mut next = (me as i64 + 1) * 1_000_000;
                for nth in 0..plan.transactions {
                    let steps = steps(&mut random, nth, &mut next);
                    let done = transaction(db, plan.level, log, me, &steps);
                    counts[usize::from(done)].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while plan.stirred && left.load(Ordering::Acquire) > 0 {
            db.compact().unwrap();
            (0..64).for_each(|_| std::thread::yield_now());
        }
    });
    let lists = plan.transactions.div_ceil(TRANSACTIONS_A_LIST) * LISTS;
    let all: Vec<_> = (0..lists).map(Step::Read).collect();
    transaction(db, plan.level, &log, plan.threads, &all);
    let log = log.into_inner();
    let history = History::from_ops(log.ops, log.interner);
    let wrong_at_the_end = compare(&history);
    let [aborted, committed] = counts.map(AtomicU64::into_inner);
    Run { plan, committed, aborted, wrong_at_the_end, history }
}

/// Counts a client as gone when it is dropped, even after a panic.
struct Gone<'a>(&'a AtomicU64);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

fn transaction(db: &Database, level: Isolation, log: &Mutex<Log>, me: u64, steps: &[Step]) -> bool {
    log.lock().push(OpType::Invoke, me, steps, &[]);
    let tx = db.transaction(level);
    let lists = tx.graph("lists").unwrap();
    let mut reads = Vec::new();
    for step in steps {
        match *step {
            Step::Read(list) => reads.push(elements(&lists, list)),
            Step::Append(list, element) => {
                let (length, _) = lists.out_degree(list).unwrap();
                set(&lists, list, length, element);
            }
        }
        std::thread::yield_now();
    }
    let done = commit(&tx);
    if done {
        log.lock().push(OpType::Ok, me, steps, &reads);
    } else {
        log.lock().push(OpType::Fail, me, steps, &[]);
    }
    done
}

/// Compares the reads of the last transaction, of all lists, with the acknowledged appends.
fn compare(history: &History) -> Vec<String> {
    let mut acknowledged: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for op in history.ops.iter().filter(|op| op.kind == OpType::Ok) {
        for mop in &op.value {
            if let Mop::Append { key, value } = mop {
                acknowledged.entry(*key).or_default().insert(*value);
            }
        }
    }
    let mut wrong = Vec::new();
    let last = history.ops.last().map(|op| op.value.as_slice()).unwrap_or_default();
    for mop in last {
        let Mop::Read { key, value: ReadValue::List(found) } = mop else { continue };
        let want = acknowledged.remove(key).unwrap_or_default();
        let distinct: BTreeSet<_> = found.iter().copied().collect();
        if distinct != want || distinct.len() != found.len() {
            let (want, found) = (want.len(), found.len());
            wrong.push(format!("list {}: {want} acknowledged, {found} found", history.show(*key)));
        }
    }
    wrong.extend(acknowledged.keys().map(|key| format!("list {}: not read", history.show(*key))));
    wrong
}

impl Run {
    /// Checks whether the history satisfies a consistency model. The checker gives up after
    /// `timeout`.
    pub(crate) fn check(&self, model: &'static str, timeout: Duration) -> Verdict {
        let options = Opts { models: vec![model.to_owned()], timeout, ..Opts::default() };
        let report = adya::check(&self.history, Workload::ListAppend, &options);
        let first = report.anomalies.values().flatten().next();
        Verdict {
            model,
            valid: report.valid,
            anomalies: report.anomaly_types.clone(),
            explanation: first.map(|a| a.explanation.clone()).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { level, threads, seed, stirred, .. } = self.plan;
        let level = if level == Isolation::Snapshot { "snapshot" } else { "serializable" };
        let beside = if stirred { ", compacting beside" } else { "" };
        let (committed, aborted) = (self.committed, self.aborted);
        write!(
            f,
            "{level}{beside}, seed {seed}: {threads} threads, {} transactions, {committed} committed, \
             {aborted} aborted",
            committed + aborted,
        )
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.valid {
            Valid::True => write!(f, "{}: holds", self.model),
            Valid::False => write!(f, "{}: violated ({})", self.model, self.anomalies.join(", ")),
            Valid::Unknown => write!(f, "{}: unknown", self.model),
        }
    }
}
