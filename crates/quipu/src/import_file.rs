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
//! 2. A Parquet or Arrow file in a stream, or compressed, is read to its end at first, because the
//!    places of its columns come last.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's files

#[cfg(feature = "arrow")]
use crate::arrow_file::{ArrowBatches, arrow_batches, arrow_file, parquet_batches};
use crate::edge_types::{graph_options, wider_vertex, wider_weight};
use crate::file_errors::{failed, unreadable};
use crate::options::GraphOptions;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use store::{Error, ErrorKind, Result};
use views::graph::Graph;
use views::import::{ImportInput, ImportOptions, ImportReport, ProgressFn};

/// Bytes of a file's start in which its types are looked for, as they are stored.
const HEAD_BYTES: u64 = 256 << 10;

/// Bytes of a Parquet or Arrow file at most that comes in a stream or compressed, and is read into
/// memory.
#[cfg(feature = "arrow")]
const STREAMED_TABLE_BYTES_MAX: u64 = 256 << 20;

/// A file, or a stream, that an import reads.
pub struct ImportFile {
    name: String,
    source: Source,
}

enum Source {
    Path(PathBuf),
    /// A stream, and the bytes that were read from it to detect types.
    Stream(Box<dyn Read + Send>, Vec<u8>),
    /// A table that a stream had, or a compressed file.
    #[cfg(feature = "arrow")]
    Table(ArrowBatches),
}

/// The start of a file, as its format is read.
enum Start {
    #[cfg(feature = "arrow")]
    Parquet(File),
    #[cfg(feature = "arrow")]
    Arrow(ArrowBatches),
    /// Its first bytes, as they are stored.
    Text(Vec<u8>),
}

/// A format of files that is not text.
enum Binary {
    Parquet,
    Arrow,
}

