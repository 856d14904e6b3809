//! Thresholds at which a read changes its strategy. None of them changes the result of a read.

/// Thresholds of reads. Tests make them tiny so that rare branches run on few rows.
#[derive(Clone, Copy, Debug)]
pub struct ReadThresholds {
    /// Bytes of blocks that a batch of unsorted keys holds for rows to be copied from, without
    /// those of a piece. Most batches stay below it, and copy each row once.
    pub held_bytes_max: u64,
    /// One key in this many is checked against the filters before the others; at least 1.
    pub filter_step: usize,
    /// With fewer keys than this, all of them are checked against the filters.
    pub filter_sample_min: usize,
    /// A scan copies pieces of a block with fewer rows than this row by row.
    pub long_rows: usize,
}

impl ReadThresholds {
    /// Each so low that a few rows pass it: for tests and the simulator.
    pub const TINY: Self =
        Self { held_bytes_max: 4 << 10, filter_step: 2, filter_sample_min: 4, long_rows: 2 };
}

impl Default for ReadThresholds {
    fn default() -> Self {
        Self { held_bytes_max: 16 << 20, filter_step: 16, filter_sample_min: 256, long_rows: 256 }
    }
}
