//! Copies ranges of rows from columns to columns, for scans, merges and batch reads.

use crate::rows::Rows;
use base::{Batch, BytesColumn, Column, Keys, Kind, Projection, Validity};
use std::ops::Range;

/// Appends which rows of a range hold a value; `before` rows are there already.
fn extend_validity(to: &mut Validity, before: usize, from: &Validity, range: Range<usize>) {
    if to.0.is_some() || from.0.is_some() {
        to.extend(before, range.len(), |i| from.bits(range.start + i));
    }
}

pub(crate) fn extend_bytes(to: &mut BytesColumn, from: &BytesColumn, range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    let before = to.len();
    extend_validity(&mut to.validity, before, &from.validity, range.clone());
    extend_strings(to, from, range);
}

/// The same without which of them there are; not of no rows.
pub(super) fn extend_strings(to: &mut BytesColumn, from: &BytesColumn, range: Range<usize>) {
    let offsets = &from.offsets[range.start..=range.end];
    let (first, last) = (offsets[0], offsets[range.len()]);
    let start = to.heap.len() as u64;
    to.heap.extend_from_slice(&from.heap[first as usize..last as usize]);
    to.offsets.extend(offsets[1..].iter().map(|offset| offset - first + start));
}

/// Appends a range of rows of a column of the same shape.
pub(crate) fn extend_column(to: &mut Column, from: &Column, range: Range<usize>) {
    match (to, from) {
        (Column::Words(to), Column::Words(from)) => {
            extend_validity(&mut to.validity, to.words.len(), &from.validity, range.clone());
            to.words.extend_from_slice(&from.words[range]);
        }
        (Column::Bytes(to), Column::Bytes(from)) => extend_bytes(to, from, range),
        _ => unreachable!("columns of one position have one shape"),
    }
}

fn extend_keys(to: &mut Keys, from: &Keys, range: Range<usize>, projection: Projection) {
    match (to, from) {
        (Keys::Words(to), Keys::Words(from)) => {
            for (i, (to, from)) in to.iter_mut().zip(from).enumerate() {
                if projection.key(i) {
                    to.extend_from_slice(&from[range.clone()]);
                }
            }
        }
        (Keys::Bytes(to), Keys::Bytes(from)) => {
            if projection.key(0) {
                extend_bytes(to, from, range);
            }
        }
        _ => unreachable!("keys of one tree have one shape"),
    }
}

/// Appends versions. Value columns that are empty in `from` were left out by a projection.
pub(crate) fn append_versions(out: &mut Rows, from: &Rows, range: Range<usize>) {
    let before = out.len();
    let after = before + range.len();
    if !from.seqs.is_empty() || !out.seqs.is_empty() {
        out.seqs.resize(before, 0);
        match from.seqs.get(range.clone()) {
            Some(seqs) => out.seqs.extend_from_slice(seqs),
            None => out.seqs.resize(after, 0),
        }
    }
    if !from.kinds.is_empty() || !out.kinds.is_empty() {
        out.kinds.resize(before, Kind::Put as u8);
        match from.kinds.get(range.clone()) {
            Some(kinds) => out.kinds.extend_from_slice(kinds),
            None => out.kinds.resize(after, Kind::Put as u8),
        }
    }
    extend_keys(&mut out.keys, &from.keys, range.clone(), Projection::KEYS);
    for (to, from) in out.values.iter_mut().zip(&from.values) {
        if !from.is_empty() {
            extend_column(to, from, range.clone());
        }
    }
}

/// Appends rows that are visible unchanged.
pub(crate) fn append_rows(
    out: &mut Batch,
    (keys, values): (&Keys, &[Column]),
    range: Range<usize>,
    p: Projection,
) {
    out.rows += range.len();
    extend_keys(&mut out.keys, keys, range.clone(), p);
    for (i, (to, from)) in out.values.iter_mut().zip(values).enumerate() {
        if p.value(i) {
            extend_column(to, from, range.clone());
        }
    }
}

/// Appends a row of a batch of the same shape that holds the same columns.
pub(crate) fn push_row(out: &mut Batch, from: &Batch, row: usize, p: Projection) {
    out.rows += 1;
    match (&mut out.keys, &from.keys) {
        (Keys::Words(to), Keys::Words(from)) => {
            for (i, (to, from)) in to.iter_mut().zip(from).enumerate() {
                if p.key(i) {
                    to.push(from[row]);
                }
            }
        }
        (Keys::Bytes(to), Keys::Bytes(from)) => {
            if p.key(0) {
                to.push(Some(from.get(row)));
            }
        }
        _ => unreachable!("keys of one tree have one shape"),
    }
    for (i, (to, from)) in out.values.iter_mut().zip(&from.values).enumerate() {
        if p.value(i) {
            to.push_from(from, row);
        }
    }
}

/// Appends the last rows of `from`, at most `limit`, the last first; returns how many.
pub(crate) fn append_reversed(out: &mut Batch, from: &Batch, limit: usize, p: Projection) -> usize {
    let rows = from.rows - from.rows.min(limit)..from.rows;
    out.rows += rows.len();
    match (&mut out.keys, &from.keys) {
        (Keys::Words(to), Keys::Words(from)) => {
            for (i, (to, from)) in to.iter_mut().zip(from).enumerate() {
                if p.key(i) {
                    to.extend(from[rows.clone()].iter().rev());
                }
            }
        }
        (Keys::Bytes(to), Keys::Bytes(from)) => {
            if p.key(0) {
                rows.clone().rev().for_each(|row| to.push(Some(from.get(row))));
            }
        }
        _ => unreachable!("keys of one tree have one shape"),
    }
    for (i, (to, from)) in out.values.iter_mut().zip(&from.values).enumerate() {
        if p.value(i) {
            rows.clone().rev().for_each(|row| to.push_from(from, row));
        }
    }
    rows.len()
}

/// Appends the projected words of a key.
pub(crate) fn push_key(out: &mut Keys, key: base::KeyRef<'_>, projection: Projection) {
    match (out, key) {
        (Keys::Words(columns), base::KeyRef::Words(words)) => {
            for (i, (column, word)) in columns.iter_mut().zip(words).enumerate() {
                if projection.key(i) {
                    column.push(*word);
                }
            }
        }
        (Keys::Bytes(column), base::KeyRef::Bytes(bytes)) => {
            if projection.key(0) {
                column.push(Some(bytes));
            }
        }
        _ => unreachable!("keys of one tree have one shape"),
    }
}

/// Appends a row without values under its key.
pub(crate) fn push_absent(out: &mut Batch, key: base::KeyRef<'_>, projection: Projection) {
    out.rows += 1;
    push_key(&mut out.keys, key, projection);
    for (i, column) in out.values.iter_mut().enumerate() {
        if projection.value(i) {
            column.push_null();
        }
    }
}
