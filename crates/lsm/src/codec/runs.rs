//! The key columns of a block: sorted rows of one to four words.
//!
//! # Why runs
//! Rows are sorted, so rows with the same words but the last lie together: a *run* (for an edge:
//! the edges of one source). The prefix is stored once a run, the last word as its gap to the row
//! before. Gaps lie in groups of 128 (`gaps.rs`), so that a lookup decodes at most one.
//!
//! # Invariants
//! 1. Rows are in ascending order; equal keys (versions of one) are neighbours and have gap 0.
//! 2. A run's first row has no gap: row `j > 0` of run `r` owns slot `start(r) - r + j - 1`.
//! 3. A group's entry is the last word of the row before its first slot's row, so a long run is
//!    searched over entries alone.
//! 4. With two key words a run's first word is unique in the block; it is stored minus its index.

mod samples;
mod seek;

pub use samples::{LazySamples, Samples};
pub use seek::Seek;

use super::bitpack::{self, PADDING_BYTES, Packed};
use super::gaps::{GROUP_SLOTS, Group, SHAPE_BYTES, Walk, encode_group};
use super::{Fields, Malformed};
use std::ops::Range;

/// Most words of a key.
pub const KEY_WORDS_MAX: usize = 4;

/// Up to this many slots are decoded one after another.
const WALK_SLOTS: usize = 48;

/// Rows that a scan writes at once, past the end of a run if need be.
const STEP: usize = 8;

/// Appends the key rows `rows` of `columns`, which are sorted.
///
/// # Panics
/// If there are not 1 to 4 columns or `rows` ends past one of them.
pub fn encode_keys<C: AsRef<[u64]>>(columns: &[C], rows: Range<usize>, out: &mut Vec<u8>) {
    let (last, prefix) = columns.split_last().expect("a key has at least one word");
    assert!(columns.len() <= KEY_WORDS_MAX, "a key has at most {KEY_WORDS_MAX} words");
    let last = &last.as_ref()[rows.clone()];
    let prefix: Vec<&[u64]> = prefix.iter().map(|c| &c.as_ref()[rows.clone()]).collect();

    let mut starts = Vec::new();
    let mut firsts = Vec::new();
    let mut entries = Vec::new();
    let mut gaps = Vec::with_capacity(rows.len());
    for row in 0..last.len() {
        if row == 0 || prefix.iter().any(|column| column[row] != column[row - 1]) {
            starts.push(row as u64);
            firsts.push(last[row]);
            continue;
        }
        debug_assert!(last[row] >= last[row - 1], "rows are sorted");
        if gaps.len().is_multiple_of(GROUP_SLOTS) {
            entries.push(last[row - 1]);
        }
        gaps.push(last[row].wrapping_sub(last[row - 1]));
    }

    let mut shapes = Vec::with_capacity(entries.len() * SHAPE_BYTES);
    let mut offsets = Vec::with_capacity(entries.len());
    let mut stream = Vec::with_capacity(gaps.len() * 2);
    for group in gaps.chunks(GROUP_SLOTS) {
        offsets.push(stream.len() as u64);
        encode_group(group, &mut shapes, &mut stream);
    }

    out.extend_from_slice(&(starts.len() as u32).to_le_bytes());
    out.extend_from_slice(&(stream.len() as u32).to_le_bytes());
    let mut scratch = Vec::with_capacity(starts.len());
    for column in &prefix {
        let unique = u64::from(prefix.len() == 1);
        scratch.clear();
        let words = starts.iter().enumerate();
        scratch.extend(words.map(|(i, &row)| column[row as usize].wrapping_sub(i as u64 * unique)));
        Packed::encode(&scratch, out);
    }
    starts.iter_mut().enumerate().for_each(|(run, start)| *start -= run as u64);
    for column in [&starts, &firsts, &entries, &offsets] {
        Packed::encode(column, out);
    }
    out.extend_from_slice(&shapes);
    out.extend_from_slice(&stream);
    out.extend_from_slice(&[0; PADDING_BYTES]);
}

/// Neighbouring runs and the rows they cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRange {
    /// The runs.
    pub runs: Range<usize>,
    /// Their rows.
    pub rows: Range<usize>,
}

