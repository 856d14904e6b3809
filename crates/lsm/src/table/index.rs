//! Fences: first and last key of each block, in memory, so that a lookup reads one block.
//!
//! # Why last keys too
//! With first keys alone, versions of a key that end one block and begin the next would need a
//! second look; and a key that falls between two blocks would cost a read to learn that.
//!
//! # Invariants
//! 1. First and last keys ascend; a block's last key may be the next one's first (two versions).
//! 2. Blocks lie one behind the other from byte 0 on.
//! 3. A block with separated values begins with its header. Its length is stored here, and its
//!    checksum covers the length.

use super::layout::{
    FORMAT_VERSION, Handle, VERSION_PLAIN, VERSION_WITH_HEADS, take_bytes, take_u64, take_varint,
};
use super::sampled_words::SampledWords;
use crate::codec::words::WordReader;
use crate::codec::{Malformed, bytes, words};
use crate::search::{self, lower_bound_near};
use base::{BytesColumn, Key, KeyRange, KeyRef, KeyShape, Keys, varint};
use std::ops::Range;
use std::sync::OnceLock;

/// The position, the row count and the key range of each block.
#[derive(Debug)]
pub(super) struct Index {
    /// One more than blocks: the last is where the blocks end.
    offsets: Vec<u64>,
    rows: Vec<u64>,
    checksums: Vec<u64>,
    /// Bytes of each block's header, 0 if the block has no separated values. Empty if no block has
    /// any.
    heads: Vec<u64>,
    /// Where the statistics of blocks are, if there are any.
    pub(super) statistics: Handle,
    first: Keys,
    last: Keys,
    /// Of the last keys, where they are byte strings and all are there.
    last_words: OnceLock<SampledWords>,
}

impl Index {
    pub(super) fn new(shape: KeyShape) -> Self {
        Self {
            offsets: vec![0],
            rows: Vec::new(),
            checksums: Vec::new(),
            heads: Vec::new(),
            statistics: Handle::default(),
            first: Keys::new(shape),
            last: Keys::new(shape),
            last_words: OnceLock::new(),
        }
    }

    /// Adds the next block. `head`: bytes of its head, or 0.
    pub(super) fn push(
        &mut self,
        bytes: u64,
        head: u64,
        rows: u64,
        checksum: u64,
        first: KeyRef<'_>,
        last: KeyRef<'_>,
    ) {
        if head > 0 || !self.heads.is_empty() {
            self.heads.resize(self.blocks(), 0);
            self.heads.push(head);
        }
        self.offsets.push(self.blocks_end() + bytes);
        self.rows.push(rows);
        self.checksums.push(checksum);
        self.first.push(first);
        self.last.push(last);
        self.last_words.take();
    }

    pub(super) fn blocks(&self) -> usize {
        self.rows.len()
    }

    /// First byte behind the blocks.
    pub(super) fn blocks_end(&self) -> u64 {
        self.offsets[self.blocks()]
    }

    /// Bytes of block `i` in the file.
    pub(super) fn bytes(&self, i: usize) -> Range<u64> {
        self.offsets[i]..self.offsets[i + 1]
    }

    /// Bytes of block `i` without separated values; all bytes if it has none.
    pub(super) fn head(&self, i: usize) -> Range<u64> {
        let bytes = self.bytes(i);
        match self.heads.get(i) {
            None | Some(0) => bytes,
            Some(head) => bytes.start..bytes.start + head,
        }
    }

    /// Whether block `i` has separated values.
    pub(super) fn is_apart(&self, i: usize) -> bool {
        self.heads.get(i).is_some_and(|&head| head > 0)
    }

    /// Whether any block has separated values.
    pub(super) fn has_heads(&self) -> bool {
        !self.heads.is_empty()
    }

    /// Version of the format that a table with these fences has.
    pub(super) fn version(&self) -> u32 {
        match (self.statistics.bytes > 0, self.has_heads()) {
            (true, _) => FORMAT_VERSION,
            (false, true) => VERSION_WITH_HEADS,
            (false, false) => VERSION_PLAIN,
        }
    }

    pub(super) fn rows(&self, i: usize) -> usize {
        self.rows[i] as usize
    }

    /// Rows of all blocks. Saturating, because the counts may be anything until they are compared
    /// with the manifest's.
    pub(super) fn rows_in_all(&self) -> u64 {
        self.rows.iter().copied().fold(0, u64::saturating_add)
    }

