//! Writes edges as text that [`crate::sniff`] reads back with the same types.

use std::fmt::Write as _;

use crate::edges::{EdgeChunk, Weights};
use crate::number::word_to_i64;
use crate::options::{VertexType, WeightType};
use crate::scan;

/// Writes chunks of edges as delimited text with lines that end in `\n`.
///
/// Floats are written with the fewest digits that read back as the same float. String vertices are
/// quoted where needed.
#[derive(Clone, Copy, Debug)]
pub struct TextEdgeWriter {
    delimiter: u8,
    vertex: VertexType,
    weight: WeightType,
}

impl TextEdgeWriter {
    /// A writer of edges of these types. `delimiter` is an ASCII byte such as `b','` or `b'\t'`.
    pub fn new(delimiter: u8, vertex: VertexType, weight: WeightType) -> Self {
        Self { delimiter, vertex, weight }
    }

    /// Appends the header line `source,target` or `source,target,weight`.
    pub fn header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"source");
        out.push(self.delimiter);
        out.extend_from_slice(b"target");
        if self.weight != WeightType::None {
            out.push(self.delimiter);
            out.extend_from_slice(b"weight");
        }
        out.push(b'\n');
    }

    /// Appends the edges of a chunk.
    ///
    /// # Panics
    /// The chunk has other types than the writer, or its columns differ in length.
    pub fn edges(&self, chunk: &EdgeChunk, out: &mut Vec<u8>) {
        let edges = chunk.len();
        match self.vertex {
            VertexType::Str => {
                assert!(chunk.src_str.len() == edges && chunk.dst_str.len() == edges)
            }
            _ => assert!(chunk.src.len() == edges && chunk.dst.len() == edges),
        }
        let weights = if self.weight == WeightType::None { 0 } else { edges };
        assert!(chunk.weights.len() == weights || self.weight == WeightType::None);
        let mut text = String::new();
        let mut src_str = chunk.src_str.iter();
        let mut dst_str = chunk.dst_str.iter();
        for i in 0..edges {
            if self.vertex == VertexType::Str {
                self.name(src_str.next().unwrap_or_default(), out);
                out.push(self.delimiter);
                self.name(dst_str.next().unwrap_or_default(), out);
            } else {
                self.word(chunk.src[i], out);
                out.push(self.delimiter);
                self.word(chunk.dst[i], out);
            }
            if self.weight != WeightType::None {
                out.push(self.delimiter);
                match &chunk.weights {
                    Weights::None => {}
                    Weights::Float(weights) => write_float(weights[i], &mut text, out),
                    Weights::Int(weights) => signed(weights[i], out),
                }
            }
            out.push(b'\n');
        }
    }

    fn word(&self, word: u64, out: &mut Vec<u8>) {
        match self.vertex {
            VertexType::I64 => signed(word_to_i64(word), out),
            _ => unsigned(word, out),
        }
    }

    fn name(&self, name: &str, out: &mut Vec<u8>) {
        write_text(name, self.delimiter, false, out);
    }
}

/// Appends a string, in quotes if it is misread without them or `is_quoted` asks for them.
pub fn write_text(text: &str, delimiter: u8, is_quoted: bool, out: &mut Vec<u8>) {
    if !is_quoted && !scan::needs_quotes(text.as_bytes(), delimiter) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

fn signed(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(value.unsigned_abs(), out);
}

/// Writes two digits at a time: formatting through `fmt` is several times slower.
fn unsigned(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        let two = (value % 100) as u8;
        value /= 100;
        at -= 2;
        digits[at] = b'0' + two / 10;
        digits[at + 1] = b'0' + two % 10;
        if value == 0 {
            break;
        }
    }
    let start = at + usize::from(digits[at] == b'0');
    out.extend_from_slice(&digits[start..]);
}

/// Appends a float with the fewest digits that read back as the same float. `text` is a buffer.
pub fn write_float(value: f64, text: &mut String, out: &mut Vec<u8>) {
    text.clear();
    let size = value.abs();
    // Writing to a string cannot fail.
    let _ = if size != 0.0 && !(1e-5..1e16).contains(&size) {
        write!(text, "{value:e}")
    } else {
        write!(text, "{value}")
    };
    out.extend_from_slice(text.as_bytes());
}