/// The key columns of a block of known row count.
#[derive(Clone, Copy, Debug)]
pub struct KeyReader<'a> {
    words: usize,
    rows: usize,
    runs: usize,
    prefix: [Packed<'a>; KEY_WORDS_MAX - 1],
    starts: Packed<'a>,
    firsts: Packed<'a>,
    entries: Packed<'a>,
    offsets: Packed<'a>,
    shapes: &'a [u8],
    stream: &'a [u8],
}

impl<'a> KeyReader<'a> {
    /// Reads `rows` keys of `words` words; `bytes` holds nothing else.
    ///
    /// # Errors
    /// If `bytes` is no key column of that shape.
    pub fn parse(bytes: &'a [u8], words: usize, rows: usize) -> Result<Self, Malformed> {
        if words == 0 || words > KEY_WORDS_MAX {
            return Err(Malformed("a key of impossible width"));
        }
        let mut fields = Fields::new(bytes);
        let runs = fields.u32()? as usize;
        let stream_bytes = fields.u32()? as usize;
        // So that no count of slots is negative, and a block with rows has a run.
        if runs > rows || (runs == 0) != (rows == 0) || (words == 1 && runs > 1) {
            return Err(Malformed("an impossible number of runs"));
        }
        let groups = (rows - runs).div_ceil(GROUP_SLOTS);
        let mut prefix = [Packed::new(&[], 0, 0, 0); KEY_WORDS_MAX - 1];
        for column in &mut prefix[..words - 1] {
            *column = fields.packed(runs)?;
        }
        let starts = fields.packed(runs)?;
        let firsts = fields.packed(runs)?;
        let entries = fields.packed(groups)?;
        let offsets = fields.packed(groups)?;
        let shapes = fields.take(groups * SHAPE_BYTES)?;
        let stream = fields.rest();
        if stream.len() != stream_bytes + PADDING_BYTES {
            return Err(Malformed("gaps of the wrong length"));
        }
        Ok(Self { words, rows, runs, prefix, starts, firsts, entries, offsets, shapes, stream })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of runs: of distinct keys without their last word.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Words of a key.
    pub fn words(&self) -> usize {
        self.words
    }

    /// First row of `run`; the row count for the run past the last.
    #[inline(always)]
    fn start(&self, run: usize) -> usize {
        if run >= self.runs {
            return self.rows;
        }
        (self.starts.get(run).wrapping_add(run as u64) as usize).min(self.rows)
    }

    /// Word `column` of the prefix of `run`.
    #[inline(always)]
    fn prefix_word(&self, column: usize, run: usize) -> u64 {
        let unique = if self.words == 2 { run as u64 } else { 0 };
        self.prefix[column].get(run).wrapping_add(unique)
    }

    /// First run of `runs` whose word `column` is at least `word` (or, with `past`, above it).
    #[inline]
    fn search(&self, column: usize, runs: Range<usize>, word: u64, past: bool) -> usize {
        let (mut low, mut len) = (runs.start, runs.len());
        while len > 0 {
            let half = len / 2;
            let here = self.prefix_word(column, low + half);
            // The compiler makes these conditional moves: the outcome cannot be predicted.
            let right = here < word || (past && here == word);
            low = if right { low + half + 1 } else { low };
            len = if right { len - half - 1 } else { half };
        }
        low
    }

    /// The runs that can hold first word `word`: all, or few where sources are nearly dense.
    #[inline]
    fn candidates(&self, word: u64) -> Range<usize> {
        if self.words != 2 {
            return 0..self.runs;
        }
        // Word of run i is base + i + residual, and the residual has `width` bits.
        let column = &self.prefix[0];
        let above = word.saturating_sub(column.base());
        let residual_max = if column.width() >= 32 { u64::MAX } else { (1 << column.width()) - 1 };
        let low = above.saturating_sub(residual_max).min(self.runs as u64) as usize;
        let high = above.saturating_add(1).min(self.runs as u64) as usize;
        low..high.max(low)
    }

    /// Rows and runs whose key begins with `prefix`, which is shorter than a key. Empty, at the
    /// place where they would be, if there are none.
    ///
    /// # Panics
    /// If `prefix` is as long as a key or longer.
    pub fn find_prefix(&self, prefix: &[u64]) -> RunRange {
        assert!(prefix.len() < self.words, "a prefix is shorter than its key");
        let mut runs = 0..self.runs;
        for (column, &word) in prefix.iter().enumerate() {
            let within = if column == 0 { self.candidates(word) } else { runs };
            let low = self.search(column, within.clone(), word, false);
            let high = if self.words == 2 {
                low + usize::from(low < self.runs && self.prefix_word(0, low) == word)
            } else {
                self.search(column, low..within.end, word, true)
            };
            runs = low..high;
        }
        let start = self.start(runs.start);
        let end = if runs.is_empty() { start } else { self.start(runs.end).max(start) };
        RunRange { runs, rows: start..end }
    }

    /// Rows and runs whose first word is `word`. For keys of one word, rows with that key.
    #[inline]
    pub fn find_run(&self, word: u64) -> RunRange {
        if self.words == 1 {
            let rows = self.find(&[word]);
            return RunRange { runs: 0..usize::from(!rows.is_empty()), rows };
        }
        self.find_prefix(&[word])
    }

    /// First row whose key is at least `key`; a shorter key is less than all that begin with it.
    ///
    /// # Panics
    /// If `key` is longer than the keys of the block.
    pub fn lower_bound(&self, key: &[u64]) -> usize {
        self.find_from(key).start
    }

    /// Rows with exactly `key` (more than one if it has versions), else an empty range.
    ///
    /// # Panics
    /// If `key` does not have the length of the block's keys.
    pub fn find(&self, key: &[u64]) -> Range<usize> {
        assert_eq!(key.len(), self.words, "a whole key");
        self.find_from(key)
    }

    /// Starts at the first row with at least `key`; holds the rows that equal a whole key.
    fn find_from(&self, key: &[u64]) -> Range<usize> {
        assert!(key.len() <= self.words, "a key of {} words", self.words);
        if key.len() < self.words {
            let row = self.find_prefix(key).rows.start;
            return row..row;
        }
        if self.rows == 0 {
            return 0..0;
        }
        let (&last, prefix) = key.split_last().expect("a key has at least one word");
        let found = if prefix.is_empty() {
            RunRange { runs: 0..1, rows: 0..self.rows }
        } else {
            self.find_prefix(prefix)
        };
        if found.rows.is_empty() {
            return found.rows.start..found.rows.start;
        }
        self.search_run(found.runs.start, found.rows, last)
    }

    /// Slots of all rows of `run` but the first.
    #[inline(always)]
    fn slots_of(&self, run: usize, rows: &Range<usize>) -> Range<usize> {
        let slots = self.rows - self.runs;
        let start = rows.start.saturating_sub(run).min(slots);
        start..(start + rows.len().saturating_sub(1)).min(slots)
    }

    /// Group `index`, or `None` if damaged bytes point outside of the stream.
    #[inline(always)]
    fn group(&self, index: usize) -> Option<Group<'a>> {
        let shape = &self.shapes[index * SHAPE_BYTES..][..SHAPE_BYTES];
        let bytes = self.stream.get(self.offsets.get(index) as usize..)?;
        let slots = (self.rows - self.runs - index * GROUP_SLOTS).min(GROUP_SLOTS);
        Group::parse(shape, bytes, slots)
    }

