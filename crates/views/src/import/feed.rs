//! Input of an import, split into pieces that workers parse independently.
//!
//! # Invariants
//! 1. Pieces are numbered from 0 without gaps, in input order. The rows of a piece are in input
//!    order, too.

use super::progress::Counters;
use super::spill::io;
use crate::graph::{Graph, VertexList, WeightsRef};
#[cfg(feature = "columnar")]
use arrow_array::RecordBatch;
use env::{Env, RandomReadFile, ReadOptions};
#[cfg(feature = "columnar")]
use ingest::EdgeOptions;
#[cfg(feature = "columnar")]
use ingest::arrow_edges::{describe, read_batch};
#[cfg(feature = "columnar")]
use ingest::parquet_edges::{ParquetEdges, ReadAt};
use ingest::{
    Chunk, Compression, Dialect, EdgeChunk, GraphFormat, GraphReader, InputError, Missing,
    Splitter, TextOptions, Weights, decompressor, i64_to_word, parse_chunk, sniff,
};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Error, ErrorKind, Result};

/// Rows of a piece from columns in memory.
const COLUMN_ROWS: usize = 256 << 10;

/// Bytes that the kernel is asked to read ahead.
const READ_AHEAD_BYTES: u64 = 8 << 20;

/// A part of the input that one worker parses.
pub(super) struct Piece {
    pub(super) number: u64,
    pub(super) content: Content,
}

pub(super) enum Content {
    Text(Chunk, Arc<Dialect>),
    #[cfg(feature = "columnar")]
    RowGroup(Arc<ParquetFile>, usize),
    #[cfg(feature = "columnar")]
    Batch(RecordBatch, Arc<BatchPlace>),
    Edges(Box<EdgeChunk>),
}

#[cfg(feature = "columnar")]
pub(super) type ParquetFile = ParquetEdges<ReadAt<ReadExactAt>>;
#[cfg(feature = "columnar")]
type ReadExactAt = Box<dyn Fn(u64, &mut [u8]) -> std::io::Result<()> + Send + Sync>;

#[cfg(feature = "columnar")]
pub(super) struct BatchPlace {
    name: String,
    first_row: u64,
    edges: EdgeOptions,
}

/// Input that jobs read.
pub(super) enum Feed {
    Text(TextFeed),
    Graph(GraphFeed),
    #[cfg(feature = "columnar")]
    Parquet(ParquetFeed),
    #[cfg(feature = "columnar")]
    Batches(StreamFeed),
    /// Several inputs, one after the other.
    Several(SeveralFeed),
}

impl Feed {
    /// The next piece. A piece of text reuses the memory of `buffer`.
    pub(super) fn next(&mut self, buffer: Vec<u8>) -> Result<Option<Piece>> {
        match self {
            Self::Text(feed) => feed.next(buffer),
            Self::Graph(feed) => feed.next(),
            #[cfg(feature = "columnar")]
            Self::Parquet(feed) => Ok(feed.next()),
            #[cfg(feature = "columnar")]
            Self::Batches(feed) => feed.next(),
            Self::Several(feed) => feed.next(buffer),
        }
    }
}

/// Opens an input when the inputs before it are read.
pub(super) type Opener = Box<dyn FnOnce() -> Result<Feed> + Send>;

/// Several inputs, one after the other.
pub(super) struct SeveralFeed {
    open: Option<Box<Feed>>,
    rest: std::collections::VecDeque<Opener>,
    /// The number of the next piece of all.
    next: u64,
}

impl SeveralFeed {
    pub(super) fn new(inputs: Vec<Opener>) -> Self {
        Self { open: None, rest: inputs.into(), next: 0 }
    }

    fn next(&mut self, mut buffer: Vec<u8>) -> Result<Option<Piece>> {
        loop {
            if let Some(feed) = &mut self.open {
                if let Some(piece) = feed.next(std::mem::take(&mut buffer))? {
                    self.next += 1;
                    return Ok(Some(Piece { number: self.next - 1, ..piece }));
                }
                self.open = None;
            }
            match self.rest.pop_front() {
                Some(open) => self.open = Some(Box::new(open()?)),
                None => return Ok(None),
            }
        }
    }
}

/// A format of graphs that is read edge by edge.
pub(super) struct GraphFeed {
    reader: Box<GraphReader>,
    compression: Compression,
    counters: Arc<Counters>,
    next: u64,
}

impl GraphFeed {
    fn next(&mut self) -> Result<Option<Piece>> {
        let mut edges = EdgeChunk::default();
        let is_more = self.reader.next_chunk(&mut edges).map_err(failed)?;
        if !is_more {
            let mut detected = self.reader.detected();
            said_compression(&mut detected, self.compression);
            self.counters.detected(&detected);
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(Piece { number: self.next - 1, content: Content::Edges(Box::new(edges)) }))
    }
}

