//! Queries that need neither tables nor batches: point lookups, depth-first searches for a few
//! rows, and constant rows.
//!
//! The session tries them before it makes a fixpoint.

pub mod depth_first;
pub mod point_lookup;
pub mod values;
