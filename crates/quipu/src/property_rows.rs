//! Reads rows with properties: text and frames here, columnar files and batches in
//! `property_batches.rs`.
//!
//! # Why all rows are read before any is written
//! The type of a column of text is known after its last value, and an import that fails changes
//! nothing. The rows stay within the memory limit of the import.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's files

use crate::import_file::{ImportFile, failed, unreadable};
#[cfg(feature = "arrow")]
use crate::property_batches::{RecordBatches, of_batches, of_parquet};
use ingest::{GraphFormat, InputError, Splitter, TextColumn, TextOptions, TextRows, decompressor};
use model::{Frame, Series, Values};
use std::fs::File;
use std::io::Read;
use store::{Error, ErrorKind, Result};
use views::import::{ImportInput, ImportOptions};

/// Rows of edges or of vertices, with properties in further columns.
pub enum PropertySource {
    /// Files of text with a header, Parquet or Arrow. They have the same columns.
    Files(Vec<ImportFile>),
    /// Record batches of one schema.
    #[cfg(feature = "arrow")]
    Batches(RecordBatches),
    /// Columns of values.
    Rows(Frame),
}

/// The rows of one input.
pub(crate) struct RawRows {
    /// Its name, for messages.
    pub(crate) name: String,
    pub(crate) names: Vec<String>,
    pub(crate) columns: Vec<RawColumn>,
    /// The line of each row of text.
    pub(crate) lines: Option<Vec<u64>>,
    pub(crate) rows: usize,
    pub(crate) detected: Vec<(&'static str, String)>,
    pub(crate) skipped: Vec<InputError>,
    pub(crate) skipped_count: u64,
    pub(crate) bytes_read: u64,
    /// The largest whole number of each column that a float of it can stand for; empty: 2^53.
    pub(crate) whole_max: Vec<f64>,
}

pub(crate) enum RawColumn {
    /// Fields of text.
    Text(TextColumn),
    /// Values of a file, whose strings are parsed where the property has another type.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "such files are not read"))]
    FileValues(Series),
    /// Values that have their types.
    Values(Series),
}

/// Stops reading where rows exceed the memory of the import, or the caller cancels.
pub(crate) struct Limit<'l> {
    pub(crate) bytes_max: u64,
    /// Bytes of the rows that were read before.
    pub(crate) held: u64,
    pub(crate) go_on: &'l dyn Fn() -> bool,
}

impl Limit<'_> {
    /// Counts the rows of an input that was read.
    fn hold(&mut self, rows: RawRows) -> Result<RawRows> {
        let bytes = rows.bytes();
        self.check(bytes)?;
        self.held += bytes;
        Ok(rows)
    }

    /// Fails if `more` bytes beside those held exceed the limit.
    pub(crate) fn check(&self, more: u64) -> Result<()> {
        if !(self.go_on)() {
            return Err(Error::new(ErrorKind::Cancelled, "the import was cancelled"));
        }
        if self.held + more <= self.bytes_max {
            return Ok(());
        }
        let what = format!("rows with properties exceed {} bytes of memory", self.bytes_max);
        let hint = "a larger memory_limit allows more; or import the rows in several parts";
        Err(Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}")))
    }
}

/// Reads all inputs of a source.
pub(crate) fn read(
    source: PropertySource,
    options: &ImportOptions,
    limit: &mut Limit<'_>,
) -> Result<Vec<RawRows>> {
    match source {
        PropertySource::Rows(frame) => Ok(vec![limit.hold(of_frame(frame))?]),
        #[cfg(feature = "arrow")]
        PropertySource::Batches(batches) => {
            let rows = of_batches(batches, "the table", RawColumn::Values, limit)?;
            Ok(vec![limit.hold(rows)?])
        }
        PropertySource::Files(files) => {
            files.into_iter().map(|file| limit.hold(of_file(file, &options.text, limit)?)).collect()
        }
    }
}

