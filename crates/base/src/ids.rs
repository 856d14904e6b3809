//! Identifiers as types, so that one is never taken for another.

use std::fmt;

/// Position of a write in the total order of commits. Larger is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeqNo(pub u64);

impl SeqNo {
    /// The number no write ever carries: a snapshot at `ZERO` sees only rows whose number has
    /// vanished at compaction, which is nothing in a new database.
    pub const ZERO: Self = Self(0);
    /// Sees everything, a transaction's own unnumbered writes included.
    pub const MAX: Self = Self(u64::MAX);
}

/// A keyspace of the store: one tree. Never reused within a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyspaceId(pub u32);

/// An SSTable. Unique within a database, never reused.
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
