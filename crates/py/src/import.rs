//! Imports of edges into a graph: options, progress, and the report. `graph_methods.rs` calls it.

use crate::edge_source::{self, EdgeSource, Raised};
use crate::error::{OrRaise, invalid};
use crate::interruptible::{STEP_MS, interruptible};
use crate::python_code::attached;
use crate::vertices;
use env::sync::Mutex;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quipu::ingest::{ColumnRef, Columns, Missing, OnError, TextOptions};
use quipu::{GraphOptions, ImportOptions, ImportProgress, VertexType, WeightType};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Edges and lines that an import read, wrote and skipped.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct ImportReport {
    edges: u64,
    nodes: u64,
    rows: u64,
    duplicates: u64,
    skipped: u64,
    skipped_lines: Vec<String>,
    missing: u64,
    detected: Vec<(&'static str, String)>,
    notes: Vec<String>,
    seconds: f64,
    bytes_read: u64,
    bytes_written: u64,
}

#[documented]
#[guarded]
#[pymethods]
impl ImportReport {
    #[getter]
    fn edges(&self) -> u64 {
        self.edges
    }

    #[getter]
    fn nodes(&self) -> u64 {
        self.nodes
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.rows
    }

    #[getter]
    fn duplicates(&self) -> u64 {
        self.duplicates
    }

    #[getter]
    fn skipped(&self) -> u64 {
        self.skipped
    }

    #[getter]
    fn skipped_lines(&self) -> Vec<String> {
        self.skipped_lines.clone()
    }

    #[getter]
    fn missing(&self) -> u64 {
        self.missing
    }

    #[getter]
    fn detected<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let detected = PyDict::new(py);
        for (key, value) in &self.detected {
            detected.set_item(key, value)?;
        }
        Ok(detected)
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.seconds
    }

    #[getter]
    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    #[getter]
    fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    fn __repr__(&self) -> String {
        let nodes = match self.nodes {
            0 => String::new(),
            nodes => format!("nodes={nodes}, "),
        };
        let mut text = format!(
            "ImportReport(edges={}, {nodes}duplicates={}, skipped={}, missing={}, seconds={:.3}, \
             bytes_read={}, bytes_written={})",
            self.edges,
            self.duplicates,
            self.skipped,
            self.missing,
            self.seconds,
            self.bytes_read,
            self.bytes_written
        );
        let said = self.detected.iter().map(|(key, value)| format!("{key}: {value}"));
        let said: Vec<_> =
            said.chain(self.notes.iter().map(|note| format!("note: {note}"))).collect();
        for line in said {
            text.push_str("\n  ");
            text.push_str(&line);
        }
        text
    }
}

impl From<quipu::ImportReport> for ImportReport {
    fn from(report: quipu::ImportReport) -> Self {
        Self {
            edges: report.edges,
            nodes: report.nodes,
            rows: report.rows,
            duplicates: report.duplicates,
            skipped: report.skipped,
            skipped_lines: report.skipped_lines.iter().map(ToString::to_string).collect(),
            missing: report.missing,
            detected: report.detected,
            notes: report.notes,
            seconds: report.seconds,
            bytes_read: report.bytes_read,
            bytes_written: report.bytes_written,
        }
    }
}

/// Keyword arguments of an import, as Python gives them.
pub(crate) struct Arguments<'a, 'py> {
    pub(crate) columns: Option<&'a Bound<'py, PyAny>>,
    pub(crate) delimiter: Option<&'a str>,
    pub(crate) header: Option<bool>,
    pub(crate) on_error: &'a str,
    pub(crate) missing: Option<&'a Bound<'py, PyAny>>,
    pub(crate) quote: Option<&'a str>,
    pub(crate) skip_rows: u64,
    pub(crate) comment: Option<&'a str>,
    pub(crate) decimal: &'a str,
    pub(crate) null_values: Option<Vec<String>>,
}

impl Default for Arguments<'_, '_> {
    fn default() -> Self {
        Self {
            columns: None,
            delimiter: None,
            header: None,
            on_error: "fail",
            missing: None,
            quote: Some("\""),
            skip_rows: 0,
            comment: None,
            decimal: ".",
            null_values: None,
        }
    }
}

