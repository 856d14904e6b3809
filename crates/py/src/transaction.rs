//! `Transaction`: a context manager that commits, or rolls back on an exception.

use crate::blobs::Blobs;
use crate::counters::Counters;
use crate::documents::Documents;
use crate::error::{OrRaise, check_process};
use crate::graph::Graph;
use crate::relation::Relation;
use crate::result::{ResultObject, run_options};
use env::Own;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quipu::RunOptions;

/// A transaction that is open until it commits or rolls back.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct Transaction {
    transaction: Own<quipu::Tx>,
    database: quipu::Database,
}

impl Transaction {
    pub(crate) fn new(transaction: quipu::Tx, database: quipu::Database) -> Self {
        Self { transaction: Own::new(transaction), database }
    }

    fn tx(&self) -> PyResult<&quipu::Tx> {
        check_process(&self.transaction)
    }

    /// Whether the transaction is open. If another thread is ending it, waits for that. False in a
    /// forked child.
    fn is_open(&self, py: Python<'_>) -> bool {
        self.transaction.get().is_ok_and(|transaction| py.detach(|| transaction.is_open()))
    }
}

#[documented]
#[guarded]
#[pymethods]
impl Transaction {
    fn graph(&self, name: &str) -> PyResult<Graph> {
        let transaction = self.tx()?;
        let graph = transaction.graph(name).or_raise()?;
        Ok(Graph::in_transaction(graph, self.database.clone(), transaction.clone()))
    }

    fn blobs(&self, name: &str) -> PyResult<Blobs> {
        let transaction = self.tx()?;
        let blobs = transaction.blobs(name).or_raise()?;
        Ok(Blobs::new(blobs, self.database.clone()))
    }

    fn counters(&self, name: &str) -> PyResult<Counters> {
        let transaction = self.tx()?;
        let counters = transaction.counters(name).or_raise()?;
        Ok(Counters::new(counters, self.database.clone()))
    }

    fn documents(&self, name: &str) -> PyResult<Documents> {
        Ok(Documents::new(self.tx()?.documents(name).or_raise()?))
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
    ) -> PyResult<ResultObject> {
        let transaction = self.tx()?;
        let files = crate::arguments::files_of(files)?;
        let options = run_options(timeout, memory_limit, read_only)?;
        crate::result::run(
            py,
            params,
            RunOptions { files: files.as_ref(), ..options },
            // Never with the GIL: another thread may be running a script in this transaction.
            |_, _| Ok(None),
            |parameters, options| transaction.run_with(script, parameters, options),
        )
    }

    fn relation(&self, name: &str) -> PyResult<Relation> {
        let transaction = self.tx()?;
        Ok(Relation::new(transaction.relation(name).or_raise()?))
    }

    fn export_relations<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let transaction = self.tx()?;
        crate::relations::export(py, names, |names| transaction.export_relations(names))
    }

    fn import_relations(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let transaction = self.tx()?;
        let columns = |name: &str| {
            let relation = transaction.relation(name).or_raise()?;
            Ok(relation.columns().iter().map(|column| column.name.clone()).collect())
        };
        crate::relations::import(py, data, columns, |frames, options| {
            transaction.import_relations_with(frames, options)
        })
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let transaction = self.tx()?;
        py.detach(|| transaction.commit()).or_raise()
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        let transaction = self.tx()?;
        // A script of another thread may be running in it, and may need the GIL.
        py.detach(|| transaction.rollback());
        Ok(())
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*args))]
    fn __exit__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let failed = args.get_item(0).is_ok_and(|kind| !kind.is_none());
        if self.transaction.get().is_err() {
            // The transaction belongs to the parent process: a child that leaves the block does not
            // touch it.
            return Ok(false);
        }
        if failed {
            self.rollback(py)?;
        } else if self.is_open(py) {
            self.commit(py)?;
        }
        Ok(false)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.transaction.get() {
            Err(_) => format!("<quipu.Transaction of {:?}>", self.transaction.owner()),
            Ok(_) if self.is_open(py) => "<quipu.Transaction open>".to_owned(),
            Ok(_) => "<quipu.Transaction ended>".to_owned(),
        }
    }
}
