//! Reads a whole table and checks properties that a single lookup cannot: order, counts, fences,
//! filters.
//!
//! # Why it goes on after damage
//! A user who checks a database wants to know everything that is wrong with it, and one block says
//! nothing about the next. So each finding is handed to the caller, and the reading goes on behind
//! it.

use super::reader::Parts;
use super::section::damaged_at;
use super::{Block, Table};
use crate::error::{Error, Result};
use crate::rows::Rows;
use base::{Corruption, Key, KeyRef, Keys, Kind, Projection, SeqNo, WORDS_MAX};
use std::cmp::Ordering;

/// Blocks that the kernel is asked for ahead of the one being checked.
const AHEAD_BLOCKS: usize = 64;

/// Counters of the read rows, to be compared with the properties.
#[derive(Default)]
pub(super) struct Seen {
    deletes: u64,
    merges: u64,
    repeats: u64,
    first_words: u64,
    seqs: Option<(SeqNo, SeqNo)>,
    last: Option<(Key, SeqNo)>,
}

impl Table {
    /// Reads every part again, past the cache, and compares it with its checksum: this proves that
    /// the bytes are those that were written. It does not check the order of rows; see
    /// [`Table::verify`].
    ///
    /// # Errors
    /// A failed read, corruption, or [`Error::Cancelled`] where `go_on` said no.
    pub fn verify_checksums(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        Parts::read(&*self.file, &self.meta, &self.shape)?;
        for i in 0..self.blocks() {
            if i % AHEAD_BLOCKS == 0 {
                if !go_on() {
                    return Err(Error::Cancelled);
                }
                self.read_ahead(i..(i + AHEAD_BLOCKS).min(self.blocks()));
            }
            self.load(i)?;
        }
        Ok(())
    }

