//! Tasks that run scripts until the machine is interrupted, and what is there afterwards.
#![allow(clippy::unwrap_used)]

mod catalog;
mod harness;
mod property_graphs;
mod search_indexes;
