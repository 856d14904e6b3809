//! Catalog and schemas over any store: maps relations with typed columns to keyspaces and back.
//!
//! # Why a definition is stored with its keyspace
//! The engine stores an opaque `definition` with each keyspace, and creates and drops both in one
//! step. So the catalog needs no file and no keyspace of its own that could disagree with the data.

mod blobs_def;
mod catalog;
mod column_changes;
mod combined_def;
mod counters_def;
mod definition;
mod dictionary;
mod documents_def;
mod graph_def;
mod index_columns;
mod index_rows;
mod indexes;

mod name_overlay;
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
pub use definition::{Definition, check_name, invalid};
pub use dictionary::{ABSENT, Dictionary};
pub use documents_def::DocumentsDef;
pub use graph_def::{GraphDef, GraphPart, VertexType, WeightType};
pub use index_columns::{IndexColumn, JsonPath};
pub use name_overlay::NameOverlay;
pub use rows::{Coerce, ColumnError};
pub use schema::{KeyColumn, Schema, ValueColumn};
pub use schema_changes::SchemaChanges;
pub use search_def::{SearchDef, SearchMethod, SearchPart};
pub use settings::{Access, Settings, check_access};
