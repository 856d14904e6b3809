//! The rows of a new full-text index, in key order.
//!
//! Postings are collected as numbers of words and documents, and written word by word. So only the
//! distinct words are sorted, and not the keys of all postings: documents come in key order.

use crate::dml::extract::{Extract, NewRows};
use crate::dml::posting_rows::{analyzed, append_posting, count_rows};
use base::{Batch, KeyspaceId};
use exec::error::Result;
use exec::storage::text_index::TextIndex;
use foldhash::fast::FixedState;
use model::Value;
use search::append_positions;
use std::collections::HashMap;

/// Bytes that a word takes beside its letters: in the table, and its counts.
const WORD_BYTES: usize = 64;

/// The rows of a new full-text index.
pub(crate) struct NewPostings<'i> {
    index: &'i TextIndex,
    /// Numbers of words; they stay the same until the end.
    words: HashMap<String, u32, FixedState>,
    /// Documents and occurrences of each word.
    counts: Vec<(i64, i64)>,
    /// Bytes of the words.
    word_bytes: usize,
    /// Documents and words altogether.
    total: (i64, i64),
    pending: Pending,
    /// The words of a document with their positions; empty between documents.
    scratch: Vec<u64>,
}

/// Postings that were not taken yet.
#[derive(Default)]
struct Pending {
    /// Keys of documents, one after the other, and where each ends.
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    /// Number of words of each document.
    lengths: Vec<u32>,
    /// Word and document of each posting, and how often the document has the word.
    postings: Vec<(u32, u32, u32)>,
    /// Encoded positions of all postings, and where those of each end.
    positions: Vec<u8>,
    position_ends: Vec<usize>,
}

impl<'i> NewPostings<'i> {
    pub(crate) fn new(index: &'i TextIndex) -> Self {
        Self {
            index,
            words: HashMap::default(),
            counts: Vec::new(),
            word_bytes: 0,
            total: (0, 0),
            pending: Pending::default(),
            scratch: Vec::new(),
        }
    }

    /// The number of a word.
    fn number(&mut self, word: String) -> u32 {
        if let Some(&number) = self.words.get(&word) {
            return number;
        }
        // The memory of a query ends long before 2^32 words.
        let number = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        self.counts.push((0, 0));
        self.word_bytes += word.len() + WORD_BYTES;
        self.words.insert(word, number);
        number
    }

    /// All words in order, with their numbers.
    fn sorted(&self) -> Vec<(&str, usize)> {
        let words = self.words.iter().map(|(word, &number)| (word.as_str(), number as usize));
        let mut words: Vec<(&str, usize)> = words.collect();
        words.sort_unstable();
        words
    }

    /// The pending postings as rows, in key order.
    fn rows(&self, words: &[(&str, usize)]) -> Batch {
        let Pending { keys, key_ends, lengths, postings, positions, position_ends } = &self.pending;
        // A counting sort: postings of a word stay in the order of documents.
        let mut starts = vec![0_usize; self.counts.len() + 1];
        postings.iter().for_each(|(word, ..)| starts[*word as usize + 1] += 1);
        for word in 1..starts.len() {
            starts[word] += starts[word - 1];
        }
        let (mut places, mut next) = (vec![0_usize; postings.len()], starts.clone());
        for (posting, (word, ..)) in postings.iter().enumerate() {
            let place = &mut next[*word as usize];
            places[*place] = posting;
            *place += 1;
        }
        let of = |ends: &[usize], at: usize| {
            let start = at.checked_sub(1).map_or(0, |before| ends[before]);
            start..ends[at]
        };
        let mut out = Batch::new(&self.index.postings.shape);
        for &(word, number) in words {
            for &posting in &places[starts[number]..starts[number + 1]] {
                let (_, document, frequency) = postings[posting];
                let key = &keys[of(key_ends, document as usize)];
                let counts = (frequency, lengths[document as usize]);
                let positions = &positions[of(position_ends, posting)];
                append_posting(word, key, counts, positions, &mut out);
            }
        }
        out
    }
}

impl NewRows for NewPostings<'_> {
    fn add(&mut self, extract: &Extract<'_>, row: &[Value]) -> Result<()> {
        let Some(tokens) = analyzed(self.index, extract, row)? else { return Ok(()) };
        let length = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        self.total.0 += 1;
        self.total.1 += i64::from(length);
        let mut scratch = std::mem::take(&mut self.scratch);
        for token in tokens {
            let word = u64::from(self.number(token.text));
            scratch.push((word << 32) | u64::from(token.position));
        }
        scratch.sort_unstable();
        let document = u32::try_from(self.pending.lengths.len()).unwrap_or(u32::MAX);
        for same in scratch.chunk_by(|a, b| a >> 32 == b >> 32) {
            let word = same[0] >> 32;
            let (documents, occurrences) = &mut self.counts[word as usize];
            *documents += 1;
            *occurrences += same.len() as i64;
            self.pending.postings.push((word as u32, document, same.len() as u32));
            let positions = same.iter().map(|both| *both as u32);
            append_positions(positions, &mut self.pending.positions);
            self.pending.position_ends.push(self.pending.positions.len());
        }
        scratch.clear();
        self.scratch = scratch;
        self.pending.keys.extend(extract.key(row));
        self.pending.key_ends.push(self.pending.keys.len());
        self.pending.lengths.push(length);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let Pending { keys, key_ends, postings, positions, .. } = &self.pending;
        let documents = keys.len() + 12 * key_ends.len();
        (self.word_bytes + documents + 20 * postings.len() + positions.len()) as u64
    }

    fn take(&mut self, is_last: bool) -> Vec<(KeyspaceId, Batch)> {
        let words = self.sorted();
        let TextIndex { postings, terms, .. } = self.index;
        let mut taken = vec![(postings.keyspace, self.rows(&words))];
        if is_last {
            // The empty word, which is the first one, has the counts of all words.
            let total = (self.total.0 > 0).then_some(("", self.total));
            let counts = words.iter().map(|&(word, number)| (word, self.counts[number]));
            let counts = count_rows(terms, total.into_iter().chain(counts));
            taken.push((terms.keyspace, counts));
        }
        self.pending = Pending::default();
        taken
    }
}
