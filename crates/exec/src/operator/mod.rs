//! The physical operators of a pipeline, one per file.
//!
//! Each file adds methods to `Pipeline`, which calls them. They read the context and change only
//! the state of their own step.

pub(crate) mod filter;
pub(crate) mod hash_join;
pub(crate) mod index_join;
pub(crate) mod late_materialize;
pub(crate) mod leapfrog_join;
pub(crate) mod pairs;
pub(crate) mod project;
pub(crate) mod scan;
pub(crate) mod temporal_scan;
pub(crate) mod trie_build;
pub(crate) mod unnest;
