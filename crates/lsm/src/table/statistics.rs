//! Statistics of the value columns of each block: the number of rows without a value, the least and
//! the greatest word. Scans with a condition skip blocks by them.
//!
//! # Why encoded in memory
//! Each block has them for each value column. Packed, they take a few bytes each, and each can be
//! read without decoding the others.
//!
//! # Invariants
//! 1. The word of each value of a block lies between the least and the greatest word. These may be
//!    farther apart than the values, as in a block of deleted rows.

use super::layout::take_bytes;
use crate::codec::words::WordReader;
use crate::codec::{Malformed, words};
use crate::rows::Rows;
use base::{BlockFilter, Column, ColumnStatistics, Shape, leading_word, varint};
use std::ops::Range;

/// A table with fewer blocks has none.
pub(super) const STATISTICS_BLOCKS_MIN: usize = 4;

/// Most value columns of a table that has them.
pub(super) const STATISTICS_COLUMNS_MAX: usize = 64;

/// Parts of a column's statistics: rows without a value, least and greatest words.
const PARTS: usize = 3;

/// Collects statistics while blocks are written.
#[derive(Debug)]
pub(super) struct StatisticsBuilder {
    /// Of each value column, the parts by block. No columns: none are collected.
    columns: Vec<[Vec<u64>; PARTS]>,
}

impl StatisticsBuilder {
    pub(super) fn new(shape: &Shape) -> Self {
        let columns = shape.values.len();
        let columns = if columns > STATISTICS_COLUMNS_MAX { 0 } else { columns };
        Self { columns: vec![Default::default(); columns] }
    }

    /// Adds the block of these rows.
    pub(super) fn add(&mut self, rows: &Rows, range: Range<usize>) {
        for ([nulls, lows, highs], column) in self.columns.iter_mut().zip(&rows.values) {
            let (count, bounds) = of_rows(column, range.clone());
            // A block without values repeats the bounds of the block before. Other bounds would
            // only make the encoding longer.
            let before = lows.last().copied().zip(highs.last().copied());
            let (low, high) = bounds.or(before).unwrap_or_default();
            nulls.push(count);
            lows.push(low);
            highs.push(high);
        }
    }

    /// Appends the section; nothing where the table has few blocks, or no value columns.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let blocks = self.columns.first().map_or(0, |[nulls, ..]| nulls.len());
        if blocks < STATISTICS_BLOCKS_MIN {
            return;
        }
        let mut scratch = Vec::new();
        for part in self.columns.iter().flatten() {
            scratch.clear();
            words::encode(part, &mut scratch);
            varint::put_bytes(out, &scratch);
        }
    }
}

/// The number of rows without a value, and the least and greatest word of the others.
fn of_rows(column: &Column, range: Range<usize>) -> (u64, Option<(u64, u64)>) {
    let (mut nulls, mut bounds) = (0, None);
    let mut add = |word: Option<u64>| match word {
        None => nulls += 1,
        Some(word) => {
            let (low, high) = bounds.unwrap_or((word, word));
            bounds = Some((word.min(low), word.max(high)));
        }
    };
    match column {
        Column::Words(column) if column.validity.0.is_none() => {
            let words = &column.words[range];
            bounds = words.iter().min().copied().zip(words.iter().max().copied());
        }
        Column::Words(column) => range.for_each(|row| add(column.get(row))),
        Column::Bytes(column) => range.for_each(|row| {
            let is_valid = column.validity.is_valid(row);
            add(is_valid.then(|| leading_word(column.get(row))));
        }),
    }
    (nulls, bounds)
}

/// The statistics of a table.
#[derive(Debug)]
pub(super) struct Statistics {
    bytes: Vec<u8>,
    blocks: usize,
    /// Of each value column, where its parts are.
    columns: Vec<[Range<usize>; PARTS]>,
}

impl Statistics {
    /// Parses the section of a table of this shape with this many blocks.
    pub(super) fn parse(bytes: Vec<u8>, shape: &Shape, blocks: usize) -> Result<Self, Malformed> {
        let mut rest = bytes.as_slice();
        let mut columns = Vec::new();
        for _ in &shape.values {
            let mut parts: [Range<usize>; PARTS] = Default::default();
            for part in &mut parts {
                let len = take_bytes(&mut rest)?.len();
                let end = bytes.len() - rest.len();
                *part = end - len..end;
                WordReader::parse(&bytes[part.clone()], blocks)?;
            }
            columns.push(parts);
        }
        match rest.is_empty() {
            true => Ok(Self { blocks, columns, bytes }),
            false => Err(Malformed("bytes after the statistics")),
        }
    }

    /// Those of a value column in a block, if there are any.
    pub(super) fn column(&self, column: usize, block: usize) -> Option<ColumnStatistics> {
        let parts = self.columns.get(column)?;
        let word = |part: usize| {
            let reader = WordReader::parse(&self.bytes[parts[part].clone()], self.blocks).ok()?;
            (block < self.blocks).then(|| reader.get(block))
        };
        Some(ColumnStatistics { nulls: word(0)?, low: word(1)?, high: word(2)? })
    }

    pub(super) fn may_match(&self, block: usize, filter: &BlockFilter) -> bool {
        filter.may_match(|column| self.column(column, block))
    }

    /// Whether a block with these rows may have these statistics.
    pub(super) fn describe(&self, block: usize, rows: &Rows) -> bool {
        rows.values.iter().enumerate().all(|(i, column)| {
            let (nulls, bounds) = of_rows(column, 0..rows.len());
            self.column(i, block).is_some_and(|known| {
                let is_within = |(low, high)| known.low <= low && high <= known.high;
                known.nulls == nulls && bounds.is_none_or(is_within)
            })
        })
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let columns = self.columns.capacity() * size_of::<[Range<usize>; PARTS]>();
        (self.bytes.capacity() + columns) as u64
    }
}
