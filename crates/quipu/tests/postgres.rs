//! Databases in PostgreSQL: graphs, counters, blobs and scripts stay, databases move there and
//! back, and the pages of the specification have the same answers. `make engines` starts a server.
#![allow(clippy::unwrap_used)]

// The names that the included files use.
extern crate engine_postgres as quipu_engine_postgres;
extern crate session as quipu_session;

#[path = "../../session/tests/pages/mod.rs"]
mod pages;
#[path = "../../engine-postgres/tests/server/mod.rs"]
mod server;

use ordered::Writers;
use quipu::{
    BlobOptions, CounterOptions, Database, ErrorKind, GraphOptions, Options, Parameters, Value,
    VertexType,
};
use server::Schema;
use std::cell::RefCell;
use std::sync::Arc;

#[track_caller]
fn check(db: &Database, script: &str, want: &str) {
    let rows: Vec<Value> =
        db.run(script, &Parameters::new()).unwrap().rows().map(Value::List).collect();
    assert_eq!(Value::List(rows).to_string(), want);
}

#[test]
fn a_database_stays_and_migrates() {
    let schema = Schema::new(Writers::One);
    let open = |options| Database::open(schema.address(), options);
    let db = open(Options::default()).unwrap();
    let names = GraphOptions { vertex: VertexType::Str, ..GraphOptions::default() };
    db.graph("knows", names).unwrap();
    let put = "?[src, dst] <- [['ann', 'bob'], ['bob', 'cy']] :put knows {src, dst}";
    db.run(put, &Parameters::new()).unwrap();
    let hits = db.counters("hits", CounterOptions::default()).unwrap();
    (0..100_u64).for_each(|i| hits.add(i % 7, 1).unwrap());
    let page = vec![9; 3 << 20];
    db.blobs("pages", BlobOptions::default()).unwrap().put(8_u64, &page).unwrap();
    assert_eq!(open(Options::default()).unwrap_err().kind(), ErrorKind::Locked);
    let reader = open(Options { read_only: true, ..Options::default() }).unwrap();
    check(&reader, "?[a, b] := *knows{src: a, dst: b}", r#"[["ann", "bob"], ["bob", "cy"]]"#);
    db.check(&|_, _| true).unwrap();
    db.close().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy.quipu");
    quipu::migrate(schema.address(), &target, &|_, _| true).unwrap();
    let other = Schema::new(Writers::One);
    quipu::migrate(&target, other.address(), &|_, _| true).unwrap();
    let db = Database::open(other.address(), Options::default()).unwrap();
    check(&db, "?[a, b] := *knows{src: a, dst: b}", r#"[["ann", "bob"], ["bob", "cy"]]"#);
    check(&db, "?[k, n] := *hits{key: k, count: n}, k < 2", "[[0, 15], [1, 15]]");
    let mut value = Vec::new();
    assert!(db.require_blobs("pages").unwrap().get(8_u64, &mut value).unwrap());
    assert!(value == page, "a long value");
    db.check(&|_, _| true).unwrap();
}

#[test]
fn the_language_is_the_same() {
    // They are dropped after their stores.
    let schemas = RefCell::new(Vec::new());
    let new_store = |_: &Arc<dyn env::Env>| -> Arc<dyn store::Store> {
        let schema = Schema::new(Writers::One);
        let store = schema.try_open(false).unwrap();
        schemas.borrow_mut().push(schema);
        Arc::new(store)
    };
    pages::check("tests/spec", &new_store, &[]);
}
