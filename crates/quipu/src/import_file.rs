//! Imports of files that a user names: regular files, pipes and devices, folders; and their
//! formats.
//!
//! # Why the format is detected by content
//! Endings are missing (`/dev/fd/63`) or wrong. Parquet and Arrow have a mark at their start; all
//! else is text, whose compression and format `ingest` detects.
//!
//! # Invariants
//! 1. A file without a length is read as a stream: pipes, devices, and files of `/proc`, whose
//!    length is 0.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's files

use crate::options::GraphOptions;
use crate::property_rows::RecordBatches;
use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use store::{Error, ErrorKind, Result};
use views::graph::{Graph, VertexType, WeightType};
use views::import::{ImportInput, ImportOptions, ImportReport, ProgressFn};

/// Bytes of a file's start in which its types are looked for, as they are stored.
const HEAD_BYTES: u64 = 256 << 10;

/// A file, or a stream, that an import reads.
pub struct ImportFile {
    name: String,
    source: Source,
}

enum Source {
    Path(PathBuf),
    /// A stream, and the bytes that were read from it to detect types.
    Stream(Box<dyn Read + Send>, Vec<u8>),
}

/// The start of a file, as its format is read.
enum Start {
    Parquet(File),
    Arrow(arrow_schema::SchemaRef, RecordBatches),
    /// Its first bytes, as they are stored.
    Text(Vec<u8>),
}

