//! Exports a graph to a file that the user chooses.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's files

#[cfg(feature = "arrow")]
use crate::columnar_export::write_graph;
use crate::export_format::ExportFormat;
use env::{EnvError, Output};
use flate2::{Compression, write::GzEncoder};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use store::{Error, ErrorKind, Result};
use views::graph::Graph;

/// How text is compressed, by the end of the file's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compressed {
    No,
    Gzip,
    Zstd,
}

fn compressed(path: &Path) -> Result<Compressed> {
    let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    match end.as_deref() {
        Some("gz") => Ok(Compressed::Gzip),
        Some("zst") => Ok(Compressed::Zstd),
        Some(other @ ("bz2" | "xz" | "lz4" | "zip")) => Err(Error::new(
            ErrorKind::InvalidInput,
            format!("text is not written as .{other}\nhint: .gz and .zst are"),
        )),
        _ => Ok(Compressed::No),
    }
}

/// Writes all edges of `graph`, at a snapshot taken now, to `path`. Returns their number.
/// `progress` gets the number of edges written and returns false to stop.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] if `path` lies in the folder of the graph's database; a failed
/// write, or [`ErrorKind::Cancelled`]. An existing file is then unchanged.
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

/// The error of a path in the folder of the database.
#[must_use]
pub fn in_the_database(path: &Path) -> Error {
    let path = path.display();
    let what =
        format!("{path} lies in the folder of the database itself\nhint: name a file elsewhere");
    Error::new(ErrorKind::InvalidInput, what)
}

/// Writes to a path that the user chose. A regular file is replaced after everything is written,
/// and keeps its mode and owner. Links are followed. A named pipe or a character device is written
/// to directly. See [`env::Output`]. `go_on` is called while a pipe has no reader; returning false
/// cancels.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a folder, a block device or a socket, and for a path in the
/// folder of any database or backup; [`ErrorKind::Cancelled`]; a failed write, and errors of
/// `write`. An existing regular file is then unchanged.
pub fn write_output<R, E: From<Error>>(
    path: &Path,
    go_on: &dyn Fn() -> bool,
    write: impl FnOnce(&mut Output) -> std::result::Result<R, E>,
) -> std::result::Result<R, E> {
    check_is_outside(path, Output::followed(path).ok(), "file")?;
    let mut output = Output::create(path, go_on).map_err(output_error)?;
    let done = write(&mut output)?;
    output.finish().map_err(output_error)?;
    Ok(done)
}

/// Whether writing to `path` would replace an existing regular file.
#[must_use]
pub fn is_replaced(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| there.is_file())
}

/// Whether two paths lead to the same file, which need not exist.
#[must_use]
pub fn is_same_output(a: &Path, b: &Path) -> bool {
    match (Output::followed(a), Output::followed(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
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
        ExportFormat::Text(delimiter) => {
            with_compression(path, &mut out, |out| graph.export_csv(out, delimiter, progress))?
        }
        #[cfg(feature = "arrow")]
        ExportFormat::Parquet => graph.export_parquet(&mut out, progress)?,
        #[cfg(feature = "arrow")]
        ExportFormat::Arrow => write_graph(graph, &mut out, progress)?,
        #[cfg(not(feature = "arrow"))]
        _ => return Err(crate::file_errors::without_arrow()),
    };
    out.flush().map_err(failed(path))?;
    Ok(edges)
}

/// Writes text to `out`, compressed as the file's name says.
pub(crate) fn with_compression<R>(
    path: &Path,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<R>,
) -> Result<R> {
    match compressed(path)? {
        Compressed::No => write(out),
        Compressed::Gzip => {
            let mut packed = GzEncoder::new(out, Compression::default());
            let done = write(&mut packed)?;
            packed.finish().map_err(failed(path))?;
            Ok(done)
        }
        Compressed::Zstd => {
            let mut packed = zstd::stream::write::Encoder::new(out, 0).map_err(failed(path))?;
            let done = write(&mut packed)?;
            packed.finish().map_err(failed(path))?;
            Ok(done)
        }
    }
}

/// Refuses a path in the folder of any database or backup; `place` is where it leads to.
pub(crate) fn check_is_outside(path: &Path, place: Option<PathBuf>, what: &str) -> Result<()> {
    let around = place.and_then(|place| kv::database_around(&place, &|path| path.exists()));
    let Some(folder) = around else { return Ok(()) };
    let (path, folder) = (path.display(), folder.display());
    let message = format!(
        "{path} lies in {folder}, which is a database or a backup\nhint: name a {what} elsewhere"
    );
    Err(Error::new(ErrorKind::InvalidInput, message))
}

/// The error for a path that cannot be written.
pub(crate) fn failed<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> Error {
    move |error| Error::new(ErrorKind::Io, format!("cannot write {}: {error}", path.display()))
}