fn said_compression(detected: &mut Vec<(&'static str, String)>, compression: Compression) {
    if compression != Compression::Plain {
        detected.insert(1, ("compression", compression.to_string()));
    }
}

/// Memory of a worker, reused for its next piece.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) text: Vec<u8>,
    pub(super) edges: EdgeChunk,
}

impl Piece {
    /// Parses the rows and passes them to `each`, in order.
    pub(super) fn parse(
        self,
        buffers: &mut Buffers,
        each: &mut dyn FnMut(&EdgeChunk) -> Result<()>,
    ) -> Result<()> {
        match self.content {
            Content::Text(chunk, dialect) => {
                let parsed = parse_chunk(&dialect, &chunk, &mut buffers.edges);
                buffers.text = chunk.bytes;
                parsed.map_err(wrong)?;
                each(&buffers.edges)
            }
            #[cfg(feature = "columnar")]
            Content::RowGroup(file, index) => file.each_chunk(index, each).map_err(failed)?,
            #[cfg(feature = "columnar")]
            Content::Batch(batch, place) => {
                let BatchPlace { name, first_row, edges } = &*place;
                read_batch(&batch, name, *first_row, edges, &mut buffers.edges).map_err(wrong)?;
                each(&buffers.edges)
            }
            Content::Edges(edges) => each(&edges),
        }
    }
}

fn wrong(error: InputError) -> Error {
    Error::caused(ErrorKind::InvalidInput, error)
}

fn failed(error: ingest::Error) -> Error {
    match error {
        ingest::Error::Input(error) => wrong(error),
        ingest::Error::Io { .. } => Error::caused(ErrorKind::Io, error),
    }
}

/// Text, split into chunks at line ends.
pub(super) struct TextFeed {
    splitter: Splitter<Box<dyn Read + Send>>,
    dialect: Arc<Dialect>,
}

impl TextFeed {
    /// Reads the first bytes and detects compression, format and dialect.
    pub(super) fn open(
        reader: Box<dyn Read + Send>,
        name: &str,
        options: &TextOptions,
        chunk_bytes: usize,
        counters: &Arc<Counters>,
    ) -> Result<Feed> {
        let (compression, plain) = decompressor(reader)
            .map_err(|source| failed(ingest::Error::Io { file: name.to_owned(), source }))?;
        let mut splitter = Splitter::with_chunk_bytes(plain, name, chunk_bytes);
        let head = splitter.head().map_err(failed)?;
        if let Some(format) = GraphFormat::detect(head, name) {
            let reader = GraphReader::new(format, splitter.into_reader(), name, options);
            let reader = Box::new(reader);
            let counters = Arc::clone(counters);
            return Ok(Feed::Graph(GraphFeed { reader, compression, counters, next: 0 }));
        }
        let mut dialect = sniff(head, name, options).map_err(wrong)?;
        said_compression(&mut dialect.detected, compression);
        counters.detected(&dialect.detected);
        if dialect.is_of_vertices {
            counters.only_vertices.store(true, Ordering::Relaxed);
        }
        if let Some(matrix) = &dialect.matrix {
            Counters::add(&counters.records_promised, matrix.entries);
        }
        Ok(Feed::Text(Self { splitter, dialect: Arc::new(dialect) }))
    }

    fn next(&mut self, buffer: Vec<u8>) -> Result<Option<Piece>> {
        if self.dialect.is_of_vertices {
            return Ok(None);
        }
        let chunk = self.splitter.next(&self.dialect, buffer).map_err(failed)?;
        Ok(chunk.map(|chunk| Piece {
            number: chunk.seq,
            content: Content::Text(chunk, Arc::clone(&self.dialect)),
        }))
    }
}

/// A Parquet file, split into row groups.
#[cfg(feature = "columnar")]
pub(super) struct ParquetFeed {
    file: Arc<ParquetFile>,
    next: usize,
}

#[cfg(feature = "columnar")]
impl ParquetFeed {
    pub(super) fn open(
        file: Arc<dyn RandomReadFile>,
        bytes: u64,
        name: &str,
        edges: &EdgeOptions,
        counters: &Arc<Counters>,
    ) -> Result<Self> {
        let (told, counters) = (counters, Arc::clone(counters));
        let read: ReadExactAt = Box::new(move |position, buffer| {
            file.read_at(buffer, position).map_err(std::io::Error::other)?;
            Counters::add(&counters.bytes_read, buffer.len() as u64);
            Ok(())
        });
        let file = ParquetEdges::open(ReadAt::new(bytes, read), name, edges).map_err(failed)?;
        let mut detected = vec![("format", "Parquet".to_owned())];
        detected.extend(file.describe().map_err(wrong)?);
        told.detected(&detected);
        Ok(Self { file: Arc::new(file), next: 0 })
    }

