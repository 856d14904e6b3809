//! Crash tests of scripts: tasks run scripts on a simulated machine until it crashes. After the
//! restart the database must contain whole scripts only, and all acknowledged ones where the
//! durability promises them.
#![allow(clippy::unwrap_used)]

mod catalog;
mod harness;
mod property_graphs;
mod search_indexes;
