//! Several processes write one PostgreSQL table at once, and one dies in a commit
//! (`crates/ordered/tests/processes`).
#![allow(clippy::unwrap_used)]

#[path = "../../ordered/tests/processes/mod.rs"]
mod processes;
mod server;

use server::Schema;

processes::histories!(Schema);
