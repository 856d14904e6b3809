//! Catalog and schemas over any store: maps relations with typed columns to keyspaces and back.
//!
//! # Why a definition is stored with its keyspace
//! The engine stores an opaque `definition` with each keyspace, and creates and drops both in one
//! step. So the catalog needs no file and no keyspace of its own that could disagree with the data.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `error`, `names`, `json_path`: errors about what callers pass, names, paths into JSON.
//! 2. `schema`: the columns of a relation, and its rows as columns of a batch.
//! 3. `index_columns`, `graph_def`, `blobs_def`, `counters_def`, `combined_def`, `documents_def`,
//!    `search_def`: the columns of indexes and of views.
//! 4. `rows`, `index_rows`, `dictionary`: batches of many rows, rows of an index, ids of strings.
//! 5. `definition`: the bytes that describe a keyspace.
//! 6. `catalog`: finds entries by name.
//! 7. `name_overlay`, `settings`, `indexes`: names in a transaction, settings and indexes of
//!    relations.
//! 8. `entry_changes`, `schema_changes`, `column_changes`: create, rename, change and drop entries.

mod blobs_def;
mod catalog;
mod column_changes;
mod combined_def;
mod counters_def;
mod definition;
mod dictionary;
mod documents_def;
mod entry_changes;
mod error;
mod graph_def;
mod index_columns;
mod index_rows;
mod indexes;
mod json_path;
mod name_overlay;
mod names;
mod rows;
mod schema;
mod schema_changes;
mod search_def;
mod settings;

pub use blobs_def::{BlobsDef, BlobsPart, KeyType};
pub use catalog::{Catalog, Entry, new_keyspace};
pub use column_changes::index_leaves_names;
pub use combined_def::CombinedDef;
pub use counters_def::{Combine, CountersDef, NumberType};
pub use definition::Definition;
pub use dictionary::{ABSENT, Dictionary};
pub use documents_def::DocumentsDef;
pub use error::invalid;
pub use graph_def::{GraphDef, GraphPart, VertexType, WeightType};
pub use index_columns::IndexColumn;
pub use json_path::JsonPath;
pub use name_overlay::NameOverlay;
pub use names::check_name;
pub use rows::{Coerce, ColumnError};
pub use schema::{KeyColumn, Schema, ValueColumn};
pub use schema_changes::SchemaChanges;
pub use search_def::{SearchDef, SearchMethod, SearchPart};
pub use settings::{Access, Settings, check_access};
