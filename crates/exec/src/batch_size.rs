//! Batch sizes, and the consumer's answer to a batch.

/// Rows of a batch that one operator hands to the next.
pub(crate) const BATCH_ROWS: usize = 8192;

/// Rows of a stored relation that are read at once.
pub(crate) const CHUNK_ROWS: usize = 8192;

/// Rows whose expressions are computed between two checks of the limits: one may take a while.
pub(crate) const ROWS_A_LOOK: usize = 128;

/// Whether more rows are wanted.
pub(crate) type Wanted = bool;
