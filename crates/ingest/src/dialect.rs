//! Detects delimiter, header and columns of a text file, once, from its first bytes.
//!
//! Every delimiter is tried on a sample, and the one under which most records are edges wins.
//! Judging by the meaning of fields, and not by the frequency of characters, tells `1;2;3,5` from
//! `1,2` without special cases.

use crate::{
    InputError,
    columns::{self, Positions},
    error::{Place, show},
    number,
    options::{ColumnRef, OnError, TextOptions, VertexType, WeightType},
    scan::{self, Form, Stop},
};

/// Bytes of records that are sampled, after leading comments.
pub const SNIFF_BYTES: usize = 64 << 10;

/// Records that are sampled at most.
const SAMPLE_RECORDS_MAX: usize = 200;

/// The separator of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// One byte of ASCII.
    Byte(u8),
    /// Runs of spaces and tabs; those at the start and the end of a line are ignored.
    Whitespace,
}

/// Tried in this order; on a tie the first one wins. White space is last, because names contain
/// spaces.
const CANDIDATES: [Delimiter; 5] = [
    Delimiter::Byte(b'\t'),
    Delimiter::Byte(b','),
    Delimiter::Byte(b';'),
    Delimiter::Byte(b'|'),
    Delimiter::Whitespace,
];

/// How to read a text file. [`sniff`] makes it; the splitter and the parser read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    /// The caller's name of the input, for messages.
    pub file: String,
    /// The separator of columns.
    pub delimiter: Delimiter,
    /// The names in the header, if there is one.
    pub names: Option<Vec<String>>,
    /// The number of columns of the first record.
    pub columns: usize,
    /// Position of the source, from 0.
    pub source: usize,
    /// Position of the target, from 0.
    pub target: usize,
    /// Position of the weight, from 0; without one, edges get the default weight.
    pub weight: Option<usize>,
    /// Whether a record must have exactly `columns` columns.
    pub exact: bool,
    /// The type of vertices.
    pub vertex: VertexType,
    /// The type of weights.
    pub weight_type: WeightType,
    /// The weight of edges without one.
    pub default_weight: f64,
    /// Whether a bad record fails the parse or is skipped.
    pub on_error: OnError,
    /// The byte at which the first edge may start: after byte-order mark, leading comments and
    /// header.
    pub data_start: usize,
}

impl Dialect {
    /// Whether lines that start with `#` or `%` are also comments after the first record.
    ///
    /// Not for string vertices, where such a line may be an edge. Before the first record they are
    /// comments for all types.
    pub(crate) fn comments(&self) -> bool {
        self.vertex != VertexType::Str
    }
}

/// Detects the dialect of a text file from its first bytes, as [`crate::Splitter::head`] returns
/// them.
///
/// [`SNIFF_BYTES`] of records are sampled; more bytes only help if the first record is longer.
///
/// The first record is a header if the caller says so or names columns. If the caller leaves it
/// open, it is a header if none of its fields is a number (integer vertices), or if it names source
/// and target by well-known words or has a word where the next record has a weight (string
/// vertices).
///
/// # Errors
/// The options contradict each other or the text, columns are missing or too many to guess, or the
/// file is not a text of edges (an archive, UTF-16, ...).
pub fn sniff(head: &[u8], file: &str, options: &TextOptions) -> Result<Dialect, InputError> {
    foreign(head, file)?;
    let bom = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let candidates: &[Delimiter] = match options.delimiter {
        None => &CANDIDATES,
        Some(b' ') => &[Delimiter::Whitespace],
        Some(byte) => &[check_delimiter(byte, file)?],
    };
    let mut best: Option<Candidate> = None;
    for &delimiter in candidates {
        let candidate = Candidate::new(head, bom, delimiter, file, options);
        if best.as_ref().is_none_or(|best| candidate.score > best.score) {
            best = Some(candidate);
        }
    }
    // There is at least one candidate.
    let Some(candidate) = best else { return Err(InputError::whole(file, "a delimiter", "none")) };
    candidate.dialect(file, options)
}

/// A delimiter, and the dialect that it would give.
struct Candidate {
    delimiter: Delimiter,
    rows: Vec<Row>,
    names: Option<Vec<String>>,
    positions: Result<Positions, InputError>,
    /// The byte after leading comments and blank lines.
    start: usize,
    /// The line of the first record, from 1.
    line: u64,
    /// Larger is more likely: edges in the sample, whether the columns were found, whether there is
    /// more than one column.
    score: (usize, bool, bool),
}

