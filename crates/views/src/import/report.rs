//! What an import is told and what it tells.

use ingest::{InputError, TextOptions};
use std::path::PathBuf;

/// How an import goes about its work.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportOptions {
    /// How text is read. Vertex and weight types are set from the graph; of the rest, columns and
    /// the default weight count for Parquet and Arrow too.
    pub text: TextOptions,
    /// Memory for rows, buffers and, where vertices are text, the dictionary of new ones, in bytes.
    /// Default: 1 GiB. What the store's writers hold comes on top, some MiB a thread.
    pub memory_limit_bytes: u64,
    /// How many of these bytes are the store's cache's, which does without them for the import's
    /// time. Default: none.
    pub cache_lent_bytes: u64,
    /// Where rows go that outgrow the memory, in files that are removed when the import ends. A
    /// folder of the database's own: stale files of imports that were killed are removed from it.
    /// `None` (the default): such an import is an error.
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

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportReport {
    /// Distinct edges written.
    pub edges: u64,
    /// Rows read, without skipped ones.
    pub rows: u64,
    /// Rows whose pair came again later in the input, and edges that were there already.
    pub duplicates: u64,
    /// Bad rows left out, where the options say so.
    pub skipped: u64,
    /// The first ten of them.
    pub skipped_lines: Vec<InputError>,
    /// Seconds it took.
    pub seconds: f64,
    /// Bytes of input, as stored: compressed bytes of a compressed file. Columns in memory count 8
    /// bytes a word, text its bytes.
    pub bytes_read: u64,
    /// Bytes written: finished tables and what was spilled.
    pub bytes_written: u64,
}
