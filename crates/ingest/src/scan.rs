//! Finds the ends of fields, records and lines.
//!
//! The splitter and the parser share it, so they cannot disagree about a newline inside quotes.
//!
//! # Invariants
//! 1. A quote opens only at the start of a field; elsewhere it is an ordinary character.
//! 2. Inside quotes, two quotes are one character, and a single one closes.
//! 3. Text between a closing quote and the delimiter is an error of this record, never of the next.
//! 4. A quote that does not close within [`QUOTE_LINES_MAX`] lines, or closes on a later line
//!    inside of a field, spoils only the line on which it opens.

use memchr::{memchr, memchr_iter, memchr3};

use crate::syntax::{Delimiter, Syntax};

/// Newlines that a quoted field may hold. Without a bound, one quote too many would take the rest
/// of the file.
pub(crate) const QUOTE_LINES_MAX: usize = 100;

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Without quotes.
    Bare,
    /// Inside quotes, which are not part of the span.
    Quoted,
    /// Inside quotes, and it contains doubled quotes.
    Escaped,
    /// There is text after the closing quote; the span is the whole field.
    Tail,
    /// The quote does not close; the field is the rest of its line.
    Open,
}

/// The end of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Delimiter,
    Newline,
    /// The end of the bytes.
    Input,
}

/// A field: its content is `bytes[start..end]`, and the next one starts at `next`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) form: Form,
    pub(crate) stop: Stop,
    pub(crate) next: usize,
}

#[inline]
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

pub(crate) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&b| is_blank(b)) {
        at += 1;
    }
    at
}

/// The start of the next line, or the end of the bytes.
pub(crate) fn next_line(bytes: &[u8], at: usize) -> usize {
    memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n + 1)
}

/// Whether the line at `at` is empty or holds only spaces.
pub(crate) fn is_blank_line(bytes: &[u8], mut at: usize, syntax: Syntax) -> bool {
    let tabs = syntax.delimiter != Delimiter::Byte(b'\t');
    while bytes.get(at).is_some_and(|&b| b == b' ' || (tabs && b == b'\t')) {
        at += 1;
    }
    line_end(bytes, at).is_some()
}

/// Whether a comment starts at `at`.
#[inline]
pub(crate) fn is_comment(bytes: &[u8], at: usize, syntax: Syntax) -> bool {
    match (syntax.comment, bytes.get(at)) {
        (None, Some(b'#' | b'%')) => true,
        (Some(mark), Some(&found)) => mark == found,
        _ => false,
    }
}

/// Where the next line starts, if the line ends at `at`: at a newline, at a carriage return and
/// newline, or at the end of the bytes.
fn line_end(bytes: &[u8], at: usize) -> Option<(Stop, usize)> {
    match bytes.get(at) {
        None => Some((Stop::Input, at)),
        Some(b'\n') => Some((Stop::Newline, at + 1)),
        Some(b'\r') => match bytes.get(at + 1) {
            None => Some((Stop::Input, at + 1)),
            Some(b'\n') => Some((Stop::Newline, at + 2)),
            Some(_) => None,
        },
        Some(_) => None,
    }
}

/// The field that starts at `at`, which must not be past the end of `bytes`. For
/// [`Delimiter::Whitespace`] the caller has skipped the blanks before it.
///
/// [`Form::Open`] with [`Stop::Input`]: the bytes end before it is certain that the quote does not
/// close.
#[inline]
pub(crate) fn field(bytes: &[u8], at: usize, syntax: Syntax) -> Field {
    if syntax.quotes && bytes.get(at) == Some(&b'"') {
        quoted(bytes, at, syntax.delimiter)
    } else {
        bare(bytes, at, syntax.delimiter)
    }
}

fn bare(bytes: &[u8], at: usize, delimiter: Delimiter) -> Field {
    let rest = &bytes[at..];
    let length = match delimiter {
        Delimiter::Byte(d) => rest.iter().position(|&b| b == d || b == b'\n'),
        Delimiter::Whitespace => rest.iter().position(|&b| is_blank(b) || b == b'\n'),
    };
    let mut end = at + length.unwrap_or(rest.len());
    let after = end;
    let ends_line = bytes.get(end).is_none_or(|&b| b == b'\n');
    if ends_line && end > at && bytes[end - 1] == b'\r' {
        end -= 1;
    }
    let (stop, next) = after_field(bytes, after, delimiter);
    Field { start: at, end, form: Form::Bare, stop, next }
}