impl Arguments<'_, '_> {
    pub(crate) fn options(self) -> PyResult<ImportOptions> {
        let quotes = has_quotes(self.quote)?;
        let mut text = TextOptions { header: self.header, quotes, ..TextOptions::default() };
        text.delimiter = self.delimiter.map(|d| one_byte("a delimiter", d)).transpose()?;
        text.on_error = match self.on_error {
            "fail" => OnError::Fail,
            "skip" => OnError::Skip,
            other => {
                let what = format!("on_error is \"fail\" or \"skip\", not {other:?}");
                return Err(invalid(&what));
            }
        };
        text.edges.columns = self.columns.map(columns).transpose()?;
        text.edges.missing = missing(self.missing)?;
        text.skip_rows = self.skip_rows;
        text.comment = self.comment.map(|c| one_byte("a comment's mark", c)).transpose()?;
        text.decimal = match self.decimal {
            "." => b'.',
            "," => b',',
            other => {
                return Err(invalid(&format!("decimal is \".\" or \",\", not {other:?}")));
            }
        };
        text.null_values = self.null_values.unwrap_or_default();
        Ok(ImportOptions { text, ..ImportOptions::default() })
    }
}

/// Whether fields may be in quotes, by the argument `quote`.
fn has_quotes(quote: Option<&str>) -> PyResult<bool> {
    match quote {
        None => Ok(false),
        Some("\"") => Ok(true),
        Some(other) => Err(invalid(&format!("quote is '\"' or None, not {other:?}"))),
    }
}

fn one_byte(what: &str, text: &str) -> PyResult<u8> {
    match text.as_bytes() {
        &[byte] => Ok(byte),
        _ => Err(invalid(&format!("{what} is one ASCII character"))),
    }
}

fn missing(given: Option<&Bound<'_, PyAny>>) -> PyResult<Missing> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(Missing::Fail) };
    if let Ok(text) = given.extract::<String>() {
        return match text.as_str() {
            "fail" => Ok(Missing::Fail),
            "skip" => Ok(Missing::Skip),
            other => Err(invalid(&format!("missing is a weight or \"skip\", not {other:?}"))),
        };
    }
    Ok(Missing::Weight(given.extract()?))
}

/// A column by name or place.
pub(crate) fn column(column: &Bound<'_, PyAny>) -> PyResult<ColumnRef> {
    let index = column.extract::<usize>().map(ColumnRef::Index);
    index.or_else(|_| column.extract::<String>().map(ColumnRef::Name))
}

