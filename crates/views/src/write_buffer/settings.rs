//! Settings of the write buffers. `quipu` derives them from the options of a database; counters and
//! combined values read them when they are opened.

use crate::write_buffer::BYTES_A_ROW;
use crate::write_buffer::drain::ROWS_A_CHUNK;
use store::Durability;

/// Settings of the write buffers.
#[derive(Clone, Copy, Debug)]
pub struct Buffering {
    /// Durability of commits. Only [`Durability::None`] buffers increments.
    pub durability: Durability,
    /// Maximum number of buffered keys of a view. Long string keys of counters count as several,
    /// see [`Buffering::BYTES_A_ROW`].
    pub rows_max: u64,
    /// Maximum bytes of buffered combined values and their keys, of one view.
    pub bytes_max: u64,
    /// Rows of counters in one commit: [`Buffering::COMMIT_ROWS`], except in tests.
    pub commit_rows: usize,
}

impl Buffering {
    /// Default number of rows in a commit. Readers of these keys wait for one commit, some tenths
    /// of a millisecond.
    pub const COMMIT_ROWS: usize = ROWS_A_CHUNK;

    /// Bytes of a buffered key with its sum. A string key takes twice its length besides; each
    /// `BYTES_A_ROW` of these count as one more key.
    pub const BYTES_A_ROW: u64 = BYTES_A_ROW;
}
