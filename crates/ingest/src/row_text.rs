//! Reads text with any columns and a header: tables of edges or of vertices with properties.
//!
//! # Why beside the parser of edges
//! The parser of edges (`full_parser.rs`) knows three columns and drops the rest, which makes it
//! fast. Here all columns are kept as strings, because their types may be known only after the last
//! record.
//!
//! # Invariants
//! 1. A bare field that is empty, `\N`, or one of the given spellings is missing. A quoted one is
//!    not: an empty string is written `""`.

use crate::columns::Positions;
use crate::dialect::{Dialect, blank};
use crate::edges::{SKIPPED_KEPT_MAX, StrColumn};
use crate::error::{InputError, Place, show};
use crate::foreign;
use crate::known_names;
use crate::options::{OnError, TextOptions};
use crate::sample::{CANDIDATES, Row, check_delimiter, first_byte, leading, sample};
use crate::scan::{self, Form, Stop};
use crate::splitter::Chunk;
use crate::syntax::{Delimiter, Syntax};
use std::collections::BTreeSet;

/// How to read rows of text. [`sniff_rows`] makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct RowDialect {
    /// The names in the header, without spaces around them.
    pub names: Vec<String>,
    /// Input of the splitter; it has no columns of edges.
    pub dialect: Dialect,
}

/// Strings of one column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextColumn {
    /// The strings; empty where the value is missing.
    pub texts: StrColumn,
    /// Whether each value is present.
    pub present: Vec<bool>,
}

/// Rows of text, by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextRows {
    /// As many as the header has names.
    pub columns: Vec<TextColumn>,
    /// The line of each row, from 1.
    pub lines: Vec<u64>,
    /// The first bad records, when bad records are skipped.
    pub skipped: Vec<InputError>,
    /// The number of bad records that were skipped.
    pub skipped_count: u64,
}

impl TextRows {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes that the rows take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let column = |column: &TextColumn| column.texts.heap_bytes() + 9 * column.present.len();
        let columns: usize = self.columns.iter().map(column).sum();
        (columns + 8 * self.lines.len()) as u64
    }
}

/// Detects delimiter and header of rows from the first bytes of a text.
///
/// # Errors
/// There is no header, two of its columns have one name, or the bytes are no text.
pub fn sniff_rows(
    head: &[u8],
    file: &str,
    options: &TextOptions,
) -> Result<RowDialect, InputError> {
    foreign::refuse(head, file)?;
    let first = first_byte(head, file, options)?;
    let candidates: &[Delimiter] = match options.delimiter {
        None => &CANDIDATES,
        Some(b' ') => &[Delimiter::Whitespace],
        Some(byte) => &[check_delimiter(byte, file)?],
    };
    let mut best: Option<(Score, Candidate)> = None;
    for &delimiter in candidates {
        let found = Candidate::new(head, first, delimiter, options);
        if best.as_ref().is_none_or(|(score, _)| found.score() > *score) {
            best = Some((found.score(), found));
        }
    }
    let Some((_, found)) = best else { return Err(InputError::whole(file, "a delimiter", "none")) };
    found.dialect(file, options)
}

/// Larger is more likely: whether the header has well-known names, whether there are several
/// columns, and records with as many columns as the header.
type Score = (bool, bool, usize);

struct Candidate {
    syntax: Syntax,
    start: usize,
    rows: Vec<Row>,
    names: Vec<String>,
}

impl Candidate {
    fn new(head: &[u8], first: usize, delimiter: Delimiter, options: &TextOptions) -> Self {
        let syntax = Syntax { delimiter, quotes: options.quotes, comment: options.comment };
        let start = leading(head, first, syntax);
        let rows = sample(head, start, syntax);
        let text = |field: &Vec<u8>| String::from_utf8_lossy(field).trim().to_owned();
        let names = rows.first().map(|row| row.fields.iter().map(text).collect());
        Self { syntax, start, rows, names: names.unwrap_or_default() }
    }

    fn score(&self) -> Score {
        let count = self.names.len();
        let is_known =
            known_names::pair(&self.names).is_some() || known_names::vertex(&self.names).is_some();
        let equal = self.rows.iter().skip(1).filter(|row| row.fields.len() == count).count();
        (is_known && count > 1, count > 1, equal)
    }

