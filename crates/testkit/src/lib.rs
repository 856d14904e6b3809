//! Stand-ins too simple to be wrong: a store of maps with full history.
//!
//! [`ModelStore`] answers every call of [`store::Store`] from ordered maps under one lock. It is what
//! engines are compared with, and what views are tested on. [`floor_problems`] holds the modules of
//! a crate to the order that it lists them in.

mod floors;
mod history;
mod one_batch;
mod overlay;
mod rows;
mod store_impl;
mod transaction;

pub use floors::floor_problems;
pub use one_batch::OneBatch;
pub use store_impl::ModelStore;
