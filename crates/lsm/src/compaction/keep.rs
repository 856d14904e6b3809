//! Decides which versions of each key stay, and folds merges.
//!
//! # Why in place
//! Most rows of a merge are the only version of their key. They are passed on as ranges of the
//! columns they came in; a fold changes words where they stand. Nothing is copied.
//!
//! # Invariants
//! 1. Every snapshot, and a reader of the newest, reads each key as before.
//! 2. The newest version of a key that is newer than the oldest snapshot keeps its number: commits
//!    look for it to find conflicts.
//! 3. A delete goes only where no deeper level can hold its key.

use super::below::Stretch;
use super::snapshots::Snapshots;
use super::tombstones::Pieces;
use crate::rows::{Rows, key_at};
use base::fault_switch::{Switch, is_on};
use base::mark::{Mark, hit};
use base::{Column, ColumnShape, KeyRef, Keys, Kind, Merge, SeqNo, Shape, WORDS_MAX, WordColumn};
use std::ops::Range;

/// Whether levels below the output may hold a key.
pub(crate) enum Bottom<'a> {
    /// Nothing lies below any key of the merge: sequence numbers may vanish, too.
    Everywhere,
    /// Asked where the last answer does not hold any more.
    Where(&'a dyn Fn(KeyRef<'_>) -> Stretch<'a>),
}

/// The rules of one merge.
pub(crate) struct Keep<'a> {
    snapshots: Snapshots<'a>,
    tombstones: &'a Pieces,
    bottom: Bottom<'a>,
    /// The last answer of `bottom`.
    stretch: Option<Stretch<'a>>,
    merges: Vec<Option<Merge>>,
    /// Row indexes of the group at hand that stay; kept to save allocations.
    group: Vec<usize>,
    repeats: Vec<bool>,
}

impl<'a> Keep<'a> {
    pub(crate) fn new(
        shape: &Shape,
        snapshots: Snapshots<'a>,
        tombstones: &'a Pieces,
        bottom: Bottom<'a>,
    ) -> Self {
        let merges = shape.values.iter().map(|column| match column {
            ColumnShape::Word { merge } => *merge,
            ColumnShape::Bytes => None,
        });
        let merges = merges.collect();
        let (group, repeats) = (Vec::new(), Vec::new());
        Self { snapshots, tombstones, bottom, stretch: None, merges, group, repeats }
    }

    /// Appends to `kept` the ranges of `rows` that stay, changing rows where merges fold. Rows are
    /// versions in order, each key's all together. Not `complete`: these are the first versions of
    /// one key, which are only made fewer, to be passed once more with those that follow.
    pub(crate) fn pass(
        &mut self,
        rows: &mut Rows,
        range: Range<usize>,
        complete: bool,
        kept: &mut Vec<Range<usize>>,
    ) {
        if range.is_empty() {
            return;
        }
        let (mut first, mut last) = ([0; WORDS_MAX], [0; WORDS_MAX]);
        let covered = self.tombstones.reach(
            key_at(&rows.keys, range.start, &mut first),
            key_at(&rows.keys, range.end - 1, &mut last),
        );
        let plain = rows.kinds.is_empty() && !covered;
        let mut repeats = std::mem::take(&mut self.repeats);
        find_repeats(&rows.keys, range.clone(), &mut repeats);
        let mut row = range.start;
        while row < range.end {
            let at = row - range.start;
            let end = row + 1 + repeats[at + 1..].iter().take_while(|&&repeat| repeat).count();
            let only = end == row + 1 && (complete || end < range.end);
            let kind = rows.kind(row);
            if only && (plain || !covered && kind == Kind::Put as u8) {
                self.drop_number(rows, row);
                push_row(kept, row);
            } else if only && complete && !covered && kind == Kind::Merge as u8 {
                self.pass_merge(rows, row);
                push_row(kept, row);
            } else {
                self.reduce(rows, row..end, complete || end < range.end);
                self.group.iter().for_each(|&row| push_row(kept, row));
            }
            row = end;
        }
        self.repeats = repeats;
    }

    /// The only version of its key, a merge, under no range tombstone: as [`Keep::reduce`] leaves
    /// it.
    #[inline]
    fn pass_merge(&mut self, rows: &mut Rows, row: usize) {
        if rows.seq(row) <= self.snapshots.oldest() && self.is_at_bottom(&rows.keys, row) {
            rows.kinds[row] = Kind::Put as u8;
            self.drop_number(rows, row);
        }
    }

    /// Whether no deeper level can hold the key of a row; keys ascend from call to call, but for
    /// few.
    #[inline]
    fn is_at_bottom(&mut self, keys: &Keys, row: usize) -> bool {
        let Bottom::Where(stretch_at) = &self.bottom else { return true };
        let key = keys.get(row);
        match self.stretch {
            Some(stretch) if stretch.holds(key.as_ref()) => stretch.is_gap,
            _ => self.stretch.insert(stretch_at(key.as_ref())).is_gap,
        }
    }

