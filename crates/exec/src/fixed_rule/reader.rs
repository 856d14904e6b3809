//! The fixed rules `CsvReader` and `JsonReader`: rows from files.
//!
//! A file is read completely (`file.rs`), because its rows are held in memory anyway. Only one row
//! at a time is in an intermediate form.

use super::call::Call;
use super::file::bytes;
use crate::error::{Error, Result};
use crate::value::cell::Cell;
use model::{Type, Value};
use serde_json::Value as Tree;
use syntax::Span;

/// Rows between two checks of the query's limits.
const ROWS_UNCHECKED: usize = 4096;

/// Bytes of values between two such checks.
const BYTES_UNCHECKED: u64 = 256 << 10;

/// JSON of at most this many bytes is parsed without a check.
const JSON_UNCHECKED: usize = 64 << 10;

/// Memory of a parsed tree per byte of JSON: `1,` becomes a value of 32 bytes.
const TREE_TIMES: u64 = 16;

/// The rows of a CSV file, with the given types.
pub(super) fn csv(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let (types, span) = types(call)?;
    let has_headers = call.flag_or("has_headers", true)?;
    let delimiter = call.text("delimiter")?.unwrap_or_else(|| ",".to_owned());
    let &[delimiter] = delimiter.as_bytes() else {
        let expr = call.option("delimiter").map_or(span, syntax::Expr::span);
        let what = "CsvReader: `delimiter` is one character of ASCII";
        return Err(Error::value(what, expr));
    };
    let text = text(call)?;
    let mut rows = Rows::new(call, types.len())?;
    rows.besides_bytes = text.len() as u64;
    // Some programs start a file with a byte order mark.
    let rest = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut reader = Csv { rest, delimiter, line: 1 };
    let unclosed = |line: usize| {
        let what = format!("line {line} of the file has a quote that nothing closes");
        Error::hinted(what, span, "a quote within a quoted field is written twice")
    };
    if has_headers {
        reader.record().map_err(unclosed)?;
    }
    while let Some((line, record)) = reader.record().map_err(unclosed)? {
        let mut fields = record.into_iter();
        rows.add((1..).zip(&types).map(|(place, of)| {
            let field = fields.next();
            let found = match (&field, of) {
                (None, Type::Nullable(_) | Type::Any) => Some(Value::Null),
                (None, _) => None,
                (Some(field), _) => of.parse_field(field),
            };
            found.or_else(|| matches!(of, Type::Nullable(_)).then_some(Value::Null)).ok_or_else(
                || {
                    let found = field.map_or("nothing".to_owned(), |field| format!("{field:?}"));
                    let what = format!("line {line} of the file has {found} in column {place}");
                    let hint = format!("the type is {of}; with `?` unreadable values become null");
                    Error::hinted(what, span, hint)
                },
            )
        }))?;
    }
    Ok(rows.columns)
}

/// Fields of the objects in a JSON file.
pub(super) fn json(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let hint = "`fields` lists the names that become columns: fields: ['id', 'name']";
    let expr = call.required("fields", hint)?;
    let fields = texts(call, "fields", expr)?;
    let is_lines = call.flag_or("json_lines", true)?;
    let takes_null = call.flag("null_if_absent")?;
    let text = text(call)?;
    let mut rows = Rows::new(call, fields.len())?;
    rows.besides_bytes = text.len() as u64;
    let mut objects = Objects { call, fields, span: expr.span(), takes_null, rows };
    match is_lines {
        true => objects.add_lines(&text)?,
        false => objects.add_array(&text)?,
    }
    Ok(objects.rows.columns)
}

/// The rows of a JSON file, and how they are made of its objects.
struct Objects<'c, 'a, 'q> {
    call: &'c Call<'a, 'q>,
    /// Names of the columns.
    fields: Vec<String>,
    /// Position of those in the script.
    span: Span,
    /// Whether a field that an object lacks is null.
    takes_null: bool,
    rows: Rows<'c, 'a, 'q>,
}

