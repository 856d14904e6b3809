//! Merges sources of versions into one order.
//!
//! # Why runs
//! Sources rarely alternate row by row: below the next key of the others, a whole range of one
//! source's chunk is next, and columns are copied by ranges. With some ten sources at most, looking at
//! each for the smallest key is as fast as a tree of losers and simpler.
//!
//! # Invariants
//! 1. Rows come in (key ascending, sequence number descending) order; of equal ones the earlier
//!    source's comes first, so sources are given newest first.
//! 2. A head holds at least one row not handed out, or its source is at its end and it is gone.

use super::columns::append_versions;
use super::source::{RowSource, Source};
use crate::Result;
use crate::rows::Rows;
use base::{KeyRef, Keys, Shape, WORDS_MAX};
use std::cmp::Ordering;

/// A source and the chunk of its rows at hand.
pub(crate) struct Head<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) rows: Rows,
    pub(crate) at: usize,
    pub(crate) len: usize,
    /// Words of the row at hand, padded with zeros; unused for byte strings.
    words: [u64; WORDS_MAX],
}

/// Heads that are not at their end.
pub(crate) struct Heads<'a> {
    pub(crate) heads: Vec<Head<'a>>,
}

impl<'a> Head<'a> {
    /// Reads the next chunk; `false` at the end.
    fn fill(&mut self) -> Result<bool> {
        self.rows.clear();
        let more = self.source.next_rows(&mut self.rows)?;
        (self.at, self.len) = (0, self.rows.len());
        self.load();
        Ok(more && self.len > 0)
    }

    fn load(&mut self) {
        if let Keys::Words(columns) = &self.rows.keys
            && self.at < self.len
        {
            for (word, column) in self.words.iter_mut().zip(columns) {
                *word = column[self.at];
            }
        }
    }

    /// Key of row `i`.
    pub(crate) fn key<'b>(&'b self, i: usize, buffer: &'b mut [u64; WORDS_MAX]) -> KeyRef<'b> {
        crate::memtable::key_at(&self.rows.keys, i, buffer)
    }

    fn bytes(&self, i: usize) -> &[u8] {
        match &self.rows.keys {
            Keys::Bytes(column) => column.get(i),
            Keys::Words(_) => &[],
        }
    }

    /// Key of row `i` compared with the key at hand of another head.
    fn compare(&self, i: usize, other: &Head<'_>) -> Ordering {
        match &self.rows.keys {
            Keys::Words(columns) => {
                for (column, word) in columns.iter().zip(&other.words) {
                    if column[i] != *word {
                        return column[i].cmp(word);
                    }
                }
                Ordering::Equal
            }
            Keys::Bytes(column) => column.get(i).cmp(other.bytes(other.at)),
        }
    }

    /// Keys at hand compared.
    pub(crate) fn compare_now(&self, other: &Head<'_>) -> Ordering {
        match &self.rows.keys {
            Keys::Words(_) => self.words.cmp(&other.words),
            Keys::Bytes(_) => self.bytes(self.at).cmp(other.bytes(other.at)),
        }
    }

    /// Whether all rows of the source are visible as they stand, if no other source has their keys.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(&self.source, Source::Run(run) if run.is_plain)
    }

    pub(crate) fn seq(&self) -> u64 {
        self.rows.seq(self.at)
    }
}

impl<'a> Heads<'a> {
    pub(crate) fn new(shape: &Shape, sources: Vec<Source<'a>>) -> Result<Self> {
        let mut heads = Vec::with_capacity(sources.len());
        for source in sources {
            let rows = Rows::new(shape);
            let mut head = Head { source, rows, at: 0, len: 0, words: [0; WORDS_MAX] };
            if head.fill()? {
                heads.push(head);
            }
        }
        Ok(Self { heads })
    }

    /// The head whose row comes next, and the other one whose key comes first after it (which may
    /// be the same key).
    pub(crate) fn first_two(&self) -> Option<(usize, Option<usize>)> {
        let mut first = 0;
        let mut second: Option<usize> = None;
        for i in 1..self.heads.len() {
            let head = &self.heads[i];
            let before_first = match head.compare_now(&self.heads[first]) {
                Ordering::Less => true,
                Ordering::Equal => head.seq() > self.heads[first].seq(),
                Ordering::Greater => false,
            };
            if before_first {
                (first, second) = (i, Some(first));
            } else if second.is_none_or(|s| head.compare_now(&self.heads[s]).is_lt()) {
                second = Some(i);
            }
        }
        (!self.heads.is_empty()).then_some((first, second))
    }

    /// End of the rows at hand of `first` whose keys are below the key at hand of `second`.
    pub(crate) fn run_end(&self, first: usize, second: Option<usize>) -> usize {
        let head = &self.heads[first];
        let Some(second) = second.map(|second| &self.heads[second]) else { return head.len };
        // Doubling steps, then halving: runs are short when sources alternate.
        let (mut low, mut step) = (head.at, 1);
        while low + step <= head.len && head.compare(low + step - 1, second).is_lt() {
            low += step;
            step *= 2;
        }
        let mut high = head.len.min(low + step - 1);
        while low < high {
            let middle = low.midpoint(high);
            if head.compare(middle, second).is_lt() { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Moves a head on to row `to` of its chunk, and past the chunk's end to the next one.
    pub(crate) fn advance(&mut self, i: usize, to: usize) -> Result<()> {
        let head = &mut self.heads[i];
        head.at = to;
        if to < head.len {
            head.load();
        } else if !head.fill()? {
            self.heads.remove(i);
        }
        Ok(())
    }
}

/// Merges versions: all of them, in order. What no snapshot needs is the caller's to drop.
pub struct VersionMerger<'a> {
    heads: Heads<'a>,
}

impl<'a> VersionMerger<'a> {
    /// Merges these sources, given newest first.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn new(shape: &Shape, sources: Vec<Box<dyn RowSource + 'a>>) -> Result<Self> {
        let sources = sources.into_iter().map(Source::Other).collect();
        Ok(Self { heads: Heads::new(shape, sources)? })
    }

    /// Appends the next rows, at most `rows_max`, to `out`; `false` if there was none left.
    /// A key's versions may go on in the next chunk.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn next_chunk(&mut self, rows_max: usize, out: &mut Rows) -> Result<bool> {
        let mut left = rows_max;
        while left > 0 {
            let Some((first, second)) = self.heads.first_two() else { break };
            // Where the keys are equal, this row alone comes next.
            let end = self.heads.run_end(first, second);
            let head = &self.heads.heads[first];
            let end = end.max(head.at + 1).min(head.at + left);
            append_versions(out, &head.rows, head.at..end);
            left -= end - head.at;
            self.heads.advance(first, end)?;
        }
        Ok(left < rows_max)
    }
}