    /// Sets `group` to the rows of one key that stay.
    fn reduce(&mut self, rows: &mut Rows, range: Range<usize>, complete: bool) {
        self.group.clear();
        let key = rows.keys.get(range.start);
        let over = self.tombstones.over(key.as_ref());
        let mut row = range.start;
        while row < range.end {
            let stripe = self.snapshots.stripe(rows.seq(row));
            if self.is_hidden(over, stripe, rows.seq(row)) {
                hit(Mark::RangeHidRow);
            } else {
                self.group.push(row);
                if rows.kind(row) == Kind::Merge as u8
                    && let Some(apart) = self.fold(rows, row..range.end, stripe, over)
                {
                    row = apart;
                    continue;
                }
            }
            // Whatever this row was, nothing older of its stripe is seen behind it.
            let same = |row: &usize| self.snapshots.stripe(rows.seq(*row)) == stripe;
            row += (row..range.end).take_while(same).count();
        }
        if self.group.len() > 1 {
            hit(Mark::VersionsKept);
        }
        if complete && self.is_at_bottom(&rows.keys, range.start) {
            self.end_at_bottom(rows);
        } else if complete && is_on(Switch::ForgetTombstone) {
            self.end_deletes(rows);
        }
    }

    /// Takes deletes away that hide nothing any more.
    fn end_deletes(&mut self, rows: &Rows) {
        while let Some(&last) = self.group.last() {
            if rows.kind(last) != Kind::Delete as u8 || rows.seq(last) > self.snapshots.oldest() {
                break;
            }
            hit(Mark::TombstoneDropped);
            self.group.pop();
        }
    }

    /// Nothing lies below the group's last row.
    fn end_at_bottom(&mut self, rows: &mut Rows) {
        self.end_deletes(rows);
        if let Some(&last) = self.group.last()
            && rows.kind(last) == Kind::Merge as u8
            && rows.seq(last) <= self.snapshots.oldest()
        {
            // Newer than a snapshot it stays a merge: a put would conflict with that transaction's
            // own merges, which it does not.
            rows.kinds[last] = Kind::Put as u8;
        }
        if let [only] = self.group[..]
            && rows.kind(only) == Kind::Put as u8
        {
            self.drop_number(rows, only);
        }
    }

    /// The only version of its key that is left, a put.
    fn drop_number(&self, rows: &mut Rows, row: usize) {
        if matches!(self.bottom, Bottom::Everywhere)
            && let Some(seq) = rows.seqs.get_mut(row)
            && SeqNo(*seq) <= self.snapshots.oldest()
        {
            *seq = SeqNo::ZERO.0;
        }
    }

    /// Whether a range tombstone hides a row from all snapshots of the row's stripe.
    fn is_hidden(&self, over: &[SeqNo], stripe: usize, seq: SeqNo) -> bool {
        over.iter().any(|&tombstone| tombstone > seq && self.snapshots.stripe(tombstone) <= stripe)
    }

    /// Folds older rows of the stripe into the first row of `range`, a merge. Returns the row, if
    /// there is one, with which it makes a sum that no word holds: both stay.
    fn fold(
        &self,
        rows: &mut Rows,
        range: Range<usize>,
        stripe: usize,
        over: &[SeqNo],
    ) -> Option<usize> {
        let newest = range.start;
        for older in range.skip(1) {
            if self.snapshots.stripe(rows.seq(older)) != stripe {
                return None;
            }
            // On an absent row a merge is a put.
            let absent = rows.kind(older) == Kind::Delete as u8
                || self.is_hidden(over, stripe, rows.seq(older));
            if !absent && !self.fold_values(rows, newest, older) {
                hit(Mark::SumKeptApart);
                return Some(older);
            }
            hit(Mark::MergeFolded);
            if absent || rows.kind(older) == Kind::Put as u8 {
                rows.kinds[newest] = Kind::Put as u8;
                return None;
            }
        }
        None
    }

    /// Whether the values of both rows could be made those of the newer one; nothing is changed
    /// where not.
    fn fold_values(&self, rows: &mut Rows, newer: usize, older: usize) -> bool {
        let both = |column: &WordColumn, merge: Merge| match (column.get(older), column.get(newer))
        {
            (Some(older), Some(newer)) => merge.apply(older, newer).map(Some),
            (older, newer) => Some(newer.or(older)),
        };
        let columns = || rows.values.iter().zip(&self.merges);
        let fits = columns().all(|(column, merge)| match (column, merge) {
            (Column::Words(column), Some(merge)) => both(column, *merge).is_some(),
            _ => true,
        });
        if fits {
            for (column, merge) in rows.values.iter_mut().zip(&self.merges) {
                if let (Column::Words(column), Some(merge)) = (column, merge)
                    && let Some(Some(word)) = both(column, *merge)
                {
                    set_word(column, newer, word);
                }
            }
        }
        fits
    }
}

fn set_word(column: &mut WordColumn, row: usize, word: u64) {
    column.words[row] = word;
    if let Some(bits) = &mut column.validity.0 {
        bits[row / 64] |= 1 << (row % 64);
    }
}

fn push_row(kept: &mut Vec<Range<usize>>, row: usize) {
    match kept.last_mut() {
        Some(last) if last.end == row => last.end += 1,
        _ => kept.push(row..row + 1),
    }
}

/// For each row of the range whether it has the key of the row before; the first has not.
pub(crate) fn find_repeats(keys: &Keys, range: Range<usize>, repeats: &mut Vec<bool>) {
    repeats.clear();
    repeats.resize(range.len(), true);
    repeats[0] = false;
    match keys {
        Keys::Words(columns) => {
            // Column by column, so that each comparison runs over neighbours in memory.
            for column in columns {
                let pairs = column[range.clone()].windows(2);
                for (repeat, pair) in repeats[1..].iter_mut().zip(pairs) {
                    *repeat &= pair[0] == pair[1];
                }
            }
        }
        Keys::Bytes(column) => {
            for (i, repeat) in repeats.iter_mut().enumerate().skip(1) {
                *repeat = column.get(range.start + i) == column.get(range.start + i - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests;
