//! The schedules of Hermitage (Martin Kleppmann's collection of isolation anomalies) on a graph.
//!
//! # How a table becomes a graph
//! Hermitage's `test(id, value)` with the rows `1 => 10, 2 => 20` is stored as out-edges of vertex
//! 0: `(0, id) => value`. A predicate over values reads the whole range and filters, like a query
//! without an index.
//!
//! # Blocking
//! Nothing blocks: where another database blocks a statement, here the later commit conflicts.

use super::{commit, int, set, table};
use quipu::{Database, Edges, Graph, Isolation, Options, Tx};

/// Outcome of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The anomaly happened.
    Anomaly,
    /// The anomaly did not happen, because a transaction conflicted and must be run again.
    Conflict,
    /// The anomaly did not happen, and all transactions committed.
    Prevented,
}

/// A schedule, to run at a level.
pub(crate) type Schedule = fn(&Lab) -> Seen;

/// All schedules by the name of their test, and whether snapshot isolation allows the anomaly.
pub(crate) const SCHEDULES: [(&str, Schedule, bool); 16] = [
    ("g0_write_cycle", g0_write_cycle, false),
    ("g1a_aborted_read", g1a_aborted_read, false),
    ("g1b_intermediate_read", g1b_intermediate_read, false),
    ("g1c_circular_information_flow", g1c_circular_information_flow, false),
    ("otv_observed_transaction_vanishes", otv_observed_transaction_vanishes, false),
    ("pmp_predicate_many_preceders", pmp_predicate_many_preceders, false),
    ("pmp_with_a_write_predicate", pmp_with_a_write_predicate, false),
    ("p4_lost_update", p4_lost_update, false),
    ("g_single_read_skew", g_single_read_skew, false),
    ("g_single_with_a_predicate", g_single_with_a_predicate, false),
    ("g_single_with_a_write_predicate", g_single_with_a_write_predicate, false),
    ("g_single_interleaved", g_single_interleaved, false),
    ("g2_item_write_skew", g2_item_write_skew, true),
    ("g2_anti_dependency_cycle", g2_anti_dependency_cycle, true),
    ("g2_two_anti_dependency_edges", g2_two_anti_dependency_edges, true),
    ("read_only_transaction_anomaly", read_only_transaction_anomaly, true),
];

/// A database with the two rows.
pub(crate) struct Lab {
    db: Database,
    rows: Graph,
    level: Isolation,
    stirred: bool,
}

impl Lab {
    /// With `stirred`, everything is flushed and compacted between any two steps.
    pub(crate) fn new(level: Isolation, stirred: bool) -> Self {
        let db = Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap();
        let rows = table(&db, "test");
        rows.upsert_many(&[0, 0], &[1, 2], Some(quipu::WeightsRef::Int(&[10, 20]))).unwrap();
        Self { db, rows, level, stirred }
    }

    fn step(&self) {
        if self.stirred {
            self.db.compact().unwrap();
        }
    }

    fn begin(&self) -> Transaction<'_> {
        self.step();
        let tx = self.db.transaction(self.level);
        let rows = tx.graph("test").unwrap();
        Transaction { lab: self, tx, rows }
    }

    /// The committed rows.
    fn rows(&self) -> Vec<(u64, i64)> {
        self.step();
        all(&self.rows)
    }
}

struct Transaction<'a> {
    lab: &'a Lab,
    tx: Tx,
    rows: Graph,
}

impl Transaction<'_> {
    fn get(&self, id: u64) -> i64 {
        self.lab.step();
        int(&self.rows, 0, id)
    }

    fn set(&self, id: u64, value: i64) {
        self.lab.step();
        set(&self.rows, 0, id, value);
    }

    fn all(&self) -> Vec<(u64, i64)> {
        self.lab.step();
        all(&self.rows)
    }

    /// Ids of the rows whose values satisfy the predicate.
    fn ids(&self, predicate: impl Fn(i64) -> bool) -> Vec<u64> {
        self.all().into_iter().filter(|&(_, value)| predicate(value)).map(|(id, _)| id).collect()
    }

    fn delete(&self, predicate: impl Fn(i64) -> bool) {
        for id in self.ids(predicate) {
            self.rows.remove(0, id).unwrap();
        }
    }

    fn commit(self) -> bool {
        self.lab.step();
        commit(&self.tx)
    }

    fn abort(self) {
        self.lab.step();
        self.tx.rollback();
    }
}

