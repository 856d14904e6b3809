//! All rows of many first words at once: the batch form of adjacency reads.
//!
//! # Why in stages
//! The words of a batch lie anywhere in a run, so each step of each word would wait for memory.
//! Sorted by block and done step by step (all searches, then all first loads, then all decoding),
//! the waits of many words pass beside each other. Counts are known before anything is decoded, so
//! the rows of a word that only one run holds are decoded to their final place, whatever the order
//! of the words. Those of a word that several sources hold are put together first (`layers.rs`).

use super::layers::{Layers, is_plain, resize};
use super::runs::{RunView, Start};
use super::source::read_block;
use super::{ReadAt, SuperVersion};
use crate::codec::runs::RunRange;
use crate::error::Result;
use crate::memtable::Memtable;
use crate::table::{Block, Fill};
use base::{Batch, Column, KeyRange, KeyRef, Keys, Projection, SeqNo};
use std::sync::Arc;

/// First words whose blocks are held together.
const CHUNK_WORDS: usize = 1024;

/// First words whose rows are touched before they are decoded: a first-level cache holds that.
const TOUCH_WORDS: usize = 64;

/// A word whose rows a run does not have.
const NOT_FOUND: u32 = u32::MAX;

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
        if first_words.len() > 1 {
            let mut reader = Adjacencies::new(self, at, projection);
            // So many blocks a run are held at once.
            let words = (CHUNK_WORDS / self.runs.len().max(1)).max(TOUCH_WORDS);
            for chunk in first_words.chunks(words) {
                reader.append(chunk, offsets, out)?;
            }
            return Ok(());
        }
        for &word in first_words {
            self.append_word(word, at, projection, out)?;
            offsets.push(out.rows as u64);
        }
        Ok(())
    }

    /// Appends the rows of one word by itself.
    fn append_word(
        &self,
        word: u64,
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        match &self.runs[..] {
            _ if self.may_be_above(word, at) || self.has_tombstones(at) => {}
            [] => return Ok(()),
            [run] if run.is_plain_at(at.snapshot) => return append_one(run, word, projection, out),
            _ => {}
        }
        self.scan_into(&KeyRange::prefix_words(&[word]), at, projection, usize::MAX, out)
    }
}

/// Where a word's rows may begin in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Probe {
    table: u32,
    block: u32,
    /// The word's number in the chunk.
    word: u32,
}

/// Where a chunk of words has its rows in one run.
struct Stage<'a> {
    run: &'a RunView,
    /// Every row of it is visible unchanged.
    is_plain: bool,
    /// Whether its filter is consulted: not in the deepest run, where most keys lie.
    ask_filter: bool,
    /// The words that a block may hold, by block.
    probes: Vec<Probe>,
    /// For each probe the index of its block in `held`, and its rows there.
    found: Vec<(u32, RunRange)>,
    held: Vec<Arc<Block>>,
    /// Of each word its probe, if rows were found; else [`NOT_FOUND`].
    of_word: Vec<u32>,
}

/// Where the rows of a word come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Nowhere.
    Nothing,
    /// From this stage alone, unchanged.
    Stage(u32),
    /// From the stages and the memtables.
    Layers,
    /// It is read by itself: its rows in a run lie in several blocks, or may lie in several tables.
    Separate,
}

/// Reads adjacencies, chunk by chunk of words.
struct Adjacencies<'a> {
    view: &'a SuperVersion,
    at: ReadAt<'a>,
    projection: Projection,
    /// Whether the shape and the projection are an adjacency's.
    fits: bool,
    /// Newest first.
    memtables: Vec<(&'a Memtable, SeqNo)>,
    /// Newest first.
    stages: Vec<Stage<'a>>,
    /// Of each word of the chunk.
    ways: Vec<Way>,
    layers: Layers,
    /// Rows of the words that are no stage's alone, one word after the other.
    mixed: Batch,
    /// Rows of each word of the chunk; then where they begin.
    places: Vec<u64>,
}

