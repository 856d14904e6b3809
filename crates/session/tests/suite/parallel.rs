//! Parallel execution gives the same results as serial execution.

use crate::common::engine_of;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters, Run};
use std::collections::BTreeSet;

/// An engine with this many threads, whose workers help after 16 rows.
fn engine(threads: usize, memory_bytes_max: u64) -> Engine {
    let engine = engine_of(threads, memory_bytes_max);
    engine.set_parallel_rows(16);
    engine
}

/// Headers and rows, or the error, as a string.
fn answer(engine: &Engine, script: &str) -> String {
    match engine.run(script, &Parameters::new()) {
        Ok(output) => {
            let rows: Vec<String> =
                (0..output.rows).map(|row| format!("{:?}", output.row(row))).collect();
            format!("{}\n{}", output.headers.join(" "), rows.join("\n"))
        }
        Err(error) => error.render(script),
    }
}

fn load(engine: &Engine, name: &str, rows: &BTreeSet<(i64, i64)>) {
    let rows: Vec<String> =
        rows.iter().map(|(a, b)| format!("[{a}, {b}, {}]", (a * 7 + b) as f64 / 3.0)).collect();
    let rows = rows.join(", ");
    let script = format!("?[a, b, w] <- [{rows}] :create {name} {{a: Int, b: Int => w: Float}}");
    engine.run(&script, &Parameters::new()).unwrap();
}

fn edges(of: std::ops::Range<usize>) -> impl Strategy<Value = BTreeSet<(i64, i64)>> {
    prop::collection::btree_set((-5_i64..25, -5_i64..25), of)
}

/// Queries: sets, counts, sums of integers, minima and maxima, recursion, meet aggregates,
/// negation, cycles, ranges, expressions, lists, several definitions, temporary relations.
const QUESTIONS: &[&str] = &[
    "?[a, b] := *e[a, b, _]",
    "?[c] := *e[a, b, _], *e[b, c, _]",
    "?[a, c] := *e[a, b, _], *f[b, c, _]",
    "?[count(a)] := *e[a, b, _]",
    "?[a, count(b)] := *e[a, b, _]",
    "?[count(a)] := *e[a, b, _], *e[b, c, _], *f[c, d, _]",
    "?[count(a)] := *e[a, b, _], *e[b, c, _], *e[a, c, _]",
    "?[a, sum(b), min(c), max(c), count(c)] := *e[a, b, _], *f[b, c, _]",
    "?[mean(b)] := *e[a, b, _], *f[b, c, _]",
    "?[b, collect(a)] := *e[a, b, _], a < 2",
    "?[count_unique(c)] := *e[a, b, _], *f[b, c, _]",
    "t[a, b] := *e[a, b, _] t[a, c] := t[a, b], *e[b, c, _] ?[count(a)] := t[a, b]",
    "t[b] := *e[0, b, _] t[c] := t[b], *e[b, c, _] ?[b] := t[b]",
    "d[b, min(n)] := b = 0, n = 0 d[c, min(n)] := d[b, m], *e[b, c, _], n = m + 1 ?[b, n] := d[b, n]",
    "?[a, c] := *e[a, b, _], *e[b, c, _], not *e[a, c, _]",
    "?[a, x] := *e[a, b, _], *f[b, c, _], x = a * 100 + c, x > 50",
    "?[a, x] := *e[a, b, _], x in [a, b, a + b]",
    "?[a, c] := *e[a, b, _], *e[b, c, _] or *f[a, c, _]",
    "h[a, b] <- [[1, 2], [2, 3], [3, 1]] ?[c] := h[a, b], *e[b, c, _], *f[c, d, _]",
    "?[a, c] := *e[a, b, _], *f[b, c, _] :order -c, a :limit 7",
    "?[a, c] := *e[a, b, _], *f[b, c, _] :limit 3",
    "?[max(w)] := *e[a, b, w], *f[b, c, _]",
    "?[a, x] := *e[a, b, _], *f[b, c, _], x = 1 / if(a == 7 && c == 7, 'x', 1)",
    "u[a] := *e[a, _, _] u[b] := *f[_, b, _] ?[a, b] := u[a], u[b], a < b",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn several_threads_answer_what_one_does(e in edges(40..260), f in edges(0..120)) {
        let engines = [1, 4].map(|threads| engine(threads, 1 << 30));
        for engine in &engines {
            load(engine, "e", &e);
            load(engine, "f", &f);
        }
        for question in QUESTIONS {
            let [one, four] = [0, 1].map(|i| answer(&engines[i], question));
            prop_assert_eq!(one, four, "{}", question);
        }
        prop_assert_eq!(engines[0].times_parallel(), 0);
        prop_assert!(engines[1].times_parallel() > 0);
    }
}

