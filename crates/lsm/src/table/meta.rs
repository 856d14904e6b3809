//! Metadata of a table, as the manifest records it.

use base::{Key, SeqNo, TableId};
use std::sync::Arc;

/// Deletes every key in `lower..upper` older than `seq`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// The deleted keys.
    pub range: base::KeyRange,
    /// Rows with a smaller sequence number are gone.
    pub seq: SeqNo,
}

/// A finished table, as its builder describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSummary {
    /// Length of the file.
    pub bytes: u64,
    /// Row versions in it.
    pub rows: u64,
    /// Of those, deletes.
    pub deletes: u64,
    /// Of those, merges.
    pub merges: u64,
    /// Rows that repeat the key of the row before (older versions).
    pub repeats: u64,
    /// Distinct first key words (0 for byte-string keys).
    pub first_words: u64,
    /// Smallest key of rows and range tombstones.
    pub first_key: Key,
    /// Largest key of rows; for a range tombstone its upper bound counts (inclusive, to be safe).
    pub last_key: Key,
    /// Smallest stored sequence number.
    pub seq_min: SeqNo,
    /// Largest stored sequence number.
    pub seq_max: SeqNo,
    /// Range tombstones in it.
    pub range_tombstones: u64,
    /// Checksum of the file's index and properties: binds the manifest's entry to the file.
    pub fingerprint: u64,
}

/// A table as the manifest records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMeta {
    /// Its id, which names its file, unless it shares one.
    pub id: TableId,
    /// Index into [`crate::context::Context::folders`].
    pub folder: u16,
    /// Not 0 for a bulk-loaded table: every stored sequence number 0 reads as this one.
    pub global_seq: SeqNo,
    /// Its place in a file with other tables; `None` if it has a file of its own.
    pub shared: Option<SharedPlace>,
    /// The builder's counts. Shared by all copies: the keys in it may be long.
    pub summary: Arc<TableSummary>,
}

impl TableMeta {
    /// Names the file that the table is in.
    #[must_use]
    pub fn file_id(&self) -> TableId {
        self.shared.map_or(self.id, |place| place.file)
    }

    /// Largest sequence number a row of the table has as read.
    #[must_use]
    pub fn seq_max(&self) -> SeqNo {
        self.summary.seq_max.max(self.global_seq)
    }
}

/// Where a table lies in a file that it shares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPlace {
    /// Names the file; no table has this id.
    pub file: TableId,
    /// Offset of the table's first byte. Its length is [`TableSummary::bytes`].
    pub offset: u64,
}
