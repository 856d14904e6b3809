//! Estimates the rows and bytes of a range from metadata in memory.
//!
//! # How far off it is
//! - The blocks that a range's ends fall into count half. The error is at most half of their rows,
//!   two blocks per run. If there is only one run, this is the only error.
//! - A key with versions in several runs or memtables counts once in each. A delete subtracts one,
//!   as if it hid one row. Rows that range tombstones hide are left out of tables and sealed
//!   memtables. In the memtable that took rows since, they are counted.
//! - A memtable's entries in the range are counted up to some hundreds. Beyond that their number is
//!   estimated from the shape of its tree, and may be wrong by a factor of three.

use super::{Covers, ReadAt, SuperVersion};
use crate::memtable::Memtable;
use crate::table::Table;
use base::{Key, KeyRange, SeqNo};

/// About how much a range holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Rows.
    pub rows: u64,
    /// Bytes in files and memtables.
    pub bytes: u64,
}

impl SuperVersion {
    /// Estimates how many rows the reader sees in a range and how many bytes are stored for them.
    /// No block is read. The cost is one look at each table of the range, and at each block of
    /// tables that reach out of it.
    #[must_use]
    pub fn estimate(&self, range: &KeyRange, at: ReadAt<'_>) -> Estimate {
        let mut sum = Estimate::default();
        if range.is_empty() {
            return sum;
        }
        let covers = self.covers(at, range);
        let mut add = |memtable: &Memtable, range: &KeyRange| {
            let versions = memtable.estimate_versions(range);
            sum.rows += versions;
            sum.bytes += part(memtable.bytes(), versions, memtable.rows());
        };
        at.own().into_iter().for_each(|own| add(own, range));
        for memtable in self.memtables() {
            covers.outside(range, memtable.seq_max()).iter().for_each(|range| add(memtable, range));
        }
        // The rows that deletes hide may lie in a deeper run.
        let mut hidden = 0;
        for run in &self.runs {
            let tables = run.tables_back(range);
            for table in tables.filter(|table| table.meta().global_seq <= at.snapshot) {
                for range in &covers.outside(range, table.meta().seq_max()) {
                    let (versions, bytes) = in_table(table, range);
                    let summary = &table.meta().summary;
                    let gone = summary.repeats + 2 * summary.deletes;
                    sum.rows += versions;
                    sum.bytes += bytes;
                    hidden += part(gone, versions, summary.rows);
                }
            }
        }
        sum.rows = sum.rows.saturating_sub(hidden);
        sum
    }
}

/// More range tombstones than this are not looked at: each may cut every piece in two.
const COVERS_MAX: usize = 64;

impl Covers {
    /// The pieces of `range` in which rows up to number `seq_max` may be seen.
    fn outside(&self, range: &KeyRange, seq_max: SeqNo) -> Vec<KeyRange> {
        let mut pieces = vec![range.clone()];
        for over in self.0.iter().filter(|one| seq_max < one.seq).take(COVERS_MAX) {
            let KeyRange { lower, upper } = &over.range;
            let cut = |piece: KeyRange| {
                let KeyRange { lower: from, upper: to } = piece;
                let end = to.as_ref().map_or(lower, |to| to.min(lower)).clone();
                let after = upper
                    .clone()
                    .map(|upper| KeyRange { lower: upper.max(from.clone()), upper: to });
                let before = KeyRange { lower: from, upper: Some(end) };
                [Some(before), after].into_iter().flatten().filter(|piece| !piece.is_empty())
            };
            pieces = pieces.into_iter().flat_map(cut).collect();
        }
        pieces
    }
}

/// The share `of / all` of a number.
fn part(number: u64, of: u64, all: u64) -> u64 {
    (u128::from(number) * u128::from(of) / u128::from(all.max(1))) as u64
}

/// Versions and bytes of a table in a range; blocks that lie partly in it count half.
fn in_table(table: &Table, range: &KeyRange) -> (u64, u64) {
    let is_within = |first: &Key, last: &Key| {
        range.lower <= *first && range.upper.as_ref().is_none_or(|upper| last < upper)
    };
    let summary = &table.meta().summary;
    if is_within(&summary.first_key, &summary.last_key) {
        return (summary.rows, summary.bytes);
    }
    let blocks = table.blocks_overlapping(range);
    let Some(last) = blocks.clone().next_back() else { return (0, 0) };
    let (first, mut rows, mut bytes) = (blocks.start, 0, 0);
    for block in blocks {
        // Only the outermost can reach out of the range.
        let whole = (block != first && block != last) || {
            let (first_key, last_key) = table.block_keys(block);
            is_within(&first_key, &last_key)
        };
        let halves = if whole { 2 } else { 1 };
        rows += halves * table.block_rows(block) as u64;
        bytes += halves * table.block_bytes(block);
    }
    (rows.div_ceil(2), bytes.div_ceil(2))
}
