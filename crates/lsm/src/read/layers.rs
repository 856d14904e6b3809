//! Rows of one first word that several sources hold: the new ones, and ranges of older ones between
//! them.
//!
//! # Why apart from the merge
//! A vertex of a changing graph has most of its edges in the deepest run and a few in each memtable
//! and each run above. The merge sets up one stream per source, which takes longer than everything
//! else. Here the few newer rows are collected and sorted.
//!
//! # Invariants
//! 1. Sources are added newest first.
//! 2. The newer rows are visible to the reader. Each source adds only the newest visible version of
//!    a key.
//! 3. Anything but plain rows of two words (merges, nulls, strings, range tombstones) is refused,
//!    and left to the merge.

use super::columns::{append_rows, push_key};
use super::get::{DELETE, PUT};
use super::runs::{Adjacency, RunView};
use super::{ReadAt, SuperVersion};
use crate::codec::runs::RunRange;
use crate::error::Result;
use crate::memtable::{EntryKey, Memtable};
use crate::table::Block;
use base::{
    Batch, Column, ColumnShape, KeyRange, KeyRef, KeyShape, Keys, Projection, SeqNo, Shape,
};

/// The newest version of a key in one source.
#[derive(Clone, Copy, Debug)]
struct Above {
    /// Second word of the key.
    second: u64,
    /// A row, or a deletion.
    is_there: bool,
    /// Where its values begin.
    values: usize,
}

/// Rows of one first word, source by source.
#[derive(Debug)]
pub(super) struct Layers {
    above: Vec<Above>,
    /// No more of them are collected.
    above_max: usize,
    /// Values of the newer sources: a word for each of `columns`.
    values: Vec<u64>,
    /// Projected value columns.
    columns: Vec<usize>,
    projection: Projection,
    /// Memory for the second words of a run above.
    seconds: Vec<u64>,
    /// Memory for the rows below.
    below: Batch,
}

impl Layers {
    /// Of a word more than `above_max` versions above are refused.
    pub(super) fn new(shape: &Shape, projection: Projection, above_max: usize) -> Self {
        Self {
            above: Vec::new(),
            above_max,
            values: Vec::new(),
            columns: (0..shape.values.len()).filter(|&i| projection.value(i)).collect(),
            projection,
            seconds: Vec::new(),
            below: Batch::new(shape),
        }
    }

    /// Whether rows of this shape can be read here at all.
    pub(super) fn fit(shape: &Shape, p: Projection) -> bool {
        let mut values = shape.values.iter().enumerate();
        shape.key == KeyShape::Words(2)
            && values.all(|(i, value)| !p.value(i) || matches!(value, ColumnShape::Word { .. }))
    }

    /// Begins the next word.
    pub(super) fn clear(&mut self) {
        self.above.clear();
        self.values.clear();
    }

    /// Adds the rows of `word` in a memtable; `false` where the merge has to handle them.
    pub(super) fn add_memtable(&mut self, memtable: &Memtable, word: u64, snapshot: SeqNo) -> bool {
        let mut cursor = memtable.cursor(KeyRef::Words(&[word]));
        while let Some(entry) = cursor.entry() {
            let EntryKey::Words([first, second, ..], _) = entry.key() else { return false };
            if first != word {
                break;
            }
            if let Some(version) = entry.seen_at(snapshot)
                && !self.add(second, version.kind(), |column| version.word(column))
            {
                return false;
            }
            cursor.skip_key();
        }
        true
    }

    /// Adds all rows of a word that a run holds; `false` if that has to be left to the merge.
    pub(super) fn add_rows(&mut self, block: &Block, found: &RunRange, snapshot: SeqNo) -> bool {
        let mut seconds = std::mem::take(&mut self.seconds);
        seconds.clear();
        seconds.resize(found.rows.len(), 0);
        block.last_words_into(found, &mut seconds);
        let all_seen = block.seq_max() <= snapshot;
        let mut last = None;
        let mut fits = true;
        for (row, &second) in found.rows.clone().zip(&seconds) {
            if last == Some(second) || !all_seen && block.seq(row) > snapshot {
                continue;
            }
            last = Some(second);
            fits = self.add(second, block.kind(row), |column| block.word(column, row));
            if !fits {
                break;
            }
        }
        self.seconds = seconds;
        fits
    }

    fn add(&mut self, second: u64, kind: u8, word: impl Fn(usize) -> Option<u64>) -> bool {
        if self.above.len() == self.above_max {
            return false;
        }
        let values = self.values.len();
        match kind {
            DELETE => {}
            PUT => {
                for &column in &self.columns {
                    let Some(word) = word(column) else { return false };
                    self.values.push(word);
                }
            }
            _ => return false,
        }
        self.above.push(Above { second, is_there: kind == PUT, values });
        true
    }

