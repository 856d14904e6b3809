//! Cells of the strings of a column, for groups and sets: a cache in front of the interner.
//!
//! # Why
//! Columns to group by usually have many rows and few distinct strings. Each string is looked up
//! here by a hash of its bytes, without a lock, so the interner is asked once per string instead of
//! once per row.
//!
//! # Invariants
//! 1. The owner holds every cell that it got from here, so that a sweep of the interner keeps them.
//! 2. The copies of strings take at most [`BYTES_MAX`]. If most lookups miss, the cache is no
//!    longer used.

use super::column::Texts;
use crate::value::cell::{Cell, Interner};
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Most bytes of copied strings.
const BYTES_MAX: usize = 1 << 20;

/// Lookups after which the cache is used only if at least half of them were hits.
const TRIED: u64 = 16 << 10;

/// Recently looked up strings with their cells.
#[derive(Debug, Default)]
pub(crate) struct TextCells {
    table: HashTable<Entry>,
    /// The strings, one after the other.
    heap: String,
    hasher: foldhash::fast::FixedState,
    lookups: u64,
    misses: u64,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    start: u32,
    end: u32,
    cell: Cell,
}

impl TextCells {
    /// The cells of all strings of a column, with null for null rows.
    pub(crate) fn cells(
        &mut self,
        texts: &Texts<'_>,
        nulls: Option<&[bool]>,
        interner: &Interner,
    ) -> Vec<Cell> {
        let is_null = |row: usize| nulls.is_some_and(|nulls| nulls[row]);
        let cell = |row: usize| match is_null(row) {
            true => Cell::NULL,
            false => self.cell(texts.get(row), interner),
        };
        (0..texts.spans.len()).map(cell).collect()
    }

    /// The cell of a string.
    #[inline]
    pub(crate) fn cell(&mut self, text: &str, interner: &Interner) -> Cell {
        if let Some(cell) = Cell::short_text(text) {
            return cell;
        }
        if self.lookups >= TRIED && self.misses > self.lookups / 2 {
            return interner.text(text);
        }
        self.lookups += 1;
        let hash = self.hasher.hash_one(text.as_bytes());
        let heap = self.heap.as_bytes();
        let is_it = |entry: &Entry| {
            entry.hash == hash && &heap[entry.start as usize..entry.end as usize] == text.as_bytes()
        };
        match self.table.find(hash, is_it) {
            Some(entry) => entry.cell,
            None => self.add(hash, text, interner),
        }
    }

    fn add(&mut self, hash: u64, text: &str, interner: &Interner) -> Cell {
        self.misses += 1;
        let cell = interner.text(text);
        if text.len() > BYTES_MAX {
            return cell;
        }
        if self.heap.len() + text.len() > BYTES_MAX {
            self.table.clear();
            self.heap.clear();
        }
        // The heap is far below 4 GiB.
        let start = self.heap.len() as u32;
        self.heap.push_str(text);
        let entry = Entry { hash, start, end: self.heap.len() as u32, cell };
        self.table.insert_unique(hash, entry, |entry| entry.hash);
        cell
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.heap.capacity() + self.table.capacity() * (size_of::<Entry>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_has_the_cell_that_the_interner_gives_it() {
        let interner = Interner::default();
        let mut cells = TextCells::default();
        let text = |i: usize| match i % 3 {
            0 => format!("t{}", i % 7),
            1 => format!("a text of some length {}", i % 50),
            _ => format!("a text of some length {i}{}", "x".repeat(100)),
        };
        for i in 0..60_000 {
            let text = text(i);
            assert_eq!(cells.cell(&text, &interner), interner.text(&text));
        }
        assert!(cells.heap.len() <= BYTES_MAX && cells.bytes() < 4 * BYTES_MAX);
    }
}
