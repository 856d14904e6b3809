//! Several processes write one PostgreSQL table at once, and one dies in a commit
//! (`crates/ordered/tests/processes`).
#![allow(clippy::unwrap_used)]

#[path = "../../ordered/tests/processes/mod.rs"]
mod processes;
mod server;

use ordered::{OrderedStore, Writers};
use processes::Shared;
use server::Schema;

impl Shared for Schema {
    fn create() -> Self {
        Self::new(Writers::Many)
    }

    fn named(name: &str) -> Self {
        Self::named(name, Writers::Many)
    }

    fn name(&self) -> String {
        self.name().to_owned()
    }

    fn open(&self) -> OrderedStore {
        self.try_open(false).unwrap()
    }
}

#[test]
fn histories_of_snapshot_transactions_are_snapshot_isolated() {
    let name = "histories_of_snapshot_transactions_are_snapshot_isolated";
    processes::snapshots_are_isolated::<Schema>(name);
}

#[test]
fn histories_of_serializable_transactions_are_strictly_serializable() {
    let name = "histories_of_serializable_transactions_are_strictly_serializable";
    processes::serializable_is_strict::<Schema>(name);
}
