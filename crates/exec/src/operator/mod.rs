//! The physical operators of a pipeline, each in a file of its own.
//!
//! The plan names them ([`plan::OperatorName`], the names of these files). A pipeline makes an
//! operator for a batch and lets it push its output to the next step. Operators read the context
//! and change only the state of their own step. `choose` picks one for each batch where the plan
//! says that the step is adaptive; `row_step` evaluates what needs no relation, for operators and
//! for fast paths, and `column_steps` the same on the columns of a scan.

pub(crate) mod block_filter;
pub(crate) mod choose;
pub(crate) mod column_steps;
pub(crate) mod filter;
pub(crate) mod hash_join;
pub(crate) mod index_join;
pub(crate) mod late_materialize;
pub(crate) mod leapfrog_join;
pub(crate) mod ordered_scan;
pub(crate) mod pairs;
pub(crate) mod project;
pub(crate) mod row_step;
pub(crate) mod scan;
pub(crate) mod search;
pub mod shared_tries;
pub(crate) mod temporal_scan;
pub(crate) mod trie_build;
pub(crate) mod unnest;