impl RawRows {
    /// Bytes that the rows take.
    pub(crate) fn bytes(&self) -> u64 {
        let column = |column: &RawColumn| match column {
            RawColumn::Text(column) => column.texts.heap_bytes() as u64 + 9 * self.rows as u64,
            RawColumn::FileValues(series) | RawColumn::Values(series) => bytes_of(series),
        };
        self.columns.iter().map(column).sum::<u64>() + 8 * self.rows as u64
    }
}

pub(crate) fn bytes_of(series: &Series) -> u64 {
    match &series.values {
        Values::Str(texts) | Values::Bytes(texts) => {
            (texts.heap.len() + 8 * texts.offsets.len()) as u64
        }
        Values::Any(values) => (size_of::<model::Value>() * values.len()) as u64,
        _ => 8 * series.len() as u64,
    }
}

fn of_frame(frame: Frame) -> RawRows {
    let (names, rows) = (frame.names().to_vec(), frame.len());
    let columns = frame.into_columns().into_iter().map(RawColumn::Values).collect();
    blank("the table", names, columns, rows)
}

pub(crate) fn blank(
    name: &str,
    names: Vec<String>,
    columns: Vec<RawColumn>,
    rows: usize,
) -> RawRows {
    RawRows {
        name: name.to_owned(),
        names,
        columns,
        lines: None,
        rows,
        detected: Vec::new(),
        skipped: Vec::new(),
        skipped_count: 0,
        bytes_read: 0,
        whole_max: Vec::new(),
    }
}

fn of_file(file: ImportFile, options: &TextOptions, limit: &Limit<'_>) -> Result<RawRows> {
    match file.open()? {
        ImportInput::File(path) => {
            let name = path.display().to_string();
            let file = File::open(&path).map_err(|error| unreadable(&path, error))?;
            let bytes_read = file.metadata().map_or(0, |about| about.len());
            let rows = of_text(Box::new(file), &name, options, limit)?;
            Ok(RawRows { bytes_read, ..rows })
        }
        ImportInput::Stream(reader, name) => of_text(reader, &name, options, limit),
        #[cfg(feature = "arrow")]
        ImportInput::Parquet(path) => of_parquet(&path, limit),
        #[cfg(feature = "arrow")]
        ImportInput::Batches(batches, name) => {
            let rows = of_batches(batches, &name, RawColumn::FileValues, limit)?;
            Ok(RawRows { detected: vec![("format", "Arrow".to_owned())], ..rows })
        }
    }
}

fn of_text(
    reader: Box<dyn Read + Send>,
    name: &str,
    options: &TextOptions,
    limit: &Limit<'_>,
) -> Result<RawRows> {
    let broken = |source| failed(ingest::Error::Io { file: name.to_owned(), source });
    let (_, plain) = decompressor(reader).map_err(broken)?;
    let mut splitter = Splitter::new(plain, name);
    let head = splitter.head().map_err(failed)?;
    if GraphFormat::detect(head, name).is_some() {
        let what = format!("{name} is no table: it has no columns that become properties");
        let hint = "import it without properties, or convert it to tables of edges and vertices";
        return Err(Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")));
    }
    let wrong = |error: InputError| failed(error.into());
    let dialect = ingest::sniff_rows(head, name, options).map_err(wrong)?;
    let (mut rows, mut buffer) = (TextRows::default(), Vec::new());
    rows.columns.resize_with(dialect.names.len(), TextColumn::default);
    let mut bytes_read = 0;
    while let Some(chunk) = splitter.next(&dialect.dialect, buffer).map_err(failed)? {
        ingest::read_rows(&dialect, &chunk, &mut rows).map_err(wrong)?;
        limit.check(rows.bytes())?;
        bytes_read += chunk.bytes.len() as u64;
        buffer = chunk.bytes;
    }
    let count = rows.len();
    let columns = rows.columns.into_iter().map(RawColumn::Text).collect();
    Ok(RawRows {
        lines: Some(rows.lines),
        detected: dialect.dialect.detected,
        skipped: rows.skipped,
        skipped_count: rows.skipped_count,
        bytes_read,
        ..blank(name, dialect.names, columns, count)
    })
}
