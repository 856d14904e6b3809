//! Merges sources of versions into one order.
//!
//! # Why runs
//! Sources rarely alternate row by row. Below the next key of the other sources, a whole range of
//! one source's chunk is next, and columns are copied by ranges. With about ten sources at most,
//! looking at each for the smallest key is as fast as a loser tree, and simpler.
//!
//! # Invariants
//! 1. Rows come in (key ascending, sequence number descending) order; of equal ones the earlier
//!    source's comes first, so sources are given newest first.
//! 2. A head holds at least one row not handed out, or its source is at its end and it is gone.

use super::columns::append_versions;
use super::source::{RowSource, Source};
use crate::error::Result;
use crate::rows::Rows;
use crate::search::lower_bound_near;
use base::{KeyRef, Keys, SeqNo, Shape, WORDS_MAX};
use env::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::cmp::Ordering;
use std::sync::Arc;

/// A source and the chunk of its rows at hand.
pub(crate) struct Head<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) rows: Rows,
    pub(crate) at: usize,
    pub(crate) len: usize,
    /// Whether each row at hand decides its key; see [`Source::decides`]. Known only if there is a
    /// reader's snapshot.
    decides: bool,
    /// The first two words of the row at hand, with 0 for a missing one. Unused for byte strings.
    front: u128,
    /// All its words, padded with zeros, where there are more than two.
    words: [u64; WORDS_MAX],
}

/// Fewer rows are not added: their readers would contend for the shared number.
const PASSED_MIN: u64 = 16;

/// Rows of [`RowSource::is_passing`] sources that were read. They are summed up elsewhere in the
/// end, if a caller needs that.
#[derive(Debug, Default)]
struct ScanDebt {
    rows: u64,
    to: Option<Arc<AtomicU64>>,
}

impl Drop for ScanDebt {
    fn drop(&mut self) {
        if let Some(to) = self.to.as_ref().filter(|_| self.rows >= PASSED_MIN) {
            to.fetch_add(self.rows, Relaxed);
        }
    }
}

/// Heads that are not at their end.
pub(crate) struct Heads<'a> {
    pub(crate) heads: Vec<Head<'a>>,
    passed: ScanDebt,
    /// The reader's snapshot; `None` if all versions are wanted.
    snapshot: Option<SeqNo>,
}

/// The first two words of a row, in the order of keys.
#[inline]
pub(super) fn front(columns: &[Vec<u64>], row: usize) -> u128 {
    match columns {
        [first] => u128::from(first[row]) << 64,
        [first, second, ..] => u128::from(first[row]) << 64 | u128::from(second[row]),
        [] => 0,
    }
}

impl<'a> Head<'a> {
    /// Reads the next chunk; `false` at the end.
    fn fill(&mut self, snapshot: Option<SeqNo>) -> Result<bool> {
        let last = match snapshot {
            Some(_) if self.len > 0 && !self.source.is_plain() => {
                Some(self.rows.keys.get(self.len - 1))
            }
            _ => None,
        };
        self.rows.clear();
        let more = self.source.next_rows(&mut self.rows)?;
        (self.at, self.len) = (0, self.rows.len());
        self.load();
        let decides = |snapshot| self.source.decides(&self.rows, last.as_ref(), snapshot);
        self.decides = self.len > 0 && snapshot.is_some_and(decides);
        Ok(more && self.len > 0)
    }

    /// Rows of the chunk that was just read, if they are such as to count.
    fn passing_rows(&self) -> u64 {
        if self.source.is_passing() { self.len as u64 } else { 0 }
    }

    fn load(&mut self) {
        if let Keys::Words(columns) = &self.rows.keys
            && self.at < self.len
        {
            self.front = front(columns, self.at);
            if columns.len() > 2 {
                for (word, column) in self.words.iter_mut().zip(columns) {
                    *word = column[self.at];
                }
            }
        }
    }

    /// Key of row `i`.
    pub(crate) fn key<'b>(&'b self, i: usize, buffer: &'b mut [u64; WORDS_MAX]) -> KeyRef<'b> {
        crate::rows::key_at(&self.rows.keys, i, buffer)
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
            Keys::Words(columns) => front(columns, i).cmp(&other.front).then_with(|| {
                let rest = columns.iter().zip(&other.words).skip(2);
                let orders = rest.map(|(column, word)| column[i].cmp(word));
                orders.fold(Ordering::Equal, Ordering::then)
            }),
            Keys::Bytes(column) => column.get(i).cmp(other.bytes(other.at)),
        }
    }

    /// Keys at hand compared.
    pub(crate) fn compare_now(&self, other: &Head<'_>) -> Ordering {
        match &self.rows.keys {
            Keys::Words(_) => {
                self.front.cmp(&other.front).then_with(|| self.words.cmp(&other.words))
            }
            Keys::Bytes(_) => self.bytes(self.at).cmp(other.bytes(other.at)),
        }
    }

    /// Whether all rows of the source are visible unchanged, if no other source has their keys.
    pub(crate) fn is_plain(&self) -> bool {
        self.source.is_plain()
    }

    pub(crate) fn seq(&self) -> SeqNo {
        self.rows.seq(self.at)
    }
}

impl<'a> Heads<'a> {
    /// Of sources given newest first. `snapshot` is that of a reader, which does not want all
    /// versions.
    pub(crate) fn new(
        shape: &Shape,
        sources: Vec<Source<'a>>,
        snapshot: Option<SeqNo>,
    ) -> Result<Self> {
        let mut heads = Vec::with_capacity(sources.len());
        let mut passed = ScanDebt::default();
        for source in sources {
            let (rows, words) = (Rows::new(shape), [0; WORDS_MAX]);
            let mut head = Head { source, rows, at: 0, len: 0, decides: false, front: 0, words };
            if head.fill(snapshot)? {
                passed.rows += head.passing_rows();
                heads.push(head);
            }
        }
        Ok(Self { heads, passed, snapshot })
    }

    /// When this is dropped, adds the rows passed to this number, unless they are few.
    pub(crate) fn add_scan_debt_to(&mut self, to: &Arc<AtomicU64>) {
        self.passed.to = Some(Arc::clone(to));
    }

    /// Whether of all rows at hand the first of each key decides it.
    pub(crate) fn all_decide(&self) -> bool {
        self.heads.iter().all(|head| head.decides)
    }

    /// The head whose key at hand is the least, of all but one.
    pub(crate) fn least_but(&self, one: usize) -> Option<usize> {
        let others = (0..self.heads.len()).filter(|&i| i != one);
        others.reduce(|a, b| if self.heads[b].compare_now(&self.heads[a]).is_lt() { b } else { a })
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
        // Runs are short when sources alternate.
        lower_bound_near(head.at..head.len, |row| head.compare(row, second).is_lt())
    }

    /// Moves a head on to row `to` of its chunk, and past the chunk's end to the next one.
    pub(crate) fn advance(&mut self, i: usize, to: usize) -> Result<()> {
        let head = &mut self.heads[i];
        head.at = to;
        if to < head.len {
            head.load();
        } else if head.fill(self.snapshot)? {
            self.passed.rows += head.passing_rows();
        } else {
            self.heads.remove(i);
        }
        Ok(())
    }
}

/// Merges versions: all of them, in order. The caller drops those that no snapshot needs.
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
        Ok(Self { heads: Heads::new(shape, sources, None)? })
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
