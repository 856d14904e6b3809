//! The fast path for plain records: integers, one delimiter, no quotes, nothing unusual.
//!
//! A record that is not exactly like this is left to [`FullParser`], one record at a time, so this
//! loop never decides what is valid. `examples/parse_speed.rs` measures its gain over the full
//! path.
//!
//! # Invariants
//! 1. A record is parsed here only if [`FullParser`] would give the same edge.
//! 2. Nothing of a record is appended before all of it is parsed.

use memchr::memchr;

use crate::dialect::Dialect;
use crate::edges::{EdgeChunk, Weights};
use crate::error::InputError;
use crate::full_parser::FullParser;
use crate::number;
use crate::options::{VertexType, WeightType};
use crate::scan::is_blank;
use crate::syntax::Delimiter;

/// Whether this loop can read any record of the dialect. `quotes`: the chunk contains quotes.
pub(crate) fn applies(dialect: &Dialect, quotes: bool) -> bool {
    let first_two = matches!((dialect.source, dialect.target), (0, 1) | (1, 0));
    let third = dialect.weight.is_none_or(|weight| weight == 2);
    // If more columns are allowed, the loop skips the rest of a line. With quotes in the chunk, the
    // newline that it finds may be inside of a quoted field.
    let rest = dialect.exact || !quotes;
    // A number with a decimal point would be read, though it is none with a decimal comma.
    let points = dialect.decimal == b'.' || dialect.weight_type != WeightType::Float;
    dialect.vertex != VertexType::Str && first_two && third && rest && points
}

/// Parses `bytes` from `at` to the end.
///
/// # Errors
/// As [`FullParser::record`].
pub(crate) fn parse(
    dialect: &Dialect,
    bytes: &[u8],
    at: usize,
    full_parser: &FullParser<'_>,
    out: &mut EdgeChunk,
) -> Result<(), InputError> {
    let weighted = if dialect.weight.is_some() { dialect.weight_type } else { WeightType::None };
    match (dialect.vertex == VertexType::I64, weighted) {
        (false, WeightType::None) => run::<false, NONE>(dialect, bytes, at, full_parser, out),
        (false, WeightType::Float) => run::<false, FLOAT>(dialect, bytes, at, full_parser, out),
        (false, WeightType::Int) => run::<false, INT>(dialect, bytes, at, full_parser, out),
        (true, WeightType::None) => run::<true, NONE>(dialect, bytes, at, full_parser, out),
        (true, WeightType::Float) => run::<true, FLOAT>(dialect, bytes, at, full_parser, out),
        (true, WeightType::Int) => run::<true, INT>(dialect, bytes, at, full_parser, out),
    }
}

const NONE: u8 = 0;
const FLOAT: u8 = 1;
const INT: u8 = 2;

fn run<const SIGNED: bool, const WEIGHT: u8>(
    dialect: &Dialect,
    bytes: &[u8],
    mut at: usize,
    full_parser: &FullParser<'_>,
    out: &mut EdgeChunk,
) -> Result<(), InputError> {
    match dialect.syntax.delimiter {
        Delimiter::Byte(byte) => {
            let shape = Shape::<false> { byte, exact: dialect.exact };
            while at < bytes.len() {
                at = span::<SIGNED, WEIGHT, false>(shape, dialect, bytes, at, out);
                if at < bytes.len() {
                    at = full_parser.record(at, out)?;
                }
            }
        }
        Delimiter::Whitespace => {
            let shape = Shape::<true> { byte: b' ', exact: dialect.exact };
            while at < bytes.len() {
                at = span::<SIGNED, WEIGHT, true>(shape, dialect, bytes, at, out);
                if at < bytes.len() {
                    at = full_parser.record(at, out)?;
                }
            }
        }
    }
    Ok(())
}