fn columns(columns: &Bound<'_, PyAny>) -> PyResult<Columns> {
    let columns: Vec<Bound<'_, PyAny>> = columns.extract()?;
    match &columns[..] {
        [source, target] => {
            Ok(Columns { source: column(source)?, target: column(target)?, weight: None })
        }
        [source, target, weight] => Ok(Columns {
            source: column(source)?,
            target: column(target)?,
            weight: Some(column(weight)?),
        }),
        _ => Err(invalid("columns names the source, the target and perhaps the weight")),
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
    database: &quipu::Database,
    mut options: ImportOptions,
    progress: Option<&Bound<'_, PyAny>>,
    import: impl FnOnce(ImportOptions, quipu::ProgressFn<'_>) -> quipu::Result<quipu::ImportReport>
    + Send,
) -> PyResult<ImportReport> {
    let defaults = database.import_options();
    options.memory_limit_bytes = defaults.memory_limit_bytes;
    options.spill_folder = defaults.spill_folder;
    let sink = sink_of(progress)?;
    let last = AtomicU64::new(0);
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let result = interruptible(py, |go_on| {
        import(options, &|progress: &ImportProgress| {
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

/// Imports what an object means.
pub(crate) fn from_source(
    py: Python<'_>,
    (graph, database): (&quipu::Graph, &quipu::Database),
    source: EdgeSource,
    options: ImportOptions,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ImportReport> {
    let env = database.env();
    match source {
        EdgeSource::Files(files, raised) => {
            let report = run(py, database, options, progress, |options, progress| {
                quipu::import_files(graph, env, files, &options, progress)
            });
            // The exception of a file object comes first: it is the reason of the error.
            match raised.lock().take() {
                Some(error) => Err(error),
                None => report,
            }
        }
        EdgeSource::Table(mut batches, notes) => {
            let report = run(py, database, options, progress, |options, progress| {
                graph.import_arrow(env, &mut batches, "the table", &options, progress)
            });
            report.map(|mut report| {
                report.notes.extend(notes);
                report
            })
        }
    }
}

/// Imports rows with properties.
pub(crate) fn with_properties(
    py: Python<'_>,
    database: &quipu::Database,
    name: &str,
    mut import: quipu::PropertyImport,
    raised: &[Raised],
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ImportReport> {
    let options = std::mem::take(&mut import.options);
    let report = run(py, database, options, progress, |options, progress| {
        let import = quipu::PropertyImport { options, ..import };
        database.import_properties(name, import, progress)
    });
    // The exception of a file object comes first: it is the reason of the error.
    match raised.iter().find_map(|raised| raised.lock().take()) {
        Some(error) => Err(error),
        None => report,
    }
}

/// The types of a graph that an import is given.
pub(crate) struct GivenTypes {
    pub(crate) vertex: Option<VertexType>,
    pub(crate) weight: Option<WeightType>,
    pub(crate) is_undirected: Option<bool>,
    pub(crate) is_keyed: Option<bool>,
}

/// Imports into a graph that may not exist yet, which then gets the types that fit.
pub(crate) fn into_graph(
    py: Python<'_>,
    database: &quipu::Database,
    name: &str,
    mut source: EdgeSource,
    types: GivenTypes,
    options: ImportOptions,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ImportReport> {
    let found = py.detach(|| database.existing_graph(name)).or_raise()?;
    let wanted = match &found {
        Some(graph) => GraphOptions::of(graph.def()),
        None if types.vertex.is_some() && types.weight.is_some() => GraphOptions::default(),
        None => types_of(py, &mut source, &options)?,
    };
    let wanted = GraphOptions {
        vertex: types.vertex.unwrap_or(wanted.vertex),
        weight: types.weight.unwrap_or(wanted.weight),
        is_undirected: types.is_undirected.unwrap_or(wanted.is_undirected),
        is_keyed: types.is_keyed.unwrap_or(wanted.is_keyed),
        ..wanted
    };
    // While the types were looked for, another writer may have created it.
    let opened = py.detach(|| database.open_or_create_graph(name, wanted));
    let (graph, is_new) = opened.or_raise()?;
    let report = from_source(py, (&graph, database), source, options, progress);
    if report.is_err() && is_new {
        py.detach(|| database.drop_graph(name)).or_raise()?;
    }
    report
}

fn types_of(
    py: Python<'_>,
    source: &mut EdgeSource,
    options: &ImportOptions,
) -> PyResult<GraphOptions> {
    match source {
        EdgeSource::Files(files, raised) => {
            let found = py.detach(|| quipu::types_of_files(files, options));
            match raised.lock().take() {
                Some(error) => Err(error),
                None => found.or_raise(),
            }
        }
        EdgeSource::Table(batches, _) => quipu::types_of_batches(batches, options).or_raise(),
    }
}

pub(crate) fn arrays(
    py: Python<'_>,
    (graph, database): (&quipu::Graph, &quipu::Database),
    us: &Bound<'_, PyAny>,
    vs: &Bound<'_, PyAny>,
    ws: Option<&Bound<'_, PyAny>>,
    missing: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ImportReport> {
    let options = Arguments { missing, ..Arguments::default() }.options()?;
    // A masked array has a mask; its data are no values where it is set.
    let ws = ws.filter(|ws| !ws.is_none());
    let is_masked = |column: &Bound<'_, PyAny>| column.hasattr("mask").unwrap_or(false);
    if is_masked(us) || is_masked(vs) || ws.is_some_and(is_masked) {
        let mut names = vec!["source".to_owned(), "target".to_owned()];
        names.extend(ws.map(|_| "weight".to_owned()));
        let columns: Vec<_> = [Some(us), Some(vs), ws].into_iter().flatten().cloned().collect();
        let batch = edge_source::batch_of(names, &columns)?;
        let batches = Box::new(std::iter::once(Ok(batch)));
        let target = (graph, database);
        return from_source(py, target, EdgeSource::Table(batches, Vec::new()), options, progress);
    }
    let (us, vs) = (vertices::column(graph, us)?, vertices::column(graph, vs)?);
    if us.len() != vs.len() {
        return Err(invalid(&format!("{} sources, but {} targets", us.len(), vs.len())));
    }
    let ws = vertices::weights(graph, ws)?;
    let ws = ws.as_ref().map(vertices::WeightColumn::as_ref).transpose()?;
    us.with_list(|us| {
        vs.with_list(|vs| {
            run(py, database, options, progress, |options, progress| {
                graph.import_columns(database.env(), us, vs, ws, &options, progress)
            })
        })
    })??
}
