//! Result streams: the rows are those of the same script run as a whole, and are never held all
//! together.

use crate::common::engine_of;
use env::sync::Mutex;
use model::{Type, Value};
use proptest::prelude::*;
use quipu_session::{Engine, Error, Parameters, Part, Run, Stop};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The rows of a script, run as a whole.
fn whole(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{}", error.render(script)));
    (0..output.rows).map(|row| output.row(row)).collect()
}

/// The rows of a script in parts, and whether they came while it ran.
fn parts(engine: &Engine, script: &str) -> (Vec<Vec<Vec<Value>>>, bool) {
    let parts = Mutex::new((Vec::new(), false));
    let take = |Part { output, types }: Part<'_>| {
        let rows = (0..output.rows).map(|row| output.row(row)).collect::<Vec<_>>();
        let mut parts = parts.lock();
        parts.0.push(rows);
        parts.1 |= types.is_some();
        Ok(true)
    };
    let parameters = Parameters::new();
    engine
        .stream(script, &Run::new(&parameters), &take)
        .unwrap_or_else(|error| panic!("{}", error.render(script)));
    parts.into_inner()
}

fn streamed(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let mut rows: Vec<_> = parts(engine, script).0.into_iter().flatten().collect();
    rows.sort();
    rows
}

/// `r{a => s, b}`, whose strings are mostly too long for a cell, and `e{x, y}`.
fn engine(threads: usize, memory_bytes: u64, rows: usize) -> Engine {
    let engine = engine_of(threads, memory_bytes);
    engine.set_range_rows(8);
    engine.set_parallel_rows(16);
    whole(&engine, ":create r {a: Int => s: String?, b: Int}");
    for from in (0..rows).step_by(1000) {
        let to = (from + 1000).min(rows);
        whole(
            &engine,
            &format!(
                "?[a, s, b] := a in int_range({from}, {to}), b = (a % 7), s = if(b == 3, null, concat('a text of some length ', to_string(a - (a % 2))))
                 :put r {{a => s, b}}"
            ),
        );
    }
    whole(
        &engine,
        &format!(
            "?[x, y] := x in int_range({}), y in [x * 3 % 11, x + 1, x * x % 17] :create e {{x: Int, y: Int}}",
            rows.min(300)
        ),
    );
    engine
}

const SCRIPTS: &[(&str, bool)] = &[
    ("?[a, s, b] := *r{a, s, b}", true),
    ("?[b, a] := *r{a, b}", true),
    ("?[a, s] := *r{a, s, b}, b > 2, s != 'a text of some length 6'", true),
    ("?[a, t] := *r{a, s}, t = concat(s ~ 'none', '!')", true),
    ("?[a, s, y] := *r{a, s}, *e{x: a, y}", true),
    ("?[a, s, c, t] := *r{a, s}, *e{x: a, y: c}, *r{a: c, s: t}", true),
    ("?[x, y, z] := *e{x, y}, *e{x: y, y: z}, *e{x: z, y: x}", true),
    ("good[a, s] := *r{a, s, b: 4}\n ?[x, y, s] := *e{x, y}, good[y, s]", true),
    ("?[a, s] := *r{a, s}, not *e{x: a}", true),
    ("?[a] := *r{a, b}, a > 1000000", true),
    ("?[a, s] := *r{a, s} :limit 800", true),
    ("?[a, s] := *r{a, s} :limit 0", true),
    ("?[a, s] := *r{a, s} :offset 5", true),
    // Rows may be equal, or an order is requested.
    ("?[b] := *r{b}", false),
    ("?[a, s] := *r{a, s} :order -a", false),
    ("?[b, count(a)] := *r{a, b}", false),
    ("?[a] := *r{a} :assert some", false),
    ("?[a] <- [[1], [2]]", false),
    ("r[x, y] := *e{x, y}, x < 3\n r[x, z] := r[x, y], *e{x: y, y: z}\n ?[x, y] := r[x, y]", true),
    ("::columns r", false),
    ("{?[a] := *r{a} :limit 3}", false),
];