impl Objects<'_, '_, '_> {
    /// Adds the objects of a text with one on each line.
    fn add_lines(&mut self, text: &str) -> Result<()> {
        let hint = "json_lines: false reads a file that is one array";
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        for (place, (number, line)) in (1..).zip(lines) {
            self.check_tree(line.len())?;
            let tree = serde_json::from_str(line)
                .map_err(|error| not_json(self.call, number, &error.to_string(), hint))?;
            match tree {
                Tree::Array(_) => {
                    let what = format!("line {number} of the file is an array");
                    return Err(Error::hinted(what, self.call.fixed.span, hint));
                }
                tree => self.add(tree, place)?,
            }
        }
        Ok(())
    }

    /// Adds the objects of a text that is one array.
    fn add_array(&mut self, text: &str) -> Result<()> {
        let hint = "json_lines: true reads a file with an object on each line";
        let mut items = Items { text, at: 0 };
        let call = self.call;
        let wrong = |wrong: Wrong| not_json(call, wrong.line, &wrong.to_string(), hint);
        if !items.begin() {
            items.value().and_then(|_| items.end()).map_err(wrong)?;
            let what = "the file is no array of objects";
            return Err(Error::hinted(what, call.fixed.span, hint));
        }
        for place in 1.. {
            let before = items.at;
            let Some(tree) = items.next_item(place == 1).map_err(wrong)? else { break };
            self.check_tree(items.at - before)?;
            self.add(tree, place)?;
        }
        Ok(())
    }

    /// Adds the row of an object.
    fn add(&mut self, tree: Tree, place: usize) -> Result<()> {
        let Tree::Object(mut object) = tree else {
            let what = format!("item {place} of the file is no object");
            return Err(Error::value(what, self.span));
        };
        self.rows.add(self.fields.iter().map(|field| match object.remove(field) {
            Some(tree) => Ok(Value::of_tree(tree)),
            None if self.takes_null => Ok(Value::Null),
            None => {
                let what = format!("item {place} of the file has no field `{field}`");
                Err(Error::hinted(what, self.span, "null_if_absent: true gives null for it"))
            }
        }))
    }

    /// Checks the limits before JSON of this many bytes becomes a tree, if that is much.
    fn check_tree(&self, json_bytes: usize) -> Result<()> {
        match json_bytes > JSON_UNCHECKED {
            true => {
                let tree_bytes = TREE_TIMES * json_bytes as u64;
                self.call.query.check(self.rows.besides_bytes + tree_bytes)
            }
            false => Ok(()),
        }
    }
}

fn not_json(call: &Call<'_, '_>, line: usize, what: &str, hint: &str) -> Error {
    Error::hinted(format!("line {line} of the file is no JSON: {what}"), call.fixed.span, hint)
}

/// Iterates over an array's items: a tree of the whole array would take many times the file's
/// length.
struct Items<'t> {
    text: &'t str,
    at: usize,
}

/// A syntax error in JSON.
struct Wrong {
    what: String,
    line: usize,
    column: usize,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at line {} column {}", self.what, self.line, self.column)
    }
}

impl Items<'_> {
    /// The next byte that is not a space, without consuming it.
    fn peek(&mut self) -> Option<u8> {
        let bytes = &self.text.as_bytes()[self.at..];
        let space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        self.at += bytes.iter().take_while(space).count();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Consumes the start of an array, if the text has one.
    fn begin(&mut self) -> bool {
        let begins = self.peek() == Some(b'[');
        self.at += usize::from(begins);
        begins
    }

    /// The next item; `None` after the last, where the text must end.
    fn next_item(&mut self, is_first: bool) -> std::result::Result<Option<Tree>, Wrong> {
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                return self.end().map(|()| None);
            }
            Some(b',') if !is_first => {
                self.at += 1;
                if self.peek() == Some(b']') {
                    return Err(self.wrong("trailing comma"));
                }
            }
            Some(_) if is_first => {}
            Some(_) => return Err(self.wrong("expected `,` or `]`")),
            None => return Err(self.wrong("EOF while parsing a list")),
        }
        self.value().map(Some)
    }

    /// Parses the next value.
    fn value(&mut self) -> std::result::Result<Tree, Wrong> {
        self.peek();
        let mut values = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter();
        let found = values.next();
        let taken = values.byte_offset();
        match found {
            Some(Ok(tree)) => {
                self.at += taken;
                Ok(tree)
            }
            Some(Err(error)) => {
                let what = error.to_string();
                let what = what.rsplit_once(" at line ").map_or(&*what, |(what, _)| what);
                // Line and column count from the start of the value.
                let Wrong { line, column, what } = self.wrong(what);
                let column =
                    if error.line() > 1 { error.column() } else { column - 1 + error.column() };
                Err(Wrong { line: line + error.line().saturating_sub(1), column, what })
            }
            None => Err(self.wrong("EOF while parsing a value")),
        }
    }

    /// Checks that nothing follows.
    fn end(&mut self) -> std::result::Result<(), Wrong> {
        match self.peek() {
            Some(_) => Err(self.wrong("trailing characters")),
            None => Ok(()),
        }
    }

    fn wrong(&self, what: &str) -> Wrong {
        let before = &self.text[..self.at];
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let column = self.at - before.rfind('\n').map_or(0, |end| end + 1) + 1;
        Wrong { what: what.to_owned(), line, column }
    }
}

/// Collects rows, with a row number in front if requested.
pub(super) struct Rows<'c, 'a, 'q> {
    call: &'c Call<'a, 'q>,
    pub(super) columns: Vec<Vec<Cell>>,
    is_indexed: bool,
    rows: usize,
    /// Bytes held besides: the file.
    besides_bytes: u64,
    /// Size of the interner at the last check of the limits, in bytes.
    checked_bytes: u64,
}

impl<'c, 'a, 'q> Rows<'c, 'a, 'q> {
    pub(super) fn new(call: &'c Call<'a, 'q>, columns: usize) -> Result<Self> {
        let is_indexed = call.flag("prepend_index")?;
        let columns = vec![Vec::new(); columns + usize::from(is_indexed)];
        Ok(Self { call, columns, is_indexed, rows: 0, besides_bytes: 0, checked_bytes: 0 })
    }

