//! An index of a table: the rows of each key, which grows with the table.
//!
//! # Why two parts
//! A join reads all rows of a key. In a list side by side they are read one after another; in a
//! chain through the table each is a cache miss that waits for the one before. But a list cannot
//! grow where others follow it. So the rows of earlier rounds are in lists, and those of the latest
//! rounds in chains. When chains have enough rows, all rows are put into lists again.
//!
//! # Invariants
//! 1. A key has a number, by the order in which keys came. It never changes.
//! 2. Rows below `listed_rows` are in lists, later ones in chains. Lists are ascending, chains
//!    descending.
//! 3. Chains have at most as many rows as lists, or fewer than `CHAINED_MIN`. So each row is moved
//!    a constant number of times.

use super::dense::Dense;
use super::{NONE, Table, hash_cells};
use crate::error::Result;
use crate::limits::Check;
use crate::value::cell::Cell;
use base::STEPS;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::ops::Range;

/// Rows in chains below which they are not put into lists.
const CHAINED_MIN: usize = 1024;

/// The rows of each key.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    columns: Vec<usize>,
    /// Numbers of keys, by the cells of their first rows. Empty while there is `dense`.
    numbers: HashTable<u32>,
    /// Numbers of keys that are dense integers.
    dense: Option<Dense>,
    /// First row of each key.
    firsts: Vec<u32>,
    /// Where the list of each key that has one starts, and the end of the last.
    offsets: Vec<u32>,
    lists: Vec<u32>,
    listed_rows: usize,
    /// Newest row of each key's chain; `NONE` if it is empty.
    newest: Vec<u32>,
    /// For each row in a chain: the number of its key, and the row before it.
    chained: Vec<(u32, u32)>,
    hasher: foldhash::fast::FixedState,
}

impl Index {
    /// An empty index on some columns.
    pub(super) fn new(columns: &[usize]) -> Self {
        Self {
            columns: columns.to_vec(),
            numbers: HashTable::new(),
            dense: None,
            firsts: Vec::new(),
            offsets: vec![0],
            lists: Vec::new(),
            listed_rows: 0,
            newest: Vec::new(),
            chained: Vec::new(),
            hasher: foldhash::fast::FixedState::default(),
        }
    }

    /// Its columns.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Number of rows that it has.
    pub(super) fn rows(&self) -> usize {
        self.listed_rows + self.chained.len()
    }

    /// Number of distinct keys.
    pub(super) fn keys(&self) -> usize {
        self.firsts.len()
    }

