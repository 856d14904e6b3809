//! Finds the types of vertices and weights that fit a file, from its first bytes, for a graph that
//! does not exist yet.
//!
//! # Why a few bad records do not change the type
//! If nearly all vertices are numbers, one that is not is a mistake in the file or worth a
//! question. The import then fails at its place; it does not turn all numbers into names.

use std::io::Read;

use crate::decompress::decompressor;
use crate::dialect::Dialect;
use crate::edges::EdgeChunk;
use crate::error::InputError;
use crate::formats::{GraphFormat, GraphReader};
use crate::matrix_market;
use crate::options::{EdgeOptions, Missing, OnError, TextOptions, VertexType, WeightType};
use crate::parse::parse_chunk;
use crate::sample::sample;
use crate::sniff;
use crate::splitter::Chunk;

/// Plain bytes that are looked at.
const PLAIN_BYTES: usize = 256 << 10;

/// Good records for each bad one at least; fewer suffice if bad ones are to be skipped.
const GOOD_RECORDS: u64 = 20;
const GOOD_RECORDS_SKIPPING: u64 = 2;

/// The types that fit the text, or the format, whose stored bytes begin with `head`. Vertices are
/// unsigned if all are, otherwise signed if all are, otherwise strings. Weights of text are floats.
/// `None`: a table of vertices, which has no edges.
///
/// # Errors
/// The bytes are none of edges, or their columns cannot be told apart.
pub fn guess_types(
    head: &[u8],
    file: &str,
    options: &TextOptions,
) -> Result<Option<(VertexType, WeightType)>, InputError> {
    let mut plain = Vec::new();
    if let Ok((_, reader)) = decompressor(head) {
        // The head may end inside of the compressed data.
        let _ = reader.take(PLAIN_BYTES as u64).read_to_end(&mut plain);
    }
    if matrix_market::is_one(&plain) {
        return Ok(Some((VertexType::U64, matrix_market::weight_type(&plain))));
    }
    let with = |vertex, weight| TextOptions {
        edges: EdgeOptions { vertex, weight, missing: Missing::Skip, ..options.edges.clone() },
        on_error: OnError::Skip,
        ..options.clone()
    };
    if let Some(format) = GraphFormat::detect(&plain, file) {
        let options = with(VertexType::Str, WeightType::Float);
        let mut reader = GraphReader::new(format, std::io::Cursor::new(plain), file, &options);
        let mut chunk = EdgeChunk::default();
        // An error at the end of the head is none of the file.
        while reader.next_chunk(&mut chunk).unwrap_or(false) {}
        return Ok(Some(reader.types()));
    }
    // The last line may be cut off.
    if head.len() >= PLAIN_BYTES || plain.len() >= PLAIN_BYTES {
        let end = memchr::memrchr(b'\n', &plain).map_or(plain.len(), |n| n + 1);
        plain.truncate(end);
    }
    let is_skipping = options.on_error == OnError::Skip;
    let good_records = if is_skipping { GOOD_RECORDS_SKIPPING } else { GOOD_RECORDS };
    let mut last = VertexType::Str;
    for vertex in [VertexType::U64, VertexType::I64] {
        let options = with(vertex, WeightType::Float);
        let dialect = sniff(&plain, file, &options)
            .or_else(|_| sniff(&plain, file, &with(vertex, WeightType::None)));
        let Ok(dialect) = dialect else { continue };
        if dialect.is_of_vertices {
            return Ok(None);
        }
        if has_leading_zeros(&dialect, &plain) {
            break;
        }
        let mut edges = EdgeChunk::default();
        let chunk = Chunk { bytes: plain.clone(), first_line: 1, ..Chunk::default() };
        let read = parse_chunk(&dialect, &chunk, &mut edges);
        let good = edges.len() as u64 + edges.missing_count;
        if read.is_ok() && good > 0 && edges.skipped_count * good_records <= good {
            last = vertex;
            break;
        }
    }
    let of = |weight| sniff(&plain, file, &with(last, weight));
    // Columns that look like times are no weights; for a graph with weights they are an error.
    let dialect = of(WeightType::Float).or_else(|error| of(WeightType::None).map_err(|_| error))?;
    if dialect.is_of_vertices {
        return Ok(None);
    }
    Ok(Some((last, if dialect.weight.is_some() { WeightType::Float } else { WeightType::None })))
}

/// Whether vertices are digits with a leading zero, as postal codes are: these are names.
fn has_leading_zeros(dialect: &Dialect, plain: &[u8]) -> bool {
    let rows = sample(plain, dialect.data_start, dialect.syntax);
    rows.iter().any(|row| {
        let ends = [dialect.source, dialect.target].into_iter().filter_map(|at| row.fields.get(at));
        ends.into_iter().any(|text| matches!(text.trim_ascii(), [b'0', b'0'..=b'9', ..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: (VertexType, WeightType)) {
        let types = guess_types(text.as_bytes(), "x", &TextOptions::default());
        assert_eq!(types.map_err(|error| error.to_string()), Ok(Some(want)), "{text:?}");
    }

    #[test]
    fn types_are_those_of_the_values() {
        use {VertexType::*, WeightType::*};
        check("1,2\n3,4\n", (U64, None));
        check("1 2 0.5\n3 4 1\n", (U64, Float));
        check("-1,2\n3,4\n", (I64, None));
        check("ann,bob\nbob,carl\n", (Str, None));
        check("Source,Target,Type,Weight\nann,bob,Directed,2\n", (Str, Float));
        check("source,target\n1,2\n", (U64, None));
        check("1 2 {}\n", (U64, None));
        check("a b {'weight': 2}\n", (Str, Float));
        check("% asym unweighted\n1 2\n", (U64, None));
        check("% bip weighted\n1 2 3 1082040961\n", (U64, Float));
        check("1 2 1082040961\n2 3 1082040962\n", (U64, None));
        check("6,2,4,1289241911.72836\n6,5,2,1289241941.53378\n", (U64, Float));
        check("a;b;1,5\nb;c;2,0\n", (Str, Float));
        check("s;t;w\n1;2;1,5\n2;3;2\n", (U64, Float));
        check("01234,1235\n1235,1236\n", (Str, None));
        check("0,10\n10,100\n", (U64, None));
        check(",person,friend\n0,ann,bob\n1,bob,carl\n", (Str, None));
        check("%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 3\n", (U64, Int));
        check("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 3\n", (U64, Int));
        let json = guess_types(b"{\"source\": 1, \"target\": 2}\n", "x", &TextOptions::default());
        assert_eq!(json.map_err(|error| error.found), Err("JSON".to_owned()));
        let nodes = guess_types(b"Id,Label\n1,Ann\n", "x", &TextOptions::default());
        assert_eq!(nodes, Ok(Option::None));
        check(&format!("{}x,9\n", "1,2\n".repeat(100)), (U64, None));
    }
}
