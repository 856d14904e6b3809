//! Catalog and schemas over any store: typed columns to shapes and back.
//!
//! # Why a definition travels with its keyspace
//! The engine keeps an opaque `definition` beside each keyspace and creates and drops both in one
//! step. So the catalog has no file and no keyspace of its own that could disagree with the data.

mod catalog;
mod definition;
mod graph_def;
mod schema;

pub use catalog::{Catalog, Entry};
pub use definition::{Definition, check_name, invalid};
pub use graph_def::{GraphDef, GraphPart, VertexType, WeightType};
pub use schema::{KeyColumn, Schema, ValueColumn};
