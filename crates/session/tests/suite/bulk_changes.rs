//! Changes of many rows at once leave what changes of one row after the other would: in the
//! relation, in its indexes, and where a row is refused.

use crate::common::engine_of;
use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::{Frame, Value};
use proptest::prelude::*;
use quipu_session::{Change, ChangeKind, Engine, Parameters, Run};
use relation::Catalog;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::Store;

const COLUMNS: [&str; 5] = ["k", "t", "n", "s", "f"];

/// A row of the test's relation: two columns of its key, three values.
type Row = Vec<Value>;

/// A change of some rows.
#[derive(Clone, Debug)]
struct Batch {
    kind: ChangeKind,
    rows: Vec<Row>,
    /// Which of the values an update changes.
    updated: [bool; 3],
}

/// The rows that are there, by their keys.
type Model = BTreeMap<Row, Row>;

/// Columns that a batch has, of [`COLUMNS`].
fn columns_of(batch: &Batch, keys: usize) -> Vec<usize> {
    let values = 2..5;
    let mut columns: Vec<usize> = (0..keys).collect();
    match batch.kind {
        ChangeKind::Rm | ChangeKind::Delete => {}
        ChangeKind::Update => columns.extend(values.filter(|&column| batch.updated[column - 2])),
        ChangeKind::Put | ChangeKind::Insert => columns.extend(values),
    }
    columns
}

/// Changes the model row by row, or says which row is refused, and why.
fn change_model(model: &mut Model, batch: &Batch, keys: usize) -> Result<(), String> {
    let columns = columns_of(batch, keys);
    let mut changed = model.clone();
    for row in &batch.rows {
        let key = row[..keys].to_vec();
        let refused = match (batch.kind, changed.contains_key(&key)) {
            (ChangeKind::Insert, true) => Some("already exists"),
            (ChangeKind::Update | ChangeKind::Delete, false) => Some("does not exist"),
            _ => None,
        };
        if let Some(why) = refused {
            let key: Vec<String> = key.iter().map(ToString::to_string).collect();
            return Err(format!("row [{}] of relation `r` {why}", key.join(", ")));
        }
        if matches!(batch.kind, ChangeKind::Rm | ChangeKind::Delete) {
            changed.remove(&key);
            continue;
        }
        let old = changed.entry(key).or_insert_with(|| vec![Value::Null; 3]);
        for column in columns.iter().filter(|column| **column >= 2) {
            old[column - 2] = row[*column].clone();
        }
    }
    *model = changed;
    Ok(())
}

fn op(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Put => "put",
        ChangeKind::Insert => "insert",
        ChangeKind::Update => "update",
        ChangeKind::Rm => "rm",
        ChangeKind::Delete => "delete",
    }
}

/// The values of a batch's columns, by row.
fn values_of(batch: &Batch, keys: usize) -> Vec<Row> {
    let columns = columns_of(batch, keys);
    let row = |row: &Row| columns.iter().map(|&column| row[column].clone()).collect();
    batch.rows.iter().map(row).collect()
}

/// Changes the relation with a frame; one with a column of one kind is typed.
fn change_by_frame(engine: &Engine, batch: &Batch, keys: usize) -> Result<(), String> {
    let names = columns_of(batch, keys).iter().map(|&column| COLUMNS[column].to_owned()).collect();
    let rows = Frame::of_rows(names, values_of(batch, keys)).unwrap();
    let change = Change { relation: "r", kind: batch.kind, rows: &rows, is_import: false };
    let none = Parameters::new();
    engine.change(&[change], &Run::new(&none)).map_err(|error| error.to_string())
}

