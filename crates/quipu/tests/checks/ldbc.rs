//! The ACID tests of the Linked Data Benchmark Council's social network benchmark, with real
//! threads.
//!
//! # How persons become edges
//! A property of a person is an edge of the graph `person`: `(person, field) => value`. A list
//! (such as e-mails or a version history) is stored as out-edges of a vertex of `list`: `(list,
//! position) => element`; an append reads the length and writes after the end. `knows` and `likes`
//! are separate graphs. So most transactions span several graphs with two keyspaces each.
//!
//! # Where the original sleeps
//! Here a client yields, so that the other seven run in the middle of its transaction.
//!
//! # Readers and writers
//! All clients start together and change roles each round. So no reader finishes before the first
//! writer has written, however unevenly the machine schedules its threads.

use super::append::Random;
use super::{commit, int, meet, set, table};
use env::sync::Mutex;
use quipu::{Database, Durability, Edges, Graph, Isolation, Options, Tx};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of concurrent clients, as in the original.
const CLIENTS: u64 = 8;

/// Fields of a person.
const NAME: u64 = 0;
const VERSION: u64 = 1;
const FRIENDS: u64 = 2;
const VALUE: u64 = 3;

/// Half of the clients write and the other half read; they change roles each round.
fn writes(me: u64, round: u64) -> bool {
    (me + round).is_multiple_of(2)
}

/// Result of a test.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    /// Observations that violate the level, as text.
    pub(crate) anomalies: Vec<String>,
}

/// One of the tests: the transactions of each client.
pub(crate) type Test = fn(&Bench, u64) -> Report;

/// All tests by name. Snapshot isolation does not prevent the anomaly of WS.
pub(crate) const TESTS: [(&str, Test); 12] = [
    ("atomicity_c", atomicity_c),
    ("atomicity_rb", atomicity_rb),
    ("g0", g0),
    ("g1a", g1a),
    ("g1b", g1b),
    ("g1c", g1c),
    ("imp", imp),
    ("pmp", pmp),
    ("otv", otv),
    ("fr", fr),
    ("lu", lu),
    ("ws", ws),
];

/// A database on disk with durability `os`.
pub(crate) struct Bench {
    db: Database,
    person: Graph,
    list: Graph,
    knows: Graph,
    likes: Graph,
    level: Isolation,
    committed: AtomicU64,
    aborted: AtomicU64,
    anomalies: Mutex<Vec<String>>,
    _folder: tempfile::TempDir,
}

/// A client's transaction.
struct Client<'a> {
    bench: &'a Bench,
    tx: Tx,
    person: Graph,
    list: Graph,
    knows: Graph,
    likes: Graph,
}

impl Bench {
    pub(crate) fn new(level: Isolation) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { durability: Durability::Os, threads: 2, ..Options::default() };
        let db = Database::open(folder.path().join("db"), options).unwrap();
        let [person, list, knows, likes] =
            ["person", "list", "knows", "likes"].map(|name| table(&db, name));
        Self {
            db,
            person,
            list,
            knows,
            likes,
            level,
            committed: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            anomalies: Mutex::new(Vec::new()),
            _folder: folder,
        }
    }

    fn begin(&self) -> Client<'_> {
        let tx = self.db.transaction(self.level);
        let [person, list, knows, likes] =
            ["person", "list", "knows", "likes"].map(|name| tx.graph(name).unwrap());
        Client { bench: self, tx, person, list, knows, likes }
    }

    /// Runs `client(number, round)` on all clients, with concurrent flushes and compactions.
    fn run(&self, rounds: u64, client: impl Fn(u64, u64) + Sync) {
        let left = AtomicU64::new(CLIENTS);
        let missing = AtomicU64::new(CLIENTS);
        std::thread::scope(|scope| {
            for me in 0..CLIENTS {
                let (client, left, missing) = (&client, &left, &missing);
                scope.spawn(move || {
                    let _gone = Gone(left);
                    meet(missing);
                    (0..rounds).for_each(|round| client(me, round));
                });
            }
            while left.load(Ordering::Acquire) > 0 {
                self.db.compact().unwrap();
                (0..64).for_each(|_| std::thread::yield_now());
            }
        });
    }

    fn found(&self, wrong: bool, what: impl FnOnce() -> String) {
        if wrong {
            self.anomalies.lock().push(what());
        }
    }

    fn report(&self) -> Report {
        let agree = self.db.check(&|_, _| true);
        self.found(agree.is_err(), || format!("check: {:?}", agree.map(drop)));
        Report {
            committed: self.committed.load(Ordering::Relaxed),
            aborted: self.aborted.load(Ordering::Relaxed),
            anomalies: std::mem::take(&mut *self.anomalies.lock()),
        }
    }

    fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }
}

