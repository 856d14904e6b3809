//! The cost model: defaults where statistics are missing, and the costs of operations.
//!
//! A cost is a number of rows that are read or left. Estimates are wrong by more than these
//! constants are; they decide between orders that differ by a multiple.

/// Number of scanned rows that cost as much as finding one row in an index and looking it up in its
/// relation: 20 to 40 ns each, against about 300 ns.
pub const LOOK_UP_ROWS: u64 = 10;

/// Number of scanned rows that cost as much as opening a range of keys that is read alone, 5 to
/// 10 µs, against 20 ns for a row of a trie.
pub const SEEK_ROWS: u64 = 400;

/// Rows of a derived relation whose size is unknown.
pub(crate) const ROWS_UNKNOWN: f64 = 1000.0;

/// As [`ROWS_UNKNOWN`], for recursive relations in an order of lookups only. Larger than any
/// relation, so that the recursion comes after all other lookups and is asked for as few values as
/// possible.
pub(crate) const ROWS_RECURSIVE: f64 = 1e12;

/// Rows of a magic set.
pub(crate) const ROWS_MAGIC: f64 = 10.0;

/// Most rows that a derived relation is taken to have.
pub(crate) const ROWS_MAX: f64 = 1e9;

/// Least rows after a step, so that later estimates still differ.
pub(crate) const ROWS_MIN: f64 = 0.01;

/// How many times the rows of its first evaluation a recursive relation has in the end.
pub(crate) const RECURSION_GROWS: f64 = 10.0;

/// Share of a recursive relation that one round adds.
pub(crate) const DELTA_SHARE: f64 = 0.1;

/// Rows that a search finds.
pub(crate) const SEARCH_ROWS: f64 = 10.0;

/// Cost of a search: it reads the postings of all words of its query.
pub(crate) const SEARCH_COST: f64 = 1000.0;

/// Rows of a list.
pub(crate) const LIST_ROWS: f64 = 3.0;

/// Share of rows for which a condition is true, or that a negation leaves.
pub(crate) const CONDITION_SHARE: f64 = 0.5;

/// Share of rows that a step of an intersection group leaves.
pub(crate) const GROUP_SHARE: f64 = 0.5;

/// Share of rows that match a bound column without statistics.
pub(crate) const REPEAT_RATE: f64 = 0.1;

/// Share of rows within a range that is bounded on one side.
pub(crate) const HALF_RANGE_SHARE: f64 = 0.3;

/// Share of rows within a range that is bounded on both sides.
pub(crate) const RANGE_SHARE: f64 = 0.1;

/// Cost of a condition or an assignment, per row.
pub(crate) const EXPRESSION_COST: f64 = 0.2;

/// Least rows that a lookup counts as, where it finds fewer.
pub(crate) const LOOKUP_COST_MIN: f64 = 0.9;

/// Cost of a row that a scan reads for the whole body, not for each row of a batch.
pub(crate) const SCAN_COST: f64 = 0.1;

/// Another first atom is taken if the order from it costs at most this share.
pub(crate) const BETTER_SHARE: f64 = 0.9;

/// Added to the cost of a cross product in a semi-naive round: it comes last.
pub(crate) const CROSS_PRODUCT_COST: f64 = f64::MAX / 2.0;

/// Added to the cost of a recursive magic set that is bound only in columns that its recursion
/// passes on unchanged: it comes after all lookups, because all of its rows may have the same
/// values there.
pub(crate) const UNRESTRICTED_MAGIC_COST: f64 = f64::MAX / 4.0;

/// Least ratio between the rows of a rule and the values in its magic set.
pub(crate) const MAGIC_RATIO_MIN: f64 = 4.0;
