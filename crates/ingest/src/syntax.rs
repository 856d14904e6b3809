//! The syntax of a delimited text file: delimiter, quotes and comments.

/// The separator of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// One byte of ASCII.
    Byte(u8),
    /// Runs of spaces and tabs; those at the start and the end of a line are ignored.
    Whitespace,
}

impl Delimiter {
    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Byte(b'\t') => "tab",
            Self::Byte(b',') => "comma",
            Self::Byte(b';') => "semicolon",
            Self::Byte(b'|') => "bar",
            Self::Byte(_) => "as given",
            Self::Whitespace => "white space",
        }
    }
}

/// The syntax of a text file: the delimiter of its fields, and the lines that are not records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// The separator of columns.
    pub delimiter: Delimiter,
    /// Whether a quote at the start of a field opens a quoted field.
    pub quotes: bool,
    /// The character that starts a comment; `None`: `#` and `%`.
    pub comment: Option<u8>,
}
