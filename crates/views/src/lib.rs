//! Graphs, counters, combined values and blobs: views of relations with an API of their own.
//!
//! A view stores its data in keyspaces of the store and translates calls into column batches. The
//! same code reads the newest state, a snapshot and a transaction. The only data in memory is the
//! write buffer of counters and combined values under durability `none` (`write_buffer`).

pub mod blobs;
pub mod combined;
pub mod counters;
pub mod graph;
pub mod import;
pub mod keys;
mod owner;
mod parts;
mod source;
mod transaction;
pub mod write_buffer;

pub use transaction::SharedTransaction;
