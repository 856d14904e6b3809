//! A database in a PostgreSQL table, over the adapter `ordered`.
//!
//! All rows are in one table `quipu` of keys and values. A snapshot is a transaction at `REPEATABLE
//! READ`, which PostgreSQL implements as snapshot isolation. Commits of all processes take one
//! advisory lock, so they are in one order.
//!
//! # Invariants
//! 1. A snapshot is a transaction of its own connection. It ends when the snapshot is dropped.
//! 2. The writer reads at `READ COMMITTED` after it has the lock, so it sees every earlier commit.
//! 3. A process that alone may write holds a second advisory lock on the writer's connection. If
//!    that connection is lost, it writes only after it has the lock again.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `connection`: one connection, its statements and its errors.
//! 2. `postgres_map`: the map that `ordered` asks for.

#[cfg(feature = "postgres")]
mod connection;
#[cfg(feature = "postgres")]
mod postgres_map;

#[cfg(feature = "postgres")]
pub use postgres_map::{PostgresMap, PostgresOptions};

/// The client, for tests of this crate: a dependency of tests cannot be behind a feature.
#[cfg(feature = "postgres")]
#[doc(hidden)]
pub use postgres as client;
