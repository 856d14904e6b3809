//! Reads edges from Parquet files, and writes them.
//!
//! A row group is the unit of parallel reading, as a chunk is for text. Only the columns of an edge
//! are read. The Arrow schema that some writers embed is ignored: the Parquet types are sufficient,
//! and two sources of truth could differ.

use std::{
    io::{self, Read, Write},
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

use arrow_schema::Schema;
use bytes::Bytes;
use parquet::{
    arrow::{
        ArrowWriter, ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder,
        },
    },
    basic::{Compression, Encoding, ZstdLevel},
    errors::ParquetError,
    file::{
        metadata::ColumnChunkMetaData,
        properties::WriterProperties,
        reader::{ChunkReader, Length},
        statistics::Statistics,
    },
    schema::types::ColumnPath,
};

use crate::arrow_edges::{self, Rows, positions};
use crate::columns::Positions;
use crate::edges::EdgeChunk;
use crate::error::{Error, InputError};
use crate::options::{EdgeOptions, VertexType, WeightType};
use crate::parquet_sizes;

/// Rows of a chunk when a row group is read: about 3 MiB with weights.
const BATCH_ROWS: usize = 128 << 10;

/// Rows of a row group when a file is written.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// A file that is read at positions, like `pread`, so that threads share no cursor.
///
/// Parquet's own reader for `std::fs::File` shares one cursor among its clones: several threads
/// that read row groups through it at once would get each other's bytes.
pub struct ReadAt<F> {
    bytes: u64,
    read_exact_at: Arc<F>,
}

impl<F> ReadAt<F>
where
    F: Fn(u64, &mut [u8]) -> io::Result<()> + Send + Sync + 'static,
{
    /// A file of `bytes` bytes. `read_exact_at(position, buffer)` fills the buffer or fails.
    pub fn new(bytes: u64, read_exact_at: F) -> Self {
        Self { bytes, read_exact_at: Arc::new(read_exact_at) }
    }

    fn read(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // Checked before the allocation: lengths in a damaged file can be anything.
        let end = start.checked_add(length as u64).filter(|&end| end <= self.bytes);
        if end.is_none() {
            return Err(ParquetError::EOF(format!("{length} bytes at {start}")));
        }
        let mut buffer = vec![0; length];
        (self.read_exact_at)(start, &mut buffer)
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        Ok(buffer.into())
    }
}

impl<F> Length for ReadAt<F> {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl<F> ChunkReader for ReadAt<F>
where
    F: Fn(u64, &mut [u8]) -> io::Result<()> + Send + Sync + 'static,
{
    type T = io::BufReader<Cursor<F>>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let read_exact_at = Arc::clone(&self.read_exact_at);
        Ok(io::BufReader::new(Cursor { bytes: self.bytes, at: start, read_exact_at }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.read(start, length)
    }
}

/// A reader of a [`ReadAt`] with a cursor of its own.
pub struct Cursor<F> {
    bytes: u64,
    at: u64,
    read_exact_at: Arc<F>,
}

impl<F: Fn(u64, &mut [u8]) -> io::Result<()>> Read for Cursor<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.bytes.saturating_sub(self.at);
        let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        (self.read_exact_at)(self.at, &mut buffer[..length])?;
        self.at += length as u64;
        Ok(length)
    }
}

/// A reader that is shared by the readers of row groups.
struct Shared<R>(Arc<R>);

impl<R: ChunkReader> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.0.get_bytes(start, length)
    }
}

/// A Parquet file of edges. Several threads can read row groups at once, if `R` allows it.
pub struct ParquetEdges<R> {
    reader: Arc<R>,
    file: String,
    metadata: ArrowReaderMetadata,
    options: EdgeOptions,
    /// Positions of the edge's columns in the file.
    at: Positions,
    mask: ProjectionMask,
    /// Positions of all columns that are read, each once, in ascending order.
    wanted: Vec<usize>,
    /// The number of rows before each row group.
    first_rows: Vec<u64>,
    rows: u64,
}