fn quoted(bytes: &[u8], at: usize, delimiter: Delimiter) -> Field {
    let start = at + 1;
    let mut form = Form::Quoted;
    let mut end = start;
    let mut lines = 0;
    loop {
        let found = memchr(b'"', &bytes[end..]);
        let until = found.map_or(bytes.len(), |n| end + n);
        lines += memchr_iter(b'\n', &bytes[end..until]).take(QUOTE_LINES_MAX + 1).count();
        if lines > QUOTE_LINES_MAX {
            return open(bytes, at, Stop::Newline);
        }
        if found.is_none() {
            return open(bytes, at, Stop::Input);
        }
        end = until;
        if bytes.get(end + 1) != Some(&b'"') {
            break;
        }
        form = Form::Escaped;
        end += 2;
    }
    let after = end + 1;
    let delimited = match (bytes.get(after), delimiter) {
        (Some(&b), Delimiter::Byte(d)) if b == d => true,
        (Some(&b), Delimiter::Whitespace) if is_blank(b) => true,
        _ => line_end(bytes, after).is_some(),
    };
    if !delimited && lines > 0 {
        return open(bytes, at, Stop::Newline);
    }
    if !delimited {
        let tail = bare(bytes, after, delimiter);
        return Field { start: at, form: Form::Tail, ..tail };
    }
    let (stop, next) = after_field(bytes, after, delimiter);
    Field { start, end, form, stop, next }
}

/// A field whose quote does not close: the rest of its line.
fn open(bytes: &[u8], start: usize, stop: Stop) -> Field {
    let next = next_line(bytes, start);
    let end = next - usize::from(next > start && bytes[next - 1] == b'\n');
    Field { start, end, form: Form::Open, stop, next }
}

/// The end of the field before `at`, and the start of the next field or line.
fn after_field(bytes: &[u8], at: usize, delimiter: Delimiter) -> (Stop, usize) {
    match delimiter {
        Delimiter::Byte(d) if bytes.get(at) == Some(&d) => (Stop::Delimiter, at + 1),
        Delimiter::Byte(_) => line_end(bytes, at).unwrap_or((Stop::Input, at)),
        Delimiter::Whitespace => {
            let at = skip_blanks(bytes, at);
            line_end(bytes, at).unwrap_or((Stop::Delimiter, at))
        }
    }
}

/// Where the record (or comment, or blank line) at `at` ends, or `None` where the bytes end first.
pub(crate) fn record_end(bytes: &[u8], at: usize, syntax: Syntax, comments: bool) -> Option<usize> {
    if (comments && is_comment(bytes, at, syntax)) || is_blank_line(bytes, at, syntax) {
        return memchr(b'\n', &bytes[at..]).map(|n| at + n + 1);
    }
    let blanks = syntax.delimiter == Delimiter::Whitespace;
    let mut at = if blanks { skip_blanks(bytes, at) } else { at };
    loop {
        let field = field(bytes, at, syntax);
        match field.stop {
            Stop::Delimiter => at = field.next,
            Stop::Newline => return Some(field.next),
            Stop::Input => return None,
        }
    }
}

/// The content of a field without quotes. Only doubled quotes cost a copy.
pub(crate) fn unquote<'a>(bytes: &'a [u8], field: &Field) -> std::borrow::Cow<'a, [u8]> {
    let text = &bytes[field.start..field.end];
    if field.form != Form::Escaped {
        return text.into();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(n) = memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=n]);
        rest = rest.get(n + 2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out.into()
}

/// Whether a string must be quoted when it is written between `delimiter`s.
pub(crate) fn needs_quotes(text: &[u8], delimiter: u8) -> bool {
    text.is_empty()
        || memchr3(b'"', b'\n', b'\r', text).is_some()
        || text.contains(&delimiter)
        // A space as delimiter means runs of spaces and tabs.
        || (delimiter == b' ' && text.contains(&b'\t'))
        || matches!(text.first(), Some(b'#' | b'%'))
        || text.starts_with(b"\xef\xbb\xbf")
        || text.first().is_some_and(u8::is_ascii_whitespace)
        || text.last().is_some_and(u8::is_ascii_whitespace)
}
