//! Reads Parquet files for scripts (`ParquetReader`).

use crate::series_arrow::series_of_arrow;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use ingest::parquet_rows::ParquetRows;
use model::Series;
use std::fmt;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Passes the columns of a file in memory to `visit`, some rows at a time, until it returns false.
/// `columns`: the names of those that are read, or all.
///
/// # Errors
/// [`ErrorKind::InvalidInput`]: not a sound file, or without one of the columns.
pub(crate) fn read(
    bytes: Vec<u8>,
    file: &str,
    columns: Option<&[String]>,
    visit: &mut dyn FnMut(&[Series]) -> bool,
) -> Result<()> {
    let wrong = |error: &dyn fmt::Display| Error::new(ErrorKind::InvalidInput, error.to_string());
    let mut rows = ParquetRows::open(bytes, file, columns).map_err(|error| wrong(&error))?;
    let mut is_first = true;
    loop {
        let batch = match rows.next_batch().map_err(|error| wrong(&error))? {
            Some(batch) => batch,
            // A file without rows still has its columns.
            None if is_first => {
                let fields = rows.names().iter();
                let fields = fields.map(|name| Field::new(name, DataType::Null, true));
                RecordBatch::new_empty(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
            }
            None => return Ok(()),
        };
        is_first = false;
        let schema = batch.schema();
        let columns = batch.columns().iter().zip(schema.fields());
        let series = columns.map(|(array, field)| {
            series_of_arrow(array, field)
                .map_err(|error| Error::new(error.kind(), format!("{file}: {error}")))
        });
        let series = series.collect::<Result<Vec<_>>>()?;
        if !visit(&series) {
            return Ok(());
        }
    }
}
