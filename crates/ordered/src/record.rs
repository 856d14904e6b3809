//! Rows as bytes: numbers of commits, columns, and a checksum of key and value
//! (`docs/formats/ordered.md`).

use crate::cell::{Cell, Row};
use crate::error::damaged;
use base::{ColumnShape, Shape, Total, checksum, varint};
use store::Result;

/// Tags of a cell in a column with a merge operator.
const WORD: u8 = 0;
const SUM_OF_INTS: u8 = 1;
const SUM_OF_FLOATS: u8 = 2;

/// Header of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The commit that wrote it.
    pub(crate) seq: u64,
    /// The last commit that wrote it and was no merge.
    pub(crate) plain_seq: u64,
    /// Whether the row was deleted.
    pub(crate) is_tombstone: bool,
}

/// Appends the checksum of key and value.
pub(crate) fn seal(key: &[u8], mut value: Vec<u8>) -> Vec<u8> {
    let sum = sum_of(key, &value);
    value.extend_from_slice(&sum.to_le_bytes());
    value
}

/// A value without its checksum, which is checked.
pub(crate) fn open<'a>(place: &str, key: &[u8], value: &'a [u8]) -> Result<&'a [u8]> {
    let parts = value.split_last_chunk::<4>();
    match parts {
        Some((value, sum)) if u32::from_le_bytes(*sum) == sum_of(key, value) => Ok(value),
        _ => Err(damaged(place, format!("the value of key {key:02x?} has another checksum"))),
    }
}

/// Folded to 32 bits: rows are short.
fn sum_of(key: &[u8], value: &[u8]) -> u32 {
    let sum = checksum::checksum(key) ^ checksum::checksum(value).rotate_left(1);
    (sum >> 32) as u32 ^ sum as u32
}

/// Encodes the value of a key; without a row, a tombstone.
pub(crate) fn encode(key: &[u8], header: Header, shape: &Shape, row: Option<&Row>) -> Vec<u8> {
    let mut out = Vec::new();
    out.push(u8::from(header.is_tombstone));
    varint::put(&mut out, header.seq);
    varint::put(&mut out, header.plain_seq);
    if let Some(row) = row {
        let present = out.len();
        out.resize(present + row.len().div_ceil(8), 0);
        for (i, (cell, column)) in row.iter().zip(&shape.values).enumerate() {
            if !matches!(cell, Cell::Null) {
                out[present + i / 8] |= 1 << (i % 8);
            }
            put_cell(&mut out, cell, *column);
        }
    }
    seal(key, out)
}

fn put_cell(out: &mut Vec<u8>, cell: &Cell, column: ColumnShape) {
    let has_operator = matches!(column, ColumnShape::Word { merge: Some(_) });
    match cell {
        Cell::Null => {}
        Cell::Word(word) => {
            if has_operator {
                out.push(WORD);
            }
            out.extend_from_slice(&word.to_le_bytes());
        }
        Cell::Sum(Total::Int(sum)) => {
            out.push(SUM_OF_INTS);
            out.extend_from_slice(&sum.to_le_bytes());
        }
        Cell::Sum(Total::Float { sum, shrunk }) => {
            out.push(SUM_OF_FLOATS);
            out.extend_from_slice(&sum.to_le_bytes());
            out.extend_from_slice(&shrunk.to_le_bytes());
        }
        Cell::Sum(Total::Word(word)) => {
            out.push(WORD);
            out.extend_from_slice(&word.to_le_bytes());
        }
        Cell::Bytes(bytes) => varint::put_bytes(out, bytes),
    }
}

/// The header of a value, and its columns as bytes. Checks the checksum.
pub(crate) fn header<'a>(place: &str, key: &[u8], value: &'a [u8]) -> Result<(Header, &'a [u8])> {
    let mut rest = open(place, key, value)?;
    let parts = (|| {
        let (&flags, tail) = rest.split_first()?;
        rest = tail;
        let seq = varint::take(&mut rest)?;
        let plain_seq = varint::take(&mut rest)?;
        Some(Header { seq, plain_seq, is_tombstone: flags & 1 == 1 })
    })();
    match parts {
        Some(header) => Ok((header, rest)),
        None => Err(damaged(place, format!("the value of key {key:02x?} ends early"))),
    }
}

/// The row of a value that is no tombstone, from its columns.
pub(crate) fn decode(place: &str, key: &[u8], shape: &Shape, columns: &[u8]) -> Result<Row> {
    take_row(shape, columns).ok_or_else(|| {
        damaged(place, format!("the columns of key {key:02x?} do not fit its shape"))
    })
}

fn take_row(shape: &Shape, columns: &[u8]) -> Option<Row> {
    let (present, mut rest) = columns.split_at_checked(shape.values.len().div_ceil(8))?;
    let mut row = Row::with_capacity(shape.values.len());
    for (i, column) in shape.values.iter().enumerate() {
        let is_there = present[i / 8] >> (i % 8) & 1 == 1;
        row.push(match (is_there, column) {
            (false, _) => Cell::Null,
            (true, ColumnShape::Bytes) => Cell::Bytes(varint::take_bytes(&mut rest)?.to_vec()),
            (true, ColumnShape::Word { merge: None }) => Cell::Word(take_word(&mut rest)?),
            (true, ColumnShape::Word { merge: Some(_) }) => {
                let (&kind, tail) = rest.split_first()?;
                rest = tail;
                match kind {
                    WORD => Cell::Word(take_word(&mut rest)?),
                    SUM_OF_INTS => {
                        let (sum, tail) = rest.split_first_chunk()?;
                        rest = tail;
                        Cell::Sum(Total::Int(i128::from_le_bytes(*sum)))
                    }
                    SUM_OF_FLOATS => {
                        let sum = f64::from_bits(take_word(&mut rest)?);
                        let shrunk = f64::from_bits(take_word(&mut rest)?);
                        Cell::Sum(Total::Float { sum, shrunk })
                    }
                    _ => return None,
                }
            }
        });
    }
    rest.is_empty().then_some(row)
}

fn take_word(bytes: &mut &[u8]) -> Option<u64> {
    let (word, tail) = bytes.split_first_chunk()?;
    *bytes = tail;
    Some(u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{KeyShape, Merge};
    use store::ErrorKind;

    #[test]
    fn rows_come_back_and_every_flipped_bit_is_found() {
        let merge = Some(Merge::AddInt);
        let values = vec![
            ColumnShape::Word { merge },
            ColumnShape::Bytes,
            ColumnShape::Word { merge: None },
        ];
        let shape = Shape { key: KeyShape::Words(1), values };
        let header_of = Header { seq: 300, plain_seq: 7, is_tombstone: false };
        let sum = Cell::Sum(Total::Int(1 << 80));
        for row in [
            vec![Cell::Word(5), Cell::Bytes(vec![]), Cell::Null],
            vec![sum, Cell::Null, Cell::Word(u64::MAX)],
        ] {
            let value = encode(b"key", header_of, &shape, Some(&row));
            let (found, columns) = header("db", b"key", &value).unwrap();
            assert_eq!(found, header_of);
            let decoded = decode("db", b"key", &shape, columns).unwrap();
            assert_eq!(format!("{decoded:?}"), format!("{row:?}"));
            for bit in 0..value.len() * 8 {
                let mut flipped = value.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let error = header("db", b"key", &flipped).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corruption);
            }
            assert!(header("db", b"kez", &value).is_err(), "a value under another key");
        }
    }
}
