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
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `error`, `rows`, `search`, `changes`, `codec`: versions of rows, and columns as bytes.
//! 2. `table::meta`, `table::options`, `table::section`, `table::shared_file`, `table::open_files`:
//!    what is known of a table, and its file.
//! 3. `table::run_buffer`, `table::pending`, `table::sampled_words`, `table::encode`,
//!    `table::apart`, `table::block`, `table::cache`: blocks, and the cache of them.
//! 4. `read::thresholds`, `context`: options, cache and files that all trees share.
//! 5. `table`, `memtable`, `version`: tables, the newest writes, and the tables of a tree.
//! 6. `read`: reads of memtables and tables at a snapshot.
//! 7. `run_writer`, `compaction`, `manifest`: runs of tables are written, merged and recorded.
//! 8. `counted`, `flush`, `tree`: a tree.

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
