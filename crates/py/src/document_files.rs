//! Documents from and to files, lines and other objects of Python.

use crate::error::{OrRaise, invalid};
use crate::interruptible::interruptible;
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

/// The field that a name or a JSON Pointer says.
pub(crate) fn pointer(field: &str) -> PyResult<Pointer> {
    Pointer::of_field(field).map_err(|error| invalid(&error.to_string()))
}

/// Imports the documents of a path, an open file, or an iterable of documents.
pub(crate) fn import(
    documents: &Documents,
    format: Format,
    source: &Bound<'_, PyAny>,
    key_field: &str,
    commit_every: Option<u64>,
) -> PyResult<u64> {
    let (key, py) = (pointer(key_field)?, source.py());
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
        py.check_signals()?;
        let is_end = with_bytes(&part, |bytes| {
            let pushed = py.detach(|| match bytes.is_empty() {
                true => import.end(),
                false => import.push_bytes(bytes),
            });
            pushed.or_raise()?;
            Ok(bytes.is_empty())
        })?;
        if is_end {
            return Ok(());
        }
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
    key_field: Option<&str>,
) -> PyResult<u64> {
    let (key, py) = (key_field.map(pointer).transpose()?, target.py());
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
