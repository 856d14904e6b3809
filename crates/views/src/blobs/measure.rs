//! About how much a range of blobs holds.
//!
//! # Why long values are measured by their rows
//! What a range of keys has of rows is known without reading them. Chunks lie under ids, which say
//! nothing of keys; but a row knows how long its value is. Of all blobs together what the chunks
//! take is known; of a range the first rows and the last are looked at, and stand for those between
//! them.

use super::rows::{empty_batch, large_bytes};
use super::{Blobs, LARGE};
use crate::keys::{KeyOf, range_of};
use base::KeyRange;
use store::{Read, Result};

/// Rows looked at from either end of a range.
const ROWS_AN_END: usize = 2048;

/// About how much a range of blobs holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Blobs.
    pub rows: u64,
    /// Bytes they take in tables and memory.
    pub bytes: u64,
}

impl Blobs {
    /// About how many there are and what they take, from `from` on and below `to`, without reading
    /// them; `None` is no bound. Where there is a bound, long values count by their lengths, as
    /// some thousand rows at both ends tell it: exactly only where there are not more. A
    /// serializable transaction is checked for those rows.
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

    /// About how many bytes the long values of about so many rows have.
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
