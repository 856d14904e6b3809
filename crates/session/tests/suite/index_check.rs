//! A check finds an index that does not match its relation.

use crate::common::engine_of;
use base::{Batch, Kind, Projection};
use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::Value;
use quipu_session::{Engine, IndexCheck, Parameters};
use relation::Catalog;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use store::{Isolation, Kinds, Store, TableWrites, WriteBatch};

fn run(engine: &Engine, script: &str) {
    engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{}", error.render(script)));
}

#[test]
fn an_index_without_a_row_or_with_another_one_is_no_sound_index() {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(2));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let engine = Engine::new(Arc::clone(&store), env, 1 << 30);
    run(
        &engine,
        "?[k, v, t] := k in int_range(1000), v = k % 7, t = to_string(k) :create r {k: Int => v: Int, t: String}",
    );
    run(&engine, "::index create r:by_v {v}");
    run(&engine, "::index create r:by_t {t}");
    run(&engine, "?[k, v] := k in int_range(0, 500), v = k % 5 :update r {k => v}");
    run(&engine, "?[k] := k in int_range(100, 200) :rm r {k}");
    let sound = |name: &str, rows| IndexCheck { name: name.to_owned(), rows };
    let by_t = sound("r:by_t", 900);
    assert_eq!(
        engine.check_indexes().unwrap(),
        (vec![by_t.clone(), sound("r:by_v", 900)], Vec::new())
    );

    let entry = Catalog::new(Arc::clone(&store)).find("r:by_v").unwrap().unwrap();
    let (keyspace, shape) = (entry.keyspace(), entry.schema().shape());
    let first = |of: usize| {
        let mut rows = Batch::new(&shape);
        let snapshot = store.snapshot();
        let mut scan =
            snapshot.scan(keyspace, base::KeyRange::all_words(), Projection::ALL).unwrap();
        scan.next_batch(of + 1, &mut rows).unwrap();
        rows.keys.get(of)
    };
    let write = |kind, key: base::Key| {
        let mut rows = Batch::new(&shape);
        rows.keys.push(key.as_ref());
        rows.rows = 1;
        let kinds = Kinds::Uniform(kind);
        let table = TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() };
        let transaction = store.begin(Isolation::Snapshot);
        transaction.write(&WriteBatch { tables: vec![table] }).unwrap();
        transaction.commit().unwrap();
    };
    write(Kind::Delete, first(3));
    let (others, problems) = engine.check_indexes().unwrap();
    assert_eq!(others, [by_t]);
    assert_eq!(
        problems,
        ["index \"r:by_v\" holds 899 rows, the relation 900\n\
          hint: ::index drop r:by_v, then ::index create, makes it anew from the relation"]
    );

    // The right number of rows, but other ones.
    write(Kind::Put, base::Key::words(&[base::int_to_word(99), base::int_to_word(99)]));
    let (_, problems) = engine.check_indexes().unwrap();
    assert!(problems[0].contains("900 rows, and so does the relation, but others"), "{problems:?}");

    // The hint in the message helps.
    run(&engine, "::index drop r:by_v");
    run(&engine, "::index create r:by_v {v}");
    assert_eq!(engine.check_indexes().unwrap().1, Vec::<String>::new());
    let output = engine.run("?[count(k)] := *r{k, v: 99}", &Parameters::new()).unwrap();
    assert_eq!(output.value(0, 0), Value::Int(0));
}

/// Relations and indexes that are created or dropped during a check are not errors.
#[test]
#[expect(clippy::disallowed_methods, reason = "a thread of the test")]
fn indexes_that_come_and_go_beside_a_check_are_nothing_wrong() {
    let engine = engine_of(2, 1 << 30);
    run(&engine, "?[k, v] := k in int_range(100), v = k % 7 :create stays {k: Int => v: Int}");
    run(&engine, "::index create stays:by_v {v}");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                run(
                    &engine,
                    "?[k, v] := k in int_range(9), v = k % 2 :create r {k: Int => v: Int}",
                );
                run(&engine, "::index create r:by_v {v}");
                run(&engine, "?[k, v] := k in int_range(5), v = k :put r {k => v}");
                run(&engine, "::index drop r:by_v");
                run(&engine, "::remove r");
            }
        });
        for _ in 0..20_000 {
            let outcome = engine.check_indexes();
            done.store(outcome.is_err(), Relaxed);
            let (sound, problems) = outcome.unwrap();
            done.store(!problems.is_empty(), Relaxed);
            assert_eq!(problems, Vec::<String>::new());
            assert!(sound.iter().any(|index| index.name == "stays:by_v"), "{sound:?}");
        }
        done.store(true, Relaxed);
    });
}
