//! Reads the files that scripts name, and decides which of them they may read.
//!
//! # Why a file is read in slices
//! A pipe may have no data yet, and a device no end: between two slices the query checks whether it
//! must stop.

use super::call::Call;
use crate::error::{Error, Result};
use crate::files::Files;
use std::path::{Path, PathBuf};
use store::ErrorKind;
use syntax::Span;

/// Bytes per read.
const STEP_BYTES: usize = 1 << 20;

/// Microseconds to wait for a file without data before the query checks whether it must stop.
const WAIT_US: u64 = 20_000;

/// Content of the file that the option `url` names, its path, and the option's place.
pub(super) fn bytes(call: &Call<'_, '_>) -> Result<(Vec<u8>, String, Span)> {
    let hint = "`url` names a file: url: 'file:///folder/name'";
    let span = call.required("url", hint)?.span();
    let url = call.text("url")?.unwrap_or_default();
    let Some(path) = url.strip_prefix("file://") else {
        let (what, hint) = match url.split_once("://") {
            Some((scheme, _)) => (
                format!("{scheme} is not read: a query opens no connection"),
                "fetch the file first, and name it as 'file:///folder/name'".to_owned(),
            ),
            None => (format!("{url:?} is no URL"), format!("name a file as 'file://{url}'")),
        };
        return Err(Error::hinted(what, span, hint));
    };
    let below = below(call, span)?;
    Ok((read(call, Path::new(path), &below, span)?, path.to_owned(), span))
}

/// The folders that must all contain the file.
///
/// # Errors
/// No file may be read.
fn below<'c>(call: &'c Call<'_, '_>, span: Span) -> Result<Vec<&'c Path>> {
    let mut folders = Vec::new();
    for (files, whose) in
        [(Some(call.files), "the database"), (call.query.limits.files(), "this run")]
    {
        match files {
            None | Some(Files::Any) => {}
            Some(Files::Below(folder)) => folders.push(PathBuf::as_path(folder)),
            Some(Files::None) => {
                let what = format!("{} reads a file, which {whose} does not allow", call.name());
                let hint = "the option `files` says which files scripts may read";
                return Err(Error::hinted(what, span, hint));
            }
        }
    }
    Ok(folders)
}

fn read(call: &Call<'_, '_>, path: &Path, below: &[&Path], span: Span) -> Result<Vec<u8>> {
    let failed = |error: env::EnvError| file_error(&error, span);
    let mut file = call.query.limits.env().open_stream(path, below).map_err(failed)?;
    let mut bytes = Vec::new();
    // Checked before the memory is taken.
    if let Some(len) = file.len_bytes() {
        call.query.check(len)?;
        reserve(&mut bytes, usize::try_from(len).unwrap_or(usize::MAX))?;
    }
    loop {
        call.query.check(bytes.len() as u64)?;
        let from = bytes.len();
        reserve(&mut bytes, STEP_BYTES)?;
        bytes.resize(from + STEP_BYTES, 0);
        let read = file.read_some(&mut bytes[from..], WAIT_US).map_err(failed)?;
        bytes.truncate(from + read.unwrap_or_default());
        if read == Some(0) {
            return Ok(bytes);
        }
    }
}

/// Reserves memory; fails where a file claims a length that is too large.
fn reserve(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    let len = bytes.len();
    let refused =
        |_| Error::Limit(format!("there is no memory for a file of {len} bytes and more"));
    bytes.try_reserve(more).map_err(refused)
}

/// Converts an error of a file. A missing or unreadable file is an error of the script that named
/// it; a failed read is an I/O error.
fn file_error(error: &env::EnvError, span: Span) -> Error {
    use std::io::ErrorKind::{
        InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
    };
    match error.io_kind() {
        NotFound | PermissionDenied | IsADirectory | NotADirectory | InvalidInput
        | InvalidFilename => Error::value(error.to_string(), span),
        _ => Error::Store(store::Error::new(ErrorKind::Io, error.to_string())),
    }
}