    /// Gap of one slot.
    fn gap(&self, slot: usize) -> u64 {
        let mut out = [0];
        self.gaps(slot, &mut out);
        out[0]
    }

    /// Decodes the gaps of the slots from `start` on.
    fn gaps(&self, mut start: usize, mut out: &mut [u64]) {
        while !out.is_empty() {
            let place = start % GROUP_SLOTS;
            let (part, rest) = out.split_at_mut(out.len().min(GROUP_SLOTS - place));
            match self.group(start / GROUP_SLOTS) {
                None => part.fill(0),
                Some(group) => group.unpack(place, part),
            }
            start += part.len();
            out = rest;
        }
    }

    /// Decodes the slots from `start` on into running sums above `value`.
    fn sums(&self, mut start: usize, mut value: u64, mut out: &mut [u64]) {
        while !out.is_empty() {
            let place = start % GROUP_SLOTS;
            let (part, rest) = out.split_at_mut(out.len().min(GROUP_SLOTS - place));
            match self.group(start / GROUP_SLOTS) {
                None => part.fill(value),
                Some(group) if part.len() <= WALK_SLOTS => {
                    let mut walk = Walk::new(group, place);
                    for sum in part.iter_mut() {
                        value = value.wrapping_add(walk.next());
                        *sum = value;
                    }
                }
                Some(group) if group.patches.is_empty() => {
                    bitpack::unpack_gaps(group.bytes, group.width, place, value, part);
                }
                Some(group) => {
                    group.unpack(place, part);
                    for gap in part.iter_mut() {
                        value = value.wrapping_add(*gap);
                        *gap = value;
                    }
                }
            }
            value = part.last().copied().unwrap_or(value);
            start += part.len();
            out = rest;
        }
    }

