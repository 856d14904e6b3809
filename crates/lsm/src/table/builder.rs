//! Writes one table, front to back. `run_writer.rs` calls it for flushes, compactions and bulk
//! loads. The bytes are those of `docs/formats/sstable.md`.
//!
//! # Why rows are not collected first
//! A block is encoded straight from the caller's columns where it lies in one input; only the part
//! of a block that an input ends in is copied. So the cost of a row is its encoding and its hash.
//!
//! # Invariants
//! 1. Blocks are closed where the first key word (or a key of one word or bytes) changes, if that
//!    is within the last eighth of a block, so that most adjacencies lie in one block.
//! 2. `pending` never holds more rows than a block. Whether it is full is decided when the row
//!    after it is known.

use super::block::BLOCK_ROWS_LIMIT;
use super::encode::{
    Encoded, Strings, apart_column, encode_block, fixed_row_bytes, same_key, string_bytes,
};
use super::index::Index;
use super::layout::{Footer, Handle, Properties, encode_tombstones};
use super::pending::append_rows;
use super::statistics::StatisticsBuilder;
use super::{RangeTombstone, TableOptions, TableSummary};
use crate::codec::filter::{FilterBuilder, hash_bytes, hash_words};
use crate::error::{Error, Result};
use crate::rows::{Rows, key_at};
use crate::search::lower_bound;
use base::{Key, Keys, Kind, SeqNo, Shape, WORDS_MAX, checksum};
use env::AppendFile;
use std::ops::Range;

/// Most bytes of strings in one row, its key included.
pub const ROW_BYTES_MAX: usize = 1 << 30;

/// Bytes that stand for the last key there could be, where a range tombstone of byte-string keys
/// has no upper bound.
const LAST_BYTES: usize = 256;

/// After this many blocks in a row that did not shrink ...
const STUBBORN_BLOCKS: usize = 4;
/// ... compression is tried for one block in this many: noise would otherwise be compressed for
/// nothing, which takes longer than writing it.
const RETRY_BLOCKS: usize = 16;

/// Takes rows in order and writes them as a table.
#[derive(Debug)]
pub struct TableBuilder {
    file: Box<dyn AppendFile>,
    shape: Shape,
    options: TableOptions,
    fixed_row_bytes: usize,
    /// Rows of the block that is not full yet.
    pending: Rows,
    /// Scratch for the block being encoded.
    block: Vec<u8>,
    /// Blocks in a row whose strings compression did not shrink.
    stubborn_blocks: usize,
    /// The previous block has separated values, and they were long enough for it: the next block
    /// may be as long as such blocks are.
    is_apart: bool,
    index: Index,
    statistics: StatisticsBuilder,
    key_filter: Option<FilterBuilder>,
    first_word_filter: Option<FilterBuilder>,
    tombstones: Vec<RangeTombstone>,
    counts: Counts,
    /// First and last key of rows added.
    bounds: Option<(Key, Key)>,
}

/// Counters of the added rows.
#[derive(Debug, Default)]
struct Counts {
    rows: u64,
    deletes: u64,
    merges: u64,
    repeats: u64,
    first_words: u64,
    seq_min: Option<SeqNo>,
    seq_max: SeqNo,
}

impl Counts {
    /// Counts rows by kind. Returns their greatest sequence number.
    fn add_versions(&mut self, rows: &Rows, range: Range<usize>) -> SeqNo {
        self.rows += range.len() as u64;
        for kind in rows.kinds.get(range.clone()).unwrap_or_default() {
            self.deletes += u64::from(*kind == Kind::Delete as u8);
            self.merges += u64::from(*kind == Kind::Merge as u8);
        }
        let (mut seq_min, mut seq_max) = (SeqNo::MAX, SeqNo::ZERO);
        for &seq in rows.seqs.get(range).unwrap_or(&[0]) {
            seq_min = seq_min.min(SeqNo(seq));
            seq_max = seq_max.max(SeqNo(seq));
        }
        self.seq_min = Some(self.seq_min.map_or(seq_min, |min| min.min(seq_min)));
        self.seq_max = self.seq_max.max(seq_max);
        seq_max
    }
}

impl TableBuilder {
    /// Writes to `file`, which is empty. `bottom`: no deeper level lies below the output.
    #[must_use]
    pub fn new(
        file: Box<dyn AppendFile>,
        shape: Shape,
        options: TableOptions,
        bottom: bool,
    ) -> Self {
        let words = shape.key_words();
        let filters = options.filter_bits > 0;
        Self {
            file,
            fixed_row_bytes: fixed_row_bytes(&shape),
            pending: Rows::new(&shape),
            block: Vec::new(),
            stubborn_blocks: 0,
            is_apart: false,
            index: Index::new(shape.key),
            statistics: StatisticsBuilder::new(&shape),
            key_filter: (filters && !(bottom && words >= 2)).then(FilterBuilder::new),
            first_word_filter: (filters && words >= 2).then(FilterBuilder::new),
            tombstones: Vec::new(),
            counts: Counts::default(),
            bounds: None,
            shape,
            options,
        }
    }

