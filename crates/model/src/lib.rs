//! Types and values of the query language, their total order, and order-preserving encodings into
//! words and byte strings.
//!
//! # Invariants
//! 1. All values have one total order, across kinds. Values that compare equal are identical.
//! 2. Encoded values compare bytewise as the values do; words compare as unsigned integers.
//! 3. Decoding accepts any bytes: it returns the value that they encode, or an error.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `calendar`, `decimal`: dates, times and durations as text, and decimal numbers.
//! 2. `number`: integers, floats and decimals in one order.
//! 3. `value`: values and their order.
//! 4. `encode`, `json_path`, `tree`, `types`: their bytes, paths into JSON, their JSON, and the
//!    types of columns.
//! 5. `field`, `series`, `words`: values as fields of text, columns of values, values as words.

pub mod calendar;
mod decimal;
mod encode;
mod field;
mod json_path;
mod number;
mod series;
mod tree;
mod types;
mod value;
mod words;

pub use decimal::{Decimal, DecimalSum};
pub use encode::{
    BorrowedValue, DecodeError, ListItem, decode_list_item, decode_next, decode_str, decode_tuple,
    decode_value, encode_str, encode_tuple, encode_value,
};
pub use json_path::{JsonStep, JsonText};
pub use series::{Frame, FrameError, Series, Values};
pub use types::{Type, TypeError, VectorKind};
pub use value::{Json, Validity, Value, Vector};
pub use words::{value_of_word, word_of_value};