    fn dialect(self, file: &str, options: &TextOptions) -> Result<RowDialect, InputError> {
        let hint = "properties are found by the names in the first record";
        let expected = "a header with the names of the columns";
        let Some(header) = self.rows.first().filter(|_| options.header != Some(false)) else {
            let found = if self.rows.is_empty() { "no record" } else { "none" };
            return Err(InputError::whole(file, expected, found).hint(hint));
        };
        let is_number = |name: &String| name.parse::<f64>().is_ok();
        if header.cut && self.rows.len() == 1 && header.fields.iter().any(|f| f.contains(&b'\n')) {
            return Err(InputError::whole(file, expected, "an open quote"));
        }
        if options.header.is_none() && self.names.iter().all(is_number) {
            let found = show(self.names.join(", ").as_bytes());
            return Err(InputError::whole(file, expected, found).hint(hint));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.names.iter().find(|name| !seen.insert(*name)) {
            let found = format!("{twice:?} twice");
            return Err(InputError::whole(file, "different names of columns", found));
        }
        let positions = Positions { source: 0, target: 0, weight: None, exact: true };
        let blank = blank(file, self.syntax, options, positions);
        let detected = vec![
            ("format", "text".to_owned()),
            ("delimiter", self.syntax.delimiter.name().to_owned()),
            ("header", format!("yes: {}", show(self.names.join(", ").as_bytes()))),
            ("quotes", if self.syntax.quotes { "\"" } else { "none" }.to_owned()),
        ];
        let (columns, data_start) = (self.names.len(), header.next.max(self.start));
        let dialect = Dialect { columns, data_start, detected, ..blank };
        Ok(RowDialect { names: self.names, dialect })
    }
}

/// Appends the rows of a chunk.
///
/// # Errors
/// A record with another number of columns than the header, a quote that does not close, or bytes
/// that are not UTF-8, unless the options skip bad records.
pub fn read_rows(rows: &RowDialect, chunk: &Chunk, out: &mut TextRows) -> Result<(), InputError> {
    let dialect = &rows.dialect;
    let bytes = chunk.bytes.as_slice();
    out.columns.resize_with(dialect.columns, TextColumn::default);
    let first = usize::try_from(chunk.first_byte).unwrap_or(usize::MAX);
    let mut at = dialect.data_start.saturating_sub(first).min(bytes.len());
    let mut line = chunk.first_line + count_lines(&bytes[..at]);
    let mut fields = Vec::with_capacity(dialect.columns);
    while at < bytes.len() {
        let is_comment = dialect.comments() && scan::is_comment(bytes, at, dialect.syntax);
        let next = if is_comment || scan::is_blank_line(bytes, at, dialect.syntax) {
            scan::next_line(bytes, at)
        } else {
            let next = split(bytes, at, dialect.syntax, &mut fields);
            match texts(bytes, &fields, dialect) {
                Ok(texts) => push(&texts, line, dialect, out),
                Err(bad) => fail(bad, line, dialect, out)?,
            }
            next
        };
        line += count_lines(&bytes[at..next]);
        at = next;
    }
    Ok(())
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The fields of the record at `at`, and where the next record starts.
fn split(bytes: &[u8], at: usize, syntax: Syntax, fields: &mut Vec<scan::Field>) -> usize {
    fields.clear();
    let blanks = syntax.delimiter == Delimiter::Whitespace;
    let mut at = if blanks { scan::skip_blanks(bytes, at) } else { at };
    loop {
        let field = scan::field(bytes, at, syntax);
        fields.push(field);
        at = field.next;
        if field.stop != Stop::Delimiter {
            return at;
        }
    }
}

/// The error of a record: its column from 1 or 0, the expected and the found text.
type Bad = (u32, String, String);

/// The strings of a record; `None` for a missing value.
fn texts<'t>(
    bytes: &'t [u8],
    fields: &[scan::Field],
    dialect: &Dialect,
) -> Result<Vec<Option<std::borrow::Cow<'t, str>>>, Bad> {
    if fields.len() != dialect.columns {
        return Err((0, format!("{} columns", dialect.columns), fields.len().to_string()));
    }
    let text = |(place, field): (usize, &scan::Field)| {
        let column = place as u32 + 1;
        let found = || show(&bytes[field.start..field.end]);
        match field.form {
            Form::Tail => {
                return Err((column, "a delimiter after the closing quote".to_owned(), found()));
            }
            Form::Open => return Err((column, "a closing quote".to_owned(), "none".to_owned())),
            Form::Bare | Form::Quoted | Form::Escaped => {}
        }
        let raw = scan::unquote(bytes, field);
        if field.form == Form::Bare && is_missing(&raw, dialect) {
            return Ok(None);
        }
        let text = match raw {
            std::borrow::Cow::Borrowed(raw) => std::str::from_utf8(raw).map(Into::into).ok(),
            std::borrow::Cow::Owned(raw) => String::from_utf8(raw).map(Into::into).ok(),
        };
        text.map(Some).ok_or_else(|| (column, "UTF-8 text".to_owned(), found()))
    };
    fields.iter().enumerate().map(text).collect()
}

