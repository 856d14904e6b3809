//! Vector indexes follow their relations, whatever changes the rows, and searches find what
//! comparing all vectors finds.

use crate::common::{engine_of, engine_with_store};
use crate::rows::run;
use model::{Frame, Series, Value};
use proptest::prelude::*;
use quipu_session::{Change, ChangeKind, Engine, Parameters, Run};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Store;

/// Vectors by key.
type Model = BTreeMap<i64, [i64; 2]>;

const INDEX: &str = "::hnsw create doc:near {dim: 2, fields: [v], m: 4, ef_construction: 20}";

fn indexed(engine: &Engine) {
    run(engine, ":create doc {k: Int => v: <F32; 2>}");
    run(engine, INDEX);
}

/// One change of the relation.
#[derive(Clone, Debug)]
enum Step {
    Put(Vec<(i64, [i64; 2])>),
    Import(Vec<(i64, [i64; 2])>),
    Remove(Vec<i64>),
    Update([i64; 2]),
    Replace(Vec<(i64, [i64; 2])>),
    /// A script that puts rows and then fails.
    Failed(Vec<(i64, [i64; 2])>),
    /// A script that puts rows twice, and removes some.
    Several(Vec<(i64, [i64; 2])>, Vec<(i64, [i64; 2])>, Vec<i64>),
}

fn texts(rows: &[(i64, [i64; 2])]) -> String {
    let rows: Vec<String> = rows.iter().map(|(k, [a, b])| format!("[{k}, [{a}, {b}]]")).collect();
    format!("?[k, v] <- [{}]", rows.join(", "))
}

fn keys(keys: &[i64]) -> String {
    let keys: Vec<String> = keys.iter().map(|k| format!("[{k}]")).collect();
    format!("?[k] <- [{}]", keys.join(", "))
}

fn import(engine: &Engine, rows: &[(i64, [i64; 2])]) {
    let ints: Vec<Value> = rows.iter().map(|(k, _)| Value::Int(*k)).collect();
    let vector = |(_, [a, b]): &(i64, [i64; 2])| Value::List(vec![Value::Int(*a), Value::Int(*b)]);
    let vectors: Vec<Value> = rows.iter().map(vector).collect();
    let names = ["k", "v"].map(str::to_owned).to_vec();
    let rows = Frame::new(names, vec![Series::from(ints), vectors.into()]).unwrap();
    let change = Change { relation: "doc", kind: ChangeKind::Put, rows: &rows, is_import: true };
    let parameters = Parameters::new();
    engine.change(&[change], &Run::new(&parameters)).unwrap();
}

/// Rows of a script are a set in order; of equal keys the last stays.
fn put(model: &mut Model, rows: &[(i64, [i64; 2])]) {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    model.extend(rows);
}

fn apply(engine: &Engine, model: &mut Model, step: &Step) {
    match step {
        Step::Put(rows) => {
            run(engine, &format!("{} :put doc {{k => v}}", texts(rows)));
            put(model, rows);
        }
        Step::Import(rows) => {
            import(engine, rows);
            model.extend(rows.iter().copied());
        }
        Step::Remove(gone) => {
            run(engine, &format!("{} :rm doc {{k}}", keys(gone)));
            model.retain(|k, _| !gone.contains(k));
        }
        Step::Update([a, b]) => {
            let script =
                format!("?[k, v] := *doc{{k}}, v = vec([{a}, {b}]) :update doc {{k => v}}");
            run(engine, &script);
            model.values_mut().for_each(|old| *old = [*a, *b]);
        }
        Step::Replace(rows) => {
            let script = format!("{} :replace doc {{k: Int => v: <F32; 2>}}", texts(rows));
            run(engine, &script);
            model.clear();
            put(model, rows);
        }
        Step::Failed(rows) => {
            let rows = texts(rows);
            let script =
                format!("{{ {rows} :put doc {{k => v}} }} {{ ?[x] := x = assert(false) }}");
            assert!(engine.run(&script, &Parameters::new()).is_err());
        }
        Step::Several(first, second, gone) => {
            let (one, two) = (texts(first), texts(second));
            let script = format!(
                "{{ {one} :put doc {{k => v}} }} {{ {two} :put doc {{k => v}} }} \
                 {{ {} :rm doc {{k}} }}",
                keys(gone)
            );
            run(engine, &script);
            put(model, first);
            put(model, second);
            model.retain(|k, _| !gone.contains(k));
        }
    }
}

