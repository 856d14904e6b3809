//! Runs the query language over a store.
//!
//! # Who calls whom
//! [`Engine`] takes text, plans it and gives it a transaction or a snapshot. A `Query` fills the tables of derived relations,
//! group after group; a `Body` runs the joins of one rule on batches of cells; `stored` is the only door to the store's
//! rows. Values are words ([`Cell`]) from the store's columns to the result.

mod access;
mod batch_size;
mod bounded_map;
mod callback;
mod caught;
mod changed_rows;
mod coerce;
mod columns;
mod context;
mod engine;
mod error;
mod explain;
mod expr;
mod fast_path;
mod files;
mod fixed_rule;
mod fixpoint;
mod host;
mod imperative;
mod index;
mod index_check;
mod limits;
mod mutate;
mod nesting;
mod numbers;
mod operator;
mod output;
mod parallel;
mod pipeline;
mod profile;
mod result_stream;
mod run_options;
mod script_kind;
mod sink;
mod snapshot_cache;
mod storage;
mod system;
mod table;
mod target;
mod trie;
mod trigger;
mod value;
mod view;
mod words;

pub use callback::{Callback, Changed, ChangedBy};
pub use engine::Engine;
pub use engine::carried::Carried;
pub use engine::frames::{ColumnOf, Frames};
pub use engine::rows::{Change, ChangeKind};
pub use error::{Error, Result};
pub use files::Files;
pub use fixed_rule::registry::{FixedRule, RuleCall};
pub use host::Host;
pub use index_check::IndexCheck;
pub use limits::GoOn;
pub use output::Output;
pub use result_stream::{Part, TakePart, Taker};
pub use run_options::{Brief, Debug, Parameters, Run};
pub use script_kind::may_change;
pub use value::cell::{Cell, Interner, ShortText};
pub use words::{Words, words};