struct Row {
    fields: Vec<Vec<u8>>,
    /// The byte at which the next record starts.
    next: usize,
    /// Whether the sample ends inside the record.
    cut: bool,
}

impl Candidate {
    fn new(
        head: &[u8],
        bom: usize,
        delimiter: Delimiter,
        file: &str,
        options: &TextOptions,
    ) -> Self {
        let start = leading(head, bom, delimiter);
        let line = 1 + memchr::memchr_iter(b'\n', &head[..start]).count() as u64;
        let rows = sample(head, start, delimiter);
        let named = has_header(&rows, options);
        let texts = |row: &Row| -> Vec<String> {
            row.fields.iter().map(|f| String::from_utf8_lossy(f).trim().to_owned()).collect()
        };
        let names = if named { rows.first().map(texts) } else { None };
        let count = rows.first().map_or(0, |row| row.fields.len());
        let positions = columns::resolve(file, names.as_deref(), count, &options.edges);
        let data = rows.get(usize::from(named)..).unwrap_or_default();
        let edges = match &positions {
            Ok(p) => data.iter().filter(|row| is_edge(row, count, p, options)).count(),
            Err(_) => 0,
        };
        let score = (edges, positions.is_ok(), count > 1);
        Self { delimiter, rows, names, positions, start, line, score }
    }

    fn dialect(self, file: &str, options: &TextOptions) -> Result<Dialect, InputError> {
        let edges = &options.edges;
        let Some(first) = self.rows.first() else {
            return self.empty(file, options);
        };
        if first.cut && first.next - self.start >= SNIFF_BYTES {
            let error = InputError::whole(file, "a first record", show(&first.fields.concat()));
            let hint =
                "the first bytes hold no end of a record: an open quote, or no text of edges";
            return Err(error.at(Place::Line(self.line), 0).hint(hint));
        }
        let positions = self.positions.map_err(|error| {
            let looks = |expected: &str| {
                InputError::whole(file, expected, show(&first.fields.concat()))
                    .hint("set the delimiter, or check that this is a list of edges")
            };
            let error = if first.fields.len() < 2 && edges.columns.is_none() {
                looks("columns separated by a comma, tab, semicolon, bar or white space")
            } else {
                error
            };
            error.at(Place::Line(self.line), 0)
        })?;
        let data_start = if self.names.is_some() { first.next } else { self.start };
        Ok(Dialect {
            columns: first.fields.len(),
            names: self.names,
            data_start,
            ..blank(file, self.delimiter, options, positions)
        })
    }

    /// The dialect of a text without records, which has no edges in any dialect.
    fn empty(self, file: &str, options: &TextOptions) -> Result<Dialect, InputError> {
        if let Some(columns) = &options.edges.columns {
            for column in [Some(&columns.source), Some(&columns.target), columns.weight.as_ref()] {
                if let Some(ColumnRef::Name(name)) = column {
                    let expected = format!("a header with a column named {name:?}");
                    return Err(InputError::whole(file, expected, "no record"));
                }
            }
        }
        let weight = (options.edges.weight != WeightType::None).then_some(2);
        let positions = Positions { source: 0, target: 1, weight, exact: true };
        let columns = if weight.is_some() { 3 } else { 2 };
        let dialect = blank(file, self.delimiter, options, positions);
        Ok(Dialect { columns, data_start: self.start, ..dialect })
    }
}

fn blank(file: &str, delimiter: Delimiter, options: &TextOptions, at: Positions) -> Dialect {
    Dialect {
        file: file.to_owned(),
        delimiter,
        names: None,
        columns: 0,
        source: at.source,
        target: at.target,
        weight: at.weight,
        exact: at.exact,
        vertex: options.edges.vertex,
        weight_type: options.edges.weight,
        default_weight: options.edges.default_weight,
        on_error: options.on_error,
        data_start: 0,
    }
}

/// The byte of the first record, after comments and blank lines.
fn leading(head: &[u8], mut at: usize, delimiter: Delimiter) -> usize {
    while at < head.len()
        && (scan::is_comment(head, at) || scan::is_blank_line(head, at, delimiter))
    {
        at = scan::next_line(head, at);
    }
    at
}

fn sample(head: &[u8], start: usize, delimiter: Delimiter) -> Vec<Row> {
    // Only records that start before this are sampled; the last one may end after it, as may a long
    // header.
    let until = head.len().min(start + SNIFF_BYTES);
    let mut rows = Vec::new();
    let mut at = start;
    while at < until && rows.len() < SAMPLE_RECORDS_MAX {
        if scan::is_blank_line(head, at, delimiter) {
            at = scan::next_line(head, at);
            continue;
        }
        let row = read_row(head, at, delimiter);
        // The last record may be cut off by the end of the sample.
        if row.cut && !rows.is_empty() {
            break;
        }
        at = row.next;
        rows.push(row);
    }
    rows
}