/// Changes the relation with a script of several batches, in one transaction. Their rows come in
/// the order that the query gives them, which is set in `batches`.
fn change_by_script(engine: &Engine, batches: &mut [Batch], keys: usize) -> Result<(), String> {
    let (mut script, mut parameters) = (String::new(), Parameters::new());
    for (number, batch) in batches.iter_mut().enumerate() {
        let columns = columns_of(batch, keys);
        let names: Vec<&str> = columns.iter().map(|&column| COLUMNS[column]).collect();
        let rows = values_of(batch, keys).into_iter().map(Value::List).collect();
        parameters.insert(format!("rows{number}"), Value::List(rows));
        let query = format!("?[{}] <- $rows{number}", names.join(", "));
        let given = engine.run(&query, &parameters).unwrap();
        batch.rows = (0..given.rows)
            .map(|row| {
                let mut all = vec![Value::Null; 5];
                columns.iter().zip(given.row(row)).for_each(|(&column, value)| all[column] = value);
                all
            })
            .collect();
        let (keys, values) = names.split_at(keys);
        let spec = format!("{{{} => {}}}", keys.join(", "), values.join(", "));
        script += &format!("{{ {query} :{} r {} }}\n", op(batch.kind), spec.replace(" => }", "}"));
    }
    engine.run(&script, &parameters).map(|_| ()).map_err(|error| error.to_string())
}

/// All rows of the relation.
fn stored(engine: &Engine, keys: usize) -> Model {
    let columns: Vec<&str> = COLUMNS[..keys].iter().chain(&COLUMNS[2..]).copied().collect();
    let columns = columns.join(", ");
    let rows = engine.run(&format!("?[{columns}] := *r{{{columns}}}"), &Parameters::new()).unwrap();
    (0..rows.rows)
        .map(|row| {
            let mut key: Row = rows.row(row).into_iter().collect();
            let values = key.split_off(keys);
            (key, values)
        })
        .collect()
}

#[track_caller]
fn check_indexes(engine: &Engine, rows: usize) {
    let (sound, problems) = engine.check_indexes().unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(sound.iter().all(|index| index.rows == rows as u64), "{sound:?}, {rows} rows");
}

fn engine(keys: usize, has_indexes: bool) -> Engine {
    let engine = engine_of(1, 1 << 30);
    let key = ["k: Int", "t: String"][..keys].join(", ");
    let mut scripts = vec![format!(":create r {{{key} => n: Int?, s: String?, f: Float?}}")];
    if has_indexes {
        scripts.push("::index create r:by_n {n}".to_owned());
        scripts.push("::index create r:by_s {s, n}".to_owned());
        scripts.push("::index create r:by_f {f, k}".to_owned());
    }
    for script in scripts {
        engine.run(&script, &Parameters::new()).unwrap();
    }
    engine
}

fn row() -> impl Strategy<Value = Row> {
    let text = || prop_oneof![Just(""), Just("a"), Just("a\0"), Just("a text that is longer")];
    let maybe = |value: BoxedStrategy<Value>| prop_oneof![1 => Just(Value::Null), 5 => value];
    (
        -3..9_i64,
        text(),
        maybe((-3..4_i64).prop_map(Value::Int).boxed()),
        maybe(text().prop_map(|text| Value::Str(text.to_owned())).boxed()),
        maybe(prop_oneof![Just(-0.0), Just(0.0), Just(1.5)].prop_map(Value::Float).boxed()),
    )
        .prop_map(|(k, t, n, s, f)| vec![Value::Int(k), Value::Str(t.to_owned()), n, s, f])
}

