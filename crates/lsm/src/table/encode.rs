//! Rows to the bytes of one block, and the split of those bytes back into columns' sections.
//!
//! # Why lengths first
//! All section lengths stand at the block's front, so a reader finds each column by adding up a few
//! numbers and touches no column that it does not want.
//!
//! # Invariants
//! 1. What says nothing is not stored: numbers that are all 0, kinds that are all puts, a validity
//!    that is all valid have length 0.
//! 2. A row without a value takes the word of a neighbour, so that a filler never spoils the
//!    column's encoding.

use crate::codec::{Malformed, bitmap, bytes, runs, words};
use crate::rows::Rows;
use base::{Column, ColumnShape, Keys, Kind, SeqNo, Shape, WordColumn};
use std::ops::Range;

/// The block stores sequence numbers.
pub(super) const HAS_SEQS: u8 = 1;
/// The block stores kinds.
pub(super) const HAS_KINDS: u8 = 2;
/// A key is in the block more than once.
pub(super) const HAS_REPEATS: u8 = 4;
/// The strings of the only string column are stored behind the sections, which form the block's
/// header.
pub(super) const IS_APART: u8 = 8;
const FLAGS: u8 = HAS_SEQS | HAS_KINDS | HAS_REPEATS | IS_APART;

/// Bytes before the section lengths: row count, flags, largest sequence number.
const HEAD_BYTES: usize = 4 + 1 + 8;

/// Sections before those of the value columns: keys, sequence numbers, kinds.
const FIXED_SECTIONS: usize = 3;

/// The treatment of a block's strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strings {
    /// They are compressed where that pays.
    Compress,
    /// They stand in the block as they are.
    Keep,
    /// The strings of the only string column among the values are stored behind the block's header.
    /// Keys are compressed if that pays, or not.
    Apart { compress_keys: bool },
}

/// The result for a block's strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Encoded {
    /// Keys were compressed.
    pub(super) keys: bool,
    /// Strings of values were.
    pub(super) values: bool,
    /// Bytes of the block's header if strings are separated from it; 0 if none are.
    pub(super) head_bytes: usize,
}

/// Appends the block of `range`, which has at least one row and less than 2 GiB.
pub(super) fn encode_block(
    rows: &Rows,
    range: Range<usize>,
    strings: Strings,
    out: &mut Vec<u8>,
) -> Encoded {
    let compress = strings == Strings::Compress;
    let is_apart = matches!(strings, Strings::Apart { .. });
    let compress_keys = compress || strings == Strings::Apart { compress_keys: true };
    let start = out.len();
    let sections = FIXED_SECTIONS + 2 * rows.values.len();
    out.extend_from_slice(&(range.len() as u32).to_le_bytes());
    out.resize(start + HEAD_BYTES + 4 * sections, 0);
    let mut lengths = Lengths { at: start + HEAD_BYTES, end: out.len() };

    let mut encoded = Encoded::default();
    match &rows.keys {
        Keys::Words(columns) => runs::encode_keys(columns, range.clone(), out),
        Keys::Bytes(column) => {
            encoded.keys = bytes::encode(column, range.clone(), compress_keys, out);
        }
    }
    lengths.close(out);

    let (mut flags, seq_max) = encode_versions(rows, range.clone(), &mut lengths, out);
    let mut heap: &[u8] = &[];
    for column in &rows.values {
        let all_valid = encode_validity(column, range.clone(), &mut lengths, out);
        match column {
            Column::Words(column) if all_valid => words::encode(&column.words[range.clone()], out),
            Column::Words(column) => words::encode(&without_fillers(column, range.clone()), out),
            Column::Bytes(column) if is_apart => {
                flags |= IS_APART;
                heap = bytes::encode_apart(column, range.clone(), out);
            }
            Column::Bytes(column) => {
                encoded.values |= bytes::encode(column, range.clone(), compress, out);
            }
        }
        lengths.close(out);
    }
    encoded.head_bytes = if flags & IS_APART != 0 { out.len() - start } else { 0 };
    out.extend_from_slice(heap);
    out[start + 4] = flags;
    out[start + 5..start + HEAD_BYTES].copy_from_slice(&seq_max.to_le_bytes());
    encoded
}

/// Appends sequence numbers and kinds, where a reader needs them. Returns the flags that say so,
/// and the greatest sequence number.
fn encode_versions(
    rows: &Rows,
    range: Range<usize>,
    lengths: &mut Lengths,
    out: &mut Vec<u8>,
) -> (u8, u64) {
    let mut flags = 0;
    let seqs = rows.seqs.get(range.clone()).unwrap_or_default();
    let seq_max = seqs.iter().copied().max().unwrap_or(0);
    if seq_max > 0 {
        flags |= HAS_SEQS;
        words::encode(seqs, out);
        if has_repeats(&rows.keys, range.clone()) {
            flags |= HAS_REPEATS;
        }
    }
    lengths.close(out);

    let kinds = rows.kinds.get(range).unwrap_or_default();
    if kinds.iter().any(|&kind| kind != Kind::Put as u8) {
        flags |= HAS_KINDS;
        let kinds: Vec<u64> = kinds.iter().map(|&kind| u64::from(kind)).collect();
        words::encode(&kinds, out);
    }
    lengths.close(out);
    (flags, seq_max)
}

/// Writes each section's length into the place kept for it.
struct Lengths {
    at: usize,
    end: usize,
}

