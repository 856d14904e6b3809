//! Groups and aggregates over a stored relation take its columns, those over rows of the script take
//! cells. Both ways give the same groups and values, bit for bit, and the same errors.

mod common;
#[path = "common/tables.rs"]
mod tables;

use common::engine_of;
use proptest::prelude::*;
use tables::{NAMES, Tables, row};

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

/// What the groups are made of: all rows, some of them, or none.
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