impl<'a> Stage<'a> {
    /// Finds the first block of each word and reads those blocks. Notes the words whose rows may
    /// lie in several tables.
    fn seek(&mut self, words: &[u64], snapshot: SeqNo, ways: &mut [Way]) -> Result<()> {
        self.probes.clear();
        let run = self.run;
        if self.ask_filter {
            for &word in words {
                if let Some(table) = run.tables.get(run.table_for(KeyRef::Words(&[word]))) {
                    table.prefetch_first_word_filter(word);
                }
            }
        }
        for (i, &word) in words.iter().enumerate() {
            match run.start_of(word, snapshot, self.ask_filter) {
                Start::Nowhere => {}
                Start::Scattered => ways[i] = Way::Separate,
                Start::Block(table, block) => {
                    let (table, block) = (table as u32, block as u32);
                    self.probes.push(Probe { table, block, word: i as u32 });
                }
            }
        }
        if !self.probes.is_sorted() {
            self.probes.sort_unstable();
        }
        self.held.clear();
        let place = |probe: &Probe| (probe.table as usize, probe.block as usize);
        let mut places: Vec<(usize, usize)> = self.probes.iter().map(place).collect();
        places.dedup();
        // Words whose rows continue behind a block are looked up by themselves, and find the block
        // in the cache. Headers suffice: an adjacency has no strings.
        self.held.extend(run.read_heads(&places, Fill::Ahead)?);
        Ok(())
    }

    /// Finds the rows of each word in its block, and chooses the path that reads each word. Counts
    /// the rows that only this stage, whose number is `number`, has.
    fn find(&mut self, words: &[u64], number: u32, ways: &mut [Way], counts: &mut [u64]) {
        self.found.clear();
        self.of_word.clear();
        self.of_word.resize(words.len(), NOT_FOUND);
        let by_block = self.probes.chunk_by(|a, b| (a.table, a.block) == (b.table, b.block));
        for (held, probes) in by_block.enumerate() {
            let block = &self.held[held];
            for probe in probes {
                let word = probe.word as usize;
                let found = block.find_run(words[word]);
                let way = &mut ways[word];
                let place = (probe.table as usize, probe.block as usize);
                if self.run.goes_on(place, block, &found, words[word]) {
                    *way = Way::Separate;
                } else if !found.rows.is_empty() {
                    self.of_word[word] = self.found.len() as u32;
                    counts[word] = found.rows.len() as u64;
                    *way = match *way {
                        Way::Nothing if self.is_plain => Way::Stage(number),
                        Way::Separate => Way::Separate,
                        _ => Way::Layers,
                    };
                }
                self.found.push((held as u32, found));
            }
        }
    }

    /// Whether the rows of all held blocks can be taken unchanged. Mostly a null prevents it.
    fn is_words(&self, p: Projection) -> bool {
        !self.is_plain || self.held.iter().all(|block| block.is_adjacency(p))
    }

    /// The block and the rows of a word.
    fn rows_of(&self, word: usize) -> Option<(&Block, &RunRange)> {
        let (held, found) = self.found.get(self.of_word[word] as usize)?;
        Some((&self.held[*held as usize], found))
    }
}

impl<'a> Adjacencies<'a> {
    fn new(view: &'a SuperVersion, at: ReadAt<'a>, projection: Projection) -> Self {
        let stages = view.runs.iter().enumerate().map(|(number, run)| Stage {
            run,
            is_plain: run.is_plain_at(at.snapshot),
            ask_filter: number + 1 < view.runs.len(),
            probes: Vec::new(),
            found: Vec::new(),
            held: Vec::new(),
            of_word: Vec::new(),
        });
        Self {
            view,
            at,
            projection,
            fits: Layers::fit(view.shape(), projection) && !view.has_tombstones(at),
            memtables: view.layers_in_memory(at).collect(),
            stages: stages.collect(),
            ways: Vec::new(),
            layers: Layers::new(view.shape(), projection, usize::MAX),
            mixed: Batch::new(view.shape()),
            places: Vec::new(),
        }
    }

    /// Appends the rows of these words, and an offset for each.
    fn append(&mut self, words: &[u64], offsets: &mut Vec<u64>, out: &mut Batch) -> Result<()> {
        let p = self.projection;
        self.ways.clear();
        self.ways.resize(words.len(), Way::Nothing);
        // Of one run the blocks are read together whatever the rows are.
        if self.fits || self.stages.len() == 1 {
            for stage in &mut self.stages {
                stage.seek(words, self.at.snapshot, &mut self.ways)?;
            }
        }
        if self.fits && is_plain(out, p) && self.stages.iter().all(|stage| stage.is_words(p)) {
            self.places.clear();
            self.places.resize(words.len(), 0);
            for (number, stage) in self.stages.iter_mut().enumerate() {
                stage.find(words, number as u32, &mut self.ways, &mut self.places);
            }
            self.look_above(words);
            self.read_mixed(words)?;
            if is_plain(&self.mixed, p) {
                self.write(words, offsets, out);
                return Ok(());
            }
        }
        for &word in words {
            self.view.append_word(word, self.at, p, out)?;
            offsets.push(out.rows as u64);
        }
        Ok(())
    }

