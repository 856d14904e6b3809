//! Reads rows with properties: text and frames here, columnar files and batches in
//! `property_batches.rs`.
//!
//! # Why all rows are read before any is written
//! The type of a column of text is known after its last value, and an import that fails changes
//! nothing. The rows stay within the memory limit of the import.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's files

#[cfg(feature = "arrow")]
use crate::arrow_file::RecordBatches;
use crate::file_errors::{failed, unreadable};
use crate::import_file::ImportFile;
#[cfg(feature = "arrow")]
use crate::property_batches::{of_batches, of_parquet};
use crate::raw_rows::{Limit, RawColumn, RawRows, blank};
use ingest::{GraphFormat, InputError, Splitter, TextColumn, TextOptions, TextRows, decompressor};
use model::Frame;
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

fn of_frame(frame: Frame) -> RawRows {
    let (names, rows) = (frame.names().to_vec(), frame.len());
    let columns = frame.into_columns().into_iter().map(RawColumn::Values).collect();
    blank("the table", names, columns, rows)
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