/// The least distances from a point.
fn wanted(model: &Model, [a, b]: [i64; 2], k: usize) -> Vec<f64> {
    let distance = |[x, y]: &[i64; 2]| ((x - a) * (x - a) + (y - b) * (y - b)) as f64;
    let mut found: Vec<f64> = model.values().map(distance).collect();
    found.sort_by(f64::total_cmp);
    found.truncate(k);
    found
}

/// The distances of some rows with their keys; each must be that of the row.
fn distances(model: &Model, rows: &[Vec<Value>], [a, b]: [i64; 2]) -> Vec<f64> {
    let distance = |row: &Vec<Value>| match row[..] {
        [Value::Float(distance), Value::Int(k)] => {
            let [x, y] = model[&k];
            assert_eq!(distance, ((x - a) * (x - a) + (y - b) * (y - b)) as f64);
            distance
        }
        _ => panic!("{row:?}"),
    };
    rows.iter().map(distance).collect()
}

fn check(engine: &Engine, model: &Model) {
    let (sound, problems) = engine.check_indexes().unwrap();
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(sound.len(), 1);
    for (at @ [a, b], k) in [([0, 0], 3), ([3, 1], 100), ([9, 9], 1)] {
        let search = format!(
            "?[d, k] := ~doc:near{{k | query: vec([{a}, {b}]), k: {k}, bind_distance: d}} :order d"
        );
        assert_eq!(distances(model, &run(engine, &search), at), wanted(model, at, k), "{search}");
        // A transaction that has changed rows reads the stored graph.
        let changed = "{ ?[k, v] <- [[1000, [1000, 1000]]] :put doc {k => v} }";
        let script = format!("{changed} {{ ?[k] <- [[1000]] :rm doc {{k}} }} {{ {search} }}");
        assert_eq!(distances(model, &run(engine, &script), at), wanted(model, at, k), "{script}");
    }
}

fn any_rows() -> impl Strategy<Value = Vec<(i64, [i64; 2])>> {
    prop::collection::vec((0_i64..40, [0_i64..6, 0_i64..6]), 1..12)
}

fn any_step() -> impl Strategy<Value = Step> {
    let gone = || prop::collection::vec(0_i64..40, 1..8);
    prop_oneof![
        4 => any_rows().prop_map(Step::Put),
        2 => any_rows().prop_map(Step::Import),
        3 => gone().prop_map(Step::Remove),
        1 => [0_i64..6, 0_i64..6].prop_map(Step::Update),
        1 => any_rows().prop_map(Step::Replace),
        1 => any_rows().prop_map(Step::Failed),
        2 => (any_rows(), any_rows(), gone()).prop_map(|(a, b, gone)| Step::Several(a, b, gone)),
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
        run(&engine, "::hnsw drop doc:near");
        run(&engine, INDEX);
        check(&engine, &model);
    }
}

/// Puts rows with distinct vectors.
fn fill(engine: &Engine, from: i64, to: i64) {
    let script = format!(
        "?[k, v] := i in int_range({from}, {to}), k = i, v = vec([mod(i * 37, 101), mod(i * 53, 97)]) \
         :put doc {{k => v}}"
    );
    run(engine, &script);
}

fn point(k: i64) -> [i64; 2] {
    [k * 37 % 101, k * 53 % 97]
}

