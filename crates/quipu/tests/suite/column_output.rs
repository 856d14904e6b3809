//! Rows of a scan leave in typed columns, rows of rules as cells. Both become the same values and
//! the same Arrow columns.

use proptest::prelude::*;
use quipu::{Database, Options, Parameters, QueryResult, Value};

/// Rows from which on a result keeps the columns of its scan.
const ROWS_MIN: i64 = 1024;

const COLUMNS: &[&str] = &["k", "i", "j", "f", "b", "s", "t", "a", "x"];

fn maybe(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![5 => value, 1 => Just(Value::Null)]
}

fn int() -> impl Strategy<Value = Value> {
    let edges = [i64::MIN, i64::MAX, -1, 0, 1, 1 << 49, 1 << 53];
    prop_oneof![prop::sample::select(edges.to_vec()), any::<i64>()].prop_map(Value::Int)
}

fn float() -> impl Strategy<Value = Value> {
    let edges = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, 0.5];
    prop_oneof![prop::sample::select(edges.to_vec()), any::<f64>()].prop_map(Value::Float)
}

fn text() -> impl Strategy<Value = Value> {
    "[aé\\x00\u{20ac}]{0,12}".prop_map(Value::Str)
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    let bool = any::<bool>().prop_map(Value::Bool);
    let any_value = prop_oneof![int(), float(), text(), Just(Value::Null)];
    (maybe(int()), int(), maybe(float()), maybe(bool), maybe(text()), text(), any_value)
        .prop_map(|(i, j, f, b, s, t, a)| vec![i, j, f, b, s, t, a])
}

/// A database with these rows, again and again, keyed by numbers and by texts.
fn database(rows: &[Vec<Value>], count: i64, step: i64) -> Database {
    let db = Database::in_memory(Options { threads: 2, ..Options::default() }).unwrap();
    let all = (0..count).zip(rows.iter().cycle()).map(|(k, row)| {
        let name = Value::Str(format!("key {k:05}"));
        Value::List([Value::Int(k * step), name].into_iter().chain(row.iter().cloned()).collect())
    });
    let parameters = Parameters::from([("rows".to_owned(), Value::List(all.collect()))]);
    let columns = "i: Int?, j: Int, f: Float?, b: Bool?, s: String?, t: String, a: Any?";
    for (name, key, value) in [("numbers", "k: Int", "n: String"), ("names", "n: String", "k: Int")]
    {
        let script = format!(
            "?[k, n, i, j, f, b, s, t, a] <- $rows :create {name} {{{key} => {value}, {columns}}}"
        );
        db.run(&script, &parameters).unwrap();
    }
    db
}

fn answers(
    db: &Database,
    relation: &str,
    head: &str,
    body: &str,
    options: &str,
) -> [QueryResult; 2] {
    let row = "k, n, i, j, f, b, s, t, a";
    let stored = format!("?[{head}] := *{relation}{{{row}}}, {body} {options}");
    // Two rules make a table, whose rows are cells.
    let cells = format!(
        "r[{row}] := *numbers{{{row}}} r[{row}] := *names{{{row}}} ?[{head}] := r[{row}], {body} \
         :disable_magic_rewrite true {options}"
    );
    [stored, cells].map(|script| db.run(&script, &Parameters::new()).unwrap())
}

fn rows_of(answer: &QueryResult) -> Vec<String> {
    answer.rows().map(|row| format!("{row:?}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn rows_in_columns_become_the_values_and_the_arrow_columns_that_cells_become(
        rows in prop::collection::vec(row(), 1..30),
        count in prop_oneof![Just(5_i64), Just(ROWS_MIN), ROWS_MIN..3 * ROWS_MIN],
        step in prop_oneof![Just(1_i64), Just(-3)],
        heads in prop::collection::vec(prop::collection::vec(prop::sample::select(COLUMNS), 0..5), 3),
        body in prop::sample::select(&["x = k + 1", "x = uppercase(t), b == true", "x = if(b == true, j, t)", "x = 7, k % 3 != 1"][..]),
    ) {
        let db = database(&rows, count, step);
        for (relation, key) in [("numbers", "k"), ("names", "n")] {
            for head in &heads {
                let head = [key].iter().chain(head).copied().collect::<Vec<_>>().join(", ");
                for options in ["", ":offset 700"] {
                    let [found, want] = answers(&db, relation, &head, body, options);
                    if want.is_empty() {
                        // Then only the stored columns have types.
                        prop_assert!(found.is_empty());
                        continue;
                    }
                    // Arrow first: values may make cells of the columns.
                    let batches = [&found, &want].map(|answer| answer.to_batch().unwrap());
                    prop_assert_eq!(batches[0].schema(), batches[1].schema(), "{} {}", head, body);
                    prop_assert_eq!(&batches[0], &batches[1], "{} {}", head, body);
                    prop_assert_eq!(rows_of(&found), rows_of(&want), "{} {}", head, body);
                    for row in (0..found.len()).step_by(97) {
                        for column in 0..found.columns().len() {
                            prop_assert_eq!(found.shown(row, column), want.shown(row, column));
                            for other in (0..found.len()).step_by(31).filter(|_| row % 5 == 0) {
                                if found.word(row, column) == found.word(other, column) {
                                    prop_assert_eq!(found.shown(row, column), found.shown(other, column));
                                }
                            }
                        }
                    }
                    let again = [&found, &want].map(|answer| answer.to_batch().unwrap());
                    prop_assert_eq!(&again[0], &again[1]);
                }
            }
        }
    }
}