fn is_missing(raw: &[u8], dialect: &Dialect) -> bool {
    raw.is_empty() || raw == b"\\N" || dialect.null_values.iter().any(|null| null.as_bytes() == raw)
}

fn push(
    texts: &[Option<std::borrow::Cow<'_, str>>],
    line: u64,
    dialect: &Dialect,
    out: &mut TextRows,
) {
    debug_assert_eq!(texts.len(), dialect.columns);
    for (text, column) in texts.iter().zip(&mut out.columns) {
        column.texts.push(text.as_deref().unwrap_or_default());
        column.present.push(text.is_some());
    }
    out.lines.push(line);
}

fn fail(bad: Bad, line: u64, dialect: &Dialect, out: &mut TextRows) -> Result<(), InputError> {
    let (column, expected, found) = bad;
    let error = InputError::whole(&dialect.file, expected, found).at(Place::Line(line), column);
    if dialect.on_error == OnError::Fail {
        return Err(error);
    }
    out.skipped_count += 1;
    if out.skipped.len() < SKIPPED_KEPT_MAX {
        out.skipped.push(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Splitter;

    fn read_with(text: &str, options: &TextOptions, chunk_bytes: usize) -> (Vec<String>, TextRows) {
        let mut splitter = Splitter::with_chunk_bytes(text.as_bytes(), "f", chunk_bytes);
        let dialect = sniff_rows(splitter.head().unwrap(), "f", options).unwrap();
        let (mut rows, mut buffer) = (TextRows::default(), Vec::new());
        while let Some(chunk) = splitter.next(&dialect.dialect, buffer).unwrap() {
            read_rows(&dialect, &chunk, &mut rows).unwrap();
            buffer = chunk.bytes;
        }
        (dialect.names, rows)
    }

    fn shown(rows: &TextRows) -> Vec<Vec<Option<&str>>> {
        let value = |row: usize| {
            let field = |column: &'_ TextColumn| column.present[row];
            rows.columns.iter().map(|c| field(c).then(|| c.texts.get(row).unwrap())).collect()
        };
        (0..rows.len()).map(value).collect()
    }

    #[test]
    fn all_columns_are_read_whatever_the_delimiter_and_the_chunks() {
        for delimiter in [",", "\t", ";", "|"] {
            let text =
                "src,dst,name,since\n1,2,\"a \"\"b\"\"\nc\",1998\n# no edge\n3,4,,\n5,6,\"\",\\N\n";
            let text = text.replace(',', delimiter);
            for chunk_bytes in [1, 7, 1 << 20] {
                let (names, rows) = read_with(&text, &TextOptions::default(), chunk_bytes);
                assert_eq!(names, ["src", "dst", "name", "since"]);
                let want: [[Option<&str>; 4]; 3] = [
                    [Some("1"), Some("2"), Some("a \"b\"\nc"), Some("1998")],
                    [Some("3"), Some("4"), None, None],
                    [Some("5"), Some("6"), Some(""), None],
                ];
                assert_eq!(shown(&rows), want);
                assert_eq!(rows.lines, [2, 5, 6]);
            }
        }
    }

    #[test]
    fn a_header_with_spaces_in_names_is_one_of_commas() {
        let (names, _) = read_with("first name,id\nAnn Lee,3\n", &TextOptions::default(), 99);
        assert_eq!(names, ["first name", "id"]);
    }

    #[test]
    fn one_column_needs_no_delimiter() {
        let (names, rows) = read_with("title\nKnuth 1968\nEuclid\n", &TextOptions::default(), 99);
        assert_eq!((names.len(), shown(&rows)[0][0]), (1, Some("Knuth 1968")));
    }

    #[test]
    fn bad_records_are_told_or_skipped() {
        let text = "a,b,c\n1,2\n1,2,3\n1,2,\"x\"y\n";
        let options = TextOptions { on_error: OnError::Skip, ..TextOptions::default() };
        let (_, rows) = read_with(text, &options, 99);
        assert_eq!((rows.len(), rows.skipped_count), (1, 2));
        let said: Vec<_> = rows.skipped.iter().map(ToString::to_string).collect();
        assert_eq!(said[0], "f line 2: expected 3 columns, found 2");
        assert!(said[1].starts_with("f line 4, column 3: expected a delimiter"), "{}", said[1]);
    }

    #[test]
    fn a_text_without_a_header_is_refused() {
        for text in ["", "1,2,3\n4,5,6\n", "a,a\n1,2\n"] {
            assert!(sniff_rows(text.as_bytes(), "f", &TextOptions::default()).is_err(), "{text:?}");
        }
    }
}
