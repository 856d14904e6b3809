//! Imports of edges into a graph: options, progress, Ctrl-C, and the report. `graph.rs` calls it.
//! Other long calls use [`interruptible`] too.

use crate::error::{OrRaise, invalid};
use crate::exits;
use crate::graph::Graph;
use crate::python_code::attached;
use crate::vertices;
use env::sync::Mutex;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quipu::ingest::{ColumnRef, Columns, OnError, TextOptions};
use quipu::{ErrorKind, ImportOptions, ImportProgress};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Milliseconds between two checks for Ctrl-C, and between two reports of progress.
const STEP_MS: u64 = 100;

/// Edges and lines that an import read, wrote and skipped.
#[documented]
#[pyclass(module = "quipu", frozen, weakref, get_all)]
pub(crate) struct ImportReport {
    edges: u64,
    rows: u64,
    duplicates: u64,
    skipped: u64,
    skipped_lines: Vec<String>,
    seconds: f64,
    bytes_read: u64,
    bytes_written: u64,
}

#[documented]
#[guarded]
#[pymethods]
impl ImportReport {
    fn __repr__(&self) -> String {
        format!(
            "ImportReport(edges={}, duplicates={}, skipped={}, seconds={:.3}, bytes_read={}, bytes_written={})",
            self.edges,
            self.duplicates,
            self.skipped,
            self.seconds,
            self.bytes_read,
            self.bytes_written
        )
    }
}

impl From<quipu::ImportReport> for ImportReport {
    fn from(report: quipu::ImportReport) -> Self {
        Self {
            edges: report.edges,
            rows: report.rows,
            duplicates: report.duplicates,
            skipped: report.skipped,
            skipped_lines: report.skipped_lines.iter().map(ToString::to_string).collect(),
            seconds: report.seconds,
            bytes_read: report.bytes_read,
            bytes_written: report.bytes_written,
        }
    }
}

/// Options of a text import from keyword arguments.
pub(crate) fn text_options(
    _graph: &quipu::Graph,
    columns: Option<&Bound<'_, PyAny>>,
    delimiter: Option<&str>,
    header: Option<bool>,
    on_error: &str,
) -> PyResult<TextOptions> {
    let mut options = TextOptions { header, ..TextOptions::default() };
    options.delimiter = match delimiter.map(str::as_bytes) {
        None => None,
        Some(&[byte]) => Some(byte),
        Some(_) => return Err(invalid("a delimiter is one ASCII character")),
    };
    options.on_error = match on_error {
        "fail" => OnError::Fail,
        "skip" => OnError::Skip,
        other => return Err(invalid(&format!("on_error is \"fail\" or \"skip\", not {other:?}"))),
    };
    if let Some(columns) = columns {
        let columns: Vec<Bound<'_, PyAny>> = columns.extract()?;
        let mut columns = columns.iter().map(|column| {
            column
                .extract::<usize>()
                .map(ColumnRef::Index)
                .or_else(|_| column.extract::<String>().map(ColumnRef::Name))
        });
        let (Some(source), Some(target)) = (columns.next(), columns.next()) else {
            return Err(invalid("columns names the source, the target and perhaps the weight"));
        };
        let weight = columns.next().transpose()?;
        options.edges.columns = Some(Columns { source: source?, target: target?, weight });
    }
    Ok(options)
}

/// Runs `work` without the GIL, so that Ctrl-C can stop it. `work` gets a function `go_on`, and
/// calls it now and then. Once a signal is pending in Python, `go_on` returns false. `work` then
/// stops, and the signal's exception is raised.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&(dyn Fn() -> bool + Send + Sync)) -> quipu::Result<T> + Send,
) -> PyResult<T> {
    let pending: Mutex<Option<PyErr>> = Mutex::new(None);
    let last = AtomicU64::new(0);
    let start = Instant::now();
    let main = std::thread::current().id();
    let go_on = || {
        let now = start.elapsed().as_millis() as u64;
        let before = last.load(Ordering::Relaxed);
        // Only the calling thread checks for signals; worker threads read its result.
        if std::thread::current().id() == main && now >= before + STEP_MS {
            last.store(now, Ordering::Relaxed);
            if let Err(error) = attached(|py| py.check_signals()) {
                *pending.lock() = Some(error);
            }
        }
        pending.lock().is_none() && !exits::is_pending()
    };
    let result = crate::gil::detached(py, || work(&go_on));
    // A signal is raised even where it came after the work was done.
    match pending.into_inner() {
        Some(signal) => Err(signal),
        None => result.or_raise(),
    }
}

/// Where progress is reported.
enum ProgressSink {
    Nobody,
    Terminal,
    Callable(Py<PyAny>),
}

