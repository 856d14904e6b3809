//! JSON documents as values: pointers to fields, patches, merges, statistics of fields, formats.
//!
//! # What is deliberately absent
//! Relations, storage and columns. A caller reads a document, changes a copy, and writes the copy,
//! so a change that fails has no effect.
//!
//! ```
//! use quipu_document::{Patch, Pointer};
//! use serde_json::json;
//!
//! let patch = Patch::parse(&json!([
//!     {"op": "test", "path": "/name", "value": "Ada"},
//!     {"op": "add", "path": "/langs/-", "value": "en"},
//! ]))?;
//! let ada = patch.apply(&json!({"name": "Ada", "langs": ["fr"]}))?;
//! assert_eq!(Pointer::parse("/langs/1")?.get(&ada), Some(&json!("en")));
//! # Ok::<(), quipu_document::DocumentError>(())
//! ```
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `error`, `merge`: errors; merges, which cannot fail.
//! 2. `convert`, `pointer`: values of fields; places in a document.
//! 3. `format`, `gist`, `patch`: files of documents, statistics of fields, changes.

mod convert;
mod error;
mod format;
mod gist;
mod merge;
mod patch;
mod pointer;
#[cfg(test)]
mod tests;

pub use convert::{Converted, FieldType, Scalar, convert};
pub use error::DocumentError;
pub use format::{Format, Splitter};
pub use gist::{FieldKind, Gist};
pub use merge::merge;
pub use patch::Patch;
pub use pointer::Pointer;
