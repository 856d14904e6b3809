//! How many rows of a Parquet file to read at a time, so that a batch takes some megabytes however
//! long its strings are.
//!
//! # Why the footer is not enough
//! A string in a dictionary is stored once in the file, but once per row in a batch: ten megabytes
//! that compress to one kilobyte become gigabytes. So this reads the dictionaries, which the read
//! needs anyway. For strings outside of dictionaries the footer tells the average length.

use parquet::basic::Type;
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// Bytes of a batch at most, except where one row is longer.
const BATCH_BYTES: u64 = 8 << 20;

/// Rows of a group that take [`BATCH_BYTES`], from 1 to `most`; `is_read` tells whether a leaf
/// column is read.
///
/// # Errors
/// The file is damaged.
pub(crate) fn rows_at_once<R: ChunkReader + 'static>(
    reader: &Arc<R>,
    group: &RowGroupMetaData,
    is_read: impl Fn(usize) -> bool,
    most: usize,
) -> Result<usize, ParquetError> {
    let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
    let mut row_bytes = 0_u64;
    for (_, chunk) in group.columns().iter().enumerate().filter(|(place, _)| is_read(*place)) {
        if !matches!(chunk.column_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY) {
            continue;
        }
        let mean = u64::try_from(chunk.uncompressed_size()).unwrap_or(0) / rows;
        // A row has several values where the column is a list.
        let values = u64::try_from(chunk.num_values()).unwrap_or(0).div_ceil(rows).max(1);
        let longest = longest_in_dictionary(reader, chunk)?;
        row_bytes = row_bytes.saturating_add(mean.max(longest.saturating_mul(values)));
    }
    let fitting = BATCH_BYTES / row_bytes.max(1);
    Ok(usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, most))
}

/// Bytes of the longest value in the dictionary of a column; 0 without a dictionary.
fn longest_in_dictionary<R: ChunkReader + 'static>(
    reader: &Arc<R>,
    chunk: &ColumnChunkMetaData,
) -> Result<u64, ParquetError> {
    if chunk.dictionary_page_offset().is_none() {
        return Ok(0);
    }
    let rows = usize::try_from(chunk.num_values()).unwrap_or(0);
    let mut pages = SerializedPageReader::new(Arc::clone(reader), chunk, rows, None)?;
    let Some(Page::DictionaryPage { buf, num_values, .. }) = pages.get_next_page()? else {
        return Ok(0);
    };
    if chunk.column_type() == Type::FIXED_LEN_BYTE_ARRAY {
        return Ok(buf.len() as u64 / u64::from(num_values).max(1));
    }
    // Each value is preceded by its length in four bytes.
    let (mut rest, mut longest) = (&buf[..], 0);
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        longest = longest.max(length.min(after.len()));
        rest = after.get(length..).unwrap_or_default();
    }
    Ok(longest as u64)
}