    /// Approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        let words = self.firsts.capacity()
            + self.offsets.capacity()
            + self.lists.capacity()
            + self.newest.capacity()
            + 2 * self.chained.capacity();
        4 * words + 5 * self.numbers.capacity() + self.dense.as_ref().map_or(0, Dense::bytes)
    }

    /// Adds the rows that it lacks. `own` are the columns of the table, `rows` its rows.
    ///
    /// # Errors
    /// Those of `check`. The index then lacks rows, which the next call adds.
    pub(super) fn extend(
        &mut self,
        own: &[Vec<Cell>],
        rows: usize,
        check: Check<'_>,
    ) -> Result<()> {
        for row in self.rows()..rows {
            if row.is_multiple_of(STEPS) {
                check()?;
            }
            let number = self.number_or_insert(own, row);
            let newest = &mut self.newest[number];
            self.chained.push((number as u32, *newest));
            *newest = row as u32;
        }
        match self.chained.len() >= CHAINED_MIN && self.chained.len() > self.listed_rows {
            true => self.list_all(own, check),
            false => Ok(()),
        }
    }

    /// The number of a row's key, which is added if it is new.
    fn number_or_insert(&mut self, own: &[Vec<Cell>], row: usize) -> usize {
        let next = self.firsts.len();
        if let Some(dense) = &mut self.dense {
            let cell = own[self.columns[0]][row];
            if let Some(number) = dense.get(cell) {
                return number;
            }
            if dense.put(cell, next) {
                return self.add_key(row);
            }
            self.dense = None;
            self.fill_numbers(own);
        }
        let Self { columns, numbers, firsts, hasher, .. } = &mut *self;
        let hash = |row: usize| hash_cells(hasher, columns.iter().map(|&i| own[i][row]));
        let is_it = |&number: &u32| {
            let first = firsts[number as usize] as usize;
            columns.iter().all(|&i| own[i][first] == own[i][row])
        };
        match numbers.entry(hash(row), is_it, |&number| hash(firsts[number as usize] as usize)) {
            Entry::Occupied(entry) => *entry.get() as usize,
            Entry::Vacant(entry) => {
                entry.insert(next as u32);
                self.add_key(row)
            }
        }
    }

    fn add_key(&mut self, row: usize) -> usize {
        self.firsts.push(row as u32);
        self.newest.push(NONE);
        self.firsts.len() - 1
    }

    /// Returns to the hash table: the keys are not dense any more.
    fn fill_numbers(&mut self, own: &[Vec<Cell>]) {
        let Self { columns, numbers, firsts, hasher, .. } = self;
        let hash = |number: u32| {
            let first = firsts[number as usize] as usize;
            hash_cells(hasher, columns.iter().map(|&i| own[i][first]))
        };
        for number in 0..firsts.len() as u32 {
            numbers.insert_unique(hash(number), number, |&number| hash(number));
        }
    }

    /// Puts all rows into lists, by a counting sort.
    fn list_all(&mut self, own: &[Vec<Cell>], check: Check<'_>) -> Result<()> {
        let keys = self.firsts.len();
        let listed = |number: usize| match self.offsets.get(number..number + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        };
        let mut offsets = vec![0_u32; keys + 1];
        for piece in self.chained.chunks(STEPS) {
            check()?;
            piece.iter().for_each(|&(number, _)| offsets[number as usize + 1] += 1);
        }
        for number in 0..keys {
            offsets[number + 1] += offsets[number] + listed(number).len() as u32;
        }
        let mut lists = vec![0_u32; self.rows()];
        let mut next = offsets.clone();
        for number in 0..keys {
            if number.is_multiple_of(STEPS) {
                check()?;
            }
            let (from, start) = (listed(number), offsets[number] as usize);
            lists[start..start + from.len()].copy_from_slice(&self.lists[from.clone()]);
            next[number] += from.len() as u32;
        }
        for (row, &(number, _)) in (self.listed_rows..).zip(&self.chained) {
            if row.is_multiple_of(STEPS) {
                check()?;
            }
            let place = &mut next[number as usize];
            lists[*place as usize] = row as u32;
            *place += 1;
        }
        self.listed_rows = self.rows();
        (self.offsets, self.lists, self.chained) = (offsets, lists, Vec::new());
        self.newest.fill(NONE);
        if let ([column], None) = (&self.columns[..], &self.dense) {
            let firsts: Vec<Cell> =
                self.firsts.iter().map(|&first| own[*column][first as usize]).collect();
            self.dense = Dense::of(&firsts);
            if self.dense.is_some() {
                self.numbers = HashTable::new();
            }
        }
        Ok(())
    }

    /// The number of a key, if there are rows with it. `table` is the index's own.
    #[inline]
    pub(crate) fn number(&self, table: &Table, key: &[Cell]) -> Option<u32> {
        if let Some(dense) = &self.dense {
            return dense.get(key[0]).map(|number| number as u32);
        }
        let is_it = |&number: &u32| {
            let first = self.firsts[number as usize] as usize;
            self.columns.iter().zip(key).all(|(&i, cell)| table.column(i)[first] == *cell)
        };
        self.numbers.find(hash_cells(&self.hasher, key.iter().copied()), is_it).copied()
    }

    /// The list of a key within a range of rows.
    #[inline]
    fn list(&self, number: u32, rows: &Range<usize>) -> &[u32] {
        let number = number as usize;
        let (Some(&start), Some(&end)) = (self.offsets.get(number), self.offsets.get(number + 1))
        else {
            return &[];
        };
        let mut list = &self.lists[start as usize..end as usize];
        if rows.start > 0 {
            list = &list[list.partition_point(|&row| (row as usize) < rows.start)..];
        }
        if rows.end < self.listed_rows {
            list = &list[..list.partition_point(|&row| (row as usize) < rows.end)];
        }
        list
    }

    /// Calls `found` for the rows of a key within a range, the newest first, until it returns
    /// false.
    #[inline]
    pub(super) fn each(
        &self,
        number: u32,
        rows: &Range<usize>,
        mut found: impl FnMut(usize) -> bool,
    ) {
        let mut next = self.newest[number as usize];
        while next != NONE && next as usize >= rows.start {
            let row = next as usize;
            if row < rows.end && !found(row) {
                return;
            }
            next = self.chained[row - self.listed_rows].1;
        }
        if rows.start < self.listed_rows {
            let mut list = self.list(number, rows).iter().rev();
            list.all(|&row| found(row as usize));
        }
    }

    /// Appends the rows of a key within a range, ascending.
    #[inline]
    pub(super) fn append_to(&self, number: u32, rows: &Range<usize>, out: &mut Vec<u32>) {
        if rows.start < self.listed_rows {
            out.extend_from_slice(self.list(number, rows));
        }
        let start = out.len();
        let mut next = self.newest[number as usize];
        while next != NONE && next as usize >= rows.start {
            if (next as usize) < rows.end {
                out.push(next);
            }
            next = self.chained[next as usize - self.listed_rows].1;
        }
        out[start..].reverse();
    }
}
