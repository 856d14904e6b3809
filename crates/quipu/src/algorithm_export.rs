//! Results of algorithms as files: delimited text, Parquet and Arrow.

use crate::algorithm::frame_of;
use crate::export_format::ExportFormat;
use crate::relation_export::{write_header, write_rows};
use analytics::AlgorithmResult;
use std::io::Write;
use store::{Error, ErrorKind, Result};

/// Rows between two calls of `go_on`.
const ROWS_UNCHECKED: usize = 1 << 14;

/// Writes the columns of a result ([`AlgorithmResult::columns`]). Text has a header; a missing
/// parent is empty, or `\N` between spaces. `go_on` is called now and then; returning false
/// cancels.
///
/// # Errors
/// [`ErrorKind::Io`] if `out` fails, [`ErrorKind::Cancelled`]; those of reading names of vertices.
pub fn export_result(
    result: &AlgorithmResult,
    out: &mut (impl Write + Send),
    format: ExportFormat,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    match format {
        ExportFormat::Text(delimiter) => write_text(result, out, delimiter, go_on),
        #[cfg(feature = "arrow")]
        _ => {
            let batch = crate::algorithm_arrow::algorithm_batch(result)?;
            crate::columnar_export::write_batch(&batch, out, format)
        }
        #[cfg(not(feature = "arrow"))]
        _ => Err(crate::file_errors::without_arrow()),
    }
}

fn write_text(
    result: &AlgorithmResult,
    out: &mut impl Write,
    delimiter: u8,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    let (frame, _) = frame_of(result)?;
    let mut text = Vec::new();
    write_header(frame.names().iter().map(String::as_str), delimiter, &mut text);
    for start in (0..frame.len()).step_by(ROWS_UNCHECKED) {
        let rows = start..frame.len().min(start + ROWS_UNCHECKED);
        write_rows(&frame, rows, delimiter, write_float, &mut text);
        out.write_all(&text).map_err(io_error)?;
        text.clear();
        if !go_on() {
            return Err(Error::new(ErrorKind::Cancelled, "the call was stopped"));
        }
    }
    out.write_all(&text).and_then(|()| out.flush()).map_err(io_error)
}

/// As `Debug` does: whole numbers have a decimal point, by which readers know floats.
fn write_float(value: f64, buffer: &mut String, text: &mut Vec<u8>) {
    use std::fmt::Write as _;
    buffer.clear();
    // Writing to a string cannot fail.
    let _ = write!(buffer, "{value:?}");
    text.extend_from_slice(buffer.as_bytes());
}

fn io_error(error: std::io::Error) -> Error {
    Error::caused(ErrorKind::Io, error)
}
