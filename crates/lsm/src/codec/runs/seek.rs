//! Lookups of a last word inside one run: first among the groups' entries, then in the gaps of one
//! group.

use super::super::gaps::{GROUP_SLOTS, Walk};
use super::samples::Samples;
use super::{KeyReader, RunRange, WALK_SLOTS};
use base::prefetch::prefetch_front;
use std::ops::Range;

/// Maximum number of cache lines of group entries that are fetched: all of a block of usual size.
const ENTRY_LINES: usize = 3;

/// Lines of a group that are fetched: those behind them the processor fetches on its own.
const GROUP_LINES: usize = 4;

/// The same of the sixteen gaps behind a sample.
const FEW_LINES: usize = 2;

/// Where in the gaps of a run a lookup begins, and the last word of the row before.
#[derive(Clone, Copy, Debug)]
pub struct Seek {
    pub(super) slot: usize,
    pub(super) value: u64,
    /// It ends before this slot, or at the end of the run.
    pub(super) end: usize,
}

impl KeyReader<'_> {
    /// [`Self::find_from`] inside one run, by its last word.
    pub(super) fn search_run(&self, run: usize, rows: Range<usize>, word: u64) -> Range<usize> {
        let (row, equal) = self.first_in_run(run, &rows, word);
        if !equal {
            return row..row;
        }
        let slots = self.slots_of(run, &rows);
        let mut end = row + 1;
        for slot in slots.start + (row - rows.start)..slots.end {
            if self.gap(slot) != 0 {
                break;
            }
            end += 1;
        }
        row..end
    }

    /// The first row of a run with at least this last word, and whether it has exactly this.
    #[inline]
    fn first_in_run(&self, run: usize, rows: &Range<usize>, word: u64) -> (usize, bool) {
        let slots = self.slots_of(run, rows);
        let seek = self.seek_in_run(run, &slots, word);
        self.first_from(seek, rows, &slots, word)
    }

    /// Where the last group begins that the run enters with less than `word`.
    #[inline(always)]
    fn seek_in_run(&self, run: usize, slots: &Range<usize>, word: u64) -> Seek {
        let first = self.firsts.get(run);
        if first >= word {
            return Seek { slot: slots.start, value: first, end: slots.end };
        }
        let (mut low, mut high) =
            (slots.start.div_ceil(GROUP_SLOTS), slots.end.div_ceil(GROUP_SLOTS));
        let base = low;
        while low < high {
            let middle = (low + high) / 2;
            if self.entries.get(middle) < word { low = middle + 1 } else { high = middle }
        }
        match low > base {
            true => {
                let slot = (low - 1) * GROUP_SLOTS;
                Seek { slot, value: self.entries.get(low - 1), end: slots.end }
            }
            false => Seek { slot: slots.start, value: first, end: slots.end },
        }
    }

    /// The first row from `seek` on with at least this last word, and whether it has exactly this.
    #[inline]
    fn first_from(
        &self,
        seek: Seek,
        rows: &Range<usize>,
        slots: &Range<usize>,
        word: u64,
    ) -> (usize, bool) {
        let Seek { mut slot, mut value, end: last } = seek;
        if value >= word {
            return (rows.start, value == word);
        }
        // Only damaged bytes make the loop go on past one group.
        while slot < last {
            let end = (slot / GROUP_SLOTS + 1) * GROUP_SLOTS;
            let end = end.min(last);
            let Some(group) = self.group(slot / GROUP_SLOTS) else { break };
            // All gaps of a piece at once, whose sum tells whether the word lies in it.
            while end - slot > WALK_SLOTS {
                let mut gaps = [0; WALK_SLOTS];
                group.unpack(slot % GROUP_SLOTS, &mut gaps);
                let after = gaps.iter().fold(value, |sum, &gap| sum.wrapping_add(gap));
                if after >= word {
                    for (i, gap) in gaps.into_iter().enumerate() {
                        value = value.wrapping_add(gap);
                        if value >= word {
                            return (rows.start + (slot + i + 1 - slots.start), value == word);
                        }
                    }
                }
                value = after;
                slot += WALK_SLOTS;
            }
            let mut walk = Walk::new(group, slot % GROUP_SLOTS);
            while slot < end {
                value = value.wrapping_add(walk.next());
                slot += 1;
                if value >= word {
                    return (rows.start + (slot - slots.start), value == word);
                }
            }
        }
        (rows.end, false)
    }

    /// Fetches what [`Self::seek`] reads for any key.
    #[inline]
    pub fn prefetch_entries(&self) {
        prefetch_front(self.entries.bytes(), ENTRY_LINES);
        prefetch_front(self.offsets.bytes(), ENTRY_LINES);
        prefetch_front(self.shapes, ENTRY_LINES);
    }

    /// Fetches what [`Self::seek`] reads of the samples for a key.
    #[inline]
    pub fn prefetch_samples(&self, key: &[u64], samples: Option<&Samples>) {
        if let (&[word], Some(samples)) = (key, samples) {
            samples.prefetch(word);
        }
    }

    /// Where [`Self::find_first_from`] starts to look for a key of one word. Prefetches what is
    /// decoded there.
    #[inline]
    pub fn seek(&self, key: &[u64], samples: Option<&Samples>) -> Seek {
        match (key, samples) {
            (&[word], Some(samples)) => {
                let seek = samples.seek(word, self.rows - 1);
                if let Some(group) = self.group(seek.slot / GROUP_SLOTS) {
                    group.prefetch(seek.slot % GROUP_SLOTS, FEW_LINES);
                }
                seek
            }
            (&[word], None) if self.rows > 0 => {
                let slots = self.slots_of(0, &(0..self.rows));
                let seek = self.seek_in_run(0, &slots, word);
                if seek.value < word
                    && seek.slot < slots.end
                    && let Some(group) = self.group(seek.slot / GROUP_SLOTS)
                {
                    group.prefetch(0, GROUP_LINES);
                }
                seek
            }
            _ => Seek { slot: 0, value: 0, end: 0 },
        }
    }

    /// As [`Self::find_first`], from where [`Self::seek`] said.
    ///
    /// # Panics
    /// If `key` does not have the length of the block's keys.
    #[inline]
    pub fn find_first_from(&self, key: &[u64], seek: Seek) -> Option<usize> {
        assert_eq!(key.len(), self.words, "a whole key");
        match *key {
            [word] if self.rows > 0 => {
                let rows = 0..self.rows;
                let (row, equal) = self.first_from(seek, &rows, &self.slots_of(0, &rows), word);
                equal.then_some(row)
            }
            _ => self.find_first(key),
        }
    }

    /// First row with exactly `key`, its newest version: [`Self::find`] without counting the rest.
    ///
    /// # Panics
    /// If `key` does not have the length of the block's keys.
    #[inline]
    pub fn find_first(&self, key: &[u64]) -> Option<usize> {
        assert_eq!(key.len(), self.words, "a whole key");
        let (&last, prefix) = key.split_last().expect("a key has at least one word");
        let found = match prefix {
            [] => RunRange { runs: 0..1, rows: 0..self.rows },
            prefix => self.find_prefix(prefix),
        };
        if found.rows.is_empty() {
            return None;
        }
        let (row, equal) = self.first_in_run(found.runs.start, &found.rows, last);
        equal.then_some(row)
    }
}
