//! Exports as Parquet and Arrow files.

use crate::export_format::ExportFormat;
use crate::relation_arrow::{arrow_schema_with, record_batch_with};
use crate::result_arrow::parquet_writer;
use crate::typed_column::Digits;
use crate::typed_frame::typed;
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};
use model::{Frame, Type};
use session::ColumnOf;
use std::io::Write;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};
use views::graph::Graph;

/// Writes all edges of a graph as an Arrow file. Returns their number. `progress` gets the number
/// of edges written and returns false to stop.
///
/// # Errors
/// A failed write, or [`ErrorKind::Cancelled`].
pub(crate) fn write_graph(
    graph: &Graph,
    out: impl Write,
    progress: &dyn Fn(u64) -> bool,
) -> Result<u64> {
    let wrong = |error: ArrowError| Error::new(ErrorKind::Io, error.to_string());
    let (vertex, weight) = graph.ingest_types();
    let schema = ingest::arrow_edges::schema(vertex, weight);
    let mut writer = FileWriter::try_new(out, &schema).map_err(wrong)?;
    let edges = graph.export_chunks(progress, |chunk| {
        let batch = ingest::arrow_edges::to_batch(chunk, vertex, weight)
            .map_err(|error| Error::caused(ErrorKind::InvalidInput, error))?;
        writer.write(&batch).map_err(wrong)
    })?;
    writer.finish().map_err(wrong)?;
    Ok(edges)
}

/// Writes one batch as an Arrow file, or as Parquet for any other format.
///
/// # Errors
/// A failed write.
pub(crate) fn write_batch(
    batch: &RecordBatch,
    out: impl Write + Send,
    format: ExportFormat,
) -> Result<()> {
    let mut batches = std::iter::once(Ok(batch.clone()));
    write_batches(&mut || batches.next().transpose(), batch.schema(), out, format)
}

/// Writes rows of a relation, as [`write_batch`] does. `next` returns the next rows. `digits` are
/// those of each column of decimals.
///
/// # Errors
/// A failed write, and those of `next`.
pub(crate) fn write_rows(
    next: &mut dyn FnMut() -> Result<Option<Frame>>,
    columns: &[ColumnOf],
    digits: &[Option<Digits>],
    out: impl Write + Send,
    format: ExportFormat,
) -> Result<()> {
    let columns = with_strings(columns);
    let schema = arrow_schema_with(&columns, digits).unwrap_or_else(arrow_schema::Schema::empty);
    let batch = |frame| record_batch_with(&columns, digits, typed(&columns, frame)?);
    let mut next = || next()?.map(batch).transpose();
    write_batches(&mut next, Arc::new(schema), out, format)
}

fn write_batches(
    next: &mut dyn FnMut() -> Result<Option<RecordBatch>>,
    schema: SchemaRef,
    out: impl Write + Send,
    format: ExportFormat,
) -> Result<()> {
    if format == ExportFormat::Arrow {
        let writer = FileWriter::try_new(out, &schema);
        let mut writer = writer.map_err(|error| failed(&error))?;
        while let Some(batch) = next()? {
            writer.write(&batch).map_err(|error| failed(&error))?;
        }
        return writer.finish().map_err(|error| failed(&error));
    }
    let mut writer = parquet_writer(out, schema).map_err(|error| failed(&error))?;
    while let Some(batch) = next()? {
        writer.write(&batch).map_err(|error| failed(&error))?;
    }
    writer.close().map(drop).map_err(|error| failed(&error))
}

/// The columns with strings in place of values of any type: their Arrow type would depend on all
/// values, and rows are written as they are read.
fn with_strings(columns: &[ColumnOf]) -> Vec<ColumnOf> {
    let column = |column: &ColumnOf| match column.column_type.without_null() {
        Type::Any => {
            let column_type = Type::Nullable(Box::new(Type::String));
            ColumnOf { column_type, ..column.clone() }
        }
        _ => column.clone(),
    };
    columns.iter().map(column).collect()
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write the rows: {error}"))
}