#[test]
fn a_cached_graph_follows_changes() {
    let engine = engine_of(1, 1 << 30);
    indexed(&engine);
    fill(&engine, 0, 600);
    let mut model: Model = (0..600).map(|k| (k, point(k))).collect();
    let search = |model: &Model, at @ [a, b]: [i64; 2]| {
        let script = format!(
            "?[d, k] := ~doc:near{{k | query: vec([{a}, {b}]), k: 5, bind_distance: d}} :order d"
        );
        assert_eq!(distances(model, &run(&engine, &script), at), wanted(model, at, 5));
    };
    for round in 0..20 {
        search(&model, [round * 5, round * 4]);
        run(&engine, &format!("?[k] <- [[{}], [{}]] :rm doc {{k}}", round, round * 20 + 100));
        model.remove(&round);
        model.remove(&(round * 20 + 100));
        run(&engine, &format!("?[k, v] <- [[{}, [{round}, 3]]] :put doc {{k => v}}", 200 + round));
        model.insert(200 + round, [round, 3]);
        search(&model, [round * 5, round * 4]);
        search(&model, [round, 3]);
    }
    let (_, problems) = engine.check_indexes().unwrap();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn a_filter_that_keeps_few_rows_still_finds_k_of_them() {
    let engine = engine_of(1, 1 << 30);
    indexed(&engine);
    fill(&engine, 0, 2000);
    for transaction in ["", "{ ?[k, v] <- [[3000, [500, 500]]] :put doc {k => v} }"] {
        let search = "?[d, k] := ~doc:near{k | query: vec([50, 50]), k: 10, ef: 10, \
                      bind_distance: d, filter: mod(k, 100) == 7} :order d";
        let found = run(&engine, &format!("{transaction} {{ {search} }}"));
        let model: Model = (0..2000).filter(|k| k % 100 == 7).map(|k| (k, point(k))).collect();
        assert_eq!(distances(&model, &found, [50, 50]), wanted(&model, [50, 50], 10));
    }
}

/// Runs scripts in transactions that begin together; returns whether each commits.
fn in_parallel(engine: &Engine, store: &Arc<dyn Store>, scripts: &[&str]) -> Vec<bool> {
    let parameters = Parameters::new();
    let open: Vec<_> = scripts.iter().map(|_| store.begin(store::Isolation::Snapshot)).collect();
    for (script, transaction) in scripts.iter().zip(&open) {
        let mut state = engine.transaction_state();
        engine.run_in(&**transaction, script, &Run::new(&parameters), &mut state).unwrap();
    }
    open.into_iter().map(|transaction| transaction.commit().is_ok()).collect()
}

fn is_sound(engine: &Engine) {
    assert_eq!(engine.check_indexes().unwrap().1, Vec::<String>::new());
}

#[test]
fn transactions_conflict_only_where_the_graph_would_break() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    indexed(&engine);
    let put = |k: i64, at: i64| format!("?[k, v] <- [[{k}, [{at}, 0]]] :put doc {{k => v}}");
    let remove = |k: i64| format!("?[k] <- [[{k}]] :rm doc {{k}}");
    // The first two vectors would not know of each other.
    assert_eq!(in_parallel(&engine, &store, &[&put(1, 1), &put(2, 2)]), [true, false]);
    is_sound(&engine);
    // Others may have the same neighbor.
    assert_eq!(in_parallel(&engine, &store, &[&put(2, 2), &put(3, 3)]), [true, true]);
    is_sound(&engine);
    // Nobody links to a vector that goes.
    assert_eq!(in_parallel(&engine, &store, &[&remove(3), &put(4, 4)]), [true, false]);
    assert_eq!(in_parallel(&engine, &store, &[&put(4, 4), &put(2, 9)]), [true, false]);
    is_sound(&engine);
    assert_eq!(run(&engine, "?[k] := ~doc:near{k | query: vec([0, 0]), k: 9}").len(), 3);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the writers are the test's own threads")]
fn writers_at_the_same_time_keep_the_graph_whole() {
    let engine = engine_of(4, 1 << 30);
    indexed(&engine);
    std::thread::scope(|threads| {
        for writer in 0..3 {
            let engine = &engine;
            threads.spawn(move || {
                for step in 0..10 {
                    let k = writer * 100 + step;
                    let [a, b] = point(k);
                    run(engine, &format!("?[k, v] <- [[{k}, [{a}, {b}]]] :put doc {{k => v}}"));
                    if step % 3 == 2 {
                        run(engine, &format!("?[k] <- [[{}]] :rm doc {{k}}", k - 1));
                    }
                }
            });
        }
    });
    let kept = (0..3).flat_map(|writer| {
        (0..10).filter(|step| ![1, 4, 7].contains(step)).map(move |step| writer * 100 + step)
    });
    check(&engine, &kept.map(|k| (k, point(k))).collect());
}

#[test]
fn an_index_that_lost_a_row_is_found_and_made_anew() {
    for lost in ["doc:near", "doc:near:vertices"] {
        let (engine, store) = engine_with_store(1, 1 << 30);
        indexed(&engine);
        fill(&engine, 0, 20);
        let catalog = relation::Catalog::new(Arc::clone(&store));
        let entry = catalog.find(lost).unwrap().unwrap();
        let shape = entry.schema().shape();
        let mut rows = base::Batch::new(&shape);
        let all = base::KeyRange::all(&shape.key);
        store
            .snapshot()
            .scan_into(entry.keyspace(), &all, base::Projection::ALL, 1, &mut rows)
            .unwrap();
        let table = store::TableWrites {
            keyspace: entry.keyspace(),
            kinds: store::Kinds::Uniform(base::Kind::Delete),
            rows,
            delete_ranges: Vec::new(),
        };
        store.write(&store::WriteBatch { tables: vec![table] }, None).unwrap();
        let (sound, problems) = engine.check_indexes().unwrap();
        assert_eq!((sound.len(), problems.len()), (0, 1), "{problems:?}");
        assert_eq!(engine.mend_indexes().unwrap().rebuilt, ["doc:near"]);
        is_sound(&engine);
    }
}

/// A process that was killed while it created the index leaves its keyspaces.
#[test]
fn an_index_that_is_not_complete_is_not_searched() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    indexed(&engine);
    fill(&engine, 0, 20);
    let catalog = relation::Catalog::new(Arc::clone(&store));
    let (def, _) = catalog.search_index("doc:near").unwrap().unwrap();
    run(&engine, "::hnsw drop doc:near");
    catalog.create_search_index(&def).unwrap();
    let search = "?[k] := ~doc:near{k | query: vec([0, 0]), k: 1}";
    let error = engine.run(search, &Parameters::new()).unwrap_err().render(search);
    assert!(error.contains("the index `doc:near` is not complete"), "{error}");
    is_sound(&engine);
    run(&engine, INDEX);
    assert_eq!(run(&engine, search).len(), 1);
}

#[test]
fn rows_are_put_a_few_at_a_time_where_the_graph_would_not_fit_into_memory() {
    let engine = engine_of(1, 2 << 20);
    indexed(&engine);
    for from in (0..4000).step_by(500) {
        fill(&engine, from, from + 500);
    }
    is_sound(&engine);
    let search = "?[d] := ~doc:near{k | query: vec([0, 0]), k: 1, bind_distance: d}";
    assert_eq!(run(&engine, search), [[Value::Float(0.0)]]);
}

#[test]
fn neighbors_of_each_row_are_found_by_a_join() {
    let engine = engine_of(1, 1 << 30);
    indexed(&engine);
    fill(&engine, 0, 300);
    let found = run(
        &engine,
        "?[k, count(near), min(d)] := *doc{k, v}, k < 50, \
         ~doc:near{k: near | query: v, k: 4, bind_distance: d}",
    );
    assert_eq!(found.len(), 50);
    for row in found {
        assert_eq!(row[1..], [Value::Int(4), Value::Float(0.0)]);
    }
}