    /// Adds rows, which come after all earlier ones in (key, sequence number descending) order.
    ///
    /// # Errors
    /// A failed write, or a row whose strings have more than [`ROW_BYTES_MAX`] bytes.
    pub fn add(&mut self, rows: &Rows, range: Range<usize>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.count(rows, range.clone());
        let mut at = range.start;
        while at < range.end {
            let taken = self.pending.len();
            let room = self.room(rows, at..range.end);
            if at + room == range.end {
                append_rows(&mut self.pending, rows, at..range.end);
                break;
            }
            let end = self.cut(rows, at, at + room);
            if taken == 0 {
                self.write_block(rows, at..end)?;
            } else {
                append_rows(&mut self.pending, rows, at..end);
                self.flush_pending()?;
            }
            at = end;
        }
        Ok(())
    }

    /// How many of the rows `range` still fit the block that `pending` begins; at least one if
    /// nothing is pending.
    fn room(&self, rows: &Rows, range: Range<usize>) -> usize {
        let taken = self.pending.len();
        let most = self
            .options
            .block_rows_max
            .clamp(1, BLOCK_ROWS_LIMIT)
            .saturating_sub(taken)
            .min(range.len());
        let fixed = self.fixed_row_bytes;
        let pending_strings = string_bytes(&self.pending, 0..taken);
        let (bytes_max, strings_max) = match self.fills_apart() {
            true => (self.options.apart_bytes_max, self.options.apart_bytes_max),
            false => (self.options.block_bytes_max, self.options.block_string_bytes_max),
        };
        let left = bytes_max.saturating_sub(taken * fixed + pending_strings);
        let strings_left = strings_max.saturating_sub(pending_strings);
        let fits = |count: usize| {
            let strings = string_bytes(rows, range.start..range.start + count);
            count * fixed + strings <= left && strings <= strings_left
        };
        if fits(most) {
            return most;
        }
        let fitting = lower_bound(1..most, fits) - 1;
        fitting.max(usize::from(taken == 0))
    }

    /// Where to end the block whose rows of this input begin at `start` and could go on to `end`,
    /// which is before the last row of the input.
    fn cut(&self, rows: &Rows, start: usize, end: usize) -> usize {
        let total = self.pending.len() + end - start;
        let earliest = end.saturating_sub(total / 8).max(start);
        (earliest..=end)
            .rev()
            .find(|&row| match (row > start, self.pending.is_empty()) {
                (true, _) => !same_group(&rows.keys, row),
                // Between the pending rows and this input.
                (false, false) => {
                    let last = self.pending.keys.get(self.pending.len() - 1);
                    !same_group_keys(&last, &rows.keys.get(row))
                }
                (false, true) => false,
            })
            .unwrap_or(end)
    }

    /// Counts rows and collects hashes.
    fn count(&mut self, rows: &Rows, range: Range<usize>) {
        let counts = &mut self.counts;
        let seq_max = counts.add_versions(rows, range.clone());
        let mut buffer = [0; WORDS_MAX];
        let first = key_at(&rows.keys, range.start, &mut buffer);
        let last_before = self.bounds.as_ref().map(|(_, last)| last);
        debug_assert!(
            last_before.is_none_or(|last| last.as_ref() <= first),
            "rows come in key order"
        );
        counts.repeats += u64::from(last_before.is_some_and(|last| last.as_ref() == first));
        if seq_max > SeqNo::ZERO {
            let inside = range.start + 1..range.end;
            counts.repeats += inside.filter(|&row| same_key(&rows.keys, row)).count() as u64;
        }

        match &rows.keys {
            Keys::Words(columns) => {
                let mut previous = match last_before {
                    Some(Key::Words { words, .. }) => Some(words[0]),
                    _ => None,
                };
                // Of a key of one word, the first word is the key.
                let filter = match columns.len() {
                    1 => &mut self.key_filter,
                    _ => &mut self.first_word_filter,
                };
                for &word in &columns[0][range.clone()] {
                    if previous != Some(word) {
                        previous = Some(word);
                        counts.first_words += 1;
                        if let Some(filter) = filter {
                            filter.add_hash(hash_words(&[word]));
                        }
                    }
                }
                if let (Some(filter), 2..) = (&mut self.key_filter, columns.len()) {
                    add_key_hashes(filter, columns, range.clone());
                }
            }
            Keys::Bytes(column) => {
                if let Some(filter) = &mut self.key_filter {
                    range.clone().for_each(|row| filter.add_hash(hash_bytes(column.get(row))));
                }
            }
        }

        let last = rows.keys.get(range.end - 1);
        match &mut self.bounds {
            Some(bounds) => bounds.1 = last,
            none => *none = Some((first.into(), last)),
        }
    }