fn batch() -> impl Strategy<Value = Batch> {
    let kind = prop_oneof![
        2 => Just(ChangeKind::Put),
        1 => Just(ChangeKind::Insert),
        2 => Just(ChangeKind::Update),
        1 => Just(ChangeKind::Rm),
        1 => Just(ChangeKind::Delete),
    ];
    let rows = prop_oneof![prop::collection::vec(row(), 0..4), prop::collection::vec(row(), 0..90)];
    (kind, rows, any::<[bool; 3]>(), any::<bool>(), any::<bool>()).prop_map(
        |(kind, mut rows, updated, is_sorted, is_distinct)| {
            if is_sorted {
                rows.sort_by(|a, b| a[..2].cmp(&b[..2]));
            }
            if is_distinct {
                let mut seen = std::collections::BTreeSet::new();
                rows.retain(|row| seen.insert(row[0].clone()));
            }
            Batch { kind, rows, updated }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn many_rows_change_as_one_after_the_other_would(
        keys in 1..3_usize,
        has_indexes in any::<bool>(),
        steps in prop::collection::vec((prop::collection::vec(batch(), 1..4), any::<bool>()), 1..6),
    ) {
        let engine = engine(keys, has_indexes);
        let mut model = Model::new();
        for (mut batches, by_frame) in steps {
            if by_frame {
                batches.truncate(1);
            }
            let before = model.clone();
            let found = match by_frame {
                true => change_by_frame(&engine, &batches[0], keys),
                false => change_by_script(&engine, &mut batches, keys),
            };
            let wanted = batches.iter().try_for_each(|batch| change_model(&mut model, batch, keys));
            if wanted.is_err() {
                model = before;
            }
            prop_assert_eq!(found, wanted, "{:?}", batches);
            prop_assert_eq!(&stored(&engine, keys), &model, "{:?}", batches);
            check_indexes(&engine, model.len());
        }
    }
}

/// A store, an engine on it, and some rows with two indexes.
fn thousand() -> (Arc<dyn Store>, Engine) {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(1));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let engine = Engine::new(Arc::clone(&store), env, 1 << 30);
    for script in [
        "?[k, n, s] := k in int_range(1000), n = k % 7, s = to_string(k) \
         :create r {k: Int => n: Int, s: String}",
        "::index create r:by_n {n}",
        "::index create r:by_s {s}",
    ] {
        engine.run(script, &Parameters::new()).unwrap();
    }
    (store, engine)
}

#[test]
fn an_update_writes_only_indexes_whose_columns_change() {
    let (store, engine) = thousand();
    let changed_at = |name: &str| {
        let entry = Catalog::new(Arc::clone(&store)).find(name).unwrap().unwrap();
        store.snapshot().changed_at(entry.keyspace()).unwrap()
    };
    let check = |script: &str, wanted: [bool; 2]| {
        let before = ["r:by_n", "r:by_s"].map(changed_at);
        engine.run(script, &Parameters::new()).unwrap();
        let after = ["r:by_n", "r:by_s"].map(changed_at);
        let changed = [before[0] != after[0], before[1] != after[1]];
        assert_eq!(changed, wanted, "{script}");
        check_indexes(&engine, 1000);
    };
    check("?[k, n] := *r{k, n: m}, n = m + 1 :update r {k => n}", [true, false]);
    check("?[k, s] := *r{k, s: t}, k < 5, s = concat(t, '!') :update r {k => s}", [false, true]);
    // Nothing changes.
    check("?[k, n] := *r{k, n} :update r {k => n}", [false, false]);
    check("?[k, n, s] := *r{k, n, s} :put r {k => n, s}", [false, false]);
    // The way of a single row, and of rows that are returned.
    check("?[k, n] := *r{k: 7, n}, k = 7 :update r {k => n}", [false, false]);
    check(
        "?[k, s] := *r{k, s: t}, s = concat(t, '?') :update r {k => s} :returning",
        [false, true],
    );
}

#[test]
fn the_first_refused_row_is_told_in_the_order_of_the_rows() {
    let (_, engine) = thousand();
    let none = Parameters::new();
    let refused = |kind, ks: &[i64]| {
        let rows = ks.iter().map(|&k| vec![Value::Int(k), Value::Int(1), Value::Str("x".into())]);
        let rows = Frame::of_rows(["k", "n", "s"].map(str::to_owned).to_vec(), rows.collect());
        let rows = rows.unwrap();
        let change = Change { relation: "r", kind, rows: &rows, is_import: false };
        engine.change(&[change], &Run::new(&none)).unwrap_err().to_string()
    };
    let is_there = |k| format!("row [{k}] of relation `r` already exists");
    let is_missing = |k| format!("row [{k}] of relation `r` does not exist");
    assert_eq!(refused(ChangeKind::Insert, &[3000, 9, 2000, 3]), is_there(9));
    assert_eq!(refused(ChangeKind::Insert, &[3000, 2000, 3000, 3]), is_there(3000));
    assert_eq!(refused(ChangeKind::Update, &[5, 3000, 2000, 1]), is_missing(3000));
}

#[test]
fn the_first_wrong_value_is_told_in_the_order_of_the_rows() {
    let (_, engine) = thousand();
    let script = "?[k, n, s] <- [[-2, 1, 2], [-1, 'x', 'y']] :insert r {k => n, s}";
    let error = engine.run(script, &Parameters::new()).unwrap_err();
    assert!(error.to_string().contains("column `s`"), "{error}");
}
