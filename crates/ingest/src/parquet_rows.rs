//! Reads rows of a Parquet file with any columns.
//!
//! The Arrow schema that some writers embed is ignored, as for edges. Columns that Parquet calls
//! UUIDs have Arrow's extension type for these.

use crate::error::{Error, InputError};
use crate::parquet_edges::{guard, is_inside, unsound, wrong};
use crate::parquet_sizes;
use arrow_array::RecordBatch;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, Field, Fields, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::LogicalType;
use parquet::file::reader::ChunkReader;
use parquet::schema::types::Type as ParquetType;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of a batch at most: fewer where strings are long (`parquet_sizes.rs`).
const BATCH_ROWS: usize = 8192;

/// A Parquet file that is read from start to end.
pub struct ParquetRows {
    reader: ParquetRecordBatchReader,
    file: String,
    names: Vec<String>,
    /// For each requested column, its index among the columns that are read.
    order: Vec<usize>,
    /// For each requested column, whether it holds UUIDs.
    uuids: Vec<bool>,
}

impl ParquetRows {
    /// Reads the footer. `columns` are names in the requested order; `None` reads all columns.
    /// `file` is for messages.
    ///
    /// # Errors
    /// The file is not a Parquet file, or lacks a column.
    pub fn open(bytes: Vec<u8>, file: &str, columns: Option<&[String]>) -> Result<Self, Error> {
        guard(file, || Self::open_unguarded(bytes.into(), file, columns))
    }

    fn open_unguarded(bytes: Bytes, file: &str, columns: Option<&[String]>) -> Result<Self, Error> {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata =
            ArrowReaderMetadata::load(&bytes, options).map_err(|error| wrong(file, error))?;
        let length = bytes.len() as u64;
        let groups = metadata.metadata().row_groups();
        if !groups.iter().all(|group| group.columns().iter().all(|one| is_inside(one, length))) {
            return Err(unsound(file, "a column outside the file"));
        }
        let known: Vec<String> =
            metadata.schema().fields().iter().map(|field| field.name().clone()).collect();
        let names = columns.map_or_else(|| known.clone(), <[String]>::to_vec);
        let mut wanted = Vec::with_capacity(names.len());
        for name in &names {
            let place = known.iter().position(|one| one == name).ok_or_else(|| {
                let there: Vec<String> = known.iter().map(|one| format!("`{one}`")).collect();
                InputError::whole(file, format!("a column `{name}`"), there.join(", "))
            })?;
            wanted.push(place);
        }
        let mut read = wanted.clone();
        read.sort_unstable();
        read.dedup();
        let place = |one: &usize| read.binary_search(one).unwrap_or_default();
        let order = wanted.iter().map(place).collect();
        let roots = metadata.parquet_schema().root_schema().get_fields();
        let is_uuid = |of: &Arc<ParquetType>| {
            of.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid)
        };
        let uuids = wanted.iter().map(|&place| roots.get(place).is_some_and(is_uuid)).collect();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), read.iter().copied());
        let mut rows_at_once = BATCH_ROWS;
        let shared = Arc::new(bytes.clone());
        for group in metadata.metadata().row_groups() {
            let is_read = |leaf| mask.leaf_included(leaf);
            rows_at_once = parquet_sizes::rows_at_once(&shared, group, is_read, rows_at_once)
                .map_err(|error| wrong(file, error))?;
        }
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata)
            .with_projection(mask)
            .with_batch_size(rows_at_once)
            .build()
            .map_err(|error| wrong(file, error))?;
        Ok(Self { reader, file: file.to_owned(), names, order, uuids })
    }

    /// The names of the columns, in the order of the batches.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The next batch, of some thousand rows at most; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        let Self { reader, file, order, uuids, .. } = self;
        guard(file, || match reader.next() {
            None => Ok(None),
            Some(batch) => {
                let batch = batch.map_err(|error| wrong(file, error.into()))?;
                let batch = batch.project(order).and_then(|batch| with_uuids(batch, uuids));
                batch.map(Some).map_err(|error| wrong(file, error.into()))
            }
        })
    }
}