    /// Upper bound of the rows that share a first word, from the first words of blocks. The number
    /// of all rows if keys are byte strings.
    pub(super) fn first_word_rows_max(&self) -> u64 {
        let words = match &self.first {
            Keys::Words(columns) => columns.first().map_or(&[][..], |words| words),
            Keys::Bytes(_) => return self.rows_in_all(),
        };
        let (mut most, mut streak, mut before) = (0_u64, 0_u64, None);
        for (&word, &rows) in words.iter().zip(&self.rows) {
            // The block before may end with the word that this one begins with.
            streak = match before {
                Some((last, _)) if last == word => streak.saturating_add(rows),
                Some((_, last_rows)) => rows.saturating_add(last_rows),
                None => rows,
            };
            most = most.max(streak);
            before = Some((word, rows));
        }
        most
    }

    pub(super) fn checksum(&self, i: usize) -> u64 {
        self.checksums[i]
    }

    pub(super) fn first_key(&self, i: usize) -> Key {
        self.first.get(i)
    }

    pub(super) fn last_key(&self, i: usize) -> Key {
        self.last.get(i)
    }

    /// Bytes of memory it takes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let keys = |keys: &Keys| match keys {
            Keys::Words(columns) => columns.iter().map(|column| 8 * column.capacity()).sum(),
            Keys::Bytes(column) => 8 * column.offsets.capacity() + column.heap.capacity(),
        };
        let fixed = self.offsets.capacity()
            + self.rows.capacity()
            + self.checksums.capacity()
            + self.heads.capacity();
        let words = match &self.last {
            Keys::Words(_) => 0,
            // Whether they were asked for or not: a caller counts once.
            Keys::Bytes(column) => 8 * column.len(),
        };
        (8 * fixed + keys(&self.first) + keys(&self.last) + words) as u64
    }

    /// The first block whose last key is at least `key`, which may be a prefix.
    #[inline]
    fn first_ending_from(&self, key: KeyRef<'_>) -> usize {
        match (&self.last, key) {
            (Keys::Bytes(last), KeyRef::Bytes(key)) => {
                let words = || SampledWords::of(last.len(), 1, |i| last.get(i));
                let among = self.last_words.get_or_init(words).candidates(key);
                search::lower_bound(among, |i| last.get(i) < key)
            }
            (last, key) => lower_bound(last, key),
        }
    }

    /// The first block that can hold `key` or, for a prefix, a key that begins with it.
    #[inline]
    pub(super) fn block_for(&self, key: KeyRef<'_>) -> Option<usize> {
        self.if_it_can_hold(self.first_ending_from(key), key)
    }

    /// The same if all blocks before `from` end before the key: fast if the result is one of the
    /// next blocks.
    #[inline]
    pub(super) fn block_for_from(&self, from: usize, key: KeyRef<'_>) -> Option<usize> {
        match (&self.last, key) {
            (Keys::Words(columns), KeyRef::Words(&[word])) if columns.len() == 1 => {
                let last = &columns[0];
                let block = lower_bound_near(from..last.len(), |i| last[i] < word);
                self.if_it_can_hold(block, key)
            }
            _ => self.block_for(key),
        }
    }

    /// A block whose last key is at least `key`, if it is one and does not begin past it.
    #[inline]
    fn if_it_can_hold(&self, block: usize, key: KeyRef<'_>) -> Option<usize> {
        (block < self.blocks() && !self.begins_past(block, key)).then_some(block)
    }

    /// Whether there is such a block, and its first key begins with this word.
    #[inline]
    pub(super) fn begins_with(&self, block: usize, word: u64) -> bool {
        match &self.first {
            Keys::Words(columns) => {
                columns.first().and_then(|first| first.get(block)) == Some(&word)
            }
            Keys::Bytes(_) => false,
        }
    }

    /// Whether the block's first key is past `key` and does not begin with it.
    #[inline]
    fn begins_past(&self, block: usize, key: KeyRef<'_>) -> bool {
        match (&self.first, key) {
            (Keys::Words(columns), KeyRef::Words(key)) => {
                let first = columns.iter().map(|column| column[block]);
                first.zip(key).find(|(first, word)| first != *word).is_some_and(|(f, w)| f > *w)
            }
            (Keys::Bytes(column), KeyRef::Bytes(key)) => {
                let first = column.get(block);
                first > key && !first.starts_with(key)
            }
            _ => unreachable!("keys of one tree have one shape"),
        }
    }

    /// Blocks that can hold keys of `range`.
    pub(super) fn overlapping(&self, range: &KeyRange) -> Range<usize> {
        let start = self.first_ending_from(range.lower.as_ref());
        let end = match (&range.upper, &self.first) {
            (None, _) => self.blocks(),
            // Mostly the next block.
            (Some(Key::Bytes(upper)), Keys::Bytes(first)) => {
                lower_bound_near(start..self.blocks(), |i| first.get(i) < upper.as_slice())
            }
            (Some(upper), first) => lower_bound(first, upper.as_ref()),
        };
        start..end.max(start)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        varint::put(out, self.blocks() as u64);
        let mut scratch = Vec::new();
        let mut put = |encode: &dyn Fn(&mut Vec<u8>)| {
            scratch.clear();
            encode(&mut scratch);
            varint::put_bytes(out, &scratch);
        };
        let lengths: Vec<u64> = self.offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        put(&|out| words::encode(&lengths, out));
        put(&|out| words::encode(&self.rows, out));
        put(&|out| self.checksums.iter().for_each(|sum| out.extend_from_slice(&sum.to_le_bytes())));
        for keys in [&self.first, &self.last] {
            match keys {
                Keys::Words(columns) => {
                    columns.iter().for_each(|column| put(&|out| words::encode(column, out)));
                }
                Keys::Bytes(column) => {
                    put(&|out| {
                        bytes::encode(column, 0..column.len(), true, out);
                    });
                }
            }
        }
        let has_statistics = self.statistics.bytes > 0;
        if self.has_heads() {
            put(&|out| words::encode(&self.heads, out));
        } else if has_statistics {
            put(&|_| {});
        }
        if has_statistics {
            self.statistics.put(out);
        }
    }

    /// Decodes the fences of a table whose blocks end at or before byte `end`.
    pub(super) fn decode(mut from: &[u8], shape: KeyShape, end: u64) -> Result<Self, Malformed> {
        let from = &mut from;
        let blocks = take_varint(from)?;
        // Each block takes some bytes, so this bounds the allocation below.
        if blocks > end {
            return Err(Malformed("more blocks than bytes"));
        }
        let blocks = blocks as usize;
        let mut offsets = vec![0];
        for length in take_words(from, blocks)? {
            let start = offsets[offsets.len() - 1];
            let block_end = length.checked_add(start).filter(|&at| at <= end && length > 0);
            offsets.push(block_end.ok_or(Malformed("a block outside of the file"))?);
        }
        let rows = take_words(from, blocks)?;
        let mut sums = take_bytes(from)?;
        if sums.len() != blocks * 8 {
            return Err(Malformed("not a checksum a block"));
        }
        let checksums = (0..blocks).map(|_| take_u64(&mut sums)).collect::<Result<_, _>>()?;
        let first = take_keys(from, shape, blocks)?;
        let last = take_keys(from, shape, blocks)?;
        let heads = match from.first() {
            None => Vec::new(),
            Some(0) => {
                take_bytes(from)?;
                Vec::new()
            }
            Some(_) => take_words(from, blocks)?,
        };
        let statistics = if from.is_empty() { Handle::default() } else { Handle::take(from)? };
        if !from.is_empty() {
            return Err(Malformed("bytes after the fences"));
        }
        if heads.iter().zip(offsets.windows(2)).any(|(&head, block)| head > block[1] - block[0]) {
            return Err(Malformed("a head longer than its block"));
        }
        let last_words = OnceLock::new();
        Ok(Self { offsets, rows, checksums, heads, statistics, first, last, last_words })
    }
}