fn grid(side: i64) -> BTreeSet<(i64, i64)> {
    (0..side).flat_map(|a| (0..side).map(move |b| (a, b))).collect()
}

#[test]
fn a_sum_of_fractions_is_the_same_each_time() {
    let engine = engine(3, 1 << 30);
    load(&engine, "e", &grid(60));
    let ask = || answer(&engine, "?[sum(w), mean(w)] := *e[a, b, w], *e[b, c, _]");
    let first = ask();
    let helped = engine.times_parallel();
    assert!(helped > 0);
    for _ in 0..20 {
        assert_eq!(ask(), first);
    }
    assert!(engine.times_parallel() > helped);
}

#[test]
fn an_error_in_one_thread_ends_the_query_and_gives_its_helpers_back() {
    let engine = engine(4, 1 << 30);
    load(&engine, "e", &grid(40));
    let wrong = "?[x] := *e[a, b, _], *e[b, c, _], x = 1 / if(a == 31 && c == 17, 'x', 1)";
    for _ in 0..3 {
        let found = answer(&engine, wrong);
        assert!(found.starts_with("div: expected numbers, found a String"), "{found}");
    }
    let helped = engine.times_parallel();
    answer(&engine, "?[count(a)] := *e[a, b, _], *e[b, c, _], *e[c, d, _]");
    assert!(engine.times_parallel() > helped, "the workers are still reserved");
}

#[test]
fn threads_stop_when_their_query_is_told_to() {
    let engine = engine(4, 1 << 30);
    load(&engine, "e", &grid(60));
    let endless = "?[count(a)] := *e[a, b, _], *e[c, d, _], *e[x, y, _], a + c + x < -1";
    let parameters = Parameters::new();
    let run = Run { timeout_s: Some(0.05), ..Run::new(&parameters) };
    let error = engine.run_with(endless, &run).unwrap_err();
    assert!(error.render(endless).contains("timeout"), "{}", error.render(endless));
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let go_on = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 200;
    let run = Run { go_on: Some(&go_on), ..Run::new(&parameters) };
    let error = engine.run_with(endless, &run).unwrap_err();
    assert!(error.render(endless).contains("interrupted"), "{}", error.render(endless));
}

#[test]
fn what_all_threads_hold_is_limited() {
    let engine = engine(4, 4 << 20);
    load(&engine, "e", &grid(70));
    let large = "p[a, b, c, d] := *e[a, b, _], *e[c, d, _] ?[count(a)] := p[a, b, c, d]";
    let error = engine.run(large, &Parameters::new()).unwrap_err();
    assert!(
        error.render(large).contains("more than its limit of 4194304"),
        "{}",
        error.render(large)
    );
}

#[test]
fn many_searches_run_on_all_threads_and_find_the_same() {
    let [one, two] = [1, 2].map(|threads| {
        let engine = engine_of(threads, 1 << 30);
        let run = |script: &str| engine.run(script, &Parameters::new()).unwrap();
        run("?[k, v, text] := k in int_range(600), \
             v = vec([k % 7, k % 11, k % 13]), text = concat('w', to_string(k % 50), ' w', to_string(k % 9)) \
             :create doc {k: Int => v: <F32; 3>, text: String}");
        run("::hnsw create doc:near {dim: 3, fields: [v]}");
        run("::fts create doc:words {extractor: text, tokenizer: Simple, filters: [Lowercase]}");
        engine
    });
    let near = "?[q, k, d] := *doc{k: q, v}, ~doc:near{k | query: v, k: 3, bind_distance: d}";
    let words = "?[q, k, s] := q in int_range(300), t = concat('w', to_string(q % 50)), \
                 ~doc:words{k | query: t, k: 4, bind_score: s}";
    for (number, script) in (1..).zip([near, words]) {
        assert_eq!(answer(&one, script), answer(&two, script));
        assert_eq!((one.times_parallel(), two.times_parallel()), (0, number), "{script}");
    }
    // A few searches are not worth a second thread.
    answer(&two, "?[q, k] := q in int_range(20), *doc{k: q, v}, ~doc:near{k | query: v, k: 3}");
    assert_eq!(two.times_parallel(), 2);
}
