//! Exports the rows of a relation to a file that the user chooses: those of a graph's edges and
//! vertices with their properties.

use crate::database::Database;
use crate::export::{in_the_database, with_compression, write_output};
use crate::export_format::ExportFormat;
use crate::relation::{Relation, RowScan};
#[cfg(feature = "arrow")]
use crate::{columnar_export, typed_column::Digits};
#[cfg(feature = "arrow")]
use base::Projection;
use ingest::{write_float, write_text};
#[cfg(feature = "arrow")]
use model::Type;
use model::{Frame, Series, Value, Values};
use session::ColumnOf;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use store::{Error, ErrorKind, Result};

/// Rows that are read, converted and written in one step.
const STEP_ROWS: usize = 1 << 16;

/// Writes all rows of a relation, at a snapshot taken now or in its transaction, to `path`. Returns
/// their number. The columns `src` and `dst` of edges are called `source` and `target`, as in other
/// exports of graphs. An import reads the same values back, but for text of columns of any type,
/// which becomes strings. Decimals are read twice for Parquet and Arrow files: the type of their
/// column has the digits of all values.
///
/// In text, null is an empty field, or `\N` between spaces; an empty string is `""`. `progress`
/// gets the number of rows written and returns false to stop.
///
/// # Errors
/// As [`export_file`](crate::export_file), and those of reading.
pub fn export_relation(
    database: &Database,
    relation: &Relation,
    path: &Path,
    format: ExportFormat,
    progress: &dyn Fn(u64) -> bool,
) -> Result<u64> {
    if database.holds(path) {
        return Err(in_the_database(path));
    }
    let mut rows = Rows { scan: relation.scan()?, progress, written: 0 };
    let columns = columns_of(relation);
    write_output(path, &|| progress(0), |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        match format {
            ExportFormat::Text(delimiter) => {
                with_compression(path, &mut out, |out| text(&mut rows, &columns, delimiter, out))?;
            }
            #[cfg(feature = "arrow")]
            _ => {
                let digits = digits(relation, &columns, &rows)?;
                let next = &mut || rows.next();
                columnar_export::write_rows(next, &columns, &digits, &mut out, format)?;
            }
            #[cfg(not(feature = "arrow"))]
            _ => return Err(crate::file_errors::without_arrow()),
        }
        out.flush().map_err(io_error)?;
        Ok(rows.written)
    })
}

/// Writes all rows of a relation as text, as [`export_relation`] does.
///
/// # Errors
/// As [`export_relation`].
pub fn export_relation_text(
    relation: &Relation,
    out: &mut dyn Write,
    delimiter: u8,
    progress: &dyn Fn(u64) -> bool,
) -> Result<u64> {
    let mut rows = Rows { scan: relation.scan()?, progress, written: 0 };
    text(&mut rows, &columns_of(relation), delimiter, out)?;
    Ok(rows.written)
}

/// The digits of each column of decimals, which are part of the type that it has in a file. They
/// take a scan of their own, because all rows determine them and are written while they are read.
/// It reads no values of other columns.
#[cfg(feature = "arrow")]
fn digits(
    relation: &Relation,
    columns: &[ColumnOf],
    rows: &Rows<'_>,
) -> Result<Vec<Option<Digits>>> {
    let is_decimal = |column: &ColumnOf| *column.column_type.without_null() == Type::Decimal;
    let mut digits: Vec<Option<Digits>> =
        columns.iter().map(|column| is_decimal(column).then(Digits::default)).collect();
    if digits.iter().all(Option::is_none) {
        return Ok(digits);
    }
    let keys = columns.iter().filter(|column| column.is_key).count();
    let mut decimals = Projection::COUNT;
    for (place, _) in digits.iter().enumerate().filter(|(_, digits)| digits.is_some()) {
        match place.checked_sub(keys) {
            Some(value) => decimals.want_value(value),
            None => decimals.keys = Projection::KEYS.keys,
        }
    }
    let scan = relation.scan_again(&rows.scan, decimals)?;
    let mut first = Rows { scan, progress: &|_| (rows.progress)(0), written: 0 };
    while let Some(frame) = first.next()? {
        for (digits, series) in digits.iter_mut().zip(frame.columns()) {
            if let Some(digits) = digits {
                *digits = digits.join(Digits::of_series(series));
            }
        }
    }
    Ok(digits)
}

