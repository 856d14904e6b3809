//! `Transaction`: a context manager that commits, or rolls back on an exception.

use crate::blobs::Blobs;
use crate::counters::Counters;
use crate::error::OrRaise;
use crate::graph::Graph;
use crate::relation::Relation;
use crate::result::{Answer, run_options};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quipu::RunOptions;

/// A transaction.
#[pyclass(module = "quipu", frozen)]
pub(crate) struct Transaction {
    pub(crate) transaction: quipu::Tx,
    pub(crate) database: quipu::Database,
}

impl Transaction {
    /// Waits for who ends it.
    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| self.transaction.is_open())
    }
}

#[pymethods]
impl Transaction {
    fn graph(&self, name: &str) -> PyResult<Graph> {
        let graph = self.transaction.graph(name).or_raise()?;
        Ok(Graph { graph, database: self.database.clone() })
    }

    fn blobs(&self, name: &str) -> PyResult<Blobs> {
        let blobs = self.transaction.blobs(name).or_raise()?;
        Ok(Blobs { blobs, database: self.database.clone() })
    }

    fn counters(&self, name: &str) -> PyResult<Counters> {
        let counters = self.transaction.counters(name).or_raise()?;
        Ok(Counters { counters, database: self.database.clone() })
    }

    #[pyo3(signature = (script, params=None, *, timeout=None, memory_limit=None, read_only=false, files=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn run(
        &self,
        py: Python<'_>,
        script: &str,
        params: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        memory_limit: Option<&Bound<'_, PyAny>>,
        read_only: bool,
        files: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        let files = crate::database::files_of(files)?;
        let options = run_options(timeout, memory_limit, read_only)?;
        crate::result::run(
            py,
            params,
            RunOptions { files: files.as_ref(), ..options },
            // Another thread may be at work in the transaction.
            |_, _| Ok(None),
            |parameters, options| self.transaction.run_with(script, parameters, options),
        )
    }

    fn relation(&self, name: &str) -> PyResult<Relation> {
        Ok(Relation { relation: self.transaction.relation(name).or_raise()? })
    }

    fn export_relations<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        crate::relations::export(py, names, |names| self.transaction.export_relations(names))
    }

    fn import_relations(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let columns = |name: &str| {
            let relation = self.transaction.relation(name).or_raise()?;
            Ok(relation.columns().iter().map(|column| column.name.clone()).collect())
        };
        crate::relations::import(py, data, columns, |frames, options| {
            self.transaction.import_relations_with(frames, options)
        })
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.transaction.commit()).or_raise()
    }

    fn rollback(&self, py: Python<'_>) {
        // A script of another thread may be at work in it, and need the interpreter's lock.
        py.detach(|| self.transaction.rollback());
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*args))]
    fn __exit__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let failed = args.get_item(0).is_ok_and(|kind| !kind.is_none());
        if failed {
            self.rollback(py);
        } else if self.is_open(py) {
            self.commit(py)?;
        }
        Ok(false)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let state = if self.is_open(py) { "open" } else { "ended" };
        format!("<quipu.Transaction {state}>")
    }
}