fn read_row(head: &[u8], at: usize, delimiter: Delimiter) -> Row {
    let mut at = if delimiter == Delimiter::Whitespace { scan::skip_blanks(head, at) } else { at };
    let mut fields = Vec::new();
    loop {
        let field = scan::field(head, at, delimiter);
        fields.push(scan::unquote(head, &field).into_owned());
        if field.stop != Stop::Delimiter {
            let cut = field.stop == Stop::Input || field.form == Form::Open;
            return Row { fields, next: field.next, cut };
        }
        at = field.next;
    }
}

fn is_number(field: &[u8]) -> bool {
    number::parse_f64(field).is_ok()
}

fn has_header(rows: &[Row], options: &TextOptions) -> bool {
    let Some(first) = rows.first() else { return false };
    let columns = options.edges.columns.as_ref();
    let by_name = columns.is_some_and(|c| {
        let all = [Some(&c.source), Some(&c.target), c.weight.as_ref()];
        all.into_iter().flatten().any(|column| matches!(column, ColumnRef::Name(_)))
    });
    if by_name {
        return true;
    }
    if let Some(header) = options.header {
        return header;
    }
    if options.edges.vertex != VertexType::Str {
        return first.fields.iter().all(|f| !f.trim_ascii().is_empty() && !is_number(f));
    }
    let names: Vec<_> =
        first.fields.iter().map(|f| String::from_utf8_lossy(f).into_owned()).collect();
    if columns::known_pair(&names).is_some() {
        return true;
    }
    let weight = match columns.map(|c| &c.weight) {
        Some(Some(ColumnRef::Index(index))) => *index,
        Some(_) => return false,
        None => 2,
    };
    let numeric = |row: Option<&Row>| row.and_then(|r| r.fields.get(weight)).map(|f| is_number(f));
    options.edges.weight != WeightType::None
        && numeric(Some(first)) == Some(false)
        && numeric(rows.get(1)) == Some(true)
}

fn is_edge(row: &Row, count: usize, at: &Positions, options: &TextOptions) -> bool {
    if at.exact && row.fields.len() != count {
        return false;
    }
    let vertex = |index: usize| match (row.fields.get(index), options.edges.vertex) {
        (None, _) => false,
        (Some(text), VertexType::U64) => number::parse_u64(text).is_ok(),
        (Some(text), VertexType::I64) => number::parse_i64(text, false).is_ok(),
        (Some(text), VertexType::Str) => !text.is_empty(),
    };
    let weight = |index: usize| row.fields.get(index).is_some_and(|f| is_number(f));
    vertex(at.source) && vertex(at.target) && at.weight.is_none_or(weight)
}

fn check_delimiter(byte: u8, file: &str) -> Result<Delimiter, InputError> {
    let taken = byte.is_ascii_alphanumeric() || b"\"\n\r.+-#%\0".contains(&byte);
    if taken || !byte.is_ascii() {
        let expected = "a delimiter such as a comma, tab, semicolon, bar or space";
        return Err(InputError::whole(file, expected, show(&[byte])));
    }
    Ok(Delimiter::Byte(byte))
}

/// Rejects files that are certainly not a text of edges, with a better message than a parse would
/// give.
fn foreign(head: &[u8], file: &str) -> Result<(), InputError> {
    let kinds: [(&[u8], &str, &str); 9] = [
        (b"PAR1", "a Parquet file", "import it as Parquet"),
        (b"PK\x03\x04", "a zip archive", "unpack it first"),
        (b"BZh", "bzip2 data", "decompress it first; gzip and zstd are read directly"),
        (b"\xfd7zXZ", "xz data", "decompress it first; gzip and zstd are read directly"),
        (b"ARROW1", "an Arrow file", "read it with Arrow and import the table"),
        (b"\xff\xfe", "UTF-16 text", "convert it to UTF-8"),
        (b"\xfe\xff", "UTF-16 text", "convert it to UTF-8"),
        (b"SQLite format 3\0", "an SQLite database", "export the edges as CSV"),
        // Its size line would be read as an edge.
        (b"%%MatrixMarket", "a Matrix Market file", "remove everything up to the size line"),
    ];
    for (magic, found, hint) in kinds {
        if head.starts_with(magic) {
            return Err(InputError::whole(file, "a text of edges", found).hint(hint));
        }
    }
    Ok(())
}
