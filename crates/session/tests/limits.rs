//! The memory of a query stays within its limit, whatever the size of one value, batch or
//! expression, as counted by the allocator.

#[path = "../../corruption/tests/capped/mod.rs"]
mod capped;

use capped::within;
use env::MemoryEnv;
use env::sync::{Mutex, MutexGuard};
use function::Failure;
use kv::{Kv, KvOptions};
use model::Value;
use quipu_session::{Engine, Error, FixedRule, Parameters, QueryResult, RuleCall};
use std::path::Path;
use std::sync::Arc;
use store::Store as _;

/// Memory limit of a query.
const LIMIT: u64 = 16 << 20;

/// Additional memory: batches of the store in flight, blocks, parsed text.
const SLACK: u64 = 12 << 20;

/// The allocator counts for the whole process, so one test runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock()
}

fn engine(threads: usize) -> (Engine, Arc<Kv>) {
    let (store, env) = store(threads);
    (Engine::new(Arc::clone(&store) as _, env, LIMIT), store)
}

fn store(threads: usize) -> (Arc<Kv>, Arc<dyn env::Env>) {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(threads));
    let options = KvOptions {
        memtable_bytes: 1 << 20,
        cache_bytes: 1 << 20,
        // Files are in memory, too, so none is written during a query.
        auto_compaction: false,
        ..KvOptions::default()
    };
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), options).unwrap();
    (Arc::new(store), env)
}

/// A string that does not compress well.
fn text(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut letters = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (b'a' + (state % 26) as u8) as char
    };
    (0..bytes).map(|_| letters()).collect()
}

/// An engine with a relation of strings of about this length.
fn with_texts(threads: usize, rows: u64, bytes: usize) -> Engine {
    let (engine, store) = engine(threads);
    engine.run(":create texts {k: Int => v: String}", &Parameters::new()).unwrap();
    let per_call = (4 << 20) / bytes as u64 + 1;
    for first in (0..rows).step_by(per_call as usize) {
        let row = |k: u64| Value::List(vec![Value::Int(k as i64), Value::Str(text(k, bytes))]);
        let data = (first..rows.min(first + per_call)).map(row).collect();
        let parameters = Parameters::from([("rows".to_owned(), Value::List(data))]);
        engine.run("?[k, v] <- $rows :put texts {k => v}", &parameters).unwrap();
    }
    store.compact().unwrap();
    engine
}

fn int(output: &QueryResult) -> i64 {
    match output.value(0, 0) {
        Value::Int(int) => int,
        other => panic!("{other}"),
    }
}

/// Runs a script, and fails if it holds more than a query may.
#[track_caller]
fn run(engine: &Engine, script: &str, parameters: &Parameters) -> Result<QueryResult, Error> {
    within((LIMIT + SLACK) as usize, script, || engine.run(script, parameters))
}

#[track_caller]
fn check(engine: &Engine, script: &str, parameters: &Parameters, want: i64) {
    match run(engine, script, parameters) {
        Ok(output) => assert_eq!(int(&output), want, "{script}"),
        Err(error) => panic!("{script}: {error}"),
    }
}

#[track_caller]
fn check_limit(engine: &Engine, script: &str, parameters: &Parameters) {
    match run(engine, script, parameters) {
        Err(Error::Limit(_)) => {}
        Err(error) => panic!("{script}: {error}"),
        Ok(output) => panic!("{script}: {} rows", output.rows),
    }
}

fn long(bytes: usize) -> Parameters {
    Parameters::from([("s".to_owned(), Value::Str(text(7, bytes)))])
}

#[test]
fn a_value_on_the_way_to_a_small_one_is_gone_when_that_is_there() {
    let _alone = alone();
    let (engine, _) = engine(1);
    let s = long(4 << 20);
    let script = "?[count(w), sum(n)] := w in int_range(300), n = length(concat($s, to_string(w)))";
    check(&engine, script, &s, 300);
    let script =
        "?[count(w)] := w in int_range(300), t = concat($s, to_string(w)), n = length(t), n > 0";
    check(&engine, script, &s, 300);
    let script = "?[count(w)] := w in int_range(300), ends_with(concat($s, to_string(w)), '7')";
    check(&engine, script, &s, 30);
    let script =
        "?[count(w)] := w in int_range(100), l = int_range(w, w + 100000), length(l) == 100000";
    check(&engine, script, &s, 100);
    let script = "?[count(x)] := w in int_range(50), x in int_range(w, w + 100000)";
    check(&engine, script, &s, 5_000_000);
}

#[test]
fn a_known_value_that_is_needed_for_a_small_one_is_gone_when_that_is_there() {
    let _alone = alone();
    let (engine, _) = engine(1);
    let calls: Vec<String> =
        (0..20).map(|i| format!("length(int_range({}))", 250_000 + i)).collect();
    let script = format!("?[x] := x = {}", calls.join(" + "));
    check(&engine, &script, &Parameters::new(), 20 * 250_000 + 190);
}

#[test]
fn what_does_not_fit_is_a_limit_before_it_is_made() {
    let _alone = alone();
    let (engine, _) = engine(1);
    let s = long(4 << 20);
    for script in [
        "?[x] := x = length(int_range(16777216))",
        "?[x] := w in [1, 2, 3], x = length(int_range(16777216 - w))",
        "?[x] := x = length(chars($s))",
        "?[x] := x = length($s ++ $s ++ $s ++ $s)",
        "?[x] := w in [1], x = length(concat($s, $s, $s, to_string(w), $s))",
        "?[x] := x = length(windows(int_range(100000), 100))",
        "?[x] := x = length(regex_replace_all($s, 'a', 'a long text in the place of a short one'))",
        "?[x] := x = length(regex_extract($s, '.'))",
        "?[x] := x = length(rand_vec(16000000))",
        "?[x] := x = length(json([$s, $s, $s, $s]))",
        "?[collect(t)] := w in int_range(8000), t = $s",
        "?[collect(t)] := w in int_range(200), t = concat($s, to_string(w))",
        "?[unique(t)] := w in int_range(200), t = concat($s, to_string(w))",
        "?[t] := w in int_range(200), t = concat($s, to_string(w))",
    ] {
        check_limit(&engine, script, &s);
    }
}

