//! Appends rows of one input to other rows: for the part of a block that an input ends in.

use crate::rows::Rows;
use base::{Column, Keys, Kind, Validity};
use std::ops::Range;

/// Appends rows `range` of `from`, which has the same shape.
pub(super) fn append_rows(to: &mut Rows, from: &Rows, range: Range<usize>) {
    let before = to.len();
    match (&mut to.keys, &from.keys) {
        (Keys::Words(to), Keys::Words(from)) => {
            for (to, from) in to.iter_mut().zip(from) {
                to.extend_from_slice(&from[range.clone()]);
            }
        }
        (Keys::Bytes(to), Keys::Bytes(from)) => to.append(from, range.clone()),
        _ => unreachable!("keys of one tree have one shape"),
    }
    append_or_default(&mut to.seqs, before, &from.seqs, range.clone(), 0);
    append_or_default(&mut to.kinds, before, &from.kinds, range.clone(), Kind::Put as u8);
    for (to, from) in to.values.iter_mut().zip(&from.values) {
        match (to, from) {
            (Column::Words(to), Column::Words(from)) => {
                to.words.extend_from_slice(&from.words[range.clone()]);
                let all = from.validity.0.is_none();
                append_validity(&mut to.validity, before, range.clone(), all, |row| {
                    from.validity.bits(row)
                });
            }
            (Column::Bytes(to), Column::Bytes(from)) => to.append(from, range.clone()),
            _ => unreachable!("columns of one position have one shape"),
        }
    }
}

/// Appends to a vector for which empty means "all `default`".
fn append_or_default<T: Copy + PartialEq>(
    to: &mut Vec<T>,
    before: usize,
    from: &[T],
    range: Range<usize>,
    default: T,
) {
    match from.get(range.clone()).filter(|part| part.iter().any(|value| *value != default)) {
        None if to.is_empty() => {}
        None => to.resize(before + range.len(), default),
        Some(part) => {
            to.resize(before, default);
            to.extend_from_slice(part);
        }
    }
}

/// Appends the validity of `rows` to that of the `before` rows of a column. `bits` says which of 64
/// rows are valid, and `all` that each is.
pub(super) fn append_validity(
    to: &mut Validity,
    before: usize,
    rows: Range<usize>,
    all: bool,
    bits: impl Fn(usize) -> u64,
) {
    if all && to.0.is_none() {
        return;
    }
    let first = rows.start;
    to.extend(before, rows.len(), |i| bits(first + i));
}
