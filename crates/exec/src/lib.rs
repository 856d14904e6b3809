//! Runs the query language over a store.
//!
//! # Who calls whom
//! [`Engine`] takes text, plans it and gives it a transaction or a snapshot. A `Query` fills the tables of derived relations,
//! group after group; a `Body` runs the joins of one rule on batches of cells; `stored` is the only door to the store's
//! rows. Values are words ([`Cell`]) from the store's columns to the result.

mod access;
mod aggregate;
mod bindings;
mod body;
mod callback;
mod caught;
mod cell;
mod columns;
mod constant;
mod engine;
mod error;
mod explain;
mod expr;
mod files;
mod fixed;
mod flow;
mod history;
mod host;
mod imperative;
mod index;
mod index_check;
mod items;
mod kept;
mod meter;
mod mutate;
mod needed;
mod numbers;
mod outlet;
mod output;
mod own;
mod owned;
mod profile;
mod query;
mod sink;
mod sink_list;
mod sort;
mod spread;
mod statistics;
mod stored;
mod stored_cells;
mod stored_keys;
mod system;
mod table;
mod tables;
mod target;
mod trie;
mod tries;
mod trigger;
mod view;
mod watch;
mod words;

pub use callback::{Callback, Changed, ChangedBy};
pub use cell::{Cell, Interner, ShortText};
pub use engine::{Carried, Change, ChangeKind, ColumnOf, Engine, Frames, Parameters};
pub use error::{Error, Result};
pub use files::Files;
pub use host::{Brief, Debug, GoOn, Host, Run, may_change};
pub use index_check::IndexCheck;
pub use outlet::{Part, TakePart, Taker};
pub use output::Output;
pub use own::{FixedRule, RuleCall};
pub use words::{Words, words};
