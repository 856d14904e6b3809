//! The store of maps keeps the promises of a storage engine.

use quipu_testkit as testkit;
use std::sync::Arc;
use testkit::ModelStore;
use testkit::conformance::Place;

/// Opening it again returns the same store.
struct InMemory(Arc<ModelStore>);

impl Place for InMemory {
    fn open(&self) -> Arc<dyn store::Store> {
        Arc::clone(&self.0) as _
    }
}

testkit::conformance!(|| InMemory(Arc::new(ModelStore::new())));
