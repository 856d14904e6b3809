//! Queries end soon after they are stopped, whatever they are doing.

mod common;

use common::engine_of;
use env::{Env, MemoryEnv};
use quipu_session::{Engine, Error, Parameters, QueryResult, Run};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Milliseconds after which each query is stopped.
const TIMEOUTS_MS: [u64; 2] = [50, 250];

/// Most milliseconds of delay in this test, while other tests run. The promise is 50 ms.
const LATE_MS_MAX: u64 = 450;

/// Scripts that take seconds in one or two steps.
const LONG: &[&str] = &[
    "?[x] := x = length(sorted(int_range(16000000)))",
    "?[x] := l = reverse(int_range(9000000)), x = length(sorted(append(l, 7)))",
    "?[x] := l = int_range(9000000), x = length(union(l, reverse(l)))",
    "?[x] := l = int_range(9000000), x = length(difference(l, int_range(0, 9000000, 2)))",
    "?[x] := x = length(windows(int_range(4000000), 4))",
];

/// Queries of many rows in memory. A fast machine may finish some of them in time.
const OF_MANY: &[&str] = &[
    "?[a, b] := *_all{a, b} :order b, -a",
    "?[a, t] := *_all{a, b}, t = concat('text ', to_string(b)) :order t",
    "?[b, collect(a)] := *_all{a, b}",
    "?[count(a)] := *_all{a, b}, *_all{a: c, b}, c > a",
    "?[a, c] := *_all{a, b}, c = b * 2",
    "?[a, b] := *_all{a, b} :replace kept {a: Int => b: Float}",
];

#[track_caller]
fn check(script: &str, ended: Result<QueryResult, Error>, took_us: u64, timeout_ms: u64) {
    let took_ms = took_us / 1000;
    match ended {
        Err(Error::Stopped(_)) | Ok(_) => {}
        Err(error) => panic!("{script}: {error}"),
    }
    assert!(took_ms < timeout_ms + LATE_MS_MAX, "{took_ms} ms of {timeout_ms}: {script}");
}

fn engine() -> Engine {
    engine_of(2, 8 << 30)
}

/// Found by an audit.
#[test]
fn functions_of_long_lists_end_soon_after_their_timeout() {
    let (clock, engine) = (MemoryEnv::new(1), engine());
    let parameters = Parameters::new();
    for (script, timeout_ms) in LONG.iter().zip(TIMEOUTS_MS.into_iter().cycle()) {
        let timeout_s = Some(timeout_ms as f64 / 1000.0);
        let run = Run { timeout_s, ..Run::new(&parameters) };
        let began_us = clock.monotonic_us();
        let ended = engine.run_with(script, &run);
        let took_us = clock.monotonic_us() - began_us;
        assert!(matches!(ended, Err(Error::Stopped(_))), "{script} took {took_us} us");
        check(script, ended, took_us, timeout_ms);
    }
}

/// Found by an audit. The rows exist before the timeout starts.
#[test]
fn sorts_sets_and_indexes_of_many_rows_end_soon_after_their_timeout() {
    let (clock, engine) = (MemoryEnv::new(1), engine());
    let parameters = Parameters::new();
    let prepare = "
        {?[a, b] := a in int_range(800000), b = (a * 7919) % 1000003 - 0.5 :create _all {a, b}}
        {?[x] <- [[1]] :create _ready {x}}
        %debug _ready";
    for query in OF_MANY {
        for timeout_ms in TIMEOUTS_MS {
            let timeout = timeout_ms as f64 / 1000.0;
            let script = format!("{prepare} {{{query} :timeout {timeout}}}");
            let began_us = AtomicU64::new(0);
            let debug = |_: &str, _: &QueryResult| began_us.store(clock.monotonic_us(), Relaxed);
            let run = Run { debug: Some(&debug), ..Run::new(&parameters) };
            let ended = engine.run_with(&script, &run);
            let took_us = clock.monotonic_us() - began_us.load(Relaxed);
            check(query, ended, took_us, timeout_ms);
        }
    }
}