    /// Appends the rows of `word` to `out`, which is plain: the added rows over those below. Those
    /// below are of a run that has only visible rows, and of a block that is an adjacency.
    pub(super) fn append(
        &mut self,
        word: u64,
        below: Option<(&Block, &RunRange)>,
        out: &mut Batch,
    ) {
        let p = self.projection;
        if let (Some((block, found)), []) = (below, &self.above[..]) {
            let at = out.rows;
            resize(out, p, at + found.rows.len());
            block.write_run(word, found, p, at, out);
            return;
        }
        // Stable: of equal keys the newest stays first.
        self.above.sort_by_key(|above| above.second);
        let with_seconds = Projection { keys: p.keys | 2, ..p };
        let rows = below.map_or(0, |(_, found)| found.rows.len());
        resize(&mut self.below, with_seconds, rows);
        if let Some((block, found)) = below {
            block.write_run(word, found, with_seconds, 0, &mut self.below);
        }
        let seconds = match &self.below.keys {
            Keys::Words(keys) => &keys[1][..],
            Keys::Bytes(_) => &[],
        };
        let below = (&self.below.keys, &self.below.values[..]);
        let (mut from, mut last) = (0, None);
        for above in &self.above {
            if last == Some(above.second) {
                continue;
            }
            last = Some(above.second);
            let to = from + seconds[from..].partition_point(|second| *second < above.second);
            append_rows(out, below, from..to, p);
            from = to + usize::from(seconds.get(to) == Some(&above.second));
            if above.is_there {
                out.rows += 1;
                push_key(&mut out.keys, KeyRef::Words(&[word, above.second]), p);
                for (&column, &value) in self.columns.iter().zip(&self.values[above.values..]) {
                    if let Column::Words(out) = &mut out.values[column] {
                        out.words.push(value);
                    }
                }
            }
        }
        append_rows(out, below, from..rows, p);
    }
}

impl SuperVersion {
    /// Appends the rows of `range` if these are all keys that begin with one word, they can be read
    /// as an overlay, and there are surely at most `limit`. Otherwise does nothing and returns
    /// `false`.
    pub(super) fn append_layers(
        &self,
        range: &KeyRange,
        at: ReadAt<'_>,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<bool> {
        // The usual case of an unchanging relation: one run, and nothing newer.
        let is_covered = self.runs.len() > 1 || self.layers_in_memory(at).next().is_some();
        let (true, KeyRef::Words(&[word])) = (is_covered, range.lower.as_ref()) else {
            return Ok(false);
        };
        if self.runs.len() <= 1 && !self.may_be_above(word, at)
            || range.upper != KeyRange::prefix_words(&[word]).upper
            || !Layers::fit(self.shape(), projection)
            || self.has_tombstones(at)
            || !is_plain(out, projection)
        {
            return Ok(false);
        }
        let mut found: Vec<(&RunView, _, _)> = Vec::new();
        for (number, run) in self.runs.iter().enumerate() {
            // Most keys lie in the deepest run, so its filter would exclude few.
            let ask_filter = number + 1 < self.runs.len();
            match run.adjacency(word, at.snapshot, ask_filter)? {
                Adjacency::None => {}
                Adjacency::Rows(block, rows) => found.push((run, block, rows)),
                Adjacency::Scattered => return Ok(false),
            }
        }
        let rows: usize = found.iter().map(|(.., found)| found.rows.len()).sum();
        let Some(above_max) = limit.checked_sub(rows) else { return Ok(false) };
        let mut layers = Layers::new(self.shape(), projection, above_max);
        for (memtable, snapshot) in self.layers_in_memory(at) {
            if memtable.may_contain_first_word(word)
                && !layers.add_memtable(memtable, word, snapshot)
            {
                return Ok(false);
            }
        }
        // The rows of the runs were counted.
        layers.above_max = usize::MAX;
        let below = found.pop_if(|(run, block, _)| {
            run.is_plain_at(at.snapshot) && block.is_adjacency(projection)
        });
        for (_, block, found) in &found {
            if !layers.add_rows(block, found, at.snapshot) {
                return Ok(false);
            }
        }
        layers.append(word, below.as_ref().map(|(_, block, found)| (&**block, found)), out);
        Ok(true)
    }

    /// Whether a memtable may hold entries that begin with `word`.
    #[inline]
    pub(super) fn may_be_above(&self, word: u64, at: ReadAt<'_>) -> bool {
        self.layers_in_memory(at).any(|(memtable, _)| memtable.may_contain_first_word(word))
    }

    /// Memtables that hold rows, newest first, and the newest number that is seen of each.
    pub(super) fn layers_in_memory<'a>(
        &'a self,
        at: ReadAt<'a>,
    ) -> impl Iterator<Item = (&'a Memtable, SeqNo)> {
        let own = at.own().map(|own| (own, SeqNo::MAX));
        own.into_iter().chain(self.memtables().map(move |memtable| (&**memtable, at.snapshot)))
    }
}

/// Whether the projected columns are words without validity, as long as the batch has rows.
pub(super) fn is_plain(rows: &Batch, p: Projection) -> bool {
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
pub(super) fn resize(out: &mut Batch, p: Projection, rows: usize) {
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
