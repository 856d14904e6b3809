//! Rows with properties as they were read, before their types are known.

use ingest::{InputError, TextColumn};
use model::{Series, Values};
use store::{Error, ErrorKind, Result};

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
    pub(crate) fn hold(&mut self, rows: RawRows) -> Result<RawRows> {
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
