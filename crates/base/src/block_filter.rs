//! Conditions on value columns, in a form that the statistics of a block can be compared with.
//!
//! # Why words
//! The store knows no types. Values that are stored as words compare as these words do. Byte
//! strings compare by their first eight bytes ([`crate::leading_word`]), unless these are equal. So
//! a condition is a list of ranges of words. A block is read if its words may lie in one of them.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Statistics of a value column in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnStatistics {
    /// Rows without a value.
    pub nulls: u64,
    /// No value's word is less.
    pub low: u64,
    /// No value's word is greater.
    pub high: u64,
}

/// Ranges that contain all values of one column that a condition accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRanges {
    /// Number of the value column.
    pub column: usize,
    /// Ranges of words, both ends included.
    pub ranges: Vec<(u64, u64)>,
    /// Whether a row without a value has to be returned.
    pub wants_nulls: bool,
}

/// Tells a scan which blocks it need not read. A scan skips a block if one of the columns has no
/// value in its ranges, and no column has a null that is wanted. A scan may also return rows that
/// the condition rejects.
#[derive(Debug, Default)]
pub struct BlockFilter {
    columns: Vec<ColumnRanges>,
    blocks: AtomicU64,
    skipped: AtomicU64,
}

impl BlockFilter {
    /// A filter by these columns. All of them must hold.
    #[must_use]
    pub fn new(columns: Vec<ColumnRanges>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Whether a block may have a wanted row. `statistics` returns those of a column, or `None` if
    /// the block has none.
    pub fn may_match(&self, statistics: impl Fn(usize) -> Option<ColumnStatistics>) -> bool {
        let mut may_match = true;
        for ColumnRanges { column, ranges, wants_nulls } in &self.columns {
            let Some(known) = statistics(*column) else { continue };
            if *wants_nulls && known.nulls > 0 {
                return true;
            }
            may_match &= ranges.iter().any(|&(from, to)| from <= known.high && known.low <= to);
        }
        may_match
    }

    /// Counts blocks of a scan, and how many of these it skipped.
    pub fn count(&self, blocks: u64, skipped: u64) {
        self.blocks.fetch_add(blocks, Relaxed);
        self.skipped.fetch_add(skipped, Relaxed);
    }

    /// The number of blocks that scans read or skipped, and the number they skipped.
    pub fn counted(&self) -> (u64, u64) {
        (self.blocks.load(Relaxed), self.skipped.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_skipped_only_if_a_column_has_no_word_in_a_range() {
        let filter = BlockFilter::new(vec![
            ColumnRanges { column: 0, ranges: vec![(3, 5), (9, 9)], wants_nulls: false },
            ColumnRanges { column: 2, ranges: vec![(0, 7)], wants_nulls: false },
        ]);
        let check = |first: Option<(u64, u64)>, third: Option<(u64, u64)>, want: bool| {
            let known = |bounds: Option<(u64, u64)>| {
                bounds.map(|(low, high)| ColumnStatistics { nulls: 1, low, high })
            };
            let found = filter.may_match(|column| match column {
                0 => known(first),
                _ => known(third),
            });
            assert_eq!(found, want, "{first:?} {third:?}");
        };
        check(None, None, true);
        check(Some((0, 2)), None, false);
        check(Some((0, 3)), None, true);
        check(Some((5, 8)), None, true);
        check(Some((6, 8)), None, false);
        check(Some((10, 12)), None, false);
        check(Some((0, 20)), Some((8, 9)), false);
        check(Some((9, 9)), Some((7, 9)), true);
    }

    #[test]
    fn a_block_with_a_null_that_is_wanted_is_not_skipped() {
        let columns = [false, true].map(|wants_nulls| ColumnRanges {
            column: usize::from(wants_nulls),
            ranges: vec![(1, 1)],
            wants_nulls,
        });
        let filter = BlockFilter::new(columns.to_vec());
        let check = |nulls: [u64; 2], want: bool| {
            let known = |column: usize| ColumnStatistics { nulls: nulls[column], low: 5, high: 6 };
            assert_eq!(filter.may_match(|column| Some(known(column))), want, "{nulls:?}");
        };
        check([0, 0], false);
        check([1, 0], false);
        check([0, 1], true);
    }
}
