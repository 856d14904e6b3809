//! Parses one record by all rules of the format, and explains what is wrong with a bad one.
//!
//! This module defines the meaning of a text file. The fast path (`fast_path.rs`) parses a record
//! only if this module would read the same edge, and leaves all other records to it.

use memchr::memchr_iter;

use crate::dialect::Dialect;
use crate::edges::{EdgeChunk, SKIPPED_KEPT_MAX, Weights};
use crate::error::{InputError, Place, show};
use crate::number::{self, NumberError};
use crate::options::{Missing, OnError, VertexType, WeightType};
use crate::scan::{self, Field, Form, Stop};
use crate::syntax::Delimiter;

/// Parses records of one chunk.
pub(crate) struct FullParser<'a> {
    dialect: &'a Dialect,
    bytes: &'a [u8],
    /// Number of the line of the first byte, from 1.
    first_line: u64,
    /// The last position among the columns that are read, from 0.
    last: usize,
}

/// The error in a record.
struct RecordError {
    /// From 0; `None` for the whole record.
    column: Option<usize>,
    expected: String,
    found: String,
    hint: Option<String>,
}

impl RecordError {
    fn field(column: usize, wrong: NumberError, text: &[u8]) -> Self {
        Self {
            column: Some(column),
            expected: wrong.expected.to_owned(),
            found: show(text),
            hint: wrong.hint.map(str::to_owned),
        }
    }
}

/// The fields of an edge.
#[derive(Clone, Copy)]
struct Edge {
    source: Field,
    target: Field,
    weight: Option<Field>,
}

/// The outcome of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pushed {
    Edge,
    /// Its weight is missing; it is appended only if the options give it a weight.
    MissingWeight,
}

/// A weight of either type.
#[derive(Clone, Copy)]
enum Weight {
    None,
    Float(f64),
    Int(i64),
}

impl<'a> FullParser<'a> {
    pub(crate) fn new(dialect: &'a Dialect, bytes: &'a [u8], first_line: u64) -> Self {
        let last = dialect.source.max(dialect.target).max(dialect.weight.unwrap_or(0));
        Self { dialect, bytes, first_line, last }
    }

    /// Parses the record, comment or blank line at `at` and returns where the next one starts.
    ///
    /// # Errors
    /// The record is bad and [`OnError::Fail`] is set.
    pub(crate) fn record(&self, at: usize, out: &mut EdgeChunk) -> Result<usize, InputError> {
        let syntax = self.dialect.syntax;
        if (self.dialect.comments() && scan::is_comment(self.bytes, at, syntax))
            || scan::is_blank_line(self.bytes, at, syntax)
        {
            return Ok(scan::next_line(self.bytes, at));
        }
        let (edge, next) = self.fields(at);
        match edge.and_then(|edge| self.push(&edge, out)) {
            Ok(Pushed::Edge) => Ok(next),
            Ok(Pushed::MissingWeight) => self.missing(at, out).map(|()| next),
            Err(bad) => self.fail(at, bad, out).map(|()| next),
        }
    }

    /// The fields of the edge in the record at `at`, and where the next record starts.
    fn fields(&self, at: usize) -> (Result<Edge, RecordError>, usize) {
        let dialect = self.dialect;
        let blanks = dialect.syntax.delimiter == Delimiter::Whitespace;
        let mut at = if blanks { scan::skip_blanks(self.bytes, at) } else { at };
        let (mut source, mut target, mut weight) = (None, None, None);
        let mut bad = None;
        let mut count = 0;
        loop {
            let field = scan::field(self.bytes, at, dialect.syntax);
            if bad.is_none() {
                bad = self.malformed(&field, count);
            }
            if count <= self.last {
                if count == dialect.source {
                    source = Some(field);
                }
                if count == dialect.target {
                    target = Some(field);
                }
                if Some(count) == dialect.weight {
                    weight = Some(field);
                }
            }
            count += 1;
            at = field.next;
            if field.stop != Stop::Delimiter {
                break;
            }
        }
        if let Some(bad) = bad {
            return (Err(bad), at);
        }
        if dialect.exact && count != dialect.columns || count <= self.last {
            return (Err(self.miscounted(count)), at);
        }
        let edge = match (source, target) {
            (Some(source), Some(target)) => Ok(Edge { source, target, weight }),
            _ => Err(self.miscounted(count)),
        };
        (edge, at)
    }