    fn flush_pending(&mut self) -> Result<()> {
        // Taken out, so that it can be lent beside the rest of the builder.
        let mut pending = std::mem::replace(&mut self.pending, Rows::new(&self.shape));
        let written = self.write_block(&pending, 0..pending.len());
        pending.clear();
        self.pending = pending;
        written
    }

    fn write_block(&mut self, rows: &Rows, range: Range<usize>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let strings = string_bytes(rows, range.clone());
        if strings > ROW_BYTES_MAX {
            return Err(Error::Invalid(format!(
                "a row of {strings} bytes, the most is {ROW_BYTES_MAX}"
            )));
        }
        self.block.clear();
        let compress = strings > 0 && self.compresses();
        let mut encoded = Encoded::default();
        if compress {
            encoded = encode_block(rows, range.clone(), Strings::Compress, &mut self.block);
        }
        // A block that became as long as blocks with separated values is one of them, whatever its
        // last rows were.
        let bytes = self.apart_bytes(rows, range.clone());
        let is_long = bytes > 0
            && bytes >= self.options.apart_value_bytes_min.saturating_mul(range.len() as u64);
        let is_apart = !encoded.values && (is_long || bytes > 0 && self.fills_apart());
        if compress {
            let paid = encoded.values || encoded.keys && !is_apart;
            self.stubborn_blocks = if paid { 0 } else { self.stubborn_blocks + 1 };
        }
        if is_apart {
            self.block.clear();
            let how = Strings::Apart { compress_keys: self.options.compress };
            encoded = encode_block(rows, range.clone(), how, &mut self.block);
        } else if !compress {
            encoded = encode_block(rows, range.clone(), Strings::Keep, &mut self.block);
        }
        self.is_apart = is_apart && is_long;
        self.file.append(&self.block)?;
        self.statistics.add(rows, range.clone());
        let (mut buffer, mut last_buffer) = ([0; WORDS_MAX], [0; WORDS_MAX]);
        let first = key_at(&rows.keys, range.start, &mut buffer);
        let last = key_at(&rows.keys, range.end - 1, &mut last_buffer);
        // A header holds the checksum of each separated value.
        let checked = match encoded.head_bytes {
            0 => &self.block[..],
            head => &self.block[..head],
        };
        self.index.push(
            self.block.len() as u64,
            encoded.head_bytes as u64,
            range.len() as u64,
            checksum(checked),
            first,
            last,
        );
        Ok(())
    }

    /// Whether compression is tried for the next block that has strings.
    fn compresses(&self) -> bool {
        let patient = self.stubborn_blocks < STUBBORN_BLOCKS;
        let retry = self.index.blocks().is_multiple_of(RETRY_BLOCKS);
        self.options.compress && (patient || retry)
    }

    /// Whether the next block may be as long as blocks with separated values. If compression is
    /// tried, it is as short as other blocks, because compression may pay.
    fn fills_apart(&self) -> bool {
        self.is_apart && !self.compresses()
    }

    /// Bytes of the values that could be separated.
    fn apart_bytes(&self, rows: &Rows, range: Range<usize>) -> u64 {
        let column = apart_column(&self.shape).and_then(|i| rows.values[i].as_bytes());
        column.map_or(0, |column| column.offsets[range.end] - column.offsets[range.start])
    }

    /// Adds a range tombstone; in any order.
    ///
    /// # Errors
    /// None yet.
    pub fn add_range_tombstone(&mut self, tombstone: RangeTombstone) -> Result<()> {
        self.tombstones.push(tombstone);
        Ok(())
    }

    /// About how many bytes the file would have if closed now.
    #[must_use]
    pub fn bytes_estimate(&self) -> u64 {
        let pending = self.pending.len();
        let written = self.index.blocks_end();
        let rows_written = self.counts.rows - pending as u64;
        let row_bytes = if rows_written > 0 { written.div_ceil(rows_written) } else { 8 };
        let strings = string_bytes(&self.pending, 0..pending) as u64;
        let hashes: usize = [&self.key_filter, &self.first_word_filter]
            .into_iter()
            .flatten()
            .map(|f| f.len())
            .sum();
        let filters = hashes as u64 * u64::from(self.options.filter_bits) / 8;
        let fences = self.index.blocks() as u64 * (16 + 6 * self.shape.key_words() as u64);
        written + (pending as u64 * row_bytes).max(strings) + filters + fences + 256
    }

