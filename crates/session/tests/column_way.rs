//! Expressions over a stored relation are evaluated on its columns, those over rows of the script
//! row by row. Both ways give the same values and the same errors.

mod common;

use common::engine_of;
use model::Value;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters};

/// The columns: of each typed kind, some nullable, and of any kind.
const COLUMNS: &str =
    "i: Int?, j: Int, f: Float?, g: Float, b: Bool, c: Bool?, s: String?, t: String, a: Any?";
const NAMES: &[&str] = &["i", "j", "f", "g", "b", "c", "s", "t", "a", "k"];

/// One table, stored with a key of words and with a key of bytes.
struct Tables {
    engine: Engine,
    parameters: Parameters,
}

impl Tables {
    fn new(rows: Vec<Vec<Value>>) -> Self {
        let engine = engine_of(1, 1 << 30);
        let rows: Vec<Value> = rows
            .into_iter()
            .zip(0_i64..)
            .map(|(row, k)| {
                let name = Value::Str(format!("key {k:04}"));
                Value::List([Value::Int(k), name].into_iter().chain(row).collect())
            })
            .collect();
        let list = vec![
            Value::Int(3),
            Value::Null,
            Value::Float(-0.0),
            Value::Str("abc".to_owned()),
            Value::Str("a text that is long".to_owned()),
            Value::Bool(true),
            Value::Int(i64::MAX),
            Value::Float(f64::NAN),
        ];
        let many = (0..40).map(|i| Value::Int(i * i)).collect();
        let parameters = Parameters::from([
            ("rows".to_owned(), Value::List(rows)),
            ("list".to_owned(), Value::List(list)),
            ("many".to_owned(), Value::List(many)),
            ("text".to_owned(), Value::Str("x".repeat(300))),
            ("nan".to_owned(), Value::Float(f64::NAN)),
            ("zero".to_owned(), Value::Float(-0.0)),
        ]);
        let names = "i, j, f, g, b, c, s, t, a";
        // No condition bounds the first key column: rows that a range skips do not fail.
        for (name, key, first) in [
            ("words", "z: Int, k: Int => n: String,", "0"),
            ("bytes", "z: String, n: String, k: Int =>", "'z'"),
        ] {
            let script = format!(
                "r[k, n, {names}] <- $rows ?[z, k, n, {names}] := r[k, n, {names}], z = {first} \
                 :create {name} {{{key} {COLUMNS}}}"
            );
            engine
                .run(&script, &parameters)
                .unwrap_or_else(|error| panic!("{}", error.render(&script)));
        }
        Self { engine, parameters }
    }

    /// The rows of a rule, or its error without its place.
    fn answer(&self, relation: &str, body: &str) -> Result<Vec<Vec<Value>>, String> {
        let row = "k, n, i, j, f, g, b, c, s, t, a";
        let script = match relation {
            // Two rules make a table, whose rows are cells.
            "rows" => format!(
                "r[{row}] := *words{{{row}}} r[{row}] := *bytes{{{row}}} ?[k, x] := r[{row}], {body} \
                 :disable_magic_rewrite true"
            ),
            stored => format!("?[k, x] := *{stored}{{{row}}}, {body}"),
        };
        match self.engine.run(&script, &self.parameters) {
            Ok(output) => Ok((0..output.rows).map(|row| output.row(row)).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn check(&self, body: &str) -> Result<(), TestCaseError> {
        let expected = self.answer("rows", body);
        for relation in ["words", "bytes"] {
            let found = self.answer(relation, body);
            match (&found, &expected) {
                (Err(found), Err(expected)) => {
                    prop_assert_eq!(without_place(found), without_place(expected), "{}", body);
                }
                _ => prop_assert_eq!(&found, &expected, "{} of {}", body, relation),
            }
        }
        Ok(())
    }
}

/// An error without what says where it is.
fn without_place(error: &str) -> String {
    error.lines().next().unwrap_or_default().to_owned()
}

fn int() -> impl Strategy<Value = Value> {
    let edge = [i64::MIN, i64::MAX, i64::MIN + 1, 1 << 53, (1 << 53) + 1, -1, 0, 1, 3, 1 << 49];
    prop_oneof![
        prop::sample::select(edge.to_vec()).prop_map(Value::Int),
        (-9_i64..9).prop_map(Value::Int),
        any::<i64>().prop_map(Value::Int),
    ]
}

fn float() -> impl Strategy<Value = Value> {
    let edge = [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        9_007_199_254_740_992.0,
        9.3e18,
        -9.3e18,
        0.5,
        -1.5,
        3.0,
        f64::MIN_POSITIVE,
    ];
    prop_oneof![
        prop::sample::select(edge.to_vec()).prop_map(Value::Float),
        (-9_i32..9).prop_map(|int| Value::Float(f64::from(int) / 2.0)),
        any::<f64>().prop_map(Value::Float),
    ]
}

fn text() -> impl Strategy<Value = Value> {
    let edge = [
        "",
        "abc",
        "a\0b",
        "\0",
        "é",
        "straße ",
        " ab ",
        "a text that is long",
        "\u{3000}x",
        "ABC",
        "12",
    ];
    prop_oneof![
        prop::sample::select(edge.to_vec()).prop_map(|text| Value::Str(text.to_owned())),
        "[abA ]{0,9}".prop_map(Value::Str),
        "[aé\\x00\u{20ac}]{0,6}".prop_map(Value::Str),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        int(),
        float(),
        text(),
        Just(Value::id(u64::MAX)),
        prop::collection::vec(0_u8..9, 0..9).prop_map(Value::Bytes),
        prop::collection::vec((0_i64..3).prop_map(Value::Int), 0..3).prop_map(Value::List),
    ]
}

/// A value, or rarely null.
fn maybe(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![6 => value, 1 => Just(Value::Null)]
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    let bool = || any::<bool>().prop_map(Value::Bool);
    let numbers = (maybe(int()), int(), maybe(float()), float());
    let others = (bool(), maybe(bool()), maybe(text()), text(), any_value());
    (numbers, others).prop_map(|((i, j, f, g), (b, c, s, t, a))| vec![i, j, f, g, b, c, s, t, a])
}

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
            tables.check(&format!("x = 0, {condition}"))?;
            tables.check(&format!("x = {condition}"))?;
        }
        for pair in conditions.chunks(2) {
            // What one keeps is what the next one sees.
            tables.check(&format!("x = 0, {}", pair.join(", ")))?;
        }
        for value in numbers.iter().chain(&strings) {
            tables.check(&format!("x = {value}"))?;
            tables.check(&format!("b, y = {value}, x = if(is_null(y), 1, y)"))?;
        }
        for literal in literals {
            let literal = literal.get(&["1", "1.0", "0.0", "'abc'", "null", "true", "-0.0", "$nan", "$text"]).to_owned();
            for name in NAMES {
                tables.check(&format!("x = 0, {name} = {literal}"))?;
                tables.check(&format!("x = {literal}, {name} = x"))?;
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
                        tables.check(&format!("x = {}({})", function.name, turned(by)))?;
                        if count < 2 {
                            break;
                        }
                    }
                }
            }
        }
    }
}
