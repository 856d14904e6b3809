//! Groups and aggregates over a stored relation take its columns, those over rows of the script
//! take cells. Both ways give the same groups and values, bit for bit, and the same errors.

use crate::common::engine_of;
use crate::tables::{NAMES, Tables, row};
use proptest::prelude::*;
use quipu_session::Parameters;

const AGGREGATES: &[&str] =
    &["count", "sum", "mean", "min", "max", "count_unique", "unique", "collect", "variance"];

/// Aggregates whose result does not depend on the order of rows.
const UNORDERED: &[&str] = &["count", "min", "max", "count_unique", "unique"];

/// A head with up to three columns to group by, one of them computed at times, and some aggregates.
fn head(aggregates: &'static [&'static str]) -> impl Strategy<Value = String> {
    let group = prop_oneof![3 => prop::sample::select(NAMES), 1 => Just("n"), 2 => Just("x")];
    let aggregate = (
        prop::sample::select(aggregates),
        prop_oneof![4 => prop::sample::select(NAMES), 1 => Just("x")],
    );
    (prop::collection::vec(group, 0..4), prop::collection::vec(aggregate, 1..4)).prop_map(
        |(groups, aggregates)| {
            let aggregates = aggregates.iter().map(|(name, column)| format!("{name}({column})"));
            let columns: Vec<String> =
                groups.iter().map(|&name| name.to_owned()).chain(aggregates).collect();
            format!("?[{}]", columns.join(", "))
        },
    )
}

/// The rows of the groups: all, some, or none.
fn body() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "x = 0",
            "x = k % 3",
            "x = floor(g)",
            "x = uppercase(t)",
            "x = if(b, j, t)",
            "x = coalesce(i, f, 0)",
            "x = k, b",
            "x = t, k % 2 == 0",
            "x = null",
            "x = j, !is_null(i), !is_null(f)",
            "x = j, k < 0",
        ][..],
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn aggregates_of_columns_are_those_of_rows(
        rows in prop::collection::vec(row(), 0..40),
        rules in prop::collection::vec((head(AGGREGATES), body()), 16),
    ) {
        let tables = Tables::new(rows);
        for (head, body) in &rules {
            tables.check_rule(head, body)?;
        }
    }

    #[test]
    fn threads_find_the_aggregates_that_one_finds(
        rows in prop::collection::vec(row(), 0..40),
        rules in prop::collection::vec((head(UNORDERED), body()), 8),
    ) {
        let engine = engine_of(3, 1 << 30);
        engine.set_parallel_rows(4);
        let tables = Tables::on(engine, rows);
        for (head, body) in &rules {
            tables.check_rule(head, body)?;
        }
    }
}

/// Rows of a relation that all threads read come in the order of their keys.
#[test]
fn rows_that_threads_read_in_columns_are_in_order() {
    let engine = engine_of(3, 1 << 30);
    engine.set_parallel_rows(64);
    let none = Parameters::new();
    let create = "?[k, v, t] := k in int_range(-5000, 5000), v = k * 7 % 100, t = to_string(v) \
                  :create wide {k: Int => v: Int, t: String}";
    engine.run(create, &none).unwrap();
    for (script, rows) in [
        ("?[k, t] := *wide{k, v, t}", 10_000),
        ("?[k, v, t] := *wide{k, v, t}, v < 30", 6500),
        ("?[k, v] := *wide{k, v, t}, length(t) < 3 :offset 10", 0),
    ] {
        let output = engine.run(script, &none).unwrap();
        if rows > 0 {
            assert_eq!(output.rows, rows, "{script}");
        }
        assert!(output.list().is_some(), "{script}");
        let keys: Vec<_> = (0..output.rows).map(|row| output.value(row, 0)).collect();
        assert!(keys.is_sorted(), "{script}");
        let cells: Vec<_> = (0..output.rows).map(|row| output.row(row)).collect();
        assert!(output.column(0).len() == output.rows && output.list().is_none());
        assert_eq!(cells, (0..output.rows).map(|row| output.row(row)).collect::<Vec<_>>());
    }
}
