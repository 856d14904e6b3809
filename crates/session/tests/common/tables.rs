//! One table, stored with two kinds of keys, whose queries are compared with those over rows of the
//! script.

use crate::common::engine_of;
use model::Value;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters};

/// The columns: of each typed kind, some nullable, and of any kind.
const COLUMNS: &str =
    "i: Int?, j: Int, f: Float?, g: Float, b: Bool, c: Bool?, s: String?, t: String, a: Any?";
pub(crate) const NAMES: &[&str] = &["i", "j", "f", "g", "b", "c", "s", "t", "a", "k"];

/// One table, stored with a key of words and with a key of bytes.
pub(crate) struct Tables {
    engine: Engine,
    parameters: Parameters,
}

impl Tables {
    /// The tables with these rows, for queries on one thread.
    pub(crate) fn new(rows: Vec<Vec<Value>>) -> Self {
        Self::on(engine_of(1, 1 << 30), rows)
    }

    /// The tables of an engine.
    pub(crate) fn on(engine: Engine, rows: Vec<Vec<Value>>) -> Self {
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

    /// Compares a rule over each of the tables with the same rule over rows of the script.
    pub(crate) fn check_rule(&self, head: &str, body: &str) -> Result<(), TestCaseError> {
        let expected = self.answer("rows", head, body);
        for relation in ["words", "bytes"] {
            let found = self.answer(relation, head, body);
            match (&found, &expected) {
                (Err(found), Err(expected)) => {
                    prop_assert_eq!(
                        without_place(found),
                        without_place(expected),
                        "{} := {}",
                        head,
                        body
                    );
                }
                _ => prop_assert_eq!(&found, &expected, "{} := {} of {}", head, body, relation),
            }
        }
        Ok(())
    }

    /// The rows of a rule, or its error without its place.
    fn answer(&self, relation: &str, head: &str, body: &str) -> Result<Vec<Vec<Value>>, String> {
        let row = "k, n, i, j, f, g, b, c, s, t, a";
        let script = match relation {
            // Two rules make a table, whose rows are cells.
            "rows" => format!(
                "r[{row}] := *words{{{row}}} r[{row}] := *bytes{{{row}}} {head} := r[{row}], {body} \
                 :disable_magic_rewrite true"
            ),
            stored => format!("{head} := *{stored}{{{row}}}, {body}"),
        };
        match self.engine.run(&script, &self.parameters) {
            Ok(output) => Ok((0..output.rows).map(|row| output.row(row)).collect()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// An error without its position.
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

/// A row of the columns.
pub(crate) fn row() -> impl Strategy<Value = Vec<Value>> {
    let bool = || any::<bool>().prop_map(Value::Bool);
    let numbers = (maybe(int()), int(), maybe(float()), float());
    let others = (bool(), maybe(bool()), maybe(text()), text(), any_value());
    (numbers, others).prop_map(|((i, j, f, g), (b, c, s, t, a))| vec![i, j, f, g, b, c, s, t, a])
}