    fn malformed(&self, field: &Field, column: usize) -> Option<RecordError> {
        let text = || show(&self.bytes[field.start..field.end]);
        let (expected, found, hint) = match field.form {
            Form::Bare | Form::Quoted | Form::Escaped => return None,
            Form::Tail => (
                "a delimiter after the closing quote",
                text(),
                "a quote inside quotes is written twice",
            ),
            Form::Open => (
                "a closing quote",
                "none".to_owned(),
                "it opens here, and may reach over at most 100 lines; without quotes \
                 (quote=None) it is an ordinary character",
            ),
        };
        let (expected, hint) = (expected.to_owned(), Some(hint.to_owned()));
        Some(RecordError { column: Some(column), expected, found, hint })
    }

    fn miscounted(&self, count: usize) -> RecordError {
        let wanted = if self.dialect.exact { self.dialect.columns } else { self.last + 1 };
        let least = if self.dialect.exact { "" } else { "at least " };
        let expected = format!("{least}{wanted} columns");
        RecordError { column: None, expected, found: count.to_string(), hint: None }
    }

    /// Converts the values and appends the edge. All are converted before any is appended, so that
    /// a bad record leaves nothing behind.
    fn push(&self, edge: &Edge, out: &mut EdgeChunk) -> Result<Pushed, RecordError> {
        if self.dialect.vertex == VertexType::Str {
            let source = scan::unquote(self.bytes, &edge.source);
            let target = scan::unquote(self.bytes, &edge.target);
            let source = self.text(self.dialect.source, edge.source.form, &source)?;
            let target = self.text(self.dialect.target, edge.target.form, &target)?;
            let (weight, pushed) = self.weight(edge)?;
            if pushed == Pushed::Edge || self.keeps_missing() {
                out.src_str.push(source);
                out.dst_str.push(target);
                push_weight(weight, out);
            }
            return Ok(pushed);
        }
        let source = self.word(self.dialect.source, &edge.source)?;
        let target = self.word(self.dialect.target, &edge.target)?;
        let (weight, pushed) = self.weight(edge)?;
        if pushed == Pushed::Edge || self.keeps_missing() {
            out.src.push(source);
            out.dst.push(target);
            push_weight(weight, out);
        }
        Ok(pushed)
    }

    /// Whether an edge without a weight gets one.
    fn keeps_missing(&self) -> bool {
        matches!(self.dialect.missing, Missing::Weight(_))
    }

    fn word(&self, column: usize, field: &Field) -> Result<u64, RecordError> {
        let text = scan::unquote(self.bytes, field);
        let word = match self.dialect.vertex {
            VertexType::I64 => number::parse_i64(&text, false).map(number::i64_to_word),
            VertexType::U64 | VertexType::Str => number::parse_u64(&text),
        };
        word.map_err(|wrong| RecordError::field(column, wrong, &text))
    }

