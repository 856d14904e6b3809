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
    db.run("?[a, b] := *r{a}, b = -a :replace r {a => b}", &Parameters::new()).unwrap();
    let old = reader.run("?[a, b] := *r{a, b}", &Parameters::new());
    assert_eq!(old.unwrap().rows().count(), 2, "the schema of another process");
    check(&reader, "?[a] := *r{a}", "[[1], [2]]");
    db.run("::remove r", &Parameters::new()).unwrap();
    let gone = reader.run("?[a] := *r{a}", &Parameters::new()).unwrap_err();
    assert!(gone.to_string().contains("no relation"), "{gone}");
    let refused = reader.run("?[a] <- [[3]] :put r {a}", &Parameters::new()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly);
}

/// Everything that the catalog and the rows of all relations say.
fn content(db: &Database) -> Vec<String> {
    let mut content = Vec::new();
    for entry in db.list().unwrap() {
        content.push(format!("{:?}", (entry.name(), entry.shown_schema())));
        let columns = entry.shown_schema();
        let columns: Vec<_> = columns.keys.iter().map(|key| key.name.clone()).collect();
        let script = format!("?[{0}] := *{1}{{{0}}}", columns.join(", "), entry.name());
        if let Ok(answer) = db.run(&script, &Parameters::new()) {
            content.extend(answer.rows().map(|row| Value::List(row).to_string()));
        }
    }
    content
}

#[test]
fn a_database_migrates_to_another_engine_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let db = Database::open(path("a.quipu"), options()).unwrap();
    let weighted = GraphOptions { weight: WeightType::Int, vertex: VertexType::Str };
    let knows = db.graph("knows", weighted).unwrap();
    let names = ["ann", "bob", "cy", "dee"];
    for (i, name) in names.iter().enumerate() {
        let others = names.iter().map(|other| (*name, *other));
        for (a, b) in others.filter(|(a, b)| a != b) {
            let script = format!(
                "?[src, dst, weight] <- [['{a}', '{b}', {i}]] :put knows {{src, dst => weight}}"
            );
            db.run(&script, &Parameters::new()).unwrap();
        }
    }
    drop(knows);
    let hits = db.counters("hits", CounterOptions::default()).unwrap();
    (0..500_u64).for_each(|key| hits.add(key, key as i64).unwrap());
    db.blobs("pages", BlobOptions::default()).unwrap().put(1_u64, &vec![3; 2 << 20]).unwrap();
    db.run("?[a] <- [[9]] :create s {a}", &Parameters::new()).unwrap();
    for script in [
        "?[a, b, c] <- [[1, 'x', null], [2, 'y', 0.5]] :create r {a => b, c}",
        "::index create r:by_b {b}",
        "::set_triggers r on put { ?[a] := _new[a, b, c] :put s {a} }",
    ] {
        db.run(script, &Parameters::new()).unwrap();
    }
    let want = content(&db);
    db.close().unwrap();
    let sqlite = format!("sqlite://{}", path("b.db").display());
    let calls = std::sync::atomic::AtomicU64::new(0);
    let report = quipu::migrate(path("a.quipu"), &sqlite, &|done, total| {
        assert!(done <= total);
        calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        true
    });
    let report = report.unwrap();
    assert!(report.rows > 500 && report.keyspaces > 6, "{report:?}");
    assert!(calls.into_inner() >= report.keyspaces);
    let again = quipu::migrate(path("a.quipu"), &sqlite, &|_, _| true).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::InvalidInput, "{again}");

    let db = Database::open(&sqlite, options()).unwrap();
    assert_eq!(content(&db), want);
    db.check(&|_, _| true).unwrap();
    db.run("?[a, b, c] <- [[3, 'z', 1]] :put r {a => b, c}", &Parameters::new()).unwrap();
    check(&db, "?[a] := *s{a}", "[[3], [9]]");
    check(&db, "?[a] := *r:by_b{b: 'z', a}", "[[3]]");
    let want = content(&db);
    db.close().unwrap();

    let stopped = quipu::migrate(&sqlite, path("c.quipu"), &|_, _| false).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    quipu::migrate(&sqlite, path("c.quipu"), &|_, _| true).unwrap();
    let db = Database::open(path("c.quipu"), options()).unwrap();
    assert_eq!(content(&db), want);
    db.check(&|_, _| true).unwrap();
    let mut value = Vec::new();
    assert!(db.require_blobs("pages").unwrap().get(1_u64, &mut value).unwrap());
    assert_eq!(value.len(), 2 << 20);
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
