//! `Projection`: a frozen graph in memory. `projection_methods.rs` has the methods.

use py_guard::documented;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::Arc;

/// A frozen graph in memory.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct Projection {
    pub(crate) projection: Arc<quipu::Projection>,
    pub(crate) database: quipu::Database,
    /// Ids that are no view.
    pub(crate) ids: PyOnceLock<Py<PyAny>>,
}

impl Projection {
    pub(crate) fn new(projection: Arc<quipu::Projection>, database: quipu::Database) -> Self {
        Self { projection, database, ids: PyOnceLock::new() }
    }
}
