//! Search indexes follow their relations, whatever changes the rows, and searches find what reading
//! all rows finds.

use crate::common::{engine_of, engine_with_store};
use crate::rows::run;
use model::{Frame, Series, Value};
use proptest::prelude::*;
use quipu_session::{Change, ChangeKind, Engine, Parameters, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::Store;

/// Texts by key.
type Model = BTreeMap<i64, String>;

fn indexed(engine: &Engine) {
    run(engine, ":create doc {k: Int => text: String}");
    create_indexes(engine);
}

fn create_indexes(engine: &Engine) {
    let settings = "extractor: text, tokenizer: Simple, filters: [Lowercase]";
    run(engine, &format!("::fts create doc:words {{{settings}}}"));
    run(engine, &format!("::lsh create doc:like {{{settings}, target_threshold: 0.5}}"));
}

/// One change of the relation.
#[derive(Clone, Debug)]
enum Step {
    Put(Vec<(i64, String)>),
    Import(Vec<(i64, String)>),
    Remove(Vec<i64>),
    ImportedRemoval(Vec<i64>),
    /// Changes the rows that are there.
    Update(String),
    Replace(Vec<(i64, String)>),
    /// A script that puts rows and then fails.
    Failed(Vec<(i64, String)>),
    /// Puts, and undoes a part of the script that fails.
    Undone(Vec<(i64, String)>, Vec<(i64, String)>),
}

/// The rows of a script as they are put: a set in order, of whose equal keys the last stays.
fn in_order(rows: &[(i64, String)]) -> BTreeSet<(i64, String)> {
    rows.iter().cloned().collect()
}

fn texts(rows: &[(i64, String)]) -> String {
    let rows: Vec<String> = rows.iter().map(|(k, text)| format!("[{k}, '{text}']")).collect();
    format!("?[k, text] <- [{}]", rows.join(", "))
}

fn keys(keys: &[i64]) -> String {
    let keys: Vec<String> = keys.iter().map(|k| format!("[{k}]")).collect();
    format!("?[k] <- [{}]", keys.join(", "))
}

fn import(engine: &Engine, kind: ChangeKind, rows: &[(i64, String)]) {
    let ints: Vec<Value> = rows.iter().map(|(k, _)| Value::Int(*k)).collect();
    let texts: Vec<Value> = rows.iter().map(|(_, text)| Value::Str(text.clone())).collect();
    let names = ["k", "text"].map(str::to_owned).to_vec();
    let rows = Frame::new(names, vec![Series::from(ints), texts.into()]).unwrap();
    let change = Change { relation: "doc", kind, rows: &rows, is_import: true };
    let parameters = Parameters::new();
    engine.change(&[change], &Run::new(&parameters)).unwrap();
}

fn apply(engine: &Engine, model: &mut Model, step: &Step) {
    match step {
        Step::Put(rows) => {
            run(engine, &format!("{} :put doc {{k => text}}", texts(rows)));
            model.extend(in_order(rows));
        }
        Step::Import(rows) => {
            import(engine, ChangeKind::Put, rows);
            model.extend(rows.iter().cloned());
        }
        Step::Remove(gone) => {
            run(engine, &format!("{} :rm doc {{k}}", keys(gone)));
            gone.iter().for_each(|k| drop(model.remove(k)));
        }
        Step::ImportedRemoval(gone) => {
            let rows: Vec<(i64, String)> = gone.iter().map(|k| (*k, String::new())).collect();
            import(engine, ChangeKind::Rm, &rows);
            gone.iter().for_each(|k| drop(model.remove(k)));
        }
        Step::Update(text) => {
            run(
                engine,
                &format!("?[k, text] := *doc{{k}}, text = '{text}' :update doc {{k => text}}"),
            );
            model.values_mut().for_each(|old| old.clone_from(text));
        }
        Step::Replace(rows) => {
            run(engine, &format!("{} :replace doc {{k: Int => text: String}}", texts(rows)));
            *model = in_order(rows).into_iter().collect();
        }
        Step::Failed(rows) => {
            let script = format!(
                "{{ {} :put doc {{k => text}} }} {{ ?[x] := x = assert(false) }}",
                texts(rows)
            );
            assert!(engine.run(&script, &Parameters::new()).is_err());
        }
        Step::Undone(rows, undone) => {
            let part = format!("{{ {} :insert doc {{k => text}} }}", texts(undone));
            let script =
                format!("{{ {} :put doc {{k => text}} }} %ignore_error {part}", texts(rows));
            run(engine, &script);
            model.extend(in_order(rows));
            let undone = in_order(undone);
            let by_key: Model = undone.iter().cloned().collect();
            if by_key.len() == undone.len() && by_key.keys().all(|k| !model.contains_key(k)) {
                model.extend(by_key);
            }
        }
    }
}

/// Keys and scores that a search must find: rows with all words, by the number of these.
fn wanted(model: &Model, words: &[&str], k: usize) -> Vec<(i64, f64)> {
    let count = |text: &str, word: &str| {
        text.split(|c: char| !c.is_alphanumeric()).filter(|found| *found == word).count()
    };
    let found = model.iter().filter_map(|(&key, text)| {
        let counts: Vec<usize> = words.iter().map(|word| count(text, word)).collect();
        let is_found = counts.iter().all(|count| *count > 0);
        is_found.then(|| (key, counts.iter().sum::<usize>() as f64))
    });
    let mut found: Vec<(i64, f64)> = found.collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(k);
    found.sort_by_key(|(key, _)| *key);
    found
}

/// Rows with the same set of words as a text. Their signatures are equal, and those of others are
/// not: the sets are small, so they differ in a sixth at least, and 198 values are compared.
fn check_same_words(engine: &Engine, model: &Model) {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    for text in ["a b", "b. ab", "aa", "", "a ab b bb"] {
        let wanted = words(text);
        let same = |(_, other): &(&i64, &String)| !wanted.is_empty() && words(other) == wanted;
        let same: Vec<Vec<Value>> =
            model.iter().filter(same).map(|(k, _)| vec![Value::Int(*k)]).collect();
        let script = format!(
            "?[k] := ~doc:like{{k | query: '{text}', k: 100, bind_similarity: s, filter: s == 1}}"
        );
        assert_eq!(run(engine, &script), same, "{script}");
    }
}

fn check(engine: &Engine, model: &Model) {
    let (sound, problems) = engine.check_indexes().unwrap();
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(sound.len(), 2);
    check_same_words(engine, model);
    for (words, k) in [(&["a"][..], 3), (&["b"], 100), (&["a", "b"], 2)] {
        let script = format!(
            "?[k, s] := ~doc:words{{k | query: '{}', k: {k}, score_kind: 'tf', bind_score: s}}",
            words.join(" ")
        );
        let found: Vec<(i64, f64)> = run(engine, &script)
            .iter()
            .map(|row| match row[..] {
                [Value::Int(k), Value::Float(score)] => (k, score),
                _ => panic!("{row:?}"),
            })
            .collect();
        assert_eq!(found, wanted(model, words, k), "{script}");
    }
}

fn any_rows() -> impl Strategy<Value = Vec<(i64, String)>> {
    prop::collection::vec((0_i64..9, "([ab]{1,2}[ .]){0,6}"), 1..5)
}

fn any_step() -> impl Strategy<Value = Step> {
    let gone = || prop::collection::vec(0_i64..9, 1..4);
    prop_oneof![
        4 => any_rows().prop_map(Step::Put),
        2 => any_rows().prop_map(Step::Import),
        2 => gone().prop_map(Step::Remove),
        1 => gone().prop_map(Step::ImportedRemoval),
        1 => "([ab] ){0,3}".prop_map(Step::Update),
        1 => any_rows().prop_map(Step::Replace),
        1 => any_rows().prop_map(Step::Failed),
        2 => (any_rows(), any_rows()).prop_map(|(rows, undone)| Step::Undone(rows, undone)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_index_follows_every_change(steps in prop::collection::vec(any_step(), 1..8)) {
        let engine = engine_of(1, 1 << 30);
        indexed(&engine);
        let mut model = Model::new();
        for step in &steps {
            apply(&engine, &mut model, step);
            check(&engine, &model);
        }
        // An index that is made of the rows finds the same.
        run(&engine, "::fts drop doc:words");
        run(&engine, "::lsh drop doc:like");
        create_indexes(&engine);
        check(&engine, &model);
    }
}

#[test]
fn transactions_that_change_different_rows_do_not_conflict() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    indexed(&engine);
    let scripts = [
        "?[k, text] <- [[1, 'a b']] :put doc {k => text}",
        "?[k, text] <- [[2, 'a c']] :put doc {k => text}",
    ];
    let parameters = Parameters::new();
    let open = scripts.map(|_| store.begin(store::Isolation::Snapshot));
    let mut states = scripts.map(|_| engine.transaction_state());
    for ((script, transaction), state) in scripts.iter().zip(&open).zip(&mut states) {
        engine.run_in(&**transaction, script, &Run::new(&parameters), state).unwrap();
    }
    for transaction in open {
        transaction.commit().unwrap();
    }
    let model = [(1, "a b".to_owned()), (2, "a c".to_owned())].into();
    check(&engine, &model);
}

#[test]
fn an_index_that_lost_a_row_is_found_and_made_anew() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    indexed(&engine);
    run(&engine, "?[k, text] <- [[1, 'a b'], [2, 'a']] :put doc {k => text}");
    let row = [Value::Str("a".to_owned()), Value::Int(1), Value::Int(1), Value::Int(1)];
    delete(&store, "doc:words", [&row[..], &[Value::Bytes(vec![0])]].concat());
    let (sound, problems) = engine.check_indexes().unwrap();
    assert_eq!(sound.len(), 1);
    assert_eq!(
        problems,
        ["index \"doc:words\" holds counts of words that do not match its rows\n\
          hint: `quipu repair` makes it anew from the relation"]
    );
    assert_eq!(engine.mend_indexes().unwrap().rebuilt, ["doc:words"]);
    check(&engine, &[(1, "a b".to_owned()), (2, "a".to_owned())].into());
}

/// Deletes a row behind the back of its index or relation.
fn delete(store: &Arc<dyn Store>, relation: &str, row: Vec<Value>) {
    let catalog = relation::Catalog::new(Arc::clone(store));
    let entry = catalog.find(relation).unwrap().unwrap();
    let mut rows = base::Batch::new(&entry.schema().shape());
    entry.schema().append(row, &mut rows).unwrap();
    let table = store::TableWrites {
        keyspace: entry.keyspace(),
        kinds: store::Kinds::Uniform(base::Kind::Delete),
        rows,
        delete_ranges: Vec::new(),
    };
    store.write(&store::WriteBatch { tables: vec![table] }, None).unwrap();
}

#[test]
fn an_index_of_near_duplicates_that_lost_a_row_is_found_and_made_anew() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    indexed(&engine);
    run(&engine, "?[k, text] <- [[1, 'a b'], [2, 'a']] :put doc {k => text}");
    let hashes = run(&engine, "?[hash] := *doc:like{hash, src_k: 1}");
    let [hash] = &hashes[0][..] else { panic!("{hashes:?}") };
    delete(&store, "doc:like", vec![hash.clone(), Value::Int(1)]);
    delete(&store, "doc:like:inv", vec![Value::Int(2), Value::Bytes(vec![])]);
    let (sound, problems) = engine.check_indexes().unwrap();
    assert_eq!(sound.len(), 1);
    assert_eq!(
        problems,
        ["index \"doc:like\" holds 65 rows, the relation 66\n\
          hint: `quipu repair` makes it anew from the relation"]
    );
    let script = "?[k] := ~doc:like{k | query: 'a', k: 5}";
    let error = engine.run(script, &Parameters::new()).unwrap_err().render(script);
    assert!(error.contains("a row of a band has no signature"), "{error}");
    assert_eq!(engine.mend_indexes().unwrap().rebuilt, ["doc:like"]);
    check(&engine, &[(1, "a b".to_owned()), (2, "a".to_owned())].into());
}