/// Parses plain records from `at` and returns where the first other record starts.
fn span<const SIGNED: bool, const WEIGHT: u8, const BLANKS: bool>(
    shape: Shape<BLANKS>,
    dialect: &Dialect,
    bytes: &[u8],
    mut at: usize,
    out: &mut EdgeChunk,
) -> usize {
    let EdgeChunk { src, dst, weights, .. } = out;
    let (first, second) = if dialect.source == 0 { (src, dst) } else { (dst, src) };
    let mut none = Vec::new();
    let (floats, ints) = (&mut Vec::new(), &mut none);
    let (floats, ints) = match weights {
        Weights::None => (floats, ints),
        Weights::Float(weights) => (weights, ints),
        Weights::Int(weights) => (floats, weights),
    };
    while let Some((a, b, weight, next)) = line::<SIGNED, WEIGHT, BLANKS>(shape, bytes, at) {
        first.push(a);
        second.push(b);
        match WEIGHT {
            FLOAT => floats.push(f64::from_bits(weight)),
            INT => ints.push(weight as i64),
            _ => {}
        }
        at = next;
    }
    at
}

/// The delimiter of plain records, and whether their number of columns is `exact`.
#[derive(Clone, Copy)]
struct Shape<const BLANKS: bool> {
    byte: u8,
    exact: bool,
}

impl<const BLANKS: bool> Shape<BLANKS> {
    #[inline(always)]
    fn is_delimiter(self, byte: u8) -> bool {
        if BLANKS { is_blank(byte) } else { byte == self.byte }
    }

    /// Where the field after the delimiter at `at` starts; `None` where there is no delimiter.
    #[inline(always)]
    fn delimiter(self, bytes: &[u8], at: usize) -> Option<usize> {
        if !self.is_delimiter(*bytes.get(at)?) {
            return None;
        }
        Some(self.blanks(bytes, at + 1))
    }

    #[inline(always)]
    fn blanks(self, bytes: &[u8], mut at: usize) -> usize {
        if BLANKS {
            while bytes.get(at).is_some_and(|&b| is_blank(b)) {
                at += 1;
            }
        }
        at
    }

    /// The byte after the line end at `at`; `None` where the line does not end.
    #[inline(always)]
    fn line_end(self, bytes: &[u8], at: usize) -> Option<usize> {
        if *bytes.get(at)? == b'\n' {
            return Some(at + 1);
        }
        self.unusual_line_end(bytes, at)
    }

    #[inline]
    fn unusual_line_end(self, bytes: &[u8], at: usize) -> Option<usize> {
        let blank = self.blanks(bytes, at);
        match *bytes.get(blank)? {
            b'\n' => return Some(blank + 1),
            b'\r' if bytes.get(blank + 1) == Some(&b'\n') => return Some(blank + 2),
            _ => {}
        }
        if self.exact || !self.is_delimiter(bytes[at]) {
            return None;
        }
        memchr(b'\n', &bytes[at..]).map(|n| at + n + 1)
    }
}

/// The record at `at`: source, target, the bits of the weight, and where the next one starts.
#[inline(always)]
fn line<const SIGNED: bool, const WEIGHT: u8, const BLANKS: bool>(
    shape: Shape<BLANKS>,
    bytes: &[u8],
    at: usize,
) -> Option<(u64, u64, u64, usize)> {
    let (a, at) = vertex::<SIGNED>(bytes, at)?;
    let at = shape.delimiter(bytes, at)?;
    let (b, at) = vertex::<SIGNED>(bytes, at)?;
    if WEIGHT == NONE {
        return Some((a, b, 0, shape.line_end(bytes, at)?));
    }
    let at = shape.delimiter(bytes, at)?;
    let (weight, at) = if WEIGHT == FLOAT {
        let (weight, at) = number::fast_f64(bytes, at)?;
        (weight.to_bits(), at)
    } else {
        let (weight, at) = number::fast_i64(bytes, at)?;
        (weight as u64, at)
    };
    Some((a, b, weight, shape.line_end(bytes, at)?))
}

#[inline(always)]
fn vertex<const SIGNED: bool>(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    if SIGNED {
        let (vertex, end) = number::fast_i64(bytes, at)?;
        Some((number::i64_to_word(vertex), end))
    } else {
        number::fast_digits(bytes, at)
    }
}
