//! Documents from and to files, lines and other objects of Python.

use crate::error::{OrRaise, invalid};
use crate::import::interruptible;
use crate::keys::with_bytes;
use crate::lines::{LINES_AT_ONCE, PythonFile, is_path, line_of};
use pyo3::prelude::*;
use quipu::{DocumentImport, Documents, Format, Pointer};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Bytes of a file that are read at a time.
const PART_BYTES: usize = 1 << 20;

/// The format with this name.
pub(crate) fn format_of(name: &str) -> PyResult<Format> {
    Format::of_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        invalid(&format!("no format {name:?}\nhint: formats are {}", known.join(", ")))
    })
}

/// Imports the documents of a path, an open file, or an iterable of documents.
pub(crate) fn import(
    documents: &Documents,
    format: Format,
    source: &Bound<'_, PyAny>,
    key: Pointer,
    commit_every: Option<u64>,
) -> PyResult<u64> {
    let py = source.py();
    let mut import = py.detach(|| documents.import(format, key)).or_raise()?;
    if let Some(documents) = commit_every {
        let documents = NonZeroU64::new(documents);
        let documents = documents.ok_or_else(|| invalid("commit_every is 0; it is 1 or more"))?;
        import = import.with_commits_of(documents);
    }
    if is_path(source)? {
        let file = py.import("builtins")?.call_method1("open", (source, "rb"))?;
        let read = import_file(&mut import, &file);
        file.call_method0("close")?;
        read?;
    } else if format != Format::Json && source.hasattr("read")? {
        import_file(&mut import, source)?;
    } else {
        import_each(&mut import, source)?;
    }
    py.detach(|| import.finish()).or_raise()
}

/// Imports what the method `read` of a file returns.
fn import_file(import: &mut DocumentImport, file: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = file.py();
    loop {
        let part = file.call_method1("read", (PART_BYTES,))?;
        let part = with_bytes(&part, |bytes| Ok(bytes.to_vec()))?;
        py.check_signals()?;
        if part.is_empty() {
            return py.detach(|| import.end()).or_raise();
        }
        py.detach(|| import.push_bytes(&part)).or_raise()?;
    }
}

/// Imports lines, or documents of another format as bytes.
fn import_each(import: &mut DocumentImport, source: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = source.py();
    let mut items = source.try_iter()?;
    loop {
        let some = items.by_ref().take(LINES_AT_ONCE).map(|item| line_of(&item?));
        let some = some.collect::<PyResult<Vec<Vec<u8>>>>()?;
        if some.is_empty() {
            return Ok(());
        }
        py.check_signals()?;
        py.detach(|| import.push(&some)).or_raise()?;
    }
}

/// Exports documents to a path, or an object with a method `write`.
pub(crate) fn export(
    documents: &Documents,
    format: Format,
    target: &Bound<'_, PyAny>,
    key: Option<Pointer>,
) -> PyResult<u64> {
    let py = target.py();
    if is_path(target)? {
        let path: PathBuf = target.extract()?;
        return interruptible(py, |go_on| {
            documents.export_file(format, key.as_ref(), &path, &|_| go_on())
        });
    }
    let mut out = PythonFile::new(target);
    let written =
        interruptible(py, |go_on| documents.export(format, key.as_ref(), &mut out, &|_| go_on()));
    match out.into_error() {
        Some(error) => Err(error),
        None => written,
    }
}