/// Counts a client as gone when it is dropped, even after a panic.
struct Gone<'a>(&'a AtomicU64);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Client<'_> {
    fn get(&self, person: u64, field: u64) -> i64 {
        int(&self.person, person, field)
    }

    fn set(&self, person: u64, field: u64, value: i64) {
        set(&self.person, person, field, value);
    }

    fn append(&self, list: u64, element: i64) {
        let (length, _) = self.list.out_degree(list).unwrap();
        set(&self.list, list, length, element);
    }

    fn pause(&self) {
        std::thread::yield_now();
    }

    fn commit(self) -> bool {
        let done = commit(&self.tx);
        let counter = if done { &self.bench.committed } else { &self.bench.aborted };
        counter.fetch_add(1, Ordering::Relaxed);
        done
    }

    fn abort(self) {
        self.tx.rollback();
        self.bench.aborted.fetch_add(1, Ordering::Relaxed);
    }

    /// Versions of the four persons of the circle.
    fn circle(&self) -> [i64; 4] {
        [1, 2, 3, 4].map(|person| {
            let version = self.get(person, VERSION);
            self.pause();
            version
        })
    }
}

fn elements(list: &Graph, of: u64) -> Vec<quipu::Weight> {
    let mut edges = Edges::default();
    list.out_edges(of, &mut edges).unwrap();
    (0..edges.len()).map(|i| edges.weight.get(i)).collect()
}

/// A person, an acquaintance and an e-mail become visible together or not at all.
pub(crate) fn atomicity_c(bench: &Bench, rounds: u64) -> Report {
    set(&bench.person, 1, NAME, 1);
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        let new = 1000 * (me + 1) + round;
        client.append(1, new as i64);
        client.set(new, NAME, 1);
        client.pause();
        set(&client.knows, 1, new, round as i64);
        client.commit();
    });
    let persons = bench.person.number_of_edges().unwrap() - 1;
    let emails = elements(&bench.list, 1).len() as u64;
    let (knows, _) = bench.knows.out_degree(1).unwrap();
    let known =
        (0..CLIENTS * 1000 + 1000).filter(|&person| bench.knows.in_degree(person).unwrap().0 > 0);
    let counts = [persons, emails, knows, known.count() as u64];
    bench.found(counts.iter().any(|&count| count != bench.committed()), || {
        format!(
            "{} commits, but persons, e-mails, acquaintances, known: {counts:?}",
            bench.committed()
        )
    });
    bench.report()
}

/// Writes of a transaction that decides to roll back are not visible.
pub(crate) fn atomicity_rb(bench: &Bench, rounds: u64) -> Report {
    // Every other person exists already.
    for person in (0..CLIENTS * rounds).step_by(2) {
        set(&bench.person, 100 + person, NAME, 1);
    }
    let before = bench.person.number_of_edges().unwrap();
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        let new = 100 + me * rounds + round;
        client.append(1, new as i64);
        client.pause();
        if client.get(new, NAME) != 0 {
            return client.abort();
        }
        client.set(new, NAME, 1);
        client.commit();
    });
    let persons = bench.person.number_of_edges().unwrap() - before;
    let emails = elements(&bench.list, 1).len() as u64;
    bench.found([persons, emails] != [bench.committed(); 2], || {
        format!("{} commits, but {persons} new persons and {emails} e-mails", bench.committed())
    });
    bench.report()
}

/// Three histories that are always written together have the same entries in the same order.
pub(crate) fn g0(bench: &Bench, rounds: u64) -> Report {
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        for list in [1, 2, 3] {
            client.append(list, (1000 * me + round) as i64);
            client.pause();
        }
        client.commit();
    });
    let [a, b, c] = [1, 2, 3].map(|list| elements(&bench.list, list));
    bench.found(a != b || b != c || a.len() as u64 != bench.committed(), || {
        format!(
            "{} commits, histories of {}, {} and {}",
            bench.committed(),
            a.len(),
            b.len(),
            c.len()
        )
    });
    bench.report()
}

/// No reader sees the even version, whose writer always rolls back.
pub(crate) fn g1a(bench: &Bench, rounds: u64) -> Report {
    set(&bench.person, 1, VERSION, 1);
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        if writes(me, round) {
            client.set(1, VERSION, 2);
            client.pause();
            return client.abort();
        }
        let version = client.get(1, VERSION);
        client.commit();
        bench.found(version % 2 == 0, || format!("read the aborted version {version}"));
    });
    bench.report()
}

/// No reader sees the even version, which its writer replaces before committing.
pub(crate) fn g1b(bench: &Bench, rounds: u64) -> Report {
    set(&bench.person, 1, VERSION, 99);
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        if writes(me, round) {
            client.set(1, VERSION, 2 * round as i64);
            client.pause();
            client.set(1, VERSION, 2 * round as i64 + 1);
            client.commit();
            return;
        }
        let version = client.get(1, VERSION);
        client.commit();
        bench.found(version % 2 == 0, || format!("read the intermediate version {version}"));
    });
    bench.report()
}

/// If two transactions commit, at most one of them reads the other's writes.
pub(crate) fn g1c(bench: &Bench, rounds: u64) -> Report {
    let reads = Mutex::new(std::collections::BTreeMap::new());
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        let id = (1000 * (me + 1) + round) as i64;
        let (mine, other) = if me % 2 == 0 { (1, 2) } else { (2, 1) };
        client.set(mine, VERSION, id);
        client.pause();
        let read = client.get(other, VERSION);
        client.pause();
        if client.commit() {
            reads.lock().insert(id, read);
        }
    });
    let reads = reads.into_inner();
    for (id, read) in &reads {
        bench.found(reads.get(read) == Some(id), || {
            format!("{id} read {read} and {read} read {id}")
        });
    }
    bench.report()
}

