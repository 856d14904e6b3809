//! Test models that are too simple to be wrong: a store of maps with full history.
//!
//! [`ModelStore`] implements every call of [`store::Store`] with ordered maps under one lock.
//! Storage engines are compared with it, and views are tested on it. [`OneBatch`] is the input of
//! its bulk loads, and of those of other stores. [`floor_problems`] checks the imports of a crate's
//! modules. [`mod@conformance`] tests an engine. [`mod@indexed_rows`] is a relation with an index
//! of each kind.

pub mod conformance;
mod floors;
mod history;
pub mod indexed_rows;
mod one_batch;
mod overlay;
mod rows;
mod store_impl;
mod transaction;

pub use floors::floor_problems;
pub use one_batch::OneBatch;
pub use store_impl::ModelStore;
