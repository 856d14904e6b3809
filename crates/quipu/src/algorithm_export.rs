//! Results of algorithms as files: delimited text, Parquet and Arrow.

use crate::algorithm::algorithm_batch;
use crate::export::ExportFormat;
use analytics::AlgorithmResult;
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use std::io::Write;
use store::{Error, ErrorKind, Result};

/// Rows between two calls of `go_on`.
const ROWS_UNCHECKED: usize = 1 << 14;

/// Writes the columns of a result ([`AlgorithmResult::columns`]). Text has a header; a missing
/// parent is empty. `go_on` is called now and then; returning false cancels.
///
/// # Errors
/// [`ErrorKind::Io`] if `out` fails, [`ErrorKind::Cancelled`]; those of reading names of vertices.
pub fn export_result(
    result: &AlgorithmResult,
    out: &mut (impl Write + Send),
    format: ExportFormat,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    let batch = algorithm_batch(result)?;
    match format {
        ExportFormat::Text(delimiter) => write_text(&batch, out, delimiter, go_on),
        ExportFormat::Parquet => {
            let wrong = |error: parquet::errors::ParquetError| failed(&error);
            let mut writer = ArrowWriter::try_new(out, batch.schema(), None).map_err(wrong)?;
            writer.write(&batch).map_err(wrong)?;
            writer.close().map(drop).map_err(wrong)
        }
        ExportFormat::Arrow => {
            let wrong = |error: ArrowError| failed(&error);
            let mut writer = FileWriter::try_new(out, &batch.schema()).map_err(wrong)?;
            writer.write(&batch).map_err(wrong)?;
            writer.finish().map_err(wrong)
        }
    }
}

fn write_text(
    batch: &RecordBatch,
    out: &mut impl Write,
    delimiter: u8,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    let options = FormatOptions::new();
    let columns: std::result::Result<Vec<_>, _> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
        .collect();
    let columns = columns.map_err(|error| failed(&error))?;
    let mut text = Vec::new();
    for (i, field) in batch.schema().fields().iter().enumerate() {
        push(&mut text, i, field.name(), delimiter);
    }
    text.push(b'\n');
    for row in 0..batch.num_rows() {
        for (i, column) in columns.iter().enumerate() {
            push(&mut text, i, &column.value(row).to_string(), delimiter);
        }
        text.push(b'\n');
        if row % ROWS_UNCHECKED == ROWS_UNCHECKED - 1 {
            out.write_all(&text).map_err(io_error)?;
            text.clear();
            if !go_on() {
                return Err(Error::new(ErrorKind::Cancelled, "the call was stopped"));
            }
        }
    }
    out.write_all(&text).and_then(|()| out.flush()).map_err(io_error)
}

/// Appends a field, in quotes where it would be misread without.
fn push(text: &mut Vec<u8>, column: usize, field: &str, delimiter: u8) {
    if column > 0 {
        text.push(delimiter);
    }
    let is_special = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    match field.bytes().any(is_special) {
        false => text.extend_from_slice(field.as_bytes()),
        true => {
            text.push(b'"');
            text.extend_from_slice(field.replace('"', "\"\"").as_bytes());
            text.push(b'"');
        }
    }
}

fn io_error(error: std::io::Error) -> Error {
    Error::caused(ErrorKind::Io, error)
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}
