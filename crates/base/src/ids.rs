//! Identifiers as types, so that they cannot be confused.

use std::fmt;

/// Position of a write in the total order of commits. Larger is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeqNo(pub u64);

impl SeqNo {
    /// A number that no write gets. Compaction sets it on old rows, which all snapshots see. So a
    /// snapshot at `ZERO` sees only such rows, and nothing in a new database.
    pub const ZERO: Self = Self(0);
    /// As a snapshot, it sees everything, including a transaction's own writes, which have no
    /// number yet.
    pub const MAX: Self = Self(u64::MAX);

    /// The number after this one.
    #[inline]
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A keyspace of the store, which is one LSM tree. Not reused within a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyspaceId(pub u32);

/// An SSTable. Unique within a database and not reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u64);

impl TableId {
    /// The id after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for SeqNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}", self.0)
    }
}
