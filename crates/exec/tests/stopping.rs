//! Queries end soon after they are told to, whatever they are about.

mod common;

use common::engine_of;
use env::{Env, MemoryEnv};
use quipu_exec::{Engine, Error, Output, Parameters, Run};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Milliseconds after which each is told to stop: in whatever it does then.
const TIMEOUTS_MS: [u64; 2] = [50, 250];

/// How late one may end here, where other tests run at once. The promise is 50 ms.
const LATE_MS_MAX: u64 = 450;

/// Scripts that would take seconds, each in one step or two.
const LONG: &[&str] = &[
    "?[x] := x = length(sorted(int_range(16000000)))",
    "?[x] := l = reverse(int_range(9000000)), x = length(sorted(append(l, 7)))",
    "?[x] := l = int_range(9000000), x = length(union(l, reverse(l)))",
    "?[x] := l = int_range(9000000), x = length(difference(l, int_range(0, 9000000, 2)))",
    "?[x] := x = length(windows(int_range(4000000), 4))",
];

/// What is asked of many rows in memory. Some of it is done in time on a quick machine.
const OF_MANY: &[&str] = &[
    "?[a, b] := *_all{a, b} :order b, -a",
    "?[a, t] := *_all{a, b}, t = concat('text ', to_string(b)) :order t",
    "?[b, collect(a)] := *_all{a, b}",
    "?[count(a)] := *_all{a, b}, *_all{a: c, b}, c > a",
    "?[a, c] := *_all{a, b}, c = b * 2",
    "?[a, b] := *_all{a, b} :replace kept {a: Int => b: Float}",
];

#[track_caller]
fn check(script: &str, ended: Result<Output, Error>, took_us: u64, timeout_ms: u64) {
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

/// Found by an audit. The rows are there before the time begins to count.
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
            let debug = |_: &str, _: &Output| began_us.store(clock.monotonic_us(), Relaxed);
            let run = Run { debug: Some(&debug), ..Run::new(&parameters) };
            let ended = engine.run_with(&script, &run);
            let took_us = clock.monotonic_us() - began_us.load(Relaxed);
            check(query, ended, took_us, timeout_ms);
        }
    }
}