#[test]
fn stored_texts_are_measured_in_less_memory_than_they_take() {
    let _alone = alone();
    let engine = with_texts(1, 200, 500_000);
    let none = Parameters::new();
    let script = "?[count(k), sum(n)] := *texts{k, v}, n = length(v)";
    check(&engine, script, &none, 200);
    let script = "?[count(k)] := *texts{k, v}, length(v) == 500000";
    check(&engine, script, &none, 200);
    let script = "?[count(k)] := k in int_range(200), *texts{k, v}, length(v) == 500000";
    check(&engine, script, &none, 200);
    let script = "?[max(k)] := *texts{k, v}, *texts{k, v: w}, v == w";
    check(&engine, script, &none, 199);
}

#[test]
fn an_item_of_a_long_list_takes_the_memory_of_the_item() {
    let _alone = alone();
    let (store, env) = store(1);
    let writer = Engine::new(Arc::clone(&store) as _, Arc::clone(&env), 1 << 30);
    // A null takes a byte stored, and as much as any value in memory.
    let list = |items: usize| {
        let nulls = (1..items).map(|_| Value::Null);
        Value::List([Value::Int(7)].into_iter().chain(nulls).chain([Value::Int(9)]).collect())
    };
    writer.run(":create lists {k: Int => l: [Any?]}", &Parameters::new()).unwrap();
    for k in 0..3 {
        let parameters = Parameters::from([("l".to_owned(), list(1_000_000))]);
        let script = format!("?[k, l] <- [[{k}, $l]] :put lists {{k => l}}");
        writer.run(&script, &parameters).unwrap();
    }
    let engine = Engine::new(store as _, env, LIMIT);
    let none = Parameters::new();
    for (item, want) in [
        ("first(l)", 7),
        ("last(l)", 9),
        ("get(l, 0)", 7),
        ("get(l, -1)", 9),
        ("maybe_get(l, 1000000)", 9),
        ("coalesce(maybe_get(l, 1000001), 2)", 2),
        ("coalesce(get(l, 5), 1)", 1),
    ] {
        check(&engine, &format!("?[max(x)] := *lists{{l}}, x = {item}"), &none, want);
        check(&engine, &format!("?[count(k)] := *lists{{k, l}}, {item} == {want}"), &none, 3);
    }
    // A copy of the parameter does not fit beside it.
    let parameter = Parameters::from([("l".to_owned(), list(300_000))]);
    let script = "?[max(x)] := w in int_range(300), x = coalesce(get($l, w), 0)";
    check(&engine, script, &parameter, 7);
}

#[test]
fn few_groups_of_many_long_texts_take_the_memory_of_the_groups() {
    let _alone = alone();
    for threads in [1, 2] {
        let (engine, store) = engine(threads);
        engine.set_parallel_rows(16);
        engine.run(":create texts {k: Int => v: String, w: String}", &Parameters::new()).unwrap();
        for first in (0..6000).step_by(100) {
            let value = |k: i64, of: i64| Value::Str(text((k % of) as u64, 10_000));
            let row = |k| Value::List(vec![Value::Int(k), value(k, 3), value(k, 5)]);
            let data = (first..first + 100).map(row).collect();
            let parameters = Parameters::from([("rows".to_owned(), Value::List(data))]);
            engine.run("?[k, v, w] <- $rows :put texts {k => v, w}", &parameters).unwrap();
        }
        store.compact().unwrap();
        let none = Parameters::new();
        check(&engine, "g[v, count(k)] := *texts{k, v} ?[max(n)] := g[v, n]", &none, 2000);
        check(&engine, "g[v, w, count(k)] := *texts{k, v, w} ?[max(n)] := g[v, w, n]", &none, 400);
        check(&engine, "?[count_unique(w)] := *texts{w}", &none, 5);
        let script = "?[count(k), min(v), max(w)] := *texts{k, v, w}";
        check(&engine, script, &none, 6000);
    }
}

#[test]
fn a_walk_without_end_is_a_limit() {
    let _alone = alone();
    let (engine, _) = engine(1);
    let script = "e[a, b] <- [[1, 2], [2, 1]] n[a] <- [[1], [2]] s[a] <- [[1]]
        ?[i, s, p] <~ RandomWalk(e[a, b], n[a], s[a], steps: 100000000)";
    check_limit(&engine, script, &Parameters::new());
}

/// A rule that returns long rows, one by one, without end.
struct Endless;

impl FixedRule for Endless {
    fn columns(&self) -> usize {
        2
    }

    fn run(&self, call: &RuleCall<'_>) -> Result<Vec<Vec<Value>>, Failure> {
        for number in 0.. {
            call.add(vec![Value::Int(number), Value::Str(text(number as u64, 10_000))])?;
        }
        Ok(Vec::new())
    }
}

#[test]
fn rows_of_a_rule_of_the_programs_are_counted_while_it_gives_them() {
    let _alone = alone();
    let (engine, _) = engine(1);
    engine.register_fixed_rule("Endless", Arc::new(Endless)).unwrap();
    check_limit(&engine, "?[a, b] <~ Endless()", &Parameters::new());
}
