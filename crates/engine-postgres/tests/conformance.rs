//! A PostgreSQL table keeps the promises of a storage engine: for one writing process, and where
//! several may write. `QUIPU_POSTGRES` is the address of a server for tests; `make engines` starts
//! one.
#![allow(clippy::unwrap_used)]

mod server;

use ordered::Writers;
use server::Schema;
use std::sync::Arc;
use store::{ErrorKind, Store};
use testkit::conformance::Place;

impl Place for Schema {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.try_open(false).unwrap())
    }
}

testkit::conformance!(|| Schema::new(Writers::One));

mod many_writers {
    use super::*;

    testkit::conformance!(|| Schema::new(Writers::Many));
}

#[test]
fn a_second_writer_is_refused_until_the_first_closes() {
    let schema = Schema::new(Writers::One);
    let first = schema.try_open(false).unwrap();
    let second = schema.try_open(false).err().unwrap();
    assert_eq!(second.kind(), ErrorKind::Locked);
    schema.try_open(true).unwrap();
    first.close().unwrap();
    schema.try_open(false).unwrap();
}

#[test]
fn a_missing_table_is_no_database_for_a_reader() {
    let error = Schema::new(Writers::One).try_open(true).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}
