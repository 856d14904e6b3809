//! A database in one SQLite file, over the adapter `ordered`.
//!
//! All rows are in one table of keys and values, which SQLite keeps in key order. Its write-ahead
//! log gives each reader a snapshot beside one writer; both are connections of a pool.
//!
//! # Invariants
//! 1. A snapshot is a read transaction of its own connection. It ends when the snapshot is dropped.
//! 2. The writer's connection begins with `BEGIN IMMEDIATE`, so it never fails later because
//!    another connection wrote.
//! 3. A process that alone may write (`claim`) holds a lock on a file beside the database until the
//!    map is closed.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `sqlite_map`: the map that `ordered` asks for.

#[cfg(feature = "sqlite")]
mod sqlite_map;

#[cfg(feature = "sqlite")]
pub use sqlite_map::{SqliteMap, SqliteOptions};