#[test]
fn a_search_in_a_rule_that_is_asked_for_some_values_finds_the_same() {
    let engine = engine_of(1, 1 << 30);
    indexed(&engine);
    run(
        &engine,
        "?[k, text] := k in int_range(100), text = if(k % 2 == 0, 'a even', 'a odd') :put doc {k => text}",
    );
    run(
        &engine,
        "?[k, word] <- [[4, 'even'], [5, 'odd'], [6, 'odd']] :create ask {k: Int => word: String}",
    );
    for (script, want) in [
        (
            "found[k] := ~doc:words{k | query: 'even', k: 1000} ?[k] := *ask{k}, found[k]",
            vec![4, 6],
        ),
        (
            "found[q, k] := *ask{word: q}, ~doc:words{k | query: q, k: 1000} ?[k] := *ask{k, word}, found[word, k]",
            vec![4, 5],
        ),
        ("?[k] := *ask{k, word}, ~doc:words{k | query: word, k: 1000}", vec![4, 5]),
        ("?[k] := k = 4, ~doc:words{k | query: 'even', k: 1000}", vec![4]),
        (
            "?[k] := ~doc:words{k, text | query: 'a', k: 1000, filter: text == 'a odd'}, k < 4",
            vec![1, 3],
        ),
        (
            "r[k] := ~doc:words{k | query: 'even', k: 2} r[k] := r[j], k = j + 1, k < 5 ?[k] := r[k]",
            vec![0, 1, 2, 3, 4],
        ),
    ] {
        let want: Vec<Vec<Value>> = want.into_iter().map(|k| vec![Value::Int(k)]).collect();
        assert_eq!(run(&engine, script), want, "{script}");
    }
}

