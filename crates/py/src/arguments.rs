//! Arguments that several functions take: sizes, and files that scripts may read.

use crate::error::{OrRaise, invalid};
use pyo3::prelude::*;
use quipu::Files;
use std::path::PathBuf;

/// A number of bytes from an `int` or a string such as `"512MB"`.
pub(crate) fn bytes(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(bytes) = value.extract::<u64>() {
        return Ok(bytes);
    }
    let text: String = value
        .extract()
        .map_err(|_| invalid("a size is a number of bytes or a text such as \"512MB\""))?;
    quipu::parse_bytes(&text).or_raise()
}

/// Which files scripts may read: "none", "any", or those below a folder.
pub(crate) fn files_of(files: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Files>> {
    let Some(files) = files else { return Ok(None) };
    let wrong = |_| invalid("files is \"none\", \"any\" or the path of a folder");
    let path: PathBuf = files.extract().map_err(wrong)?;
    Ok(Some(match path.to_str() {
        Some("none") => Files::None,
        Some("any") => Files::Any,
        Some("") => return Err(invalid("files is \"none\", \"any\" or the path of a folder")),
        _ => Files::Below(path),
    }))
}
