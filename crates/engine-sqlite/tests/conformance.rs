//! A SQLite file keeps the promises of a storage engine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a damaged file

use ordered::{OrderedOptions, OrderedStore};
use quipu_engine_sqlite::{SqliteMap, SqliteOptions};
use std::sync::Arc;
use store::{Durability, ErrorKind, Store};
use tempfile::TempDir;
use testkit::conformance::Place;

struct File(TempDir, Durability);

impl File {
    fn new(durability: Durability) -> Self {
        Self(tempfile::tempdir().unwrap(), durability)
    }

    fn try_open(&self, read_only: bool) -> store::Result<OrderedStore> {
        let sqlite = SqliteOptions { durability: self.1, read_only, ..SqliteOptions::default() };
        let map = SqliteMap::open(&self.0.path().join("rows.db"), sqlite)?;
        OrderedStore::open(map, OrderedOptions { read_only, ..OrderedOptions::default() })
    }
}

impl Place for File {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.try_open(false).unwrap())
    }
}

testkit::conformance!(|| File::new(Durability::Os));

#[test]
fn commits_are_synced_if_asked() {
    testkit::conformance::a_reopened_store_has_every_commit(&File::new(Durability::Sync));
}

#[test]
fn a_second_writer_is_refused_until_the_first_closes() {
    let file = File::new(Durability::Os);
    let first = file.try_open(false).unwrap();
    let second = file.try_open(false).err().unwrap();
    assert_eq!(second.kind(), ErrorKind::Locked);
    assert!(second.to_string().contains("hint: "), "{second}");
    first.close().unwrap();
    file.try_open(false).unwrap().close().unwrap();
}

#[test]
fn a_reader_beside_the_writer_sees_each_commit() {
    let file = File::new(Durability::Os);
    let missing = file.try_open(true).err().unwrap();
    assert_eq!(missing.kind(), ErrorKind::InvalidInput, "{missing}");
    let writer = file.try_open(false).unwrap();
    let reader = file.try_open(true).unwrap();
    assert!(reader.keyspaces().is_empty());
    let before = reader.snapshot();
    let new = store::NewKeyspace {
        name: "a".into(),
        shape: base::Shape { key: base::KeyShape::Words(1), values: vec![] },
        definition: vec![],
    };
    let id = writer.create_keyspaces(std::slice::from_ref(&new)).unwrap()[0];
    assert_eq!(reader.keyspaces().len(), 1);
    let count = store::Read::count(&*before, id).unwrap();
    assert_eq!(count, 0, "a keyspace is empty in a snapshot that is older");
    let refused = reader.create_keyspaces(&[new]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly);
}

#[test]
fn a_file_of_something_else_is_refused() {
    let file = File::new(Durability::Os);
    std::fs::write(file.0.path().join("rows.db"), [7; 10_000]).unwrap();
    let error = file.try_open(false).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
}