impl<R: ChunkReader + 'static> ParquetEdges<R> {
    /// Reads the footer and finds the columns. `file` is for messages.
    ///
    /// # Errors
    /// The file is not a Parquet file, or its columns are not those of an edge.
    pub fn open(reader: R, file: &str, options: &EdgeOptions) -> Result<Self, Error> {
        let reader = Arc::new(reader);
        let arrow = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guard(file, || {
            ArrowReaderMetadata::load(&Shared(Arc::clone(&reader)), arrow)
                .map_err(|error| wrong(file, error))
        })?;
        let schema = with_pandas(&metadata);
        let at = positions(&schema, file, options)?;
        let mut wanted = vec![at.source, at.target];
        wanted.extend(at.weight);
        wanted.sort_unstable();
        wanted.dedup();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), wanted.iter().copied());
        let (mut first_rows, mut rows) = (Vec::new(), 0_u64);
        for group in metadata.metadata().row_groups() {
            if !group.columns().iter().all(|column| is_inside(column, reader.len())) {
                return Err(unsound(file, "a column outside the file"));
            }
            first_rows.push(rows);
            rows = rows.saturating_add(u64::try_from(group.num_rows()).unwrap_or(0));
        }
        let (file, options) = (file.to_owned(), options.clone());
        Ok(Self { reader, file, metadata, options, at, mask, wanted, first_rows, rows })
    }

    /// The detected properties, for the report.
    ///
    /// # Errors
    /// None; the columns were found by [`ParquetEdges::open`].
    pub fn describe(&self) -> Result<Vec<(&'static str, String)>, InputError> {
        arrow_edges::describe(&with_pandas(&self.metadata), &self.file, &self.options)
    }

    /// The number of row groups.
    pub fn row_group_count(&self) -> usize {
        self.first_rows.len()
    }

    /// The number of rows of all row groups, from the footer.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// Reads the edges of row group `index`, in file order, in chunks of some 100,000 rows.
    ///
    /// # Errors
    /// The row group does not exist, the file is damaged or cannot be read, or a row is not an
    /// edge.
    pub fn read_row_group(&self, index: usize) -> Result<Vec<EdgeChunk>, Error> {
        guard(&self.file, || self.read_row_group_unguarded(index))
    }

    /// Calls `each` with the edges of row group `index`, in file order, in chunks of some 100,000
    /// rows: fewer where strings are long. It ends at the first error of `each`.
    ///
    /// # Errors
    /// The outer result has the errors of [`ParquetEdges::read_row_group`], the inner one that of
    /// `each`.
    pub fn each_chunk<E>(
        &self,
        index: usize,
        each: &mut dyn FnMut(&EdgeChunk) -> Result<(), E>,
    ) -> Result<Result<(), E>, Error> {
        let mut reader = guard(&self.file, || self.chunks(index))?;
        while let Some(chunk) = guard(&self.file, || reader.next_chunk(self))? {
            if let Err(error) = each(&chunk) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    fn read_row_group_unguarded(&self, index: usize) -> Result<Vec<EdgeChunk>, Error> {
        let mut reader = self.chunks(index)?;
        let mut chunks = Vec::new();
        while let Some(chunk) = reader.next_chunk(self)? {
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    fn chunks(&self, index: usize) -> Result<GroupReader, Error> {
        let Some(&first_row) = self.first_rows.get(index) else {
            let expected = format!("a row group below {}", self.row_group_count());
            return Err(InputError::whole(&self.file, expected, index.to_string()).into());
        };
        let group = self.metadata.metadata().row_group(index);
        let shared = Arc::new(Shared(Arc::clone(&self.reader)));
        let is_read = |leaf| self.mask.leaf_included(leaf);
        let rows_at_once = parquet_sizes::rows_at_once(&shared, group, is_read, BATCH_ROWS)
            .map_err(|error| wrong(&self.file, error))?;
        let shared = Shared(Arc::clone(&self.reader));
        let batches =
            ParquetRecordBatchReaderBuilder::new_with_metadata(shared, self.metadata.clone())
                .with_row_groups(vec![index])
                .with_projection(self.mask.clone())
                .with_batch_size(rows_at_once)
                .build()
                .map_err(|error| wrong(&self.file, error))?;
        Ok(GroupReader { batches, first_row })
    }
}

/// The types of vertices and weights of a Parquet file, for a graph that does not exist yet; see
/// [`arrow_edges::types_of`]. Signed vertices are unsigned if the statistics say that none is
/// negative.
///
/// # Errors
/// As [`ParquetEdges::open`].
pub fn types_of<R: ChunkReader + 'static>(
    reader: R,
    file: &str,
    options: &EdgeOptions,
) -> Result<(VertexType, WeightType), Error> {
    let arrow = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guard(file, || {
        ArrowReaderMetadata::load(&reader, arrow).map_err(|error| wrong(file, error))
    })?;
    let schema = with_pandas(&metadata);
    let (vertex, weight) = arrow_edges::types_of(&schema, file, options)?;
    let weighted = EdgeOptions { weight: WeightType::Float, ..options.clone() };
    let at = positions(&schema, file, &weighted)?;
    let is_unsigned = |column: usize| {
        metadata.metadata().row_groups().iter().all(|group| {
            let leaf = group
                .columns()
                .get(column)
                .filter(|_| group.columns().len() == schema.fields().len());
            match leaf.and_then(|leaf| leaf.statistics()) {
                Some(Statistics::Int64(of)) => of.min_opt().is_some_and(|&min| min >= 0),
                Some(Statistics::Int32(of)) => of.min_opt().is_some_and(|&min| min >= 0),
                Some(Statistics::Double(of)) => of.min_opt().is_some_and(|&min| min >= 0.0),
                Some(Statistics::Float(of)) => of.min_opt().is_some_and(|&min| min >= 0.0),
                _ => false,
            }
        })
    };
    match vertex {
        VertexType::I64 if is_unsigned(at.source) && is_unsigned(at.target) => {
            Ok((VertexType::U64, weight))
        }
        _ => Ok((vertex, weight)),
    }
}

/// The schema, with pandas' metadata about its index.
fn with_pandas(metadata: &ArrowReaderMetadata) -> Schema {
    let schema = metadata.schema().as_ref().clone();
    let pairs = metadata.metadata().file_metadata().key_value_metadata();
    let pandas = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == "pandas"));
    match pandas.and_then(|pair| pair.value.clone()) {
        Some(text) => schema.with_metadata([("pandas".to_owned(), text)]),
        None => schema,
    }
}

