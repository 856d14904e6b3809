//! Detects delimiter, header and columns of a text file, once, from its first bytes.
//!
//! Every delimiter is tried on a sample, and the one under which most records are edges wins.
//! Judging by the meaning of fields, and not by the frequency of characters, tells `1;2;3,5` from
//! `1,2` without special cases.

use crate::{
    columns::{self, ColumnInfo, Positions},
    dialect::{Dialect, blank},
    error::{InputError, Place, show},
    foreign,
    formats::UNDIRECTED,
    header, known_names, matrix_market, number,
    options::{
        ColumnRef, Columns, EdgeOptions, TextOptions, VertexType, WeightType, describe_types,
    },
    sample::{CANDIDATES, Row, SNIFF_BYTES, check_delimiter, first_byte, leading, sample},
    scan,
    syntax::{Delimiter, Syntax},
};

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
    foreign::refuse(head, file)?;
    if matrix_market::is_one(head) {
        return matrix_market::dialect(head, file, options);
    }
    matrix_market::refuse_without_banner(file, options)?;
    let konect = konect(head).filter(|_| options.edges.columns.is_none());
    let options = &match konect {
        Some(konect) => konect.options(options),
        None => options.clone(),
    };
    let first = first_byte(head, file, options)?;
    if has_decimal_commas(head, first, options) {
        let options = TextOptions { decimal: b',', delimiter: Some(b';'), ..options.clone() };
        let mut dialect = sniff(head, file, &options)?;
        dialect.detected.push(("decimal", "comma".to_owned()));
        return Ok(dialect);
    }
    let candidates = match options.delimiter {
        // A comma inside of numbers separates no columns.
        None => CANDIDATES.into_iter().filter(|&c| c != Delimiter::Byte(options.decimal)).collect(),
        Some(b' ') => vec![Delimiter::Whitespace],
        Some(byte) => vec![check_delimiter(byte, file)?],
    };
    let mut best: Option<Candidate> = None;
    for delimiter in candidates {
        let candidate = Candidate::new(head, first, delimiter, file, options);
        if best.as_ref().is_none_or(|best| candidate.score > best.score) {
            best = Some(candidate);
        }
    }
    // There is at least one candidate.
    let Some(candidate) = best else { return Err(InputError::whole(file, "a delimiter", "none")) };
    let mut dialect = candidate.dialect(file, options)?;
    if let Some(konect) = konect {
        konect.describe(&mut dialect.detected);
    }
    Ok(dialect)
}

/// Whether semicolons separate columns, and one has numbers such as `1,5`, as programs write them
/// where the comma is the decimal mark. By commas such lines would be edges, too.
fn has_decimal_commas(head: &[u8], first: usize, options: &TextOptions) -> bool {
    if options.decimal != b'.' || options.delimiter.is_some_and(|byte| byte != b';') {
        return false;
    }
    let delimiter = Delimiter::Byte(b';');
    let syntax = Syntax { delimiter, quotes: options.quotes, comment: options.comment };
    let rows = sample(head, leading(head, first, syntax), syntax);
    // The first record may be a header.
    let data = if rows.len() > 1 { &rows[1..] } else { &rows[..] };
    let count = rows.first().map_or(0, |row| row.fields.len());
    let is_of_numbers = |i: usize| {
        let mut values = data.iter().filter_map(|row| row.fields.get(i));
        values.clone().all(|value| number::parse_weight(value, b',').is_ok())
            && values.any(|value| value.contains(&b','))
    };
    count > 2 && rows.iter().all(|row| row.fields.len() == count) && (0..count).any(is_of_numbers)
}

/// The first line of a file of the KONECT collection: `% asym posweighted`.
#[derive(Clone, Copy)]
struct Konect {
    is_weighted: bool,
    is_bipartite: bool,
    is_directed: bool,
}

fn konect(head: &[u8]) -> Option<Konect> {
    let line = String::from_utf8_lossy(&head[..scan::next_line(head, 0).min(200)]).into_owned();
    let words: Vec<_> = line.strip_prefix('%')?.split_whitespace().collect();
    let [form, weights] = words[..] else { return None };
    if !matches!(form, "sym" | "asym" | "bip") {
        return None;
    }
    let is_weighted = !matches!(weights, "unweighted" | "positive");
    Some(Konect { is_weighted, is_bipartite: form == "bip", is_directed: form == "asym" })
}

impl Konect {
    /// Source and target, a weight if there is one, and perhaps a time.
    fn options(self, options: &TextOptions) -> TextOptions {
        let column = ColumnRef::Index;
        let weight = self.is_weighted.then_some(column(2));
        let columns = Columns { source: column(0), target: column(1), weight };
        let edges = EdgeOptions { columns: Some(columns), ..options.edges.clone() };
        let header = options.header.or(Some(false));
        TextOptions { edges, header, delimiter: Some(b' '), ..options.clone() }
    }

