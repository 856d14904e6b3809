//! The native module `quipu._quipu`: translates between Python and crate `quipu`.
//!
//! # Architecture invariants
//! 1. No rule of the engine lives here: a method converts its arguments, calls, and converts back.
//! 2. The GIL is released around every call that may take longer than a point lookup.
//! 3. Exceptions are the classes of `quipu.errors`. They are written in Python so that they can
//!    have two base classes (`InvalidInputError` is also a `ValueError`).
//! 4. Docstrings are those of the stub `_quipu.pyi` (`#[documented]`).
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `exits`, `python_code`, `problems`, `error`: calls of Python, and exceptions.
//! 2. `gil`, `interruptible`: calls without the GIL, and long ones that Ctrl-C ends.
//! 3. `attribute`, `called`, `missing`, `temporal`, `capsule`, `columns`, `values`, `keys`,
//!    `arguments`, `arrays`, `vertices`: arguments and results.
//! 4. `by_name`, `libraries`, `table`, `lines`: tables of results, lines of files.
//! 5. `result`, `frames`, `result_stream`, `relations`, `relation`: results of scripts, and
//!    relations.
//! 6. `key_iterator`, `blob_items`, `blob_stream`, `blobs`, `counters`: blobs and counters.
//! 7. `document_items`, `document_files`, `documents`: documents.
//! 8. `edge_source`, `import`: imports of edges.
//! 9. `graph`, `graph_lookups`, `graph_properties`, `graph_files`: a graph.
//! 10. `projection`, `algorithm_result`, `project`, `projection_methods`: projections.
//! 11. `graph_methods`: the methods of a graph; some of them make projections.
//! 12. `backup`, `repair`, `callback`, `user_defined`, `slow_query`, `transaction`, `database`,
//!     `command_line`, `spark`: a database, and functions of the module.
#![allow(missing_docs)] // the stub has them
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // bindings: clocks, standard error

/// Docstrings are those of the stub, so the module is compiled again when the stub has changed.
const _: &str = include_str!("../../../python/quipu/_quipu.pyi");

mod algorithm_result;
mod arguments;
mod arrays;
mod attribute;
mod backup;
mod blob_items;
mod blob_stream;
mod blobs;
mod by_name;
mod callback;
mod called;
mod capsule;
mod columns;
mod command_line;
mod counters;
mod database;
mod document_files;
mod document_items;
mod documents;
mod edge_source;
mod error;
mod exits;
mod frames;
mod gil;
mod graph;
mod graph_files;
mod graph_lookups;
mod graph_methods;
mod graph_properties;
mod import;
mod interruptible;
mod key_iterator;
mod keys;
mod libraries;
mod lines;
mod missing;
mod problems;
mod project;
mod projection;
mod projection_methods;
mod python_code;
mod relation;
mod relations;
mod repair;
mod result;
mod result_stream;
mod slow_query;
mod spark;
mod table;
mod temporal;
mod transaction;
mod user_defined;
mod values;
mod vertices;

use py_guard::{documented, guarded};
use pyo3::prelude::*;

/// Panics. Tests call it to see how a panic in a function of the module reaches Python.
#[guarded]
#[pyfunction]
fn _panic(message: &str) -> PyResult<()> {
    panic!("{message}")
}

#[documented]
#[pymodule]
fn _quipu(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<database::Database>()?;
    module.add_class::<graph::Graph>()?;
    module.add_class::<projection::Projection>()?;
    module.add_class::<algorithm_result::AlgorithmResult>()?;
    module.add_class::<blobs::Blobs>()?;
    module.add_class::<blob_stream::BlobReader>()?;
    module.add_class::<blob_stream::BlobWriter>()?;
    module.add_class::<counters::Counters>()?;
    module.add_class::<documents::Documents>()?;
    module.add_class::<relation::Relation>()?;
    module.add_class::<relation::Column>()?;
    module.add_class::<result::ResultObject>()?;
    module.add_class::<result_stream::ResultStream>()?;
    module.add_class::<table::TableStream>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<import::ImportReport>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<backup::BackupReport>()?;
    module.add_class::<backup::RestoreReport>()?;
    module.add_function(wrap_pyfunction!(database::open, module)?)?;
    module.add_function(wrap_pyfunction!(command_line::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(command_line::candidates, module)?)?;
    module.add_function(wrap_pyfunction!(_panic, module)?)?;
    module.add_function(wrap_pyfunction!(projection_methods::_algorithms, module)?)?;
    let at_exit = wrap_pyfunction!(python_code::_at_exit, module)?;
    module.py().import("atexit")?.call_method1("register", (at_exit,))?;
    module.add_function(wrap_pyfunction!(backup::restore, module)?)?;
    module.add_function(wrap_pyfunction!(repair::repair, module)?)?;
    module.add_function(wrap_pyfunction!(spark::_export_spark, module)?)?;
    Ok(())
}