    /// Reads every part again, past the cache, and checks it, and the order of all rows. `progress`
    /// gets the bytes checked so far and returns whether to go on.
    ///
    /// # Errors
    /// A failed read, the first corruption, or [`Error::Cancelled`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64) -> bool) -> Result<()> {
        let mut first = None;
        self.inspect(progress, &mut |found| {
            first.get_or_insert(found);
        })?;
        first.map_or(Ok(()), |found| Err(found.into()))
    }

    /// As [`Table::verify`], but hands every corruption to `found` and reads on; returns how many
    /// blocks are sound. What depends on a damaged block (the counts of the properties) is not
    /// reported again.
    ///
    /// # Errors
    /// A failed read of the machine, or [`Error::Cancelled`].
    pub fn inspect(
        &self,
        progress: &mut dyn FnMut(u64) -> bool,
        found: &mut dyn FnMut(Corruption),
    ) -> Result<u64> {
        let mut damages = 0_u64;
        let mut found = |corruption| {
            damages += 1;
            found(corruption);
        };
        match Parts::read(&*self.file, &self.meta, &self.shape) {
            Ok(_) => {}
            Err(Error::Corruption(corruption)) => found(corruption),
            Err(error) => return Err(error),
        }
        let mut seen = Seen::default();
        let mut rows = Rows::new(&self.shape);
        let (mut sound, mut lost) = (0, false);
        for i in 0..self.blocks() {
            if i % AHEAD_BLOCKS == 0 {
                self.read_ahead(i..(i + AHEAD_BLOCKS).min(self.blocks()));
            }
            match self.load(i) {
                Ok(block) => match self.inspect_block(i, &block, &mut rows, &mut seen) {
                    Ok(()) => sound += 1,
                    Err(what) => {
                        found(self.damaged(i, &what));
                        lost = true;
                    }
                },
                Err(Error::Corruption(corruption)) => {
                    found(corruption);
                    lost = true;
                }
                Err(error) => return Err(error),
            }
            if !progress(self.index.bytes(i).end) {
                return Err(Error::Cancelled);
            }
        }
        if !lost && let Some(what) = self.unlike_properties(&seen) {
            found(damaged_at(&*self.file, self.index.blocks_end(), what));
        }
        if !progress(self.meta.summary.bytes) {
            return Err(Error::Cancelled);
        }
        Ok(sound)
    }

    /// Checks one block, and its relations to the blocks before.
    pub(super) fn inspect_block(
        &self,
        i: usize,
        block: &Block,
        rows: &mut Rows,
        seen: &mut Seen,
    ) -> std::result::Result<(), String> {
        rows.clear();
        block.append_versions(0..block.rows(), Projection::ALL, rows);
        let rows = &*rows;
        self.inspect_columns(i, rows)?;
        for row in 0..rows.len() {
            match Kind::from_u8(rows.kind(row)) {
                Some(Kind::Delete) => seen.deletes += 1,
                Some(Kind::Merge) => seen.merges += 1,
                Some(Kind::Put) => {}
                None => return Err(format!("row {row} is of unknown kind")),
            }
        }
        self.inspect_seqs(rows, seen)?;

        let first = rows.keys.get(0);
        let (before, words_equal) = match &seen.last {
            None => (Ordering::Less, false),
            Some((last, _)) => (last.cmp(&first), same_first_word(last, &first)),
        };
        let newer_before = seen.last.as_ref().is_none_or(|(_, seq)| *seq > rows.seq(0));
        if before == Ordering::Greater || (before == Ordering::Equal && !newer_before) {
            return Err("its first row comes before the last one of the block before".into());
        }
        seen.repeats += u64::from(before == Ordering::Equal);
        seen.first_words += u64::from(!words_equal && matches!(rows.keys, Keys::Words(_)));
        match &rows.keys {
            Keys::Words(columns) => self.inspect_words(columns, rows, seen)?,
            Keys::Bytes(column) => {
                for row in 0..rows.len() {
                    if row > 0 {
                        let order = column.get(row - 1).cmp(column.get(row));
                        order_of(rows, row, order, seen)?;
                    }
                    self.inspect_filter(KeyRef::Bytes(column.get(row)))?;
                }
            }
        }
        let last = rows.len() - 1;
        seen.last = Some((rows.keys.get(last), rows.seq(last)));
        Ok(())
    }

    /// Checks order and filters of keys of words, column by column, because millions of rows per
    /// second pass through it.
    fn inspect_words(
        &self,
        columns: &[Vec<u64>],
        rows: &Rows,
        seen: &mut Seen,
    ) -> std::result::Result<(), String> {
        let every_key = self.filters_whole_keys();
        let mut key = [0; WORDS_MAX];
        for row in 0..rows.len() {
            let mut new_word = row == 0;
            if row > 0 {
                let mut order = Ordering::Equal;
                for column in columns {
                    order = column[row - 1].cmp(&column[row]);
                    if order != Ordering::Equal {
                        break;
                    }
                }
                order_of(rows, row, order, seen)?;
                new_word = columns[0][row - 1] != columns[0][row];
                seen.first_words += u64::from(new_word);
            }
            if new_word && !self.may_contain_first_word(columns[0][row]) {
                return Err(format!("a filter denies the first word of row {row}"));
            }
            if every_key {
                for (word, column) in key.iter_mut().zip(columns) {
                    *word = column[row];
                }
                self.inspect_filter(KeyRef::Words(&key[..columns.len()]))?;
            }
        }
        Ok(())
    }

    fn inspect_filter(&self, key: KeyRef<'_>) -> std::result::Result<(), String> {
        match self.may_contain_key(key) {
            true => Ok(()),
            false => Err("a filter denies a key that is there".into()),
        }
    }

    fn inspect_seqs(&self, rows: &Rows, seen: &mut Seen) -> std::result::Result<(), String> {
        let numbers = if rows.seqs.is_empty() { &[0][..] } else { &rows.seqs };
        let least = numbers.iter().copied().min().map_or(SeqNo::ZERO, SeqNo);
        let most = numbers.iter().copied().max().map_or(SeqNo::ZERO, SeqNo);
        let summary = &self.meta.summary;
        // A stored 0 reads as the global number, so the smallest stored one tells nothing then.
        let known = self.meta.global_seq != SeqNo::ZERO;
        if most > self.meta.seq_max() || !known && least < summary.seq_min {
            return Err("a sequence number past those of the table".into());
        }
        let (min, max) = seen.seqs.get_or_insert((least, most));
        (*min, *max) = ((*min).min(least), (*max).max(most));
        Ok(())
    }

    /// Compares a block with its fences, and its columns with each other.
    fn inspect_columns(&self, i: usize, rows: &Rows) -> std::result::Result<(), String> {
        let even = match &rows.keys {
            Keys::Words(columns) => columns.iter().all(|column| column.len() == rows.len()),
            Keys::Bytes(_) => true,
        };
        if rows.is_empty() || !even || rows.values.iter().any(|value| value.len() != rows.len()) {
            return Err("columns of different lengths".into());
        }
        if (rows.keys.get(0), rows.keys.get(rows.len() - 1)) != self.block_keys(i) {
            return Err("the fences are not the block's first and last key".into());
        }
        if self.statistics().is_some_and(|statistics| !statistics.describe(i, rows)) {
            return Err("the statistics are not those of the block".into());
        }
        Ok(())
    }

    /// How the properties differ from the rows; all rows were read.
    fn unlike_properties(&self, seen: &Seen) -> Option<String> {
        let want = &self.meta.summary;
        let pairs = [
            ("deletes", seen.deletes, want.deletes),
            ("merges", seen.merges, want.merges),
            ("repeated keys", seen.repeats, want.repeats),
            ("first words", seen.first_words, want.first_words),
        ];
        if let Some((what, are, say)) = pairs.into_iter().find(|(_, are, say)| are != say) {
            return Some(format!("there are {are} {what}, the properties say {say}"));
        }
        // Range tombstones widen the bounds, and their numbers count.
        if self.blocks() == 0 || !self.range_tombstones().is_empty() {
            return None;
        }
        let last = self.blocks() - 1;
        let keys = (self.block_keys(0).0, self.block_keys(last).1);
        if keys != (want.first_key.clone(), want.last_key.clone()) {
            return Some("the properties name another first or last key".into());
        }
        if self.meta.global_seq == SeqNo::ZERO && seen.seqs != Some((want.seq_min, want.seq_max)) {
            return Some("the properties name other sequence numbers".into());
        }
        None
    }
}

/// Whether row `row` may follow the one before it, to which it compares as `order` says.
fn order_of(
    rows: &Rows,
    row: usize,
    order: Ordering,
    seen: &mut Seen,
) -> std::result::Result<(), String> {
    match order {
        Ordering::Less => Ok(()),
        Ordering::Equal if rows.seq(row - 1) > rows.seq(row) => {
            seen.repeats += 1;
            Ok(())
        }
        _ => Err(format!("row {row} is out of order")),
    }
}

fn same_first_word(left: &Key, right: &Key) -> bool {
    match (left, right) {
        (Key::Words { words: left, .. }, Key::Words { words: right, .. }) => left[0] == right[0],
        _ => false,
    }
}
