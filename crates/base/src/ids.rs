//! Identifiers as types, so that they cannot be confused.

use std::fmt;

/// Position of a write in the total order of commits. Larger is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeqNo(pub u64);

impl SeqNo {
    /// A number that no write has. A snapshot at `ZERO` sees only rows whose sequence number was
    /// removed by compaction. A new database has none.
    pub const ZERO: Self = Self(0);
    /// Sees everything, including a transaction's own writes, which have no number yet.
    pub const MAX: Self = Self(u64::MAX);
}

/// A keyspace of the store, which is one LSM tree. Not reused within a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyspaceId(pub u32);

/// An SSTable. Unique within a database and not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u64);

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
