//! A graph into a file: written beside it first, so that a file of this name is whole or as before.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's own files, not the database's

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use store::{Error, ErrorKind, Result};
use views::graph::Graph;

/// What an exported file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// A header, then a line an edge, with this byte between the columns.
    Text(u8),
    /// Parquet, compressed with Zstandard.
    Parquet,
}

impl ExportFormat {
    /// What a file's name asks for: `.parquet`, `.tsv`, else comma-separated text.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => Self::Parquet,
            Some("tsv") => Self::Text(b'\t'),
            _ => Self::Text(b','),
        }
    }
}

/// Writes all edges of `graph`, as of now, to `path`; returns their number. `progress` is told the
/// edges written and answers whether to go on.
///
/// # Errors
/// A failed write, or [`ErrorKind::Cancelled`]; a file that was there is as before.
pub fn export_file(
    graph: &Graph,
    path: &Path,
    format: ExportFormat,
    progress: &dyn Fn(u64) -> bool,
) -> Result<u64> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = write(graph, &part, format, progress)
        .and_then(|edges| std::fs::rename(&part, path).map_err(failed(path)).map(|()| edges));
    if written.is_err() {
        // Best effort: what matters is that nothing stands under the name that was asked for.
        let _ = std::fs::remove_file(&part);
    }
    written
}

fn write(
    graph: &Graph,
    path: &Path,
    format: ExportFormat,
    progress: &dyn Fn(u64) -> bool,
) -> Result<u64> {
    let file = File::create(path).map_err(failed(path))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let edges = match format {
        ExportFormat::Text(delimiter) => graph.export_csv(&mut out, delimiter, progress)?,
        ExportFormat::Parquet => graph.export_parquet(&mut out, progress)?,
    };
    out.flush().map_err(failed(path))?;
    Ok(edges)
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::new(ErrorKind::Io, format!("cannot write {}: {error}", path.display()))
}