fn all(rows: &Graph) -> Vec<(u64, i64)> {
    let mut edges = Edges::default();
    rows.out_edges(0, &mut edges).unwrap();
    let value = |i| match edges.weight.get(i) {
        quipu::Weight::Int(int) => int,
        other => panic!("the weights are integers, found {other:?}"),
    };
    (0..edges.len()).map(|i| (edges.dst[i], value(i))).collect()
}

fn seen(anomaly: bool, committed: bool) -> Seen {
    match (anomaly, committed) {
        (true, _) => Seen::Anomaly,
        (false, false) => Seen::Conflict,
        (false, true) => Seen::Prevented,
    }
}

/// Two transactions write the same two rows; both must end with the values of one transaction.
pub(crate) fn g0_write_cycle(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    t1.set(1, 11);
    t2.set(1, 12);
    t2.set(2, 22);
    let second = t2.commit();
    t1.set(2, 21);
    let first = t1.commit();
    let whole = [vec![(1, 11), (2, 21)], vec![(1, 12), (2, 22)]].contains(&lab.rows());
    seen(!whole, first && second)
}

/// The writes of a rolled back transaction are never read, neither before nor after the rollback.
pub(crate) fn g1a_aborted_read(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    t1.set(1, 101);
    let before = t2.get(1);
    t1.abort();
    let after = t2.get(1);
    let committed = t2.commit();
    seen(before == 101 || after == 101 || lab.rows()[0] == (1, 101), committed)
}

/// A value that its writer replaced before committing is never read.
pub(crate) fn g1b_intermediate_read(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    t1.set(1, 101);
    let before = t2.get(1);
    t1.set(1, 11);
    let first = t1.commit();
    let after = t2.get(1);
    let second = t2.commit();
    seen(before == 101 || after == 101, first && second)
}

/// If two transactions both commit, at most one of them reads the other's writes.
pub(crate) fn g1c_circular_information_flow(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    t1.set(1, 11);
    t2.set(2, 22);
    let (two, one) = (t1.get(2), t2.get(1));
    let (first, second) = (t1.commit(), t2.commit());
    seen(two == 22 && one == 11, first && second)
}

/// A reader that sees one write of a transaction sees the other too, and continues to see both.
pub(crate) fn otv_observed_transaction_vanishes(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    t1.set(1, 11);
    t1.set(2, 19);
    t2.set(1, 12);
    let first = t1.commit();
    let t3 = lab.begin();
    let one = t3.get(1);
    t2.set(2, 18);
    let two = t3.get(2);
    let second = t2.commit();
    let again = (t3.get(1), t3.get(2));
    let third = t3.commit();
    seen((one, two) != (11, 19) || again != (11, 19), first && second && third)
}

/// Two successive reads by predicates see the same snapshot.
pub(crate) fn pmp_predicate_many_preceders(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    let before = t1.ids(|value| value == 30);
    t2.set(3, 30);
    let second = t2.commit();
    let after = t1.ids(|value| value % 3 == 0);
    let first = t1.commit();
    seen(!before.is_empty() || !after.is_empty(), first && second)
}

/// A delete by a predicate does not miss rows that a concurrent update makes match it.
pub(crate) fn pmp_with_a_write_predicate(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    for (id, value) in t1.all() {
        t1.set(id, value + 10);
    }
    t2.delete(|value| value == 20);
    let (first, second) = (t1.commit(), t2.commit());
    seen(first && second, first && second)
}

/// If two transactions read a row and write a value derived from it, neither update is lost.
pub(crate) fn p4_lost_update(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    let (a, b) = (t1.get(1), t2.get(1));
    t1.set(1, a + 1);
    t2.set(1, b + 1);
    let (first, second) = (t1.commit(), t2.commit());
    let want = 10 + i64::from(first) + i64::from(second);
    seen(lab.rows()[0] != (1, want), first && second)
}

/// Two reads of one transaction see the same snapshot.
pub(crate) fn g_single_read_skew(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    let one = t1.get(1);
    t2.all();
    t2.set(1, 12);
    t2.set(2, 18);
    let second = t2.commit();
    let two = t1.get(2);
    let first = t1.commit();
    seen((one, two) != (10, 20), first && second)
}