    /// Rows added so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.counts.rows
    }

    /// Range tombstones added so far.
    #[must_use]
    pub fn range_tombstones(&self) -> usize {
        self.tombstones.len()
    }

    /// Appends the rest of the table and syncs the file.
    ///
    /// # Errors
    /// A failed write or sync; the file is then useless.
    pub fn finish(mut self) -> Result<TableSummary> {
        self.flush_pending()?;
        // Freed here, because the fences and the bounds need memory for several copies of each long
        // key.
        self.pending = Rows::new(&self.shape);
        self.block = Vec::new();
        let bits = usize::from(self.options.filter_bits);
        let filter = |filter: &Option<FilterBuilder>| {
            let mut section = Vec::new();
            if let Some(filter) = filter {
                filter.finish(bits, &mut section);
            }
            section
        };
        let key_filter = filter(&self.key_filter);
        let first_word_filter = filter(&self.first_word_filter);
        let mut tombstones = Vec::new();
        if !self.tombstones.is_empty() {
            encode_tombstones(&self.tombstones, &mut tombstones);
        }

        let mut statistics = Vec::new();
        self.statistics.encode(&mut statistics);
        self.index.statistics = append(&mut *self.file, &statistics)?;

        let properties = Properties {
            summary: self.take_summary(),
            key_filter: append(&mut *self.file, &key_filter)?,
            first_word_filter: append(&mut *self.file, &first_word_filter)?,
            tombstones: append(&mut *self.file, &tombstones)?,
        };
        // Allocated once, with room for the bounds, which are keys of the index, too: a vector that
        // grows would copy long keys.
        let mut section = Vec::with_capacity(2 * self.index.memory_bytes() as usize);
        properties.encode(&self.shape, &mut section);
        self.index.encode(&mut section);
        let version = self.index.version();
        drop(self.index);
        let handle = append(&mut *self.file, &section)?;
        drop(section);
        let mut footer = Vec::new();
        Footer::encode(handle, version, &mut footer);
        self.file.append(&footer)?;
        self.file.sync()?;
        Ok(TableSummary {
            bytes: self.file.len_bytes(),
            fingerprint: handle.checksum,
            ..properties.summary
        })
    }

    /// The summary without the file's length and fingerprint. Takes the bounds.
    fn take_summary(&mut self) -> TableSummary {
        let mut bounds = self.bounds.take();
        for RangeTombstone { range, .. } in &self.tombstones {
            let lower = &range.lower;
            let upper = range.upper.clone().unwrap_or_else(|| match lower {
                Key::Words { .. } => Key::words(&vec![u64::MAX; self.shape.key_words()]),
                Key::Bytes(_) => Key::Bytes(vec![0xff; LAST_BYTES]),
            });
            let (first, last) = bounds.unwrap_or_else(|| (lower.clone(), upper.clone()));
            bounds = Some((first.min(lower.clone()), last.max(upper)));
        }
        let empty = || match self.shape.key_words() {
            0 => Key::Bytes(Vec::new()),
            _ => Key::words(&[]),
        };
        let (first_key, last_key) = bounds.unwrap_or_else(|| (empty(), empty()));
        TableSummary {
            bytes: 0,
            rows: self.counts.rows,
            deletes: self.counts.deletes,
            merges: self.counts.merges,
            repeats: self.counts.repeats,
            first_words: self.counts.first_words,
            first_key,
            last_key,
            seq_min: self.counts.seq_min.unwrap_or(SeqNo::ZERO),
            seq_max: self.counts.seq_max,
            range_tombstones: self.tombstones.len() as u64,
            fingerprint: 0,
        }
    }
}

/// Appends a section; an empty one is not written.
fn append(file: &mut dyn AppendFile, section: &[u8]) -> Result<Handle> {
    if section.is_empty() {
        return Ok(Handle::default());
    }
    let handle = Handle::of(section, file.len_bytes());
    file.append(section)?;
    Ok(handle)
}

fn add_key_hashes(filter: &mut FilterBuilder, columns: &[Vec<u64>], range: Range<usize>) {
    let mut key = [0; WORDS_MAX];
    let key = &mut key[..columns.len()];
    for row in range {
        for (word, column) in key.iter_mut().zip(columns) {
            *word = column[row];
        }
        filter.add_hash(hash_words(key));
    }
}

/// Whether rows `row - 1` and `row` are better kept in one block.
fn same_group(keys: &Keys, row: usize) -> bool {
    match keys {
        Keys::Words(columns) => columns[0][row] == columns[0][row - 1],
        Keys::Bytes(_) => same_key(keys, row),
    }
}

fn same_group_keys(left: &Key, right: &Key) -> bool {
    match (left, right) {
        (Key::Words { words: left, .. }, Key::Words { words: right, .. }) => left[0] == right[0],
        _ => left == right,
    }
}