fn take_words(from: &mut &[u8], len: usize) -> Result<Vec<u64>, Malformed> {
    let mut out = Vec::new();
    WordReader::parse(take_bytes(from)?, len)?.read(0..len, &mut out);
    Ok(out)
}

fn take_keys(from: &mut &[u8], shape: KeyShape, len: usize) -> Result<Keys, Malformed> {
    Ok(match shape {
        KeyShape::Words(words) => {
            Keys::Words((0..words).map(|_| take_words(from, len)).collect::<Result<_, _>>()?)
        }
        KeyShape::Bytes => {
            let mut out = BytesColumn::default();
            bytes::BytesReader::parse(take_bytes(from)?, len)?.read(0..len, &mut out)?;
            Keys::Bytes(out)
        }
    })
}

/// The first of ascending `keys` that is at least `key`, which may be a prefix.
#[inline]
fn lower_bound(keys: &Keys, key: KeyRef<'_>) -> usize {
    match (keys, key) {
        (Keys::Words(columns), KeyRef::Words(key)) => {
            // Word by word: each narrows the fences that are equal so far.
            let mut equal = 0..columns[0].len();
            for (column, &word) in columns.iter().zip(key) {
                let column = &column[equal.clone()];
                let below = column.partition_point(|&fence| fence < word);
                let start = equal.start + below;
                let len = match column[below..] {
                    [] => 0,
                    [first, ..] if first != word => 0,
                    [_] => 1,
                    [_, second, ..] if second != word => 1,
                    _ => column[below..].partition_point(|&fence| fence == word),
                };
                equal = start..start + len;
                if len == 0 {
                    break;
                }
            }
            equal.start
        }
        (Keys::Bytes(column), KeyRef::Bytes(key)) => {
            search::lower_bound(0..column.len(), |i| column.get(i) < key)
        }
        _ => unreachable!("keys of one tree have one shape"),
    }
}
