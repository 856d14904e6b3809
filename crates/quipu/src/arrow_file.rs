//! Reads Arrow files, which are also called Feather, for imports.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's files

use crate::edge_types::graph_options;
use crate::file_errors::{failed, unreadable};
use crate::options::GraphOptions;
use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};
use views::import::ImportOptions;

/// Record batches of a table.
pub type RecordBatches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// The batches of a file, and their schema.
pub(crate) struct ArrowBatches {
    schema: SchemaRef,
    pub(crate) batches: RecordBatches,
}

impl ArrowBatches {
    /// The first batch, or one without rows.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn first(&mut self) -> Result<RecordBatch> {
        let first = self.batches.next().transpose()?;
        Ok(first.unwrap_or_else(|| RecordBatch::new_empty(SchemaRef::clone(&self.schema))))
    }

    /// The first batch, or one without rows. It stays among the others.
    ///
    /// # Errors
    /// That of reading it.
    pub(crate) fn peek(&mut self) -> Result<RecordBatch> {
        let first = first_of(&mut self.batches)?;
        Ok(first.unwrap_or_else(|| RecordBatch::new_empty(SchemaRef::clone(&self.schema))))
    }

    pub(crate) fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }
}

/// The types that fit the first of some record batches; the default without one. Signed vertices
/// are unsigned if none is negative.
///
/// # Errors
/// The batch cannot be read, or the columns of an edge cannot be told apart.
pub fn types_of_batches(
    batches: &mut RecordBatches,
    options: &ImportOptions,
) -> Result<GraphOptions> {
    let Some(first) = first_of(batches)? else { return Ok(GraphOptions::default()) };
    let edges = &options.text.edges;
    let types = ingest::arrow_edges::types_of_batch(&first, "the table", edges);
    Ok(graph_options(types.map_err(|error| failed(error.into()))?))
}

/// The first of some record batches, which stays among them.
///
/// # Errors
/// That of reading it.
pub(crate) fn first_of(batches: &mut RecordBatches) -> Result<Option<RecordBatch>> {
    let Some(first) = batches.next().transpose()? else { return Ok(None) };
    let rest = std::mem::replace(batches, Box::new(std::iter::empty()));
    *batches = Box::new(std::iter::once(Ok(first.clone())).chain(rest));
    Ok(Some(first))
}

/// Reads an Arrow file (Feather). The library asserts some properties of the file, so its panics
/// become errors, too.
///
/// # Errors
/// The file cannot be read, or is not sound.
pub(crate) fn arrow_file(path: &Path) -> Result<ArrowBatches> {
    let file = File::open(path).map_err(|error| unreadable(path, error))?;
    arrow_batches(file, path)
}

/// Reads an Arrow file. `path` is for messages.
///
/// # Errors
/// As [`arrow_file`].
pub(crate) fn arrow_batches(
    mut file: impl Read + Seek + Send + 'static,
    path: &Path,
) -> Result<ArrowBatches> {
    let checked = guarded(|| Ok(check_arrow_sizes(&mut file)))?;
    if !checked.map_err(|error| unreadable(path, error))? {
        return Err(unsound("a length outside of it"));
    }
    file.seek(io::SeekFrom::Start(0)).map_err(|error| unreadable(path, error))?;
    let wrong = |error: ArrowError| unsound(&error.to_string());
    let mut reader = guarded(|| FileReader::try_new(BufReader::new(file), None).map_err(wrong))?;
    let schema = reader.schema();
    let next = move || guarded(|| reader.next().transpose().map_err(wrong)).transpose();
    Ok(ArrowBatches { schema, batches: Box::new(std::iter::from_fn(next)) })
}

/// Reads a Parquet file in memory. `name` is for messages.
///
/// # Errors
/// The file is not sound.
pub(crate) fn parquet_batches(bytes: Vec<u8>, name: &str) -> Result<ArrowBatches> {
    let mut rows = ingest::parquet_rows::ParquetRows::open(bytes, name, None).map_err(failed)?;
    let first = rows.next_batch().map_err(failed)?;
    let schema = first.as_ref().map_or_else(
        || {
            let field = |name: &String| Field::new(name, DataType::Null, true);
            Arc::new(Schema::new(rows.names().iter().map(field).collect::<Vec<_>>()))
        },
        RecordBatch::schema,
    );
    let next = move || rows.next_batch().map_err(failed).transpose();
    let batches = first.into_iter().map(Ok).chain(std::iter::from_fn(next));
    Ok(ArrowBatches { schema, batches: Box::new(batches) })
}

/// Whether the plain lengths of compressed buffers are such as a file can have. The library
/// allocates what they say, and a process does not survive an allocation that fails.
fn check_arrow_sizes(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    const PLAIN_BYTES_MAX: i64 = 1 << 30;
    let bytes = file.seek(io::SeekFrom::End(0))?;
    let mut at = |from: u64, length: u64| -> io::Result<Option<Vec<u8>>> {
        if from.checked_add(length).is_none_or(|end| end > bytes) {
            return Ok(None);
        }
        let mut found = vec![0; usize::try_from(length).unwrap_or(0)];
        file.seek(io::SeekFrom::Start(from))?;
        file.read_exact(&mut found)?;
        Ok(Some(found))
    };
    let Some(tail) = at(bytes.saturating_sub(10), 10.min(bytes))? else { return Ok(false) };
    let Some(length) = tail.first_chunk::<4>().map(|word| u32::from_le_bytes(*word)) else {
        return Ok(false);
    };
    let start = bytes.saturating_sub(10).saturating_sub(length.into());
    let Some(footer) = at(start, length.into())? else { return Ok(false) };
    let Ok(footer) = arrow_ipc::root_as_footer(&footer) else { return Ok(false) };
    let blocks = footer.recordBatches().into_iter().flatten();
    for block in blocks.chain(footer.dictionaries().into_iter().flatten()) {
        let head = u64::try_from(block.metaDataLength()).unwrap_or(u64::MAX);
        let offset = u64::try_from(block.offset()).unwrap_or(u64::MAX);
        let Some(message) = at(offset, head)? else { return Ok(false) };
        let prefix = if message.starts_with(&[0xff; 4]) { 8 } else { 4 };
        let message = message.get(prefix..).map(arrow_ipc::root_as_message);
        let Some(Ok(message)) = message else { return Ok(false) };
        let dictionary = message.header_as_dictionary_batch().and_then(|batch| batch.data());
        let Some(batch) = message.header_as_record_batch().or(dictionary) else { continue };
        if batch.compression().is_none() {
            continue;
        }
        for buffer in batch.buffers().into_iter().flatten().filter(|buffer| buffer.length() > 0) {
            let inside = u64::try_from(buffer.offset()).unwrap_or(u64::MAX);
            let from = offset.saturating_add(head).saturating_add(inside);
            let plain = at(from, 8)?.and_then(|word| word.first_chunk::<8>().copied());
            match plain.map(i64::from_le_bytes) {
                Some(-1..=PLAIN_BYTES_MAX) => {}
                _ => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// Runs code of the Arrow library and turns a panic into an error.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(unsound("damage that its reader cannot describe")))
}

fn unsound(found: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("expected a sound Arrow file, found {found}"))
}
