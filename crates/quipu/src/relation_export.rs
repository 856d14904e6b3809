//! Exports the rows of a relation to a file that the user chooses: those of a graph's edges and
//! vertices with their properties.

use crate::answer_arrow::parquet_properties;
use crate::database::Database;
use crate::export::{ExportFormat, in_the_database, with_compression, write_output};
use crate::relation::{Relation, RowScan};
use crate::relation_arrow::{arrow_schema as schema_of, record_batch};
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use ingest::{write_float, write_text};
use model::{Frame, Series, Type, Value, Values};
use parquet::arrow::ArrowWriter;
use session::ColumnOf;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Rows that are read, converted and written in one step.
const STEP_ROWS: usize = 1 << 16;

/// Writes all rows of a relation, at a snapshot taken now or in its transaction, to `path`. Returns
/// their number. The columns `src` and `dst` of edges are called `source` and `target`, as in other
/// exports of graphs. An import reads the same values back, but for text of columns of any type,
/// which becomes strings.
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
            ExportFormat::Parquet => parquet(&mut rows, &columns, &mut out)?,
            ExportFormat::Arrow => arrow(&mut rows, &columns, &mut out)?,
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
    let (mut text, mut buffer) = (Vec::new(), String::new());
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            text.push(delimiter);
        }
        write_text(&column.name, delimiter, false, &mut text);
    }
    text.push(b'\n');
    while let Some(frame) = rows.next()? {
        for row in 0..frame.len() {
            for (place, series) in frame.columns().iter().enumerate() {
                if place > 0 {
                    text.push(delimiter);
                }
                let before = text.len();
                field(series, row, delimiter, &mut buffer, &mut text);
                // Runs of spaces are one delimiter, so an empty field would be lost.
                if delimiter == b' ' && text.len() == before {
                    text.extend_from_slice(b"\\N");
                }
            }
            text.push(b'\n');
        }
        out.write_all(&text).map_err(io_error)?;
        text.clear();
    }
    // For a relation without rows the header is still in the buffer.
    out.write_all(&text).and_then(|()| out.flush()).map_err(io_error)
}

/// Appends a field. Nothing but a null is an empty field without quotes.
fn field(series: &Series, row: usize, delimiter: u8, buffer: &mut String, text: &mut Vec<u8>) {
    use std::fmt::Write as _;
    match &series.values {
        Values::Null(_) => {}
        Values::Any(_) => match series.value(row) {
            Value::Null => {}
            value => string(&value.to_field(), delimiter, text),
        },
        _ if !series.valid.is_valid(row) => {}
        Values::Float(values) => write_float(values[row], buffer, text),
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

fn parquet(rows: &mut Rows<'_>, columns: &[ColumnOf], out: impl Write + Send) -> Result<()> {
    let columns = typed(columns);
    let schema = Arc::new(schema_of(&columns).unwrap_or_else(arrow_schema::Schema::empty));
    let writer = ArrowWriter::try_new(out, schema, Some(parquet_properties()));
    let mut writer = writer.map_err(|error| failed(&error))?;
    while let Some(frame) = rows.next()? {
        writer.write(&batch(&columns, frame)?).map_err(|error| failed(&error))?;
    }
    writer.close().map(drop).map_err(|error| failed(&error))
}

fn arrow(rows: &mut Rows<'_>, columns: &[ColumnOf], out: impl Write) -> Result<()> {
    let columns = typed(columns);
    let schema = schema_of(&columns).unwrap_or_else(arrow_schema::Schema::empty);
    let writer = FileWriter::try_new(out, &schema);
    let mut writer = writer.map_err(|error| failed(&error))?;
    while let Some(frame) = rows.next()? {
        writer.write(&batch(&columns, frame)?).map_err(|error| failed(&error))?;
    }
    writer.finish().map_err(|error| failed(&error))
}

/// The columns with strings in place of values of any type, whose Arrow type would depend on them.
fn typed(columns: &[ColumnOf]) -> Vec<ColumnOf> {
    let column = |column: &ColumnOf| match column.column_type.without_null() {
        Type::Any => {
            let column_type = Type::Nullable(Box::new(Type::String));
            ColumnOf { column_type, ..column.clone() }
        }
        _ => column.clone(),
    };
    columns.iter().map(column).collect()
}

fn batch(columns: &[ColumnOf], frame: Frame) -> Result<RecordBatch> {
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let as_strings = |(series, column): (Series, &ColumnOf)| {
        let is_string = *column.column_type.without_null() == Type::String;
        if !is_string || matches!(series.values, Values::Str(_)) {
            return series;
        }
        let value = |row| match series.value(row) {
            Value::Null => Value::Null,
            value => Value::Str(value.to_field()),
        };
        let mut strings = Series::of_type(&Type::String);
        (0..series.len()).for_each(|row| strings.push(value(row)));
        strings
    };
    let series = frame.into_columns().into_iter().zip(columns).map(as_strings).collect();
    let frame = Frame::new(names, series);
    record_batch(columns, frame.map_err(|error| Error::caused(ErrorKind::InvalidInput, error))?)
}

fn io_error(error: std::io::Error) -> Error {
    Error::caused(ErrorKind::Io, error)
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write the rows: {error}"))
}
