//! The native engine keeps the promises of a storage engine: with its usual options, and with
//! memtables of three KiB.
#![allow(clippy::unwrap_used)]

use env::MemoryEnv;
use quipu_kv::{Kv, KvOptions};
use std::path::Path;
use std::sync::Arc;
use testkit::conformance::Place;

struct Folder {
    env: Arc<dyn env::Env>,
    options: KvOptions,
}

impl Folder {
    fn new(options: KvOptions) -> Self {
        Self { env: Arc::new(MemoryEnv::new(1)), options }
    }
}

impl Place for Folder {
    fn open(&self) -> Arc<dyn store::Store> {
        let env = Arc::clone(&self.env);
        Arc::new(Kv::open(env, Path::new("/db"), self.options.clone()).unwrap())
    }
}

testkit::conformance!(|| Folder::new(KvOptions::default()));

mod small_memtables {
    use super::*;

    testkit::conformance!(|| {
        Folder::new(KvOptions { memtable_bytes: 3 << 10, cache_bytes: 0, ..KvOptions::default() })
    });
}
