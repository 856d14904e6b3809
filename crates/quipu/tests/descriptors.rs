//! Databases with many tables in a process that may open few files.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use quipu::{Database, Durability, Options, Parameters, Value};
use std::fs::File;
use std::path::Path;
use std::process::Command;

const RELATIONS: usize = 200;
const LIMIT: usize = 100;

fn options() -> Options {
    Options { threads: 1, durability: Durability::Os, ..Options::default() }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn ask(db: &Database, script: &str) -> Result<String, String> {
    let answer = db.run(script, &Parameters::new()).map_err(|error| error.to_string())?;
    let rows: Vec<String> = answer.rows().map(|row| Value::List(row).to_string()).collect();
    Ok(rows.join(" "))
}

/// Each relation is large enough for a file of its own.
fn make(db: &Database) {
    let long = "x".repeat(70_000);
    for at in 0..RELATIONS {
        ask(db, &format!(":create r{at} {{k: Int => v: Int, long: String}}")).unwrap();
        put(db, at, at, &long).unwrap();
    }
}

/// Writes a row to the relation with this number.
fn put(db: &Database, relation: usize, key: usize, long: &str) -> Result<String, String> {
    let row = format!("?[k, v, long] <- [[{key}, 7, '{long}']]");
    ask(db, &format!("{row} :put r{relation} {{k => v, long}}"))
}

fn check(db: &Database) {
    for at in 0..RELATIONS {
        assert_eq!(ask(db, &format!("?[k, v] := *r{at}{{k, v}}")).unwrap(), format!("[{at}, 7]"));
    }
}

/// Runs the test `name` again in a new process with [`LIMIT`] descriptors. Returns true in that
/// process.
fn is_limited(name: &str) -> bool {
    if std::env::var_os("QUIPU_FEW_DESCRIPTORS").is_some() {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let line = format!("ulimit -n {LIMIT}; exec \"$0\" --exact {name} --nocapture");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line).arg(program).env("QUIPU_FEW_DESCRIPTORS", "1");
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
    false
}

/// Found: with more tables than descriptors, writes failed, and the database could not be opened.
#[test]
fn more_tables_than_descriptors_are_written_read_and_opened_again() {
    if !is_limited("more_tables_than_descriptors_are_written_read_and_opened_again") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let before = open_files();
    let db = Database::open(&path, options()).unwrap();
    make(&db);
    db.flush().unwrap();
    let tables = std::fs::read_dir(path.join("tables")).unwrap().count();
    assert!(tables > LIMIT, "{tables}");
    check(&db);
    assert!(open_files() < LIMIT / 2, "{} are open", open_files());
    // The close releases the descriptors even if a snapshot still exists.
    let held = db.store().snapshot();
    db.close().unwrap();
    assert!(open_files() <= before + 4, "{} are open, there were {before}", open_files());
    drop(held);
    let db = Database::open(&path, options()).unwrap();
    check(&db);
    db.compact().unwrap();
    check(&db);
    db.close().unwrap();
}

/// A flush that finds no descriptor poisons nothing and loses nothing.
#[test]
fn a_flush_without_descriptors_is_an_error_that_passes() {
    if !is_limited("a_flush_without_descriptors_is_an_error_that_passes") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = Database::open(&path, options()).unwrap();
    make(&db);
    let hog = |left: usize| {
        let mut files = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            files.push(file);
        }
        files.truncate(files.len() - left);
        files
    };
    for left in 0..4 {
        let files = hog(left);
        let flushed = db.flush();
        drop(files);
        if let Err(error) = flushed {
            assert!(error.to_string().contains("Too many open files"), "{left} left: {error}");
        }
        put(&db, left, left, "").unwrap();
        check(&db);
    }
    assert!(db.flush().is_ok());
    let strays = std::fs::read_dir(path.join("tables")).unwrap().count();
    check(&db);
    db.close().unwrap();
    let db = Database::open(Path::new(&path), options()).unwrap();
    check(&db);
    assert_eq!(std::fs::read_dir(path.join("tables")).unwrap().count(), strays, "strays were left");
    db.close().unwrap();
}