    fn describe(self, detected: &mut Vec<(&'static str, String)>) {
        if let Some(format) = detected.first_mut() {
            format.1 = "KONECT".to_owned();
        }
        let mut note = |text: &str| detected.push(("note", text.to_owned()));
        if self.is_bipartite {
            note("the file is bipartite: its two kinds of vertices share the numbers from 1 on");
        } else if !self.is_directed {
            note(UNDIRECTED);
        }
    }
}

/// A delimiter, and the dialect that it would give.
struct Candidate {
    syntax: Syntax,
    rows: Vec<Row>,
    names: Option<Vec<String>>,
    columns: Vec<ColumnInfo>,
    positions: Result<Positions, InputError>,
    /// The byte after leading comments and blank lines.
    start: usize,
    /// The line of the first record, from 1.
    line: u64,
    /// Larger is more likely: whether the header has well-known names, edges in the sample, whether
    /// the columns were found, whether there is more than one column.
    score: (bool, usize, bool, bool),
}

impl Candidate {
    fn new(
        head: &[u8],
        first: usize,
        delimiter: Delimiter,
        file: &str,
        options: &TextOptions,
    ) -> Self {
        let syntax = Syntax { delimiter, quotes: options.quotes, comment: options.comment };
        let start = leading(head, first, syntax);
        let line = 1 + memchr::memchr_iter(b'\n', &head[..start]).count() as u64;
        let rows = sample(head, start, syntax);
        let fields: Vec<_> = rows.iter().map(|row| row.fields.as_slice()).collect();
        let named = header::has_header(&fields, options);
        let texts = |row: &Row| -> Vec<String> {
            row.fields.iter().map(|f| String::from_utf8_lossy(f).trim().to_owned()).collect()
        };
        let names = if named { rows.first().map(texts) } else { None };
        let count = rows.first().map_or(0, |row| row.fields.len());
        let data = rows.get(usize::from(named)..).unwrap_or_default();
        let columns = columns_of(count, names.as_deref(), data, options);
        let positions = columns::resolve(file, &columns, &options.edges);
        let edges = match &positions {
            Ok(p) => data.iter().filter(|row| is_edge(row, count, p, options)).count(),
            Err(_) => 0,
        };
        let is_known = names.as_ref().is_some_and(|names| known_names::pair(names).is_some());
        let score = (is_known, edges, positions.is_ok(), count > 1);
        Self { syntax, rows, names, columns, positions, start, line, score }
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
        let is_of_vertices = edges.columns.is_none()
            && self.names.as_ref().is_some_and(|names| known_names::are_of_vertices(names));
        if is_of_vertices {
            let dialect = self.empty(file, options)?;
            let said = format!("{file} is a table of vertices, which has no edges: it is left out");
            let detected = vec![("format", "table of vertices".to_owned()), ("note", said)];
            let data_start = usize::MAX;
            return Ok(Dialect { is_of_vertices, data_start, detected, ..dialect });
        }
        let has_undirected = self.has_undirected();
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
        let mut dialect = blank(file, self.syntax, options, positions);
        dialect.detected = vec![
            ("format", "text".to_owned()),
            ("delimiter", self.syntax.delimiter.name().to_owned()),
            (
                "header",
                match &self.names {
                    Some(names) => format!("yes: {}", show(names.join(", ").as_bytes())),
                    None => "no".to_owned(),
                },
            ),
            ("quotes", if self.syntax.quotes { "\"" } else { "none" }.to_owned()),
        ];
        dialect.detected.extend(columns::describe_choice(positions, &self.columns));
        let weight = positions.weight.map_or(WeightType::None, |_| edges.weight);
        dialect.detected.push(("types", describe_types(edges.vertex, weight)));
        if has_undirected {
            dialect.detected.push(("note", UNDIRECTED.to_owned()));
        }
        Ok(Dialect { columns: first.fields.len(), names: self.names, data_start, ..dialect })
    }

    /// Whether a column `Type` calls edges undirected, as Gephi does.
    fn has_undirected(&self) -> bool {
        let is_type = |name: &String| name.trim().eq_ignore_ascii_case("type");
        let Some(at) = self.names.as_ref().and_then(|names| names.iter().position(is_type)) else {
            return false;
        };
        let values = self.rows.iter().filter_map(|row| row.fields.get(at));
        values.into_iter().any(|value| value.trim_ascii().eq_ignore_ascii_case(b"undirected"))
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
        let dialect = blank(file, self.syntax, options, positions);
        let detected = vec![("format", "text without records".to_owned())];
        Ok(Dialect { columns, data_start: self.start, detected, ..dialect })
    }
}

/// The columns, inferred from their names and a sample of their values.
fn columns_of(
    count: usize,
    names: Option<&[String]>,
    data: &[Row],
    options: &TextOptions,
) -> Vec<ColumnInfo> {
    let column = |i: usize| {
        let values = data.iter().filter_map(|row| row.fields.get(i));
        let (mut numbers, mut times, mut all) = (0, 0, 0);
        for value in values.filter(|value| !number::is_null(value, &options.null_values)) {
            all += 1;
            numbers += usize::from(is_weight(value, options));
            times += usize::from(is_time(value));
        }
        let name = names.and_then(|names| names.get(i)).cloned();
        let (is_numeric, is_time) = (numbers > 0 && 2 * numbers >= all, all > 0 && times == all);
        ColumnInfo { name, is_numeric, is_time, is_index: false }
    };
    (0..count).map(column).collect()
}

/// Whether a number is that of a time since 1985, in seconds or milliseconds.
fn is_time(text: &[u8]) -> bool {
    let seconds = 5e8..5e9;
    number::parse_f64(text).is_ok_and(|n| seconds.contains(&n) || seconds.contains(&(n / 1000.0)))
}

fn is_weight(text: &[u8], options: &TextOptions) -> bool {
    number::parse_weight(text, options.decimal).is_ok()
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
    let weight = |index: usize| {
        let field = row.fields.get(index);
        field.is_some_and(|f| is_weight(f, options) || number::is_null(f, &options.null_values))
    };
    vertex(at.source) && vertex(at.target) && at.weight.is_none_or(weight)
}
