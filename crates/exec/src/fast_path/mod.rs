//! Queries that need neither tables nor batches.

pub mod depth_first;
pub mod point_lookup;
pub mod values;
