//! A graph into a file, whatever the user named as one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's own files, not the database's

use env::{EnvError, Output};
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
    write_output(path, &|| progress(0), |file| write(graph, path, file, format, progress))
}

/// A file in the folder of a database is the database's.
#[must_use]
pub fn in_the_database(path: &Path) -> Error {
    let path = path.display();
    let what =
        format!("{path} lies in the folder of the database itself\nhint: name a file elsewhere");
    Error::new(ErrorKind::InvalidInput, what)
}

/// Writes to what the user named: a regular file is replaced once all is written, and keeps its
/// mode and owner; links are followed; a named pipe or a character device is written into. See
/// [`env::Output`]. `go_on` is asked while a pipe has no reader.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a folder, a block device, a socket, and for a path in the folder
/// of any database or backup; [`ErrorKind::Cancelled`]; a failed write, and what `write` returns. A
/// regular file that was there is then as before.
pub fn write_output<R, E: From<Error>>(
    path: &Path,
    go_on: &dyn Fn() -> bool,
    write: impl FnOnce(&mut Output) -> std::result::Result<R, E>,
) -> std::result::Result<R, E> {
    let leads_to = Output::followed(path).ok();
    let around = leads_to.and_then(|path| kv::database_around(&path, &|path| path.exists()));
    if let Some(folder) = around {
        let (path, folder) = (path.display(), folder.display());
        let what = format!(
            "{path} lies in {folder}, which is a database or a backup\nhint: name a file elsewhere"
        );
        return Err(Error::new(ErrorKind::InvalidInput, what).into());
    }
    let mut output = Output::create(path, go_on).map_err(output_error)?;
    let done = write(&mut output)?;
    output.finish().map_err(output_error)?;
    Ok(done)
}

/// Whether writing to `path` would replace what is there: a regular file, and no pipe or device.
#[must_use]
pub fn is_replaced(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| there.is_file())
}

fn output_error(error: EnvError) -> Error {
    let kind = match &error {
        EnvError::Io { source, .. } => match source.kind() {
            std::io::ErrorKind::Interrupted => ErrorKind::Cancelled,
            std::io::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
            _ => ErrorKind::Io,
        },
        _ => ErrorKind::Io,
    };
    Error::caused(kind, error)
}

fn write(
    graph: &Graph,
    path: &Path,
    file: &mut Output,
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