    /// Decodes the last words of rows `skip..` of `run`, which covers `rows`.
    fn read_run(&self, run: usize, rows: &Range<usize>, skip: usize, out: &mut [u64]) {
        let Some((head, tail)) = out.split_first_mut() else { return };
        let mut value = self.firsts.get(run);
        let slots = self.slots_of(run, rows);
        if skip > 0 {
            // The row before the first wanted: from its group's entry, if inside this run.
            let target = (slots.start + skip).min(slots.end);
            let mut from = target.saturating_sub(1) / GROUP_SLOTS * GROUP_SLOTS;
            if from > slots.start {
                value = self.entries.get(from / GROUP_SLOTS);
            } else {
                from = slots.start;
            }
            let mut buffer = [0; GROUP_SLOTS];
            let skipped = &mut buffer[..target - from];
            self.sums(from, value, skipped);
            value = skipped.last().copied().unwrap_or(value);
        }
        *head = value;
        let from = (slots.start + skip).min(slots.end);
        let have = tail.len().min(slots.end - from);
        self.sums(from, value, &mut tail[..have]);
        tail[have..].fill(value);
    }

    /// Appends the last word of every row of `found`, whole runs as a search returned them.
    pub fn last_words_of(&self, found: &RunRange, out: &mut Vec<u64>) {
        if found.runs.len() == 1 && self.words > 1 {
            let start = out.len();
            out.resize(start + found.rows.len(), 0);
            self.read_run(found.runs.start, &found.rows, 0, &mut out[start..]);
        } else {
            self.last_words(found.rows.clone(), out);
        }
    }

    /// Writes the last word of every row of `found`, one run as [`Self::find_run`] returned it.
    #[inline]
    pub fn last_words_into(&self, found: &RunRange, out: &mut [u64]) {
        self.read_run(found.runs.start, &found.rows, 0, out);
    }

    /// Reads the front of a run's gaps and forgets it, so that it is near when it is decoded.
    #[inline]
    pub fn touch(&self, found: &RunRange) {
        let slot = self.slots_of(found.runs.start, &found.rows).start;
        if found.rows.len() > 1
            && let Some(group) = self.group(slot / GROUP_SLOTS)
        {
            std::hint::black_box(bitpack::get(group.bytes, group.width, slot % GROUP_SLOTS));
        }
    }

    /// Run that holds row `row`.
    fn run_of(&self, row: usize) -> usize {
        let (mut low, mut high) = (0, self.runs);
        while low < high {
            let middle = (low + high) / 2;
            if self.start(middle) <= row { low = middle + 1 } else { high = middle }
        }
        low.saturating_sub(1)
    }

    /// Appends the last key word of `rows`.
    ///
    /// # Panics
    /// If `rows` ends past the last row.
    pub fn last_words(&self, rows: Range<usize>, out: &mut Vec<u64>) {
        assert!(rows.end <= self.rows, "{rows:?} of {}", self.rows);
        if rows.is_empty() {
            return;
        }
        let from = out.len();
        out.resize(from + rows.len() + STEP, 0);
        let mut run = self.run_of(rows.start);
        let start = self.start(run);
        // The first run may begin before the range.
        let covered = start..self.start(run + 1).max(start);
        let skip = rows.start.saturating_sub(start);
        let head = covered.end.saturating_sub(rows.start).clamp(1, rows.len());
        self.read_run(run, &covered, skip, &mut out[from..from + head]);
        run += 1;
        if head < rows.len() && run < self.runs {
            self.read_runs(run, &mut out[from + head..]);
        }
        out.truncate(from + rows.len());
    }

