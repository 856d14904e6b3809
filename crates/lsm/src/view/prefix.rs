//! All rows of many first words at once: the batch form of adjacency reads.

use super::runs::RunView;
use super::{ReadAt, SuperVersion};
use crate::Result;
use crate::memtable::Memtable;
use crate::table::{Block, Fill};
use base::{Batch, KeyRange, KeyRef, Projection};
use std::sync::Arc;

/// First words whose blocks are read together.
const CHUNK_WORDS: usize = 256;

impl SuperVersion {
    /// For each of `first_words` appends all rows whose key begins with it, in key order; the rows
    /// of the word number `i` are `offsets[i]..offsets[i + 1]` of `out`. `offsets` is emptied first
    /// and counts from the rows that `out` then has. Words may repeat and come in any order.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn prefix_many(
        &self,
        first_words: &[u64],
        at: ReadAt<'_>,
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        offsets.clear();
        offsets.push(out.rows as u64);
        let tombstones = self.has_tombstones(at);
        let run = match &self.runs[..] {
            [] if !tombstones => None,
            [run] if !tombstones && run.is_plain_at(at.snapshot) => Some(run),
            _ => {
                for &word in first_words {
                    let range = KeyRange::prefix_words(&[word]);
                    self.scan_into(&range, at, projection, usize::MAX, out)?;
                    offsets.push(out.rows as u64);
                }
                return Ok(());
            }
        };
        let mut reader = run.map(PlainPrefixes::new);
        for chunk in first_words.chunks(CHUNK_WORDS) {
            if let Some(reader) = &mut reader {
                reader.load(chunk)?;
            }
            for (i, &word) in chunk.iter().enumerate() {
                if self.is_above(word, at) {
                    let range = KeyRange::prefix_words(&[word]);
                    self.scan_into(&range, at, projection, usize::MAX, out)?;
                } else if let Some(reader) = &mut reader {
                    reader.append(i, word, projection, out)?;
                }
                offsets.push(out.rows as u64);
            }
        }
        Ok(())
    }

    /// Whether a memtable has entries that begin with `word`.
    #[inline]
    fn is_above(&self, word: u64, at: ReadAt<'_>) -> bool {
        let holds = |memtable: &Memtable| {
            memtable.may_contain_first_word(word) && {
                let entry = memtable.entry_at(memtable.place_of(KeyRef::Words(&[word])));
                entry.is_some_and(|entry| match entry.key().as_ref() {
                    KeyRef::Words(words) => words.first() == Some(&word),
                    KeyRef::Bytes(_) => false,
                })
            }
        };
        at.own().is_some_and(holds) || self.memtables().any(|memtable| holds(memtable))
    }
}

/// Reads prefixes from one run of which every row is visible.
struct PlainPrefixes<'a> {
    run: &'a RunView,
    /// For each word of the chunk, where its rows begin: table, block, and index into `held`.
    places: Vec<Option<Place>>,
    held: Vec<Arc<Block>>,
    order: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    table: u32,
    block: u32,
    held: u32,
}

impl<'a> PlainPrefixes<'a> {
    fn new(run: &'a RunView) -> Self {
        Self { run, places: Vec::new(), held: Vec::new(), order: Vec::new() }
    }

    /// Finds the first block of each word and reads those blocks.
    fn load(&mut self, words: &[u64]) -> Result<()> {
        self.places.clear();
        self.order.clear();
        for &word in words {
            let key = &[word];
            let number = self.run.table_for(KeyRef::Words(key));
            let table = self.run.tables.get(number);
            let place = table.and_then(|table| {
                let block = table.block_for(KeyRef::Words(key))? as u32;
                Some(Place { table: number as u32, block, held: 0 })
            });
            if let Some(Place { table, block, .. }) = place
                && self.order.last() != Some(&(table, block))
            {
                self.order.push((table, block));
            }
            self.places.push(place);
        }
        if !self.order.is_sorted() {
            self.order.sort_unstable();
        }
        self.order.dedup();
        self.held.clear();
        let order = &self.order;
        for blocks in order.chunk_by(|a, b| a.0 == b.0) {
            let table = &self.run.tables[blocks[0].0 as usize];
            let numbers: Vec<usize> = blocks.iter().map(|(_, block)| *block as usize).collect();
            match numbers[..] {
                [number] => self.held.push(table.block(number, Fill::Keep)?),
                _ => self.held.extend(table.read_blocks(&numbers, Fill::Keep)?),
            }
        }
        let mut last = 0;
        for place in self.places.iter_mut().flatten() {
            let wanted = (place.table, place.block);
            if order.get(last) != Some(&wanted) {
                last = order.partition_point(|at| *at < wanted);
            }
            place.held = last as u32;
        }
        Ok(())
    }

    /// Appends the rows of word number `i` of the chunk.
    #[inline]
    fn append(&mut self, i: usize, word: u64, p: Projection, out: &mut Batch) -> Result<()> {
        let Some(place) = self.places[i] else {
            return self.append_across(word, p, out);
        };
        let range = KeyRange::prefix_words(&[word]);
        let block = &self.held[place.held as usize];
        let rows = block.append_range(&range, p, out);
        if rows.end < block.rows() { Ok(()) } else { self.append_behind(place, &range, p, out) }
    }

    /// Appends what follows a block whose end the rows reach.
    #[cold]
    fn append_behind(
        &self,
        place: Place,
        range: &KeyRange,
        p: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        let mut block = place.block as usize + 1;
        for table in self.run.tables.get(place.table as usize..).unwrap_or_default() {
            let blocks = table.blocks_overlapping(range);
            if block == 0 && blocks.is_empty() {
                break;
            }
            for block in blocks.start.max(block)..blocks.end {
                let block = table.block(block, Fill::Keep)?;
                block.append_range(range, p, out);
            }
            block = 0;
        }
        Ok(())
    }

    /// No block of the word's table holds it; the next table may begin with it where a range
    /// tombstone's bound ends this one.
    fn append_across(&self, word: u64, p: Projection, out: &mut Batch) -> Result<()> {
        let range = KeyRange::prefix_words(&[word]);
        let start = self.run.table_for(KeyRef::Words(&[word]));
        for table in self.run.tables.get(start..).unwrap_or_default().iter().skip(1) {
            let blocks = table.blocks_overlapping(&range);
            if blocks.is_empty() {
                break;
            }
            for block in blocks {
                let block = table.block(block, Fill::Keep)?;
                block.append_range(&range, p, out);
            }
        }
        Ok(())
    }
}
