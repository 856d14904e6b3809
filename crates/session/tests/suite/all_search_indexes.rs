//! A relation with an index of each kind: after random writes of any kind, searches find what
//! reading all rows finds, in the transaction that writes and after it.

use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::{Frame, Series, Value};
use proptest::prelude::*;
use quipu_session::{Change, ChangeKind, Engine, Parameters, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use store::{Isolation, Store};

/// A text and a vector; each may be null.
type Row = (Option<String>, Option<[i64; 2]>);

/// Rows by key.
type Model = BTreeMap<i64, Row>;

const COLUMNS: &str = "{k: Int => text: String?, v: <F32; 2>?}";

/// One change of rows.
#[derive(Clone, Debug)]
enum Write {
    Put(BTreeMap<i64, Row>),
    /// Refused where a key exists.
    Insert(BTreeMap<i64, Row>),
    Remove(BTreeSet<i64>),
    /// Sets the vectors of the rows that exist.
    Move([i64; 2]),
    /// Sets the texts of the rows that exist.
    Rewrite(String),
    Replace(BTreeMap<i64, Row>),
}

/// Writes that take effect together.
#[derive(Clone, Debug)]
enum Step {
    /// A script with a block for each write.
    Script(Vec<Write>),
    /// A transaction with a script for each write; it commits or is rolled back.
    Transaction(Vec<Write>, bool),
    /// Rows of the caller, with or without triggers.
    Frame(BTreeMap<i64, Row>, bool),
    /// Rows that a trigger of another relation puts.
    Trigger(BTreeMap<i64, Row>),
    /// The relation gets another name, in which rows are put, and its own again.
    Rename(BTreeMap<i64, Row>),
}

fn rows_of(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine.run(script, &Parameters::new());
    values(output.unwrap_or_else(|error| panic!("{}", error.render(script))))
}

fn values(output: exec::query_result::QueryResult) -> Vec<Vec<Value>> {
    (0..output.rows).map(|row| output.row(row)).collect()
}

fn given(rows: &BTreeMap<i64, Row>) -> String {
    let row = |(k, (text, v)): (&i64, &Row)| {
        let text = text.as_ref().map_or("null".to_owned(), |text| format!("'{text}'"));
        let v = v.map_or("null".to_owned(), |[a, b]| format!("[{a}, {b}]"));
        format!("[{k}, {text}, {v}]")
    };
    format!("?[k, text, v] <- [{}]", rows.iter().map(row).collect::<Vec<_>>().join(", "))
}

impl Write {
    fn script(&self) -> String {
        match self {
            Self::Put(rows) => format!("{} :put doc {{k => text, v}}", given(rows)),
            Self::Insert(rows) => format!("{} :insert doc {{k => text, v}}", given(rows)),
            Self::Remove(keys) => {
                let keys: Vec<String> = keys.iter().map(|k| format!("[{k}]")).collect();
                format!("?[k] <- [{}] :rm doc {{k}}", keys.join(", "))
            }
            Self::Move([a, b]) => {
                format!("?[k, v] := *doc{{k}}, v = vec([{a}, {b}]) :update doc {{k => v}}")
            }
            Self::Rewrite(text) => {
                format!("?[k, text] := *doc{{k}}, text = '{text}' :update doc {{k => text}}")
            }
            Self::Replace(rows) => format!("{} :replace doc {COLUMNS}", given(rows)),
        }
    }

    /// Changes the model; returns whether the engine must accept it.
    fn apply(&self, model: &mut Model) -> bool {
        match self {
            Self::Put(rows) => model.extend(rows.clone()),
            Self::Insert(rows) => {
                if rows.keys().any(|k| model.contains_key(k)) {
                    return false;
                }
                model.extend(rows.clone());
            }
            Self::Remove(keys) => model.retain(|k, _| !keys.contains(k)),
            Self::Move(to) => model.values_mut().for_each(|(_, v)| *v = Some(*to)),
            Self::Rewrite(to) => {
                model.values_mut().for_each(|(text, _)| *text = Some(to.clone()));
            }
            Self::Replace(rows) => model.clone_from(rows),
        }
        true
    }
}

fn change_rows(engine: &Engine, rows: &BTreeMap<i64, Row>, is_import: bool) {
    let keys: Vec<Value> = rows.keys().map(|k| Value::Int(*k)).collect();
    let text = |(text, _): &Row| text.clone().map_or(Value::Null, Value::Str);
    let vector = |(_, v): &Row| {
        v.map_or(Value::Null, |v| Value::List(v.into_iter().map(Value::Int).collect()))
    };
    let texts: Vec<Value> = rows.values().map(text).collect();
    let vectors: Vec<Value> = rows.values().map(vector).collect();
    let names = ["k", "text", "v"].map(str::to_owned).to_vec();
    let columns = vec![Series::from(keys), texts.into(), vectors.into()];
    let rows = Frame::new(names, columns).unwrap();
    let change = Change { relation: "doc", kind: ChangeKind::Put, rows: &rows, is_import };
    engine.change(&[change], &Run::new(&Parameters::new())).unwrap();
}

fn apply(engine: &Engine, store: &Arc<dyn Store>, model: &mut Model, step: &Step) {
    match step {
        Step::Script(writes) => {
            let mut after = model.clone();
            let is_accepted = writes.iter().all(|write| write.apply(&mut after));
            let blocks: Vec<String> =
                writes.iter().map(|write| format!("{{ {} }}", write.script())).collect();
            let script = blocks.join(" ");
            match is_accepted {
                true => {
                    rows_of(engine, &script);
                    *model = after;
                }
                false => assert!(engine.run(&script, &Parameters::new()).is_err(), "{script}"),
            }
        }
        Step::Transaction(writes, commits) => {
            let transaction = store.begin(Isolation::Snapshot);
            let mut state = engine.transaction_state();
            let parameters = Parameters::new();
            let mut after = model.clone();
            for write in writes {
                let run = Run::new(&parameters);
                let mut changed = after.clone();
                let script = write.script();
                let done = engine.run_in(&*transaction, &script, &run, &mut state);
                // A script that fails leaves nothing behind in its transaction.
                assert_eq!(done.is_ok(), write.apply(&mut changed), "{script}");
                if done.is_ok() {
                    after = changed;
                }
                check_searches(&after, &mut |script| {
                    let run = Run::new(&parameters);
                    let found = engine.run_in(&*transaction, script, &run, &mut state);
                    values(found.unwrap_or_else(|error| panic!("{}", error.render(script))))
                });
            }
            if *commits {
                transaction.commit().unwrap();
                *model = after;
            } else {
                drop(transaction);
            }
        }
        Step::Frame(rows, is_import) => {
            change_rows(engine, rows, *is_import);
            model.extend(rows.clone());
        }
        Step::Trigger(rows) => {
            rows_of(engine, &format!("{} :put source {{k => text, v}}", given(rows)));
            model.extend(rows.clone());
        }
        Step::Rename(rows) => {
            let put = format!("{} :put other {{k => text, v}}", given(rows));
            rows_of(engine, &format!("{{::rename doc -> other}} {{ {put} }}"));
            rows_of(engine, "::rename other -> doc");
            model.extend(rows.clone());
        }
    }
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Searches by each index find what reading the model finds.
fn check_searches(model: &Model, run: &mut dyn FnMut(&str) -> Vec<Vec<Value>>) {
    let keys = |is_found: &dyn Fn(&Row) -> bool| -> Vec<Vec<Value>> {
        let found = model.iter().filter(|(_, row)| is_found(row));
        found.map(|(k, _)| vec![Value::Int(*k)]).collect()
    };
    for word in ["a", "b"] {
        let has = |(text, _): &Row| text.as_ref().is_some_and(|text| words(text).contains(word));
        let script = format!("?[k] := ~doc:words{{k | query: '{word}', k: 100}}");
        assert_eq!(run(&script), keys(&has), "{script}");
    }
    for text in ["a", "a b c", ""] {
        let wanted = words(text);
        let is_like = |(other, _): &Row| {
            !wanted.is_empty() && other.as_ref().is_some_and(|other| words(other) == wanted)
        };
        // The sets are small, so that the signatures of different ones differ.
        let script = format!(
            "?[k] := ~doc:like{{k | query: '{text}', k: 100, bind_similarity: s, filter: s == 1}}"
        );
        assert_eq!(run(&script), keys(&is_like), "{script}");
    }
    for [a, b] in [[0, 0], [3, 1]] {
        let distance = |[x, y]: [i64; 2]| ((x - a) * (x - a) + (y - b) * (y - b)) as f64;
        let near = |(k, (_, v)): (&i64, &Row)| Some((*k, distance((*v)?)));
        let mut wanted: Vec<(i64, f64)> = model.iter().filter_map(near).collect();
        wanted.sort_by(|x, y| x.1.total_cmp(&y.1).then(x.0.cmp(&y.0)));
        let script = format!(
            "?[d, k] := ~doc:near{{k | query: vec([{a}, {b}]), k: 100, ef: 1000, bind_distance: d}} \
             :order d, k"
        );
        let pair = |row: &Vec<Value>| match row[..] {
            [Value::Float(distance), Value::Int(k)] => (k, distance),
            _ => panic!("{row:?}"),
        };
        let found: Vec<(i64, f64)> = run(&script).iter().map(pair).collect();
        assert_eq!(found, wanted, "{script}");
    }
}

fn check(engine: &Engine, model: &Model) {
    let (sound, problems) = engine.check_indexes().unwrap();
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(sound.len(), 3);
    check_searches(model, &mut |script| rows_of(engine, script));
}

fn any_row() -> impl Strategy<Value = Row> {
    let text = prop::option::weighted(0.8, "([abc] ){0,4}");
    (text, prop::option::weighted(0.8, [0_i64..5, 0_i64..5]))
}

fn any_rows() -> impl Strategy<Value = BTreeMap<i64, Row>> {
    prop::collection::btree_map(0_i64..15, any_row(), 1..8)
}

fn any_write() -> impl Strategy<Value = Write> {
    prop_oneof![
        4 => any_rows().prop_map(Write::Put),
        1 => any_rows().prop_map(Write::Insert),
        3 => prop::collection::btree_set(0_i64..15, 1..8).prop_map(Write::Remove),
        1 => [0_i64..5, 0_i64..5].prop_map(Write::Move),
        1 => "([abc] ){0,4}".prop_map(Write::Rewrite),
        1 => any_rows().prop_map(Write::Replace),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let writes = || prop::collection::vec(any_write(), 1..4);
    prop_oneof![
        3 => writes().prop_map(Step::Script),
        3 => (writes(), any::<bool>()).prop_map(|(writes, ends)| Step::Transaction(writes, ends)),
        1 => (any_rows(), any::<bool>()).prop_map(|(rows, import)| Step::Frame(rows, import)),
        1 => any_rows().prop_map(Step::Trigger),
        1 => any_rows().prop_map(Step::Rename),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn all_indexes_of_a_relation_follow_every_change(
        steps in prop::collection::vec(any_step(), 1..8),
    ) {
        let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(1));
        let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let engine = Engine::new(Arc::clone(&store), env, 1 << 30);
        rows_of(&engine, &format!(":create doc {COLUMNS}"));
        rows_of(&engine, &format!(":create source {COLUMNS}"));
        let put = "?[k, text, v] := _new[k, text, v] :put doc {k => text, v}";
        rows_of(&engine, &format!("::set_triggers source on put {{ {put} }}"));
        let settings = "extractor: text, tokenizer: Simple, filters: [Lowercase]";
        rows_of(&engine, &format!("::fts create doc:words {{{settings}}}"));
        rows_of(&engine, &format!("::lsh create doc:like {{{settings}, target_threshold: 0.5}}"));
        rows_of(&engine, "::hnsw create doc:near {dim: 2, fields: [v], m: 4, ef_construction: 20}");
        let mut model = Model::new();
        for step in &steps {
            apply(&engine, &store, &mut model, step);
            check(&engine, &model);
        }
    }
}