    /// Decodes rows from the start of run `first_run` on; the last [`STEP`] of `out` are scratch.
    ///
    /// All gaps are summed up in one sweep, as if they were one run. A run's words are then those
    /// sums plus a constant, added [`STEP`] at a time and past its end: the next run writes over
    /// that. So the short loops whose end no processor predicts become one or two steps.
    fn read_runs(&self, first_run: usize, out: &mut [u64]) {
        let len = out.len() - STEP;
        let start = self.start(first_run);
        let end = (start + len).min(self.rows);
        let runs = first_run..self.run_of(end.saturating_sub(1)).max(first_run) + 1;
        let Some(gap_count) = len.checked_sub(runs.len()) else { return };
        let slots = self.slots_of(first_run, &(start..start + gap_count + 1));
        // One allocation for the sums (`sums[i]` is that before gap `i`), ends and first words.
        let sums_len = 1 + gap_count + STEP;
        let mut scratch = vec![0; sums_len + 2 * runs.len()];
        let (sums, rest) = scratch.split_at_mut(sums_len);
        let (ends, firsts) = rest.split_at_mut(runs.len());
        self.sums(slots.start, 0, &mut sums[1..=slots.len()]);
        self.firsts.read(runs.start, firsts);
        let known = runs.len().min(self.runs - runs.start - 1);
        self.starts.read(runs.start + 1, &mut ends[..known]);
        ends[known..].fill(u64::MAX);

        let (mut write, mut read) = (0, 0);
        let mut row = start;
        for (run, (&first, &next)) in (runs.start as u64 + 1..).zip(firsts.iter().zip(&*ends)) {
            let next = next.saturating_add(run).min(end as u64) as usize;
            let count = next.saturating_sub(row).min(len - write).min(gap_count - read + 1);
            row = next;
            if count == 0 {
                continue;
            }
            let constant = first.wrapping_sub(sums[read]);
            let steps = count.div_ceil(STEP) * STEP;
            let to = out[write..write + steps].as_chunks_mut::<STEP>().0;
            let from = sums[read..read + steps].as_chunks::<STEP>().0;
            for (to, from) in to.iter_mut().zip(from) {
                for (word, sum) in to.iter_mut().zip(from) {
                    *word = sum.wrapping_add(constant);
                }
            }
            write += count;
            read += count - 1;
        }
    }

    /// Appends word `column` of the keys of `rows`.
    ///
    /// # Panics
    /// If the keys have no such word or `rows` ends past the last row.
    pub fn column(&self, column: usize, rows: Range<usize>, out: &mut Vec<u64>) {
        assert!(column < self.words, "word {column} of {}", self.words);
        assert!(rows.end <= self.rows, "{rows:?} of {}", self.rows);
        if column + 1 == self.words {
            return self.last_words(rows, out);
        }
        if rows.is_empty() {
            return;
        }
        let from = out.len();
        out.resize(from + rows.len() + STEP, 0);
        let (words, mut at) = (&mut out[from..], 0);
        for run in self.run_of(rows.start)..self.runs {
            let end = self.start(run + 1).min(rows.end).saturating_sub(rows.start);
            let word = self.prefix_word(column, run);
            for step in (at..end).step_by(STEP) {
                words[step..step + STEP].fill(word);
            }
            at = at.max(end);
            if at == rows.len() {
                break;
            }
        }
        out.truncate(from + rows.len());
    }

    /// Appends the first key word of `rows`.
    ///
    /// # Panics
    /// If `rows` ends past the last row.
    pub fn first_words(&self, rows: Range<usize>, out: &mut Vec<u64>) {
        self.column(0, rows, out);
    }

    /// Word `column` of the key of `row`.
    ///
    /// # Panics
    /// If there is no such row or word.
    pub fn get(&self, column: usize, row: usize) -> u64 {
        assert!(column < self.words && row < self.rows, "word {column} of row {row}");
        let run = self.run_of(row);
        if column + 1 < self.words {
            return self.prefix_word(column, run);
        }
        let start = self.start(run);
        let covered = start..self.start(run + 1).max(start);
        let mut out = [0];
        self.read_run(run, &covered, row.saturating_sub(start), &mut out);
        out[0]
    }

    /// Appends each first word of the block once, ascending.
    pub fn distinct_first_words(&self, out: &mut Vec<u64>) {
        let start = out.len();
        if self.words == 1 {
            self.last_words(0..self.rows, out);
        } else {
            out.extend((0..self.runs).map(|run| self.prefix_word(0, run)));
        }
        if self.words != 2 {
            let mut kept = start;
            for at in start..out.len() {
                if at == start || out[at] != out[kept - 1] {
                    out[kept] = out[at];
                    kept += 1;
                }
            }
            out.truncate(kept);
        }
    }
}

#[cfg(test)]
mod tests;
