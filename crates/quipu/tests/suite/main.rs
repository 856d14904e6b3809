//! The integration tests of the crate in one binary: to link each file on its own would take most
//! of the time and disk of a build. Tests that fork, count descriptors or memory of the process, or
//! need a feature have their own binaries beside it.

#[path = "../checks/mod.rs"]
mod checks;

mod algorithms;
mod blobs;
mod catalog_changes;
mod column_output;
mod combined;
mod counters;
mod damage;
mod dates;
mod decimals;
mod documents;
mod error_kinds;
mod files;
mod hermitage;
mod ldbc_acid;
mod list_append;
mod outputs;
mod panics;
mod parquet_reader;
mod projections;
mod property_graphs;
mod property_imports;
mod repeated_scripts;
mod result_types;
mod rows;
mod script_isolation;
mod scripts;
mod text_graphs;
mod wide;
