//! The description of damaged bytes in a file.

use std::fmt;
use std::path::{Path, PathBuf};

/// The position in a file at which its checksum or format is wrong, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// The damaged file.
    pub file: PathBuf,
    /// Offset in bytes of the damaged structure's first byte.
    pub offset: u64,
    /// The expected and the found contents.
    pub what: String,
}

impl Corruption {
    /// Describes damage at byte `offset` of `file`.
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