impl Binary {
    /// The format of a file that starts with these bytes; `None` for text.
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Self::Arrow),
            _ => None,
        }
    }
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
        refuse_address(path)?;
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
        let name = self.name.clone();
        #[cfg(feature = "arrow")]
        if let Some(table) = self.streamed_table()? {
            let edges = &options.text.edges;
            let types = ingest::arrow_edges::types_of_batch(&table.peek()?, &name, edges);
            return types.map(Some).map_err(|error| failed(error.into()));
        }
        let found = match self.start()? {
            #[cfg(feature = "arrow")]
            Start::Parquet(file) => {
                ingest::parquet_edges::types_of(file, &name, &options.text.edges).map(Some)
            }
            #[cfg(feature = "arrow")]
            Start::Arrow(mut file) => {
                let types =
                    ingest::arrow_edges::types_of_batch(&file.first()?, &name, &options.text.edges);
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
        #[cfg(feature = "arrow")]
        if let Some(table) = self.streamed_table()? {
            return Ok(table.column_names());
        }
        #[cfg_attr(
            not(feature = "arrow"),
            expect(clippy::infallible_destructuring_match, reason = "only text remains")
        )]
        let head = match self.start()? {
            #[cfg(feature = "arrow")]
            Start::Parquet(file) => {
                return ingest::parquet_rows::column_names(&file, &self.name).map_err(failed);
            }
            #[cfg(feature = "arrow")]
            Start::Arrow(file) => return Ok(file.column_names()),
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

    /// The table in a stream or in a compressed file, which is read to its end.
    ///
    /// # Errors
    /// It cannot be read, or is not sound. [`ErrorKind::Limit`]: it is too large for memory.
    #[cfg(feature = "arrow")]
    fn streamed_table(&mut self) -> Result<Option<&mut ArrowBatches>> {
        let (name, path) = (self.name.clone(), PathBuf::from(&self.name));
        let wrong = |error| unreadable(&path, error);
        let head = match &mut self.source {
            Source::Table(_) => Vec::new(),
            Source::Stream(reader, head) => {
                fill(reader, head).map_err(wrong)?;
                head.clone()
            }
            Source::Path(path) if is_regular(path)? => {
                let mut head = Vec::new();
                let mut file = File::open(&*path).map_err(wrong)?;
                fill(&mut file, &mut head).map_err(wrong)?;
                if Binary::of(&head).is_some() {
                    return Ok(None);
                }
                head
            }
            Source::Path(_) => match self.start()? {
                Start::Text(head) => head,
                Start::Parquet(_) | Start::Arrow(_) => return Ok(None),
            },
        };
        let mut mark = Vec::new();
        if let Ok((_, plain)) = ingest::decompressor(head.as_slice()) {
            // The head may end inside of the compressed data.
            let _ = plain.take(8).read_to_end(&mut mark);
        }
        if let Some(kind) = Binary::of(&mark) {
            let whole: Box<dyn Read + Send> = match &mut self.source {
                Source::Stream(reader, head) => {
                    let rest = std::mem::replace(reader, Box::new(io::empty()));
                    Box::new(io::Cursor::new(std::mem::take(head)).chain(rest))
                }
                Source::Path(path) => Box::new(File::open(path).map_err(wrong)?),
                Source::Table(_) => Box::new(io::empty()),
            };
            let (_, plain) = ingest::decompressor(whole).map_err(wrong)?;
            let mut bytes = Vec::new();
            let length = plain.take(STREAMED_TABLE_BYTES_MAX + 1).read_to_end(&mut bytes);
            if length.map_err(wrong)? as u64 > STREAMED_TABLE_BYTES_MAX {
                let megabytes = STREAMED_TABLE_BYTES_MAX >> 20;
                let what = format!(
                    "{name} holds a table of more than {megabytes} MiB in a stream\nhint: write it \
                     to a file that is not compressed, and import its path"
                );
                return Err(Error::new(ErrorKind::Limit, what));
            }
            self.source = Source::Table(match kind {
                Binary::Parquet => parquet_batches(bytes, &name)?,
                Binary::Arrow => arrow_batches(io::Cursor::new(bytes), &path)?,
            });
        }
        Ok(match &mut self.source {
            Source::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Reads the start of the file. A pipe or a device becomes a stream, which keeps what was read.
    fn start(&mut self) -> Result<Start> {
        if let Source::Path(path) = &self.source {
            let mut file = File::open(path).map_err(|error| unreadable(path, error))?;
            if is_regular(path)? {
                let mut head = Vec::new();
                fill(&mut file, &mut head).map_err(|error| unreadable(path, error))?;
                return match Binary::of(&head) {
                    None => Ok(Start::Text(head)),
                    #[cfg(feature = "arrow")]
                    Some(Binary::Parquet) => Ok(Start::Parquet(file)),
                    #[cfg(feature = "arrow")]
                    Some(Binary::Arrow) => Ok(Start::Arrow(arrow_file(path)?)),
                    #[cfg(not(feature = "arrow"))]
                    Some(_) => Err(crate::file_errors::without_arrow()),
                };
            }
            self.source = Source::Stream(Box::new(file), Vec::new());
        }
        let Source::Stream(reader, head) = &mut self.source else {
            return Ok(Start::Text(Vec::new()));
        };
        fill(reader, head).map_err(|error| unreadable(Path::new(&self.name), error))?;
        Ok(Start::Text(head.clone()))
    }

    #[cfg_attr(not(feature = "arrow"), expect(unused_mut, reason = "only text remains"))]
    pub(crate) fn open(mut self) -> Result<ImportInput> {
        #[cfg(feature = "arrow")]
        self.streamed_table()?;
        let path = match self.source {
            Source::Path(path) => path,
            #[cfg(feature = "arrow")]
            Source::Table(table) => return Ok(ImportInput::Batches(table.batches, self.name)),
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
        match Binary::of(&mark) {
            None => Ok(ImportInput::File(path)),
            #[cfg(feature = "arrow")]
            Some(Binary::Parquet) => Ok(ImportInput::Parquet(path)),
            #[cfg(feature = "arrow")]
            Some(Binary::Arrow) => Ok(ImportInput::Batches(arrow_file(&path)?.batches, self.name)),
            #[cfg(not(feature = "arrow"))]
            Some(_) => Err(crate::file_errors::without_arrow()),
        }
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

/// # Errors
/// [`ErrorKind::InvalidInput`]: the path is the address of a file on another machine.
fn refuse_address(path: &Path) -> Result<()> {
    let scheme = path.to_str().and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
    let is_scheme =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
    if !scheme.is_some_and(is_scheme) || path.exists() {
        return Ok(());
    }
    let what = format!(
        "{} is an address, and files are read\nhint: download it first, or pipe it: in Python \
         urllib.request.urlopen(…) is a source, in a shell <(curl -L …) is",
        path.display()
    );
    Err(Error::new(ErrorKind::InvalidInput, what))
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
