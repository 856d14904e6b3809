//! Graph, counters, blobs and documents: each a way to see relations.
//!
//! A view holds no data. It knows the keyspaces behind it and turns calls into column batches for
//! the store; the same code reads the newest state, a held snapshot and a transaction.

pub mod blobs;
pub mod combined;
pub mod counters;
pub mod graph;
pub mod import;
pub mod keys;
mod owner;
mod source;
mod transaction;
pub mod waiting;

pub use transaction::SharedTransaction;
