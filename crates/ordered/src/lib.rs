//! The store trait over any ordered map of byte strings: SQLite, PostgreSQL and others.
//!
//! # Why
//! General engines lack the same features: shapes, projections, merge operators, validation of
//! commits, reads of own writes, savepoints. This crate implements them once. An engine implements
//! [`OrderedMap`] in a few hundred lines, and [`OrderedStore`] makes a [`store::Store`] of it
//! (`docs/decisions/0057-engines-other-than-kv.md`).
//!
//! # How rows are stored
//! A key is the prefix of its keyspace (four bytes), then the words of the key in big-endian order
//! or its byte string, so bytes compare as keys do. A value has the number of the commit that wrote
//! it, the number of the last commit that was no merge, the columns, and a checksum of key and
//! value. Prefix 0 holds the catalog, the number of the newest commit, and deleted ranges
//! (`docs/formats/ordered.md`).
//!
//! # Invariants
//! 1. A commit holds the map's writer from its check to its end. So commits are in one order, and
//!    their numbers are in that order.
//! 2. A deleted row leaves a tombstone, a deleted range a record, until all open transactions are
//!    newer. A transaction older than a removed record fails with a conflict.
//! 3. The prefix of a keyspace changes when a bulk load replaces its rows. A transaction that began
//!    before that and uses the keyspace fails with a conflict.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/ordered/tests/floors.rs`).
//!
//! 1. `map`, `options`: the trait of an engine; options of opening a store.
//! 2. `error`, `cell`, `key`: messages; values of rows; keys as bytes.
//! 3. `record`, `meta`: rows and the catalog as bytes.
//! 4. `overlay`, `reads`: writes and reads of a transaction.
//! 5. `core`: the shared state of a store.
//! 6. `commit`, `pages`: commits; rows of a range with own writes on top.
//! 7. `stream`, `view`, `bulk`: streams; snapshots and transactions; loads.
//! 8. `ordered_store`: the store.

mod bulk;
mod cell;
mod commit;
mod core;
mod error;
mod key;
mod map;
mod meta;
mod options;
mod ordered_store;
mod overlay;
mod pages;
mod reads;
mod record;
mod stream;
mod view;

pub use key::successor;
pub use map::{MapRead, MapWriter, Order, OrderedMap, Pair};
pub use options::{OrderedOptions, Writers};
pub use ordered_store::OrderedStore;
