//! Minimal storage checks: enough to detect a broken engine, not to prove a sound one, which is the
//! simulator's task.

use super::{int, set, table};
use quipu::{Database, Durability, ErrorKind, Options};
use std::path::Path;

fn open(folder: &Path) -> Database {
    let options = Options { durability: Durability::Os, threads: 1, ..Options::default() };
    Database::open(folder, options).unwrap()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// Every edge is found from both ends.
pub(crate) fn both_directions_agree() -> Result<(), String> {
    let db = Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap();
    let graph = table(&db, "graph");
    for i in 0..10 {
        set(&graph, i, i + 1, 1);
    }
    db.check(&|_, _| true).map(drop).map_err(|error| error.to_string())
}

/// A removed edge does not come back after the removal meets the edge on disk.
pub(crate) fn removed_edges_stay_away() -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder.path().join("db"));
    let graph = table(&db, "graph");
    for v in 0..100 {
        set(&graph, 1, v, 1);
    }
    db.compact().unwrap();
    for v in 0..10 {
        assert!(graph.remove(1, v).unwrap());
    }
    db.flush().unwrap();
    let back: Vec<u64> = (0..10).filter(|&v| graph.has_edge(1, v).unwrap()).collect();
    if back.is_empty() { Ok(()) } else { Err(format!("removed edges are back: {back:?}")) }
}

/// A copy of the folder of a database that was not closed contains every commit.
pub(crate) fn a_killed_process_loses_nothing() -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("db"), folder.path().join("copy"));
    let db = open(&from);
    let graph = table(&db, "graph");
    for v in 0..10 {
        set(&graph, 1, v, v as i64);
    }
    for file in files(&from).iter().filter(|file| !file.ends_with("LOCK")) {
        let copy = to.join(file.strip_prefix(&from).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(file, copy).unwrap();
    }
    let copy = open(&to);
    let graph = table(&copy, "graph");
    let lost: Vec<u64> = (1..10).filter(|&v| int(&graph, 1, v) != v as i64).collect();
    if lost.is_empty() { Ok(()) } else { Err(format!("acknowledged edges are lost: {lost:?}")) }
}

/// Every flipped bit in the first block of a table is reported as an error.
pub(crate) fn flipped_bits_are_found() -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("db");
    let db = open(&home);
    let graph = table(&db, "graph");
    for v in 0..1000 {
        set(&graph, v % 7, v * v, v as i64);
    }
    db.compact().unwrap();
    db.close().unwrap();
    let tables = files(&home.join("tables"));
    let sound = std::fs::read(&tables[0]).unwrap();
    for byte in 0..32 {
        let mut damaged = sound.clone();
        damaged[byte] ^= 0x10;
        std::fs::write(&tables[0], damaged).unwrap();
        let found = match open(&home).check(&|_, _| true) {
            Err(error) if error.kind() == ErrorKind::Corruption => Ok(()),
            Err(error) => Err(format!("byte {byte} flipped: {error}")),
            Ok(_) => Err(format!("byte {byte} flipped, and nobody noticed")),
        };
        found?;
    }
    Ok(())
}
