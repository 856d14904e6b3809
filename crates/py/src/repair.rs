//! `repair`, and reports of checks and repairs as dictionaries.

use crate::interruptible::interruptible;
use crate::problems::problems;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quipu::{Check, Options, Reconciled, RepairReport, RepairedKeyspace};
use std::path::PathBuf;

/// The report of a check as a dictionary.
pub(crate) fn check_dict<'py>(py: Python<'py>, check: &Check) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("files", check.files.files)?;
    out.set_item("blocks", check.files.blocks)?;
    out.set_item("bytes", check.files.bytes)?;
    out.set_item("rows", check.files.rows)?;
    out.set_item("log_commits", check.files.log_commits)?;
    out.set_item("seconds", check.files.duration_us as f64 / 1e6)?;
    let graphs = PyDict::new(py);
    for (name, graph) in &check.graphs {
        graphs.set_item(name, graph.edges)?;
    }
    out.set_item("graphs", graphs)?;
    let blobs = PyDict::new(py);
    for (name, found) in &check.blobs {
        blobs.set_item(name, found.rows)?;
    }
    out.set_item("blobs", blobs)?;
    let indexes = PyDict::new(py);
    for found in &check.indexes {
        indexes.set_item(&found.name, found.rows)?;
    }
    out.set_item("indexes", indexes)?;
    out.set_item("problems", problems(py, check)?)?;
    out.set_item("notes", check.files.notes.clone())?;
    Ok(out)
}

#[documented]
#[guarded]
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    path: PathBuf,
    target: PathBuf,
) -> PyResult<Bound<'_, PyDict>> {
    let report = interruptible(py, |go_on| {
        quipu::repair(path, target, Options::default(), &|_, _| go_on())
    })?;
    report_dict(py, &report)
}

fn keyspace_dict<'py>(
    py: Python<'py>,
    keyspace: &RepairedKeyspace,
) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", &keyspace.name)?;
    row.set_item("rows_kept", keyspace.rows_kept)?;
    row.set_item("rows_lost", keyspace.rows_lost)?;
    row.set_item("range_deletes_lost", keyspace.range_deletes_lost)?;
    row.set_item("stale_max", keyspace.stale_max)?;
    let lost = PyList::empty(py);
    for range in &keyspace.lost {
        let item = PyDict::new(py);
        item.set_item("first", &range.first)?;
        item.set_item("last", &range.last)?;
        item.set_item("rows", range.rows)?;
        item.set_item("file", &range.file)?;
        lost.append(item)?;
    }
    row.set_item("lost", lost)?;
    row.set_item("lost_more", keyspace.lost_more)?;
    Ok(row)
}

fn graph_dict<'py>(py: Python<'py>, done: &Reconciled) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("edges", done.edges)?;
    row.set_item("rebuilt", done.rebuilt_forward + done.rebuilt_reverse)?;
    row.set_item("names_rebuilt", done.names_rebuilt)?;
    row.set_item("removed", done.removed)?;
    row.set_item("in_doubt", done.in_doubt)?;
    row.set_item("unnamed", done.unnamed)?;
    Ok(row)
}

fn report_dict<'py>(py: Python<'py>, report: &RepairReport) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("complete", report.complete)?;
    let keyspaces = PyList::empty(py);
    for keyspace in &report.keyspaces {
        keyspaces.append(keyspace_dict(py, keyspace)?)?;
    }
    out.set_item("keyspaces", keyspaces)?;
    let graphs = PyDict::new(py);
    for (def, done) in &report.graphs {
        graphs.set_item(&def.name, graph_dict(py, done)?)?;
    }
    out.set_item("graphs", graphs)?;
    out.set_item("indexes", report.indexes.clone())?;
    let not_unique = PyDict::new(py);
    for (index, rows) in &report.not_unique {
        not_unique.set_item(index, rows)?;
    }
    out.set_item("not_unique", not_unique)?;
    let blobs = PyDict::new(py);
    for (name, done) in &report.blobs {
        let row = PyDict::new(py);
        row.set_item("rows", done.rows)?;
        row.set_item("lost", done.lost)?;
        blobs.set_item(name, row)?;
    }
    out.set_item("blobs", blobs)?;
    let damages = PyList::empty(py);
    for damage in &report.damages {
        let row = PyDict::new(py);
        row.set_item("file", &damage.file)?;
        row.set_item("offset", damage.offset)?;
        row.set_item("what", &damage.what)?;
        damages.append(row)?;
    }
    out.set_item("damages", damages)?;
    out.set_item("files_skipped", &report.files_skipped)?;
    out.set_item("commits_kept", report.commits_kept)?;
    out.set_item("commits_incomplete", report.commits_incomplete)?;
    out.set_item("log_lost_bytes", report.log_lost_bytes)?;
    out.set_item("manifest_whole", report.manifest_whole)?;
    out.set_item("seconds", report.seconds)?;
    Ok(out)
}
