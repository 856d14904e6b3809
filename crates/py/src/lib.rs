//! The native module `quipu._quipu`: translates between Python and crate `quipu`.
//!
//! # Architecture invariants
//! 1. No rule of the engine lives here; a method converts, calls, converts back.
//! 2. The interpreter lock is released around every call that may take longer than a look-up.
//! 3. Exceptions are the classes of `quipu.errors`, written in Python so that they can have two
//!    bases (`InvalidInputError` is a `ValueError` too).
#![allow(missing_docs)] // the stub `_quipu.pyi` carries the documentation, and is checked against this
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a face may use clocks and standard error

mod arrays;
mod backup;
mod blob_items;
mod blob_stream;
mod blobs;
mod callback;
mod capsule;
mod columns;
mod counters;
mod database;
mod error;
mod exits;
mod frames;
mod gate;
mod graph;
mod import;
mod key_iterator;
mod keys;
mod libraries;
mod own;
mod python_code;
mod relation;
mod relations;
mod repair;
mod result;
mod result_stream;
mod table;
mod transaction;
mod values;
mod vertices;

use py_guard::guarded;
use pyo3::prelude::*;

/// Panics, so that tests see what becomes of a panic in any function of the module.
#[guarded]
#[pyfunction]
fn _panic(message: &str) -> PyResult<()> {
    panic!("{message}")
}

#[pymodule]
fn _quipu(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<database::Database>()?;
    module.add_class::<graph::Graph>()?;
    module.add_class::<blobs::Blobs>()?;
    module.add_class::<blob_stream::BlobReader>()?;
    module.add_class::<blob_stream::BlobWriter>()?;
    module.add_class::<counters::Counters>()?;
    module.add_class::<relation::Relation>()?;
    module.add_class::<relation::Column>()?;
    module.add_class::<result::Answer>()?;
    module.add_class::<result_stream::ResultStream>()?;
    module.add_class::<table::TableStream>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<import::ImportReport>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<backup::BackupReport>()?;
    module.add_class::<backup::RestoreReport>()?;
    module.add_function(wrap_pyfunction!(database::open, module)?)?;
    module.add_function(wrap_pyfunction!(_panic, module)?)?;
    let at_exit = wrap_pyfunction!(python_code::_at_exit, module)?;
    module.py().import("atexit")?.call_method1("register", (at_exit,))?;
    module.add_function(wrap_pyfunction!(backup::restore, module)?)?;
    module.add_function(wrap_pyfunction!(repair::repair, module)?)?;
    Ok(())
}
