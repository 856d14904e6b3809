//! Checks of a database on a server, which the tests of each engine include.

use quipu::{
    BlobOptions, CounterOptions, Database, ErrorKind, GraphOptions, Options, Parameters, Value,
    VertexType,
};

#[track_caller]
fn check(db: &Database, script: &str, want: &str) {
    let rows: Vec<Value> =
        db.run(script, &Parameters::new()).unwrap().rows().map(Value::List).collect();
    assert_eq!(Value::List(rows).to_string(), want);
}

/// A database is closed, opened, read meanwhile, and moved to a folder and back.
pub(crate) fn a_database_stays_and_migrates(address: &str, other: &str) {
    let open = |options| Database::open(address, options);
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
    quipu::migrate(address, &target, &|_, _| true).unwrap();
    quipu::migrate(&target, other, &|_, _| true).unwrap();
    let db = Database::open(other, Options::default()).unwrap();
    check(&db, "?[a, b] := *knows{src: a, dst: b}", r#"[["ann", "bob"], ["bob", "cy"]]"#);
    check(&db, "?[k, n] := *hits{key: k, count: n}, k < 2", "[[0, 15], [1, 15]]");
    let mut value = Vec::new();
    assert!(db.require_blobs("pages").unwrap().get(8_u64, &mut value).unwrap());
    assert!(value == page, "a long value");
    db.check(&|_, _| true).unwrap();
}
