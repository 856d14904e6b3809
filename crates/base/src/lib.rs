//! Basic types of all engine crates: ids, checksums, varints, and columns of words and bytes.
//!
//! # Why here
//! The storage engine stores rows of *words* (`u64`) and *bytes* and knows no other types. These
//! rows travel in columns from the API to the disk and back, so the column types are in the lowest
//! crate. This crate does no I/O and contains nothing specific to graphs or Datalog.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `checksum`, `corruption`, `ids`, `prefetch`, `sort`, `varint`: functions and small types.
//! 2. `fault_switch`, `mark`: faults that tests switch on, and branches that they count.
//! 3. `shape`, `key`: shapes of rows, and keys.
//! 4. `column`, `total`, `block_filter`: columns of rows, sums of one key, and conditions on
//!    columns.
//! 5. `key_order`: the order of many keys.

pub mod block_filter;
pub mod checksum;
pub mod column;
pub mod corruption;
pub mod fault_switch;
pub mod ids;
pub mod key;
pub mod key_order;
pub mod mark;
pub mod prefetch;
pub mod shape;
pub mod sort;
pub mod total;
pub mod varint;

pub use block_filter::{BlockFilter, ColumnRanges, ColumnStatistics};
pub use checksum::{Checksummer, checksum};
pub use column::{Batch, BytesColumn, Column, Keys, Projection, Validity, WordColumn};
pub use corruption::Corruption;
pub use ids::{KeyspaceId, SeqNo, TableId};
pub use key::{Key, KeyRange, KeyRef, WORDS_MAX, leading_word, next_words};
pub use shape::{ColumnShape, KeyShape, Kind, Merge, Shape, VALUES_MAX};
pub use shape::{float_to_word, int_to_word, word_to_float, word_to_int};
pub use sort::{STEPS, sort_in_pieces, sort_words_in_pieces};
pub use total::Total;
