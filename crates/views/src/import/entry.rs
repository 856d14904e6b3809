//! The import methods of [`Graph`]: from text, Parquet, Arrow and columns. They check the options
//! and call `run.rs`.

#[cfg(feature = "columnar")]
use super::feed::{BatchFeed, ParquetFeed, StreamFeed};
use super::feed::{ColumnFeed, Feed, FileReader, Opener, SeveralFeed, TextFeed};
use super::progress::{ProgressFn, Reporter};
use super::report::{ImportOptions, ImportReport};
use super::run::Run;
#[cfg(feature = "columnar")]
use super::spill::io;
use crate::graph::{Graph, VertexList, WeightsRef};
#[cfg(feature = "columnar")]
use arrow_array::RecordBatch;
use env::Env;
#[cfg(feature = "columnar")]
use env::ReadOptions;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "columnar")]
#[allow(unused_imports, reason = "the docs below name the kinds of errors")]
use store::ErrorKind;
use store::Result;

/// One of several inputs of an import.
pub enum ImportInput {
    /// A file of text, plain or compressed, or of a format that text is detected to have.
    File(PathBuf),
    /// As a file, from a stream, with a name for messages.
    Stream(Box<dyn Read + Send>, String),
    /// A Parquet file.
    #[cfg(feature = "columnar")]
    Parquet(PathBuf),
    /// Arrow record batches, with a name for messages.
    #[cfg(feature = "columnar")]
    Batches(Box<dyn Iterator<Item = Result<RecordBatch>> + Send>, String),
}