impl Lengths {
    /// The section that began where the last one ended is complete.
    fn close(&mut self, out: &mut [u8]) {
        let bytes = (out.len() - self.end) as u32;
        out[self.at..self.at + 4].copy_from_slice(&bytes.to_le_bytes());
        self.at += 4;
        self.end = out.len();
    }
}

/// Appends the validity of one value column; whether every row has a value.
fn encode_validity(
    column: &Column,
    range: Range<usize>,
    lengths: &mut Lengths,
    out: &mut Vec<u8>,
) -> bool {
    let validity = match column {
        Column::Words(column) => &column.validity,
        Column::Bytes(column) => &column.validity,
    };
    let all_valid = validity.0.is_none() || range.clone().all(|row| validity.is_valid(row));
    if !all_valid {
        bitmap::encode(validity, range, out);
    }
    lengths.close(out);
    all_valid
}

/// The only value column that has strings, which may be separated. `None` if columns share a bit of
/// a projection: a read could not leave this column out and take another.
pub(super) fn apart_column(shape: &Shape) -> Option<usize> {
    if shape.values.len() > 64 {
        return None;
    }
    let mut strings = shape.values.iter().enumerate();
    let mut next = || strings.find(|(_, value)| matches!(value, ColumnShape::Bytes));
    let first = next().map(|(i, _)| i);
    if next().is_some() { None } else { first }
}

/// The words of the rows, fillers replaced by the valid word before (or the first after).
fn without_fillers(column: &WordColumn, range: Range<usize>) -> Vec<u64> {
    let mut word = range.clone().find_map(|row| column.get(row)).unwrap_or(0);
    range
        .map(|row| {
            word = column.get(row).unwrap_or(word);
            word
        })
        .collect()
}

/// Whether two rows `row - 1` and `row` of one input have one key.
pub(super) fn same_key(keys: &Keys, row: usize) -> bool {
    match keys {
        // The last word differs most often.
        Keys::Words(columns) => columns.iter().rev().all(|column| column[row] == column[row - 1]),
        Keys::Bytes(column) => column.get(row) == column.get(row - 1),
    }
}

fn has_repeats(keys: &Keys, range: Range<usize>) -> bool {
    range.skip(1).any(|row| same_key(keys, row))
}

/// A block's header and where its sections lie. Separated strings are behind them, or were not read
/// along.
#[derive(Debug)]
pub(super) struct Sections<'a> {
    pub(super) rows: usize,
    pub(super) flags: u8,
    pub(super) seq_max: SeqNo,
    lengths: &'a [u8],
    body: &'a [u8],
    /// The bytes after the sections.
    pub(super) heap: &'a [u8],
}

impl<'a> Sections<'a> {
    /// Splits a block of this shape.
    pub(super) fn parse(block: &'a [u8], shape: &Shape) -> Result<Self, Malformed> {
        const CUT: Malformed = Malformed("a block cut short");
        let sections = FIXED_SECTIONS + 2 * shape.values.len();
        let (head, rest) = block.split_first_chunk::<HEAD_BYTES>().ok_or(CUT)?;
        let (lengths, body) = rest.split_at_checked(4 * sections).ok_or(CUT)?;
        let [r0, r1, r2, r3, flags, seq @ ..] = *head;
        let rows = u32::from_le_bytes([r0, r1, r2, r3]) as usize;
        if rows == 0 {
            return Err(Malformed("a block without rows"));
        }
        if flags & !FLAGS != 0 {
            return Err(Malformed("unknown flags of a block"));
        }
        let mut total = 0_usize;
        for length in lengths.as_chunks::<4>().0 {
            total = total.checked_add(u32::from_le_bytes(*length) as usize).ok_or(CUT)?;
        }
        let (body, heap) = body.split_at_checked(total).ok_or(CUT)?;
        if flags & IS_APART == 0 && !heap.is_empty() {
            return Err(Malformed("sections that do not fill the block"));
        }
        if flags & IS_APART != 0 && apart_column(shape).is_none() {
            return Err(Malformed("strings apart of no column"));
        }
        Ok(Self { rows, flags, seq_max: SeqNo(u64::from_le_bytes(seq)), lengths, body, heap })
    }

    /// The next section, in the order written. Empty past the last.
    pub(super) fn next(&mut self) -> &'a [u8] {
        let Some((length, rest)) = self.lengths.split_first_chunk::<4>() else { return &[] };
        self.lengths = rest;
        // In bounds: the lengths add up to the body.
        let (section, body) = self.body.split_at(u32::from_le_bytes(*length) as usize);
        self.body = body;
        section
    }
}

/// Bytes of one row that do not depend on its strings, as counted for the block's limit: a word
/// usually takes half of its eight bytes.
pub(super) fn fixed_row_bytes(shape: &Shape) -> usize {
    let words =
        shape.values.iter().filter(|value| matches!(value, ColumnShape::Word { .. })).count();
    4 * words
}

/// Bytes of strings, keys included, in the rows.
pub(super) fn string_bytes(rows: &Rows, range: Range<usize>) -> usize {
    let heap = |column: &base::BytesColumn| {
        (column.offsets[range.end] - column.offsets[range.start]) as usize
    };
    let keys = match &rows.keys {
        Keys::Words(_) => 0,
        Keys::Bytes(column) => heap(column),
    };
    keys + rows.values.iter().filter_map(Column::as_bytes).map(heap).sum::<usize>()
}