/// Found by an audit: a block's timeout also applied to later blocks.
#[test]
fn a_timeout_holds_for_its_own_block() {
    let engine = engine();
    let parameters = Parameters::new();
    let run = |script: &str, timeout_s: Option<f64>| {
        engine.run_with(script, &Run { timeout_s, ..Run::new(&parameters) })
    };
    let waits = "?[x] <- [[2]] :sleep 0.3";
    let done = run(&format!("{{?[x] <- [[1]] :timeout 0.1}} {{{waits}}}"), None);
    assert_eq!(done.unwrap().rows, 1, "a time that is over is not another's");
    let made = run(&format!("{{?[x] <- [[1]] :create a {{x}} :timeout 0.1}} {{{waits}}}"), None);
    assert_eq!(made.unwrap().rows, 1, "nor that of a change");
    let stopped = run("{?[x] <- [[1]] :timeout 9} {?[x] <- [[2]] :sleep 9 :timeout 0.1}", None);
    assert!(matches!(stopped, Err(Error::Stopped(_))), "its own holds");
    let stopped = run(
        "{?[x] <- [[1]] :create b {x}} {?[x] := x in int_range(9000000) :put b {x} :timeout 0.1}",
        None,
    );
    assert!(matches!(stopped, Err(Error::Stopped(_))), "what it writes is timed, too");
    // Triggers share the timeout of their change.
    run(":create log {x: Int}", None).unwrap();
    run(":create c {x: Int}", None).unwrap();
    run("::set_triggers c on put {?[x] := _new[x] :sleep 9 :timeout 0 :put log {x}}", None)
        .unwrap();
    let stopped = run("?[x] <- [[1]] :put c {x} :timeout 0.2", None);
    assert!(matches!(stopped, Err(Error::Stopped(_))), "a trigger is timed with its change");
    let stopped = run("{?[x] <- [[1]] :timeout 0} {?[x] <- [[2]] :sleep 9}", Some(0.2));
    assert!(matches!(stopped, Err(Error::Stopped(_))), "the caller's holds for all");
}

/// Found by an audit: creating an index did not stop.
#[test]
fn an_index_that_is_stopped_is_not_there_and_can_be_made_again() {
    let engine = engine();
    let parameters = Parameters::new();
    let rows = "?[a, b] := a in int_range(300000), b = a % 1009 :create t {a: Int => b: Int}";
    engine.run(rows, &parameters).unwrap();
    let create = "::index create t:by_b {b}";
    let asked = AtomicU64::new(0);
    for patience in [1, 3, 6] {
        asked.store(0, Relaxed);
        let go_on = || asked.fetch_add(1, Relaxed) < patience;
        let run = Run { go_on: Some(&go_on), ..Run::new(&parameters) };
        let ended = engine.run_with(create, &run);
        assert!(matches!(ended, Err(Error::Stopped(_))), "asked {patience} times");
        assert_eq!(engine.run("::indices t", &parameters).unwrap().rows, 0);
    }
    let late = engine.run_with(create, &Run { timeout_s: Some(0.01), ..Run::new(&parameters) });
    assert!(matches!(late, Err(Error::Stopped(_))), "its timeout holds");
    engine.run(create, &parameters).unwrap();
    assert_eq!(engine.run("::indices t", &parameters).unwrap().rows, 1);
    let found = engine.run("?[count(a)] := *t{a, b: 7}", &parameters).unwrap();
    assert_eq!(found.row(0), [model::Value::Int(298)]);
}

/// The keys are loaded in pieces then.
#[test]
fn an_index_of_more_rows_than_memory_holds_is_whole() {
    let engine = engine_of(2, 8 << 20);
    let parameters = Parameters::new();
    engine.run(":create t {a: Int => b: Int}", &parameters).unwrap();
    for from in (0..300_000).step_by(20_000) {
        let rows = format!(
            "?[a, b] := a in int_range({from}, {}), b = (a * 7919) % 1009 :put t {{a => b}}",
            from + 20_000
        );
        engine.run(&rows, &parameters).unwrap();
    }
    engine.run("::index create t:by_b {b}", &parameters).unwrap();
    let (sound, problems) = engine.check_indexes().unwrap();
    assert_eq!((sound.len(), problems.len()), (1, 0));
    let rows = sound.first().map(|index| index.rows);
    assert_eq!(rows, Some(300_000));
}

/// A temporal scan passes all versions of a key before it can pass on a row.
#[test]
fn what_held_at_a_time_is_looked_for_no_longer_than_it_may() {
    let engine = engine();
    let parameters = Parameters::new();
    let rows = "?[k, at] := k = 1, n in int_range(100000), at = validity(1000 + n) :create h {k: Int, at: Validity}";
    engine.run(rows, &parameters).unwrap();
    let asked = AtomicU64::new(0);
    let go_on = || asked.fetch_add(1, Relaxed) < 8;
    let run = Run { go_on: Some(&go_on), ..Run::new(&parameters) };
    let ended = engine.run_with("?[k] := k in [1, 2], not *h{k @ 5}", &run);
    assert!(matches!(ended, Err(Error::Stopped(_))), "asked {} times", asked.load(Relaxed));
}
