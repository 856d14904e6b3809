//! Batch sizes of pipelines and scans, and a consumer's answer to a batch.

/// Most rows of a batch that one operator passes to the next.
pub(crate) const BATCH_ROWS: usize = 8192;

/// Rows read from a stored relation at a time.
pub(crate) const CHUNK_ROWS: usize = 8192;

/// Rows whose expressions are evaluated between two checks of the limits: one row may take long.
pub(crate) const ROWS_A_LOOK: usize = 128;

/// Whether the consumer wants more rows.
pub(crate) type Wanted = bool;
