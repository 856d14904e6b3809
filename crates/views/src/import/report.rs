//! Options and report of an import: the public types of the Rust API; `py` and `cli` show them.

use ingest::{InputError, TextOptions};
use std::path::PathBuf;

/// Options of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportOptions {
    /// How text is parsed. Vertex and weight types are taken from the graph. Columns and the
    /// default weight apply to Parquet and Arrow as well.
    pub text: TextOptions,
    /// Memory in bytes for rows, buffers and, for string vertices, the dictionary of new strings.
    /// Default: 1 GiB. The store's table writers need some MiB a thread besides.
    pub memory_limit_bytes: u64,
    /// Part of these bytes that the store's cache gives up during the import. Default: 0.
    pub cache_lent_bytes: u64,
    /// Folder for rows that exceed the memory limit, in files that are removed when the import
    /// ends. It must belong to the database: stale files of killed imports are removed from it.
    /// With `None` (the default) such an import fails.
    pub spill_folder: Option<PathBuf>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            text: TextOptions::default(),
            memory_limit_bytes: 1 << 30,
            cache_lent_bytes: 0,
            spill_folder: None,
        }
    }
}

/// Report of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportReport {
    /// Number of distinct edges written.
    pub edges: u64,
    /// Number of distinct vertices written with their properties.
    pub nodes: u64,
    /// Number of rows of edges read, without skipped ones.
    pub rows: u64,
    /// Rows whose pair occurs again later in the input, plus edges that existed already.
    pub duplicates: u64,
    /// Invalid rows skipped, if the options allow it.
    pub skipped: u64,
    /// Errors of the first ten skipped rows.
    pub skipped_lines: Vec<InputError>,
    /// Rows whose weight is missing: they got the weight of the options, or were left out.
    pub missing: u64,
    /// The detected properties of the input: format, delimiter, header, columns and more, in this
    /// order. For several files, that of the first.
    pub detected: Vec<(&'static str, String)>,
    /// Notes: data of the input that the graph cannot hold, and other things worth knowing.
    pub notes: Vec<String>,
    /// Duration in seconds.
    pub seconds: f64,
    /// Bytes of input as stored (compressed if the file is). For columns in memory: 8 bytes a word,
    /// and the length of strings.
    pub bytes_read: u64,
    /// Bytes written: finished tables and spilled runs.
    pub bytes_written: u64,
}

/// The cause of the error of an import whose only file is a table of vertices.
#[derive(Clone, Copy, Debug)]
pub struct OnlyVertices;

impl std::fmt::Display for OnlyVertices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "the file is a table of vertices, and a graph holds edges alone\n\
             hint: import the table of edges; columns=[...] says which columns are an edge",
        )
    }
}

impl std::error::Error for OnlyVertices {}
