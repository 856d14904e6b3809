//! Test models that are too simple to be wrong: a store of maps with full history.
//!
//! [`ModelStore`] implements every call of [`store::Store`] with ordered maps under one lock.
//! Storage engines are compared with it, and views are tested on it. [`OneBatch`] is the input of
//! its bulk loads, and of those of other stores. [`floor_problems`] checks the imports of a crate's
//! modules. [`mod@conformance`] tests an engine. [`mod@indexed_rows`] is a relation with an index
//! of each kind.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `floors`, `indexed_rows`, `one_batch`, `rows`: checks and parts of others.
//! 2. `overlay`: the writes of a transaction over a snapshot.
//! 3. `history`: all versions of all rows.
//! 4. `transaction`: transactions of the store.
//! 5. `store_impl`: the store.
//! 6. `conformance`: tests of an engine, compared with the store.

pub mod conformance;
mod floors;
mod history;
pub mod indexed_rows;
mod one_batch;
mod overlay;
mod rows;
mod store_impl;
mod transaction;

pub use floors::floor_problems;
pub use one_batch::OneBatch;
pub use store_impl::ModelStore;