/// The same with reads by predicates.
pub(crate) fn g_single_with_a_predicate(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    let fives = t1.ids(|value| value % 5 == 0);
    for id in t2.ids(|value| value == 10) {
        t2.set(id, 12);
    }
    let second = t2.commit();
    let threes = t1.ids(|value| value % 3 == 0);
    let first = t1.commit();
    seen(fives != [1, 2] || !threes.is_empty(), first && second)
}

/// The same where the second read is the predicate of a delete.
pub(crate) fn g_single_with_a_write_predicate(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    t1.get(1);
    t2.all();
    t2.set(1, 12);
    t2.set(2, 18);
    let second = t2.commit();
    t1.delete(|value| value == 20);
    let first = t1.commit();
    seen(first && second, first && second)
}

/// The same where the delete comes between the two writes of the other transaction.
pub(crate) fn g_single_interleaved(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    t1.get(1);
    t2.all();
    t2.set(1, 12);
    t1.delete(|value| value == 20);
    t2.set(2, 18);
    let (first, second) = (t1.commit(), t2.commit());
    seen(first && second, first && second)
}

/// Two transactions read both rows, and each writes a different one.
pub(crate) fn g2_item_write_skew(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    for t in [&t1, &t2] {
        t.get(1);
        t.get(2);
    }
    t1.set(1, 11);
    t2.set(2, 21);
    let (first, second) = (t1.commit(), t2.commit());
    seen(first && second, first && second)
}

/// Two transactions read by a predicate, and each inserts a row that the other should have seen.
pub(crate) fn g2_anti_dependency_cycle(lab: &Lab) -> Seen {
    let (t1, t2) = (lab.begin(), lab.begin());
    t1.ids(|value| value % 3 == 0);
    t2.ids(|value| value % 3 == 0);
    t1.set(3, 30);
    t2.set(4, 42);
    let (first, second) = (t1.commit(), t2.commit());
    seen(first && second, first && second)
}

/// A third transaction sees the second one but not the first, which did not see the second.
pub(crate) fn g2_two_anti_dependency_edges(lab: &Lab) -> Seen {
    let t1 = lab.begin();
    t1.all();
    let t2 = lab.begin();
    let value = t2.get(2);
    t2.set(2, value + 5);
    let second = t2.commit();
    let t3 = lab.begin();
    let rows = t3.all();
    let third = t3.commit();
    t1.set(1, 0);
    let first = t1.commit();
    let all = first && second && third;
    seen(all && rows == [(1, 10), (2, 25)], all)
}

/// From Fekete, O'Neil and O'Neil: a withdrawal and a deposit would be serializable, but a
/// read-only transaction sees the deposit without the withdrawal, which must come first (it was
/// charged for an overdraft).
pub(crate) fn read_only_transaction_anomaly(lab: &Lab) -> Seen {
    let start = lab.begin();
    start.set(1, 0);
    start.set(2, 0);
    assert!(start.commit());
    let (withdrawal, deposit) = (lab.begin(), lab.begin());
    let sum = withdrawal.get(1) + withdrawal.get(2);
    let saved = deposit.get(2);
    deposit.set(2, saved + 20);
    let deposited = deposit.commit();
    let reader = lab.begin();
    let rows = reader.all();
    let read = reader.commit();
    withdrawal.set(1, if sum < 10 { -11 } else { -10 });
    let withdrawn = withdrawal.commit();
    let all = deposited && read && withdrawn;
    seen(all && rows == [(1, 0), (2, 20)] && lab.rows() == [(1, -11), (2, 20)], all)
}

/// Not an anomaly: two writers of different rows that read only their own rows, and a reader of
/// both rows.
pub(crate) fn disjoint_work(lab: &Lab) -> Seen {
    let (t1, t2, t3) = (lab.begin(), lab.begin(), lab.begin());
    let (one, two) = (t1.get(1), t2.get(2));
    t1.set(1, one + 1);
    t2.set(2, two + 1);
    let before = t3.all();
    let (first, second) = (t1.commit(), t2.commit());
    let after = t3.all();
    let third = t3.commit();
    seen(before != after || lab.rows() != [(1, 11), (2, 21)], first && second && third)
}
