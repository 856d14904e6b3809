//! Expressions over a stored relation are evaluated on its columns, those over rows of the script
//! row by row. Both ways give the same values and the same errors.

use crate::tables::{NAMES, Tables, row};
use proptest::prelude::*;

/// Expressions of a truth value.
fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("b".to_owned()),
        Just("c".to_owned()),
        (number(), comparison(), number()).prop_map(|(a, by, b)| format!("({a} {by} {b})")),
        (string(), comparison(), string()).prop_map(|(a, by, b)| format!("({a} {by} {b})")),
        (anything(), "==|!=", anything()).prop_map(|(a, by, b)| format!("({a} {by} {b})")),
        (string(), "starts_with|ends_with|str_includes|regex_matches", "'(a|ab|b|é|A| |)'")
            .prop_map(|(text, name, part)| format!(
                "{name}({text}, {})",
                part.replace(['(', ')'], "")
            )),
        (anything(), "\\$list|\\$many|\\[1, 'abc', null\\]")
            .prop_map(|(item, list)| format!("is_in({item}, {list})")),
        (anything(), "is_null|is_int|is_float|is_num|is_string|is_nan|is_finite")
            .prop_map(|(value, name)| format!("{name}({value})")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            inner.clone().prop_map(|a| format!("!{a}")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("if({a}, {b}, {c})")),
        ]
    })
}

fn comparison() -> impl Strategy<Value = String> {
    "==|!=|<|<=|>|>="
}

/// Expressions that mostly are numbers.
fn number() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => "i|j|f|g|k",
        2 => "0|1|3|-2|0\\.5|3\\.0|1e300|9223372036854775807|\\$nan|\\$zero",
        1 => "length\\((s|t)\\)|a|null",
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), "[+*/%-]", inner.clone())
                .prop_map(|(a, by, b)| format!("({a} {by} {b})")),
            (inner.clone(), "abs|floor|ceil|round|sqrt|minus|signum|to_int|to_float")
                .prop_map(|(a, name)| format!("{name}({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("coalesce({a}, {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("if(b, {a}, {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("cond(i == 1, {a}, g > 0.0, {b})")),
        ]
    })
}

/// Expressions that mostly are texts.
fn string() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![4 => "s|t|n", 1 => "'abc'|''|\\$text|'a text that is long'|a"];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), "uppercase|lowercase|trim|trim_start|trim_end")
                .prop_map(|(a, name)| format!("{name}({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("coalesce({a}, {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("if(c == true, {a}, {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("concat({a}, {b})")),
        ]
    })
}

fn anything() -> impl Strategy<Value = String> {
    prop_oneof![
        number(),
        string(),
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("c".to_owned())
    ]
}

/// Compares the values that a body gives `x` in each row.
fn check(tables: &Tables, body: &str) -> Result<(), TestCaseError> {
    tables.check_rule("?[k, x]", body)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn conditions_and_values_are_those_of_the_row_way(
        rows in prop::collection::vec(row(), 0..12),
        conditions in prop::collection::vec(condition(), 8),
        numbers in prop::collection::vec(number(), 6),
        strings in prop::collection::vec(string(), 4),
        literals in prop::collection::vec(any::<prop::sample::Index>(), 3),
    ) {
        let tables = Tables::new(rows);
        for condition in &conditions {
            check(&tables, &format!("x = 0, {condition}"))?;
            check(&tables, &format!("x = {condition}"))?;
        }
        for pair in conditions.chunks(2) {
            // Each condition sees only the rows that the one before it keeps.
            check(&tables, &format!("x = 0, {}", pair.join(", ")))?;
        }
        for value in numbers.iter().chain(&strings) {
            check(&tables, &format!("x = {value}"))?;
            check(&tables, &format!("b, y = {value}, x = if(is_null(y), 1, y)"))?;
        }
        for literal in literals {
            let literal = literal.get(&["1", "1.0", "0.0", "'abc'", "null", "true", "-0.0", "$nan", "$text"]).to_owned();
            for name in NAMES {
                check(&tables, &format!("x = 0, {name} = {literal}"))?;
                check(&tables, &format!("x = {literal}, {name} = x"))?;
            }
        }
    }

    /// Every function, with every kind of column and constant.
    #[test]
    fn every_function_gives_what_it_gives_row_by_row(rows in prop::collection::vec(row(), 1..3)) {
        let tables = Tables::new(rows);
        let args = ["j", "g", "b", "t", "a", "i", "s", "2", "'ab'"];
        for function in function::functions().iter().filter(|function| function.deterministic) {
            let most = function.args_max.unwrap_or(function.args_min.max(2)).min(3);
            for count in function.args_min..=most {
                // Neighbors in the list of kinds: each kind in each place.
                for first in 0..args.len() {
                    let turned = |by: usize| {
                        (0..count).map(|i| args[(first + i * by) % args.len()]).collect::<Vec<_>>().join(", ")
                    };
                    for by in [0, 1, 4] {
                        check(&tables, &format!("x = {}({})", function.name, turned(by)))?;
                        if count < 2 {
                            break;
                        }
                    }
                }
            }
        }
    }
}
