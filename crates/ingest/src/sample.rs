//! Reads the first records of a text file, to detect its delimiter and columns.

use crate::{
    error::{InputError, show},
    options::TextOptions,
    scan::{self, Form, Stop},
    syntax::{Delimiter, Syntax},
};

/// Bytes of records that are sampled, after leading comments.
pub const SNIFF_BYTES: usize = 64 << 10;

/// Records that are sampled at most.
const SAMPLE_RECORDS_MAX: usize = 200;

/// Tried in this order; on a tie the first one wins. White space is last, because names contain
/// spaces.
pub(crate) const CANDIDATES: [Delimiter; 5] = [
    Delimiter::Byte(b'\t'),
    Delimiter::Byte(b','),
    Delimiter::Byte(b';'),
    Delimiter::Byte(b'|'),
    Delimiter::Whitespace,
];

/// A record of the sample.
pub(crate) struct Row {
    pub(crate) fields: Vec<Vec<u8>>,
    /// The byte at which the next record starts.
    pub(crate) next: usize,
    /// Whether the sample ends inside the record.
    pub(crate) cut: bool,
}

/// The byte at which reading begins: after a byte-order mark and the lines that the caller skips.
pub(crate) fn first_byte(
    head: &[u8],
    file: &str,
    options: &TextOptions,
) -> Result<usize, InputError> {
    let mut at = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    for skipped in 0..options.skip_rows {
        if at >= head.len() {
            let expected = format!("{} lines to skip near the start", options.skip_rows);
            return Err(InputError::whole(file, expected, format!("{skipped} lines")));
        }
        at = scan::next_line(head, at);
    }
    Ok(at)
}

/// The byte of the first record, after comments and blank lines.
pub(crate) fn leading(head: &[u8], mut at: usize, syntax: Syntax) -> usize {
    while at < head.len()
        && (scan::is_comment(head, at, syntax) || scan::is_blank_line(head, at, syntax))
    {
        at = scan::next_line(head, at);
    }
    at
}

pub(crate) fn sample(head: &[u8], start: usize, syntax: Syntax) -> Vec<Row> {
    // Only records that start before this are sampled; the last one may end after it, as may a long
    // header.
    let until = head.len().min(start + SNIFF_BYTES);
    let mut rows = Vec::new();
    let mut at = start;
    while at < until && rows.len() < SAMPLE_RECORDS_MAX {
        if scan::is_blank_line(head, at, syntax) {
            at = scan::next_line(head, at);
            continue;
        }
        let row = read_row(head, at, syntax);
        // The last record may be cut off by the end of the sample.
        if row.cut && !rows.is_empty() {
            break;
        }
        at = row.next;
        rows.push(row);
    }
    rows
}

fn read_row(head: &[u8], at: usize, syntax: Syntax) -> Row {
    let blanks = syntax.delimiter == Delimiter::Whitespace;
    let mut at = if blanks { scan::skip_blanks(head, at) } else { at };
    let mut fields = Vec::new();
    loop {
        let field = scan::field(head, at, syntax);
        fields.push(scan::unquote(head, &field).into_owned());
        if field.stop != Stop::Delimiter {
            let cut = field.stop == Stop::Input || field.form == Form::Open;
            return Row { fields, next: field.next, cut };
        }
        at = field.next;
    }
}

pub(crate) fn check_delimiter(byte: u8, file: &str) -> Result<Delimiter, InputError> {
    let taken = byte.is_ascii_alphanumeric() || b"\"\n\r.+-#%\0".contains(&byte);
    if taken || !byte.is_ascii() {
        let expected = "a delimiter such as a comma, tab, semicolon, bar or space";
        return Err(InputError::whole(file, expected, show(&[byte])));
    }
    Ok(Delimiter::Byte(byte))
}
