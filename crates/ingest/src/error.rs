//! Errors of the input, with their place.
//!
//! Text, Arrow and Parquet share one type, so that a caller prints all of them the same way and can
//! tell "fix the file" from "the disk failed".

use std::{fmt, io};

/// The place of an error in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The input as a whole: its format, its header, the options.
    Whole,
    /// A line of text, from 1. A record with newlines inside quotes has the number of its first
    /// line.
    Line(u64),
    /// A row of a table, from 1.
    Row(u64),
}

/// Input that cannot be read as edges. Fix the file or the options; a retry fails the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The caller's name of the input, usually a file name.
    pub file: String,
    /// The line or row.
    pub place: Place,
    /// The column of the record, from 1, or 0 for the whole record.
    pub column: u32,
    /// A correct value, as a noun phrase.
    pub expected: String,
    /// The value that was found, quoted and truncated to a readable length.
    pub found: String,
    /// Advice for the user.
    pub hint: Option<String>,
}

impl InputError {
    /// An error about the input as a whole.
    pub(crate) fn whole(file: &str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        let (expected, found) = (expected.into(), found.into());
        Self { file: file.to_owned(), place: Place::Whole, column: 0, expected, found, hint: None }
    }

    /// The same error with a place.
    pub(crate) fn at(mut self, place: Place, column: u32) -> Self {
        self.place = place;
        self.column = column;
        self
    }

    /// The same error with advice.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The line of a text input, from 1; 0 when the error is not about a line.
    pub fn line(&self) -> u64 {
        match self.place {
            Place::Line(line) => line,
            Place::Whole | Place::Row(_) => 0,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the whole"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.place != Place::Whole {
            write!(f, " {}", self.place)?;
        }
        if self.column > 0 {
            let comma = if self.place == Place::Whole { "" } else { "," };
            write!(f, "{comma} column {}", self.column)?;
        }
        write!(f, ": expected {}, found {}", self.expected, self.found)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InputError {}

/// The error for edges without a weight: how many, and the first places.
#[must_use]
pub fn missing_error(count: u64, first: &[InputError]) -> InputError {
    let file = first.first().map_or("", |error| error.file.as_str());
    let places: Vec<_> = first.iter().map(|error| error.place.to_string()).collect();
    let more = if count > first.len() as u64 { ", …" } else { "" };
    let edges = if count == 1 { "1 edge".to_owned() } else { format!("{count} edges") };
    let found = format!("{edges} without one: {}{more}", places.join(", "));
    let error = InputError::whole(file, "a weight for each edge", found);
    let (place, column) = first.first().map_or((Place::Whole, 0), |e| (e.place, e.column));
    error.at(place, column).hint(
        "missing=1.0 gives such edges this weight, missing=\"skip\" leaves them out; in a shell \
         --missing 1.0 or --missing skip",
    )
}

/// The error for values that are no vertices: that of the first one, or how many there are, and the
/// first places.
#[must_use]
pub fn vertices_error(count: u64, first: &[InputError]) -> InputError {
    let Some(one) = first.first() else { return InputError::whole("", "vertices", "other values") };
    if count == 1 {
        return one.clone();
    }
    let places: Vec<_> = first.iter().map(|e| format!("{} ({})", e.found, e.place)).collect();
    let more = if count > first.len() as u64 { ", …" } else { "" };
    let found = format!("{count} values that are none: {}{more}", places.join(", "));
    InputError { found, ..one.clone() }
}

/// Why reading stopped.
#[derive(Debug)]
pub enum Error {
    /// The bytes could not be read or decompressed.
    Io {
        /// The caller's name of the input.
        file: String,
        /// The error of the reader.
        source: io::Error,
    },
    /// The bytes were read, and are not valid edges.
    Input(InputError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, source } => write!(f, "{file}: {source}"),
            Self::Input(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Input(_) => None,
        }
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

/// Characters of the input that a message repeats at most.
const FOUND_CHARS_MAX: usize = 40;

/// Bytes of the input for a message: quoted, escaped and cut.
pub(crate) fn show(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    // A character has at most four bytes, so this prefix contains everything that is shown.
    let prefix = bytes.get(..4 * FOUND_CHARS_MAX + 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(prefix);
    let mut shown: String = text.chars().take(FOUND_CHARS_MAX).collect();
    if shown.len() < text.len() || prefix.len() < bytes.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_file_line_and_column_and_puts_the_hint_on_its_own_line() {
        let error = InputError::whole("edges.csv", "an unsigned integer", show(b"abc"))
            .at(Place::Line(17), 3)
            .hint("create the graph with vertex=\"str\"");
        assert_eq!(
            error.to_string(),
            "edges.csv line 17, column 3: expected an unsigned integer, found \"abc\"\n\
             hint: create the graph with vertex=\"str\""
        );
    }

    #[test]
    fn long_and_broken_text_is_cut_and_escaped() {
        assert_eq!(show(b""), "nothing");
        assert_eq!(show(b"a\nb"), "\"a\\nb\"");
        assert_eq!(show(&[b'x'; 500]).chars().count(), 2 + FOUND_CHARS_MAX + 1);
        assert_eq!(show(&[0xff]), "\"\u{fffd}\"");
    }
}