impl ImportFile {
    /// The file at a path: regular or a pipe, a device, a link to one.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { name: path.display().to_string(), source: Source::Path(path.to_owned()) }
    }

    /// A stream, with a name for messages.
    #[must_use]
    pub fn stream(reader: Box<dyn Read + Send>, name: &str) -> Self {
        Self { name: name.to_owned(), source: Source::Stream(reader, Vec::new()) }
    }

    /// The files that a path means: a folder means the files in it, by name, without hidden ones.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]: there is no such file, or the folder cannot be listed.
    /// [`ErrorKind::InvalidInput`]: the folder holds no file.
    pub fn all_at(path: &Path) -> Result<Vec<Self>> {
        let path = &expanded(path);
        let about = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
        if !about.is_dir() {
            return Ok(vec![Self::at(path)]);
        }
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|error| unreadable(path, error))? {
            let entry = entry.map_err(|error| unreadable(path, error))?;
            let name = entry.file_name();
            let is_hidden = name.as_encoded_bytes().first().is_some_and(|b| b"._".contains(b));
            if !is_hidden && entry.path().is_file() {
                files.push(entry.path());
            }
        }
        files.sort();
        if files.is_empty() {
            let what = format!("the folder {} holds no file to import", path.display());
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        Ok(files.iter().map(|file| Self::at(file)).collect())
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The types of vertices and weights that fit the file, from its first bytes, for a graph that
    /// does not exist yet. `None`: it is a table of vertices.
    ///
    /// # Errors
    /// The file cannot be read, or is none of edges.
    fn types(
        &mut self,
        options: &ImportOptions,
    ) -> Result<Option<(ingest::VertexType, ingest::WeightType)>> {
        let (edges, name) = (&options.text.edges, self.name.clone());
        let found = match self.start()? {
            Start::Parquet(file) => ingest::parquet_edges::types_of(file, &name, edges).map(Some),
            Start::Arrow(schema, mut batches) => {
                let first = batches.next().transpose()?;
                let first = first.unwrap_or_else(|| RecordBatch::new_empty(schema));
                let types = ingest::arrow_edges::types_of_batch(&first, &name, edges);
                types.map(Some).map_err(Into::into)
            }
            Start::Text(head) => {
                ingest::guess_types(&head, &name, &options.text).map_err(Into::into)
            }
        };
        found.map_err(failed)
    }

    /// The names of the columns, if the file is a table that has them.
    ///
    /// # Errors
    /// The file cannot be read, or is no sound Parquet or Arrow file.
    pub(crate) fn column_names(&mut self, options: &ingest::TextOptions) -> Result<Vec<String>> {
        let head = match self.start()? {
            Start::Parquet(file) => {
                return ingest::parquet_rows::column_names(&file, &self.name).map_err(failed);
            }
            Start::Arrow(schema, _) => {
                return Ok(schema.fields().iter().map(|field| field.name().clone()).collect());
            }
            Start::Text(head) => head,
        };
        let mut plain = Vec::new();
        if let Ok((_, reader)) = ingest::decompressor(head.as_slice()) {
            // The head may end inside of the compressed data.
            let _ = reader.take(HEAD_BYTES).read_to_end(&mut plain);
        }
        if ingest::GraphFormat::detect(&plain, &self.name).is_some() {
            return Ok(Vec::new());
        }
        Ok(ingest::sniff_rows(&plain, &self.name, options).map_or(Vec::new(), |rows| rows.names))
    }

    /// Reads the start of the file. A pipe or a device becomes a stream, which keeps what was read.
    fn start(&mut self) -> Result<Start> {
        if let Source::Path(path) = &self.source {
            let mut file = File::open(path).map_err(|error| unreadable(path, error))?;
            if is_regular(path)? {
                let mut head = Vec::new();
                fill(&mut file, &mut head).map_err(|error| unreadable(path, error))?;
                if head.starts_with(b"PAR1") {
                    return Ok(Start::Parquet(file));
                }
                if head.starts_with(b"ARROW1") {
                    let (schema, batches) = arrow_file(path)?;
                    return Ok(Start::Arrow(schema, batches));
                }
                return Ok(Start::Text(head));
            }
            self.source = Source::Stream(Box::new(file), Vec::new());
        }
        let Source::Stream(reader, head) = &mut self.source else {
            return Ok(Start::Text(Vec::new()));
        };
        fill(reader, head).map_err(|error| unreadable(Path::new(&self.name), error))?;
        Ok(Start::Text(head.clone()))
    }

    pub(crate) fn open(self) -> Result<ImportInput> {
        let path = match self.source {
            Source::Path(path) => path,
            Source::Stream(reader, head) => {
                let whole = io::Cursor::new(head).chain(reader);
                return Ok(ImportInput::Stream(Box::new(whole), self.name));
            }
        };
        let mut file = File::open(&path).map_err(|error| unreadable(&path, error))?;
        if !is_regular(&path)? {
            return Ok(ImportInput::Stream(Box::new(file), self.name));
        }
        let mut mark = Vec::new();
        file.by_ref().take(8).read_to_end(&mut mark).map_err(|error| unreadable(&path, error))?;
        if mark.starts_with(b"PAR1") {
            return Ok(ImportInput::Parquet(path));
        }
        if mark.starts_with(b"ARROW1") {
            let (_, batches) = arrow_file(&path)?;
            return Ok(ImportInput::Batches(batches, self.name));
        }
        Ok(ImportInput::File(path))
    }
}

/// Reads on until `head` has the first bytes of the file or all of it.
fn fill(reader: &mut impl Read, head: &mut Vec<u8>) -> io::Result<()> {
    let missing = HEAD_BYTES.saturating_sub(head.len() as u64);
    reader.take(missing).read_to_end(head).map(drop)
}

