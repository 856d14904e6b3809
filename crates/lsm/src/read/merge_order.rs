//! Determines the next rows of merged sources, all that are available together, and copies their
//! columns one after the other. Scans call it.
//!
//! # Why in two steps
//! If sources alternate every few rows, most of a row's cost was in checking for each piece of each
//! column what it is, whether values are missing and where it ends. So the order is found first, by
//! the keys alone, and then each column is copied by a loop over the pieces.
//!
//! # Invariants
//! 1. Every row at hand decides its key ([`super::merge::Heads::all_decide`]). If several heads
//!    have the same key, the newest is the row, or its deletion.
//! 2. It stops at the end of the first chunk that ends, because the next row of that source is
//!    not known.

use super::columns::extend_strings;
use super::merge::{Head, front};
use crate::search::lower_bound_near;
use base::{Batch, BytesColumn, Column, Keys, Kind, Projection, Validity, WORDS_MAX, WordColumn};
use std::ops::Range;

/// Rows of a head's chunk that come next. A chunk has some thousand rows.
#[derive(Clone, Copy, Debug)]
struct Piece {
    head: u32,
    start: u32,
    end: u32,
}

impl Piece {
    fn rows(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The rows that come next, found and not yet gone past.
#[derive(Debug, Default)]
pub(super) struct MergeOrder {
    pieces: Vec<Piece>,
    /// Rows of all pieces.
    rows: usize,
    /// Of each head where it goes on.
    pub(super) at: Vec<usize>,
    /// Head and row of the last key gone past, be it a row or deleted.
    pub(super) last: (usize, usize),
    /// The head whose chunk ended with keys that no other has, if that is why the pieces end.
    pub(super) ended: Option<usize>,
    /// Memory for which rows hold a value.
    bits: Vec<u64>,
}

impl MergeOrder {
    /// Finds up to `limit` rows, at least one key of one head or more.
    pub(super) fn find(&mut self, heads: &[Head<'_>], limit: usize) {
        self.pieces.clear();
        self.rows = 0;
        self.ended = None;
        self.at.clear();
        self.at.extend(heads.iter().map(|head| head.at));
        let Some(head) = heads.first() else { return };
        let words = |head: usize| match &heads[head].rows.keys {
            Keys::Words(columns) => &columns[..],
            Keys::Bytes(_) => &[],
        };
        match &head.rows.keys {
            Keys::Words(columns) => match columns.len() {
                1 => self.find_by(heads, limit, |head, row| words(head)[0][row]),
                2 => self.find_by(heads, limit, |head, row| front(words(head), row)),
                _ => self.find_by(heads, limit, |head, row| {
                    let mut key = [0; WORDS_MAX];
                    key.iter_mut().zip(words(head)).for_each(|(key, column)| *key = column[row]);
                    key
                }),
            },
            Keys::Bytes(_) => {
                self.find_by(heads, limit, |head, row| match &heads[head].rows.keys {
                    Keys::Bytes(column) => column.get(row),
                    Keys::Words(_) => &[],
                })
            }
        }
    }

    fn find_by<K: Copy + Ord>(
        &mut self,
        heads: &[Head<'_>],
        limit: usize,
        key: impl Fn(usize, usize) -> K,
    ) {
        let mut now: Vec<K> = (0..heads.len()).map(|head| key(head, self.at[head])).collect();
        while self.rows < limit {
            let (first, second) = self.first_two(heads, &now);
            let (from, len) = (self.at[first], heads[first].len);
            let to = match second {
                None => len,
                Some(second) if now[second] == now[first] => from,
                Some(second) => lower_bound_near(from..len, |row| key(first, row) < now[second]),
            };
            if to > from {
                let to = to.min(from.saturating_add(limit - self.rows));
                self.push(heads, first, from..to);
                self.at[first] = to;
                if to == len {
                    self.ended = Some(first);
                    return;
                }
                now[first] = key(first, to);
                continue;
            }
            let same = now[first];
            self.push(heads, first, from..from + 1);
            let mut ends = false;
            for (head, (at, now)) in self.at.iter_mut().zip(&mut now).enumerate() {
                if *now == same {
                    *at += 1;
                    if *at == heads[head].len {
                        ends = true;
                    } else {
                        *now = key(head, *at);
                    }
                }
            }
            if ends {
                return;
            }
        }
    }

    /// The head whose row comes next, and the one whose key is the least of the others. Among equal
    /// keys the newest comes first.
    fn first_two<K: Copy + Ord>(&self, heads: &[Head<'_>], now: &[K]) -> (usize, Option<usize>) {
        let mut first = 0;
        let mut second: Option<usize> = None;
        let seq = |head: usize| heads[head].rows.seq(self.at[head]);
        for head in 1..now.len() {
            let order = now[head].cmp(&now[first]);
            if order.is_lt() || order.is_eq() && seq(head) > seq(first) {
                (first, second) = (head, Some(first));
            } else if second.is_none_or(|second| now[head] < now[second]) {
                second = Some(head);
            }
        }
        (first, second)
    }

    /// Notes these rows of a head, except deletes.
    fn push(&mut self, heads: &[Head<'_>], head: usize, rows: Range<usize>) {
        self.last = (head, rows.end - 1);
        let mut start = rows.start;
        let mut note = |end: usize, is_row: bool| {
            if is_row {
                self.rows += end - start;
                self.pieces.push(Piece { head: head as u32, start: start as u32, end: end as u32 });
            }
            start = end;
        };
        let mut end = rows.start;
        match heads[head].rows.kinds.get(rows.clone()) {
            Some(kinds) => {
                for kinds in kinds.chunk_by(|a, b| a == b) {
                    end += kinds.len();
                    note(end, kinds[0] == Kind::Put as u8);
                }
            }
            // All are puts.
            None => note(rows.end, true),
        }
    }

    /// Appends the rows found.
    pub(super) fn append(&mut self, heads: &[Head<'_>], projection: Projection, out: &mut Batch) {
        out.rows += self.rows;
        let columns = |head: usize| match &heads[head].rows.keys {
            Keys::Words(columns) => &columns[..],
            Keys::Bytes(_) => &[],
        };
        match &mut out.keys {
            Keys::Words(to) => {
                for (i, to) in to.iter_mut().enumerate() {
                    if projection.key(i) {
                        let from: Vec<&[u64]> =
                            (0..heads.len()).map(|head| &columns(head)[i][..]).collect();
                        extend_words(to, self.rows, &self.pieces, &from);
                    }
                }
            }
            Keys::Bytes(to) => {
                if projection.key(0) {
                    let from = heads.iter().filter_map(|head| match &head.rows.keys {
                        Keys::Bytes(column) => Some(column),
                        Keys::Words(_) => None,
                    });
                    self.extend_bytes(to, &from.collect::<Vec<_>>());
                }
            }
        }
        for (i, to) in out.values.iter_mut().enumerate() {
            if !projection.value(i) {
                continue;
            }
            match to {
                Column::Words(to) => {
                    let from = heads.iter().filter_map(|head| match &head.rows.values[i] {
                        Column::Words(column) => Some(column),
                        Column::Bytes(_) => None,
                    });
                    self.extend_word_column(to, &from.collect::<Vec<_>>());
                }
                Column::Bytes(to) => {
                    let from = heads.iter().filter_map(|head| match &head.rows.values[i] {
                        Column::Bytes(column) => Some(column),
                        Column::Words(_) => None,
                    });
                    self.extend_bytes(to, &from.collect::<Vec<_>>());
                }
            }
        }
    }

    fn extend_word_column(&mut self, to: &mut WordColumn, from: &[&WordColumn]) {
        let before = to.words.len();
        let validity: Vec<&Validity> = from.iter().map(|column| &column.validity).collect();
        self.extend_validity(&mut to.validity, before, &validity);
        let from: Vec<&[u64]> = from.iter().map(|column| &column.words[..]).collect();
        extend_words(&mut to.words, self.rows, &self.pieces, &from);
    }

    fn extend_bytes(&mut self, to: &mut BytesColumn, from: &[&BytesColumn]) {
        let validity: Vec<&Validity> = from.iter().map(|column| &column.validity).collect();
        let before = to.len();
        self.extend_validity(&mut to.validity, before, &validity);
        to.offsets.reserve(self.rows);
        for piece in &self.pieces {
            extend_strings(to, from[piece.head as usize], piece.rows());
        }
    }

    /// Appends which rows hold a value; `before` rows are there already.
    fn extend_validity(&mut self, to: &mut Validity, before: usize, from: &[&Validity]) {
        if to.0.is_none() && from.iter().all(|from| from.0.is_none()) {
            return;
        }
        self.bits.clear();
        // One more, for bits past the end of the last word.
        self.bits.resize(self.rows.div_ceil(64) + 1, 0);
        let mut row = 0;
        for piece in &self.pieces {
            let from = from[piece.head as usize];
            for start in piece.rows().step_by(64) {
                let some = (piece.end as usize - start).min(64);
                let bits = from.bits(start) & (u64::MAX >> (64 - some));
                let (word, bit) = (row / 64, row % 64);
                self.bits[word] |= bits << bit;
                // In two steps: a shift by 64 is none.
                self.bits[word + 1] |= bits >> 1 >> (63 - bit);
                row += some;
            }
        }
        let bits = &self.bits;
        to.extend(before, self.rows, |row| bits[row / 64]);
    }
}

fn extend_words(to: &mut Vec<u64>, rows: usize, pieces: &[Piece], from: &[&[u64]]) {
    to.reserve(rows);
    for piece in pieces {
        match &from[piece.head as usize][piece.rows()] {
            // Without a call.
            [word] => to.push(*word),
            words => to.extend_from_slice(words),
        }
    }
}