/// A row group that is being read.
struct GroupReader {
    batches: ParquetRecordBatchReader,
    first_row: u64,
}

impl GroupReader {
    fn next_chunk<R>(&mut self, of: &ParquetEdges<R>) -> Result<Option<EdgeChunk>, Error> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        let batch = batch.map_err(|error| wrong(&of.file, error.into()))?;
        let column = |position: usize| {
            let found = of.wanted.iter().position(|&wanted| wanted == position);
            let array = found.and_then(|i| batch.columns().get(i));
            array.map(|array| array.as_ref()).ok_or_else(|| {
                InputError::whole(&of.file, format!("a column {}", position + 1), "none")
            })
        };
        let weight = of.at.weight.map(column).transpose()?;
        let (file, first_row) = (&of.file, self.first_row);
        let rows = Rows { file, first_row, options: &of.options, at: of.at };
        let mut chunk = EdgeChunk::default();
        rows.read(column(of.at.source)?, column(of.at.target)?, weight, &mut chunk)?;
        self.first_row = first_row.saturating_add(batch.num_rows() as u64);
        Ok(Some(chunk))
    }
}

/// Whether the bytes of a column are inside a file of `bytes` bytes.
pub(crate) fn is_inside(column: &ColumnChunkMetaData, bytes: u64) -> bool {
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(column.compressed_size()))
    else {
        return false;
    };
    start.checked_add(length).is_some_and(|end| end <= bytes)
}

