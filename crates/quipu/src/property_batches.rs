//! Reads rows with properties from record batches and Parquet files.
#![allow(clippy::disallowed_methods)] // the user's files

use crate::file_errors::{failed, unreadable};
use crate::raw_rows::{Limit, RawColumn, RawRows, blank, bytes_of};
use crate::series_arrow::series_of_arrow;
use arrow_array::RecordBatch;
use arrow_schema::FieldRef;
use ingest::parquet_rows::ParquetRows;
use model::{Series, Values};
use std::path::Path;
use store::Result;

/// Reads a Parquet file.
///
/// # Errors
/// The file cannot be read, is not sound, or exceeds the limit.
pub(crate) fn of_parquet(path: &Path, limit: &Limit<'_>) -> Result<RawRows> {
    let name = path.display().to_string();
    let size = std::fs::metadata(path).map_err(|error| unreadable(path, error))?.len();
    limit.check(size)?;
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, error))?;
    let rows = ParquetRows::open(bytes, &name, None).map_err(failed)?;
    let batches = Parquet(rows).map(|batch| batch.map_err(failed));
    let rows = of_batches(batches, &name, RawColumn::FileValues, limit)?;
    let detected = vec![("format", "Parquet".to_owned())];
    Ok(RawRows { detected, bytes_read: size, ..rows })
}

/// The batches of a Parquet file.
struct Parquet(ParquetRows);

impl Iterator for Parquet {
    type Item = std::result::Result<RecordBatch, ingest::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_batch().transpose()
    }
}

/// Reads record batches.
///
/// # Errors
/// Those of the batches, and the limit.
pub(crate) fn of_batches(
    batches: impl Iterator<Item = Result<RecordBatch>>,
    name: &str,
    make: fn(Series) -> RawColumn,
    limit: &Limit<'_>,
) -> Result<RawRows> {
    let (mut names, mut columns, mut rows) = (Vec::new(), Vec::<Series>::new(), 0);
    let mut whole_max = Vec::new();
    for batch in batches {
        let batch = batch?;
        let schema = batch.schema();
        if columns.is_empty() {
            names = schema.fields().iter().map(|field| field.name().clone()).collect();
            columns = vec![Values::Null(0).into(); names.len()];
            let max = |field: &FieldRef| ingest::arrow_edges::whole_max(field.data_type()).0;
            whole_max = schema.fields().iter().map(max).collect();
        }
        for ((column, array), field) in columns.iter_mut().zip(batch.columns()).zip(schema.fields())
        {
            column.append(series_of_arrow(array, field)?);
        }
        rows += batch.num_rows();
        limit.check(columns.iter().map(bytes_of).sum())?;
    }
    let bytes_read = columns.iter().map(bytes_of).sum();
    let columns = columns.into_iter().map(make).collect();
    Ok(RawRows { bytes_read, whole_max, ..blank(name, names, columns, rows) })
}
