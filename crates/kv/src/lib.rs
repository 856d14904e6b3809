//! The native engine: one write-ahead log over many trees, MVCC snapshots and group commit.
//!
//! [`Kv`] implements [`store::Store`]; the query engine and the crate `quipu` see only that trait.
//!
//! # Architecture invariants
//! 1. A commit is one record of one log, so it is atomic across keyspaces.
//! 2. All trees are flushed together, by one manifest edit (see `inner`).
//! 3. Types, graphs and queries are unknown here and in the crates below.
//! 4. Files, threads, clocks and randomness are reached through [`env::Env`] alone.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `options`, `activity`, `poison`, `snapshots`, `throttle`: small parts of an open database.
//! 2. `wal`, `record`, `normalise`: the log, a commit in it, and the rows of a commit in order.
//! 3. `convert`, `folder`, `table_folders`, `outside`, `reserve`: errors of the crates below, and
//!    the folders of a database.
//! 4. `trees`, `shared_files`, `compaction_order`, `merging`: the trees, and which are compacted.
//! 5. `inner`: the state of an open database, and its locks.
//! 6. `reader`, `compaction`, `maintenance`, `bulk`: reads, flushes, compactions, bulk loads.
//! 7. `commit`, `read_flush`, `existence`, `transaction`: commits, and flushes that reads trigger.
//! 8. `backup::list`, `backup::archive`, `removal`, `restore::paths`: the files of a backup, and
//!    restores that were interrupted.
//! 9. `open`, `follower`, `check`: open a folder for writing, for reading, or to check it.
//! 10. `kv`: the engine.
//! 11. `backup`, `restore`, `repair`: copies of a database, and a database of them.

mod activity;
mod backup;
mod bulk;
mod check;
mod commit;
mod compaction;
mod compaction_order;
mod convert;
mod existence;
mod folder;
mod follower;
mod inner;
mod kv;
mod maintenance;
mod merging;
mod normalise;
mod open;
mod options;
mod outside;
mod poison;
mod read_flush;
mod reader;
mod record;
mod removal;
mod repair;
mod reserve;
mod restore;
mod shared_files;
mod snapshots;
mod table_folders;
mod throttle;
mod transaction;
mod trees;
pub mod wal;

pub use backup::{BackupOptions, BackupReport};
pub use check::check_folder;
pub use kv::Kv;
pub use options::KvOptions;
pub use outside::database_around;
pub use removal::remove;
pub use repair::{Doubts, LostRange, Salvaged, SalvagedKeyspace, salvage};
pub use restore::{RestoreOptions, RestoreReport, restore};
