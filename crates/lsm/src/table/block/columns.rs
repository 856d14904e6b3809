//! The readers of a block's columns: where each lies in the block's bytes, and which parts can be
//! lent.
//!
//! # Invariants
//! 1. The bytes read here passed their checksum. Separated strings that were read along are
//!    compared with their checksums when the columns are found.
//! 2. Strings that are compressed in the file are decompressed once, when the columns are found, so
//!    all strings can be lent.

use crate::codec::Malformed;
use crate::codec::bitmap::BitmapReader;
use crate::codec::bytes::{ApartReader, BytesReader};
use crate::codec::runs::{KeyReader, LazySamples, Samples};
use crate::codec::words::WordReader;
use crate::search;
use crate::table::encode::{HAS_KINDS, HAS_REPEATS, HAS_SEQS, IS_APART, Sections};
use crate::table::pending::append_validity;
use crate::table::sampled_words::SampledWords;
use base::fault_switch::{Switch, is_on};
use base::{BytesColumn, Column, ColumnShape, KeyShape, Keys, Projection, SeqNo, Shape};
use std::ops::Range;

/// The part of a block that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// Everything except separated values.
    Head,
}

/// Readers of all columns.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    pub(super) keys: KeyColumn<'a>,
    samples: LazySamples,
    pub(super) rows: usize,
    pub(super) plain: bool,
    /// The table's number for rows that store 0.
    pub(super) global_seq: SeqNo,
    pub(super) seq_max: SeqNo,
    pub(super) values: Box<[ValueColumn<'a>]>,
    pub(super) seqs: Option<WordReader<'a>>,
    pub(super) kinds: Option<WordReader<'a>>,
    /// Bytes of memory besides the block's own.
    pub(super) beside_bytes: usize,
    /// Bytes without separated strings; 0 if there are none.
    pub(super) head_bytes: usize,
}

#[derive(Debug)]
// One of these a block: boxing the large variant would add a cache miss to each lookup.
#[allow(clippy::large_enum_variant)]
pub(super) enum KeyColumn<'a> {
    Words(KeyReader<'a>),
    Bytes(SortedStrings<'a>),
}

impl<'a> KeyColumn<'a> {
    fn parse(bytes: &'a [u8], shape: KeyShape, rows: usize) -> Result<Self, Malformed> {
        Ok(match shape {
            KeyShape::Words(words) => {
                Self::Words(KeyReader::parse(bytes, usize::from(words), rows)?)
            }
            KeyShape::Bytes => Self::Bytes(SortedStrings::parse(bytes, rows)?),
        })
    }

    /// Bytes of memory besides the block's own.
    fn memory_bytes(&self) -> usize {
        match self {
            Self::Words(reader) => LazySamples::memory_bytes(reader),
            Self::Bytes(strings) => strings.memory_bytes(),
        }
    }
}

#[derive(Debug)]
pub(super) struct ValueColumn<'a> {
    /// `None`: every row has a value.
    pub(super) validity: Option<BitmapReader<'a>>,
    pub(super) data: Data<'a>,
}

