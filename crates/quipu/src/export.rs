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
/// [`ErrorKind::InvalidInput`] where `path` lies in the folder of the graph's database; a failed write, or
/// [`ErrorKind::Cancelled`]. A file that was there is as before.
pub fn export_file(
    graph: &Graph,
    path: &Path,
    format: ExportFormat,
    progress: &dyn Fn(u64) -> bool,
) -> Result<u64> {
    let absolute = std::path::absolute(path).map_err(failed(path))?;
    if graph.is_stored_with(&absolute) {
        return Err(in_the_database(path));
    }
    write_beside(path, |file| write(graph, path, file, format, progress))
}

/// A file in the folder of a database is the database's.
#[must_use]
pub fn in_the_database(path: &Path) -> Error {
    let path = path.display();
    let what =
        format!("{path} lies in the folder of the database itself\nhint: name a file elsewhere");
    Error::new(ErrorKind::InvalidInput, what)
}

/// Writes a file beside `path` and then renames it to that: so a file of this name is whole, or as before. Of symbolic
/// links of these names neither is followed; they are replaced.
///
/// # Errors
/// A failed write, and what `write` returns.
pub fn write_beside<R, E: From<Error>>(
    path: &Path,
    write: impl FnOnce(File) -> std::result::Result<R, E>,
) -> std::result::Result<R, E> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    // Left by one that was killed, or somebody's link.
    let _ = std::fs::remove_file(&part);
    let file = File::create_new(&part).map_err(failed(path))?;
    let written = write(file).and_then(|done| {
        std::fs::rename(&part, path).map_err(failed(path))?;
        Ok(done)
    });
    if written.is_err() {
        // Best effort: what matters is that nothing stands under the name that was asked for.
        let _ = std::fs::remove_file(&part);
    }
    written
}

fn write(
    graph: &Graph,
    path: &Path,
    file: File,
    format: ExportFormat,
    progress: &dyn Fn(u64) -> bool,
) -> Result<u64> {
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