#[test]
fn parts_together_are_the_result() {
    for threads in [1, 3] {
        for rows in [0, 5, 1234] {
            let engine = engine(threads, 1 << 30, rows);
            for (script, is_streamed) in SCRIPTS {
                if rows == 0 && script.contains(":assert") {
                    continue;
                }
                let (parts, comes_early) = parts(&engine, script);
                let mut found: Vec<_> = parts.into_iter().flatten().collect();
                found.sort();
                let mut expected = whole(&engine, script);
                expected.sort();
                if script.contains(":limit") || script.contains(":offset") {
                    // Which rows these are is not specified.
                    let all = whole(
                        &engine,
                        &script
                            .replace(" :limit 800", "")
                            .replace(" :limit 0", "")
                            .replace(" :offset 5", "")
                            .replace(":limit 3", ""),
                    );
                    assert!(found.iter().all(|row| all.contains(row)), "{script}");
                    found.dedup();
                    assert_eq!(found.len(), expected.len(), "{script} of {rows} rows");
                } else {
                    assert_eq!(found, expected, "{script} of {rows} rows by {threads}");
                }
                if rows > 1000 && !script.contains("limit 0") {
                    assert_eq!(comes_early, *is_streamed, "{script}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn parts_of_any_size_are_the_result(
        threads in 1_usize..4,
        rows in 0_usize..400,
        range_rows in 1_u64..200,
        script in 0..SCRIPTS.len(),
    ) {
        let engine = engine(threads, 1 << 30, rows);
        engine.set_range_rows(range_rows);
        let script = SCRIPTS[script].0;
        if ![":limit", ":offset", ":assert"].iter().any(|option| script.contains(option)) {
            let mut expected = whole(&engine, script);
            expected.sort();
            prop_assert_eq!(streamed(&engine, script), expected);
        }
    }
}

#[test]
fn a_result_larger_than_the_memory_goes_out_in_parts() {
    let rows = 40_000;
    let engine = engine(2, 1_500_000, rows);
    engine.set_range_rows(1000);
    for script in ["?[a, s] := *r{a, s}", "?[s, a, t] := *r{a, s}, t = concat(s ~ '', s ~ '')"] {
        let error = engine.run(script, &Parameters::new()).err();
        assert!(matches!(error, Some(Error::Limit(_))), "{script}: {error:?}");
        let (parts, _) = parts(&engine, script);
        assert!(parts.len() > 10, "{} parts", parts.len());
        assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), rows);
    }
}

#[test]
fn values_that_give_no_rows_are_forgotten_too() {
    let engine = engine(2, 2_500_000, 40_000);
    engine.set_range_rows(1000);
    let script = "?[a, t] := *r{a, s}, t = concat(s ~ '', '!'), ends_with(t, 'th 39998!')";
    let (parts, _) = parts(&engine, script);
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2]);
}

#[test]
fn much_after_little_goes_out_in_parts_too() {
    let engine = engine(2, 2_500_000, 40_000);
    engine.set_range_rows(50);
    // Strings are read after the condition: for a long time no rows are found, then all.
    let script = "?[a, s] := *r{a, s}, a % 1000000 > 27000";
    let (parts, _) = parts(&engine, script);
    assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 12_999);
    assert!(parts.len() > 100, "{} parts", parts.len());
    // The long wave ends when it finds many rows. None grows until it is passed on in the middle of
    // a range, at four times a range's rows.
    let longest = parts.iter().map(Vec::len).max();
    assert!(longest < Some(200), "{longest:?} rows");
}

#[test]
fn a_relation_of_one_range_is_read_to_its_end_by_several_threads() {
    let engine = engine(2, 1 << 30, 47);
    engine.set_range_rows(48);
    let found = streamed(&engine, "?[a, s, b] := *r{a, s, b}");
    assert_eq!(found.len(), 47);
}

#[test]
fn no_part_comes_after_one_that_was_refused() {
    let engine = engine(3, 1 << 30, 3000);
    engine.set_range_rows(100);
    // Each range has more rows than a part, so parts come before its end, from several threads.
    for script in [
        "?[a, b, c] := *r{a}, *e{x: b, y: c}",
        "few[a] := *r{a}, a < 100\n?[a, b, c] := few[a], *e{x: b, y: c}",
    ] {
        let parameters = Parameters::new();
        let calls = AtomicUsize::new(0);
        let fail = |_: Part<'_>| {
            calls.fetch_add(1, Relaxed);
            Err(Error::Stopped(Stop::Interrupted))
        };
        let done = engine.stream(script, &Run::new(&parameters), &fail);
        assert!(matches!(done, Err(Error::Stopped(Stop::Interrupted))), "{script}");
        assert_eq!(calls.swap(0, Relaxed), 1, "{script}");
        let refuse = |_: Part<'_>| Ok(calls.fetch_add(1, Relaxed) < 1);
        engine.stream(script, &Run::new(&parameters), &refuse).unwrap();
        assert_eq!(calls.swap(0, Relaxed), 2, "{script}");
    }
}

