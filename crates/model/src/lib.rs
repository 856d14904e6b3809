//! Types, values and their total order, and the order-keeping encodings into words and bytes.
//!
//! # Invariants
//! 1. Values are in one total order, whatever their kinds; equal means the same in every respect.
//! 2. Encoded values compare bytewise, and words unsigned, as the values do.
//! 3. Decoding takes any bytes: it gives the value that was encoded, or an error.

mod encode;
mod number;
mod series;
mod tree;
mod types;
mod value;
mod words;

pub use encode::{
    DecodeError, Lent, decode_next, decode_text, decode_tuple, decode_value, encode_text,
    encode_tuple, encode_value,
};
pub use series::{Frame, FrameError, Series, Values};
pub use types::{Type, TypeError, VectorKind};
pub use value::{Json, Validity, Value, Vector};
pub use words::{value_of_word, word_of_value};