#[derive(Debug)]
pub(super) enum Data<'a> {
    Words(WordReader<'a>),
    Bytes(Strings<'a>),
    /// In the file.
    Apart(ApartReader<'a>),
}

impl<'a> Data<'a> {
    /// `separated`: for a block with separated values, the part of it that was read and its heap.
    fn parse(
        shape: &ColumnShape,
        bytes: &'a [u8],
        rows: usize,
        separated: Option<(Part, &'a [u8])>,
    ) -> Result<Self, Malformed> {
        match (shape, separated) {
            (ColumnShape::Word { .. }, _) => Ok(Self::Words(WordReader::parse(bytes, rows)?)),
            (ColumnShape::Bytes, None) => Ok(Self::Bytes(Strings::parse(bytes, rows)?)),
            (ColumnShape::Bytes, Some((Part::Head, _))) => {
                Ok(Self::Apart(ApartReader::parse(bytes, rows)?))
            }
            (ColumnShape::Bytes, Some((Part::Whole, heap))) => {
                let check = !is_on(Switch::IgnoreChecksum);
                let reader = ApartReader::parse(bytes, rows)?.with_heap(heap, check)?;
                Ok(Self::Bytes(Strings::InBlock(reader)))
            }
        }
    }

    fn inflated_bytes(&self) -> usize {
        match self {
            Self::Bytes(strings) => strings.inflated_bytes(),
            Self::Words(_) | Self::Apart(_) => 0,
        }
    }
}

/// Where a head is taken for a whole block.
pub(super) const NOT_READ: &str = "values that stand apart are read from their file";

/// Strings that can be lent.
#[derive(Debug)]
pub(super) enum Strings<'a> {
    InBlock(BytesReader<'a>),
    Inflated(BytesColumn),
}

impl<'a> Strings<'a> {
    pub(super) fn parse(bytes: &'a [u8], rows: usize) -> Result<Self, Malformed> {
        let reader = BytesReader::parse(bytes, rows)?;
        if rows == 0 || reader.borrow(0).is_some() {
            return Ok(Self::InBlock(reader));
        }
        let mut column = BytesColumn::default();
        reader.read(0..rows, &mut column)?;
        Ok(Self::Inflated(column))
    }

    pub(super) fn inflated_bytes(&self) -> usize {
        match self {
            Self::InBlock(_) => 0,
            Self::Inflated(column) => column.heap.capacity() + 8 * column.offsets.capacity(),
        }
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> &[u8] {
        match self {
            // Only a compressed heap is not lent, and that was inflated.
            Self::InBlock(reader) => reader.borrow(row).unwrap_or_default(),
            Self::Inflated(column) => column.get(row),
        }
    }

    /// Appends strings without validity.
    pub(super) fn append(&self, rows: Range<usize>, out: &mut BytesColumn) {
        match self {
            Self::InBlock(reader) => {
                // Fails for compressed heaps only, and those were inflated.
                let read = reader.read(rows, out);
                debug_assert!(read.is_ok());
            }
            Self::Inflated(column) => {
                let offsets = &column.offsets[rows.start..=rows.end];
                let (first, last) = (offsets[0], offsets[rows.len()]);
                let base = out.heap.len() as u64;
                out.heap.extend_from_slice(&column.heap[first as usize..last as usize]);
                out.offsets.extend(offsets[1..].iter().map(|offset| offset - first + base));
            }
        }
    }
}

/// Strings that ascend.
#[derive(Debug)]
pub(super) struct SortedStrings<'a> {
    strings: Strings<'a>,
    words: SampledWords,
}

impl<'a> SortedStrings<'a> {
    fn parse(bytes: &'a [u8], rows: usize) -> Result<Self, Malformed> {
        let strings = Strings::parse(bytes, rows)?;
        let words = SampledWords::of(rows, SAMPLED_STEP, |row| strings.get(row));
        Ok(Self { strings, words })
    }

    /// Bytes of memory besides the block's own.
    fn memory_bytes(&self) -> usize {
        self.strings.inflated_bytes() + self.words.memory_bytes()
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> &[u8] {
        self.strings.get(row)
    }

    /// The first that is at least `key`.
    pub(super) fn lower_bound(&self, key: &[u8]) -> usize {
        search::lower_bound(self.words.candidates(key), |row| self.get(row) < key)
    }

    /// The same, which is mostly near to row `from`, and not before it.
    pub(super) fn lower_bound_near(&self, key: &[u8], from: usize, rows: usize) -> usize {
        search::lower_bound_near(from..rows, |row| self.get(row) < key)
    }
}

/// One key in this many has a sampled word: half a byte of memory per key, and four keys that are
/// compared.
const SAMPLED_STEP: usize = 16;

/// No block has more rows, whatever the options it was written with.
pub(crate) const BLOCK_ROWS_LIMIT: usize = 1 << 16;

impl<'a> Columns<'a> {
    pub(super) fn parse(
        bytes: &'a [u8],
        part: Part,
        shape: &Shape,
        global_seq: SeqNo,
    ) -> Result<Self, Malformed> {
        let mut sections = Sections::parse(bytes, shape)?;
        let is_apart = sections.flags & IS_APART != 0;
        if part == Part::Head && (!is_apart || !sections.heap.is_empty()) {
            return Err(Malformed("no head of a block"));
        }
        let rows = sections.rows;
        if rows > BLOCK_ROWS_LIMIT {
            // Constant columns take no bytes, so only this check bounds the memory of reading a
            // block.
            return Err(Malformed("more rows than a block can have"));
        }
        let keys = KeyColumn::parse(sections.next(), shape.key, rows)?;
        let optional = |stored: bool, section: &'a [u8]| match section {
            _ if stored => WordReader::parse(section, rows).map(Some),
            [] => Ok(None),
            _ => Err(Malformed("a section that the flags deny")),
        };
        let flags = sections.flags;
        let seqs = optional(flags & HAS_SEQS != 0, sections.next())?;
        let kinds = optional(flags & HAS_KINDS != 0, sections.next())?;
        let heap = sections.heap;
        let head_bytes = if is_apart { bytes.len() - heap.len() } else { 0 };
        let separated = is_apart.then_some((part, heap));
        let mut values = Vec::with_capacity(shape.values.len());
        for value in &shape.values {
            let (validity, data) = (sections.next(), sections.next());
            let validity = match validity {
                [] => None,
                bytes => Some(BitmapReader::parse(bytes, rows)?),
            };
            values.push(ValueColumn { validity, data: Data::parse(value, data, rows, separated)? });
        }
        let one_seq = seqs.is_none_or(|seqs| seqs.constant().is_some());
        let plain = kinds.is_none() && one_seq && flags & HAS_REPEATS == 0;
        let seq_max = newest_seq(seqs.as_ref(), sections.seq_max, global_seq);
        let inflated = values.iter().map(|value| value.data.inflated_bytes());
        let beside_bytes = keys.memory_bytes() + inflated.sum::<usize>();
        let values = values.into_boxed_slice();
        Ok(Self {
            keys,
            samples: LazySamples::default(),
            rows,
            plain,
            global_seq,
            seq_max,
            values,
            seqs,
            kinds,
            beside_bytes,
            head_bytes,
        })
    }

    /// Samples of keys of one word, if there are some by now.
    #[inline]
    pub(super) fn samples(&self) -> Option<&Samples> {
        self.samples.get()
    }

    /// The same for a lookup, which may be the one that makes them.
    #[inline]
    pub(super) fn samples_for(&self, reader: &KeyReader<'_>) -> Option<&Samples> {
        self.samples.get_for(reader)
    }

    #[inline]
    pub(super) fn seq(&self, row: usize) -> SeqNo {
        match self.seqs.as_ref().map_or(0, |seqs| seqs.get(row)) {
            0 => self.global_seq,
            seq => SeqNo(seq),
        }
    }

    /// Reads one word of each projected column and forgets it: the cache misses of a few rows then
    /// pass beside each other and beside the decoding of keys, instead of one after the other.
    #[inline]
    pub(super) fn touch(&self, row: usize, projection: Projection) {
        for (i, value) in self.values.iter().enumerate() {
            if let (true, Data::Words(reader)) = (projection.value(i), &value.data) {
                std::hint::black_box(reader.get(row));
            }
        }
    }

    /// Appends the keys of the rows under a projection.
    pub(super) fn append_keys(&self, rows: Range<usize>, projection: Projection, out: &mut Keys) {
        match (&self.keys, out) {
            (KeyColumn::Words(reader), Keys::Words(out)) => {
                for (i, out) in out.iter_mut().enumerate() {
                    if projection.key(i) {
                        reader.column(i, rows.clone(), out);
                    }
                }
            }
            (KeyColumn::Bytes(strings), Keys::Bytes(out)) => {
                if projection.key(0) {
                    strings.strings.append(rows, out);
                }
            }
            _ => unreachable!("keys of one tree have one shape"),
        }
    }

    /// Appends the projected values of the rows.
    pub(super) fn append_values(
        &self,
        rows: Range<usize>,
        projection: Projection,
        out: &mut [Column],
    ) {
        for (i, (value, out)) in self.values.iter().zip(out).enumerate() {
            if projection.value(i) {
                value.append(rows.clone(), out);
            }
        }
    }
}

/// The greatest sequence number of a block. `stored` is the greatest in its header; rows that store
/// 0 have the table's.
fn newest_seq(seqs: Option<&WordReader<'_>>, stored: SeqNo, global_seq: SeqNo) -> SeqNo {
    match seqs.map(WordReader::constant) {
        None | Some(Some(0)) => global_seq,
        Some(Some(seq)) => SeqNo(seq),
        Some(None) => stored.max(global_seq),
    }
}

impl ValueColumn<'_> {
    #[inline]
    pub(super) fn is_valid(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|validity| validity.get(row))
    }

    /// Which of the 64 rows from `row` on hold a value, one bit each.
    #[inline]
    pub(super) fn bits(&self, row: usize) -> u64 {
        self.validity.as_ref().map_or(u64::MAX, |validity| validity.bits(row))
    }

    pub(super) fn append(&self, rows: Range<usize>, out: &mut Column) {
        let all = self.validity.is_none();
        match (&self.data, out) {
            (Data::Words(reader), Column::Words(out)) if rows.len() == 1 => {
                out.push(self.is_valid(rows.start).then(|| reader.get(rows.start)));
            }
            (Data::Words(reader), Column::Words(out)) => {
                let before = out.words.len();
                reader.read(rows.clone(), &mut out.words);
                append_validity(&mut out.validity, before, rows.clone(), all, |row| self.bits(row));
                if !all {
                    // The word there belongs to a neighbour.
                    let pieces = out.words[before..].chunks_mut(64);
                    for (words, first) in pieces.zip(rows.step_by(64)) {
                        let bits = self.bits(first);
                        for (i, word) in words.iter_mut().enumerate() {
                            *word &= 0_u64.wrapping_sub(bits >> i & 1);
                        }
                    }
                }
            }
            (Data::Bytes(strings), Column::Bytes(out)) => {
                let before = out.len();
                strings.append(rows.clone(), out);
                append_validity(&mut out.validity, before, rows, all, |row| self.bits(row));
            }
            (Data::Apart(_), _) => unreachable!("{NOT_READ}"),
            _ => unreachable!("columns of one position have one shape"),
        }
    }
}