    fn text<'t>(&self, column: usize, form: Form, text: &'t [u8]) -> Result<&'t str, RecordError> {
        if text.is_empty() && form == Form::Bare {
            let hint = Some("an empty name is written \"\"");
            return Err(RecordError::field(
                column,
                NumberError { expected: "a vertex", hint },
                text,
            ));
        }
        let hint = Some("convert the file to UTF-8");
        std::str::from_utf8(text).map_err(|_| {
            RecordError::field(column, NumberError { expected: "UTF-8 text", hint }, text)
        })
    }

    #[inline]
    fn weight(&self, edge: &Edge) -> Result<(Weight, Pushed), RecordError> {
        match (edge.weight, self.dialect.weight) {
            (Some(field), Some(column)) => self.weight_in(&field, column),
            _ => Ok((Weight::None, Pushed::Edge)),
        }
    }

    fn weight_in(&self, field: &Field, column: usize) -> Result<(Weight, Pushed), RecordError> {
        let text = scan::unquote(self.bytes, field);
        if number::is_null(&text, &self.dialect.null_values) {
            let given = match self.dialect.missing {
                Missing::Weight(weight) => weight,
                Missing::Fail | Missing::Skip => self.dialect.default_weight,
            };
            let weight = match self.dialect.weight_type {
                WeightType::None => return Ok((Weight::None, Pushed::Edge)),
                WeightType::Float => Weight::Float(given),
                // It was checked to be a whole number together with the options.
                WeightType::Int => Weight::Int(given as i64),
            };
            return Ok((weight, Pushed::MissingWeight));
        }
        let weight = match self.dialect.weight_type {
            WeightType::None => return Ok((Weight::None, Pushed::Edge)),
            WeightType::Float => {
                number::parse_weight(&text, self.dialect.decimal).map(Weight::Float)
            }
            WeightType::Int => number::parse_i64(&text, true).map(Weight::Int),
        };
        match weight {
            Ok(weight) => Ok((weight, Pushed::Edge)),
            Err(wrong) => Err(RecordError::field(column, wrong, &text)),
        }
    }

    /// Counts an edge whose weight is missing. If bad records are skipped, it is one of them unless
    /// the options say what happens to it.
    fn missing(&self, at: usize, out: &mut EdgeChunk) -> Result<(), InputError> {
        if self.dialect.missing == Missing::Fail && self.dialect.on_error == OnError::Skip {
            let wrong = NumberError { expected: "a weight", hint: None };
            return self.fail(
                at,
                RecordError::field(self.dialect.weight.unwrap_or(0), wrong, b""),
                out,
            );
        }
        out.missing_count += 1;
        if out.missing.len() < SKIPPED_KEPT_MAX {
            let column =
                self.dialect.weight.map_or(0, |c| u32::try_from(c + 1).unwrap_or(u32::MAX));
            let error = InputError::whole(&self.dialect.file, "a weight", "nothing");
            out.missing.push(error.at(Place::Line(self.line_of(at)), column));
        }
        Ok(())
    }

    /// The number of the line at `at`. Reading good records needs no line numbers.
    fn line_of(&self, at: usize) -> u64 {
        self.first_line + memchr_iter(b'\n', &self.bytes[..at]).count() as u64
    }

    /// Counts the bad record as skipped, or fails with its error.
    fn fail(&self, at: usize, bad: RecordError, out: &mut EdgeChunk) -> Result<(), InputError> {
        let keep = self.dialect.on_error == OnError::Fail || out.skipped.len() < SKIPPED_KEPT_MAX;
        out.skipped_count += 1;
        if !keep {
            return Ok(());
        }
        let line = self.line_of(at);
        let column = bad.column.map_or(0, |c| u32::try_from(c + 1).unwrap_or(u32::MAX));
        let error = InputError::whole(&self.dialect.file, bad.expected, bad.found);
        let error = InputError { hint: bad.hint, ..error.at(Place::Line(line), column) };
        if self.dialect.on_error == OnError::Fail {
            return Err(error);
        }
        out.skipped.push(error);
        Ok(())
    }
}

fn push_weight(weight: Weight, out: &mut EdgeChunk) {
    match (weight, &mut out.weights) {
        (Weight::Float(weight), Weights::Float(weights)) => weights.push(weight),
        (Weight::Int(weight), Weights::Int(weights)) => weights.push(weight),
        // Without a weight column, default weights are appended once, at the end of the chunk.
        _ => {}
    }
}