/// The types of vertices and weights that fit all files, for a graph that does not exist yet.
///
/// # Errors
/// A file cannot be read, or holds no edges.
pub fn types_of_files(files: &mut [ImportFile], options: &ImportOptions) -> Result<GraphOptions> {
    let mut all = GraphOptions::default();
    for file in files {
        if let Some(types) = file.types(options)? {
            let of = graph_options(types);
            all.vertex = wider_vertex(all.vertex, of.vertex);
            all.weight = wider_weight(all.weight, of.weight);
        }
    }
    Ok(all)
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

pub(crate) fn wider_vertex(a: VertexType, b: VertexType) -> VertexType {
    use VertexType::{I64, Str, U64};
    match (a, b) {
        (Str, _) | (_, Str) => Str,
        (I64, _) | (_, I64) => I64,
        (U64, U64) => U64,
    }
}

pub(crate) fn wider_weight(a: WeightType, b: WeightType) -> WeightType {
    use WeightType::{Float, Int, None};
    match (a, b) {
        (Float, _) | (_, Float) => Float,
        (Int, _) | (_, Int) => Int,
        (None, None) => None,
    }
}

fn graph_options((vertex, weight): (ingest::VertexType, ingest::WeightType)) -> GraphOptions {
    let vertex = match vertex {
        ingest::VertexType::U64 => VertexType::U64,
        ingest::VertexType::I64 => VertexType::I64,
        ingest::VertexType::Str => VertexType::Str,
    };
    let weight = match weight {
        ingest::WeightType::None => WeightType::None,
        ingest::WeightType::Float => WeightType::Float,
        ingest::WeightType::Int => WeightType::Int,
    };
    GraphOptions { vertex, weight, ..GraphOptions::default() }
}

/// Imports files as one: their edges become visible in one step. Of a pair that occurs in several,
/// the last one wins. The options for text apply to files of text.
///
/// # Errors
/// As [`Graph::import_csv`]; [`ErrorKind::Io`] if a file does not exist.
pub fn import_files(
    graph: &Graph,
    env: &std::sync::Arc<dyn env::Env>,
    files: Vec<ImportFile>,
    options: &ImportOptions,
    progress: ProgressFn<'_>,
) -> Result<ImportReport> {
    let inputs = files.into_iter().map(ImportFile::open).collect::<Result<_>>()?;
    graph.import_inputs(env, inputs, options, progress)
}

/// The path that a `file://` URL or a path with `~` stands for.
fn expanded(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_owned() };
    if let Some(rest) = text.strip_prefix("file://") {
        return PathBuf::from(decoded(rest.strip_prefix("localhost").unwrap_or(rest)));
    }
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) if !path.exists() => home.join(rest),
        _ => path.to_owned(),
    }
}

/// The text with `%20` and the like replaced.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte.filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a file has a length and can be read at any place.
fn is_regular(path: &Path) -> Result<bool> {
    let about = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if about.is_dir() {
        let what = format!("{} is a folder", path.display());
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    Ok(about.is_file() && about.len() > 0)
}

/// The schema and the batches of an Arrow file (Feather). The library asserts some properties of
/// the file, so its panics become errors, too.
fn arrow_file(path: &Path) -> Result<(arrow_schema::SchemaRef, RecordBatches)> {
    let mut file = File::open(path).map_err(|error| unreadable(path, error))?;
    let checked = guarded(|| Ok(check_arrow_sizes(&mut file)))?;
    if !checked.map_err(|error| unreadable(path, error))? {
        return Err(unsound("a length outside of it"));
    }
    file.seek(io::SeekFrom::Start(0)).map_err(|error| unreadable(path, error))?;
    let wrong = |error: arrow_schema::ArrowError| unsound(&error.to_string());
    let mut reader = guarded(|| FileReader::try_new(BufReader::new(file), None).map_err(wrong))?;
    let schema = reader.schema();
    let next = move || guarded(|| reader.next().transpose().map_err(wrong)).transpose();
    Ok((schema, Box::new(std::iter::from_fn(next))))
}

/// Whether the plain lengths of compressed buffers are such as a file can have. The library
/// allocates what they say, and a process does not survive an allocation that fails.
fn check_arrow_sizes(file: &mut File) -> io::Result<bool> {
    const PLAIN_BYTES_MAX: i64 = 1 << 30;
    let bytes = file.metadata()?.len();
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

pub(crate) fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::caused(ErrorKind::Io, env::EnvError::io("open", path, error))
}

pub(crate) fn failed(error: ingest::Error) -> Error {
    match error {
        ingest::Error::Input(error) => Error::caused(ErrorKind::InvalidInput, error),
        ingest::Error::Io { .. } => Error::caused(ErrorKind::Io, error),
    }
}
