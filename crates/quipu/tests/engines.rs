//! Databases on other engines than `kv`: graphs, counters, blobs, scripts and transactions work as
//! on `kv`, and stay. The pages of the specification have the same answers.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // files to import

// The name that the pages' runner uses.
extern crate session as quipu_session;

#[path = "../../session/tests/pages/mod.rs"]
mod pages;

use quipu::{
    BlobOptions, CounterOptions, Database, Durability, ErrorKind, GraphOptions, Isolation, Options,
    Parameters, Value, VertexType, Weight, WeightType,
};
use std::path::Path;
use std::sync::Arc;

fn options() -> Options {
    Options { durability: Durability::Os, threads: 2, ..Options::default() }
}

fn open(folder: &Path) -> Database {
    try_open(folder, options()).unwrap()
}

fn try_open(folder: &Path, options: Options) -> quipu::Result<Database> {
    Database::open(format!("sqlite://{}/rows.db", folder.display()), options)
}

#[track_caller]
fn check(db: &Database, script: &str, want: &str) {
    let rows: Vec<Value> =
        db.run(script, &Parameters::new()).unwrap().rows().map(Value::List).collect();
    assert_eq!(Value::List(rows).to_string(), want);
}

#[test]
fn graphs_counters_blobs_and_relations_stay() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    let weighted = GraphOptions { weight: WeightType::Float, ..GraphOptions::default() };
    let cites = db.graph("cites", weighted).unwrap();
    cites.upsert(1, 2, Some(Weight::Float(0.5))).unwrap();
    cites.upsert(3, 2, None).unwrap();
    let names = GraphOptions { vertex: VertexType::Str, ..GraphOptions::default() };
    let file = folder.path().join("edges.csv");
    std::fs::write(&file, "ann,bob\nbob,cy\nann,cy\n").unwrap();
    let knows = db.graph("knows", names).unwrap();
    let import = db.import_options();
    let report = knows.import_csv(db.env(), &file, &import, &|_| true).unwrap();
    assert_eq!(report.edges, 3);
    let hits = db.counters("hits", CounterOptions::default()).unwrap();
    (0..1000_u64).for_each(|i| hits.add(i % 7, 1).unwrap());
    let pages = db.blobs("pages", BlobOptions::default()).unwrap();
    pages.put(7_u64, b"a page").unwrap();
    let long = vec![9; 3 << 20];
    pages.put(8_u64, &long).unwrap();
    check(&db, "?[a, b] <- [[1, 'x'], [2, 'y']] :create r {a => b}", r#"[["OK"]]"#);
    db.run("::index create r:by_b {b}", &Parameters::new()).unwrap();
    db.check(&|_, _| true).unwrap();
    db.close().unwrap();
    drop((db, cites, knows, hits, pages));

    let db = open(folder.path());
    let mut who = Vec::new();
    db.require_graph("cites").unwrap().predecessors(2, &mut who).unwrap();
    assert_eq!(who, [1, 3]);
    check(
        &db,
        "?[a, b] := *knows{src: a, dst: b}",
        r#"[["ann", "bob"], ["ann", "cy"], ["bob", "cy"]]"#,
    );
    check(&db, "?[k, n] := *hits{key: k, count: n}, k < 2", "[[0, 143], [1, 143]]");
    check(&db, "?[a] := *r:by_b{b: 'y', a}", "[[2]]");
    let pages = db.require_blobs("pages").unwrap();
    let mut value = Vec::new();
    assert!(pages.get(8_u64, &mut value).unwrap() && value == long, "a long value");
    let stats = db.stats().unwrap();
    assert_eq!((stats.graphs.len(), stats.graphs[0].edges), (2, 2));
    assert!(stats.disk_bytes > 3 << 20);
    db.compact().unwrap();
    db.check(&|_, _| true).unwrap();
}

#[test]
fn transactions_are_atomic_across_views_and_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    db.run("?[a, n] <- [[1, 0]] :create r {a => n}", &Parameters::new()).unwrap();
    let graph = db.graph("g", GraphOptions::default()).unwrap();
    let tx = db.transaction(Isolation::Serializable);
    tx.graph("g").unwrap().upsert(1, 2, None).unwrap();
    tx.run("?[a, n] := *r{a, n: m}, n = m + 1 :put r {a => n}", &Parameters::new()).unwrap();
    assert_eq!(graph.number_of_edges().unwrap(), 0);
    db.run("?[a, n] <- [[1, 10]] :put r {a => n}", &Parameters::new()).unwrap();
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(graph.number_of_edges().unwrap(), 0);
    check(&db, "?[a, n] := *r{a, n}", "[[1, 10]]");
}

#[test]
fn one_process_writes_and_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Options { create: false, ..options() };
    let error = try_open(folder.path(), missing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let db = open(folder.path());
    let second = try_open(folder.path(), options()).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Locked);
    db.run("?[a] <- [[1]] :create r {a}", &Parameters::new()).unwrap();
    let reader = try_open(folder.path(), Options { read_only: true, ..options() }).unwrap();
    check(&reader, "?[a] := *r{a}", "[[1]]");
    db.run("?[a] <- [[2]] :put r {a}", &Parameters::new()).unwrap();
    check(&reader, "?[a] := *r{a}", "[[1], [2]]");
    let refused = reader.run("?[a] <- [[3]] :put r {a}", &Parameters::new()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly);
}

#[test]
fn backups_say_what_to_do_instead() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    let target = folder.path().join("backup");
    let error = db.backup(target, &Default::default(), &|_, _| true).unwrap_err();
    assert!(error.to_string().contains("hint: copy the database into a folder"), "{error}");
}

/// A store in a new SQLite file for each page.
#[track_caller]
fn check_pages(folder: &str, differ: &[(&str, &str)]) {
    let files = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    let new_store = |_: &Arc<dyn env::Env>| -> Arc<dyn store::Store> {
        count.set(count.get() + 1);
        let file = files.path().join(format!("{}.db", count.get()));
        let options = engine_sqlite::SqliteOptions {
            durability: Durability::Os,
            ..engine_sqlite::SqliteOptions::default()
        };
        let map = engine_sqlite::SqliteMap::open(&file, options).unwrap();
        Arc::new(ordered::OrderedStore::open(map, ordered::OrderedOptions::default()).unwrap())
    };
    pages::check(folder, &new_store, differ);
}

#[test]
fn the_language_is_the_same() {
    check_pages("tests/spec", &[]);
}

#[test]
fn the_guides_and_the_reference_are_the_same() {
    check_pages("docs/guides", &[]);
    // The bytes that `::relations` estimates are those of another form of rows.
    check_pages("docs/reference", &[("language.md", "estimated_bytes")]);
}
