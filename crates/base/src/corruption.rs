//! Bytes on disk that are not what was written.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a file failed its checksum or its format, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// The damaged file.
    pub file: PathBuf,
    /// Offset in bytes of the damaged structure's first byte.
    pub offset: u64,
    /// What was expected and what was found.
    pub what: String,
}

impl Corruption {
    /// Names the damage.
    #[must_use]
    pub fn new(file: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), offset, what: what.into() }
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged at byte {}: {}", self.file.display(), self.offset, self.what)
    }
}

impl std::error::Error for Corruption {}