/// The columns with the names that files have.
fn columns_of(relation: &Relation) -> Vec<ColumnOf> {
    let is_there = |name: &str| relation.columns().iter().any(|column| column.name == name);
    let is_of_edges = is_there("src") && is_there("dst");
    // Properties may have these names.
    let is_of_edges = is_of_edges && !is_there("source") && !is_there("target");
    let column = |column: &ColumnOf| {
        let name = match column.name.as_str() {
            "src" if is_of_edges => "source",
            "dst" if is_of_edges => "target",
            name => name,
        };
        ColumnOf { name: name.to_owned(), ..column.clone() }
    };
    relation.columns().iter().map(column).collect()
}

/// Rows that are being written.
struct Rows<'r> {
    scan: RowScan,
    progress: &'r dyn Fn(u64) -> bool,
    written: u64,
}

impl Rows<'_> {
    fn next(&mut self) -> Result<Option<Frame>> {
        if !(self.progress)(self.written) {
            return Err(Error::new(ErrorKind::Cancelled, "the export was stopped"));
        }
        let rows = self.scan.next_rows(STEP_ROWS)?;
        self.written += rows.as_ref().map_or(0, |rows| rows.len() as u64);
        Ok(rows)
    }
}

fn text(
    rows: &mut Rows<'_>,
    columns: &[ColumnOf],
    delimiter: u8,
    out: &mut dyn Write,
) -> Result<()> {
    let mut text = Vec::new();
    write_header(columns.iter().map(|column| column.name.as_str()), delimiter, &mut text);
    while let Some(frame) = rows.next()? {
        write_rows(&frame, 0..frame.len(), delimiter, write_float, &mut text);
        out.write_all(&text).map_err(io_error)?;
        text.clear();
    }
    // For a relation without rows the header is still in the buffer.
    out.write_all(&text).and_then(|()| out.flush()).map_err(io_error)
}

/// Appends a line with the names of columns.
pub(crate) fn write_header<'n>(
    names: impl Iterator<Item = &'n str>,
    delimiter: u8,
    text: &mut Vec<u8>,
) {
    for (place, name) in names.enumerate() {
        if place > 0 {
            text.push(delimiter);
        }
        write_text(name, delimiter, false, text);
    }
    text.push(b'\n');
}

/// Appends a float; the string is memory to reuse.
pub(crate) type WriteFloat = fn(f64, &mut String, &mut Vec<u8>);

/// Appends a line for each row of a range.
pub(crate) fn write_rows(
    frame: &Frame,
    rows: Range<usize>,
    delimiter: u8,
    write_float: WriteFloat,
    text: &mut Vec<u8>,
) {
    let mut buffer = String::new();
    for row in rows {
        for (place, series) in frame.columns().iter().enumerate() {
            if place > 0 {
                text.push(delimiter);
            }
            let before = text.len();
            match &series.values {
                Values::Float(values) if series.valid.is_valid(row) => {
                    write_float(values[row], &mut buffer, text);
                }
                _ => field(series, row, delimiter, &mut buffer, text),
            }
            // Runs of spaces are one delimiter, so an empty field would be lost.
            if delimiter == b' ' && text.len() == before {
                text.extend_from_slice(b"\\N");
            }
        }
        text.push(b'\n');
    }
}

/// Appends a field that is not a float. Nothing but a null is an empty field without quotes.
fn field(series: &Series, row: usize, delimiter: u8, buffer: &mut String, text: &mut Vec<u8>) {
    use std::fmt::Write as _;
    match &series.values {
        Values::Null(_) => {}
        Values::Any(_) => match series.value(row) {
            Value::Null => {}
            value => string(&value.to_field(), delimiter, text),
        },
        _ if !series.valid.is_valid(row) => {}
        Values::Str(values) => {
            string(&String::from_utf8_lossy(values.get(row)), delimiter, text);
        }
        values => {
            buffer.clear();
            // Writing to a string cannot fail.
            let _ = match values {
                Values::Int(values) => write!(buffer, "{}", values[row]),
                Values::Id(values) => write!(buffer, "{}", values[row]),
                Values::Bool(values) => write!(buffer, "{}", values[row]),
                _ => write!(buffer, "{}", series.value(row).to_field()),
            };
            string(buffer, delimiter, text);
        }
    }
}

/// Appends a string, in quotes if it is read back as something else without them.
fn string(value: &str, delimiter: u8, text: &mut Vec<u8>) {
    write_text(value, delimiter, value == "\\N", text);
}

fn io_error(error: std::io::Error) -> Error {
    Error::caused(ErrorKind::Io, error)
}
