//! Estimates the number and the size of blobs.
//!
//! # Why long values are measured by their rows
//! The size of a range of rows is known from table metadata. Chunks are stored under ids, which are
//! unrelated to keys; but each row holds the length of its value. For all blobs together the size
//! of the chunks is known from metadata. For a range, the lengths in its first and last rows are
//! read and extrapolated to the rest.

use super::rows::{empty_batch, large_bytes};
use super::{Blobs, LARGE};
use crate::keys::{KeyOf, range_of};
use base::KeyRange;
use store::{Read, Result};

/// Rows read from each end of a range.
const ROWS_AN_END: usize = 2048;

/// Estimate for a range of blobs, from [`Blobs::measure`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Number of blobs.
    pub rows: u64,
    /// Bytes that they take in tables and memory.
    pub bytes: u64,
}

impl Blobs {
    /// Estimates the number of blobs in `from..to` and the bytes that they take, without reading
    /// values; `None` is no bound. With a bound, long values count by their lengths, extrapolated
    /// from a few thousand rows at both ends of the range: exact only if there are not more rows. A
    /// serializable transaction validates the reads of these rows.
    pub fn measure(&self, from: Option<KeyOf<'_>>, to: Option<KeyOf<'_>>) -> Result<Measure> {
        let is_all = from.is_none() && to.is_none();
        let range = range_of(self.core.def.key, from, to)?;
        self.source.read(|read| {
            let estimate = read.estimate(self.core.rows, &range)?;
            let chunks = read.estimate(self.core.large, &KeyRange::all_words())?.bytes;
            let long = match chunks {
                0 => 0,
                _ if is_all => chunks,
                _ => self.long_bytes(read, &range, estimate.rows)?,
            };
            Ok(Measure { rows: estimate.rows, bytes: estimate.bytes + long })
        })
    }

    /// Estimates the bytes of the long values in a range of about `rows` rows.
    fn long_bytes(&self, read: &dyn Read, range: &KeyRange, rows: u64) -> Result<u64> {
        let (rows_of, mut ends) = (self.core.rows, empty_batch(self.core.def.key));
        read.scan_into(rows_of, range, LARGE, 2 * ROWS_AN_END, &mut ends)?;
        if ends.rows < 2 * ROWS_AN_END {
            return Ok(large_bytes(&ends, ends.rows));
        }
        let first = large_bytes(&ends, ROWS_AN_END);
        ends.clear();
        read.scan_back_into(rows_of, range, LARGE, ROWS_AN_END, &mut ends)?;
        let seen = first + large_bytes(&ends, ends.rows);
        let bytes = u128::from(seen) * u128::from(rows) / (2 * ROWS_AN_END as u128);
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}
