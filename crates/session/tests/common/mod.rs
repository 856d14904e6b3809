//! The engine that tests run scripts on.

use env::MemoryEnv;
use kv::{Kv, KvOptions};
use quipu_session::Engine;
use std::path::Path;
use std::sync::Arc;
use store::Store;

/// An engine on a store in memory, whose queries may hold at most `memory_bytes_max` bytes each.
pub(crate) fn engine_of(threads: usize, memory_bytes_max: u64) -> Engine {
    engine_with_store(threads, memory_bytes_max).0
}

/// As [`engine_of`], with the store.
pub(crate) fn engine_with_store(threads: usize, memory_bytes_max: u64) -> (Engine, Arc<dyn Store>) {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(threads));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    (Engine::new(Arc::clone(&store), env, memory_bytes_max), store)
}
