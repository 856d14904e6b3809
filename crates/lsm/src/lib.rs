//! One log-structured merge tree without a log: memtable, tables, versions, compaction.
//!
//! # Why no log here
//! A commit spans several trees, so the log belongs to the engine above (crate `kv`), which owns
//! sequence numbers, the manifest and the decision when to flush.
//!
//! # Architecture invariants
//! 1. A tree knows words and bytes ([`base::Shape`]); never types, graphs or queries.
//! 2. One thread at a time changes a tree (the caller serialises); any number read, and readers
//!    never block the writer.
//! 3. Files are reached through [`env::Env`] alone.

pub(crate) mod changes;
pub mod codec;
pub mod compaction;
pub mod context;
mod counted;
pub mod error;
pub(crate) mod flush;
pub mod manifest;
pub mod memtable;
pub mod read;
pub mod rows;
pub mod run_writer;
mod search;
pub mod table;
pub mod tree;
pub mod version;

pub use error::{Error, Result};