#[test]
fn an_index_that_is_made_in_several_portions_has_the_same_rows() {
    let [small, large] = [2 << 20, 1 << 30].map(|memory_bytes_max| {
        let engine = engine_of(2, memory_bytes_max);
        run(&engine, ":create doc {k: Int => text: String}");
        for part in 0..20_i64 {
            let text = |k: i64| format!("word{} of all W{} words of {k} of", k * k % 97, k % 1_000);
            let rows: Vec<_> = (part * 500..part * 500 + 500).map(|k| (k, text(k))).collect();
            import(&engine, ChangeKind::Put, &rows);
        }
        let settings = "extractor: text, tokenizer: Simple, filters: [Lowercase]";
        run(&engine, &format!("::fts create doc:words {{{settings}}}"));
        engine
    });
    // About 70,000 postings take more than a fourth of the smaller memory.
    let sums = "?[count(k), sum(f), sum(l)] := \
                *doc:words{word, src_k: k, frequency: f, total_length: l}";
    let some = "?[k, word, f, l, p] := k % 50 == 3, \
                *doc:words{word, src_k: k, frequency: f, total_length: l, positions: p}";
    for script in [sums, some] {
        assert_eq!(run(&small, script), run(&large, script));
    }
    for (word, documents) in [("of", 10_000), ("w7", 10), ("9999", 1)] {
        let script = format!("?[count(k)] := ~doc:words{{k | query: '{word}', k: 100000}}");
        assert_eq!(run(&small, &script), [[Value::Int(documents)]], "{word}");
    }
    let check =
        "?[k, s] := ~doc:words{k | query: 'word5 w7', k: 9, score_kind: 'bm25', bind_score: s}";
    assert_eq!(run(&small, check), run(&large, check));
}
