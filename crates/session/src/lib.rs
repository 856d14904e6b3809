//! Scripts, transactions and changes on top of the executor.
//!
//! # Who calls whom
//! [`Engine`] takes text, looks up its plan in the plan cache, and gives it a snapshot or a
//! transaction. A session runs the statements of a script: queries go to the executor ([`exec`]),
//! changes to `dml`, system ops to `system`. When a transaction commits, its changes become visible
//! and are passed to callbacks.
//!
//! # Floors
//! A module imports only from modules that are named before it (`tests/floors.rs` checks that).
//!
//! 1. `nesting`, `caught`, `cheap_plan`, `run_options`, `ambient`: used by all other modules.
//! 2. `script_kind`, `access`, `query_options`: questions about a script, its names and its
//!    options.
//! 3. `schema_epoch`, `running`, `vector_index`, `search_storage`, `catalog_view`,
//!    `unique_index`: state that scripts share.
//! 4. `dml::changed_rows`, `dml::coerce`, `dml::dictionary_ids`, `dml::extract`,
//!    `dml::posting_rows`, `dml::new_postings`, `dml::band_rows`, `dml::search_rows`,
//!    `dml::vector_rows`, `dml::search_writes`, `dml::target`, `dml::unique_check`, `dml::encode`,
//!    `dml::refusal`, `dml::bulk_change`, `dml::bulk_load`, `dml::spec`, `dml::sources`,
//!    `dml::writer`, `dml::trigger`, `dml::change_feed`: changes of rows.
//! 5. `dml`: the folder itself.
//! 6. `plan_cache::cached_script`, `plan_cache`: plans and scripts by their text.
//! 7. `admin`, `search_settings`, `vector_settings`, `vector_build`, `search_index`, `index`,
//!    `vector_check`, `search_check`, `index_check`, `system`, `columns`, `script`: system ops, and
//!    scripts of several steps.
//! 8. `transaction_state`, `engine`: state that outlives a script.
//! 9. `user_defined`, `reentrancy`, `frames`, `lookup`, `query`: calls without a transaction.
//! 10. `session`, `ddl`, `dml::temp_relation`, `dml::vertex_names`, `dml::change_rows`: a script in
//!     its transaction.
//! 11. `transaction`, `run`, `stream`, `nonblocking`: entry points for `quipu`.

mod access;
mod admin;
mod ambient;
mod catalog_view;
mod caught;
mod cheap_plan;
mod columns;
mod ddl;
mod dml;
mod engine;
mod frames;
mod index;
mod index_check;
mod lookup;
mod nesting;
mod nonblocking;
mod plan_cache;
mod query;
mod query_options;
mod reentrancy;
mod run;
mod run_options;
mod running;
mod schema_epoch;
mod script;
mod script_kind;
mod search_check;
mod search_index;
mod search_settings;
mod search_storage;
mod session;
mod stream;
mod system;
mod transaction;
mod transaction_state;
#[cfg(test)]
mod trie_tests;
mod unique_index;
mod user_defined;
mod vector_build;
mod vector_check;
mod vector_index;
mod vector_settings;

pub use dml::change_feed::{Callback, Changed, ChangedBy};
pub use dml::change_rows::{Change, ChangeKind};
pub use engine::Engine;
pub use exec::error::{Error, Result};
pub use exec::files::Files;
pub use exec::fixed_rule::registry::{FixedRule, RuleCall};
pub use exec::host::Host;
pub use exec::limits::GoOn;
pub use exec::query_result::QueryResult;
pub use exec::result_stream::{Consumer, Part, TakePart};
pub use exec::value::cell::{Cell, Interner, ShortText};
pub use exec::words::{Words, words};
pub use frames::{ColumnOf, Frames, schema_columns};
pub use function::Stop;
pub use index_check::{IndexCheck, RepairedIndexes};
pub use run_options::{Debug, NonBlocking, Parameters, Run};
pub use script_kind::may_change;
pub use transaction_state::TransactionState;