    fn next(&mut self) -> Option<Piece> {
        let index = self.next;
        if index == self.file.row_group_count() {
            return None;
        }
        self.next += 1;
        let content = Content::RowGroup(Arc::clone(&self.file), index);
        Some(Piece { number: index as u64, content })
    }
}

/// Record batches that a job reads.
#[cfg(feature = "columnar")]
pub(super) struct StreamFeed {
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    places: BatchPlaces,
    counters: Arc<Counters>,
}

#[cfg(feature = "columnar")]
impl StreamFeed {
    pub(super) fn new(
        batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
        name: &str,
        edges: EdgeOptions,
        counters: &Arc<Counters>,
    ) -> Self {
        let places = BatchPlaces::new(name, edges);
        Self { batches, places, counters: Arc::clone(counters) }
    }

    fn next(&mut self) -> Result<Option<Piece>> {
        let Some(batch) = self.batches.next().transpose()? else { return Ok(None) };
        Ok(Some(self.places.piece(batch, &self.counters)?))
    }
}

/// Input that only the calling thread can read, because it borrows from the caller.
pub(super) trait LocalFeed {
    fn next(&mut self, counters: &Counters) -> Result<Option<Piece>>;
}

/// Record batches from an iterator.
#[cfg(feature = "columnar")]
pub(super) struct BatchFeed<'a> {
    batches: &'a mut dyn Iterator<Item = Result<RecordBatch>>,
    places: BatchPlaces,
}

/// Numbers record batches and their rows.
#[cfg(feature = "columnar")]
struct BatchPlaces {
    name: String,
    edges: EdgeOptions,
    next: u64,
    rows: u64,
}

#[cfg(feature = "columnar")]
impl BatchPlaces {
    fn new(name: &str, edges: EdgeOptions) -> Self {
        Self { name: name.to_owned(), edges, next: 0, rows: 0 }
    }

    fn piece(&mut self, batch: RecordBatch, counters: &Counters) -> Result<Piece> {
        Counters::add(&counters.bytes_read, batch.get_array_memory_size() as u64);
        if self.next == 0 {
            let mut detected = vec![("format", "Arrow".to_owned())];
            detected.extend(describe(batch.schema_ref(), &self.name, &self.edges).map_err(wrong)?);
            counters.detected(&detected);
        }
        let (name, edges) = (self.name.clone(), self.edges.clone());
        let place = Arc::new(BatchPlace { name, first_row: self.rows, edges });
        self.rows += batch.num_rows() as u64;
        self.next += 1;
        Ok(Piece { number: self.next - 1, content: Content::Batch(batch, place) })
    }
}

#[cfg(feature = "columnar")]
impl<'a> BatchFeed<'a> {
    pub(super) fn new(
        batches: &'a mut dyn Iterator<Item = Result<RecordBatch>>,
        name: &str,
        edges: EdgeOptions,
    ) -> Self {
        Self { batches, places: BatchPlaces::new(name, edges) }
    }
}

#[cfg(feature = "columnar")]
impl LocalFeed for BatchFeed<'_> {
    fn next(&mut self, counters: &Counters) -> Result<Option<Piece>> {
        let Some(batch) = self.batches.next().transpose()? else { return Ok(None) };
        Ok(Some(self.places.piece(batch, counters)?))
    }
}

/// Columns of the caller.
pub(super) struct ColumnFeed<'a> {
    src: VertexList<'a>,
    dst: VertexList<'a>,
    weights: ColumnWeights<'a>,
    missing: Missing,
    at: usize,
    next: u64,
}

enum ColumnWeights<'a> {
    None,
    /// Weight 1 for each edge.
    Ones {
        float: bool,
    },
    Given(WeightsRef<'a>),
}

