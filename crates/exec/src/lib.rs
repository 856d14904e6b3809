//! Executes plans over a store.
//!
//! # Who calls whom
//! The session makes an [`ExecContext`](context::ExecContext) of a plan and a snapshot, and tries
//! the fast paths first. A [`Fixpoint`](fixpoint::Fixpoint) fills the tables of derived relations,
//! stratum by stratum. A pipeline runs the operators of one rule on batches of cells, on one thread
//! or several, into a sink. Only `storage` reads the store's rows. Values are words
//! ([`Cell`](value::cell::Cell)) from the store's columns to the result.
//!
//! # Floors
//! A module imports only from modules that are named before it (`tests/floors.rs` checks that).
//!
//! 1. `error`, `files`, `batch_size`, `bounded_map`, `profile`: used by all other modules.
//! 2. `limits`: deadline, cancellation and memory of a query.
//! 3. `value`: cells, columns of them, their order.
//! 4. `expr`, `vector`: expressions over rows of cells, and over typed columns.
//! 5. `table`, `column_list`, `query_result`, `result_stream`: rows in memory, and results.
//! 6. `snapshot_cache`, `trie`, `storage`, `host`: rows of the store.
//! 7. `context`: the execution context of a query.
//! 8. `sink`: consumers of a pipeline's rows.
//! 9. `pipeline`: moves batches from operator to operator.
//! 10. `operator`: physical operators, each in a file that has the name that the plan uses.
//! 11. `parallel`: runs one pipeline on several threads.
//! 12. `fast_path`, `fixed_rule`: queries without tables; algorithms.
//! 13. `fixpoint`: fills the tables of derived relations.
//! 14. `explain`, `words`: output for users.
//!
//! `pipeline` has the trait of operators. It calls one method that `operator` adds: `dispatch`.

pub mod batch_size;
pub mod bounded_map;
pub mod column_list;
pub mod context;
pub mod error;
pub mod explain;
pub mod expr;
pub mod fast_path;
pub mod files;
pub mod fixed_rule;
pub mod fixpoint;
pub mod host;
pub mod limits;
pub mod operator;
pub mod parallel;
pub mod pipeline;
pub mod profile;
pub mod query_result;
pub mod result_stream;
pub mod sink;
pub mod snapshot_cache;
pub mod storage;
pub mod table;
pub mod trie;
pub mod value;
pub(crate) mod vector;
pub mod words;
