//! Graphs, counters, combined values and blobs: views of relations with an API of their own.
//!
//! A view stores its data in keyspaces of the store and translates calls into column batches. The
//! same code reads the newest state, a snapshot and a transaction. The only data in memory is the
//! write buffer of counters and combined values under durability `none` (`write_buffer`).
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `parts`, `owner`: the keyspaces of a view at one time; the process that opened it.
//! 2. `transaction`, `source`: what a view reads from and writes to.
//! 3. `graph`, `keys`: graphs; keys of other views, whose types are those of vertices.
//! 4. `import`, `blobs`, `write_buffer`: imports of graphs, blobs, increments in memory.
//! 5. `counters`, `combined`: views with a write buffer.
//! 6. `write_buffer::registry`: the open ones of these, to write all buffers together.

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
