//! The export for Apache Spark, which `python/quipu/spark` calls.

use crate::database::Database;
use crate::interruptible::interruptible;
use py_guard::guarded;
use pyo3::prelude::*;
use quipu::SparkOptions;
use std::path::PathBuf;

/// Writes an export, as `quipu.spark.export` documents.
#[guarded]
#[pyfunction]
#[pyo3(signature = (database, graph, folder, vertices, file_rows, replace))]
pub(crate) fn _export_spark(
    py: Python<'_>,
    database: &Bound<'_, Database>,
    graph: &str,
    folder: PathBuf,
    vertices: Option<String>,
    file_rows: u64,
    replace: bool,
) -> PyResult<()> {
    let database = database.get().db()?;
    let options = SparkOptions { vertices, file_rows_max: file_rows, replace };
    interruptible(py, |go_on| {
        database.export_spark(graph, &folder, &options, &|_| go_on()).map(drop)
    })
}
