//! Queries that need neither tables nor batches.

pub(crate) mod depth_first;
pub(crate) mod point_lookup;
pub(crate) mod values;