/// # Imports
///
/// All imports update the weights of existing edges, become visible in one step, are durable when
/// they return, and change nothing if they fail. Readers and writers of the graph continue during
/// an import, with one exception: during an import of string vertices, writers that bring new
/// string vertices wait for its end. Transactions and scripts do not wait; if they bring new
/// vertices, the import conflicts.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] with the position in the input (the cause is an
/// [`ingest::InputError`]); [`ErrorKind::Limit`] if the memory limit is too small and there is no
/// folder to spill to; [`ErrorKind::Cancelled`] if `progress` returns `false`; [`ErrorKind::Io`] if
/// the input cannot be read; [`ErrorKind::Conflict`]; and errors of the store.
impl Graph {
    /// Imports edges from delimited text (such as CSV), plain or compressed with gzip or Zstandard.
    /// It must have two or three columns, or a header that names the columns.
    pub fn import_csv(
        &self,
        env: &Arc<dyn Env>,
        path: &Path,
        options: &ImportOptions,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport> {
        let mut reporter = Reporter::new(env, progress);
        let run = Run::new(self, env, options)?;
        let file = FileReader::open(env, path, &reporter.counters)?;
        reporter.bytes_total = Some(file.bytes_total());
        let name = path.display().to_string();
        let (text, bytes) = (run.text_options(), run.chunk_bytes());
        let counters = Arc::clone(&reporter.counters);
        run.import(reporter, move || TextFeed::open(Box::new(file), &name, &text, bytes, &counters))
    }

    /// As [`Graph::import_csv`], from a stream. `name` is for messages.
    pub fn import_reader(
        &self,
        env: &Arc<dyn Env>,
        reader: Box<dyn Read + Send>,
        name: &str,
        options: &ImportOptions,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport> {
        let reporter = Reporter::new(env, progress);
        let run = Run::new(self, env, options)?;
        let (text, bytes, name) = (run.text_options(), run.chunk_bytes(), name.to_owned());
        let counters = Arc::clone(&reporter.counters);
        let reader = super::feed::counted(reader, &counters);
        run.import(reporter, move || TextFeed::open(reader, &name, &text, bytes, &counters))
    }

    /// Imports several inputs as one: all of their edges become visible in one step. Of a pair that
    /// occurs in several, the last one wins.
    pub fn import_inputs(
        &self,
        env: &Arc<dyn Env>,
        inputs: Vec<ImportInput>,
        options: &ImportOptions,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport> {
        let mut reporter = Reporter::new(env, progress);
        let run = Run::new(self, env, options)?;
        let (text, bytes) = (run.text_options(), run.chunk_bytes());
        let mut bytes_total = Some(0);
        let mut openers: Vec<Opener> = Vec::with_capacity(inputs.len());
        for input in inputs {
            let (text, counters) = (text.clone(), Arc::clone(&reporter.counters));
            let mut total = None;
            openers.push(match input {
                ImportInput::File(path) => {
                    let file = FileReader::open(env, &path, &counters)?;
                    total = Some(file.bytes_total());
                    drop(file);
                    let env = Arc::clone(env);
                    Box::new(move || {
                        let file = FileReader::open(&env, &path, &counters)?;
                        let name = path.display().to_string();
                        TextFeed::open(Box::new(file), &name, &text, bytes, &counters)
                    })
                }
                ImportInput::Stream(reader, name) => Box::new(move || {
                    let reader = super::feed::counted(reader, &counters);
                    TextFeed::open(reader, &name, &text, bytes, &counters)
                }),
                #[cfg(feature = "columnar")]
                ImportInput::Parquet(path) => {
                    let file = env.open_read(&path, ReadOptions::default()).map_err(io)?;
                    let bytes = file.len_bytes().map_err(io)?;
                    total = Some(bytes);
                    Box::new(move || {
                        let name = path.display().to_string();
                        let feed = ParquetFeed::open(file, bytes, &name, &text.edges, &counters)?;
                        Ok(Feed::Parquet(feed))
                    })
                }
                #[cfg(feature = "columnar")]
                ImportInput::Batches(batches, name) => Box::new(move || {
                    Ok(Feed::Batches(StreamFeed::new(batches, &name, text.edges, &counters)))
                }),
            });
            bytes_total = bytes_total.zip(total).map(|(sum, more)| sum + more);
        }
        reporter.bytes_total = bytes_total;
        run.import(reporter, move || Ok(Feed::Several(SeveralFeed::new(openers))))
    }

    /// Imports a Parquet file with two or three columns, or with columns that have the names of
    /// edge columns.
    #[cfg(feature = "columnar")]
    pub fn import_parquet(
        &self,
        env: &Arc<dyn Env>,
        path: &Path,
        options: &ImportOptions,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport> {
        let mut reporter = Reporter::new(env, progress);
        let run = Run::new(self, env, options)?;
        let file = env.open_read(path, ReadOptions::default()).map_err(io)?;
        let bytes = file.len_bytes().map_err(io)?;
        reporter.bytes_total = Some(bytes);
        let (name, edges) = (path.display().to_string(), run.text_options().edges);
        let counters = Arc::clone(&reporter.counters);
        run.import(reporter, move || {
            Ok(Feed::Parquet(ParquetFeed::open(file, bytes, &name, &edges, &counters)?))
        })
    }

    /// Imports Arrow record batches, with columns as in [`Graph::import_parquet`]. `name` is for
    /// messages. An error of the iterator ends the import and is returned unchanged.
    #[cfg(feature = "columnar")]
    pub fn import_arrow(
        &self,
        env: &Arc<dyn Env>,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
        name: &str,
        options: &ImportOptions,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport> {
        let reporter = Reporter::new(env, progress);
        let run = Run::new(self, env, options)?;
        let edges = run.text_options().edges;
        run.import_here(reporter, &mut BatchFeed::new(batches, name, edges))
    }

    /// Imports columns in memory: an edge from `src[i]` to `dst[i]` for each `i`. Without weights
    /// each edge gets weight 1. A weight that is NaN is missing.
    pub fn import_columns(
        &self,
        env: &Arc<dyn Env>,
        src: VertexList<'_>,
        dst: VertexList<'_>,
        weights: Option<WeightsRef<'_>>,
        options: &ImportOptions,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport> {
        let mut reporter = Reporter::new(env, progress);
        let run = Run::new(self, env, options)?;
        let mut feed = ColumnFeed::new(self, src, dst, weights, options.text.edges.missing)?;
        reporter.bytes_total = Some(feed.bytes_total());
        run.import_here(reporter, &mut feed)
    }
}
