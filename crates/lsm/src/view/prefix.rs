//! All rows of many first words at once: the batch form of adjacency reads.
//!
//! # Why in stages
//! The words of a batch lie anywhere in the run, so each step of each word would wait for memory.
//! Sorted by block and done step by step (all searches, then all first loads, then all decoding),
//! the waits of many words pass beside each other. Counts are known before anything is decoded, so
//! rows are decoded to their final place, whatever the order of the words.

use super::runs::RunView;
use super::{ReadAt, SuperVersion};
use crate::Result;
use crate::codec::runs::RunRange;
use crate::memtable::Memtable;
use crate::table::{Block, Fill};
use base::{Batch, Column, KeyRange, KeyRef, Keys, Projection};
use std::sync::Arc;

/// First words whose blocks are held together.
const CHUNK_WORDS: usize = 1024;

/// First words whose rows are touched before they are decoded: a first-level cache holds that.
const TOUCH_WORDS: usize = 64;

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
        if let (Some(run), [_, _, ..]) = (run, first_words) {
            let mut reader = Adjacencies::new(run, self, at, projection);
            for chunk in first_words.chunks(CHUNK_WORDS) {
                reader.append(chunk, offsets, out)?;
            }
            return Ok(());
        }
        for &word in first_words {
            if self.is_above(word, at) {
                let range = KeyRange::prefix_words(&[word]);
                self.scan_into(&range, at, projection, usize::MAX, out)?;
            } else if let Some(run) = run {
                append_one(run, word, projection, out)?;
            }
            offsets.push(out.rows as u64);
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

/// Where a word's rows may begin in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Probe {
    table: u32,
    block: u32,
    /// The word's number in the chunk.
    word: u32,
}

/// Reads adjacencies of a chunk of words from one run of which every row is visible.
struct Adjacencies<'a> {
    run: &'a RunView,
    view: &'a SuperVersion,
    at: ReadAt<'a>,
    projection: Projection,
    /// Whether there is anything above the run.
    covered: bool,
    /// The words that a block may hold, by block.
    probes: Vec<Probe>,
    /// For each probe the index of its block in `held`, and its rows there.
    found: Vec<(u32, RunRange)>,
    held: Vec<Arc<Block>>,
    /// Words whose rows do not lie in one block as they stand; ascending.
    odd: Vec<u32>,
    /// Their rows, one word after the other.
    odd_rows: Batch,
    /// Rows of each word of the chunk; then where they begin.
    places: Vec<u64>,
}

impl<'a> Adjacencies<'a> {
    fn new(run: &'a RunView, view: &'a SuperVersion, at: ReadAt<'a>, p: Projection) -> Self {
        Self {
            run,
            view,
            at,
            projection: p,
            covered: at.own().is_some() || view.memtables().next().is_some(),
            probes: Vec::new(),
            found: Vec::new(),
            held: Vec::new(),
            odd: Vec::new(),
            odd_rows: Batch::new(view.shape()),
            places: Vec::new(),
        }
    }

    /// Appends the rows of these words, and an offset for each.
    fn append(&mut self, words: &[u64], offsets: &mut Vec<u64>, out: &mut Batch) -> Result<()> {
        self.seek(words)?;
        let p = self.projection;
        let fits = is_plain(out, p) && self.held.iter().all(|block| block.is_adjacency(p));
        if fits {
            self.find(words);
            self.read_odd(words)?;
            if is_plain(&self.odd_rows, p) {
                self.write(words, offsets, out);
                return Ok(());
            }
        }
        for &word in words {
            self.append_word(word, out)?;
            offsets.push(out.rows as u64);
        }
        Ok(())
    }

    /// Appends the rows of one word by itself.
    fn append_word(&self, word: u64, out: &mut Batch) -> Result<()> {
        if self.covered && self.view.is_above(word, self.at) {
            let range = KeyRange::prefix_words(&[word]);
            return self.view.scan_into(&range, self.at, self.projection, usize::MAX, out);
        }
        append_one(self.run, word, self.projection, out)
    }

    /// Finds the first block of each word and reads those blocks.
    fn seek(&mut self, words: &[u64]) -> Result<()> {
        self.probes.clear();
        self.odd.clear();
        for (i, &word) in words.iter().enumerate() {
            let prefix = [word];
            let key = KeyRef::Words(&prefix);
            let number = self.run.table_for(key);
            let Some(table) = self.run.tables.get(number) else {
                if self.covered && self.view.is_above(word, self.at) {
                    self.odd.push(i as u32);
                }
                continue;
            };
            if self.covered && self.view.is_above(word, self.at) {
                self.odd.push(i as u32);
            } else if let Some(block) = table.block_for(key) {
                let (table, block) = (number as u32, block as u32);
                self.probes.push(Probe { table, block, word: i as u32 });
            } else if number + 1 < self.run.tables.len() {
                // The next table may begin with it.
                self.odd.push(i as u32);
            }
        }
        if !self.probes.is_sorted() {
            self.probes.sort_unstable();
        }
        self.held.clear();
        let place = |probe: &Probe| (probe.table as usize, probe.block as usize);
        let mut places: Vec<(usize, usize)> = self.probes.iter().map(place).collect();
        places.dedup();
        // Words whose rows go on behind a block are looked up by themselves, and find it in the cache.
        self.held.extend(self.run.read_blocks(&places, Fill::Ahead)?);
        Ok(())
    }