impl<'a> ColumnFeed<'a> {
    /// # Errors
    /// Columns of different lengths, or not of the graph's types.
    pub(super) fn new(
        graph: &Graph,
        src: VertexList<'a>,
        dst: VertexList<'a>,
        weights: Option<WeightsRef<'a>>,
        missing: Missing,
    ) -> Result<Self> {
        graph.check_list(src)?;
        graph.check_list(dst)?;
        if src.len() != dst.len() {
            let message = format!("{} sources, but {} targets", src.len(), dst.len());
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        // Refuses weights of a wrong type.
        let none = weights.map(|weights| match weights {
            WeightsRef::Float(_) => WeightsRef::Float(&[]),
            WeightsRef::Int(_) => WeightsRef::Int(&[]),
        });
        crate::graph::weight_words(graph.def().weight, none, 0, &mut Vec::new())?;
        if let Some(weights) = weights.filter(|weights| weights.len() != src.len()) {
            let message = format!("{} edges, but {} weights", src.len(), weights.len());
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let weights = match (graph.def().weight, weights) {
            (_, Some(weights)) => ColumnWeights::Given(weights),
            (relation::WeightType::None, None) => ColumnWeights::None,
            (relation::WeightType::Float, None) => ColumnWeights::Ones { float: true },
            (relation::WeightType::Int, None) => ColumnWeights::Ones { float: false },
        };
        Ok(Self { src, dst, weights, missing, at: 0, next: 0 })
    }

    pub(super) fn bytes_total(&self) -> u64 {
        let given = if matches!(self.weights, ColumnWeights::Given(_)) { 8 } else { 0 };
        let all = 0..self.src.len();
        list_bytes(self.src, all.clone())
            + list_bytes(self.dst, all.clone())
            + given * all.len() as u64
    }
}

fn list_bytes(list: VertexList<'_>, range: std::ops::Range<usize>) -> u64 {
    match list {
        VertexList::U64(_) | VertexList::I64(_) => 8 * range.len() as u64,
        VertexList::Str(list) => list[range].iter().map(|text| text.len() as u64).sum(),
    }
}

impl LocalFeed for ColumnFeed<'_> {
    fn next(&mut self, counters: &Counters) -> Result<Option<Piece>> {
        let range = self.at..(self.at + COLUMN_ROWS).min(self.src.len());
        if range.is_empty() {
            return Ok(None);
        }
        self.at = range.end;
        let range_start = range.start as u64;
        let mut edges = EdgeChunk::default();
        for (list, words, texts) in [
            (self.src, &mut edges.src, &mut edges.src_str),
            (self.dst, &mut edges.dst, &mut edges.dst_str),
        ] {
            match list {
                VertexList::U64(list) => words.extend_from_slice(&list[range.clone()]),
                VertexList::I64(list) => {
                    words.extend(list[range.clone()].iter().map(|&vertex| i64_to_word(vertex)));
                }
                VertexList::Str(list) => list[range.clone()].iter().for_each(|t| texts.push(t)),
            }
            Counters::add(&counters.bytes_read, list_bytes(list, range.clone()));
        }
        edges.weights = match self.weights {
            ColumnWeights::None => Weights::None,
            ColumnWeights::Ones { float: true } => Weights::Float(vec![1.0; range.len()]),
            ColumnWeights::Ones { float: false } => Weights::Int(vec![1; range.len()]),
            ColumnWeights::Given(given) => {
                Counters::add(&counters.bytes_read, 8 * range.len() as u64);
                match given {
                    WeightsRef::Float(given) => Weights::Float(given[range].to_vec()),
                    WeightsRef::Int(given) => Weights::Int(given[range].to_vec()),
                }
            }
        };
        // NumPy has no null: it writes NaN for a missing number.
        edges.take_nan_as_missing("the weights", range_start, self.missing);
        let piece = Piece { number: self.next, content: Content::Edges(Box::new(edges)) };
        self.next += 1;
        Ok(Some(piece))
    }
}

/// A file read sequentially.
pub(super) struct FileReader {
    file: Arc<dyn RandomReadFile>,
    at: u64,
    bytes: u64,
    /// Position up to which the kernel was asked to read ahead.
    ahead: u64,
    counters: Arc<Counters>,
}

impl FileReader {
    pub(super) fn open(env: &Arc<dyn Env>, path: &Path, counters: &Arc<Counters>) -> Result<Self> {
        let file = env.open_read(path, ReadOptions::default()).map_err(io)?;
        let bytes = file.len_bytes().map_err(io)?;
        Ok(Self { file, at: 0, bytes, ahead: 0, counters: Arc::clone(counters) })
    }

    pub(super) fn bytes_total(&self) -> u64 {
        self.bytes
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.bytes - self.at).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        if self.at + length as u64 + READ_AHEAD_BYTES / 2 > self.ahead && self.ahead < self.bytes {
            let from = self.ahead.max(self.at);
            self.file.read_ahead(from, READ_AHEAD_BYTES);
            self.ahead = from + READ_AHEAD_BYTES;
        }
        self.file.read_at(&mut buffer[..length], self.at).map_err(std::io::Error::other)?;
        self.at += length as u64;
        Counters::add(&self.counters.bytes_read, length as u64);
        Ok(length)
    }
}

/// Wraps a reader and counts its bytes.
pub(super) fn counted(
    reader: Box<dyn Read + Send>,
    counters: &Arc<Counters>,
) -> Box<dyn Read + Send> {
    Box::new(Counted { reader, counters: Arc::clone(counters) })
}

struct Counted {
    reader: Box<dyn Read + Send>,
    counters: Arc<Counters>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.reader.read(buffer)?;
        Counters::add(&self.counters.bytes_read, bytes as u64);
        Ok(bytes)
    }
}
