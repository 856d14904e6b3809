//! Queries between changes: what an engine caches across queries is patched or dropped, never
//! stale.

use crate::rows::run;
use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::Value;
use proptest::prelude::*;
use quipu_session::Engine;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const VALUES: i64 = 60;

/// Some need many lookups, so that tries are built; some bind columns that no key begins with; one
/// is answered by an index.
const QUERIES: [&str; 9] = [
    "?[a, b, c] := a in int_range(70), *f[a, b, c]",
    "?[a, b, d] := a in int_range(70), *e[a, b], *f[b, _, d]",
    "?[count(a)] := *e[a, b], *e[b, c], *e[a, c]",
    "?[b, a] := b in int_range(70), *f{a, b}",
    // The index by its own name; its columns are numbered in reverse.
    "?[a, b] := a in int_range(70), *f:by_b{a, b}",
    "?[a] := a in int_range(70), not *e{a}",
    "?[a, t] := a in int_range(70), *texts[a, t]",
    "?[c, a] := c in int_range(10), *f{a, c}",
    "?[count(a), count_unique(c)] := a in int_range(70), *e[a, b], *e[b, c]",
];

#[derive(Clone, Debug)]
enum Step {
    Ask(usize),
    /// Puts or removes edges.
    Edges(Vec<(i64, i64)>, bool),
    Put(Vec<(i64, i64, i64)>),
    Update(i64, i64),
    Remove(i64),
    /// A string of this length: from seven letters on it does not fit a word.
    Text(i64, usize),
    /// More changed rows than the store lists.
    Many(i64),
    Replace(i64),
    Flush,
    Compact,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pair = (0..VALUES, 0..VALUES);
    let triple = (0..VALUES + 8, 0..VALUES, 0..9_i64);
    let step = prop_oneof![
        12 => (0..QUERIES.len()).prop_map(Step::Ask),
        4 => (prop::collection::vec(pair, 1..4), any::<bool>()).prop_map(|(e, put)| Step::Edges(e, put)),
        3 => prop::collection::vec(triple, 1..4).prop_map(Step::Put),
        2 => (0..VALUES, 0..9_i64).prop_map(|(a, c)| Step::Update(a, c)),
        2 => (0..VALUES).prop_map(Step::Remove),
        3 => (0..VALUES, prop::sample::select(vec![0, 3, 6, 6, 6, 9])).prop_map(|(a, n)| Step::Text(a, n)),
        1 => (0..9_i64).prop_map(Step::Many),
        1 => (1..VALUES).prop_map(Step::Replace),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ];
    prop::collection::vec(step, 10..60)
}

fn list(rows: impl IntoIterator<Item = Vec<i64>>) -> String {
    let rows: Vec<String> = rows.into_iter().map(|row| format!("{row:?}")).collect();
    format!("[{}]", rows.join(", "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn an_engine_that_keeps_tries_answers_like_one_that_has_none(steps in steps()) {
        let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(1));
        let options = KvOptions { read_flush_rows: 3000, ..KvOptions::default() };
        let store: Arc<dyn store::Store> =
            Arc::new(Kv::open(Arc::clone(&env), Path::new("/memory"), options).unwrap());
        let new = || Engine::new(Arc::clone(&store), Arc::clone(&env), 1 << 28);
        let engine = new();
        run(&engine, "?[a, b] := a in int_range(60), x in int_range(6), b = (a * 7 + x * x) % 60 :create e {a: Int, b: Int}");
        run(&engine, "?[a, b, c] := a in int_range(60), b = a % 13, c = a % 9 :create f {a: Int => b: Int, c: Int}");
        run(&engine, "::index create f:by_b {b}");
        run(&engine, "?[a, t] := a in int_range(60), t = 'short' :create texts {a: Int => t: String}");
        for step in steps {
            match step {
                Step::Ask(query) => {
                    let fresh = run(&new(), QUERIES[query]);
                    prop_assert_eq!(run(&engine, QUERIES[query]), fresh, "{}", QUERIES[query]);
                }
                Step::Edges(edges, put) => {
                    let rows = list(edges.iter().map(|&(a, b)| vec![a, b]));
                    let change = if put { "put" } else { "rm" };
                    run(&engine, &format!("?[a, b] <- {rows} :{change} e {{a, b}}"));
                }
                Step::Put(rows) => {
                    let rows = list(rows.iter().map(|&(a, b, c)| vec![a, b, c]));
                    run(&engine, &format!("?[a, b, c] <- {rows} :put f {{a => b, c}}"));
                }
                Step::Update(a, c) => {
                    // Updates require an existing row.
                    run(&engine, &format!("?[a, c] := a = {a}, *f{{a}}, c = {c} :update f {{a => c}}"));
                }
                Step::Remove(a) => {
                    run(&engine, &format!("?[a] <- [[{a}]] :rm f {{a}}"));
                }
                Step::Text(a, letters) => {
                    let text = "x".repeat(letters);
                    run(&engine, &format!("?[a, t] <- [[{a}, '{text}']] :put texts {{a => t}}"));
                }
                Step::Many(c) => {
                    let script = format!("?[a, b, c] := a in int_range(100, 5100), b = a % 70, c = {c} :put f {{a => b, c}}");
                    run(&engine, &script);
                    run(&engine, "?[a] := a in int_range(100, 5100) :rm f {a}");
                }
                Step::Replace(edges) => {
                    run(&engine, &format!("?[a, b] := a in int_range({edges}), b = (a + 1) % 60 :replace e {{a: Int, b: Int}}"));
                }
                Step::Flush => store.flush().unwrap(),
                Step::Compact => store.compact().unwrap(),
            }
        }
        for query in QUERIES {
            prop_assert_eq!(run(&engine, query), run(&new(), query), "{}", query);
        }
    }
}

/// Sets a flag when dropped.
struct Tell<'a>(&'a AtomicBool);

impl Drop for Tell<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Each commit moves an amount from one row to another, so the sum is constant in each snapshot,
/// and wrong in a mixture of two.
#[test]
#[allow(clippy::disallowed_methods, reason = "the threads are the test's own")]
fn queries_beside_a_writer_see_one_moment_each() {
    const ROWS: i64 = 400;
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(2));
    let options = KvOptions { read_flush_rows: 3000, ..KvOptions::default() };
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), options).unwrap();
    let engine = Engine::new(Arc::new(store), env, 1 << 28);
    let create = format!("?[k, v] := k in int_range({ROWS}), v = 0 :create r {{k: Int => v: Int}}");
    run(&engine, &create);
    let sum = format!("?[sum(v), count(k)] := k in int_range({ROWS}), *r[k, v]");
    let (is_over, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let read = || {
            while !is_over.load(Ordering::Relaxed) {
                let found = run(&engine, &sum);
                assert_eq!(found, [[Value::Float(0.0), Value::Int(ROWS)]]);
                asked.fetch_add(1, Ordering::Relaxed);
            }
        };
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(read)).collect();
        // Also where this thread panics.
        let told = Tell(&is_over);
        let mut i = 0;
        while i < 600 || asked.load(Ordering::Relaxed) < 300 {
            i += 1;
            let (from, to) = (i * 7 % ROWS, (i * 11 + 1) % ROWS);
            if from != to {
                let moved = "?[k, v] := moved[k, d], *r[k, old], v = old + d :put r {k => v}";
                run(&engine, &format!("moved[k, d] <- [[{from}, {}], [{to}, {i}]] {moved}", -i));
            }
            if readers.iter().any(|reader| reader.is_finished()) {
                break; // after a panic
            }
        }
        drop(told);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
