//! From a chunk of text to columns of edges. Pure, so that any worker can do any chunk.

use memchr::{memchr, memchr_iter};

use crate::{
    EdgeChunk, InputError, careful::Careful, dialect::Dialect, fast, options::VertexType,
    splitter::Chunk,
};

/// Reads the edges of a chunk into `out`, which is emptied first.
///
/// # Errors
/// A record is bad and the dialect does not skip; `out` holds the edges before it then. With
/// [`crate::OnError::Skip`] there is no error, and `out` counts what was left out.
pub fn parse_chunk(
    dialect: &Dialect,
    chunk: &Chunk,
    out: &mut EdgeChunk,
) -> Result<(), InputError> {
    out.reset(dialect.weight_type);
    let bytes = chunk.bytes.as_slice();
    let first_byte = usize::try_from(chunk.first_byte).unwrap_or(usize::MAX);
    let start = dialect.data_start.saturating_sub(first_byte).min(bytes.len());
    let careful = Careful::new(dialect, bytes, chunk.first_line);
    let quotes = memchr(b'"', bytes).is_some();
    if fast::applies(dialect, quotes) {
        reserve(dialect, bytes, out);
        fast::parse(dialect, bytes, start, &careful, out)?;
    } else {
        reserve(dialect, bytes, out);
        careful_only(bytes, start, &careful, out)?;
    }
    out.fill_weights(dialect.default_weight);
    Ok(())
}

fn careful_only(
    bytes: &[u8],
    mut at: usize,
    careful: &Careful<'_>,
    out: &mut EdgeChunk,
) -> Result<(), InputError> {
    while at < bytes.len() {
        at = careful.record(at, out)?;
    }
    Ok(())
}

/// Room for as many edges as there are lines. Counting them is far cheaper than growing.
fn reserve(dialect: &Dialect, bytes: &[u8], out: &mut EdgeChunk) {
    let lines = memchr_iter(b'\n', bytes).count() + 1;
    if dialect.vertex != VertexType::Str {
        out.src.reserve(lines);
        out.dst.reserve(lines);
    }
    out.reserve_weights(lines);
}