/// Runs code of the Parquet library and turns a panic into an error.
///
/// The library asserts some properties of the file, so a damaged file can make it panic. What it
/// leaves half-done is dropped here and not used afterwards.
pub(crate) fn guard<T>(file: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(unsound(file, "damage that its reader cannot describe")))
}

/// Sorts an error of the library into "the disk failed" and "the file is wrong".
pub(crate) fn wrong(file: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(source) => Error::Io { file: file.to_owned(), source: *source },
            Err(error) => unsound(file, &error.to_string()),
        },
        error => unsound(file, &error.to_string()),
    }
}

/// The error for a file that is not a valid Parquet file.
pub(crate) fn unsound(file: &str, message: &str) -> Error {
    InputError::whole(file, "a sound Parquet file", message).into()
}

/// Writes edges as Parquet, with the columns of [`arrow_edges::schema`], compressed with Zstandard.
///
/// Buffers up to 2^20 rows until their row group is written.
pub struct ParquetEdgeWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    vertex: VertexType,
    weight: WeightType,
}

impl<W: Write + Send> ParquetEdgeWriter<W> {
    /// A writer of edges of these types.
    ///
    /// # Errors
    /// Writing the file's first bytes fails.
    pub fn new(writer: W, vertex: VertexType, weight: WeightType) -> Result<Self, Error> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
        if vertex != VertexType::Str {
            // Exports are sorted by source, and by target within a source, so differences are
            // small. A dictionary of vertices would be as large as the column.
            for column in ["source", "target"] {
                properties = properties
                    .set_column_dictionary_enabled(ColumnPath::from(column), false)
                    .set_column_encoding(ColumnPath::from(column), Encoding::DELTA_BINARY_PACKED);
            }
        }
        let schema = arrow_edges::schema(vertex, weight);
        let writer = ArrowWriter::try_new(writer, schema, Some(properties.build()))
            .map_err(|error| wrong("export", error))?;
        Ok(Self { writer, vertex, weight })
    }

    /// Appends the edges of a chunk.
    ///
    /// # Errors
    /// Writing fails, or the chunk has other types than the writer.
    pub fn write(&mut self, chunk: &EdgeChunk) -> Result<(), Error> {
        let batch = arrow_edges::to_batch(chunk, self.vertex, self.weight)?;
        self.writer.write(&batch).map_err(|error| wrong("export", error))
    }

    /// Writes the buffered rows and the footer, and returns the inner writer.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> Result<W, Error> {
        self.writer.into_inner().map_err(|error| wrong("export", error))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ColumnRef, Columns, Weights};

    fn options(vertex: VertexType, weight: WeightType) -> EdgeOptions {
        EdgeOptions { vertex, weight, ..EdgeOptions::default() }
    }

    fn write(chunks: &[EdgeChunk], vertex: VertexType, weight: WeightType) -> Bytes {
        let mut writer = ParquetEdgeWriter::new(Vec::new(), vertex, weight).unwrap();
        for chunk in chunks {
            writer.write(chunk).unwrap();
        }
        writer.finish().unwrap().into()
    }

    fn read_all(bytes: Bytes, options: &EdgeOptions) -> Result<Vec<EdgeChunk>, Error> {
        let file = ReadAt::new(bytes.len() as u64, move |at, buffer: &mut [u8]| {
            let at = usize::try_from(at).map_err(io::Error::other)?;
            let found = bytes.get(at..at + buffer.len());
            buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        });
        let edges = ParquetEdges::open(file, "edges.parquet", options)?;
        let mut chunks = Vec::new();
        for group in 0..edges.row_group_count() {
            chunks.extend(edges.read_row_group(group)?);
        }
        Ok(chunks)
    }

    fn small() -> EdgeChunk {
        EdgeChunk {
            src: vec![1, 2, u64::MAX],
            dst: vec![3, 4, 0],
            weights: Weights::Float(vec![0.5, -1.0, 2.0]),
            ..EdgeChunk::default()
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for vertex in [VertexType::U64, VertexType::I64] {
            let bytes = write(&[small()], vertex, WeightType::Float);
            assert_eq!(read_all(bytes, &options(vertex, WeightType::Float)).unwrap(), [small()]);
        }
        let mut texts = EdgeChunk::default();
        texts.src_str.push("a");
        texts.dst_str.push("");
        let bytes = write(std::slice::from_ref(&texts), VertexType::Str, WeightType::None);
        assert_eq!(read_all(bytes, &options(VertexType::Str, WeightType::None)).unwrap(), [texts]);
    }

    #[test]
    fn row_groups_keep_file_order_and_number_their_rows() {
        let rows = ROW_GROUP_ROWS as u64 + 5;
        let chunk = EdgeChunk {
            src: (0..rows).collect(),
            dst: (0..rows).map(|v| if v == rows - 1 { u64::MAX } else { v % 7 }).collect(),
            ..EdgeChunk::default()
        };
        let bytes = write(std::slice::from_ref(&chunk), VertexType::U64, WeightType::None);
        let edges =
            ParquetEdges::open(bytes.clone(), "e", &options(VertexType::U64, WeightType::None))
                .unwrap();
        assert_eq!((edges.row_group_count(), edges.row_count()), (2, rows));
        let chunks: Vec<_> = (0..2).flat_map(|i| edges.read_row_group(i).unwrap()).collect();
        assert_eq!(
            chunks.iter().flat_map(|c| c.src.iter().copied()).collect::<Vec<_>>(),
            chunk.src
        );
        assert_eq!(
            chunks.iter().flat_map(|c| c.dst.iter().copied()).collect::<Vec<_>>(),
            chunk.dst
        );
        assert!(edges.read_row_group(2).is_err());
        // The last target is not a valid signed vertex, and the message names its row.
        let read = read_all(bytes, &options(VertexType::I64, WeightType::None)).unwrap();
        let unfit: Vec<_> = read.iter().flat_map(|chunk| chunk.unfit.clone()).collect();
        assert_eq!(unfit.len(), 1);
        let error = crate::vertices_error(1, &unfit).to_string();
        assert!(error.starts_with(&format!("edges.parquet row {rows}, column 2: ")), "{error}");
    }

    #[test]
    fn only_the_named_columns_are_read() {
        let bytes = write(&[small()], VertexType::U64, WeightType::Float);
        let columns = Columns {
            source: ColumnRef::Name("target".to_owned()),
            target: ColumnRef::Name("source".to_owned()),
            weight: None,
        };
        let options =
            EdgeOptions { columns: Some(columns), ..options(VertexType::U64, WeightType::None) };
        let chunks = read_all(bytes, &options).unwrap();
        assert_eq!((&chunks[0].src, &chunks[0].dst), (&small().dst, &small().src));
        assert_eq!(chunks[0].weights, Weights::None);
    }

    #[test]
    fn what_is_no_parquet_file_is_an_error() {
        for bytes in [&b""[..], b"PAR1", b"1,2\n3,4\n5,6\n", b"PAR1\xff\xff\xff\x7fPAR1"] {
            let bytes = Bytes::copy_from_slice(bytes);
            let error = read_all(bytes, &EdgeOptions::default()).unwrap_err().to_string();
            assert!(error.starts_with("edges.parquet: expected a sound Parquet file"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_file_gives_edges_or_an_error(at in 0..10_000_usize, bit in 0..8_u32) {
            let mut bytes = write(&[small()], VertexType::U64, WeightType::Float).to_vec();
            let at = at % bytes.len();
            bytes[at] ^= 1_u8 << bit;
            let _ = read_all(bytes.into(), &options(VertexType::U64, WeightType::Float));
        }
    }
}