    /// Notes the words for which a memtable may hold entries.
    fn look_above(&mut self, words: &[u64]) {
        for (memtable, _) in &self.memtables {
            for (way, &word) in self.ways.iter_mut().zip(words) {
                if *way != Way::Separate && memtable.may_contain_first_word(word) {
                    *way = Way::Layers;
                }
            }
        }
    }

    /// Reads the words whose rows are not simply those of one stage, and counts their rows.
    fn read_mixed(&mut self, words: &[u64]) -> Result<()> {
        self.mixed.clear();
        if !self.ways.iter().any(|way| matches!(way, Way::Layers | Way::Separate)) {
            return Ok(());
        }
        let mut rows = std::mem::replace(&mut self.mixed, Batch::new(self.view.shape()));
        for from in (0..words.len()).step_by(TOUCH_WORDS) {
            let some = from..words.len().min(from + TOUCH_WORDS);
            for word in some.clone().filter(|&word| self.ways[word] == Way::Layers) {
                for (block, found) in self.stages.iter().filter_map(|stage| stage.rows_of(word)) {
                    block.touch_run(found, self.projection);
                }
            }
            for word in some {
                let before = rows.rows;
                match self.ways[word] {
                    Way::Nothing | Way::Stage(_) => {}
                    way => {
                        if way == Way::Separate || !self.read_layers(word, words[word], &mut rows) {
                            let view = self.view;
                            view.append_word(words[word], self.at, self.projection, &mut rows)?;
                            if !is_plain(&rows, self.projection) {
                                // A null: all words of the chunk are read by themselves.
                                self.mixed = rows;
                                return Ok(());
                            }
                        }
                        self.places[word] = (rows.rows - before) as u64;
                    }
                }
            }
        }
        self.mixed = rows;
        Ok(())
    }

    /// Appends the rows of a word from all sources. Does nothing and returns `false` if that has to
    /// be left to the merge.
    fn read_layers(&mut self, number: usize, word: u64, rows: &mut Batch) -> bool {
        let Self { layers, stages, .. } = self;
        let snapshot = self.at.snapshot;
        layers.clear();
        for (memtable, snapshot) in &self.memtables {
            if memtable.may_contain_first_word(word)
                && !layers.add_memtable(memtable, word, *snapshot)
            {
                return false;
            }
        }
        let mut last: Option<(&Stage<'_>, (&Block, &RunRange))> = None;
        for stage in stages.iter() {
            let Some(found) = stage.rows_of(number) else { continue };
            if let Some((_, (block, found))) = last.replace((stage, found))
                && !layers.add_rows(block, found, snapshot)
            {
                return false;
            }
        }
        let below = match last {
            Some((stage, below)) if stage.is_plain => Some(below),
            Some((_, (block, found))) if !layers.add_rows(block, found, snapshot) => return false,
            _ => None,
        };
        layers.append(word, below, rows);
        true
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
        for (number, stage) in self.stages.iter().enumerate() {
            let way = Way::Stage(number as u32);
            let probes = stage.probes.chunks(TOUCH_WORDS).zip(stage.found.chunks(TOUCH_WORDS));
            for (probes, found) in probes {
                let of_stage = || {
                    let pairs = probes.iter().zip(found);
                    pairs.filter(|(probe, _)| self.ways[probe.word as usize] == way)
                };
                for (_, (held, run)) in of_stage() {
                    stage.held[*held as usize].touch_run(run, p);
                }
                for (probe, (held, run)) in of_stage() {
                    let word = probe.word as usize;
                    let at = self.places[word] as usize;
                    stage.held[*held as usize].write_run(words[word], run, p, at, out);
                }
            }
        }
        let mut from = 0;
        for (i, way) in self.ways.iter().enumerate() {
            if matches!(way, Way::Layers | Way::Separate) {
                let at = self.places[i] as usize;
                let next = self.places.get(i + 1);
                let rows = next.map_or(end as usize, |next| *next as usize) - at;
                copy(&self.mixed, from, rows, p, at, out);
                from += rows;
            }
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

/// Appends the rows of one word of a run that has only visible rows.
fn append_one(run: &RunView, word: u64, p: Projection, out: &mut Batch) -> Result<()> {
    let prefix = [word];
    let key = KeyRef::Words(&prefix);
    let number = run.table_for(key);
    let Some(table) = run.tables.get(number) else { return Ok(()) };
    let range = KeyRange::prefix_words(&prefix);
    let Some(first) = table.block_for(key) else {
        return append_behind(run, number + 1, 0, &range, p, out);
    };
    let block = read_block(table, first, true, p, Fill::Keep)?;
    let rows = block.append_range_read(&range, p, out)?;
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
            read_block(table, block, true, p, Fill::Keep)?.append_range_read(range, p, out)?;
        }
        block = 0;
    }
    Ok(())
}
