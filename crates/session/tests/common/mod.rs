//! The engine that tests run scripts on.

use env::MemoryEnv;
use kv::{Kv, KvOptions};
use quipu_session::Engine;
use std::path::Path;
use std::sync::Arc;

/// An engine on a store in memory, whose queries may hold at most `memory_bytes_max` bytes each.
pub(crate) fn engine_of(threads: usize, memory_bytes_max: u64) -> Engine {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(threads));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    Engine::new(Arc::new(store), env, memory_bytes_max)
}
