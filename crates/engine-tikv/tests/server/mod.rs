//! Databases of a TiKV cluster for tests.
#![allow(dead_code, clippy::disallowed_methods)] // each test uses a part; real processes

use ordered::{OrderedOptions, OrderedStore, Writers};
use quipu_engine_tikv::TikvMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// The addresses of the PD servers.
pub(crate) fn servers() -> String {
    std::env::var("QUIPU_TIKV")
        .expect("QUIPU_TIKV has the addresses of PD servers for tests; see tools/with-tikv.sh")
}

/// A database of its own, removed at the end.
pub(crate) struct Database {
    name: String,
    writers: Writers,
    is_own: bool,
}

impl Database {
    pub(crate) fn new(writers: Writers) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        Self { name, writers, is_own: true }
    }

    /// The database of another process.
    pub(crate) fn named(name: &str, writers: Writers) -> Self {
        Self { name: name.to_owned(), writers, is_own: false }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn address(&self) -> String {
        format!("tikv://{}/{}", servers(), self.name)
    }

    pub(crate) fn map(&self) -> TikvMap {
        TikvMap::open(&self.address()).unwrap()
    }

    pub(crate) fn try_open(&self, read_only: bool) -> store::Result<OrderedStore> {
        let (map, writers) = (TikvMap::open(&self.address())?, self.writers);
        OrderedStore::open(map, OrderedOptions { writers, read_only, ..OrderedOptions::default() })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.is_own {
            // It fails if a process of the test has died while it held the lease.
            let _ = TikvMap::erase(&self.address());
        }
    }
}
