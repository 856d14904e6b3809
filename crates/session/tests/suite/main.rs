//! The integration tests of the crate in one binary: to link each file on its own would take most
//! of the time and disk of a build. Tests that count the memory of the process,
//! or wait for a clock, have their own binaries beside it.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/rows.rs"]
mod rows;
#[path = "../common/tables.rs"]
mod tables;

mod all_search_indexes;
mod analyze;
mod block_filters;
mod bound_first;
mod bulk_changes;
mod column_aggregates;
mod column_way;
mod counts;
mod estimates;
mod fixed;
mod floors;
mod index_check;
mod index_join_pieces;
mod late_materialize;
mod lookups;
mod many_rules;
mod nested;
mod nonblocking;
mod parallel;
mod path_indexes;
mod queries;
mod ranges;
mod rewritten;
mod round_orders;
mod row_order;
mod search_indexes;
mod small_stacks;
mod stream;
mod trie_cache;
mod unique_indexes;
mod vector_values;
mod vectors;