fn sink_of(progress: Option<&Bound<'_, PyAny>>) -> PyResult<ProgressSink> {
    Ok(match progress {
        None => ProgressSink::Nobody,
        Some(progress) if progress.is_callable() => {
            ProgressSink::Callable(progress.clone().unbind())
        }
        Some(progress) if progress.is_truthy()? && std::io::stderr().is_terminal() => {
            ProgressSink::Terminal
        }
        Some(_) => ProgressSink::Nobody,
    })
}

fn run(
    py: Python<'_>,
    graph: &Graph,
    mut options: ImportOptions,
    progress: Option<&Bound<'_, PyAny>>,
    import: impl FnOnce(
        &ImportOptions,
        &(dyn Fn(&ImportProgress) -> bool + Send + Sync),
    ) -> quipu::Result<quipu::ImportReport>
    + Send,
) -> PyResult<ImportReport> {
    let defaults = graph.database.import_options();
    options.memory_limit_bytes = defaults.memory_limit_bytes;
    options.spill_folder = defaults.spill_folder;
    let sink = sink_of(progress)?;
    let last = AtomicU64::new(0);
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let result = interruptible(py, |go_on| {
        import(&options, &|progress: &ImportProgress| {
            let now = (progress.seconds * 1000.0) as u64;
            let before = last.load(Ordering::Relaxed);
            if now >= before + STEP_MS
                && last.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                match &sink {
                    ProgressSink::Nobody => {}
                    ProgressSink::Terminal => draw(progress),
                    ProgressSink::Callable(callable) => {
                        if let Err(error) = call(callable, progress) {
                            *raised.lock() = Some(error);
                            return false;
                        }
                    }
                }
            }
            go_on()
        })
    });
    if matches!(sink, ProgressSink::Terminal) {
        eprint!("\r\x1b[K");
    }
    if let Some(error) = raised.into_inner() {
        return Err(error);
    }
    result.map(ImportReport::from)
}

fn draw(progress: &ImportProgress) {
    let rate = progress.rows as f64 / progress.seconds.max(1e-3) / 1e6;
    let left = progress.seconds * (1.0 / progress.fraction.max(1e-3) - 1.0);
    let _ = write!(
        std::io::stderr(),
        "\r\x1b[K{:?}: {:.0} %, {:.1} M edges, {rate:.1} M/s, {left:.0} s left",
        progress.phase,
        progress.fraction * 100.0,
        progress.rows as f64 / 1e6,
    );
}

fn call(callable: &Py<PyAny>, progress: &ImportProgress) -> PyResult<()> {
    attached(|py| {
        let told = PyDict::new(py);
        told.set_item("phase", format!("{:?}", progress.phase).to_lowercase())?;
        told.set_item("rows", progress.rows)?;
        told.set_item("bytes_read", progress.bytes_read)?;
        told.set_item("bytes_total", progress.bytes_total)?;
        told.set_item("fraction", progress.fraction)?;
        told.set_item("seconds", progress.seconds)?;
        callable.call1(py, (told,))?;
        Ok(())
    })
}

pub(crate) fn csv(
    py: Python<'_>,
    graph: &Graph,
    path: &Path,
    text: TextOptions,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ImportReport> {
    let target = graph.graph()?;
    let options = ImportOptions { text, ..ImportOptions::default() };
    run(py, graph, options, progress, |options, progress| {
        target.import_csv(graph.database.env(), path, options, progress)
    })
}

pub(crate) fn parquet(
    py: Python<'_>,
    graph: &Graph,
    path: &Path,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ImportReport> {
    let target = graph.graph()?;
    run(py, graph, ImportOptions::default(), progress, |options, progress| {
        target.import_parquet(graph.database.env(), path, options, progress)
    })
}

pub(crate) fn arrow(
    py: Python<'_>,
    graph: &Graph,
    table: &Bound<'_, PyAny>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ImportReport> {
    let target = graph.graph()?;
    let mut batches = crate::capsule::batches(table)?
        .map(|batch| batch.map_err(|error| quipu::Error::caused(ErrorKind::InvalidInput, error)));
    run(py, graph, ImportOptions::default(), progress, |options, progress| {
        target.import_arrow(graph.database.env(), &mut batches, "the table", options, progress)
    })
}

pub(crate) fn arrays(
    py: Python<'_>,
    graph: &Graph,
    us: &Bound<'_, PyAny>,
    vs: &Bound<'_, PyAny>,
    ws: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ImportReport> {
    let target = graph.graph()?;
    let (us, vs) = (vertices::column(target, us)?, vertices::column(target, vs)?);
    if us.len() != vs.len() {
        return Err(invalid(&format!("{} sources, but {} targets", us.len(), vs.len())));
    }
    let ws = vertices::weights(target, ws)?;
    let ws = ws.as_ref().map(vertices::WeightColumn::as_ref).transpose()?;
    us.with_list(|us| {
        vs.with_list(|vs| {
            run(py, graph, ImportOptions::default(), progress, |options, progress| {
                target.import_columns(graph.database.env(), us, vs, ws, options, progress)
            })
        })
    })??
}
