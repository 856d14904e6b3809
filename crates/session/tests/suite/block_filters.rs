//! A scan that skips blocks by the statistics of their values gives what one that reads all of them
//! gives, errors included.

use crate::common::engine_of;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters};

/// Enough rows for some forty blocks, since a block holds few long texts.
const ROWS: usize = 4000;

/// A relation of values of all kinds that typed columns have. Those of `near` lie close together in
/// a block, those of `far` do not; nulls lie in a few blocks only.
fn fill(engine: &Engine) {
    let script = format!(
        "?[k, near, far, score, flag, word, maybe, pad] := k in int_range({ROWS}), \
         near = to_int(floor(k / 100)), far = (k * 7919) % 1000, score = near * 0.5 - 3.0, \
         flag = near % 7 == 0, word = concat('w', to_string(near)), \
         maybe = if(k % 1000 < 150, null, near), \
         pad = concat('a text that fills its block ', to_string(far), ' ', to_string(far * far), \
         ' and some more of it')"
    );
    let columns = "{k: Int => near: Int, far: Int, score: Float, flag: Bool, word: String, \
                   maybe: Int?, pad: String}";
    run(engine, &format!("{script} :create t {columns}")).unwrap();
}

fn run(engine: &Engine, script: &str) -> Result<Vec<String>, String> {
    let output = engine.run(script, &Parameters::new()).map_err(|error| error.render(script))?;
    let row = |row| output.row(row).iter().map(|value| format!("{value}|")).collect();
    Ok((0..output.rows).map(row).collect())
}

/// Blocks read, and blocks met, of a query, as `::explain analyze` tells.
fn blocks(engine: &Engine, query: &str) -> Option<(u64, u64)> {
    let lines = run(engine, &format!("::explain analyze {{ {query} }}")).unwrap();
    let line = lines.iter().find_map(|line| line.split_once("filter: "))?.1;
    let (read, rest) = line.split_once(" of ")?;
    Some((read.parse().unwrap(), rest.split_once(' ')?.0.parse().unwrap()))
}

/// An engine whose rows lie in one run of blocks, and one whose rows lie in a memtable.
fn engines() -> [Engine; 2] {
    let [compacted, fresh] = [(); 2].map(|()| engine_of(1, 1 << 30));
    [&compacted, &fresh].into_iter().for_each(fill);
    run(&compacted, "::compact").unwrap();
    [compacted, fresh]
}

#[test]
fn conditions_on_values_skip_blocks() {
    let [engine, _] = engines();
    check_conditions(&engine, 0);
    let engine = engine_of(2, 1 << 30);
    fill(&engine);
    run(&engine, "::compact").unwrap();
    engine.set_parallel_rows(300);
    // A block at the border of two ranges is met, and may be read, in both.
    check_conditions(&engine, 3);
}

/// Checks how many blocks are read, with some tolerance.
fn check_conditions(engine: &Engine, more: u64) {
    let check = |condition: &str, read_max: u64| {
        let (read, met) = blocks(
            engine,
            &format!("?[k] := *t{{k, near, far, score, word, maybe, pad}}, {condition}"),
        )
        .unwrap();
        assert!(met > 20, "{condition}: {met} blocks");
        assert!(
            read <= read_max + more.min(read_max),
            "{condition}: {read} of {met} blocks are read"
        );
    };
    check("near == 5", 3);
    check("near = 5", 3);
    check("pad = 'zzz'", 0);
    check("pad == 'zzz'", 0);
    check("near > 3, near <= 5", 5);
    check("near > 3 && near <= 5", 5);
    check("3 > near", 6);
    check("score > 3.2, score < 4", 4);
    // The block with `w9` and `w10` has all words between them.
    check("word == 'w17'", 4);
    check("starts_with(word, 'w17')", 4);
    check("is_in(near, [2, 30])", 6);
    check("maybe == 12", 3);
    check("far == -1", 0);
    check("near < -1 && far > 3", 0);
}

#[test]
fn rows_written_since_are_found_and_hidden() {
    let engines = engines();
    for engine in &engines {
        // A new version of a row of a skipped block must hide the old one, and be found.
        run(engine, "?[k, near] <- [[10, 999], [500, 998]] :update t {k => near}").unwrap();
        run(engine, "?[k] <- [[501]] :rm t {k}").unwrap();
    }
    for query in [
        "?[k, near] := *t{k, near}, near > 900",
        "?[k] := *t{k, near}, near == 5",
        "?[k] := *t{k, near}, near == 0",
    ] {
        let [compacted, fresh] = engines.each_ref().map(|engine| run(engine, query).unwrap());
        assert_eq!(compacted, fresh, "{query}");
    }
    run(&engines[0], "::compact").unwrap();
    let query = "?[k, near] := *t{k, near}, near > 900";
    assert_eq!(run(&engines[0], query).unwrap(), ["10|999|", "500|998|"]);
    assert_eq!(blocks(&engines[0], query).unwrap().0, 2);
}

/// One side of a comparison that is constant.
fn constant() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (-3..45_i64).prop_map(|int| int.to_string()),
        2 => (-30..200_i64).prop_map(|int| format!("{:?}", int as f64 / 4.0)),
        2 => (0..45_i64).prop_map(|int| format!("'w{int}'")),
        1 => prop_oneof![Just("true"), Just("null"), Just("-0.0"), Just("'w'"), Just("''")].prop_map(str::to_owned),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    let column = || {
        prop_oneof![
            4 => Just("near"), 1 => Just("far"), 2 => Just("score"), 1 => Just("flag"),
            2 => Just("word"), 2 => Just("maybe"), 1 => Just("k"),
        ]
    };
    let by = prop_oneof![Just("=="), Just("!="), Just("<"), Just("<="), Just(">"), Just(">=")];
    prop_oneof![
        5 => (column(), by.clone(), constant()).prop_map(|(a, by, b)| format!("{a} {by} {b}")),
        2 => (constant(), by, column()).prop_map(|(a, by, b)| format!("{a} {by} {b}")),
        2 => (column(), constant()).prop_map(|(a, b)| format!("{a} = {b}")),
        1 => (0..45_i64).prop_map(|int| format!("starts_with(word, 'w{int}')")),
        2 => (column(), prop::collection::vec(constant(), 0..4))
            .prop_map(|(a, items)| format!("is_in({a}, [{}])", items.join(", "))),
        // An expression that fails in some rows only.
        1 => Just("10 / (near - 20) > 0".to_owned()),
        1 => Just("maybe > 3".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn skipped_blocks_change_neither_results_nor_errors(
        queries in prop::collection::vec(
            (prop::collection::vec(condition(), 1..4), any::<bool>()),
            30,
        ),
    ) {
        thread_local! {
            static ENGINES: [Engine; 2] = engines();
        }
        for (conditions, is_one) in queries {
            let conditions = conditions.join(if is_one { " && " } else { ", " });
            let query = format!(
                "?[k, near, word] := *t{{k, near, far, score, flag, word, maybe}}, {conditions}"
            );
            ENGINES.with(|[compacted, fresh]| {
                prop_assert_eq!(run(compacted, &query), run(fresh, &query), "{}", query);
                Ok(())
            })?;
        }
    }
}
