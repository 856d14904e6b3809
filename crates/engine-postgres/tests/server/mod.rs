//! Schemas of a PostgreSQL server for tests.
#![allow(dead_code, clippy::disallowed_methods)] // each test uses a part; real processes

use ordered::{OrderedOptions, OrderedStore, Writers};
use quipu_engine_postgres::client::{Client, NoTls};
use quipu_engine_postgres::{PostgresMap, PostgresOptions};
use std::sync::atomic::{AtomicU32, Ordering};
use store::Durability;

/// The address of the server.
pub(crate) fn address() -> String {
    std::env::var("QUIPU_POSTGRES")
        .expect("QUIPU_POSTGRES is the address of a PostgreSQL server for tests; see make engines")
}

/// A schema of its own, dropped at the end.
pub(crate) struct Schema {
    name: String,
    writers: Writers,
    is_own: bool,
}

impl Schema {
    pub(crate) fn new(writers: Writers) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        let mut client = Client::connect(&address(), NoTls).unwrap();
        client.batch_execute(&format!("CREATE SCHEMA {name}")).unwrap();
        Self { name, writers, is_own: true }
    }

    /// The schema of another process.
    pub(crate) fn named(name: &str, writers: Writers) -> Self {
        Self { name: name.to_owned(), writers, is_own: false }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The address of a database in this schema.
    pub(crate) fn address(&self) -> String {
        let separator = if address().contains('?') { '&' } else { '?' };
        format!("{}{separator}options=-c%20search_path%3D{}", address(), self.name)
    }

    pub(crate) fn try_open(&self, read_only: bool) -> store::Result<OrderedStore> {
        let options =
            PostgresOptions { durability: Durability::Os, read_only, ..PostgresOptions::default() };
        let map = PostgresMap::open(&self.address(), options)?;
        let writers = self.writers;
        OrderedStore::open(map, OrderedOptions { writers, read_only, ..OrderedOptions::default() })
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if self.is_own {
            let mut client = Client::connect(&address(), NoTls).unwrap();
            let _ = client.batch_execute(&format!("DROP SCHEMA {} CASCADE", self.name));
        }
    }
}
