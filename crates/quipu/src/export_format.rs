//! Formats of exported files.

use std::path::Path;

/// Format of an exported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Delimited text with a header and one line for each edge. The byte is the delimiter. It is
    /// compressed if the file's name ends in `.gz` or `.zst`.
    Text(u8),
    /// Parquet, compressed with Zstandard.
    Parquet,
    /// An Arrow file, which is also called Feather.
    Arrow,
}

impl ExportFormat {
    /// The format that a file's name says: `.csv`, `.tsv`, `.txt`, `.parquet`, `.arrow` or
    /// `.feather`; for text with `.gz` or `.zst` after it.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let plain = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst"));
        let (_, end) = plain.unwrap_or(&name).rsplit_once('.')?;
        match (end, plain) {
            ("csv", _) => Some(Self::Text(b',')),
            ("tsv" | "tab", _) => Some(Self::Text(b'\t')),
            ("txt" | "edges" | "el", _) => Some(Self::Text(b' ')),
            ("parquet", None) => Some(Self::Parquet),
            ("arrow" | "feather", None) => Some(Self::Arrow),
            _ => None,
        }
    }
}