#[test]
fn a_query_ends_when_no_more_is_wanted() {
    for threads in [1, 3] {
        let engine = engine(threads, 1 << 30, 1000);
        let parameters = Parameters::new();
        let once = |_: Part<'_>| Ok(false);
        // Some thousand million rows: without a stop the test would not end.
        for script in [
            "?[a, b, c, d, f] := *r{a}, *e{x: b, y: c}, *r{a: d}, *r{a: f}",
            "few[a] := *r{a}, a < 500\n?[a, b, c, d, f] := few[a], *e{x: b, y: c}, *r{a: d}, *r{a: f}",
        ] {
            let run = Run { timeout_s: Some(20.0), ..Run::new(&parameters) };
            engine.stream(script, &run, &once).unwrap();
        }
    }
}

#[test]
fn parts_see_the_moment_at_which_the_script_began() {
    let engine = engine(2, 1 << 30, 1000);
    let script = "?[a, b] := *r{a, b}";
    let seen = AtomicUsize::new(0);
    let take = |part: Part<'_>| {
        if seen.fetch_add(part.output.rows, Relaxed) == 0 {
            engine.run("?[a, b] := *r{a}, b = 100 :update r {a => b}", &Parameters::new())?;
            engine.run("?[a] := *r{a}, a > 500 :rm r {a}", &Parameters::new())?;
        }
        assert!(part.output.column(1).iter().all(|b| b.as_small_int().is_some_and(|b| b < 7)));
        Ok(true)
    };
    let parameters = Parameters::new();
    engine.stream(script, &Run::new(&parameters), &take).unwrap();
    assert_eq!(seen.into_inner(), 1000);
}

#[test]
fn a_caller_that_wants_no_more_gets_no_more() {
    for threads in [1, 3] {
        let engine = engine(threads, 1 << 30, 1000);
        let parameters = Parameters::new();
        let calls = AtomicUsize::new(0);
        let refuse = |_: Part<'_>| Ok(calls.fetch_add(1, Relaxed) < 2);
        engine.stream("?[a, b] := *r{a, b}", &Run::new(&parameters), &refuse).unwrap();
        assert_eq!(calls.swap(0, Relaxed), 3);
        let fail = |_: Part<'_>| {
            calls.fetch_add(1, Relaxed);
            Err(Error::Stopped(Stop::Interrupted))
        };
        let error = engine.stream("?[a, b] := *r{a, b}", &Run::new(&parameters), &fail);
        assert!(matches!(error, Err(Error::Stopped(Stop::Interrupted))));
        assert_eq!(calls.into_inner(), 1);
    }
}

#[test]
fn types_are_told_with_each_part_where_they_are_known() {
    let engine = engine(1, 1 << 30, 100);
    let script = "?[a, s, b, c, d, e] := *r{a, s, b}, c = b / 2, d = to_float(c), e = b == 1";
    let take = |Part { types, .. }: Part<'_>| {
        let expected = [
            Some(Type::Int),
            // Or null.
            Some(Type::String),
            Some(Type::Int),
            None,
            Some(Type::Float),
            Some(Type::Bool),
        ];
        assert_eq!(types, Some(&expected[..]));
        Ok(true)
    };
    let parameters = Parameters::new();
    engine.stream(script, &Run::new(&parameters), &take).unwrap();
}

#[test]
fn the_time_of_the_caller_is_not_the_scripts() {
    let engine = engine(2, 1 << 30, 1000);
    let parameters = Parameters::new();
    let slow = |_: Part<'_>| {
        engine.run("?[a] <- [[1]] :sleep 0.1", &Parameters::new())?;
        Ok(true)
    };
    let run = Run { timeout_s: Some(2.5), ..Run::new(&parameters) };
    engine.stream("?[a, b] := *r{a, b}", &run, &slow).unwrap();
}