    /// Number of rows added.
    pub(super) fn count(&self) -> usize {
        self.rows
    }

    pub(super) fn add(&mut self, row: impl Iterator<Item = Result<Value>>) -> Result<()> {
        let mut columns = self.columns.iter_mut();
        if self.is_indexed
            && let Some(column) = columns.next()
        {
            column.push(self.call.int(self.rows));
        }
        for (column, value) in columns.zip(row) {
            column.push(self.call.query.interner.take(value?));
        }
        self.rows += 1;
        let bytes = self.call.query.interner.bytes();
        let is_long = bytes.saturating_sub(self.checked_bytes) >= BYTES_UNCHECKED;
        if is_long || self.rows.is_multiple_of(ROWS_UNCHECKED) {
            self.checked_bytes = bytes;
            let cells = 8 * (self.columns.len() * self.rows) as u64;
            self.call.query.check(self.besides_bytes + cells)?;
        }
        Ok(())
    }
}

/// Text of the file that the option `url` names.
fn text(call: &Call<'_, '_>) -> Result<String> {
    let (bytes, _, span) = bytes(call)?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::value(format!("line {line} of the file is no UTF-8"), span)
    })
}

pub(super) fn texts(call: &Call<'_, '_>, name: &str, expr: &syntax::Expr) -> Result<Vec<String>> {
    let found = call.known(expr)?;
    let wrong = |found: &Value| call.wrong(name, "a list of text", found, expr.span());
    let Value::List(items) = found else { return Err(wrong(&found)) };
    let text = |item: Value| match item {
        Value::Str(text) => Ok(text),
        other => Err(wrong(&other)),
    };
    items.into_iter().map(text).collect()
}

pub(super) fn types(call: &Call<'_, '_>) -> Result<(Vec<Type>, Span)> {
    let hint = "`types` lists the types of the columns: types: ['Int', 'String', 'Float?']";
    let expr = call.required("types", hint)?;
    let read = |text: String| {
        syntax::parse_type(&text).map_err(|problems| {
            let problem = problems.into_iter().next();
            let hint = problem.and_then(|problem| problem.hint);
            let hint = hint.unwrap_or_else(|| hint_of_types().to_owned());
            Error::hinted(format!("there is no type {text:?}"), expr.span(), hint)
        })
    };
    let types = texts(call, "types", expr)?.into_iter().map(read);
    Ok((types.collect::<Result<_>>()?, expr.span()))
}

fn hint_of_types() -> &'static str {
    "types are written as in a relation's columns: 'Int', 'String?', '[Float]'"
}

/// Reads records of RFC 4180. Lines end with `\n` or `\r\n`; empty lines are skipped.
struct Csv<'t> {
    rest: &'t str,
    delimiter: u8,
    line: usize,
}

impl Csv<'_> {
    /// The next record, and the line on which it begins.
    ///
    /// # Errors
    /// The line of an unclosed quote.
    fn record(&mut self) -> std::result::Result<Option<(usize, Vec<String>)>, usize> {
        while let Some(rest) =
            self.rest.strip_prefix('\n').or_else(|| self.rest.strip_prefix("\r\n"))
        {
            self.rest = rest;
            self.line += 1;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (line, mut fields) = (self.line, Vec::new());
        loop {
            fields.push(self.field()?);
            let bytes = self.rest.as_bytes();
            match bytes.first() {
                Some(&byte) if byte == self.delimiter => self.rest = &self.rest[1..],
                Some(_) => {
                    let end = if bytes[0] == b'\r' { 2 } else { 1 };
                    self.rest = self.rest.get(end..).unwrap_or_default();
                    self.line += 1;
                    return Ok(Some((line, fields)));
                }
                None => return Ok(Some((line, fields))),
            }
        }
    }

    /// The field up to a delimiter or the end of the line, which is not consumed.
    fn field(&mut self) -> std::result::Result<String, usize> {
        let mut field = String::new();
        if let Some(rest) = self.rest.strip_prefix('"') {
            self.rest = rest;
            let began = self.line;
            loop {
                let (part, rest) = self.rest.split_once('"').ok_or(began)?;
                self.line += part.bytes().filter(|&byte| byte == b'\n').count();
                field.push_str(part);
                self.rest = rest;
                match self.rest.strip_prefix('"') {
                    Some(rest) => {
                        field.push('"');
                        self.rest = rest;
                    }
                    None => break,
                }
            }
        }
        let bytes = self.rest.as_bytes();
        let ends = |place: usize| {
            let byte = bytes[place];
            byte == self.delimiter
                || byte == b'\n'
                || byte == b'\r' && bytes.get(place + 1) == Some(&b'\n')
        };
        let end = (0..bytes.len()).find(|&place| ends(place)).unwrap_or(bytes.len());
        field.push_str(self.rest.get(..end).unwrap_or_default());
        self.rest = self.rest.get(end..).unwrap_or_default();
        Ok(field)
    }
}
