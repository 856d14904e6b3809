//! Tests of the trie cache through an engine.

use crate::Engine;
use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::Value;
use std::path::Path;
use std::sync::Arc;

const ROWS: i64 = 400;

/// Users with ages, and the age of requested users.
fn engine() -> Engine {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(1));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let engine = Engine::new(Arc::new(store), env, 1 << 30);
    run(
        &engine,
        &format!(
            "?[u, age] := u in int_range({ROWS}), age = u % 80 :create user {{u: Int => age: Int}}"
        ),
    );
    run(&engine, "?[a] <- [[1]] :create other {a: Int}");
    engine
}

fn run(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine.run(script, &Default::default()).unwrap();
    (0..output.rows).map(|row| output.row(row)).collect()
}

fn ages(engine: &Engine) -> Vec<i64> {
    let found = run(engine, &format!("?[u, age] := u in int_range({ROWS} + 50), *user[u, age]"));
    let int = |value: &Value| match value {
        Value::Int(int) => *int,
        other => panic!("{other}"),
    };
    found.iter().map(|row| int(&row[1])).collect()
}

/// Number of cached tries, and of patched groups in the last one.
fn kept(engine: &Engine) -> (usize, usize) {
    let things = engine.tries.kept.values();
    (things.len(), things.last().map_or(0, |trie| trie.patched()))
}

#[test]
fn what_changes_is_mended_in_the_trie_that_is_kept() {
    let engine = engine();
    let mut want: Vec<i64> = (0..ROWS).map(|user| user % 80).collect();
    assert_eq!(ages(&engine), want);
    assert_eq!(kept(&engine), (1, 0));
    run(&engine, "?[u, age] <- [[3, 99]] :put user {u => age}");
    want[3] = 99;
    assert_eq!(ages(&engine), want);
    assert_eq!(kept(&engine), (1, 1));
    run(&engine, "?[a] <- [[2]] :put other {a}");
    run(&engine, "?[u, age] <- [[5, 98], [6, 97]] :put user {u => age}");
    (want[5], want[6]) = (98, 97);
    assert_eq!(ages(&engine), want);
    assert_eq!(kept(&engine), (1, 3));
    run(&engine, "?[u] <- [[5]] :rm user {u}");
    run(&engine, &format!("?[u, age] <- [[{ROWS}, 96]] :insert user {{u => age}}"));
    want.remove(5);
    want.push(96);
    assert_eq!(ages(&engine), want);
    assert_eq!(kept(&engine), (1, 4));
}

/// Found by review: an index numbers its columns differently, and a query of the relation got the
/// trie of the index.
#[test]
fn an_index_by_its_own_name_has_tries_of_its_own() {
    let engine = engine();
    run(&engine, "::index create user:by_age {age}");
    let by_age = format!("?[u, age] := age in int_range({ROWS}), *user{{u, age}}");
    let by_user = format!("?[u, age] := u in int_range({ROWS}), *user:by_age{{u, age}}");
    let want = run(&engine, "?[u, age] := *user{u, age}");
    for _ in 0..2 {
        assert_eq!(run(&engine, &by_age), want);
        assert_eq!(run(&engine, &by_user), want);
    }
}

/// Found by review: patching read all long strings into the query's memory, and each later query
/// failed the same way.
#[test]
fn long_texts_that_come_end_a_trie_and_no_query() {
    let engine = engine();
    run(
        &engine,
        &format!(
            "?[k, t] := k in int_range({ROWS}), t = 'short' :create doc {{k: Int => t: String}}"
        ),
    );
    let short = format!("?[count(k), count_unique(t)] := k in int_range({ROWS}), *doc[k, t]");
    assert_eq!(run(&engine, &short), [[Value::Int(ROWS), Value::Int(1)]]);
    assert_eq!(kept(&engine).0, 1);
    run(
        &engine,
        "?[k, t] := k in int_range(300), t = concat('long ', to_string(k), ' and more') :put doc {k => t}",
    );
    assert_eq!(run(&engine, &short), [[Value::Int(ROWS), Value::Int(301)]]);
    assert_eq!(kept(&engine).0, 0);
    run(&engine, "?[k, t] := k in int_range(300), t = 'short' :put doc {k => t}");
    assert_eq!(run(&engine, &short), [[Value::Int(ROWS), Value::Int(1)]]);
}

#[test]
fn tries_of_relations_that_are_gone_go() {
    let engine = engine();
    ages(&engine);
    run(&engine, "::remove user");
    run(&engine, &format!("?[u] := u in int_range({ROWS}) :create third {{u: Int}}"));
    run(&engine, &format!("?[count(u)] := u in int_range({ROWS}), *third{{u}}"));
    assert_eq!(kept(&engine).0, 1);
}

#[test]
fn a_change_of_another_relation_ends_nothing() {
    let engine = engine();
    let before = ages(&engine);
    let trie = engine.tries.kept.values().pop().unwrap();
    run(&engine, "?[a] <- [[2]] :put other {a}");
    assert_eq!(ages(&engine), before);
    assert!(Arc::ptr_eq(&trie, &engine.tries.kept.values()[0]));
}
