//! `quipu check` and `quipu repair` of damaged databases.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // processes and files
#![allow(clippy::unwrap_used)]

use quipu::{Database, GraphOptions, Options, Parameters, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A database `db` with a graph of 200 edges, closed.
fn place() -> TempDir {
    let place = TempDir::new().unwrap();
    let db = Database::open(place.path().join("db"), Options::default()).unwrap();
    let graph = db.graph("roads", GraphOptions::default()).unwrap();
    let (us, vs): (Vec<u64>, Vec<u64>) = (0..200).map(|i| (i, i * 7 % 100)).unzip();
    graph.upsert_many(&us, &vs, None).unwrap();
    db.close().unwrap();
    place
}

fn quipu(place: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quipu"));
    command.current_dir(place.path()).args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&out(output)).unwrap()
}

fn tables(place: &TempDir) -> Vec<PathBuf> {
    let folder = fs::read_dir(place.path().join("db/tables")).unwrap();
    let mut tables: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    tables.sort();
    tables
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x40;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_check_lists_every_damaged_file() {
    let place = place();
    let tables = tables(&place);
    assert_eq!(tables.len(), 2, "one for each direction");
    tables.iter().for_each(|table| flip(table, 30));
    let output = quipu(&place, &["check", "db", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let report = json(&output);
    assert_eq!(report["ok"], false);
    assert_eq!(report["problems"].as_array().unwrap().len(), 2, "{report}");
    for table in &tables {
        assert!(err(&output).contains(table.file_name().unwrap().to_str().unwrap()));
    }
    assert!(err(&output).contains("hint: restore"));
}

#[test]
fn a_damaged_direction_is_rebuilt_and_nothing_is_lost() {
    let place = place();
    flip(&tables(&place)[0], 30);
    let output = quipu(&place, &["repair", "db", "new", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let report = json(&output);
    assert_eq!(report["complete"], true);
    assert_eq!(report["graphs"][0]["edges"], 200);
    let rebuilt = &report["graphs"][0];
    let rebuilt = [&rebuilt["rebuilt_forward"], &rebuilt["rebuilt_reverse"]];
    assert_eq!(rebuilt.iter().filter_map(|n| n.as_u64()).sum::<u64>(), 200);
    let output = quipu(&place, &["check", "new"]);
    assert!(out(&output).contains("graph \"roads\", 200 edges"), "{}", err(&output));
}

#[test]
fn an_index_is_made_anew_whether_it_or_its_relation_lost_rows() {
    let place = TempDir::new().unwrap();
    let db = Database::open(place.path().join("db"), Options::default()).unwrap();
    for script in [
        "?[k, v] := k in int_range(3000), v = k % 7 :create r {k: Int => v: Int}",
        "::index create r:by_v {v}",
    ] {
        db.run(script, &Parameters::new()).unwrap();
    }
    db.close().unwrap();
    let output = quipu(&place, &["check", "db"]);
    assert!(out(&output).contains("index \"r:by_v\", 3,000 rows, as its relation says"));
    let mut anew = 0;
    for (i, table) in tables(&place).iter().enumerate() {
        flip(table, 30);
        let target = format!("new{i}");
        let output = quipu(&place, &["repair", "db", &target, "--json"]);
        flip(table, 30);
        let report = json(&output);
        anew += report["indexes"].as_array().unwrap().len();
        // The index finds either all remaining rows of the relation or none.
        let left = report["check"]["indexes"].get("r:by_v").and_then(|rows| rows.as_u64());
        let db = Database::open(place.path().join(&target), Options::default()).unwrap();
        let found = db.run("?[count(k)] := *r{k, v: 3}", &Parameters::new()).unwrap();
        let rows = db.run("?[count(k)] := *r{k}", &Parameters::new()).unwrap();
        let Value::Int(rows) = rows.value(0, 0) else { panic!("no count") };
        let expected = if rows == 3000 { 429 } else { 0 };
        assert_eq!(found.value(0, 0), Value::Int(expected), "{report}");
        assert!([0, 3000].contains(&rows));
        if let Some(left) = left {
            assert_eq!(left, rows as u64);
        }
        // A lost row of an index can be rebuilt from the relation.
        let keyspaces = report["keyspaces"].as_array().unwrap().iter();
        let lost = keyspaces.filter(|one| one["rows_lost"] != 0 && one["name"] != "r:by_v");
        let status = if lost.count() == 0 { 0 } else { 4 };
        assert_eq!(output.status.code(), Some(status), "{report}");
        assert_eq!(report["complete"], status == 0);
    }
    assert!(anew >= 2, "one for the index's table, one for the relation's");
}

#[test]
fn what_cannot_be_saved_is_named_with_status_4() {
    let place = place();
    tables(&place).iter().for_each(|table| flip(table, 30));
    let output = quipu(&place, &["repair", "db", "new"]);
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
    assert!(out(&output).contains("lost: 200 row versions from 0,0 to 199,93"), "{}", out(&output));
    assert!(err(&output).contains("damaged: "));
    assert_eq!(quipu(&place, &["check", "new"]).status.code(), Some(0));
}

#[test]
fn a_repair_writes_into_a_new_folder_only() {
    let place = place();
    let output = quipu(&place, &["repair", "db", "db"]);
    assert_eq!(output.status.code(), Some(1));
    fs::create_dir(place.path().join("full")).unwrap();
    fs::write(place.path().join("full/x"), "x").unwrap();
    let output = quipu(&place, &["repair", "db", "full"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("hint: name a new or an empty folder"), "{}", err(&output));
    let output = quipu(&place, &["repair", "nothing", "new"]);
    assert_eq!(output.status.code(), Some(1));
}