/// Two reads of a property in one transaction return the same value.
pub(crate) fn imp(bench: &Bench, rounds: u64) -> Report {
    set(&bench.person, 1, VERSION, 1);
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        let first = client.get(1, VERSION);
        client.pause();
        if writes(me, round) {
            client.set(1, VERSION, first + 1);
            client.commit();
            return;
        }
        let second = client.get(1, VERSION);
        client.commit();
        bench.found(first != second, || format!("read version {first}, then {second}"));
    });
    bench.report()
}

/// Two counts of a neighborhood in one transaction are equal.
pub(crate) fn pmp(bench: &Bench, rounds: u64) -> Report {
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        if writes(me, round) {
            set(&client.likes, 1000 * me + round, 7, 1);
            client.commit();
            return;
        }
        let (first, _) = client.likes.in_degree(7).unwrap();
        client.pause();
        let (second, _) = client.likes.in_degree(7).unwrap();
        client.commit();
        bench.found(first != second, || format!("{first} persons like the post, then {second}"));
    });
    bench.report()
}

/// Writers raise the versions of all four persons of a circle. `judge` gets the two reads of each
/// reader.
fn circle(bench: &Bench, rounds: u64, judge: impl Fn([i64; 4], [i64; 4]) -> bool + Sync) -> Report {
    for person in [1, 2, 3, 4] {
        set(&bench.person, person, VERSION, 0);
        set(&bench.knows, person, person % 4 + 1, 0);
    }
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        if writes(me, round) {
            let mut person = 1;
            loop {
                client.set(person, VERSION, client.get(person, VERSION) + 1);
                client.pause();
                let mut next = Vec::new();
                client.knows.successors(person, &mut next).unwrap();
                person = next[0];
                if person == 1 {
                    break;
                }
            }
            client.commit();
            return;
        }
        let first = client.circle();
        let second = client.circle();
        client.commit();
        bench.found(judge(first, second), || format!("read versions {first:?}, then {second:?}"));
    });
    bench.report()
}

/// A later read of a transaction is never older than an earlier one.
pub(crate) fn otv(bench: &Bench, rounds: u64) -> Report {
    circle(bench, rounds, |first, second| first.iter().max() > second.iter().min())
}

/// A reader always sees all of a transaction or nothing.
pub(crate) fn fr(bench: &Bench, rounds: u64) -> Report {
    circle(bench, rounds, |first, second| first != second || first != [first[0]; 4])
}

/// No increment is lost: the number of friends equals the number of edges.
pub(crate) fn lu(bench: &Bench, rounds: u64) -> Report {
    set(&bench.person, 1, FRIENDS, 0);
    bench.run(rounds, |me, round| {
        let client = bench.begin();
        let friends = client.get(1, FRIENDS);
        set(&client.knows, 1, 1000 * (me + 1) + round, 0);
        client.pause();
        client.set(1, FRIENDS, friends + 1);
        client.commit();
    });
    let friends = int(&bench.person, 1, FRIENDS);
    let (edges, _) = bench.knows.out_degree(1).unwrap();
    bench.found(friends as u64 != edges || edges != bench.committed(), || {
        format!("{} commits, {edges} friends, counted {friends}", bench.committed())
    });
    bench.report()
}

/// Two values may decrease as long as their sum allows it. The sum must never fall below zero.
pub(crate) fn ws(bench: &Bench, rounds: u64) -> Report {
    for pair in 0..rounds {
        set(&bench.person, 2 * pair, VALUE, 70);
        set(&bench.person, 2 * pair + 1, VALUE, 80);
    }
    let bad = AtomicBool::new(false);
    bench.run(rounds, |me, pair| {
        let client = bench.begin();
        let [a, b] = [2 * pair, 2 * pair + 1].map(|person| client.get(person, VALUE));
        client.pause();
        if a + b >= 100 {
            let (person, value) = if me % 2 == 0 { (2 * pair, a) } else { (2 * pair + 1, b) };
            client.set(person, VALUE, value - 100);
            client.pause();
        }
        client.commit();
        // As in the original, one client reads while the others write.
        let seen = bench.begin();
        let sum = Random::pick(me + pair, rounds);
        let sum = seen.get(2 * sum, VALUE) + seen.get(2 * sum + 1, VALUE);
        bad.fetch_or(sum <= 0, Ordering::Relaxed);
        seen.tx.rollback();
    });
    let sums = (0..rounds)
        .map(|pair| int(&bench.person, 2 * pair, VALUE) + int(&bench.person, 2 * pair + 1, VALUE));
    let skewed = sums.filter(|&sum| sum <= 0).count();
    bench.found(skewed > 0 || bad.into_inner(), || format!("{skewed} of {rounds} sums below zero"));
    bench.report()
}
