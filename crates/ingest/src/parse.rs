//! Parses a chunk of text into columns of edges. A pure function, so any worker can parse any
//! chunk.

use memchr::{memchr, memchr_iter};

use crate::dialect::Dialect;
use crate::edges::EdgeChunk;
use crate::error::InputError;
use crate::fast_path;
use crate::full_parser::FullParser;
use crate::matrix_market;
use crate::options::VertexType;
use crate::splitter::Chunk;

/// Parses the edges of a chunk into `out`, which is emptied first.
///
/// # Errors
/// A record is bad and [`crate::OnError::Fail`] is set; `out` then holds the edges before it. With
/// [`crate::OnError::Skip`] there is no error, and `out` counts the skipped records.
pub fn parse_chunk(
    dialect: &Dialect,
    chunk: &Chunk,
    out: &mut EdgeChunk,
) -> Result<(), InputError> {
    out.reset(dialect.weight_type);
    let bytes = chunk.bytes.as_slice();
    let first_byte = usize::try_from(chunk.first_byte).unwrap_or(usize::MAX);
    let start = dialect.data_start.saturating_sub(first_byte).min(bytes.len());
    let full_parser = FullParser::new(dialect, bytes, chunk.first_line);
    let quotes = dialect.syntax.quotes && memchr(b'"', bytes).is_some();
    reserve(dialect, bytes, out);
    if fast_path::applies(dialect, quotes) {
        fast_path::parse(dialect, bytes, start, &full_parser, out)?;
    } else {
        parse_fully(bytes, start, &full_parser, out)?;
    }
    out.fill_weights(dialect.default_weight);
    match &dialect.matrix {
        Some(matrix) => matrix_market::complete(matrix, dialect, out),
        None => Ok(()),
    }
}

fn parse_fully(
    bytes: &[u8],
    mut at: usize,
    full_parser: &FullParser<'_>,
    out: &mut EdgeChunk,
) -> Result<(), InputError> {
    while at < bytes.len() {
        at = full_parser.record(at, out)?;
    }
    Ok(())
}

/// Reserves memory for as many edges as there are lines. Counting lines is far cheaper than
/// growing.
fn reserve(dialect: &Dialect, bytes: &[u8], out: &mut EdgeChunk) {
    let lines = memchr_iter(b'\n', bytes).count() + 1;
    if dialect.vertex != VertexType::Str {
        out.src.reserve(lines);
        out.dst.reserve(lines);
    }
    out.reserve_weights(lines);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Delimiter, Missing, OnError, Syntax, VertexType, WeightType};

    fn dialect(
        delimiter: Delimiter,
        vertex: VertexType,
        weight_type: WeightType,
        swapped: bool,
        exact: bool,
    ) -> Dialect {
        let weight = (weight_type != WeightType::None).then_some(2);
        Dialect {
            file: "edges".to_owned(),
            syntax: Syntax { delimiter, quotes: true, comment: None },
            names: None,
            columns: if weight.is_some() { 3 } else { 2 },
            source: usize::from(swapped),
            target: usize::from(!swapped),
            weight,
            exact,
            vertex,
            weight_type,
            default_weight: 1.0,
            missing: Missing::Fail,
            decimal: b'.',
            null_values: Vec::new(),
            is_of_vertices: false,
            matrix: None,
            detected: Vec::new(),
            on_error: OnError::Skip,
            data_start: 0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_fast_path_reads_what_the_full_parser_reads(
            lines in prop::collection::vec(
                "(-?[0-9]{1,21}|[0-9x+\"]{0,2})[, \t]{1,2}(-?[0-9]{1,9}|[ 0-9\"]{0,2})\
                 ([, ](-?[0-9]{1,9}(\\.[0-9]{0,9})?|[0-9.e\"]{0,4}))?[ ,]?x?\r?\n",
                0..20,
            ),
            blanks: bool,
            vertex in prop::sample::select(vec![VertexType::U64, VertexType::I64]),
            weight in prop::sample::select(vec![WeightType::None, WeightType::Float, WeightType::Int]),
            swapped: bool,
            exact: bool,
        ) {
            let delimiter = if blanks { Delimiter::Whitespace } else { Delimiter::Byte(b',') };
            let dialect = dialect(delimiter, vertex, weight, swapped, exact);
            let bytes = lines.concat().into_bytes();
            let chunk = Chunk { seq: 0, first_line: 1, first_byte: 0, bytes };
            let mut got = EdgeChunk::default();
            parse_chunk(&dialect, &chunk, &mut got).unwrap();
            let mut want = EdgeChunk::default();
            want.reset(weight);
            let full_parser = FullParser::new(&dialect, &chunk.bytes, 1);
            parse_fully(&chunk.bytes, 0, &full_parser, &mut want).unwrap();
            prop_assert_eq!(got, want);
        }
    }
}