/// The batch with Arrow's extension type for UUIDs on these columns.
fn with_uuids(batch: RecordBatch, uuids: &[bool]) -> Result<RecordBatch, ArrowError> {
    if !uuids.contains(&true) {
        return Ok(batch);
    }
    let schema = batch.schema();
    let field = |(field, is_uuid): (&Arc<Field>, &bool)| match is_uuid {
        true => {
            let says = [(EXTENSION_TYPE_NAME_KEY.to_owned(), UUID.to_owned())];
            Arc::new(field.as_ref().clone().with_metadata(HashMap::from(says)))
        }
        false => Arc::clone(field),
    };
    let fields: Fields = schema.fields().iter().zip(uuids).map(field).collect();
    batch.with_schema(Arc::new(Schema::new(fields)))
}

/// Name of Arrow's extension type for UUIDs.
pub const UUID: &str = "arrow.uuid";

/// The names of the columns of a Parquet file, from its footer. `file` is for messages.
///
/// # Errors
/// The file is not a Parquet file, or cannot be read.
pub fn column_names<R: ChunkReader + 'static>(
    reader: &R,
    file: &str,
) -> Result<Vec<String>, Error> {
    guard(file, || {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata =
            ArrowReaderMetadata::load(reader, options).map_err(|error| wrong(file, error))?;
        Ok(metadata.schema().fields().iter().map(|field| field.name().clone()).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringArray, cast::AsArray, types::Int64Type};
    use parquet::arrow::ArrowWriter;
    use proptest::prelude::*;

    fn file() -> Vec<u8> {
        let id = Arc::new(Int64Array::from_iter(0..20_000)) as _;
        let name = Arc::new(StringArray::from_iter_values((0..20_000).map(|i| format!("n{i}"))));
        let batch = RecordBatch::try_from_iter([("id", id), ("name", name as _)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn columns_come_in_the_order_that_is_asked_and_rows_in_that_of_the_file() {
        let columns = ["name".to_owned(), "id".to_owned(), "name".to_owned()];
        let mut rows = ParquetRows::open(file(), "f", Some(&columns)).unwrap();
        assert_eq!(rows.names(), columns);
        let mut ids = Vec::new();
        while let Some(batch) = rows.next_batch().unwrap() {
            assert_eq!(batch.num_columns(), 3);
            assert_eq!(batch.column(0).as_string::<i32>().value(0), format!("n{}", ids.len()));
            ids.extend_from_slice(batch.column(1).as_primitive::<Int64Type>().values());
        }
        assert_eq!(ids, (0..20_000).collect::<Vec<i64>>());
    }

    /// Found by an audit: a file of one kilobyte became two gigabytes in memory.
    #[test]
    fn a_long_text_of_a_dictionary_comes_row_by_row() {
        let text = "long ".repeat(2 << 20);
        let texts = StringArray::from_iter_values(std::iter::repeat_n(&text, 20));
        let batch = RecordBatch::try_from_iter([("text", Arc::new(texts) as _)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let mut rows = ParquetRows::open(bytes, "f", None).unwrap();
        let mut found = 0;
        while let Some(batch) = rows.next_batch().unwrap() {
            assert_eq!(batch.num_rows(), 1);
            assert_eq!(batch.column(0).as_string::<i32>().value(0), text);
            found += 1;
        }
        assert_eq!(found, 20);
    }

    #[test]
    fn what_is_not_there_is_told() {
        let columns = ["nam".to_owned()];
        let error = ParquetRows::open(file(), "f", Some(&columns)).err().unwrap().to_string();
        assert_eq!(error, "f: expected a column `nam`, found `id`, `name`");
        let error = ParquetRows::open(b"id,name".to_vec(), "f", None).err().unwrap().to_string();
        assert!(error.starts_with("f: expected a sound Parquet file"), "{error}");
    }

    proptest! {
        #[test]
        fn a_damaged_file_gives_rows_or_an_error(at in 0..100_000_usize, bit in 0..8_u32) {
            let mut bytes = file();
            let at = at % bytes.len();
            bytes[at] ^= 1_u8 << bit;
            if let Ok(mut rows) = ParquetRows::open(bytes, "f", None) {
                while let Ok(Some(_)) = rows.next_batch() {}
            }
        }
    }
}