    /// Finds the rows of each word in its block.
    fn find(&mut self, words: &[u64]) {
        self.found.clear();
        self.places.clear();
        self.places.resize(words.len(), 0);
        let first_odd = self.odd.len();
        let by_block = self.probes.chunk_by(|a, b| (a.table, a.block) == (b.table, b.block));
        for (held, probes) in by_block.enumerate() {
            let block = &self.held[held];
            for probe in probes {
                let mut found = block.find_run(words[probe.word as usize]);
                if found.rows.end == block.rows() {
                    // May go on in the next block.
                    self.odd.push(probe.word);
                    found.rows.end = found.rows.start;
                }
                self.places[probe.word as usize] = found.rows.len() as u64;
                self.found.push((held as u32, found));
            }
        }
        if self.odd.len() > first_odd {
            self.odd.sort_unstable();
        }
    }

    /// Reads the words whose rows are not simply those of one block.
    fn read_odd(&mut self, words: &[u64]) -> Result<()> {
        let mut rows = std::mem::replace(&mut self.odd_rows, Batch::new(self.view.shape()));
        rows.clear();
        for &i in &self.odd {
            let before = rows.rows;
            self.append_word(words[i as usize], &mut rows)?;
            self.places[i as usize] = (rows.rows - before) as u64;
        }
        self.odd_rows = rows;
        Ok(())
    }

    /// Decodes all rows to their places behind those of `out`.
    fn write(&mut self, words: &[u64], offsets: &mut Vec<u64>, out: &mut Batch) {
        let p = self.projection;
        let mut end = out.rows as u64;
        for place in &mut self.places {
            let rows = std::mem::replace(place, end);
            end += rows;
            offsets.push(end);
        }
        resize(out, p, end as usize);
        let probes = self.probes.chunks(TOUCH_WORDS).zip(self.found.chunks(TOUCH_WORDS));
        for (probes, found) in probes {
            for (held, run) in found.iter().filter(|(_, run)| !run.rows.is_empty()) {
                self.held[*held as usize].touch_run(run, p);
            }
            for (probe, (held, run)) in probes.iter().zip(found) {
                if !run.rows.is_empty() {
                    let word = probe.word as usize;
                    let at = self.places[word] as usize;
                    self.held[*held as usize].write_run(words[word], run, p, at, out);
                }
            }
        }
        let mut from = 0;
        for &i in &self.odd {
            let at = self.places[i as usize] as usize;
            let next = self.places.get(i as usize + 1);
            let rows = next.map_or(end as usize, |next| *next as usize) - at;
            copy(&self.odd_rows, from, rows, p, at, out);
            from += rows;
        }
    }
}

/// Whether the projected columns are words without validity, as long as the batch has rows.
fn is_plain(rows: &Batch, p: Projection) -> bool {
    let Keys::Words(keys) = &rows.keys else { return false };
    let keys_fit = keys.iter().enumerate().all(|(i, key)| !p.key(i) || key.len() == rows.rows);
    keys.len() == 2
        && keys_fit
        && rows.values.iter().enumerate().all(|(i, value)| match value {
            _ if !p.value(i) => true,
            Column::Words(column) => column.validity.0.is_none() && column.words.len() == rows.rows,
            Column::Bytes(_) => false,
        })
}

/// Makes the projected columns `rows` long.
fn resize(out: &mut Batch, p: Projection, rows: usize) {
    out.rows = rows;
    if let Keys::Words(keys) = &mut out.keys {
        let keys = keys.iter_mut().enumerate().filter(|(i, _)| p.key(*i));
        keys.for_each(|(_, key)| key.resize(rows, 0));
    }
    for (i, value) in out.values.iter_mut().enumerate() {
        if let (true, Column::Words(column)) = (p.value(i), value) {
            column.words.resize(rows, 0);
        }
    }
}

/// Copies rows of one plain batch over those of another.
fn copy(from: &Batch, first: usize, rows: usize, p: Projection, at: usize, to: &mut Batch) {
    let (source, target) = (first..first + rows, at..at + rows);
    if let (Keys::Words(from), Keys::Words(to)) = (&from.keys, &mut to.keys) {
        let columns = from.iter().zip(to).enumerate().filter(|(i, _)| p.key(*i));
        for (_, (from, to)) in columns {
            to[target.clone()].copy_from_slice(&from[source.clone()]);
        }
    }
    for (i, columns) in from.values.iter().zip(&mut to.values).enumerate() {
        if let (true, (Column::Words(from), Column::Words(to))) = (p.value(i), columns) {
            to.words[target.clone()].copy_from_slice(&from.words[source.clone()]);
        }
    }
}

/// Appends the rows of one word of a run of which every row is visible.
fn append_one(run: &RunView, word: u64, p: Projection, out: &mut Batch) -> Result<()> {
    let prefix = [word];
    let key = KeyRef::Words(&prefix);
    let number = run.table_for(key);
    let Some(table) = run.tables.get(number) else { return Ok(()) };
    let range = KeyRange::prefix_words(&prefix);
    let Some(first) = table.block_for(key) else {
        return append_behind(run, number + 1, 0, &range, p, out);
    };
    let block = table.block(first, Fill::Keep)?;
    let rows = block.append_range(&range, p, out);
    if rows.end < block.rows() {
        return Ok(());
    }
    append_behind(run, number, first + 1, &range, p, out)
}

/// Appends the rows of `range` from block `block` of table `table` on.
#[cold]
fn append_behind(
    run: &RunView,
    table: usize,
    mut block: usize,
    range: &KeyRange,
    p: Projection,
    out: &mut Batch,
) -> Result<()> {
    for table in run.tables.get(table..).unwrap_or_default() {
        let blocks = table.blocks_overlapping(range);
        if block == 0 && blocks.is_empty() {
            break;
        }
        for block in blocks.start.max(block)..blocks.end {
            table.block(block, Fill::Keep)?.append_range(range, p, out);
        }
        block = 0;
    }
    Ok(())
}
