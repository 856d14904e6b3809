//! Edge lists from text and columns: parallel CSV parsing, decompression, Arrow and Parquet.
//!
//! # How the pieces fit
//! A stream of bytes goes through [`decompressor`], then through a [`Splitter`], which cuts it into
//! [`Chunk`]s that end at record boundaries. [`sniff`] reads the first bytes once and detects
//! delimiter, header and columns, as a [`Dialect`]. [`parse_chunk`] is a pure function of a dialect
//! and a chunk, so the caller can parse chunks on any number of workers. The result is an
//! [`EdgeChunk`]: columns of sources, targets and weights in file order.
//!
//! ```
//! use quipu_ingest::{EdgeChunk, Splitter, TextOptions, decompressor, parse_chunk, sniff};
//!
//! let text = "from,to\n1,2\n2,3\n".as_bytes();
//! let (_, reader) = decompressor(text)?;
//! let mut splitter = Splitter::new(reader, "edges.csv");
//! let dialect = sniff(splitter.head()?, "edges.csv", &TextOptions::default())?;
//! let mut edges = EdgeChunk::default();
//! let mut buffer = Vec::new();
//! while let Some(chunk) = splitter.next(&dialect, buffer)? {
//!     parse_chunk(&dialect, &chunk, &mut edges)?; // on any worker
//!     assert_eq!((&edges.src[..], &edges.dst[..]), (&[1, 2][..], &[2, 3][..]));
//!     buffer = chunk.bytes; // its memory serves the next chunk
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate leaves out on purpose
//! It opens no file, starts no thread and knows nothing about storage. The caller supplies the
//! `Read` that bytes come from, the workers, and the memory of the columns.
//!
//! # Invariants
//! 1. Integer vertices are returned as words whose unsigned order is the order of the vertices. For
//!    signed vertices the sign bit is flipped (see [`i64_to_word`]).
//! 2. The chunks of a stream, in order, contain every byte of it exactly once.
//! 3. Parsing chunk by chunk gives the same edges as parsing the whole text at once.
//! 4. No input makes this crate panic: the result is edges, or an error that names the place.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `error`, `options`, `number`, `known_names`, `syntax`, `matrix`: errors, options, numbers,
//!    names of columns, delimiters, the size of a matrix.
//! 2. `bzip2`, `zip`, `decompress`, `foreign`: plain bytes of a stream, and files that are no text.
//! 3. `scan`: the ends of fields, records and lines.
//! 4. `edges`, `columns`: columns of edges, and which columns of the input they are.
//! 5. `dialect`, `sample`, `header`: how a text is read, its first records, its header.
//! 6. `splitter`: chunks of whole records.
//! 7. `full_parser`, `fast_path`, `matrix_market`, `parse`: from a chunk to edges.
//! 8. `formats::sink`, `formats::pass`, `formats::lines`, `formats::dimacs`, `formats::gml`,
//!    `formats::metis`, `formats::networkx`, `formats::pajek`, `formats::xml`, `formats`: files of
//!    graphs that are read edge by edge.
//! 9. `sniff`, `guess`: the dialect of a file, and the types that fit it.
//! 10. `row_text`, `row_columns`, `write`: text with any columns, and text that is written.
//! 11. `arrow_edges`, `parquet_sizes`, `parquet_edges`, `parquet_rows`: Arrow and Parquet.

#[cfg(feature = "arrow")]
pub mod arrow_edges;
mod bzip2;
mod columns;
mod decompress;
mod dialect;
mod edges;
mod error;
mod fast_path;
mod foreign;
mod formats;
mod full_parser;
mod guess;
mod header;
mod known_names;
mod matrix;
mod matrix_market;
mod number;
mod options;
#[cfg(feature = "parquet")]
pub mod parquet_edges;
#[cfg(feature = "parquet")]
pub mod parquet_rows;
#[cfg(feature = "parquet")]
mod parquet_sizes;
mod parse;
mod row_columns;
mod row_text;
mod sample;
mod scan;
mod sniff;
mod splitter;
mod syntax;
mod write;
mod zip;

pub use decompress::{Compression, decompressor};
pub use dialect::Dialect;
pub use edges::{EdgeChunk, SKIPPED_KEPT_MAX, StrColumn, Weights};
pub use error::{Error, InputError, Place, missing_error, vertices_error};
pub use formats::{GraphFormat, GraphReader};
pub use guess::guess_types;
pub use matrix::Matrix;
pub use number::{i64_to_word, is_null, parse_float, word_to_i64};
pub use options::{
    ColumnRef, Columns, EdgeOptions, Missing, OnError, TextOptions, VertexType, WeightType,
};
pub use parse::parse_chunk;
pub use row_columns::{
    EdgeEnds, WeightNames, edge_ends, is_index_column, property_name, vertex_column,
};
pub use row_text::{RowDialect, TextColumn, TextRows, read_rows, sniff_rows};
pub use sample::SNIFF_BYTES;
pub use sniff::sniff;
pub use splitter::{CHUNK_BYTES, Chunk, RECORD_BYTES_MAX, Splitter};
pub use syntax::{Delimiter, Syntax};
pub use write::{TextEdgeWriter, write_float, write_text};
